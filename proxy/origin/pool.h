/* SPDX-License-Identifier: MIT */
/*
 * The connections of one worker to one server, of one kind. Each server has up to four pools. Requests whose pushes the
 * client can use go over connections with ENABLE_PUSH=1, all others over connections with ENABLE_PUSH=0, so that origins
 * do not send pushes for nothing. A server whose protocol has no pushes uses the second pool alone.
 *
 * Each subscription gets a connection of its own in the third pool, with ENABLE_PUSH=1: that is retired as soon as the
 * request has been sent, so that it gets no other and closes after the last push. The fourth has the tunnels, which may
 * stay for days: they take no connection and no stream from requests. Over HTTP/1.1 a tunnel is the rest of its
 * connection's life: each side of the transport ends with that direction of the tunnel. Over HTTP/2 it is a stream like
 * others, if the origin has announced that it takes :protocol (RFC 8441 3); an origin that has not is asked by HTTP/1.1,
 * if it speaks that too (http1_required.c).
 */
#ifndef PUSHGATE_ORIGIN_POOL_H
#define PUSHGATE_ORIGIN_POOL_H

#include "proxy/base/map.h"
#include "proxy/origin/origin.h"

struct origin_conn;

/* Requests that wait, oldest first, and pushes of our own, which no client waits for: struct exchange, by its
 * member `waiting`. */
struct waiting_line {
	struct list requests, pushes;
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
	struct origins *origins;
	const struct conf_origin *conf;
	struct origin_server *server;
	struct origin_known *known;       /* borrows: of the server */
	const struct session_plan *plans; /* borrows: of the origin */
	struct net_tls *tls;              /* borrows: of the origin */
	enum pool_kind kind;
	struct list conns;
	/* Ready connections that are not retired and may have room, by their member `usable`. Those that
	 * carry one request at a time are here only while they carry none, the last used first. */
	struct list usable;
	uint32_t usable_count;
	struct pool_pace pace;
	/* The requests that were given to its server: those that others may take over, and the bound ones. */
	struct waiting_line shared, bound;
	struct pool_slow slow;
	struct map
	    owners; /* struct origin_owner of connections that are not retired (pool_private.c) */
	struct list waiting; /* in origin->waiting_pools while something waits in `shared` */
	uint32_t queued;     /* in both */
	uint32_t count;      /* connections that are not retired */
	uint32_t connecting; /* how many of them are not ready */
	uint32_t leaving;    /* retired connections, which stay open for their last exchanges */
	usec grow_after;     /* after a failed connect: no further one before this time */
	struct wheel_node grow_timer; /* for the requests that wait then */
	/* The first connection takes long: others are tried beside it (RFC 8305 5). */
	struct wheel_node race_timer;
	bool was_used; /* a request has been dispatched here */
	/* A connection is retired once it has carried so many. */
	uint64_t requests_most;
};

/* The pool of a server, made if it must be. */
struct pool *origin_server_pool(struct origin_server *s, enum pool_kind kind);
void pool_close(struct pool *p); /* ends every connection at once */
void pool_free(struct pool *p);
/* Its connections finish what they have, and close; no other is opened. */
void pool_retire(struct pool *p);
/* Each connection is lost, for this reason. */
void pool_lose(struct pool *p, const char *why);
/* x was given to the pool's server. */
void pool_dispatch(struct pool *p, struct exchange *x);
void pool_serve(struct pool *p); /* sends queued requests while a connection has room */
/* x, which waits, is sent on the connection, or fails. */
void pool_send_waiting(struct pool *p, struct exchange *x, struct origin_conn *c);
/* x would be sent at once, or on a connection that opens and that no other request waits for. */
bool pool_may_send_soon(struct pool *p, const struct exchange *x);
/* The connection c ended before the origin's SETTINGS: the server was tried in vain for the requests that wait for
 * it, unless another connection of the pool is left to carry them. */
