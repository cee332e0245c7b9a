/* SPDX-License-Identifier: MIT */
/*
 * What the files of hop/ share: the objects of the data plane and who owns whom.
 *
 *   hop ─┬─ listener ─── down (a client's connection) ─── legs of exchanges
 *        ├─ pool (two an origin: push on, push off) ─── up (a connection to it) ─── legs of exchanges
 *        └─ relay ─── exchanges
 *
 * Everything dies at the end of a loop pass, on hop->dead or in relay_reap.
 */
#ifndef PUSHGATE_HOP_PRIVATE_H
#define PUSHGATE_HOP_PRIVATE_H

#include "proxy/base/budget.h"
#include "proxy/base/map.h"
#include "proxy/hop/down.h"
#include "proxy/hop/etags.h"
#include "proxy/hop/facts.h"
#include "proxy/hop/hop.h"
#include "proxy/hop/up.h"
#include "proxy/http/date.h"

struct listener {
	struct hop *hop;
	const struct conf_listen *conf;
	struct h2_limits limits; /* of its connections */
	struct net_tls *tls;     /* owned; NULL = plain */
	/* struct listener_socket: siblings' sockets may be adopted for a while */
	struct list sockets;
	uint32_t connections;
	struct map clients; /* struct client: who is connected */
};

/* What is done while the worker's memory is short (pressure.c). */
struct pressure {
	size_t high_bytes, low_bytes; /* it begins at the one and is over at the other */
	struct list idle;             /* struct down: without a stream, longest first */
	size_t leaving_bytes;         /* given back with this loop pass */
	size_t closing_bytes;         /* given back when connections have said their last word */
	unsigned looks;               /* exchanges that may still be looked at in this loop pass */
	bool is_on, has_more;
	bool holds_back; /* nothing is read from origins */
	usec says_again;
};

/* What was needed at a peak and is no more (leftover.c). */
struct leftover {
	struct wheel_node timer; /* set after a peak */
	size_t freed_bytes;      /* of spares: malloc has them, the system not yet */
};

struct hop {
	struct hop_env env;
	struct relay relay;
	struct hold hold;                      /* responses kept for the clients' own requests */
	struct hold_limits hold_limits;        /* of one client connection */
	struct policy_feedback feedback;       /* what came of the rules' pushes */
	struct policy_cookie_keys cookie_keys; /* of the diary's cookie; none: there is no cookie */
	struct etags etags;                    /* that were seen */
	struct budget budget;                  /* of the worker */
	struct pressure pressure;
	struct leftover leftover;
	struct budget hold_budget; /* the part of it that held responses may take */
	struct chunk_pool *small;
	struct http_head_pool *heads;
	struct net_timer timer; /* turns the wheel */
	struct router *router;
	struct manifests *manifests;    /* owned */
	struct source_learned *learned; /* owned; NULL: nobody asked for it */
	struct wheel_node learned_timer;
	struct wheel_node manifests_timer;
	/* what requests are judged by: borrows of the members above */
	struct facts_base facts;
	struct listener *listeners; /* one a listen section */
	/* two an origin: [2 × index] push on, [2 × index + 1] push off */
	struct pool *pools;
	/* a rule wants to know the round trip: a system call an offer */
	bool asks_rtt;
	/* nothing is offered but what origins promise: diaries can wait for that */
	bool is_forgetful;
	usec *push_off_until; /* by route: it costs the origin too many resets */
	struct list downs;
	struct list dead; /* struct corpse */
	struct slice pseudonym;
	char pseudonym_text[80];
	char date_text[HTTP_DATE_LEN]; /* of date_sec, since the epoch */
	uint64_t date_sec;
	bool is_draining, is_drained, is_late; /* is_late: the drain's deadline has passed */
	bool is_parting;                       /* the origins have been told that it is over */
	struct wheel_node drain_timer;
	void (*drained)(void *context);
	void *drained_context;
};

/* clients.c */
/* Another connection from there. False: it has as many as it may have. */
bool clients_enter(struct listener *l, const struct address *from, struct client **client);
void clients_leave(struct listener *l, struct client *client); /* NULL is fine */

