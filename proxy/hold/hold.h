/* SPDX-License-Identifier: MIT */
/*
 * Held responses: the origin pushed them, the client was sent no promise, and they are kept to answer
 * the client's own request.
 *
 * A held response is the downstream leg of its pushed exchange, which lives as long as the response
 * is held, and the upstream leg of every exchange that claims it (RFC 9113 8.4, RFC 9111):
 *
 *   origin ─ leg up ─ pushed exchange ─ leg down ─ HELD ─ leg up ─ claiming exchange ─ leg down ─ client
 *
 *   OPEN ── the promised stream ended ──► COMPLETE ── claimed to the end, or stale, old, evicted ──► over
 *
 * While it is open, requests join it live. If it outgrows its store, no further request may claim it,
 * and its bytes are taken only as fast as its claims are sent.
 *
 * There are two kinds of store. Each client connection has one: its responses are claimed on that
 * connection alone, by requests of the same user and with the same authorization as the push's parent, and with the
 * same cookies unless the response says that it is the same for all; they end once a GET was answered. If
 * the owner switches it on, the worker has one: it has the responses that a shared cache may store, for every
 * client, until it is stale.
 *
 * In either store, what the origin said to one route is no answer to requests of another one that gives the
 * origin other fields (request-set and the like): they may be credentials, whatever their names are. Only
 * a response that would be the same even with Authorization (RFC 9111 3.5) is for both.
 *
 * It knows no sockets, no engine and no clock. Legs are called in hold_run only, once in a loop pass.
 */
#ifndef PUSHGATE_HOLD_HOLD_H
#define PUSHGATE_HOLD_HOLD_H

#include "proxy/base/map.h"
#include "proxy/hold/credentials.h"
#include "proxy/hold/hold_miss.h"
#include "proxy/relay/relay.h"

enum hold_outcome {
	/* it answered a request, to the end (also a live join, a HEAD, or with a 304) */
	HOLD_CLAIMED,
	HOLD_EXPIRED,     /* unclaimed: too old, stale, with its connection */
	HOLD_EVICTED,     /* unclaimed: there was no room */
	HOLD_INVALIDATED, /* unclaimed: an unsafe method changed the resource */
	HOLD_WITHDRAWN,   /* its head says that it may not be held */
	HOLD_FAILED,      /* the push failed */
	HOLD_MISSED,      /* a request for its URI that it did not answer */
	HOLD_OUTCOME_COUNT
};

struct hold_note {
	enum hold_outcome outcome;
	const struct policy_reason *reason; /* NULL for HOLD_MISSED */
	/* NULL for HOLD_MISS_LOST, and for a response that was given up because it was not fresh */
	const struct exchange *push;
	const struct exchange *claimer; /* HOLD_CLAIMED and HOLD_MISSED, else NULL */
	/* HOLD_MISSED; or the push was given up because any later request would miss for this cause */
	enum hold_miss miss;
	struct slice field;    /* HOLD_MISS_VARY: the field's name */
	uint64_t wasted_bytes; /* body bytes that no client was sent */
	bool is_live; /* HOLD_CLAIMED: the request joined before the response was complete */
};

struct hold_limits {
	uint32_t count; /* responses in one store */
	uint64_t bytes; /* body bytes in one store */
	usec age;       /* 0 = as long as it is fresh */
};

struct hold_ops {
	uint64_t (*epoch_sec)(void *context); /* since 1970, for Date and Expires */
	/* The fields that the origin gets with x when the route of x changes them: an overlay, for
	 * the hold to free. NULL: those of x->request. May be NULL itself. */
	struct http_head *(*origin_request)(void *context, const struct exchange *x);
	/* Whether the routes of both change the fields of their requests alike. May be NULL itself: they
	 * always do. */
	bool (*same_changes)(void *context, const struct exchange *a, const struct exchange *b);
	/* Whether the origin would be asked for x by the same path as for the held push, which has the URI and
	 * the origin of x, and whether the rules let x go where its response came from. May be NULL: always. */
	bool (*same_at_origin)(
	    void *context, const struct exchange *push, const struct exchange *x);
	/* The first request has claimed the push, which no client waited for before: it is as urgent as the claimer. The
	 * push may fail in it. May be NULL itself. */
	void (*claimed)(void *context, struct exchange *push, const struct exchange *claimer);
	/* A held response is whole, and no request has claimed it before. The body is lent, as the origin sent it. The
	 * push stays as it is. May be NULL itself. */
	void (*arrived)(void *context, struct exchange *push, const struct http_head *response,
	    const struct body *body);
	/* Reports how a held response, or a request for its URI, has ended: for feedback and counters.
	 * The note is borrowed. May be NULL itself. */
	void (*note)(void *context, const struct hold_note *note);
};

struct hold;
struct hold_gone;
struct hold_pauses;
struct hold_unshared;

