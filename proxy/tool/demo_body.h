/* SPDX-License-Identifier: MIT */
/*
 * The body of one response of the demo origin: a constant, a pattern, or an echo of the request's
 * body. It knows nothing of HTTP. Private to tool/.
 */
#ifndef PUSHGATE_TOOL_DEMO_BODY_H
#define PUSHGATE_TOOL_DEMO_BODY_H

#include "proxy/net/net.h"

/* `text` over and over, of which the bytes from `at` on, before `length`, are still to be sent. Zeroes: no body. */
struct demo_body {
	struct slice text;
	uint64_t at, length;
	bool is_echo;
	char *buffer; /* of an echo, which `text` lies in: owned; the client's window bounds it */
	size_t capacity;
};

struct demo_body demo_body_text(struct slice text); /* borrows */
struct demo_body demo_body_pattern(uint64_t length);
/* How many bytes could be sent now. */
static inline uint64_t demo_body_ready(const struct demo_body *b)
{
	return b->length - b->at;
}
/* Copies the next n bytes into out and removes them from the body. */
void demo_body_send(struct demo_body *b, struct net_out *out, size_t n);
/* An echo: appends bytes that came from the client. */
void demo_body_append(struct demo_body *b, struct slice data);
void demo_body_fini(struct demo_body *b);

#endif
