/* SPDX-License-Identifier: MIT */
/*
 * An engine with an owner that executes commands from the fuzz input: any action that the RFC allows,
 * at any time. Received bodies are discarded; heads and bodies are of a few kinds. The engine's
 * invariants are checked after each step.
 */
#ifndef PUSHGATE_TESTS_H2_OWNER_H
#define PUSHGATE_TESTS_H2_OWNER_H

#include "tests/support/h2_inside.h"

#define H2_OWNER_HANDLES 512u

struct h2_owner {
	struct session *conn;
	struct h2_config config;
	struct session_env env;
	struct chunk_pool *chunks;    /* borrows */
	struct http_head_pool *heads; /* borrows */
	struct budget budget;
	struct session_stream *handles[H2_OWNER_HANDLES];
	size_t count;
	usec now;
	uint32_t steps; /* tests/support/seldom.h */
	bool gives_credit; /* gives credit for bytes as they arrive; otherwise only on command */
};

enum h2_owner_action {
	H2_OWNER_RESPOND,
	H2_OWNER_RESPOND_END,
	H2_OWNER_INTERIM,
	H2_OWNER_OFFER,
	H2_OWNER_OFFER_END,
	H2_OWNER_TRAILERS,
	H2_OWNER_RESET,
	H2_OWNER_CREDIT,
	H2_OWNER_WINDOW,
	H2_OWNER_OPEN, /* a request, or (of a server) a promise */
	H2_OWNER_PRIORITY,
	H2_OWNER_SETTINGS,
	H2_OWNER_END, /* GOAWAY, EOF, termination, or only a PING */
	H2_OWNER_ACTION_COUNT
};

void h2_owner_init(struct h2_owner *o, enum h2_role role, const struct h2_settings *settings,
    const struct h2_limits *limits, size_t budget_bytes, usec now);
void h2_owner_fini(struct h2_owner *o);

/* Bytes from the peer. */
void h2_owner_receive(struct h2_owner *o, const void *bytes, size_t n);
/* which: one of the streams, for the actions that have one. */
void h2_owner_act(struct h2_owner *o, enum h2_owner_action action, uint8_t which, uint8_t argument);
void h2_owner_drain(struct h2_owner *o);
/* Walks the engine's invariants after a step. */
void h2_owner_check(struct h2_owner *o);
/* Frames for the peer, as many as are ready and have room. Returns how many bytes. */
size_t h2_owner_output(struct h2_owner *o, uint8_t *buffer, size_t size);

#endif
