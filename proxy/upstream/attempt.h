/* SPDX-License-Identifier: MIT */
/*
 * A request's attempts to get an answer: the server that it was given to, and those that were tried in vain.
 * Private to upstream/. It lies in the exchange, which has room for it and knows no more of it, and is gone with that.
 */
#ifndef PUSHGATE_UPSTREAM_ATTEMPT_H
#define PUSHGATE_UPSTREAM_ATTEMPT_H

#include "proxy/upstream/upstream.h"

struct destination;

/* How a server that could be reached has failed the request. It is told to the client if no other one can be
 * reached. */
struct upstream_failure {
	const struct relay_cause *cause; /* NULL: none has */
	const char *detail;              /* in the request's arena, or NULL */
	uint32_t code;
};

/* may_alias: the exchange has an array of bytes in its place. */
struct __attribute__((may_alias)) upstream_attempt {
	struct origin_attempt at; /* first: origin/ finds it there */
	/* Forward mode: what the request names, made when it was first asked for (dynamic_destination.h). NULL: that of its
	 * origin. It lives as long as an exchange has it. */
	struct destination *destination;
	/* The servers that it was given to in vain, by their ids, so that it is given to none twice. */
	uint32_t tried[EXCHANGE_SERVERS_MOST];
	struct upstream_failure failure;
	/* For which its destination was refused, with the port, in the request's arena. NULL: for none. */
	const char *refused_address;
	uint64_t affinity; /* the key of the server that the client's cookie names; 0: none */
	uint8_t tried_count;
	uint8_t moves;     /* times that it was given to another server before it was sent */
	bool wants_pushes; /* the client can use pushes that come with the response */
};
_Static_assert(sizeof(struct upstream_attempt) <= EXCHANGE_ATTEMPT_BYTES, "it has room there");
_Static_assert(offsetof(struct upstream_attempt, at) == 0, "origin/ finds it there");

static inline struct upstream_attempt *attempt_of(const struct exchange *x)
{
	return (struct upstream_attempt *)(uintptr_t)x->attempt;
}

/* The detail is copied. */
static inline void attempt_note_failure(
    struct exchange *x, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	attempt_of(x)->failure =
	    (struct upstream_failure){cause, exchange_keep_text(x, detail), code};
}

#endif
