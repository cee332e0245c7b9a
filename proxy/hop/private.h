/* SPDX-License-Identifier: MIT */
/*
 * What the files of hop/ share: the objects of the data plane and who owns whom.
 *
 *   hop ─┬─ listener ─── down (a client's connection) ─── legs of exchanges
 *        ├─ pool (two an origin: push on, push off) ─── up (a connection to it) ─── legs of exchanges
 *        └─ relay ─── exchanges
 *
 * Everything dies at the end of a loop turn, on hop->dead or in relay_reap.
 */
#ifndef PUSHGATE_HOP_PRIVATE_H
#define PUSHGATE_HOP_PRIVATE_H

#include "proxy/base/budget.h"
#include "proxy/base/map.h"
#include "proxy/base/rate.h"
#include "proxy/h2/h2.h"
#include "proxy/hop/etags.h"
#include "proxy/hop/facts.h"
#include "proxy/hop/hop.h"
#include "proxy/http/date.h"
#include "proxy/relay/hold.h"
#include "proxy/relay/relay.h"

struct listener {
	struct hop *hop;
	const struct conf_listen *conf;
	struct net_tls *tls; /* owned; NULL = plain */
	/* struct listener_socket: siblings' sockets may be adopted for a while */
	struct list sockets;
	uint32_t connections;
	struct map clients; /* struct client: who is connected */
};

/* A connection that is over: its transport is gone, the rest of it goes at the end of the turn. */
struct corpse {
	struct list link; /* in hop->dead */
	void (*bury)(struct corpse *corpse);
};

/* What the other end of a connection takes (taking.c). */
struct taking {
	usec looked; /* last */
	usec since;  /* when so many octets were `delivered` */
	uint64_t delivered;
	usec good_until; /* until then it counts as one that takes enough */
};

