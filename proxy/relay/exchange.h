/* SPDX-License-Identifier: MIT */
/*
 * An exchange: one request and its response between two legs. A push is an exchange that an origin's
 * promise, or an offer of pushgate's own, began. A leg is anything that implements struct leg_ops: in the
 * data plane an HTTP/2 stream or a held response, in tests an object in memory. No sockets, no engine.
 *
 *            request body: flow up
 *   client ─ leg down ─────── exchange ─────── leg up ─ origin
 *            response body: flow down
 *
 * A leg (leg.h) calls the exchange_on_… functions with each head and each piece, and the exchange calls the leg's ops.
 * An exchange stays allocated until relay_reap, at the end of the loop pass. After relay_ops.ended it has
 * no legs and ignores every call.
 */
#ifndef PUSHGATE_RELAY_EXCHANGE_H
#define PUSHGATE_RELAY_EXCHANGE_H

#include "policy/policy.h"
#include "proxy/base/budget.h"
#include "proxy/base/clock.h"
#include "proxy/base/effort.h"
#include "proxy/base/list.h"
#include "proxy/base/spares.h"
#include "proxy/base/wheel.h"
#include "proxy/http/promise.h"
#include "proxy/relay/cause.h"
#include "proxy/relay/leg.h"
#include "proxy/relay/phase.h"
#include "proxy/relay/pushes.h"
#include "proxy/relay/relay_ops.h"
#include "proxy/relay/request_facts.h"
#include "proxy/relay/tunnel.h"

/* ---- exchanges and pushes ---- */

enum push_state {
	PUSH_NONE,      /* an ordinary request */
	PUSH_OFFERED,   /* not promised yet: an end in this state is not reported */
	PUSH_PROMISED,  /* promised to the client */
	PUSH_ANSWERING, /* its response, or an interim one, has begun downstream */
	PUSH_DONE,
	PUSH_CANCELLED,
	/* held for the client's own request (hold/hold.h) */
	PUSH_HELD,
	PUSH_CLAIMED, /* over: it was held and answered a request */
	PUSH_EXPIRED, /* over: it was held, and no request came for it */
};

/* The members of a push: the origin, or an offer of our own, began the exchange. */
struct pushed_exchange {
	enum push_state state;
	bool is_expected;  /* the origin promised it to a subscription, which waits for it */
	bool was_promised; /* the client was sent a PUSH_PROMISE */
	enum policy_source source;
	struct exchange *parent; /* NULL once the parent is over */
	uint64_t parent_id;
	struct policy_verdict verdict;
	const struct policy_reason *end_reason; /* NULL when it went well */
	uint32_t claims;                        /* requests that wait for it, or get its bytes */
	struct list sibling;                    /* in the parent's pushes */
	struct list unbegun;                    /* in relay->unbegun while PUSH_PROMISED */
};

/* The source of the final response that the client gets. */
enum exchange_answer { ANSWERED_BY_NOBODY, ANSWERED_BY_ORIGIN, ANSWERED_BY_SELF };

struct exchange_response {
	enum exchange_answer answered_by;
	uint16_t status;   /* of the final head that went downstream; 0 = none yet */
	uint16_t interims; /* that came from the origin, over all attempts */
	bool continued;    /* pushgate has sent 100 (Continue) in the origin's place */
	uint64_t length;   /* content-length, or HTTP_LENGTH_UNKNOWN */
	/* In phase EXCHANGE_READY: the final head; owned. */
	struct http_head *pending;
};

enum hint_state { HINT_NONE, HINT_GATHERING, HINT_SENT };

/* A resource that was hinted to the client, or will be. In the request's arena. */
struct exchange_hint {
	struct http_target target;
	struct slice link; /* that waits for pushgate's own 103; empty: the client has a hint */
	uint32_t key;      /* of the field with the link (field_key.h); 0: unknown */
};

/* Fields of pushgate's own 103, under which a browser fetches what is hinted; empty: none. In the request's arena. */
struct exchange_hint_policies {
	struct slice csp, referrer; /* Content-Security-Policy, Referrer-Policy */
};

/* Pushgate's own 103 (RFC 8297), at most one for each exchange, and the resources that it hinted. */
struct exchange_hints {
	enum hint_state state; /* HINT_SENT: alone, or in a 103 of the origin's */
	uint32_t count, capacity;
	/* Each resource once, at most LIMIT_HINTS_PER_REQUEST; those of the origin's 103 too. */
	struct exchange_hint *list;
	const struct exchange_hint_policies *policies; /* NULL: none */
	usec due;
	struct list link; /* in relay->hinting while HINT_GATHERING */
};

