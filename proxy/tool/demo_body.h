/* SPDX-License-Identifier: MIT */
/*
 * The body of one response of the demo origin: bytes of a constant, of a pattern, or those that
 * the client has just sent. It knows no HTTP. Private to tool/.
 */
#ifndef PUSHGATE_TOOL_DEMO_BODY_H
#define PUSHGATE_TOOL_DEMO_BODY_H

#include "proxy/net/net.h"

enum demo_body_kind { DEMO_BODY_NONE, DEMO_BODY_TEXT, DEMO_BODY_PATTERN, DEMO_BODY_ECHO };

struct demo_body {
	enum demo_body_kind kind;
	struct slice text;   /* TEXT: what is left; a constant */
	uint64_t at, length; /* PATTERN */
	char *buffer; /* ECHO: a ring, owned; as large as the client's window allows it to grow */
	size_t capacity, first, used;
};

/* Bytes that could be sent now. */
uint64_t demo_body_ready(const struct demo_body *b);
/* Puts the next n bytes into the send. */
void demo_body_take(struct demo_body *b, struct net_out *out, size_t n);
/* ECHO: what came from the client. */
void demo_body_append(struct demo_body *b, struct slice data);
void demo_body_fini(struct demo_body *b);

#endif
