/* SPDX-License-Identifier: MIT */
/*
 * Held responses: what an origin pushed and the client was not told of, kept for the client's own
 * request.
 *
 * A held response is the downstream leg of its pushed exchange, which lives as long as the response
 * is held, and the upstream leg of every exchange that claims it (RFC 9113 8.4, RFC 9111):
 *
 *   origin ─ leg up ─ pushed exchange ─ leg down ─ HELD ─ leg up ─ claiming exchange ─ leg down ─ client
 *
 *   OPEN (the promised stream is) ──whole──► COMPLETE ──claimed whole, or stale, old, dropped──► over
 *     │ joined live; outgrown: not claimable any more, and only as fast as its claimers
 *
 * Two kinds of store. One for each downstream connection: what is in there is claimed on that
 * connection alone, by requests with the cookie and authorization of the push's parent, and goes
 * when it has been claimed. And, where the owner switches it on, one for the worker: what a shared
 * cache may store, for everybody, until it is stale.
 *
 * No sockets, no engine, no clock: legs are called back in hold_run only, once in every loop pass.
 */
#ifndef PUSHGATE_RELAY_HOLD_H
#define PUSHGATE_RELAY_HOLD_H

#include "proxy/base/map.h"
#include "proxy/relay/credentials.h"
#include "proxy/relay/exchange.h"

/* Why a response that is held did not answer a request for it. */
enum hold_miss {
	HOLD_FITS,        /* it did */
	HOLD_MISS_METHOD, /* neither GET nor HEAD, or with a body */
	HOLD_MISS_VARY,   /* a field that Vary names differs (hold_note.field) */
	HOLD_MISS_COOKIE, /* another user's cookie or authorization */
	HOLD_MISS_STALE,
	/* the request wants the origin: no-cache, Range, an If-… that does not match */
	HOLD_MISS_BUSTING,
	HOLD_MISS_OUTSIDE, /* came through another proxy, or on a listener for many users */
	HOLD_MISS_LOST,    /* joined before its head came, and then there was no response to give */
	HOLD_MISS_BUDGET,
	HOLD_MISS_COUNT
};
const char *hold_miss_name(enum hold_miss miss); /* "vary" */

enum hold_outcome {
	HOLD_CLAIMED,     /* it answered a request, whole (a live join too; a 304 counts) */
	HOLD_EXPIRED,     /* unclaimed: too old, stale, with its connection */
	HOLD_EVICTED,     /* unclaimed: for want of room */
	HOLD_INVALIDATED, /* unclaimed: an unsafe method changed the resource */
	HOLD_WITHDRAWN,   /* may not be held after all */
	HOLD_FAILED,      /* the origin did not deliver */
	HOLD_MISSED,      /* a request for it that it did not answer */
	HOLD_OUTCOME_COUNT
};

struct hold_note {
	enum hold_outcome outcome;
	const struct policy_reason *reason; /* NULL for HOLD_MISSED */
	const struct exchange *push;    /* its rule, parent and so on; NULL for HOLD_MISS_LOST */
	const struct exchange *claimer; /* HOLD_CLAIMED and HOLD_MISSED, else NULL */
	enum hold_miss miss;
	struct slice field;    /* HOLD_MISS_VARY: the field's name */
	uint64_t wasted_bytes; /* body bytes that came for nobody */
	bool is_live;          /* HOLD_CLAIMED: joined while in flight */
};

struct hold_counters {
	uint64_t held; /* ever */
	uint64_t outcomes[HOLD_OUTCOME_COUNT], misses[HOLD_MISS_COUNT];
	uint64_t joined, revalidated, heads; /* of the answers: live ones, 304, to HEAD */
	uint64_t wasted_bytes;
};

struct hold_limits {
	uint32_t count; /* responses in one store */
	uint64_t bytes; /* body bytes in one store */
	usec age;       /* 0 = as long as it is fresh */
};

struct hold_ops {
	uint64_t (*epoch_sec)(void *context); /* since 1970, for Date and Expires */
	/* For feedback, log and counters. Everything is borrowed; may be NULL. */
	void (*note)(void *context, const struct hold_note *note);
};

struct hold;

struct hold_store {
	struct hold *hold;
	struct budget *budget; /* borrows: what is kept is charged here */
	struct hold_limits limits;
	bool is_shared; /* the worker's */
	bool
	    /* false: the listener's connections carry several users, nothing private is held */
	    one_user;
	struct map by_uri;
	struct list entries; /* the first to go first */
	struct list link;    /* in hold->used while anything is in it */
	uint32_t count;
	uint64_t bytes;
};

/* What the stores of one worker have in common. */
struct hold {
	struct relay *relay;
	const struct hold_ops *ops;
	void *context;
	struct hold_store shared;
	bool shares; /* what a shared cache may store is held for everybody */
	struct credentials_key key;
	uint64_t seed;
	struct list used;  /* stores with something in them */
	struct map by_uri; /* of what may be claimed in any store, the first of each URI */
	struct list
	    unclaimed; /* held responses that nobody is being given, in all stores, oldest first */
	struct list dirty; /* held responses that hold_run shall look at */
	struct list dead;  /* held responses that are over, until the loop pass is */
	struct hold_counters counters;
};

/* shared: limits of the worker's store, NULL = there is none. Everything is borrowed but the
 * limits. */
void hold_init(struct hold *hold, struct relay *relay, const struct hold_ops *ops, void *context,
    const struct hold_limits *shared);
void hold_fini(struct hold *hold);  /* drops what is in the worker's store */
void hold_drain(struct hold *hold); /* drops all that nobody is being given, in every store */
/* Moves bytes, answers, drops. Once a loop pass, before relay_reap and before connections are written.
 * */
void hold_run(struct hold *hold);

/* The worker's memory is short: the oldest of those that nobody is being given goes, whatever store
 * it is in. False: there is none. */
bool hold_shed(struct hold *hold);

/* For one downstream connection. */
void hold_store_init(struct hold_store *s, struct hold *hold, struct budget *budget,
    const struct hold_limits *limits, bool one_user);
void hold_store_fini(
    struct hold_store *s); /* the connection is over; requests that are being answered fail */

/* ---- a promise with verdict hold ---- */

/* Why what is promised on `parent` cannot be held in its store (parent->context.hold_store), NULL = it can.
 * promised NULL: whatever it may be, as before the choice of a connection that allows pushes. */
const struct policy_reason *hold_refusal(
    const struct exchange *parent, const struct http_head *promised);
/* Makes a held response the downstream leg of a push that has none, where hold_refusal says nothing
 * against it. NULL: done; else why not, and nothing changed. */
const struct policy_reason *hold_bind(struct exchange *parent, struct exchange *push);

/* ---- requests ---- */

/*
 * A request that has not been dispatched: answers it, or joins it to a response in flight. True: do
 * not dispatch (if nothing comes of the join after all it is dispatched by itself). False: dispatch
 * it.
 */
bool hold_claim(struct hold *hold, struct exchange *x);
/*
 * The response to x, on its way to the client: when x succeeded and was not safe, drops what is
 * held for its URI, and for Location and Content-Location of the same authority (RFC 9111 4.4), in
 * every store.
 */
void hold_invalidate(struct hold *hold, const struct exchange *x, const struct http_head *response);

/* "held 3/128 41216/4194304 bytes", a line each store that is used. */
size_t hold_describe(const struct hold *hold, char *buffer, size_t size);

#endif