struct exchange_timing {
	usec started;
	usec first_byte;    /* the final head was sent downstream; 0 = not yet */
	usec waits_since;   /* it was dispatched, or the push was promised */
	usec lingers_since; /* the response ended; in phase EXCHANGE_LINGERING */
	/* For the log. How long it was in the queue of a pool; and how much of that the connection
	 * took to open which it was sent on. Both are the pool's to write. */
	usec queued, connecting;
	usec sent;      /* to the origin, in the last attempt; or the origin promised it */
	usec answered;  /* the origin's final head came; 0 = not yet */
	usec completed; /* the end of the origin's response came; 0 = not yet */
	usec looked;    /* when the timer last fired; deadline.c */
	struct wheel_node timer;
};

/* How it ended. */
struct exchange_ending {
	const struct relay_cause *cause; /* NULL: complete */
	uint32_t code;                   /* RST_STREAM's, as it came */
	const char *detail;              /* in the request's arena, or NULL */
	/* Of a request: why no held response answered it. Of a held push: why it could not answer the first request for
	 * it. "vary accept-language"; a constant or in the request's arena; NULL = none. */
	const char *missed;
};

/* What its client, its fields and its route say of a request, beside where it goes. */
struct exchange_terms {
	/* The request's body is a stream of messages: the client may be silent before it ends. */
	bool is_streaming;
	/* A call of gRPC: the origin may be silent too, before its response as well. The call itself alone says how long
	 * it may take: call_timeout, since the request came; 0 = it does not. */
	bool is_call;
	/* A browser loads a page ahead of a navigation that may never come: it is refused rather than kept waiting for room. */
	bool is_speculative;
	usec call_timeout;
	usec request_timeout;        /* of the whole exchange, as its route says; 0 = none */
	uint64_t upload_limit_bytes; /* 0 = none */
};

/* Why a queued request, whose body has not wholly come, has not been sent to a server. */
enum upload_wait {
	UPLOAD_WAITS_NOT,
	UPLOAD_GATHERS, /* its body is gathered first (upstream/gathering.c) */
	UPLOAD_IS_SLOW, /* the connections that such requests may take are in use (origin/pool_slow.c) */
};

/* The budgets that the exchange is charged to (charge.c). */
struct exchange_payer {
	/* borrows: of the downstream leg, of the hold store, or the worker's */
	struct budget *budget;
	size_t charge; /* bytes charged beside bodies */
	/* borrows: counts the bytes that wait in `download`; NULL = they are not counted */
	uint64_t *buffered;
};

/* A request is given to at most so many servers, one after another. */
#define EXCHANGE_SERVERS_MOST 8u
/* Room for struct hold_part (hold/hold.h), struct client_part (client/client.h), struct admission_part
 * (admission/admission.h), struct upstream_attempt (upstream/destination.h), which begins with origin_attempt
 * (origin/origin.h), struct tracing_part (tracing/tracing.h), and struct offer_part (offer/lesson.h). */
#define EXCHANGE_HOLD_BYTES 32u
#define EXCHANGE_CLIENT_BYTES 48u
#define EXCHANGE_ADMISSION_BYTES 32u
#define EXCHANGE_ATTEMPT_BYTES 136u
#define EXCHANGE_TRACING_BYTES 40u
#define EXCHANGE_OFFER_BYTES 32u

