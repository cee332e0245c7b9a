/* SPDX-License-Identifier: MIT */
/*
 * Whether the other end of a connection takes what it is sent, and how long a stream of it may
 * therefore stand still. Looked at about once a second, since it costs a system call.
 */
#include "proxy/hop/taking.h"

#define LOOKED_USEC (100 * USEC_PER_MSEC)
/* While anything waits it is looked at more often than that. */
#define LOOKS_APART_USEC (2 * USEC_PER_SEC)
/* The window of the connection is shut, and it may be that others took what it let through: that
 * much patience in case of doubt. */
#define DOUBT_TIMES 10u

/* It is slow unless it took the least amount within the limit, or on average since we looked. Of one
 * that was not looked at for long nothing is known yet. */
static void look(
    struct taking *t, const struct net_conn *net, usec limit, uint32_t min_rate, usec now)
{
	if (t->looked != 0 && now - t->looked < LOOKED_USEC)
		return;
	uint64_t delivered = net_conn_delivered(net);
	bool is_known = t->looked != 0 && now - t->looked < limit + LOOKS_APART_USEC;
	t->looked = now;
	usec span = now - t->since > limit ? now - t->since : limit;
	bool is_enough =
	    delivered > t->delivered && delivered - t->delivered >= span * min_rate / USEC_PER_SEC;
	if (is_enough || !is_known)
		t->good_until = clock_after(now, limit);
	if (is_enough || !is_known || span > limit) {
		t->since = now;
		t->delivered = delivered;
	}
}

usec taking_deadline(
    struct taking *t, const struct net_conn *net, usec limit, uint32_t min_rate, usec now)
{
	usec blocked = net_conn_blocked_since(net);
	if (blocked == USEC_NEVER)
		return USEC_NEVER;
	look(t, net, limit, min_rate, now);
	usec stalled = clock_after(blocked, limit);
	return stalled > t->good_until ? stalled : t->good_until;
}

usec taking_limit(struct taking *t, const struct net_conn *net, const struct h2_conn *h2,
    const struct h2_stream *stream, usec limit, uint32_t min_rate, usec now)
{
	look(t, net, limit, min_rate, now);
	if (t->good_until <= now || h2_stream_is_shut(stream))
		return limit;
	/* Others go first (RFC 9218), which is not its fault. */
	return h2_stream_window(h2, stream) > 0 ? 0 : limit * DOUBT_TIMES;
}
