/* SPDX-License-Identifier: MIT */
/* What the data plane keeps for an exchange. The relay hands it on. Included by exchange.h. */
#ifndef PUSHGATE_RELAY_CONTEXT_H
#define PUSHGATE_RELAY_CONTEXT_H

#include "proxy/base/clock.h"
#include <stdbool.h>
#include <stdint.h>

struct hold_store;

/* Types of the data plane. */
struct client_diary;
struct limits_held;
struct user_wait;
struct origin_conn;

/* The connections that an exchange used, for the log: their ids, unique in the worker (0 = none), and
 * constant texts. */
struct exchange_client_hop {
	uint64_t connection;
	const char *protocol;
	const char *tls, *cipher; /* "" = cleartext */
};
struct exchange_origin_hop {
	uint64_t connection;
	const char *protocol;
	const char *address; /* borrows: of the pool */
};

/*
 * What the data plane keeps for an exchange. It fills this in between exchange_new and
 * exchange_dispatch.
 */
/* What a request waits for whose body has not wholly come, and that no server has been sent yet. */
enum upload_wait {
	UPLOAD_WAITS_NOT,
	UPLOAD_GATHERS, /* for the rest of its body (upstream/gathering.c) */
	UPLOAD_IS_SLOW, /* for a connection of those that such requests may take (upstream/pool_slow.c) */
};

struct exchange_context {
	struct user_wait *user_wait;     /* what it waits for, to know its user; NULL: nothing */
	struct exchange_client_hop down; /* of a push: its parent's */
	struct exchange_origin_hop up;   /* the last one that the request was sent on */
	uint8_t upload_wait;             /* enum upload_wait */
	/* Why [access NAME] denied it: 1 + enum access_reason (route/access.h); 0: it did not. */
	uint8_t denial;
	/* The address for which its destination was refused, with the port, in the request's arena. NULL: none was. */
	const char *refused_address;
	/* What one of them failed with that could be connected to; NULL: none could be. The text is in the
	 * request's arena. */
	const struct relay_cause *failure;
	const char *failure_detail;
	uint32_t failure_code;
	/* The origin connection that just failed. dispatch prefers any other; never dereferenced. */
	const struct origin_conn *avoid;
	/* borrows: pushes for this client are held here; NULL = they cannot be held */
	struct hold_store *hold_store;
	struct client_diary *diary;      /* what this client has; NULL = nothing is noted for it */
	struct limits_held *limits_held; /* where limit-requests counts it as open; NULL: nowhere */
	uint32_t retry_after;            /* seconds, for an answer of our own; 0 = none */
	uint64_t upload_limit_bytes;     /* 0 = none */
	bool takes_links;                /* Link fields of the response are offers */
	bool was_forwarded;              /* a push: the client was sent a PUSH_PROMISE */
	bool
	    is_unfit_to_learn; /* its response is of another type than its path, or for one client */
	/* The request's body is a stream of messages: the client may be silent before it ends. */
	bool is_streaming;
	/* A call of gRPC: the origin may be silent too, before its response as well. Nothing but the
	 * call itself says how long it may take: call_timeout, since the request came; 0 = it does not. */
	bool is_call;
	usec call_timeout;
	usec request_timeout; /* of the whole exchange, as its route says; 0 = none */
};

#endif