void pool_failed(
    struct pool *p, struct origin_conn *c, const struct relay_cause *cause, const char *detail);

/* A connection has begun, so that the protocol of the server is known. If that has no pushes, the connection and
 * the requests that wait in `from` change to the pool without pushes. */
void pool_conn_began(struct pool *from, struct origin_conn *c);
/* Its connections are opened with HTTP/1.1 alone, though the origin speaks HTTP/2: tunnels need it. */
static inline bool pool_needs_http1(const struct pool *p)
{
	return p->kind == POOL_TUNNELS && p->known->tunnels_need_http1;
}

/* ---- pool_conns.c ---- */

void pool_conns_init(struct pool *p);
/* A connection is being opened; is ready for requests; is no more. */
void pool_conn_opened(struct pool *p, struct origin_conn *c);
void pool_conn_ready(struct pool *p, struct origin_conn *c);
void pool_conn_gone(struct pool *p, struct origin_conn *c);
/* The connection may get requests; gets none for now. */
void pool_make_usable(struct pool *p, struct origin_conn *c);
void pool_make_unusable(struct pool *p, struct origin_conn *c);
/* The connection gets no more requests and closes after its last exchange. */
void origin_conn_retire(struct origin_conn *c);
/* Requests that wait here wait for room, and not for the first connection. */
static inline bool pool_has_ready(const struct pool *p)
{
	return p->count > p->connecting;
}
bool origin_conn_has_room(const struct origin_conn *c);
/* The connection that x is sent on; NULL: none has room. */
struct origin_conn *pool_conn_with_room(struct pool *p, const struct exchange *x);
bool pool_multiplexes(const struct pool *p);
/* Concurrent requests assumed for a connection that is not ready yet. */
uint32_t pool_streams_assumed(const struct pool *p);
/* How many connections that are not retired there may be. */
uint32_t pool_most_connections(const struct pool *p);
/* A connect has failed a moment ago, and others work: no further one is opened. */
bool pool_is_pausing(const struct pool *p);
/* Whether one of the connections may be retired and replaced by a new one. */
bool pool_may_replace(const struct pool *p);

/* ---- pool_queue.c ---- */

/* Requests wait that a connection of this pool may carry. */
bool pool_is_waiting(const struct pool *p);
/* The first of those that wait here; NULL: none does. */
struct exchange *pool_first_waiting(const struct pool *p);
/* The one that can be sent now, with its connection; NULL: none can. It may wait at the pool of another server. */
struct exchange *pool_next_to_send(struct pool *p, struct origin_conn **c);
/* x, which does not wait any more, is sent by this pool, whichever it was given to. */
void pool_take_over(struct pool *p, struct exchange *x);
/* x was given to the pool's server, and waits; or it fails, since too many wait. */
void pool_enqueue(struct pool *p, struct exchange *x);
/* Moves those that wait and were given to this pool to another list; they are still counted as queued. */
void pool_take_waiting(struct pool *p, struct list *waiting);
/* The requests that a server has and that do not wait. */
static inline uint32_t origin_server_in_flight(const struct origin_server *s)
{
	uint32_t kept = s->fetches ? s->fetches->kept : 0;
	return s->requests - s->queued - kept;
}
/* For one more of those that wait (max-requests). */
static inline bool origin_server_has_room(const struct origin_server *s)
{
	uint32_t most = s->origin->conf->max_requests;
	return most == 0 || origin_server_in_flight(s) < most;
}

/* For one more tunnel (max-tunnels). */
static inline bool origin_server_may_tunnel(const struct origin_server *s)
{
	return s->known.tunnels < s->origin->conf->max_tunnels;
}

/* ---- fetches.c ---- */

