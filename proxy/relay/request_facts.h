/* SPDX-License-Identifier: MIT */
/*
 * The facts of a request that routing and the access rules look at, and the answer of routing. They take these
 * and never an exchange, so that they can be asked about a request that no client has made: one that an origin
 * promises, or one that a held response might answer. Included by exchange.h.
 */
#ifndef PUSHGATE_RELAY_REQUEST_FACTS_H
#define PUSHGATE_RELAY_REQUEST_FACTS_H

#include "proxy/base/cidr.h"
#include "proxy/base/client_certificate.h"
#include "proxy/base/clock.h"
#include "proxy/base/memory.h"
#include "proxy/http/head.h"
#include "proxy/http/host.h"
#include "proxy/peer/peer.h"

/* Types of the configuration. */
struct conf_listen;
struct conf_origin;
struct conf_route;

/* A user whose password was right. Counted by references: requests share what was found out once. */
struct exchange_user {
	uint32_t references;
	uint32_t length;
	char name[]; /* with a NUL behind it */
};

/* With one reference. */
static inline struct exchange_user *exchange_user_new(struct slice name)
{
	struct exchange_user *user = memory_alloc(sizeof(*user) + name.len + 1);
	*user = (struct exchange_user){.references = 1, .length = (uint32_t)name.len};
	memcpy(user->name, name.ptr, name.len);
	user->name[name.len] = '\0';
	return user;
}

/* One reference more, and one less. Both take NULL. */
static inline struct exchange_user *exchange_user_hold(struct exchange_user *user)
{
	if (user)
		user->references++;
	return user;
}
static inline void exchange_user_release(struct exchange_user *user)
{
	if (user && --user->references == 0)
		free(user);
}

/* Forward mode: where a request goes by what it says itself. */
struct request_target {
	char host[HTTP_HOST_TEXT]; /* http_host_read */
	struct address address;    /* with is_address */
	uint16_t port;
	bool is_tls, is_tunnel, is_address;
	/* For each access rule, whether its paths match that of the request; NULL: this is not kept. */
	uint8_t *path_answers;
};

/*
 * The exchange owns those of its own request, for as long as it lives. For a question about another request they are
 * copied, and that one's head is put in: the copy is on the stack and borrows everything.
 */
struct request_facts {
	const struct conf_listen *listener; /* NULL: there is none, as in some tests */
	struct address client;              /* that rules, limits and the log are about */
	struct address peer;                /* of the connection: `trusted` is about it */
	struct peer_ends
	    *ends; /* as the user; NULL: the peer is the TCP peer, and no origin is told of it */
	struct exchange_user
	    *user; /* an exchange's has a reference, which relay_reap gives back; NULL: nobody */
	struct client_certificate *certificate; /* likewise; NULL: the client has shown none */
	const struct http_head *head;           /* as the client sent it */
	const char *tls;                        /* version of TLS; "" or NULL: cleartext */
	/* In the arena of the exchange: its id; empty: it has none. */
	struct slice request_id;
	/* Likewise: the host of the TLS handshake, if it is not that of the request; of a push none. */
	struct slice sni;
	/* Forward mode: in the arena of the head. NULL: it was not read yet, or the arena has been given back. */
	struct request_target *target;
	/* Via, Forwarded or X-Forwarded-For came with the request: its client is a proxy, which may speak for several
	 * users. */
	bool came_through;
	bool
	    is_named; /* a field of the request has named the client: it may be another than the peer */
	uint32_t
	    client_ca; /* the line of the listener that the handshake was by: conf_client_ca_of_name */
};

/* The other end of the client's connection, whatever has been claimed. */
static inline const struct address *request_tcp_peer(const struct request_facts *f)
{
	return f->ends ? &f->ends->tcp : &f->peer;
}

/* Where a request goes. */
struct relay_place {
	const struct conf_route *route;
	const struct conf_origin *origin;
};

/* What routing has found out about a request. */
struct request_routing {
	struct relay_place place; /* route NULL: none takes it */
	bool is_tunnel;           /* to become one by exchange_ask_for_tunnel */
	struct slice upgrade;     /* of a tunnel: exchange_ask_for_tunnel's */
	uint64_t tunnel_bytes;    /* of a tunnel: its bytes_most */
	bool is_streaming;        /* its body is a stream of messages: that of a call always */
	bool is_call;             /* of gRPC */
	usec call_timeout;        /* of a call; 0: it names none */
};

#endif
