/* SPDX-License-Identifier: MIT */
/*
 * Why a held response did not answer a request for its URI. The access log, the counters, Cache-Status and
 * docs/HOLD.md use this one table. A name is stable once released.
 */
#ifndef PUSHGATE_HOLD_HOLD_MISS_H
#define PUSHGATE_HOLD_HOLD_MISS_H

#include "proxy/base/slice.h"

/* X(SYMBOL, "name", "the reason of RFC 9211 2.2 that is nearest", "sentence", "advice") */
// clang-format off
#define HOLD_MISSES(X) \
	X(METHOD, "method", "method", "The request is neither GET nor HEAD, or has a body.", \
	    "None needed: only the origin can answer it.") \
	X(VARY, "vary", "vary-miss", "The request differs from the promised one in a field that the response's Vary names.", \
	    "Promise with the fields that clients send, or make the origin's Vary shorter.") \
	X(COOKIE, "cookie", "miss", "The request has other cookies than the page had, and the response does not say that it is the same for all.", \
	    "Send it with Cache-Control: public or max-age, and without Set-Cookie, if it is the same for all users.") \
	X(AUTHORIZATION, "authorization", "miss", "The request has another Authorization than the page had.", \
	    "None needed: what one user may see is not given to another.") \
	X(ROUTE, "route", "miss", "Another route sends the request, and gives the origin other fields (request-set and the like) than the one of the page.", \
	    "Send it with Cache-Control: public if it is the same for all, or let both routes give the origin the same fields.") \
	X(NOT_FRESH, "not-fresh", "stale", "The response was not fresh any more, or never was.", \
	    "Send it with Cache-Control: max-age, or with Last-Modified or ETag.") \
	X(RANGE, "range", "request", "The request asks for a part of the resource.", \
	    "Do not hold what clients fetch in parts.") \
	X(REVALIDATION, "revalidation", "request", "The request wants an answer of the origin: no-cache, max-age, or an If-… that does not match.", \
	    "None needed: the client reloads, or has another version.") \
	X(OUTSIDE, "outside", "bypass", "The request came through another proxy, or on a listener for many users.", \
	    "None needed: such a connection may carry several users.") \
	X(LOST, "lost", "uri-miss", "The push failed, or was given up, while the request waited for it.", \
	    "See the line of the push in the access log.") \
	X(BUDGET, "budget", "miss", "The memory budget is used up.", "Raise memory, or hold less.")
// clang-format on

enum hold_miss {
	HOLD_FITS, /* it did answer */
#define HOLD_MISS_VALUE(symbol, ...) HOLD_MISS_##symbol,
	HOLD_MISSES(HOLD_MISS_VALUE)
#undef HOLD_MISS_VALUE
	    HOLD_MISS_COUNT
};

const char *hold_miss_name(enum hold_miss miss);   /* "vary"; HOLD_FITS: "fits" */
const char *hold_miss_advice(enum hold_miss miss); /* what to do about it */
/* The value of Cache-Status (RFC 9211): "pushgate; fwd=vary-miss; detail=vary". Not for HOLD_FITS. */
struct slice hold_miss_status(enum hold_miss miss);

#endif
