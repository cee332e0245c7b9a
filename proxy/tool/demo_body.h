/* SPDX-License-Identifier: MIT */
/*
 * The body of one response of the demo origin: a constant, a pattern, or an echo of the request's
 * body. It knows nothing of HTTP. Private to tool/.
 */
#ifndef PUSHGATE_TOOL_DEMO_BODY_H
#define PUSHGATE_TOOL_DEMO_BODY_H

#include "proxy/net/net.h"

enum demo_body_kind { DEMO_BODY_NONE, DEMO_BODY_TEXT, DEMO_BODY_PATTERN, DEMO_BODY_ECHO };

struct demo_body {
	enum demo_body_kind kind;
	struct slice text;   /* TEXT: the rest of a constant */
	uint64_t at, length; /* PATTERN */
	char *buffer;        /* ECHO: owned; the client's window bounds it */
	size_t capacity, used;
};

/* How many bytes could be sent now. */
uint64_t demo_body_ready(const struct demo_body *b);
/* Copies the next n bytes into out and removes them from the body. */
void demo_body_send(struct demo_body *b, struct net_out *out, size_t n);
/* ECHO: appends bytes that came from the client. */
void demo_body_append(struct demo_body *b, struct slice data);
void demo_body_fini(struct demo_body *b);

#endif