/* complain.c: what peers do wrong. `what` is a constant string: a fault's name, or a few words. */
void complain_of_client(
    struct listener *l, const struct address *client, const char *what, const char *more);
void complain_of_down(const struct down *d, const char *what, const char *more);
void complain_of_up(const struct up *u, const char *what, const char *more);
/* For h2_env; the context is the hop. */
void complain_count_client(void *hop, const struct h2_fault *fault);
void complain_count_origin(void *hop, const struct h2_fault *fault);

/* limits.c: what the engines enforce */
struct h2_limits down_limits(const struct conf_listen *c);
struct h2_limits up_limits(const struct conf_origin *o);

/* promise.c */
void up_promise(struct up *u, struct h2_event *e);
void promise_facts(void *context, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place);
void promise_settled(void *context, struct exchange *parent, const struct policy_offer *offer,
    struct policy_verdict verdict);
void promise_made(void *context, struct exchange *push);
/* What the client's connection is like just now, in the room that is given; NULL: there is none any
 * more. */
const struct facts_client *down_facts(const struct exchange *x, struct facts_client *room);

/* feedback.c: what came of the rules' pushes */
void feedback_init(struct hop *hop);
void feedback_fini(struct hop *hop);
void feedback_settled(struct hop *hop, const struct policy_verdict *verdict);
void feedback_made(struct hop *hop, const struct exchange *push);
void feedback_shadowed(
    void *context, struct exchange *parent, const struct policy_verdict *verdict);
void feedback_ended(struct hop *hop, const struct exchange *push, enum observe_outcome outcome);
void feedback_held(struct hop *hop, const struct hold_note *held);

/* learned.c */
void learned_open(struct hop *hop);
void learned_close(struct hop *hop);
void learned_view(struct hop *hop, const struct exchange *x); /* a request has come */
void learned_offered(struct hop *hop, const struct exchange *page, struct slice path);
void learned_ended(struct hop *hop, const struct exchange *x, enum observe_outcome outcome);

/* pressure.c */
void pressure_init(struct pressure *p, const struct budget *budget);
/* So much is in use that something has to go. */
void pressure_act(struct hop *h);
/* The end of a loop pass, after the reaper. */
void pressure_pass(struct hop *h);
/* When another loop pass shall come though nothing happens; USEC_NEVER: not. */
usec pressure_due(const struct hop *h);
/* After each read, which is little beside what is left above the mark. */
static inline void pressure_check(struct hop *h)
{
	const struct pressure *p = &h->pressure;
	if (h->budget.used_bytes >= p->high_bytes || p->is_on)
		pressure_act(h);
}

/* leftover.c */
void leftover_init(struct hop *h);
void leftover_fini(struct hop *h);
/* The end of a loop pass. */
void leftover_pass(struct hop *h);

/* account.c */
void account_ended(void *context, struct exchange *x);
void account_held(void *context, const struct hold_note *note);
void account_status(struct hop *h, uint16_t status);

/* out.c: puts one connection's frames into a send. Returns true when anything was put in. */
bool out_fill(struct h2_conn *h2, struct net_out *out);

/* hop.c */
/* The present as a Date field says it; lent until the next call. */
struct slice hop_date(struct hop *h);
usec hop_now(struct hop *h); /* reads the loop's time into the relay */
/* something is over: while draining, another loop pass shall follow */
void hop_nudge(struct hop *h);
void hop_reap(struct hop *h);      /* what has died in this loop pass */
void hop_set_timer(struct hop *h); /* to what is due first */

/* listeners.c */
bool listeners_open(struct hop *h, char *error, size_t error_size);
void listeners_stop(struct hop *h); /* accepts no more; the sockets are the master's */
void listeners_close(struct hop *h);

/* relay_ops.c */
extern const struct relay_ops hop_relay_ops;
extern const struct hold_ops hop_hold_ops;

/* drain.c */
void drain_expired(struct wheel_node *timer, usec now); /* in struct hop: drain_timer */
void hop_check_drained(struct hop *h);                  /* once more: is it over? */

#define HOP_COUNT(hop, name, n) ((hop)->env.observe->counters->name += (uint64_t)(n))

#endif
