/* SPDX-License-Identifier: MIT */
/*
 * Where requests go: a destination (an [origin]) with its servers, each of which is one address.
 *
 *   destination ─┬─ origin: how many requests wait, and in which pools
 *                ├─ balance: which server gets a request
 *                ├─ names: addresses that come and go
 *                └─ server ─┬─ what is known of it, its health
 *                           └─ origin_server: its pools and connections (origin/)
 *
 * The queue is the destination's: a server that dies keeps no request. A request is given to a server when it is
 * dispatched (origin_attempt.server). It is bound to that server by hash, by affinity, or because others were tried
 * in vain; else another one may take it over.
 */
#ifndef PUSHGATE_UPSTREAM_DESTINATION_H
#define PUSHGATE_UPSTREAM_DESTINATION_H

#include "proxy/names/names.h"
#include "proxy/upstream/balance.h"
#include "proxy/upstream/health.h"
#include "proxy/upstream/retry_budget.h"
#include "proxy/upstream/upstream.h"

/* ---- a request's attempts to get an answer: the server that it was given to, and those that were tried in vain ---- */

/* How a server that could be reached has failed the request. It is told to the client if no other one can be
 * reached. */
struct upstream_failure {
	const struct relay_cause *cause; /* NULL: none has */
	const char *detail;              /* in the request's arena, or NULL */
	uint32_t code;
};

/* It lies in the exchange, which has an array of bytes in its place (may_alias), and is gone with that. */
struct __attribute__((may_alias)) upstream_attempt {
	struct origin_attempt at; /* first: origin/ finds it there */
	/* That of its origin; in forward mode what the request names, made when it was first asked for
	 * (dynamic_destination.h), which lives as long as an exchange has it. NULL: x was not dispatched yet, or a configured
	 * origin has promised it. */
	struct destination *destination;
	/* The servers that it was given to in vain, by their ids, so that it is given to none twice. */
	uint32_t tried[EXCHANGE_SERVERS_MOST];
	struct upstream_failure failure;
	/* For which its destination was refused, with the port, in the request's arena. NULL: for none. */
	const char *refused_address;
	uint64_t affinity; /* the key of the server that the client's cookie names; 0: none */
	uint8_t tried_count;
	uint8_t moves;     /* times that it was given to another server before it was sent */
	bool wants_pushes; /* the client can use pushes that come with the response */
};
_Static_assert(sizeof(struct upstream_attempt) <= EXCHANGE_ATTEMPT_BYTES, "it has room there");
_Static_assert(offsetof(struct upstream_attempt, at) == 0, "origin/ finds it there");

static inline struct upstream_attempt *attempt_of(const struct exchange *x)
{
	return (struct upstream_attempt *)(uintptr_t)x->attempt;
}

/* The detail is copied. */
static inline void attempt_note_failure(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	attempt_of(x)->failure =
	    (struct upstream_failure){cause, exchange_keep_text(x, detail), code};
}

/* ---- servers and destinations ---- */

/* One address. */
struct server {
	struct origin_server at; /* first */
	struct destination *destination;
	struct balance_member member;
	struct server_health health;
	uint32_t weight;  /* as its line or its SRV record has it */
	uint8_t order;    /* enum server_order, in force (orders.c) */
	bool is_serving;  /* what waits, since a request has ended: those that fail now end there */
	struct list link; /* in destination->servers */
	struct deferred_free deferred;
};

static inline struct server *server_above(const struct origin_server *s)
{
	return (struct server *)(uintptr_t)s;
}

static inline bool server_may_be_chosen(const struct server *s)
{
	return !s->at.is_leaving && !s->at.conf->is_down && s->order == SERVER_READY;
}

/* The server that x was given to, or NULL. */
static inline struct server *given_server(const struct exchange *x)
{
	return server_above(attempt_of(x)->at.server);
}

/* A line `server` whose addresses come from a name. */
struct destination_name {
	struct destination *destination;
	const struct conf_origin_server *conf;
	struct name_watch *watch;
	bool is_known;     /* the first answer has come, or the first failure */
	const char *error; /* of the last lookup; NULL: none */
};

struct destination {
	struct origin origin; /* with the queue */
	struct upstream *upstream;
	/* The lines `server`; in forward mode the one that stands for the host of the requests. */
	const struct conf_origin_server *lines;
	size_t line_count;
	size_t first_row;                 /* of its lines among the orders for servers */
	uint64_t client_key;              /* of its name: names_set_client_key */
	struct retry_budget retry_budget; /* of an [origin], for all its dynamic destinations too */
	struct bucket fetched;            /* the same: bytes that no request has claimed */
	bool
	    owns_tls; /* TLS is shared by all origins with the same settings: the first of them frees it */
	struct list
	    nameless; /* requests that wait for the first address: struct exchange, by `waiting` */
	struct list servers;                             /* struct server, those that leave too */
	size_t server_count;                             /* in it */
	size_t leaving_count, down_count, ejected_count; /* of these */
	size_t ordered_count; /* the same: an order keeps requests from them */
	struct destination_name *names;
	size_t name_count;
	struct balance_member **members; /* the servers that may be chosen */
	size_t member_count;
	size_t next_look; /* of these, for one with room: where the next search begins */
	struct balance *balance;
	struct wheel_node change_timer;
	bool is_stale; /* `members` and the balance do not know of a change yet */
};

