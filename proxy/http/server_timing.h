/* SPDX-License-Identifier: MIT */
/* The value of a Server-Timing field (W3C Server Timing 3): what pushgate did for a response, and how long that took. */
#ifndef PUSHGATE_HTTP_SERVER_TIMING_H
#define PUSHGATE_HTTP_SERVER_TIMING_H

#include "proxy/base/arena.h"
#include "proxy/base/clock.h"
#include "proxy/base/slice.h"

/* Words that say what was done, separated by blanks; at most so long. */
#define HTTP_TIMING_WORDS 64u

struct http_server_timing {
	const char *words; /* letters, "+" and blanks; "": no member says what was done */
	/* USEC_NEVER: the field has no such member. */
	usec queue, connect, origin, held;
};

/* `pushgate;desc="hint+hold", origin;dur=12.5`, in the arena. Empty: there is nothing to say. */
struct slice http_server_timing(struct arena *a, const struct http_server_timing *t);

#endif
