/* SPDX-License-Identifier: MIT */
/*
 * The connections of one worker to one server, of one kind. Each server has up to four pools: one announces
 * ENABLE_PUSH=1, one ENABLE_PUSH=0, and in the third, with ENABLE_PUSH=1, each connection carries one subscription
 * and nothing else. A server whose protocol has no pushes uses the second pool alone. The fourth is for tunnels,
 * which may stay for days: they take no connection and no stream from requests.
 */
#ifndef PUSHGATE_UPSTREAM_POOL_H
#define PUSHGATE_UPSTREAM_POOL_H

#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include "proxy/relay/relay.h"
#include "proxy/upstream/attempt.h"

struct session;
struct session_plan;
struct session_protocol;
struct upstream;
struct origin_conn;
struct server;

enum pool_kind { POOL_PUSH, POOL_PLAIN, POOL_SUBSCRIPTIONS, POOL_TUNNELS, POOL_KINDS };

/* Requests that wait, oldest first, and pushes of our own, which no client waits for: struct exchange, by its
 * member `waiting`. */
struct waiting_line {
	struct list requests, pushes;
};

/* What is known of a server, whichever of its pools asks. */
struct origin_known {
	/* Of the last connection that began; by configuration if there is only one. NULL: ALPN will
	 * decide, and no connection has begun yet. */
	const struct session_protocol *protocol;
	unsigned capabilities; /* of its sessions: enum session_capability */
	/* Its last response was in HTTP/1.0: it takes no body of unknown length. */
	bool needs_length;
	struct bucket cancels; /* of requests that had a connection for themselves */
	uint32_t tunnels;      /* open, or asked for */
	usec http1_until;      /* it has demanded HTTP/1.1 (http1_required.c); 0: it has not */
	usec
	    http1_refused; /* and has refused that then: until this time its demands are not followed */
	/* It speaks HTTP/2 without :protocol (RFC 8441), and HTTP/1.1 as well: tunnels use that. */
	bool tunnels_need_http1;
};

/* Another number of connections is tried: what the queue does with them is measured next. */
enum pool_trial { POOL_TRIAL_NONE, POOL_TRIAL_FEWER, POOL_TRIAL_MORE };

/* How fast the queue moves, and what follows for connections that carry one request at a time. */
struct pool_pace {
	uint32_t bound;          /* connections in use at a time; 0: not bounded */
	uint64_t per_second;     /* before the trial began */
	uint64_t sent;           /* requests that were sent from the queue since then: */
	usec since;              /* 0: no request waits */
	usec try_after;          /* the next trial */
	struct wheel_node timer; /* ends the measurement when nothing else does */
	enum pool_trial trial;
	/* The trial has just begun: connections open, or those that are too many become free. */
	bool is_settling;
};

/* Requests over connections that carry one at a time, while their body has not wholly come. */
struct pool_slow {
	struct list waiting; /* struct exchange, by `waiting` */
	uint32_t queued;     /* in it; not in pool.queued */
	uint32_t open;       /* connections that carry such a request */
};

struct pool {
	struct upstream *upstream;
	const struct conf_origin *origin;
	struct server *server;
	struct origin_known *known;       /* borrows: of the server */
	const struct session_plan *plans; /* borrows: of the destination */
	struct net_tls *tls;              /* borrows: of the destination */
	enum pool_kind kind;
	struct list conns;
	/* Ready connections that are not retired and may have room, by their member `usable`. Those that
	 * carry one request at a time are here only while they carry none, the last used first. */
	struct list usable;
	uint32_t usable_count;
	struct pool_pace pace;
	/* What was given to its server: what others may take over, and what they may not. */
	struct waiting_line shared, bound;
	struct pool_slow slow;
	struct list waiting; /* in destination->waiting_pools while something waits in `shared` */
	uint32_t queued;     /* in both */
	uint32_t count;      /* connections that are not retired */
	uint32_t connecting; /* how many of them are not ready */
	usec grow_after;     /* after a failed connect: no further one before this time */
	struct wheel_node grow_timer; /* for the requests that wait then */
	/* The first connection takes long: others are tried beside it (RFC 8305 5). */
	struct wheel_node race_timer;
	bool was_used; /* a request has been dispatched here */
	/* A connection is retired once it has carried so many. */
	uint64_t requests_most;
};

struct pool *pool_new(struct server *server, enum pool_kind kind);
void pool_close(struct pool *p); /* ends every connection at once */
void pool_free(struct pool *p);
/* Sends GOAWAY on all connections (RFC 9113 6.8) and closes them; no exchange is left. */
void pool_shutdown(struct pool *p);
/* Its connections finish what they have, and close; no other is opened. */
void pool_retire(struct pool *p);
/* x was given to the pool's server. */
void pool_dispatch(struct pool *p, struct exchange *x);
void pool_unqueue(struct pool *p, struct exchange *x);
/* Moves those that wait and were given to this pool to another list; they are still counted as queued. */
void pool_take_waiting(struct pool *p, struct list *waiting);
void pool_serve(struct pool *p); /* sends queued requests while a connection has room */
/* A connection is being opened; is ready for requests; was retired (was_ready: after that). */
void pool_conn_opened(struct pool *p, struct origin_conn *c);
void pool_conn_ready(struct pool *p, struct origin_conn *c);
void pool_conn_retired(struct pool *p, struct origin_conn *c, bool was_ready);
/* A connection has begun, so that the protocol of the server is known. If that has no pushes, the connection and
 * the requests that wait in `from` change to the pool without pushes. */
void pool_conn_began(struct pool *from, struct origin_conn *c);
/* Requests wait that a connection of this pool may carry. */
bool pool_is_waiting(const struct pool *p);
/* Its connections are opened with HTTP/1.1 alone, though the origin speaks HTTP/2: tunnels need it. */
static inline bool pool_needs_http1(const struct pool *p)
{
	return p->kind == POOL_TUNNELS && p->known->tunnels_need_http1;
}
/* A connection has come up whose protocol is not the one that is needed: it can carry no tunnels, or its server has
 * demanded HTTP/1.1 since it was opened. True: the next ones will use HTTP/1.1. */
bool pool_changes_to_http1(struct pool *p, const struct session *s);
/* Whether one of the connections may be retired and replaced by a new one. */
bool pool_may_replace(const struct pool *p);
/* The connection c ended before the origin's SETTINGS: the server was tried in vain for the requests that wait for
 * it, unless another connection of the pool is left to carry them. */
void pool_failed(
    struct pool *p, struct origin_conn *c, const struct relay_cause *cause, const char *detail);

#endif
