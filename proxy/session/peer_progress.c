/* SPDX-License-Identifier: MIT */
/* See peer_progress.h. The socket is asked about once a second, since that costs a system call. */
#include "proxy/session/session.h"

/* The last answer of the socket is good for so long. */
#define ANSWER_GOOD_USEC (100 * USEC_PER_MSEC)
/* While bytes wait, two looks at the socket are never further apart than this. */
#define LOOKS_APART_USEC (2 * USEC_PER_SEC)
/* A stream's window is open and the connection's is shut: a single stalled stream and a stalled
 * connection look alike until ten times the limit. */
#define DOUBT_TIMES 10u

/*
 * The peer is slow unless it acknowledged min_rate × limit bytes within the limit, or on average
 * since the last look. A connection that was not looked at for longer than the limit gets a fresh
 * start: nothing is known about it.
 */
static void look(
    struct peer_progress *p, const struct net_conn *net, usec limit, uint32_t min_rate, usec now)
{
	if (p->looked != 0 && now - p->looked < ANSWER_GOOD_USEC)
		return;
	uint64_t delivered = net_conn_delivered(net);
	bool is_known = p->looked != 0 && now - p->looked < limit + LOOKS_APART_USEC;
	p->looked = now;
	usec span = now - p->since > limit ? now - p->since : limit;
	bool is_enough =
	    delivered > p->delivered && delivered - p->delivered >= span * min_rate / USEC_PER_SEC;
	if (is_enough || !is_known)
		p->good_until = clock_after(now, limit);
	if (is_enough || !is_known || span > limit) {
		p->since = now;
		p->delivered = delivered;
	}
}

usec peer_progress_deadline(
    struct peer_progress *p, const struct net_conn *net, usec limit, uint32_t min_rate, usec now)
{
	usec blocked = net_conn_blocked_since(net);
	if (blocked == USEC_NEVER)
		return USEC_NEVER;
	look(p, net, limit, min_rate, now);
	usec stalled = clock_after(blocked, limit);
	return stalled > p->good_until ? stalled : p->good_until;
}

usec peer_progress_stream_limit(struct peer_progress *p, const struct net_conn *net,
    const struct session *session, const struct session_stream *stream, usec limit,
    uint32_t min_rate, usec now)
{
	look(p, net, limit, min_rate, now);
	if (p->good_until <= now || session_stream_is_shut(session, stream))
		return limit;
	/* An open window means that more urgent streams go first (RFC 9218): not the peer's fault. */
	return session_stream_window(session, stream) > 0 ? 0 : limit * DOUBT_TIMES;
}
