/* SPDX-License-Identifier: MIT */
/*
 * The connections to origins, in pools, and the upstream legs of exchanges on them. The room above, upstream/, chooses
 * the server of each request and owns the servers:
 *
 *   origins ── origin ─┬─ how many requests wait, and in which pools
 *                      └─ server ── a pool of each kind, made when it is first used ── connections ── legs
 *
 * A request is given to a server and waits for that one's connections. When those of another server of the same
 * origin, which has less to do, have room first, that one takes it over, unless the request is bound to its server.
 */
#ifndef PUSHGATE_ORIGIN_ORIGIN_H
#define PUSHGATE_ORIGIN_ORIGIN_H

#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include "proxy/protocols/protocols.h"
#include "proxy/relay/relay.h"
#include "proxy/route/route.h"
#include "proxy/worker_env.h"

struct origin_server;
struct policy_reason;
struct pool;

enum pool_kind { POOL_PUSH, POOL_PLAIN, POOL_SUBSCRIPTIONS, POOL_TUNNELS, POOL_KINDS };

/* Calls from here to the room above. */
struct origin_ops {
	/* A connection begins, if the origin is dynamic; is gone, if it is, or the server leaves. */
	void (*opened)(struct origin_server *s);
	void (*closed)(struct origin_server *s);
	/* s->is_slow has changed. */
	void (*changed)(struct origin_server *s);
	void (*connect_failed)(struct origin_server *s);
	/* The server was tried in vain for x, which waits no more, and for this cause: x is given to another one, or
	 * fails. */
	void (*unreached)(struct origin_server *s, struct exchange *x,
	    const struct relay_cause *cause, const char *detail);
	/* Whether s may take over a request that waits for another server; is_full: no connection opens there for it. */
	bool (*may_take)(
	    const struct origin_server *s, const struct origin_server *from, bool is_full);
	/* s has taken over a request that waited for another server. */
	void (*took)(struct origin_server *s, struct origin_server *from);
	/* A push that came on a connection of the server is its work too. */
	void (*adopted)(struct origin_server *s, struct exchange *push);
	/* The head of the response to a fetch comes, with this content-length. */
	void (*fetched)(struct origin_server *s, struct exchange *x, uint64_t length);
	/* A final response, to a request and with a server that `counts_answers`. */
	void (*answered)(struct origin_server *s, unsigned status);
	/* A request has failed at its server. */
	void (*failed)(const struct exchange *x, const struct relay_cause *cause);
};

/* All connections of a worker to origins. */
struct origins {
	struct worker_env *env;         /* borrows */
	const struct route_env *routes; /* borrows: makes the requests that origins receive */
	const struct origin_ops *ops;
	/* Connects to the built-in demo origin, which behaves as `server` says: a connected socket
	 * whose other end speaks h2c as a server, or -1. NULL when no origin is demo:. */
	int (*demo_connect)(void *context, const struct conf_origin_server *server);
	void *demo_context;
	/* For each route: until this time its requests use connections without push, because its
	 * promises were refused too often. */
	usec *push_off_until;
	struct session_env session_env;
	struct list conns; /* struct origin_conn, by `all` */
	uint64_t last_id;  /* of a connection */
	bool is_closed;    /* no connection is opened any more */
	/* Of origin_fetches.timer: fetches_send_due. */
	void (*send_fetches)(struct wheel_node *node, usec now);
};

/* How the servers of an origin are spoken to, and the queue before them. */
struct origin {
	struct origins *origins;
	const struct conf_origin *conf;
	/* The protocols that its connections may speak: without pushes, with them. */
	struct session_plan *plans[2];
	struct net_tls *tls; /* NULL: cleartext */
	/* A request has named it: its connections are not to come out at a listener of ours. */
	bool is_dynamic;
	bool has_several; /* servers to choose from */
	/* Dynamic, with an upstream proxy (conf_origin.proxy). Its servers are the proxy's addresses. */
	bool speaks_to_proxy;  /* requests are for the proxy: in absolute-form, or CONNECTs */
	const char *tunnel_to; /* else: HOST:PORT of the tunnel that each connection goes through */
	struct net_tls
	    *proxy_tls;    /* with tunnel_to; NULL: the proxy is spoken to in cleartext. Borrows */
	usec idle_timeout; /* of its connections; 0: no limit */
	usec push_off_until; /* dynamic: as origins.push_off_until, for all routes */
	/* Pools, by their member `waiting`, in which requests wait that any server may serve. */
	struct list waiting_pools[POOL_KINDS];
	uint32_t queued;         /* all that wait for connections */
	uint32_t fetches_queued; /* of these, fetches */
	uint32_t slow_queued;    /* of these, in pool_slow.waiting */
};

