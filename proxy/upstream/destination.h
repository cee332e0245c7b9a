/* SPDX-License-Identifier: MIT */
/*
 * Where requests go: a destination (an [origin]) with its servers, each of which is one address.
 *
 *   destination ─┬─ how many requests wait, and in which pools
 *                ├─ balance: which server gets a request
 *                ├─ names: addresses that come and go
 *                └─ server ─┬─ what is known of it, its health
 *                           └─ a pool of each kind, made when it is first used ─── origin connections
 *
 * The queue is the destination's: a server that dies keeps no request. A request is given to a server when it is
 * dispatched (upstream_attempt.server) and waits for that one's connections. When those of another server, which
 * has less to do, have room first, that one takes it over, unless the request is bound to its server: by hash, by affinity, or because
 * others were tried in vain.
 */
#ifndef PUSHGATE_UPSTREAM_DESTINATION_H
#define PUSHGATE_UPSTREAM_DESTINATION_H

#include "proxy/names/names.h"
#include "proxy/upstream/balance.h"
#include "proxy/upstream/health.h"
#include "proxy/upstream/pool.h"
#include "proxy/worker_env.h"

/* One address. */
struct server {
	struct destination *destination;
	const struct conf_origin_server *conf; /* the line that it comes from */
	const struct net_address *address;     /* length 0: demo: */
	const char *text;                      /* of the address */
	struct balance_member member;
	struct server_health health;
	struct origin_known known;
	struct pool *pools[POOL_KINDS]; /* owned; NULL: not used yet */
	uint32_t queued;                /* requests that wait and were given to it */
	uint32_t connections;           /* of all its pools, retired ones too */
	struct list link;               /* in destination->servers */
	struct deferred_free deferred;
	bool
	    is_leaving; /* its name has it no more: it finishes what it has, and gets nothing new */
	bool is_serving; /* what waits, since a request has ended: those that fail now end there */
	/* A connect takes longer than others should wait (RFC 8305 5), and there is no connection. */
	bool is_slow;
	/* May serve what was given to others: it is up, and no backup unless backups are used. */
	bool takes_any;
};

/* A line `server` whose addresses come from a name. */
struct destination_name {
	struct destination *destination;
	const struct conf_origin_server *conf;
	struct name_watch *watch;
	bool is_known;     /* the first answer has come, or the first failure */
	const char *error; /* of the last lookup; NULL: none */
};

struct destination {
	struct upstream *upstream;
	const struct conf_origin *origin;
	struct list link; /* in upstream->destinations_open */
	/* The lines `server`; in forward mode the one that stands for the host of the requests. */
	const struct conf_origin_server *lines;
	size_t line_count;
	/* A request named it (on_demand.h): its addresses are judged for each request, and its plans are those of all
	 * such destinations. */
	bool is_on_demand;
	uint64_t asker; /* of its name: names_asked_by */
	usec
	    push_off_until; /* on demand: as upstream.push_off_until, which is of all its route's destinations */
	/* On demand, with an upstream proxy (conf_origin.proxy). Its servers are the proxy's addresses. */
	bool speaks_to_proxy;  /* requests are for the proxy: in absolute-form, or CONNECTs */
	const char *tunnel_to; /* else: HOST:PORT of the tunnel that each connection goes through */
	struct net_tls
	    *proxy_tls; /* with tunnel_to; NULL: the proxy is spoken to in cleartext. Borrows */
	/* The protocols that its connections may speak: without pushes, with them. Owned. */
	struct session_plan *plans[2];
	struct net_tls *tls; /* NULL: cleartext. Shared by all origins with the same settings; */
	bool owns_tls;       /* the first of them frees it */
	/* Pools, by their member `waiting`, in which requests wait that any server may serve. */
	struct list waiting_pools[POOL_KINDS];
	struct list
	    nameless; /* requests that wait for the first address: struct exchange, by `waiting` */
	uint32_t queued;                                 /* all that wait */
	uint32_t slow_queued;                            /* of these, in pool_slow.waiting */
	struct list servers;                             /* struct server, those that leave too */
	size_t server_count;                             /* in it */
	size_t leaving_count, down_count, ejected_count; /* of these */
	struct destination_name *names;
	size_t name_count;
	struct balance_member **members; /* the servers that may be chosen */
	size_t member_count;
	size_t next_look; /* of these, for one with room: where the next search begins */
	struct balance *balance;
	struct wheel_node change_timer;
	bool is_stale; /* `members` and the balance do not know of a change yet */
};

