/* SPDX-License-Identifier: MIT */
/*
 * How long an exchange may wait, as a table: who owes what in which phase, for how long, and what it
 * is called when the time is over. What holds for an exchange at a moment is the nearest deadline of
 * all rows.
 */
#ifndef PUSHGATE_RELAY_DEADLINE_H
#define PUSHGATE_RELAY_DEADLINE_H

#include "proxy/relay/exchange.h"

/* What a row asks about an exchange beside its phase. */
enum deadline_fact {
	DEADLINE_REQUEST = 1, /* it is one, and no push */
	DEADLINE_PUSH = 2,
	DEADLINE_UPLOAD_WAITS = 4, /* bytes of the request wait for the origin */
	DEADLINE_DOWNLOAD_WAITS = 8,
	DEADLINE_UPLOAD_OPEN = 16, /* the client has not ended the request, and it is wanted */
	DEADLINE_UPLOAD_ENDED = 32,
	DEADLINE_DOWNLOAD_OPEN = 64, /* the origin has not ended the response */
};

/* The order breaks ties: of two deadlines at the same time the first row names the cause. */
enum deadline_id {
	DEADLINE_LINGER,
	DEADLINE_CLIENT_TAKES,
	DEADLINE_PUSH_HEAD,
	DEADLINE_PUSH_START,
	DEADLINE_QUEUE,
	DEADLINE_CLIENT_SENDS,
	DEADLINE_ORIGIN_SENDS,
	DEADLINE_ORIGIN_TAKES,
	DEADLINE_HEAD,
	DEADLINE_COUNT
};

struct deadline_row {
	unsigned phases; /* PHASE_BITs */
	uint8_t needs;   /* deadline_facts, all of which must be */
	/* The clock stands still while one of these is: we hold the peer back. */
	uint8_t stands_still;
	enum relay_timeout limit;
	/* The clock: a start, or a pace. A pace starts anew whenever enough bytes have moved. */
	usec (*since)(const struct exchange *x);
	struct pace *(*pace)(struct exchange *x);
	/* Whose min-rate says what is enough; RELAY_SELF: any byte is. */
	enum relay_side rate;
	/* Without an announced length any byte is enough: events come when they happen. */
	bool rate_needs_length;
	/* In a dialogue only the later of this row and its partner holds. */
	bool has_partner;
	enum deadline_id partner;
	const struct relay_cause *cause;
};

extern const struct deadline_row exchange_deadlines[DEADLINE_COUNT];

struct exchange_deadline {
	usec at; /* USEC_NEVER: none holds */
	const struct relay_cause *cause;
};

/* The nearest one. May begin the span of a pace anew, as its contract says (base/pace.h). */
struct exchange_deadline exchange_deadline(struct exchange *x);

#endif