/* Whether the share has room for one more; x, which waits no more, takes it. */
bool fetches_have_room(const struct origin_server *s);
void fetch_begins(struct origin_server *s, struct exchange *x);
void fetches_send_due(struct wheel_node *node, usec now);   /* fetch_send.c */
void fetches_close(struct origin_server *s);                /* none begins any more */
void fetches_free(struct origin_server *s);                 /* there is none any more */
struct origin_fetches *fetches_of(struct origin_server *s); /* to be counted in: made if need be */
/* x waits no more for the share, but in `waiting`. */
void fetches_take_waiting(struct origin_server *s, struct list *waiting);
/* x, which is one, goes from a server to another. */
void fetch_moves(struct origin_server *from, struct origin_server *to);
/* The push x is to be sent by this pool. True: it is a fetch and waits for the share to have room, or has failed. */
bool fetch_waits(struct pool *p, struct exchange *x);
/* x waits no more for the share. */
void fetch_unqueue(struct exchange *x);
/* The share may have room: those that wait are looked at in the next loop pass. */
void fetches_look_soon(struct origin_server *s);
/* The server's part in the push is over. */
void fetch_keep(struct exchange *x);
static inline enum origin_fetch_state fetch_state(const struct exchange *x)
{
	return (enum origin_fetch_state)origin_attempt_of(x)->fetch.state;
}

/* Whether the server may be given a speculative load, which counts among its requests already (speculation-share). */
bool server_spares_room(const struct origin_server *s);

/* ---- pool_slow.c ---- */

/* Its connections carry one request at a time, so that a slow one holds what others wait for. */
bool pool_slow_is_bounded(const struct pool *p);
/* x would take one of the connections that requests may have whose body has not wholly come. */
static inline bool pool_slow_applies(const struct pool *p, const struct exchange *x)
{
	return !x->upload.source_ended && pool_slow_is_bounded(p);
}
/* One of them is free, and no other request waits for it. */
bool pool_slow_has_room(const struct pool *p);
/* x waits for one of them; or it fails, since too many wait. */
void pool_slow_enqueue(struct pool *p, struct exchange *x);
/* The first that waits, if one more connection may carry such a request; NULL: none may, or none waits. */
struct exchange *pool_slow_first(const struct pool *p);
/* The first that waits, if it can be sent now, with its connection; NULL: none can. */
struct exchange *pool_slow_next(struct pool *p, struct origin_conn **c);
/* x, which waits, was given to the pool before its protocol was known, or to another server: whether it must wait for
 * one of them, and does so from now on. */
bool pool_slow_defers(struct pool *p, struct exchange *x);
/* How many of those that wait may have a connection. */
uint32_t pool_slow_wanted(const struct pool *p);
/* The connection carries such a request from now on; does not any more. */
void pool_slow_began(struct origin_conn *c);
void pool_slow_ended(struct origin_conn *c);

/* ---- pool_private.c: connections that carry the requests of one client alone ---- */

/* Opens connections for requests that wait, and sends those for which one is idle. */
void pool_private_grow(struct pool *p);
/* Sends the requests that waited for connections which are ready now. */
void pool_private_serve(struct pool *p);
/* An idle connection of the client of x, which does not wait; NULL: it must. */
struct origin_conn *pool_private_idle(struct pool *p, const struct exchange *x);
/* The connection is not needed: the request that it is opened for waits for another one. */
void pool_private_give_back(struct origin_conn *c);
/* The server was tried in vain for the request that the connection was opened for. */
void pool_private_failed(
    struct origin_conn *c, const struct relay_cause *cause, const char *detail);

/* ---- pool_pace.c ---- */

/* The first request waits; none waits any more. */
void pool_pace_queue_began(struct pool *p);
void pool_pace_queue_ended(struct pool *p);
/* While requests wait: ends a measurement whose time is over. */
void pool_pace_update(struct pool *p);
/* Whether a connection that is free may be used for x. */
bool pool_pace_allows(const struct pool *p, const struct exchange *x);
/* How many connections there may be for a queue that begins with `first`, where `most` is allowed. */
uint32_t pool_pace_bound(const struct pool *p, const struct exchange *first, uint32_t most);

#endif
