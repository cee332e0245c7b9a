/* SPDX-License-Identifier: MIT */
/*
 * Measures how fast the peer of a connection reads, and derives from it when a blocked connection
 * is given up and how long one of its streams may make no progress.
 */
#ifndef PUSHGATE_PROTOCOLS_PEER_PROGRESS_H
#define PUSHGATE_PROTOCOLS_PEER_PROGRESS_H

#include "proxy/base/pace.h"
#include "proxy/net/net.h"

struct session;
struct session_stream;

struct peer_progress {
	usec measured_at; /* the last measurement; 0: none */
	struct pace delivery;
	uint64_t delivered; /* bytes that the peer's TCP had acknowledged then */
	usec fast_until;    /* until then the peer counts as reading fast enough */
};

/* The time at which a peer that reads too slowly is given up; USEC_NEVER while the socket accepts
 * everything. limit: the write-timeout. min_rate: bytes per second. */
usec peer_progress_deadline(
    struct peer_progress *p, const struct net_conn *net, usec limit, uint32_t min_rate, usec now);
/* The time up to now was no fault of the peer: gives it the whole limit from now on. */
static inline void peer_progress_pardon(struct peer_progress *p, usec limit, usec now)
{
	p->fast_until = clock_after(now, limit);
}
/* How long a stream may make no progress; 0: no limit, because the stream only waits for more urgent
 * streams of the same connection. */
usec peer_progress_stream_limit(struct peer_progress *p, const struct net_conn *net,
    const struct session *session, const struct session_stream *stream, usec limit,
    uint32_t min_rate, usec now);

#endif
