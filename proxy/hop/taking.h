/* SPDX-License-Identifier: MIT */
/*
 * Whether the other end of a connection takes what it is sent, and how long a stream of it may
 * therefore stand still.
 */
#ifndef PUSHGATE_HOP_TAKING_H
#define PUSHGATE_HOP_TAKING_H

#include "proxy/h2/h2.h"
#include "proxy/net/net.h"

struct taking {
	usec looked; /* last */
	usec since;  /* when so many bytes were `delivered` */
	uint64_t delivered;
	usec good_until; /* until then it counts as one that takes enough */
};

/* When a socket that takes too little is to be given up; USEC_NEVER while it takes all. */
usec taking_deadline(
    struct taking *t, const struct net_conn *net, usec limit, uint32_t min_rate, usec now);
/* How long a stream may stand still when `limit` holds for the connection; 0: without limit, since
 * others are served. */
usec taking_limit(struct taking *t, const struct net_conn *net, const struct h2_conn *h2,
    const struct h2_stream *stream, usec limit, uint32_t min_rate, usec now);

#endif