/* What is done while the worker's memory is short (pressure.c). */
struct pressure {
	size_t high_bytes, low_bytes; /* it begins at the one and is over at the other */
	struct list idle;             /* struct down: without a stream, longest first */
	size_t leaving_bytes;         /* given back with this turn */
	size_t closing_bytes;         /* given back when connections have said their last word */
	unsigned looks;               /* exchanges that may still be looked at in this turn */
	bool is_on, has_more;
	bool holds_back; /* nothing is read from origins */
	usec says_again;
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

/* ---- a client's connection ---- */

#define MEMORY_QUIET_PAGES 8u

/* What its client has (memory.c). */
struct memory {
	struct policy_diary diary;        /* most 0: nothing is remembered */
	struct policy_cookie_set *cookie; /* owned; what the client carries; NULL: nothing yet */
	uint64_t cookie_text;             /* of the cookie that was looked at last, a hash */
	bool is_awake;                    /* something was offered here, or may be at any time */
	/* Pages all of whose promises the client knew: the next time they go without push, so that
	 * the origin has nothing to send and we nothing to refuse. Until some resource has changed.
	 * */
	uint64_t quiet[MEMORY_QUIET_PAGES];
	uint32_t quiet_count, quiet_as_of; /* entries ever made; hop->etags.changes of that time */
};

/* What a connection costs while idle, its engine and TLS included; charged as a lump from the
 * beginning. */
#define CONNECTION_BYTES 4096u
#define CONNECTION_TLS_BYTES 7168u
static inline size_t connection_bytes(bool has_tls)
{
	return CONNECTION_BYTES + (has_tls ? CONNECTION_TLS_BYTES : 0);
}

struct down {
	struct hop *hop;
	struct listener *listener;
	struct net_conn *net; /* NULL once closed */
	struct h2_conn *h2;   /* NULL until the preface has been seen */
	struct budget budget;
	struct budget hold_budget; /* of what is held for it */
	struct list link;          /* in hop->downs */
	struct corpse corpse;
	struct list legs;
	struct list waiting;  /* pushes whose response waits for room */
	struct list idle;     /* in hop->pressure.idle while quiet_since is not USEC_NEVER */
	size_t closing_bytes; /* its part of hop->pressure.closing_bytes */
	struct wheel_node timer;
	struct address client;
	struct client *counted; /* among the listener's; NULL: not counted */
	usec opened, quiet_since;
	struct taking taking;
	struct hold_store held;
	struct memory memory;
	uint64_t push_buffered; /* octets of pushed responses that wait here */
	uint32_t pushes_open;
	uint8_t sniffed[H2_PREFACE_LEN];
	uint8_t sniffed_len;
	bool is_open, is_closing;
};

/* A connection that is blocked says so to nobody: while it has exchanges it is looked at so often. */
#define LOOK_AT_BLOCKED_USEC USEC_PER_SEC

void down_accept(struct listener *l, int fd, const struct net_address *peer);
void down_shutdown(struct down *d); /* graceful */
/* At once and without a word; detail: for the log of its exchanges, or NULL. */
void down_abort(struct down *d, const char *detail);
void down_shed(struct down *d);          /* idle, and its memory is wanted */
void down_take_events(struct down *d);   /* of its engine */
void down_start_waiting(struct down *d); /* pushes that may begin now */
/* down_deadline.c */
void down_is_quiet(struct down *d); /* it has no stream; or: its time without one begins again */
void down_is_busy(struct down *d);  /* a request came */
void down_arm(struct down *d);
void down_arm_sooner(struct down *d); /* if something is due before what the timer is set to */
void down_expired(struct wheel_node *timer, usec now);
/* How long this exchange's client may take nothing, or too little, of what waits for it. */
usec down_take_limit(struct down *d, const struct leg *leg);
extern const struct leg_ops down_leg_ops;
/* Cuts the links between a leg and its connection and stream; the stream itself is left alone. */
void down_leg_cut(struct leg *leg);
/* A request came. Takes head. */
void down_request(
    struct down *d, struct h2_stream *s, struct http_head *head, bool end, bool oversize);

/* ---- connections to origins ---- */

struct pool {
	struct hop *hop;
	const struct conf_origin *origin;
	struct net_tls *tls; /* owned by the push-on pool, shared by its twin */
	bool push;           /* announces ENABLE_PUSH=1 */
	struct list ups;
	struct list queue; /* exchanges (waiting) */
	uint32_t queued;
	/* connections that take requests, or will; those of them that are not ready */
	uint32_t count, connecting;
	uint32_t next_address, failures; /* failures in a row, over the origin's addresses */
	/* a connection could not be had: no other is tried before, while there are any */
	usec grows_again;
	bool was_used;
};

/* What its streams' windows have grown to (up_window.c). */
struct up_window {
	uint32_t bytes;
	uint64_t probe_bytes; /* came since the PING was sent */
	bool is_probing;
};

struct up {
	struct hop *hop;
	struct pool *pool;
	struct net_conn *net;
	struct h2_conn *h2; /* NULL until connected */
	struct budget budget;
	struct list link; /* in pool->ups */
	struct corpse corpse;
	struct list legs;
	struct wheel_node timer;
	usec started, quiet_since; /* started: to connect; once connected, since then */
	struct taking taking;
	uint64_t requests; /* sent so far */
	uint64_t cancels;  /* of these, reset by us */
	struct up_window window;
	bool is_open, is_ready, is_closing; /* connected; SETTINGS came; no more requests */
	bool is_gone;                       /* on hop->dead */
	/* it promised so much that was refused that we turned push off here */
	bool push_was_withdrawn;
	struct bucket promises, refusals, resets;
};

void pool_init(struct pool *p, struct hop *hop, const struct conf_origin *origin,
    struct net_tls *tls, bool push);
void pool_fini(struct pool *p);
void pool_part(
    struct pool *p); /* GOAWAY to all (RFC 9113 6.8); nobody waits for anything any more */
struct pool *pool_choose(struct hop *hop, struct exchange *x);
void pool_dispatch(struct pool *p, struct exchange *x);
void pool_undispatch(struct exchange *x);
void pool_serve(struct pool *p); /* sends what is queued as far as there is room */
/* Whether one of its connections may take no more requests, so that another is opened in its place. */
bool pool_may_replace(const struct pool *p);
/* a connection could not be opened */
void pool_failed(struct pool *p, const struct relay_cause *cause, const char *detail);

void up_open(struct pool *p);
/* What we announce to the origin. */
struct h2_settings up_settings(const struct conf_origin *o, bool push);
void up_kill(struct up *u, const struct relay_cause *cause); /* at once and without a word */
void up_terminate(struct up *u, enum h2_code code, struct slice why); /* GOAWAY, then close */
void up_retire(struct up *u); /* takes no more requests; closes when those that it has are over */
bool up_has_room(const struct up *u);
/* Sends the exchange's request; else why it cannot be sent: no memory, or too large for this origin. */
const struct relay_cause *up_send(struct up *u, struct exchange *x);
/* The connection has failed: no request can start on it any more, and what waited for it hears. */
void up_lost(struct up *u, const struct relay_cause *cause, uint32_t code, const char *detail);
void up_take_events(struct up *u); /* of its engine */
/* up_window.c */
void up_window_init(struct up_window *w, const struct conf_origin *o);
void up_window_probe(struct up *u, size_t received); /* so many octets of a body have come */
void up_window_grow(struct up *u);                   /* the PING is answered */
/* The exchange's stream may have what the windows have grown to. */
void up_window_widen(struct up *u, struct exchange *x);
/* up_deadline.c */
void up_arm(struct up *u);
void up_expired(struct wheel_node *timer, usec now);
/* How long the origin may take nothing, or too little, of this exchange's upload. */
usec up_take_limit(struct up *u, const struct leg *leg);
extern const struct leg_ops up_leg_ops;
void up_leg_cut(struct leg *leg);

/* clients.c */
struct client;
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

/* taking.c */
/* When a socket that takes too little is to be given up; USEC_NEVER while it takes all. */
usec taking_deadline(
    struct taking *t, const struct net_conn *net, usec limit, uint32_t min_rate, usec now);
/* How long a stream may stand still when `limit` holds for the connection; 0: without limit, since
 * others are served. */
usec taking_limit(struct taking *t, const struct net_conn *net, const struct h2_conn *h2,
    const struct h2_stream *stream, usec limit, uint32_t min_rate, usec now);

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

/* memory.c: what clients have */
void memory_setup(struct hop *hop);
void memory_init(struct down *d);
void memory_fini(struct down *d);
/* A request came, on a connection whose memory is awake. Cuts the diary's cookie out of it. */
void memory_request(struct down *d, struct exchange *x);
/* The final response's head goes to the client of x, whose memory is not NULL. */
void memory_response(struct exchange *x, struct http_head *head);
/* Does the client have what is offered with the parent? Wakes the memory. */
enum policy_known memory_knows(const struct exchange *parent, const struct http_head *promised);
void memory_promised(struct exchange *push);
/* The relayed offer was dropped as known; and: the page has ended. */
void memory_refused(struct exchange *page);
void memory_page_ended(struct exchange *page);
/* Would nothing that the origin could push with it be new? */
bool memory_is_quiet(const struct exchange *page);
void memory_hinted(const struct exchange *parent, const struct http_head *promised);
void memory_ended(struct exchange *push, enum observe_outcome outcome);

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
/* The end of a turn, after the reaper. */
void pressure_turn(struct hop *h);
/* When another turn shall come though nothing happens; USEC_NEVER: not. */
usec pressure_due(const struct hop *h);
/* After each read, which is little beside what is left above the mark. */
static inline void pressure_check(struct hop *h)
{
	const struct pressure *p = &h->pressure;
	if (h->budget.used_bytes >= p->high_bytes || p->is_on)
		pressure_act(h);
}

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
/* something is over: while draining, another turn shall follow */
void hop_nudge(struct hop *h);
void hop_reap(struct hop *h);      /* what has died in this turn */
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
