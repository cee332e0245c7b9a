/* SPDX-License-Identifier: MIT */
/*
 * Whether the peer of a connection reads what is sent to it, and how long one of its streams may
 * therefore stand still.
 */
#ifndef PUSHGATE_SESSION_PEER_PROGRESS_H
#define PUSHGATE_SESSION_PEER_PROGRESS_H

#include "proxy/net/net.h"

struct session;
struct session_stream;

struct peer_progress {
	usec looked;        /* when the socket was asked last; 0: never */
	usec since;         /* when the peer's TCP had acknowledged `delivered` bytes */
	uint64_t delivered; /* bytes */
	usec good_until;    /* until then the peer counts as one that reads fast enough */
};

/* When a peer that reads too slowly is to be given up; USEC_NEVER while the socket takes all that is
 * sent. min_rate: bytes a second. */
usec peer_progress_deadline(
    struct peer_progress *p, const struct net_conn *net, usec limit, uint32_t min_rate, usec now);
/* How long a stream may stand still when `limit` holds for its connection; 0: without limit, since
 * other streams are being served. */
usec peer_progress_stream_limit(struct peer_progress *p, const struct net_conn *net,
    const struct session *session, const struct session_stream *stream, usec limit,
    uint32_t min_rate, usec now);

#endif
