/* SPDX-License-Identifier: MIT */
/*
 * How long an exchange may wait, as a table: each row is a limit that holds in some phases, with the
 * clock that it is measured by and the cause (cause.h) when it has passed. The timer of an exchange is set
 * to the nearest deadline of all rows that hold.
 */
#ifndef PUSHGATE_RELAY_DEADLINE_H
#define PUSHGATE_RELAY_DEADLINE_H

#include "proxy/relay/exchange.h"

/* The conditions of a row beside the phase. */
enum deadline_fact {
	DEADLINE_REQUEST = 1,      /* the exchange is a request, not a push */
	DEADLINE_PUSH = 2,         /* it is a push, and no request of the client's waits for it */
	DEADLINE_UPLOAD_WAITS = 4, /* bytes of the request wait for the origin */
	DEADLINE_DOWNLOAD_WAITS = 8,
	DEADLINE_UPLOAD_OPEN =
	    16, /* the client has not ended the request, whose rest is still wanted */
	DEADLINE_UPLOAD_ENDED = 32,
	DEADLINE_DOWNLOAD_OPEN = 64, /* the origin has not ended the response */
	/* The rest of a body is owed: content-length announced it, or the origin waits for it before
	 * it answers, unless the request streams. */
	DEADLINE_UPLOAD_OWED = 128,
	DEADLINE_DOWNLOAD_OWED = 256,
	/* A body that has begun is open, and its rest is not owed; or a call is not answered. */
	DEADLINE_STREAM = 512,
	DEADLINE_TUNNEL = 2048,           /* an open tunnel */
	DEADLINE_TUNNEL_HALF = 4096,      /* one whose first direction has ended */
	DEADLINE_ORIGINS_UNREAD = 1024,   /* pushgate reads from no origin: relay_pause_origins */
	DEADLINE_CALL_LIMITED = 8192,     /* the client has said how long the call may take */
	DEADLINE_REQUEST_LIMITED = 16384, /* the route has said how long the request may take */
	DEADLINE_HELLO = 32768, /* of an open tunnel the client's first bytes are looked at */
};

/* The order breaks ties: of two deadlines at the same time the first row names the cause. */
enum deadline_id {
	DEADLINE_LINGER,
	DEADLINE_CLIENT_TAKES,
	DEADLINE_PUSH_HEAD,
	DEADLINE_PUSH_START,
	DEADLINE_CALL_TIMEOUT,
	DEADLINE_REQUEST_TIMEOUT,
	DEADLINE_QUEUE,
	DEADLINE_CLIENT_SENDS,
	DEADLINE_ORIGIN_SENDS,
	DEADLINE_ORIGIN_TAKES,
	DEADLINE_STREAM_IDLE,
	DEADLINE_TUNNEL_IDLE,
	DEADLINE_TUNNEL_HALF_IDLE,
	DEADLINE_TUNNEL_AGE,
	DEADLINE_TUNNEL_HELLO,
	DEADLINE_HEAD,
	DEADLINE_COUNT
};

struct deadline_row {
	unsigned phases; /* PHASE_BITs */
	uint16_t needs;  /* deadline_facts, all of which must hold */
	/* Those of them without which the row counts as the partner of another one: in a dialogue a side
	 * that owes nothing and sends excuses the silence of the other side too. */
	uint16_t not_of_partner;
	/* The clock stands still while one of these holds: pushgate keeps the peer from sending. */
	uint16_t stands_still;
	enum relay_timeout limit;
	/* The clock is one of these: a start, as a place in struct exchange or a function; or a pace, as its place there,
	 * which starts again whenever enough bytes have moved. */
	size_t start;
	usec (*since)(const struct exchange *x);
	size_t pace;
	/* The side whose min-rate says how many bytes are enough; RELAY_SELF: any byte is enough. */
	enum relay_side rate;
	/* Without an announced length any byte is enough: events come when they happen. */
	bool rate_needs_length;
	/* In a dialogue only the later of this row and its partner counts. */
	bool has_partner;
	enum deadline_id partner;
	const struct relay_cause *cause;
};

extern const struct deadline_row exchange_deadlines[DEADLINE_COUNT];

struct exchange_deadline {
	usec at; /* USEC_NEVER: no row holds */
	const struct relay_cause *cause;
};

/* The nearest deadline. May start a pace again (base/pace.h). */
struct exchange_deadline exchange_deadline(struct exchange *x);

#endif
