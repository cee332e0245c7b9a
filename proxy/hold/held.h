/* SPDX-License-Identifier: MIT */
/* Private to hold/: one held response, and one claim on it. */
#ifndef PUSHGATE_HOLD_HELD_H
#define PUSHGATE_HOLD_HELD_H

#include "proxy/base/ensure.h"
#include "proxy/hold/hold.h"
#include "proxy/http/link.h"

/* The charge for a held response, beside its body and its head: the struct, and two slots of each
 * map; and the charge for a claim. */
#define HELD_BYTES (sizeof(struct held) + 4 * sizeof(void *))
#define CLAIM_BYTES sizeof(struct claim)

/* How many bytes a claiming exchange may have that are not sent yet; and how many are kept of a response
 * that is larger than its store. */
#define CLAIM_WINDOW_BYTES 262144u
#define OUTGROWN_KEPT_BYTES 65536u

struct held {
	struct hold_store *store;
	struct exchange *push; /* whose downstream leg this is; NULL once that has failed */
	struct map_node node;  /* in store->by_uri unless is_closed */
	struct map_node first; /* in hold->by_uri, if it is the one of its ring that the map has */
	struct list same_uri;  /* the ring of all with the same hash, of all stores */
	struct list entry;     /* in store->entries */
	struct list dirty;     /* in hold->dirty */
	struct list unclaimed; /* in hold->unclaimed while it has no claim */
	struct list claims;
	struct wheel_node timer;
	usec created;
	size_t charge;                  /* charged for everything but the body */
	struct credentials credentials; /* of the push's parent */
	bool parent_was_authorized;
	bool for_one_user;      /* it may be in the store of its client connection */
	bool is_same_for_all;   /* its cookies do not matter; false until it is admitted */
	bool is_for_all_routes; /* nor do the fields of its route; false until it is admitted */
	/* The response. */
	struct http_head *head; /* owned; NULL until it came */
	struct http_head
	    *interims;      /* owned, chained; for the claims that joined before the final head */
	struct body body;   /* bytes from `dropped` on */
	uint64_t dropped;   /* bytes at the front that were dropped, of an outgrown one */
	usec arrived;       /* the head */
	uint32_t age_sec;   /* that it came with */
	uint32_t fresh_sec; /* when it came */
	bool is_admitted;   /* the head has been looked at */
	bool is_whole;      /* with all its bytes, and trailers if any */
	bool is_closed;     /* no further request may claim it */
	bool is_outgrown;   /* larger than its store */
	bool is_awaited;    /* another client's page needs it too, and relies on this fetch */
	bool was_claimed;   /* hold_ops.claimed knows of its first claim */
	bool is_abandoned;  /* its last claim was reset, with this code */
	uint32_t abandon_code;
	uint64_t sent;     /* body bytes: the most that went to one claim which is over */
	bool is_delivered; /* a client has it: a GET was answered, or a 304 said so */
	uint32_t served;   /* claims that were answered, those of HEAD included */
	/* How it ends after its last claim. */
	enum hold_outcome end_outcome;
	const struct policy_reason *end_reason;
	/* How the push failed. */
	const struct relay_cause *cause;
	uint32_t code;
};

/* The upstream leg of a claiming exchange. */
struct claim {
	struct held *held;
	struct exchange *exchange;
	struct budget *
	    budget; /* of the store where the response was when it was claimed, or of the claimer's */
	struct list link; /* in held->claims */
	struct body_mark mark;
	uint64_t at;             /* bytes given to the claiming exchange */
	uint64_t outstanding;    /* bytes of these that are not sent yet */
	bool is_live;            /* joined while in flight */
	bool is_foreign;         /* joined what is fetched for another client */
	bool had_head;           /* joined after the head had come */
	bool is_checked;         /* the head fits the request */
	bool not_modified;       /* the answer is 304 */
	bool is_begun, is_ended; /* the claiming exchange got the head; the end */
};

/* ---- hold.c: one held response ---- */

void held_mark(struct held *h); /* hold_run must look at it */
/* Ends and frees it; it must have no claims. code: for RST_STREAM, if the push is not complete. */
void held_end(
    struct held *h, enum hold_outcome outcome, const struct policy_reason *reason, uint32_t code);
/* The same, when its push has failed already. */
void held_free(struct held *h);
/* The push is about to end: notes how many of its bytes no client was sent, and returns that number. */
uint64_t held_waste(struct held *h);
void hold_note(struct hold *hold, const struct hold_note *note);
static inline struct hold *held_hold(const struct held *h)
{
	return h->store->hold;
}
static inline usec held_now(const struct held *h)
{
	return h->store->hold->relay->now;
}
/* Whether responses may move from this store to the worker's, and this client may have those of the worker's. */
static inline bool hold_shares(const struct hold_store *s)
{
	return s->hold->shares && !s->is_secluded;
}

/* ---- hold_leg.c ---- */

extern const struct leg_ops held_leg_ops;

/* ---- hold_store.c ---- */

