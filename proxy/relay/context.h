/* SPDX-License-Identifier: MIT */
/* What the data plane keeps for an exchange. The relay hands it on. Included by exchange.h. */
#ifndef PUSHGATE_RELAY_CONTEXT_H
#define PUSHGATE_RELAY_CONTEXT_H

#include "proxy/base/clock.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * What the data plane keeps for an exchange. It fills this in between exchange_new and
 * exchange_dispatch.
 */
/* What a request waits for whose body has not wholly come, and that no server has been sent yet. */
enum upload_wait {
	UPLOAD_WAITS_NOT,
	UPLOAD_GATHERS, /* for the rest of its body (upstream/gathering.c) */
	UPLOAD_IS_SLOW, /* for a connection of those that such requests may take (origin/pool_slow.c) */
};

struct exchange_context {
	uint8_t upload_wait;         /* enum upload_wait */
	uint64_t upload_limit_bytes; /* 0 = none */
	/* The request's body is a stream of messages: the client may be silent before it ends. */
	bool is_streaming;
	/* A call of gRPC: the origin may be silent too, before its response as well. Nothing but the
	 * call itself says how long it may take: call_timeout, since the request came; 0 = it does not. */
	bool is_call;
	usec call_timeout;
	usec request_timeout; /* of the whole exchange, as its route says; 0 = none */
};

#endif
