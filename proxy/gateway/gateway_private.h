/* SPDX-License-Identifier: MIT */
/*
 * Private to gateway/: the data plane and its parts (docs/ARCHITECTURE.md has their tree).
 * Objects that have ended are freed at the end of the loop pass: by relay_reap, or from env.dead.
 */
#ifndef PUSHGATE_GATEWAY_GATEWAY_PRIVATE_H
#define PUSHGATE_GATEWAY_GATEWAY_PRIVATE_H

#include "proxy/admin/admin.h"
#include "proxy/admission/admission.h"
#include "proxy/client/client.h"
#include "proxy/gateway/gateway.h"
#include "proxy/names/names.h"
#include "proxy/remembered/remembered.h"
#include "proxy/speculation/speculation.h"
#include "proxy/tracing/tracing.h"
#include "proxy/upstream/upstream.h"
#include "proxy/waterfall/waterfall.h"

/* The state of shedding while the worker's memory is short (memory_pressure.c). */
struct memory_pressure {
	size_t low_bytes;     /* shedding starts at env.memory_high_bytes and stops here */
	size_t leaving_bytes; /* will be freed at the end of this loop pass */
	unsigned checks_left; /* exchanges that may still be examined in this loop pass */
	bool has_more;        /* the limit of one loop pass was reached: go on in the next one */
	bool pauses_origins;  /* reading from origins is paused */
	usec next_log;        /* no warning in the error log before this time */
};

/* The budget while the system refuses memory (memory_squeeze.c). */
struct memory_squeeze {
	bool is_on;        /* the budget is smaller than it is configured */
	uint64_t refusals; /* not yet counted and logged */
	usec grow_at, next_log;
};

/* Returns unused memory to the system after a peak (memory_trim.c). */
struct memory_trim {
	struct wheel_node timer; /* set after a peak */
	size_t freed_bytes;      /* spares that were freed but that malloc still keeps */
	bool is_under_way;
	unsigned size; /* of the pieces that are taken now, an index; the last: all are taken */
	struct memory_piece *taken; /* to be freed again */
};

/* The memory of pages, and what takes the lessons for it (lessons.c). */
struct lessons {
	struct remembered *memory;    /* owned; NULL: no [preload] section remembers */
	struct offer_lessons *offers; /* owned; NULL as the memory */
	bool (*teach)(void *context, struct slice message); /* of gateway_env, with its context */
	void *context;
};

/* Loop passes that took long, since the last line about them (long_pass.c). */
struct long_pass {
	usec longest;
	const char *note; /* the action that took longest; NULL: not known */
	uint32_t unlogged;
	usec next_log; /* no line in the error log before this time */
};

/* The graceful end of the worker (drain.c). */
struct drain {
	bool is_over;            /* `drained` was called */
	bool is_late;            /* the deadline has passed */
	bool is_closing_origins; /* GOAWAY was sent to the origins */
	usec spares_until;       /* the deadline of what gateway_spare_long spares; 0: of nothing */
	struct wheel_node timer, tunnel_timer;
	void (*drained)(void *context);
	void *context;
};

/* Tunnels that the access rules of a newer worker judge (recheck.c). */
struct recheck {
	bool (*ask)(void *context, const struct gateway_tunnel *t); /* NULL: no worker judges */
	void *context;
	struct list unasked, asked; /* exchanges, by `waiting`; of the second some may have ended */
	uint32_t asked_count;       /* answers that are to come */
	struct wheel_node again;
};

/* How often a response that a rule held could not answer a request for it, by cause. */
struct rule_misses {
	uint32_t count[HOLD_MISS_COUNT];
};

/* The open connections of this worker, as others see them (connection_records.c). */
struct shown_connections {
	struct connection_lane *lane; /* borrows; NULL: no page shows them */
	struct wheel_node timer;
};