struct exchange {
	struct relay *relay;
	uint64_t id;
	enum exchange_phase phase; /* set by exchange_move alone */
	enum http_method method;
	uint8_t attempts; /* times that it was dispatched: from the second on these are retries */
	uint8_t repeats;  /* of these, the ones by retry-on */
	struct leg down, up;
	struct flow upload, download;    /* request body, response body */
	const struct http_head *request; /* as the client sent it; owned; facts.head is the same */
	struct request_facts facts;
	struct relay_place place; /* NULL until the request is routed */
	struct exchange_response response;
	struct exchange_hints hints;
	struct exchange_pushes pushes;
	struct pushed_exchange pushed;
	struct push_backlog backlog;
	struct exchange_timing timing;
	struct exchange_payer payer;
	struct exchange_tunnel tunnel;
	struct exchange_ending ending;
	struct exchange_terms terms;
	/* Each is a type of the room above that it belongs to, all 0 in a new exchange: what hold/ knows of its held
	 * response, client/ of the client's side, admission/ of its limits, upstream/ of the attempts to get an
	 * answer, tracing/ of its trace, and offer/ of what it teaches. */
	_Alignas(uint64_t) unsigned char hold[EXCHANGE_HOLD_BYTES];
	_Alignas(uint64_t) unsigned char client[EXCHANGE_CLIENT_BYTES];
	_Alignas(uint64_t) unsigned char attempt[EXCHANGE_ATTEMPT_BYTES];
	_Alignas(uint64_t) unsigned char admission[EXCHANGE_ADMISSION_BYTES];
	_Alignas(uint64_t) unsigned char tracing[EXCHANGE_TRACING_BYTES];
	_Alignas(uint64_t) unsigned char offer[EXCHANGE_OFFER_BYTES];
	struct effort effort; /* exchange_effort */
	usec effort_since;    /* the loop pass that it is for */
	/* The owner's: what looks at the response's body while it passes (relay_ops.body_passes); NULL: nothing does. */
	void *onlooker;
	/* In a queue of the owner's: for an upstream leg (EXCHANGE_QUEUED), for the start of a push
	 * (EXCHANGE_READY), or of open tunnels. */
	struct list waiting;
	uint8_t upload_wait; /* enum upload_wait */
	struct list link;    /* in the relay's list, live or over */
};

/* For bytes that the exchange needs until its end: freed with the request. */
static inline struct arena *exchange_arena(struct exchange *x)
{
	return (struct arena *)(uintptr_t)&x->request->arena;
}

/* Keeps a copy of the text until the end of the exchange, which pays for it. NULL: returns NULL. */
const char *exchange_keep_text(struct exchange *x, const char *text);

/* For the patterns that its request is held against: anew in each loop pass, which it keeps short. */
struct effort *exchange_effort(struct exchange *x);
uint64_t exchange_effort_spent(const struct exchange *x); /* of it, in this loop pass */

static inline bool exchange_is_in(const struct exchange *x, unsigned phases)
{
	return (PHASE_BIT(x->phase) & phases) != 0;
}
static inline bool exchange_is_over(const struct exchange *x)
{
	return x->phase == EXCHANGE_OVER;
}
static inline bool exchange_is_queued(const struct exchange *x)
{
	return x->phase == EXCHANGE_QUEUED;
}
/* Whether a final head, the origin's or pushgate's own, was sent downstream. For exchanges that are not
 * over. */
static inline bool exchange_has_begun(const struct exchange *x)
{
	return exchange_is_in(x, EXCHANGE_BEGUN_PHASES);
}
static inline bool exchange_is_push(const struct exchange *x)
{
	return x->pushed.state != PUSH_NONE;
}
static inline bool exchange_is_tunnel(const struct exchange *x)
{
	return x->tunnel.is_open;
}
static inline bool exchange_was_retried(const struct exchange *x)
{
	return x->attempts > 1;
}
static inline bool exchange_is_own_answer(const struct exchange *x)
{
	return x->response.answered_by == ANSWERED_BY_SELF;
}

/* ---- the relay: what all exchanges of a worker share ---- */

struct relay {
	const struct relay_ops *ops;
	void *context;
	const struct policy_rules *policy;
	const struct policy_feedback *feedback; /* of earlier pushes; may be NULL */
	/* a 103 of ours waits so long for more hints; 0 = to the end of the loop pass */
	usec hint_wait;
	struct chunk_pool *chunks, *small_chunks; /* borrows */
	struct http_head_pool *heads;             /* borrows */
	struct budget *budget;                    /* borrows: the worker's */
	struct wheel wheel;
	/* the rows of the table of deadlines that count in each phase, as bits (deadline.c) */
	uint16_t deadline_rows[EXCHANGE_PHASE_COUNT];
	struct slice pseudonym;
	struct list live, over;
	struct list hinting;  /* exchanges whose 103 has not left */
	struct list unbegun;  /* pushes that were promised and have not begun, oldest first */
	bool makes_no_pushes; /* memory is short: offers are dropped, or hinted at */
	size_t live_count;
	uint64_t next_id;
	struct spares spares; /* exchanges */
	usec now;             /* of this loop pass: relay_advance */
	/* Since when nothing is read from origins; USEC_NEVER: they are read. And how long they were
	 * not read before that, in all. */
	usec unread_since, unread_usec;
};

