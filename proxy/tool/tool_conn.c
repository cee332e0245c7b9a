/* SPDX-License-Identifier: MIT */
/* Passes bytes to the session, events to the owner, output to the socket, and the time to the session. */
#include "proxy/tool/tool_conn.h"
#include "proxy/base/ensure.h"
#include "proxy/h2/h2.h"

#define BODY_BYTES 16384u

static void drain_events(struct link *l)
{
	struct session_event event;
	while (session_next_event(l->session, &event))
		l->ops->event(l->owner, &event);
}

static void tick(void *context)
{
	struct link *l = context;
	session_tick(l->session, net_now(l->loop));
	drain_events(l);
	link_wake(l);
}

void link_init(struct link *l, struct net_loop *loop, const struct link_ops *ops, void *owner)
{
	*l = (struct link){.ops = ops, .owner = owner, .loop = loop};
	net_timer_init(&l->timer, loop, tick, l);
}

void link_start(struct link *l, struct session *session)
{
	ensure(!l->session);
	l->session = session;
	link_wake(l);
}

void link_wake(struct link *l)
{
	if (!l->net || !l->session)
		return;
	net_conn_dirty(l->net);
	net_timer_set(&l->timer, session_deadline(l->session));
}

void link_close(struct link *l)
{
	net_timer_set(&l->timer, USEC_NEVER);
	if (l->net)
		net_conn_close(l->net);
	l->net = NULL;
}

void link_fini(struct link *l)
{
	if (l->net)
		net_conn_abort(l->net);
	l->net = NULL;
	net_timer_fini(&l->timer);
	session_free(l->session);
	l->session = NULL;
}

void link_received(void *link, struct chunk *chunk, size_t offset, size_t length)
{
	struct link *l = link;
	while (length > 0 && l->net) {
		size_t n = session_receive(l->session, chunk, offset, length, net_now(l->loop));
		offset += n;
		length -= n;
		drain_events(l);
	}
	link_wake(l);
}

static bool fill_once(struct link *l, struct net_out *out, size_t room)
{
	struct session_output part;
	uint32_t most = room < BODY_BYTES ? (uint32_t)room : BODY_BYTES;
	if (!session_next_output(l->session, most, &part))
		return false;
	net_out_copy(out, part.before.ptr, part.before.len);
	if (part.stream)
		l->ops->payload(l->owner, out, &part);
	net_out_copy(out, part.after.ptr, part.after.len);
	return true;
}

void link_fill(void *link, struct net_out *out)
{
	struct link *l = link;
	size_t room;
	while ((room = net_out_room(out)) > 0 && fill_once(l, out, room))
		;
	drain_events(l);
	if (l->net && session_is_done(l->session) && !session_wants_write(l->session))
		l->ops->finished(l->owner);
}

void link_ended(void *link, enum net_end end, const char *text)
{
	struct link *l = link;
	if (l->session) {
		/* HTTP/2 fails by it; in HTTP/1.1 it may complete a response. */
		if (session_can(l->session, SESSION_MULTIPLEXES))
			h2_receive_eof(l->session);
		else
			session_ended(l->session, end == NET_END_EOF);
		drain_events(l);
	}
	l->ops->ended(l->owner, end, text);
}