void destination_open(
    struct destination *d, struct upstream *upstream, const struct conf_origin *origin);
/* The two halves of it: between them the caller sets lines and plans. */
void destination_init(struct destination *d, struct upstream *upstream,
    const struct conf_origin *origin, bool is_dynamic);
void destination_begin(struct destination *d);
/* x is to be dispatched, and its body has not wholly come. True: it waits for the rest (gathering.c). */
bool gathering_begins(const struct destination *d, struct exchange *x);
/* More has come of it. */
void gathering_grew(struct destination *d, struct exchange *x);
void destination_close(struct destination *d); /* every connection at once */
void destination_free(struct destination *d);

/* Gives x to a server, and to a connection when one has room; or fails it. */
void destination_dispatch(struct destination *d, struct exchange *x);
/* x is over: its server has less to do. */
void destination_exchange_ended(struct exchange *x);
/* x, which no server has, is work of this one. */
void destination_give(struct exchange *x, struct server *s);
/* origin_ops: may_take, took. */
bool destination_may_take(
    const struct origin_server *s, const struct origin_server *from, bool is_full);
void destination_took(struct origin_server *s, struct origin_server *from);

/* x was given to the server before, or is now. */
bool destination_was_tried(const struct exchange *x, const struct server *s);

/* A server joined, leaves, or changed what health or configuration say of it. Before the next choice the balance
 * is told; in the next loop pass the requests that wait for a server which gets none any more are given to others. */
void destination_changed(struct destination *d);
/* Of change_timer: gives the requests that wait to the servers that may have them now. */
void destination_give_out_again(struct wheel_node *node, usec now);
/* The server was tried in vain for x, which waits no more: gives it to another; if none is left, x fails with
 * the cause. */
void destination_try_another(struct origin_server *at, struct exchange *x,
    const struct relay_cause *cause, const char *detail);

/* ---- retries.c ---- */

/* x is sent again after this failure: counts it against its server if that was late, and keeps it for the client if a
 * server was reached. */
void attempt_failed(struct exchange *x, const struct relay_failure *failure);

/* ---- fetching.c ---- */

/* x waits for the first address; it does not any more, or a request has claimed it. */
void fetching_waits(struct destination *d, struct exchange *x);
void fetching_waits_not(struct destination *d, struct exchange *x);
/* origin_ops: fetched. */
void fetching_began(struct origin_server *at, struct exchange *x, uint64_t length);
/* The push x is over, and its server still known. */
void fetching_ended(struct exchange *x);

/* ---- orders.c ---- */

/* Obeys what is ordered for the destination's servers. */
void orders_obey(struct destination *d);
/* When all destinations of the configuration are there; and before the first of them is freed. */
void orders_open(struct upstream *u);
void orders_close(struct upstream *u);

/* ---- destination_reach.c ---- */

/* Forward mode: whether the request may go to each address that the destination has now. */
bool destination_is_open_to(
    const struct destination *d, const struct request_facts *f, struct effort *effort);
/* The same for x itself. False: the reason is noted as its failure. */
bool destination_admits(const struct destination *d, struct exchange *x);
/* For the log. */
void destination_note_refused(struct exchange *x, const struct net_address *to);

/* ---- balance_key.c ---- */

/* A balance as the [origin] has it. seed: of its draws, another one in each worker. */
struct balance *balance_of_origin(const struct conf_origin *o, uint64_t seed);
/*
 * The key of a server: the same in all workers and after a restart, and never 0. It names the server in
 * clients' cookies, and its address cannot be read from it. text: of the address; of demo:, which has none,
 * what else tells one line from another.
 */
uint64_t balance_member_key(const struct conf_origin *o, struct slice text);
/* Sets hash, has_hash and affinity; the rest is the caller's. */
void balance_ask(const struct destination *d, const struct exchange *x, struct balance_question *q);

/* ---- destination_names.c ---- */

void destination_watch_names(struct destination *d);
void destination_unwatch_names(struct destination *d);
/* No address of any name is known yet, and none was refused: requests wait. */
bool destination_is_nameless(const struct destination *d);
/* Why a name has no address. */
const char *destination_name_error(const struct destination *d);

/* ---- destination_life.c: servers ---- */

struct server *server_new(struct destination *d, const struct conf_origin_server *conf,
    const struct net_address *address, uint32_t weight);
void server_leave(struct server *s);         /* finishes what it has, and is freed then */
void server_return(struct server *s);        /* its name has the address again, before it is gone */
void server_check_gone(struct server *s);    /* it may have nothing left */
bool server_is_gone(const struct server *s); /* only its memory is left */
#endif