/* Facts about a server that all its pools use. */
struct origin_known {
	/* Of the last connection that began; by configuration if there is only one. NULL: ALPN will
	 * decide, and no connection has begun yet. */
	const struct session_protocol *protocol;
	unsigned capabilities; /* of its sessions: enum session_capability */
	uint32_t tunnels;      /* open, or asked for */
	struct bucket cancels; /* of requests that had a connection for themselves */
	usec http1_until;      /* it has demanded HTTP/1.1 (http1_required.c); 0: it has not */
	usec
	    http1_refused; /* and has refused that then: until this time its demands are not followed */
	/* Its last response was in HTTP/1.0: it takes no body of unknown length. */
	bool needs_length;
	/* It speaks HTTP/2 without :protocol (RFC 8441), and HTTP/1.1 as well: tunnels use that. */
	bool tunnels_need_http1;
	uint32_t streams; /* that its last connection had room for; 0: none has been ready yet */
};

/* The fetches of a server (fetches.c). On the heap: most servers never have one. */
struct origin_fetches {
	struct origin_server *server;
	struct list waiting; /* struct exchange, by `waiting`: the share has no room for them */
	uint32_t queued;     /* in it */
	uint32_t open;       /* sent, or in the queue for connections */
	uint32_t kept; /* held responses that have come: the server has nothing to do with them */
	struct wheel_node timer; /* the share has room again */
};

enum origin_fetch_state {
	ORIGIN_FETCH_NONE,     /* no fetch, or a request has claimed it */
	ORIGIN_FETCH_NAMELESS, /* no server has an address yet; the room above counts it */
	ORIGIN_FETCH_WAITS,
	ORIGIN_FETCH_OPEN,
	ORIGIN_FETCH_KEPT, /* its response has come, and is held */
};

/* A request's part in it. */
struct origin_fetch {
	uint8_t state;   /* enum origin_fetch_state */
	bool is_charged; /* the room above has counted its content-length against fetch-budget */
};

/* One address. */
struct origin_server {
	struct origin *origin;
	const struct conf_origin_server *conf; /* the line that it comes from */
	const struct net_address *address;     /* length 0: demo: */
	const char *text;                      /* of the address */
	struct origin_known known;
	struct pool *pools[POOL_KINDS]; /* owned; NULL: not used yet */
	struct origin_fetches *fetches; /* owned; NULL until the first one */
	uint32_t requests; /* that it was given and that are not over: the room above counts them */
	uint32_t queued;   /* of these, those that wait */
	uint32_t connections; /* of all its pools, retired ones too */
	/* A connect takes longer than others should wait (RFC 8305 5), and there is no connection. */
	bool is_slow;
	/* Set by the room above: it finishes what it has, and gets nothing new. */
	bool is_leaving;
	bool is_ordered_out; /* the same, until an order lets it be used again */
	/* The same: it may serve what was given to others, since it is up, and no backup unless backups are used. */
	bool takes_any;
	bool counts_answers; /* the same: for origin_ops.answered */
};

/* The connection that a request was sent on, for the log. */
struct origin_hop {
	uint64_t connection; /* unique in the worker; 0 = none */
	const char *protocol;
	const char *address; /* borrows: of the server */
};

/* A request's attempt at a server. It lies at the start of exchange.attempt. */
struct __attribute__((may_alias)) origin_attempt {
	struct pool *pool; /* where it waits, or was sent from; NULL: no server has it */
	/* The server that the request was given to, by the room above, which counts it there; NULL: to none yet, or to
	 * none any more. */
	struct origin_server *server;
	struct origin_hop hop; /* the last connection that the request was sent on */
	/* Its server demands another version for it: it may be given to that one once more. */
	bool may_return;
	/* An origin has ended its connection with an error before it was answered. */
	bool has_seen_breakage;
	/* It failed with a connection: the next one should have carried nothing yet, and be no other that its server has
	 * closed while it was idle. */
	bool needs_fresh;
	bool is_bound; /* to `server`: it waits for that one's connections alone */
	struct origin_fetch fetch;
};

static inline struct origin_attempt *origin_attempt_of(const struct exchange *x)
{
	return (struct origin_attempt *)(uintptr_t)x->attempt;
}

/* ---- all connections (origins.c) ---- */

/* The caller has set env, routes, ops and the demo's members. */
void origins_open(struct origins *all);
void origins_free(struct origins *all);
/* TLS to servers of an origin, with the protocols of the plans by ALPN; plans NULL: HTTP/1.1. NULL, and a message: a
 * CA file cannot be read. */
struct net_tls *origins_tls_new(const struct origins *all, const struct conf_origin *o,
    const struct session_plan *plans, char *error, size_t error_size);