struct hold_store {
	struct hold *hold;
	struct budget *budget; /* borrows: its responses are charged here */
	struct hold_limits limits;
	bool is_shared; /* the worker's */
	bool
	    /* false: the listener's connections carry several users, nothing private is held */
	    one_user;
	bool
	    is_secluded; /* the client gives nothing to the worker's store and gets nothing from it */
	struct map by_uri;
	struct list entries; /* in the order of eviction */
	struct list link;    /* in hold->used while anything is in it */
	uint32_t count;
	uint64_t bytes;
	struct hold_gone
	    *gone; /* responses given up because they were not fresh; NULL = none yet */
};

/* What hold/ keeps in an exchange. may_alias: the exchange has an array of bytes in its place. */
struct __attribute__((may_alias)) hold_part {
	/* borrows: pushes for the client of a request are held here; NULL = they cannot be held */
	struct hold_store *store;
	uint64_t
	    answered_by; /* of a request: the id of the push whose held response answers it; 0 = none */
	uint64_t wasted_bytes; /* of a held push: body bytes that no client was sent */
	bool joined;           /* with `answered_by`: that response was still arriving */
	uint8_t miss; /* enum hold_miss of the first held response that did not answer a request */
};
_Static_assert(sizeof(struct hold_part) <= EXCHANGE_HOLD_BYTES, "it has room there");

static inline struct hold_part *hold_part(const struct exchange *x)
{
	return (struct hold_part *)(uintptr_t)x->hold;
}

/* The part that all stores of one worker share. */
struct hold {
	struct relay *relay;
	const struct hold_ops *ops;
	void *context;
	struct hold_store shared;
	bool shares; /* responses that a shared cache may store are held for all clients */
	struct credentials_key key;
	uint64_t seed;
	struct list used;      /* stores with something in them */
	struct map by_uri;     /* the first held response of each URI hash, of all stores */
	struct list unclaimed; /* held responses without a claim, of all stores, oldest first */
	struct list dirty;     /* held responses that hold_run must look at */
	struct list dead;      /* held responses that are over; freed at the end of the loop pass */
	uint32_t gone_count;   /* stores that remember responses given up */
	struct hold_pauses
	    *pauses; /* resources not held for a while; NULL: no request has missed yet */
	struct hold_unshared *unshared; /* resources that are not for all; NULL: none is known */
};

/* shared: limits of the worker's store, NULL = there is none. Everything is borrowed but the
 * limits. */
void hold_init(struct hold *hold, struct relay *relay, const struct hold_ops *ops, void *context,
    const struct hold_limits *shared);
void hold_fini(struct hold *hold);  /* ends all responses in the worker's store */
void hold_drain(struct hold *hold); /* ends all held responses without a claim, in every store */
/* Moves bytes, answers requests, and ends responses that are stale or over. Call it once in each loop
 * pass, before relay_reap and before connections are written. */
void hold_run(struct hold *hold);

/* Frees memory: ends the oldest held response without a claim, of all stores. False: there is none. */
bool hold_shed(struct hold *hold);

/* For one downstream connection. */
void hold_store_init(struct hold_store *s, struct hold *hold, struct budget *budget,
    const struct hold_limits *limits, bool one_user);
void hold_store_fini(
    struct hold_store *s); /* the connection is over; requests that are being answered fail */

/* ---- a promise with verdict hold ---- */

/* Why a promise on `parent` cannot be held in its store (hold_part), NULL = it can.
 * promised NULL: the answer for any promise, before a connection with or without push is chosen. */
const struct policy_reason *hold_refusal(
    const struct exchange *parent, const struct http_head *promised);
/* relay_ops.hold. hold_refusal was NULL for the push. */
const struct policy_reason *hold_bind(
    struct exchange *parent, struct exchange *push, struct leg *down);

/* The client has given the page up, x, which is over: what was fetched for it, has not come wholly and is claimed by no
 * request is given up too. Responses that serve all clients go on, and so does what the origin itself pushed. */
void hold_page_left(struct hold_store *s, const struct exchange *x);

/* ---- requests ---- */

/*
 * For a request that is not dispatched yet: answers it from a held response, or joins it to one that is
 * not complete. True: the caller must not dispatch it; if the join fails, it is dispatched in here.
 * False: the caller dispatches it.
 */
bool hold_claim(struct hold *hold, struct exchange *x);
/* How long the response has been held which answers x, whose head is just being sent; USEC_NEVER: none answers x. */
usec hold_held_for(const struct exchange *x);
/* A held response did not answer x (hold_part.miss), and the origin's final response goes to the client: adds Cache-Status. */
void hold_tell_miss(const struct exchange *x, struct http_head *response);
/* False: hold_claim would find nothing, and has nothing to report. */
static inline bool hold_may_answer(const struct hold *hold)
{
	return !list_is_empty(&hold->used) || hold->gone_count > 0;
}
/*
 * To be called with the final response to x. If the method of x is unsafe and the response a success,
 * ends the held responses for the URI of x, and for Location and Content-Location of the same authority (RFC
 * 9111 4.4), in every store.
 */
void hold_invalidate(struct hold *hold, const struct exchange *x, const struct http_head *response);

/* "held 3/128 41216/4194304 bytes", a line for each store that is not empty. */
size_t hold_describe(const struct hold *hold, char *buffer, size_t size);

#endif