struct gateway {
	struct worker_env env;
	struct relay relay;
	struct clients clients;
	struct upstream upstream;
	struct names *names;             /* owned; NULL: no server has one */
	struct hold hold;                /* the held responses */
	struct budget hold_budget;       /* the part of the worker's memory that they may use */
	struct policy_feedback feedback; /* how many of each rule's pushes were used */
	struct rule_misses *rule_misses; /* by policy_rule.index; owned */
	struct hint_uses *hint_uses;     /* owned; NULL: no rule pauses for unused hints */
	struct route_env routes;         /* borrows the members below, as the next */
	struct offer_env offers;
	struct router *router, *forward_router; /* owned; the second may be NULL */
	struct forwarding_table *forwarding;    /* owned */
	struct manifests *manifests;            /* owned */
	struct lessons lessons;
	struct list sockets; /* struct listener_socket */
	struct memory_pressure pressure;
	struct memory_squeeze squeeze;
	struct memory_trim trim;
	struct long_pass long_pass;
	struct drain drain;
	struct recheck recheck;
	struct admission admission;
	struct unique request_ids;
	struct waterfall_lane *pages; /* owned; NULL: no pages are recorded */
	struct route_times *times;    /* owned; by the number of the route */
	struct shown_connections shown;
	struct admin *admin; /* owned */
	const char *(*explain)(void *context, const struct admin_question *q,
	    const struct manifests *manifests, FILE *out); /* of gateway_env, with its context */
	void *explain_context;
	const char *acme_thumbprint; /* of gateway_env */
	char *pac_text;              /* owned; NULL until a client asks for /proxy.pac */
	char pseudonym_text[80];
	struct chunk_pool *small_chunks;
};

/* ---- gateway.c ---- */

void gateway_reap(struct gateway *g);      /* frees the objects that ended in this loop pass */
void gateway_set_timer(struct gateway *g); /* to the nearest deadline */

/* ---- listeners.c ---- */

void listeners_stop(struct gateway *g); /* stops accepting; the master owns the sockets */

/* ---- gateway_request.c ---- */

void gateway_request(void *gateway, struct exchange *x);
/* admission.identified */
void gateway_identified(void *gateway, struct exchange *x, enum user_answer answer);

/* ---- request_id.c ---- */

/* The listener has request-id. */
void gateway_give_id(struct gateway *g, struct exchange *x);
/* ---- challenge.c ---- */

/* A listener has acme. True: x was an authority's request for a challenge, and has been answered. */
bool challenge_serves(const struct gateway *g, struct exchange *x);
/* The body of that answer. */
struct slice challenge_text(const struct gateway *g, struct exchange *x);

/* ---- pac.c ---- */

/* The listener has pac = yes. True: x was a request for the file, and has been answered. */
bool pac_serves(struct gateway *g, struct exchange *x);
/* The body of that answer. */
struct slice pac_text(const struct gateway *g, struct exchange *x);

/* ---- speculation.c ---- */

/* There is a memory of pages. True: x was a request for the rules of a page, and has been answered. */
bool speculation_serves(const struct gateway *g, struct exchange *x);
/* That answer. */
void speculation_answer(
    const struct gateway *g, struct exchange *x, struct http_own_answer *answer);
/* The final response in a route with speculation: teaches where clients go, and names the rules of its page, if there
 * are any. */
void speculation_response(struct gateway *g, struct exchange *x, struct http_head *head);

/* ---- admin_facts.c ---- */

/* The facts that the pages of admin listeners need: for admin_new. */
struct admin_env admin_facts(struct gateway *g, const struct gateway_env *env);

/* ---- file_answer.c ---- */

void file_answer(struct exchange *x, struct http_own_answer *answer);

/* ---- tunnel_sni.c ---- */

enum relay_look gateway_tunnel_look(void *gateway, struct exchange *x, const char **detail);

/* ---- own_answer.c ---- */

void gateway_own_answer(void *gateway, struct exchange *x, struct http_own_answer *answer);
/* The value of Strict-Transport-Security for the responses to x; empty: none. */
struct slice gateway_transport_security(const struct exchange *x);