void relay_init(struct relay *r);              /* after the public members were set */
void relay_fini(struct relay *r);              /* ensures that none is live */
void relay_advance(struct relay *r, usec now); /* the time; lets deadlines expire */
void relay_reap(struct relay *r);              /* frees what is over */
/* The owner reads from no origin (because memory is short), until relay_resume_origins: what origins
 * owe is not late meanwhile, and has the rest of its time afterwards. */
void relay_pause_origins(struct relay *r);
void relay_resume_origins(struct relay *r);
/* A clock for what origins owe on their connections: it stands still while they are not read. */
static inline usec relay_origin_clock(const struct relay *r)
{
	return (r->unread_since == USEC_NEVER ? r->now : r->unread_since) - r->unread_usec;
}

/* ---- from the downstream side ---- */

/*
 * A request came on `down` (ops, carrier and stream are copied from it). Takes head. end: it has no
 * body. The budget may refuse: NULL, and head is freed. The owner fills in x->facts and x->terms and then
 * calls exchange_dispatch.
 */
struct exchange *exchange_new(
    struct relay *r, const struct leg *down, struct http_head *head, bool end);
/* Takes a cookie of pushgate's own out of the request, so that nothing that reads the request sees it, and
 * returns its value (http_cookie_cut). Before exchange_dispatch. */
struct slice exchange_cut_cookie(struct exchange *x, struct slice name);
/* The route and the origin of the request, and whether it is a tunnel, a call or a stream of messages there. Before
 * exchange_dispatch. */
void exchange_set_routing(struct exchange *x, const struct request_routing *routing);
/* Asks the owner for an upstream leg (relay_ops.dispatch). */
void exchange_dispatch(struct exchange *x);
/* Answers the request here, in place of exchange_dispatch. */
void exchange_refuse(struct exchange *x, const struct relay_cause *cause, const char *detail);
/* To be called by relay_ops.own_answer alone, not for HEAD: the body of that answer comes from this upstream leg, by
 * exchange_on_download, and its length is not known (http_own_answer.is_streamed). Behind the end, the owner of the leg calls
 * exchange_on_leg_closed. */
void exchange_answer_from(struct exchange *x, const struct leg *up);
/* Body bytes of the request, or its end. The piece is borrowed. */
void exchange_on_upload(struct exchange *x, struct piece piece, bool end);
void exchange_on_upload_trailers(struct exchange *x, struct http_head *trailers); /* takes */
/* The client reset the stream (the leg is gone), or its connection is lost. */
void exchange_on_down_ended(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail);
/* The client has closed its connection, or given up the stream. That is the good end of a tunnel which has carried bytes
 * both ways; anything else ends with `cause`, as by exchange_on_down_ended. */
void exchange_on_client_closed(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail);
/* A push that had to wait may begin its response now. */
void exchange_on_start(struct exchange *x);

/* ---- from the upstream side ---- */

/* The request has been sent on `up`. */
void exchange_on_connected(struct exchange *x, const struct leg *up);
/*
 * The origin of x will not answer Expect: 100-continue (HTTP/1.0 knows none): sends 100 (Continue) for it,
 * if the client waits for one. Call it behind exchange_on_connected, when the request went without Expect; or
 * before, when the request will go without it.
 */
void exchange_continue(struct exchange *x);
/* A response head, interim or final. Takes. */
void exchange_on_response(struct exchange *x, struct http_head *head, bool end);
void exchange_on_download(struct exchange *x, struct piece piece, bool end);
void exchange_on_download_trailers(struct exchange *x, struct http_head *trailers); /* takes */
/* The origin's side ended otherwise than by END_STREAM: the leg (if there was one) is gone. The
 * outcome table says what follows: a retry, an answer of our own, or a reset. */
void exchange_on_up_failed(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail);
/*
 * The origin promises `head` (takes) on the stream of x. `up` is the promised stream's leg. Returns
 * the push, or NULL when it was refused: then the promised stream has been reset through up->ops.
 */
struct exchange *exchange_on_promise(
    struct exchange *x, const struct leg *up, struct http_head *head);