/* Sends GOAWAY to all origins (RFC 9113 6.8) and closes; call when no exchange is left. */
void origins_shutdown(struct origins *all);
static inline bool origins_are_idle(const struct origins *all) /* no connection is left */
{
	return list_is_empty(&all->conns);
}
/* Stops (or resumes) reading from all origins, also those that are connected to meanwhile; TCP flow
 * control then stops the origins. Their deadlines stand still as long. */
void origins_pause_reading(struct origins *all, bool is_paused);
/* Writes one line for each connection and each stream; returns the length. */
size_t origins_describe(const struct origins *all, char *buffer, size_t size);
/* Fills in a row for each of the newest connections, `most` of them; returns how many. */
size_t origins_list(const struct origins *all, struct connection_row *rows, size_t most);

/* A client has chosen the server: the operator cannot repair it. */
static inline bool origin_is_of_a_client(const struct origin *o)
{
	return o->is_dynamic && !o->speaks_to_proxy && !o->tunnel_to;
}

void origin_init(struct origin *o, struct origins *all, const struct conf_origin *conf);
/* Too many promises were refused on its connections (origin_promise.c). */
bool origin_push_is_off(const struct origin *o, const struct conf_route *route);

/* ---- servers (origin_server.c) ---- */

/* Its protocol is known without a connection if there is no choice. The caller has set origin, conf, address and
 * text. */
void origin_server_init(struct origin_server *s);
void origin_server_retire(struct origin_server *s); /* its connections finish what they have */
void origin_server_close(struct origin_server *s);  /* every connection at once */
/* The same, and their requests fail as if the server had closed them. None may wait for a connection. */
void origin_server_lose(struct origin_server *s, const char *why);
void origin_server_free_pools(struct origin_server *s); /* it has no connection */
/* x was given to the server: sends it, or lets it wait, or fails it. */
void origin_server_send(struct origin_server *s, enum pool_kind kind, struct exchange *x);
/* x, which the server does not have yet, would be sent at once there, or on a connection that opens. */
bool origin_server_may_send_soon(
    const struct origin_server *s, enum pool_kind kind, const struct exchange *x);
/* Sends what waits, while it has room. */
void origin_server_serve(struct origin_server *s);
/* Moves those that wait and were given to it to another list; they are still counted as queued. */
void origin_server_take_waiting(struct origin_server *s, struct list *waiting);

/* ---- the queue of an origin ---- */

/* The first that waits, of those that any server may take. */
struct exchange *origin_first_waiting(const struct origin *o, enum pool_kind kind);
/* The server for which requests of this kind wait that any server may take, and no connection opens there; NULL: there
 * is none. */
const struct origin_server *origin_full_server(const struct origin *o, enum pool_kind kind);
/* x waits no more. */
void origin_unqueue(struct exchange *x);
/* x, which waits for one of the connections that slow uploads may have, has wholly come. */
void origin_upload_is_whole(struct exchange *x);
/* x, a tunnel or not, is over or goes to another server. */
void origin_tunnel_left(struct exchange *x);
/* For the log: how long x has waited, now that it waits no more. */
static inline void origin_note_queued(struct exchange *x)
{
	x->timing.queued += x->relay->now - x->timing.waits_since;
}

/* ---- fetches: requests of our own for responses that are held, until a request claims them (fetches.c) ---- */

/* x, which is to be sent, is one. */
static inline bool origin_is_fetch(const struct exchange *x)
{
	return x->pushed.state == PUSH_HELD && x->pushed.claims == 0;
}
/* No further fetch would be sent for a while: clients have taken the server's room, or fetches their share of it. */
bool origin_fetch_is_crowded(const struct origin_server *s);
/* A client's request has claimed the held response of x: x is as urgent as that request from now on. */
void origin_fetch_claimed(struct exchange *x, struct http_priority priority);
/* x is over or goes to another server. */
void origin_fetch_left(struct exchange *x);

/* ---- one exchange's connection ---- */

/* How long the request's body may make no progress toward the origin; 0: no limit. */
usec origin_stall_limit(const struct exchange *x);
/* The origin of x receives nothing: its flow-control window is 0, or its socket has been full since
 * `since` or earlier. */
bool origin_is_stuck(const struct exchange *x, usec since);
/* Counts one promise against promise-rate of the parent's connection. False: the rate is
 * exceeded. */
bool origin_may_promise_more(const struct exchange *parent);
/* A promise for this parent was refused. If it was for a limit, the first one of a burst is logged,
 * with the origin and the limit. */
void origin_promise_refused(const struct exchange *parent, const struct policy_reason *reason);
/* Whether the certificate of the parent's connection, which was verified, is valid for the host. */
bool origin_covers(const struct exchange *parent, struct slice host);

#endif