/* A client has chosen where to connect to, not whoever runs this: what fails there is for nobody here to mend. */
static inline bool destination_is_of_a_client(const struct destination *d)
{
	return d->is_on_demand && !d->speaks_to_proxy && !d->tunnel_to;
}

void destination_open(
    struct destination *d, struct upstream *upstream, const struct conf_origin *origin);
/* The two halves of it: between them the caller sets lines and plans. */
void destination_init(struct destination *d, struct upstream *upstream,
    const struct conf_origin *origin, bool is_on_demand);
void destination_begin(struct destination *d);
void destination_close(struct destination *d); /* every connection at once */
void destination_free(struct destination *d);

/* Gives x to a server, and to a connection when one has room; or fails it. */
void destination_dispatch(struct destination *d, struct exchange *x);
/* For the log: how long x has waited, now that it waits no more. */
static inline void destination_note_queued(struct exchange *x)
{
	x->timing.queued += x->relay->now - x->timing.waits_since;
}
/* Takes x out of the queue. */
void destination_undispatch(struct destination *d, struct exchange *x);
/* x is over: its server has less to do. */
void destination_exchange_ended(struct exchange *x);
/* A push that came on a connection of this server is its work too. */
void destination_adopt_push(struct server *s, struct exchange *push);

/* A server joined, leaves, or changed what health or configuration say of it. Before the next choice the balance
 * is told; in the next loop pass the requests that wait for a server which gets none any more are given to others. */
void destination_changed(struct destination *d);
/* The server was tried in vain for x, which waits no more: gives it to another; if none is left, x fails with
 * the cause. */
void destination_try_another(
    struct destination *d, struct exchange *x, const struct relay_cause *cause, const char *detail);

/* ---- judge.c ---- */

/* Forward mode: whether the request may go to each address that the destination has now. */
bool destination_is_open_to(
    const struct destination *d, const struct request_facts *f, struct effort *effort);
/* The same for x itself. False: the reason is noted as its failure. */
bool destination_admits(const struct destination *d, struct exchange *x);

/* ---- destination_names.c ---- */

void destination_watch_names(struct destination *d);
void destination_unwatch_names(struct destination *d);
/* No address of any name is known yet, and none was refused: requests wait. */
bool destination_is_nameless(const struct destination *d);
/* Why a name has no address. */
const char *destination_name_error(const struct destination *d);

/* ---- server.c ---- */

struct server *server_new(struct destination *d, const struct conf_origin_server *conf,
    const struct net_address *address, uint32_t weight);
void server_leave(struct server *s);         /* finishes what it has, and is freed then */
void server_return(struct server *s);        /* its name has the address again, before it is gone */
void server_check_gone(struct server *s);    /* it may have nothing left */
bool server_is_gone(const struct server *s); /* only its memory is left */
void server_close(struct server *s);         /* every connection at once */
void server_free(struct server *s);          /* it has no connection */
struct pool *server_pool(struct server *s, enum pool_kind kind);
/* x, which the server does not have yet, would be sent at once there, or on a connection that opens. */
bool server_may_send_soon(const struct server *s, enum pool_kind kind, const struct exchange *x);
void server_serve(struct server *s); /* what waits, while it has room */
/* The requests that it has and that do not wait. */
static inline uint32_t server_in_flight(const struct server *s)
{
	return s->member.outstanding - s->queued;
}
/* For one more of those that wait (max-requests). */
static inline bool server_has_room(const struct server *s)
{
	uint32_t most = s->destination->origin->max_requests;
	return most == 0 || server_in_flight(s) < most;
}

#endif