/* Whether pushgate keeps the origin of x from sending: its connection is not read from. */
static inline bool exchange_is_held_back(const struct exchange *x)
{
	const struct exchange *parent = x->pushed.is_expected ? x->pushed.parent : NULL;
	return x->pushes.is_held_back || (parent && parent->pushes.is_held_back);
}

/* Whether the reason is a limit: the promise would have been accepted at another time. */
bool relay_reason_is_limit(const struct policy_reason *reason);

/* ---- offers of our own ---- */

enum relay_offer_flags {
	RELAY_OFFER_PLAIN = 0,
	RELAY_OFFER_CROSS_ORIGIN = 1, /* of another scheme or authority than x */
	RELAY_OFFER_PROPOSAL = 2,     /* remembered, and not confirmed by the configuration */
	RELAY_OFFER_EARLY = 4,        /* its link is in the origin's 103 that is about to be sent */
	RELAY_OFFER_UNSEEN = 8,       /* the client must not see its link, so it cannot be hinted */
};

/*
 * Offers a resource with x: a push that no origin promised, made, hinted at or dropped by policy.
 * The request for it goes to the origin that it routes to. Returns the push, or NULL.
 */
struct exchange *exchange_offer(struct exchange *x, enum policy_source source,
    const struct http_resource *resource, enum relay_offer_flags flags);
/* What a list of offers of one request has in common: the verdict of the last one that was decided. */
struct relay_offer_run {
	struct policy_verdict verdict;
	enum relay_offer_flags flags;
	bool
	    is_hint; /* and that of the next ones, if their flags are the same and nothing speaks against the resource */
};
/* The same for one of a list, most of which is of the request's own origin. *run is 0 before the first. */
void exchange_offer_next(struct exchange *x, enum policy_source source,
    const struct http_resource *resource, enum relay_offer_flags flags,
    struct relay_offer_run *run);
/* The same for a link of the origin's 103 that is about to be sent. False: a rule dropped the offer, and
 * the link must be taken out. */
bool exchange_offer_early(
    struct exchange *x, const struct http_resource *resource, enum relay_offer_flags flags);
/* Whether a hint of pushgate's own can still be sent before the final response comes. */
bool exchange_may_hint(const struct exchange *x);
/* Whether a 103 with a hint for the resource has been sent to the client. */
bool exchange_was_hinted(const struct exchange *x, const struct http_target *target);
/* The origin's 103 that is about to be sent hints the resource. */
void exchange_note_hinted(struct exchange *x, const struct http_target *target);
/* While hints wait: the fields that pushgate's own 103 gets. In a 103 of the origin's, its own fields count. */
void exchange_hint_under(struct exchange *x, struct slice csp, struct slice referrer);
/* Sends the 103 responses that are due. Call it at the end of each loop pass. */
void relay_send_hints(struct relay *r);
/* The latest time for the next relay_send_hints; USEC_NEVER: no hint waits. */
usec relay_hints_due(const struct relay *r);

/* ---- from a sink ---- */

/* For owners that know a leg as a pointer alone: the next piece of the body towards it, at most `most` bytes (borrowed
 * until the next take). */
struct piece exchange_leg_front(void *leg, size_t most);
/* n bytes at the front of the flow towards this leg have been sent: drops them and gives the
 * credit. end: and the end of the stream was sent behind them. */
void exchange_on_taken(void *leg, size_t n, bool end);

void exchange_on_leg_closed(struct leg *leg); /* its stream has ended in good order */

/* The flow towards a leg, and the one from it. */
static inline struct flow *exchange_flow_to(struct leg *leg)
{
	return leg == &leg->exchange->down ? &leg->exchange->download : &leg->exchange->upload;
}

/* ---- from hold/: a held response is the downstream leg of its push ---- */

/* Charges the exchange to another budget from now on, even above its limit. */
void exchange_pay_from(struct exchange *x, struct budget *budget);
/* A clock has begun whose limit may be short, such as that of a push which no request waits for any more: sets the
 * timer to the nearest deadline, or to the next look. */
void exchange_arm(struct exchange *x);

/* Ends it from our side: resets both legs, as far as they are there. */
void exchange_abort(struct exchange *x, const struct relay_cause *cause, const char *detail);

/* "x12 GET https://a/ answering status=200 up=done/0 down=body/17" for the status page and the crash dump. */
size_t exchange_describe(const struct exchange *x, char *buffer, size_t size);

#endif