/* ---- server_timing.c ---- */

/* The final response to x, which an origin or a held response has answered, gets the field. */
void server_timing_add(const struct exchange *x, struct http_head *head);
/* So does that of a page load that is in an arm. */
void server_timing_add_arm(const struct conf_arm *arm, struct http_head *head);

/* ---- relay_ops.c ---- */

extern const struct relay_ops gateway_relay_ops;
extern const struct hold_ops gateway_hold_ops;

/* ---- push_decision.c: the facts of an offer; counts and logs once it is decided ---- */

void promise_facts(void *gateway, struct exchange *parent, struct http_head *promised,
    struct policy_offer *offer, struct relay_place *place);
bool promise_is_special(
    void *gateway, const struct exchange *parent, const struct http_head *promised);
void promise_decided(void *gateway, struct exchange *parent, const struct policy_offer *offer,
    struct policy_verdict verdict);
void promise_made(void *gateway, struct exchange *push);

/* ---- push_feedback.c: reports the results of pushes to the policy ---- */

void feedback_init(struct gateway *g);
void feedback_event(struct gateway *g, const struct policy_rule *rule, enum policy_event event);
void feedback_fini(struct gateway *g);
void feedback_decided(struct gateway *g, const struct policy_verdict *verdict);
void feedback_made(struct gateway *g, const struct exchange *push);
void feedback_shadowed(
    void *gateway, struct exchange *parent, const struct policy_verdict *verdict);
void feedback_ended(struct gateway *g, const struct exchange *push, enum observe_outcome outcome);
void feedback_held(struct gateway *g, const struct hold_note *held);

/* ---- hint_uses.c ---- */

void hint_uses_init(struct gateway *g);
void hint_uses_fini(struct gateway *g);
/* With g->hint_uses: the resource was hinted to the client of `parent`, and not held. */
void hint_uses_made(struct gateway *g, const struct exchange *parent,
    const struct http_head *promised, const struct policy_verdict *verdict);
/* A client's request; with g->hint_uses. */
void hint_uses_asked(struct gateway *g, const struct exchange *x);

/* ---- recheck.c ---- */

void recheck_open(struct gateway *g);
/* No worker judges any more. */
void recheck_close(struct gateway *g);
/* A tunnel has opened while a worker judges. */
void recheck_opened(struct gateway *g, struct exchange *x);

/* ---- lessons.c ---- */

void lessons_open(struct gateway *g, const struct gateway_env *env);
void lessons_close(struct gateway *g);
/* Gives the owner of the memory a message. */
void lessons_teach(void *gateway, struct slice message);
/* It has taught all that it names: if it was answered to its end. */
void lessons_ended(struct gateway *g, struct exchange *x, enum observe_outcome outcome);

/* ---- page_reading.c: x->onlooker is the reading ---- */

/* The final head has come, and its lesson, if there is one, is open: reads the body while it passes, if it is a page with a
 * lesson or a stylesheet of one. Ends the lesson of a page that cannot be read. */
void page_reading_begin(struct gateway *g, struct exchange *x, const struct http_head *response);
void page_reading_pass(
    void *gateway, struct exchange *x, struct slice bytes); /* relay_ops.body_passes */
/* hold_ops.arrived: reads a stylesheet before it is claimed. */
void page_reading_held(void *gateway, struct exchange *push, const struct http_head *response,
    const struct body *body);
/* Of each exchange that has ended, before its lesson is closed. */
void page_reading_ended(struct exchange *x);

/* ---- page_items.c ---- */

struct http_target;
struct markup_resource;
/* Makes the items that the memory gets for one resource. `page`: the page, or the stylesheet, that names the resource. Returns
 * how many items it has made; their texts are in the arena, or borrowed from the resource. */
enum { PAGE_ITEMS_MOST = 2 };
size_t page_items_of(struct arena *a, const struct http_target *page,
    const struct markup_resource *r, enum conf_scripts scripts,
    struct remembered_item items[PAGE_ITEMS_MOST]);