void held_enter(struct held *h, struct hold_store *s);
void held_leave(struct held *h);
void held_close(struct held *h);                       /* no further request may claim it */
void held_move(struct held *h, struct hold_store *to); /* before any bytes came */
/* Ends unclaimed ones, oldest first, until there is room for `count` more responses and `bytes` more
 * bytes. Returns NULL, or why there is none. */
const struct policy_reason *hold_make_room(
    struct hold_store *s, const struct held *but, uint32_t count, uint64_t bytes);

/* ---- hold_rules.c: which request may have which response ---- */

uint64_t hold_uri_hash(const struct hold *hold, const struct http_target *uri);
uint64_t hold_request_hash(const struct hold *hold, const struct http_head *request);
bool held_is_for(const struct held *h, const struct http_target *uri);
bool held_is_fresh(const struct held *h);
uint32_t held_age_sec(const struct held *h);
/* How many seconds the response may be used from now on, when it has just come. */
uint32_t held_good_for_sec(const struct held *h, bool is_shared);
/* Why the response may not be held. */
const struct policy_reason *held_storable(const struct held *h);
bool held_varies_by_all(const struct held *h); /* Vary: * */
/* Whether it is not kept, or fetched, for requests that come from now on: none could be answered with it, or only by
 * chance while the origin still sends it. */
bool held_is_useless(const struct held *h);
/* Which miss such a request would be. */
enum hold_miss held_useless_cause(const struct held *h);
bool hold_is_authorized(const struct hold *hold, const struct exchange *x);
bool held_may_be_shared(const struct held *h);
/* Whether cookies do not matter, because the response says that it is the same for all. */
bool held_ignores_cookies(const struct held *h);
/* Whether the fields of its route do not matter, for the same reason. */
bool held_ignores_routes(const struct held *h);
/* Whether the request has the cookies that the push's parent had, and gets to the origin with the same changes. */
bool held_is_by(const struct held *h, const struct exchange *x);
/* Whether x goes where the push went: the route may give the same URI of other requests, or of other clients, to another
 * origin, or by another path. */
bool hold_is_same_at_origin(
    const struct hold *hold, const struct exchange *push, const struct exchange *x);
/* Why such a request must be answered by the origin, whatever is held. */
enum hold_miss hold_request_busts(const struct http_head *request);
/* May this request be answered from it, as far as the response's head does not matter? */
enum hold_miss held_lets(const struct held *h, const struct exchange *x);
/* May it, by the response's head too? joined: the claim began before the response was complete.
 * *field: the name of the field for HOLD_MISS_VARY. *not_modified: the answer is 304. */
enum hold_miss held_fits(const struct held *h, const struct exchange *x, bool joined,
    struct slice *field, bool *not_modified);
/* Whether the resource of the push is held for the same user already, and is fresh. */
bool hold_has(
    const struct hold_store *s, const struct credentials *credentials, const struct exchange *push);

/* ---- hold_gone.c: responses that were given up because no later request could get them ---- */

void hold_gone_note(const struct held *h);
/* Why not, if such a response was given up not longer ago than the store holds responses, else
 * HOLD_FITS. HOLD_MISS_VARY: by "*". Each is found once. */
enum hold_miss hold_gone_take(struct hold_store *s, const struct exchange *x);
void hold_gone_fini(struct hold_store *s);

/* ---- hold_pause.c: resources that are not held for a while ---- */

/* The first request for a held push, x, could not be answered with it. If the push is given up because no request
 * could be, x is the push itself. */
void hold_pause_missed(
    struct hold *hold, const struct exchange *push, const struct exchange *x, enum hold_miss miss);
/* While hold->pauses is there: it was claimed; whether it is paused. */
void hold_pause_claimed(struct hold *hold, const struct exchange *push);
bool hold_is_paused(
    const struct hold *hold, const struct exchange *parent, const struct http_head *promised);
void hold_pauses_fini(struct hold *hold);

/* ---- hold_collapse.c: one fetch for many clients ---- */

/* A response that is being fetched for another client, and that x may get too if its head, which has not come, says
 * that it is for all. own: the store of the client of x; NULL: it has none. */
struct held *hold_find_in_flight(
    struct hold *hold, const struct hold_store *own, const struct exchange *x);
/* The same for a request of a client, which may be one that no held response can answer. */
struct held *hold_find_to_join(
    struct hold *hold, const struct hold_store *own, const struct exchange *x);
/* The head has come, and the response is in the worker's store, or cannot be there. */
void hold_collapse_note(struct held *h, bool is_shared);
void hold_collapse_fini(struct hold *hold);

/* ---- hold_claim.c: claims ---- */

void held_feed(struct held *h); /* gives all claims the bytes that they may have */
void held_trim(struct held *h); /* outgrown: drops the bytes that all claims have been given */
/* The response will not be completed. Claims that were given the head fail as the outcome table says;
 * the requests of the others are dispatched to the origin. */
void held_fail_claims(struct held *h, const struct relay_cause *cause, uint32_t code);

#endif
