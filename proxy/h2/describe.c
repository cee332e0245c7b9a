/* SPDX-License-Identifier: MIT */
/*
 * Describes a connection and its streams as text, for the status page and the crash dump. Allocates
 * nothing.
 */
#include "proxy/h2/h2_conn.h"

#include <stdarg.h>
#include <stdio.h>

struct text {
	char *buffer;
	size_t size, length;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct text *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int n = vsnprintf(t->buffer + t->length, t->size - t->length, format, args);
	va_end(args);
	/* uncovered: vsnprintf does not fail with these formats */
	if (n < 0)
		return;
	size_t room = t->size - t->length - 1;
	t->length += (size_t)n < room ? (size_t)n : room;
}

static void add_stream(struct text *t, const struct h2_stream *s)
{
	add(t,
	    "  s%u %s%s u=%u%s offered=%llu%s send-window=%lld receive-window=%lld unread=%llu\n",
	    s->id, h2_state_name((enum h2_state)s->state),
	    s->is_pushed   ? " pushed"
	    : s->is_tunnel ? " tunnel"
			   : "",
	    s->place.priority.urgency, s->place.priority.incremental ? ",i" : "",
	    (unsigned long long)s->offered, s->offered_end ? "+end" : "",
	    (long long)s->outflow.window, (long long)s->inflow.window,
	    (unsigned long long)s->unread);
}

size_t h2_describe(const struct session *session, char *buffer, size_t size)
{
	const struct h2_conn *c = h2_of(session);
	if (size == 0)
		return 0;
	struct text t = {buffer, size, 0};
	buffer[0] = 0;
	add(&t,
	    "%s open=%u/%u reserved=%u/%u handles=%u next=%u peer-last=%u send-window=%lld "
	    "receive-window=%lld queued=%zu forgotten=%u push=%u%s%s%s%s%s\n",
	    h2_role_rows[c->role].name, c->census.local_open, c->census.remote_open,
	    c->census.local_reserved, c->census.remote_reserved, c->handles, c->own_next_id,
	    c->peer_last_id, (long long)c->outflow.window, (long long)c->inflow.window,
	    h2_out_length(&c->out), c->forgotten.count,
	    c->role == H2_SERVER ? c->peer.enable_push : c->local.enable_push,
	    c->goaway_came ? " goaway-came" : "", c->goaway_sent ? " goaway-sent" : "",
	    c->block.is_open ? " in-block" : "", c->has_failed ? " failed=" : "",
	    c->failure ? c->failure->name : "");
	map_for_each(&c->streams, s, struct h2_stream, node) add_stream(&t, s);
	return t.length;
}
