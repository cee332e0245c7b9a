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

#include <stdbool.h>

struct exchange;

struct exchange_tunnel {
	bool is_asked; /* the request is a CONNECT */
	bool is_open;
	usec opened;
};

/* Makes the request of an exchange that has not been dispatched one for a tunnel: it is a CONNECT. */
void exchange_ask_for_tunnel(struct exchange *x);

#endif