/* ---- memory_pressure.c ---- */

void memory_pressure_open(struct gateway *g);
/* Call at the end of each loop pass, after gateway_reap. */
void memory_pressure_pass(struct gateway *g);
/* When the next loop pass must run even without an event; USEC_NEVER: memory is not short. */
usec memory_pressure_due(const struct gateway *g);

/* After a change of the budget's limit. */
void memory_pressure_set_marks(struct gateway *g);

/* ---- memory_squeeze.c ---- */

void memory_squeeze(void *gateway);          /* the system has refused memory: for reserve_open */
void memory_squeeze_pass(struct gateway *g); /* call at the end of each loop pass */

/* ---- memory_trim.c ---- */

void memory_trim_open(struct gateway *g);
void memory_trim_close(struct gateway *g);
void memory_trim_pass(struct gateway *g); /* call at the end of each loop pass */

/* ---- long_pass.c ---- */

void long_pass_report(void *gateway, usec took, const char *note); /* for net_on_long_pass */

/* ---- access_record.c ---- */

void access_record_ended(void *gateway, struct exchange *x);
/* The client's part of the log line of x, or of an offer that came with x. */
struct observe_client access_record_client(const struct exchange *x);
struct slice access_record_user(const struct exchange *x);
/* Writes the ids of its trace and its span, or those that its client has sent, and returns t; NULL: there are none. */
const struct observe_trace *access_record_trace(const struct exchange *x, struct observe_trace *t);
struct observe_request access_record_request(const struct exchange *x);
struct observe_origin access_record_origin(const struct exchange *x);
struct observe_ending access_record_ending(const struct exchange *x, enum observe_outcome outcome);
/* As the client sent it: a tunnel by Upgrade was asked for with GET, and answered with 101. */
struct slice access_record_method(const struct exchange *x);
/* Without a user: such an authority is malformed (RFC 9110 4.2.4), and before the "@" may stand a password. */
struct slice access_record_authority(const struct exchange *x);
uint16_t access_record_status(const struct exchange *x);
uint64_t access_record_bytes(const struct exchange *x); /* of its body, to the client */
void access_record_held(void *gateway, const struct hold_note *note);
/* Whether the log has a line of it in any case. */
bool access_record_is_failure(const struct exchange *x, enum observe_outcome outcome);

/* ---- span_record.c: with a tracing, and but for the two in the middle only for what is recorded ---- */

/* The request is sent again. */
void span_record_retried(
    struct gateway *g, struct exchange *x, const struct relay_failure *failure);
/* An offer became no push. */
void span_record_decided(const struct exchange *page, const struct policy_offer *offer,
    const struct policy_verdict *verdict);
/* A push was promised, or is held. */
void span_record_made(struct gateway *g, struct exchange *push);
void span_record_held(const struct hold_note *n);
void span_record_ended(struct gateway *g, struct exchange *x, enum observe_outcome how);

/* ---- times_record.c ---- */

void times_record_open(struct gateway *g);
void times_record_close(struct gateway *g);
void times_record_ended(struct gateway *g, const struct exchange *x);

/* ---- connection_records.c ---- */

void connection_records_open(struct gateway *g, struct connection_lane *lane);
void connection_records_close(struct gateway *g);

/* ---- page_records.c: what happens to pages and their pushes, for the pages of admin listeners ---- */

void page_records_open(struct gateway *g, const struct waterfall *w);
void page_record_decided(struct gateway *g, const struct exchange *parent,
    const struct policy_offer *offer, const struct policy_verdict *verdict);
void page_record_made(struct gateway *g, const struct exchange *push);
void page_record_held(struct gateway *g, const struct hold_note *note);
void page_record_ended(struct gateway *g, const struct exchange *x, enum observe_outcome outcome);

/* ---- drain.c ---- */

void drain_open(struct gateway *g);
void drain_check(struct gateway *g); /* ends the drain after the last exchange */

#endif
