/* SPDX-License-Identifier: MIT */
/* See peer_progress.h. A measurement costs a system call, so it is made about once a second. */
#include "proxy/protocols/protocols.h"

/* A measurement younger than this is used again. */
#define MEASUREMENT_VALID_USEC (100 * USEC_PER_MSEC)
/* While the connection is blocked, two measurements are never further apart than this. */
#define MEASUREMENT_GAP_MAX_USEC (2 * USEC_PER_SEC)
/* When the stream's window is open and the connection's window is 0, a single stalled stream and a
 * stalled connection look alike until ten times the limit. */
#define UNCERTAIN_TIMES 10u

/*
 * The peer's pace, by the bytes that it has acknowledged. A connection that was not measured for longer
 * than the limit has the whole limit again, because nothing is known about it.
 */
static void measure(
    struct peer_progress *p, const struct net_conn *net, usec limit, uint32_t min_rate, usec now)
{
	if (p->measured_at != 0 && now - p->measured_at < MEASUREMENT_VALID_USEC)
		return;
	uint64_t delivered = net_conn_delivered(net);
	bool is_known =
	    p->measured_at != 0 && now - p->measured_at < limit + MEASUREMENT_GAP_MAX_USEC;
	p->measured_at = now;
	if (!is_known)
		pace_begin(&p->delivery, now);
	else if (delivered > p->delivered)
		pace_move(&p->delivery, delivered - p->delivered, now);
	p->delivered = delivered;
	p->fast_until = pace_deadline(&p->delivery, limit, min_rate);
}

usec peer_progress_deadline(
    struct peer_progress *p, const struct net_conn *net, usec limit, uint32_t min_rate, usec now)
{
	usec blocked = net_conn_blocked_since(net);
	if (blocked == USEC_NEVER)
		return USEC_NEVER;
	measure(p, net, limit, min_rate, now);
	usec stalled = clock_after(blocked, limit);
	return stalled > p->fast_until ? stalled : p->fast_until;
}

usec peer_progress_stream_limit(struct peer_progress *p, const struct net_conn *net,
    const struct session *session, const struct session_stream *stream, usec limit,
    uint32_t min_rate, usec now)
{
	measure(p, net, limit, min_rate, now);
	if (p->fast_until <= now || session_stream_is_shut(session, stream))
		return limit;
	/* With an open window the stream waits for more urgent streams (RFC 9218): not the peer's
	 * fault. */
	return session_stream_window(session, stream) > 0 ? 0 : limit * UNCERTAIN_TIMES;
}
