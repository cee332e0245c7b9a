/* SPDX-License-Identifier: MIT */
/*
 * A tunnel (RFC 9110 7.8 and 9.3.6, RFC 8441): the exchange of a CONNECT. Until its answer it is like any
 * other, but what the client sends behind the request waits: it is not for the origin yet. An answer of
 * 2xx opens the tunnel: `upload` and `download` are its two directions from then on, and each ends by
 * itself. With any other answer the client's bytes are dropped.
 */
#ifndef PUSHGATE_RELAY_TUNNEL_H
#define PUSHGATE_RELAY_TUNNEL_H

#include "proxy/base/clock.h"
#include "proxy/base/list.h"
#include "proxy/base/slice.h"

#include <stdbool.h>

struct exchange;
struct flow;

struct exchange_tunnel {
	bool is_asked;   /* the request is a CONNECT */
	bool is_upgrade; /* it came as a GET with Upgrade: its opening answer is a 101 */
	/* In HTTP/1 a request for a tunnel is complete with its head, and what follows is the tunnel's: the source
	 * has ended only once that has. */
	bool came_whole;
	bool is_open;
	/* The client was the first to end its direction; with `ended`. */
	bool client_ended_first;
	bool is_counted; /* the owner's: among the tunnels of its server */
	bool is_rated;   /* the owner's: it bounds the bytes a second (relay_ops.tunnel_waits) */
	bool
	    is_checked; /* the owner's, until it lets the client's first bytes pass (relay_ops.tunnel_look) */
	usec opened;
	usec ended;          /* the first direction has; 0 = not yet */
	uint64_t bytes_most; /* of both directions together; 0 = no limit */
};

/*
 * Makes the request of an exchange that has not been dispatched one for a tunnel. `upgrade`: the one protocol,
 * of those that a request in HTTP/1.1 offers, which is asked for (lent from the configuration): the request
 * becomes a CONNECT by that. Empty: it is a CONNECT.
 */
void exchange_ask_for_tunnel(struct exchange *x, struct slice upgrade);
/* Whether the first of these legs is that of an open tunnel. On a connection that carries one exchange at a time
 * there is no other. */
bool exchange_tunnel_is_first(const struct list *legs);
/* Gives each source at most `most` bytes of the credit that it is owed, *given in all. Returns whether more is owed. */
bool exchange_give_credit(struct exchange *x, size_t most, size_t *given);
/* Whether the request, if it succeeds, may change what its URI names (RFC 9110 9.2.1). One for a tunnel does
 * not, though CONNECT is no safe method. */
bool exchange_may_change(const struct exchange *x);

#endif
