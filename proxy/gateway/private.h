/* SPDX-License-Identifier: MIT */
/*
 * What the files of gateway/ share: the data plane and its parts.
 *
 *   gateway ─┬─ worker_env: loop, configuration, memory, time
 *            ├─ listeners (sockets) ──► clients ─── client connections ─── downstream legs
 *            ├─ relay ─── exchanges, held responses
 *            └─ upstream ─── pools ─── origin connections ─── upstream legs
 *
 * Everything dies at the end of a loop pass, on env.dead or in relay_reap.
 */
#ifndef PUSHGATE_GATEWAY_PRIVATE_H
#define PUSHGATE_GATEWAY_PRIVATE_H

#include "proxy/client/client.h"
#include "proxy/gateway/gateway.h"
#include "proxy/upstream/upstream.h"

/* What is done while the worker's memory is short (memory_pressure.c). */
struct memory_pressure {
	size_t low_bytes;     /* it begins at env.memory_high_bytes and is over here */
	size_t leaving_bytes; /* given back with this loop pass */
	unsigned looks;       /* exchanges that may still be looked at in this loop pass */
	bool has_more;
	bool pauses_origins; /* nothing is read from origins */
	usec next_log;       /* the next line about it in the error log */
};

/* Memory that a peak needed and that is unused now (memory_trim.c). */
struct memory_trim {
	struct wheel_node timer; /* set after a peak */
	size_t freed_bytes;      /* of spares: malloc has them, the system not yet */
};

/* The end in good order (drain.c). */
struct drain {
	bool is_over;            /* `drained` was called */
	bool is_late;            /* the deadline has passed */
	bool is_closing_origins; /* the origins have been told */
	struct wheel_node timer;
	void (*drained)(void *context);
	void *context;
};

struct gateway {
	struct worker_env env;
	struct relay relay;
	struct clients clients;
	struct upstream upstream;
	struct hold hold;                /* responses kept for the clients' own requests */
	struct budget hold_budget;       /* the part of the worker's memory that they may take */
	struct policy_feedback feedback; /* what came of the rules' pushes */
	struct offer_env offers;         /* borrows of the members below */
	struct router *router;
	struct manifests *manifests;   /* owned */
	struct offer_learned *learned; /* owned; NULL: no [preload] section asks for it */
	struct wheel_node learned_timer, manifests_timer;
	struct list sockets; /* struct listener_socket */
	struct memory_pressure pressure;
	struct memory_trim trim;
	struct drain drain;
	char pseudonym_text[80];
	struct chunk_pool *small_chunks;
};

/* ---- gateway.c ---- */

void gateway_reap(struct gateway *g);      /* frees what has died in this loop pass */
void gateway_set_timer(struct gateway *g); /* to the nearest deadline */

/* ---- listeners.c ---- */

void listeners_stop(struct gateway *g); /* accepts no more; the sockets are the master's */

/* ---- request.c ---- */

void gateway_request(void *gateway, struct exchange *x);

/* ---- relay_ops.c ---- */

extern const struct relay_ops gateway_relay_ops;
extern const struct hold_ops gateway_hold_ops;

/* ---- promise.c: the facts of an offer, and what is noted once it is decided ---- */

void promise_facts(void *gateway, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place);
void promise_decided(void *gateway, struct exchange *parent, const struct policy_offer *offer,
    struct policy_verdict verdict);
void promise_made(void *gateway, struct exchange *push);

/* ---- feedback.c: what came of the rules' pushes ---- */

void feedback_init(struct gateway *g);
void feedback_fini(struct gateway *g);
void feedback_decided(struct gateway *g, const struct policy_verdict *verdict);
void feedback_made(struct gateway *g, const struct exchange *push);
void feedback_shadowed(
    void *gateway, struct exchange *parent, const struct policy_verdict *verdict);
void feedback_ended(struct gateway *g, const struct exchange *push, enum observe_outcome outcome);
void feedback_held(struct gateway *g, const struct hold_note *held);

/* ---- learned.c: feeding the learned table ---- */

void learned_open(struct gateway *g);
void learned_close(struct gateway *g);
void learned_view(struct gateway *g, const struct exchange *x); /* a request has come */
void learned_offered(struct gateway *g, const struct exchange *page, struct slice path);
void learned_ended(struct gateway *g, const struct exchange *x, enum observe_outcome outcome);

/* ---- memory_pressure.c ---- */

void memory_pressure_open(struct gateway *g);
/* The end of a loop pass, after the reaper. */
void memory_pressure_pass(struct gateway *g);
/* When another loop pass shall come although nothing happens; USEC_NEVER: not. */
usec memory_pressure_due(const struct gateway *g);

/* ---- memory_trim.c ---- */

void memory_trim_open(struct gateway *g);
void memory_trim_close(struct gateway *g);
void memory_trim_pass(struct gateway *g); /* the end of a loop pass */

/* ---- access_record.c ---- */

void access_record_ended(void *gateway, struct exchange *x);
void access_record_held(void *gateway, const struct hold_note *note);

/* ---- drain.c ---- */

void drain_open(struct gateway *g);
void drain_check(struct gateway *g); /* is it over? */

#endif
