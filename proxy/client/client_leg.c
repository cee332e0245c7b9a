/* SPDX-License-Identifier: MIT */
/* The downstream leg of an exchange: a stream on a client connection. */
#include "proxy/client/client_private.h"

#include "proxy/base/ensure.h"

static struct client_conn *conn_of(const struct leg *leg)
{
	return leg->carrier;
}

void client_leg_cut(struct leg *leg)
{
	struct client_conn *c = conn_of(leg);
	struct exchange *x = leg->exchange;
	session_set_user(leg->stream, NULL);
	list_remove(&leg->link);
	if (c->is_finished) /* no fill closes it */
		wheel_set(worker_wheel(c->clients->env), &c->timer, c->clients->env->relay->now);
	if (exchange_is_push(x)) {
		if (!exchange_is_queued(x)) /* then x->waiting links it into an origin's queue */
			list_remove(&x->waiting);
		ensure(c->pushes_open > 0);
		c->pushes_open--;
	}
	leg->ops = NULL;
}

/*
 * Whether a pushed response may begin: the client's MAX_CONCURRENT_STREAMS allows it. Those of a
 * subscription also wait while the client does not read heads and promises: only what waits holds
 * the origin back (relay/subscription.c), not heads that have been written.
 */
static bool has_room(const struct client_conn *c, const struct exchange *x)
{
	if (session_push_room(c->session) == 0)
		return false;
	return !x->pushed.is_expected ||
	       session_peer(c->session).unsent_bytes < x->relay->policy->caps.bytes_in_flight;
}

/* A subscription's pushes begin in the order of their promises (ids rise), whichever was answered
 * first; all others in the order of their responses. */
static void wait_for_room(struct client_conn *c, struct exchange *x)
{
	struct list *at = &c->waiting, *i = c->waiting.prev;
	for (; x->pushed.is_expected && i != &c->waiting; i = i->prev) {
		const struct exchange *other = container_of(i, struct exchange, waiting);
		if (other->pushed.parent_id != x->pushed.parent_id)
			continue;
		if (other->id < x->id)
			break;
		at = i;
	}
	list_insert_before(at, &x->waiting);
}

static bool takes_interim(const struct client_conn *c, const struct http_head *head)
{
	return !client_conn_is_half_closed(c) &&
	       (head->status == 100 || session_can(c->session, SESSION_INTERIM));
}

static bool leg_send_head(struct leg *leg, const struct http_head *head, bool end)
{
	struct client_conn *c = conn_of(leg);
	struct exchange *x = leg->exchange;
	if (http_head_is_interim(head) && !takes_interim(c, head))
		return false;
	bool must_wait =
	    x->pushed.state == PUSH_PROMISED && (!list_is_empty(&c->waiting) || !has_room(c, x));
	/* An interim response opens the pushed stream just as a final one does. */
	if (must_wait && list_is_linked(&x->waiting))
		must_wait = !has_room(c, x);
	if (must_wait) {
		if (!http_head_is_interim(head) && !list_is_linked(&x->waiting))
			wait_for_room(c, x);
		return false;
	}
	if (exchange_is_push(x) && !http_head_is_interim(head))
		list_remove(&x->waiting);
	if (!session_respond(c->session, leg->stream, head, end) && http_head_is_interim(head))
		return false;
	client_count_status(c->clients, head->status);
	net_conn_dirty(c->net);
	return true;
}

void client_conn_start_waiting(struct client_conn *c)
{
	while (c->net && !list_is_empty(&c->waiting)) {
		struct exchange *x = list_first(&c->waiting, struct exchange, waiting);
		if (!has_room(c, x))
			return;
		exchange_on_start(x);
		ensure(!list_is_linked(&x->waiting));
	}
}

static void leg_send_body(struct leg *leg, const struct flow *flow)
{
	struct client_conn *c = conn_of(leg);
	session_offer(c->session, leg->stream, flow->body.bytes, flow_may_end(flow));
	net_conn_dirty(c->net);
}

static void leg_send_trailers(struct leg *leg, const struct http_head *trailers)
{
	struct client_conn *c = conn_of(leg);
	session_trailers(c->session, leg->stream, trailers);
	net_conn_dirty(c->net);
}

static bool leg_promise(struct leg *leg, const struct http_head *request, struct exchange *child)
{
	struct client_conn *c = conn_of(leg);
	struct session_stream *promised =
	    session_promise(c->session, leg->stream, request, &child->down);
	if (!promised)
		return false;
	child->down.ops = &client_leg_ops;
	child->down.carrier = c;
	child->down.stream = promised;
	child->down.budget = &c->budget;
	child->payer.buffered = &c->push_buffered;
	list_append(&c->legs, &child->down.link);
	c->pushes_open++;
	net_conn_dirty(c->net);
	return true;
}

static void leg_reset(struct leg *leg, uint32_t code)
{
	struct client_conn *c = conn_of(leg);
	struct session_stream *stream = leg->stream;
	client_leg_cut(leg);
	session_reset(c->session, stream, code);
	net_conn_dirty(c->net);
}

static void leg_credit(struct leg *leg, size_t n)
{
	struct client_conn *c = conn_of(leg);
	session_credit(c->session, leg->stream, n);
	net_conn_dirty(c->net);
	/* A client may send all of its request before it reads any of the response: the fill, which
	 * handles the events, waits for the client then. */
	if (c->is_unread && (net_conn_is_blocked(c->net) || c->is_finished))
		wheel_set(worker_wheel(c->clients->env), &c->timer, c->clients->env->relay->now);
}

const struct leg_ops client_leg_ops = {
    .send_head = leg_send_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promise,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = client_leg_cut,
};

/* ---- one exchange's client ---- */

usec client_stall_limit(const struct exchange *x)
{
	struct client_conn *c = client_conn_of(x);
	if (!c)
		return 0;
	const struct conf_listen *conf = c->listener->conf;
	return peer_progress_stream_limit(&c->progress, c->net, c->session, x->down.stream,
	    conf->write_timeout, conf->limits.min_rate, c->clients->env->relay->now);
}

bool client_is_stuck(const struct exchange *x, usec since)
{
	const struct client_conn *c = client_conn_of(x);
	/* If the window is open and the socket accepts bytes, the stream waits only because more
	 * urgent streams are sent first (RFC 9218). */
	return c && (session_stream_window(c->session, x->down.stream) == 0 ||
			client_conn_is_blocked(c, since));
}

static bool listener_covers(const void *listener, struct slice host)
{
	const struct client_listener *l = listener;
	return !l->tls || net_tls_covers(l->tls, host);
}

const struct client_facts *client_facts(const struct exchange *x, struct client_facts *facts)
{
	const struct client_conn *c = client_conn_of(x);
	if (!c)
		return NULL;
	const struct session_peer peer = session_peer(c->session);
	bool is_subscription = x->place.route && offer_is_subscription(x, true);
	*facts = (struct client_facts){
	    .address = x->facts.client,
	    .covers = listener_covers,
	    .listener = c->listener,
	    .push_enabled = peer.takes_pushes && session_can(c->session, SESSION_SENDS_PUSHES),
	    .accepts_streams = peer.takes_streams,
	    /* After our GOAWAY a subscription still gets its pushes. Other clients ask for the resources
	     * themselves, on their next connection. */
	    .is_going_away = is_subscription ? peer.goaway_came : peer.is_going_away,
	    .hints_expected = session_can(c->session, SESSION_HINTS),
	    .takes_interim = session_can(c->session, SESSION_INTERIM) && peer.takes_interim,
	    .is_half_closed = client_conn_is_half_closed(c),
	    .rtt_usec = c->clients->measures_rtt ? net_conn_rtt_usec(c->net) : 0,
	    .open_pushes = c->pushes_open,
	    .waiting_bytes = c->push_buffered + peer.unsent_bytes,
	};
	return facts;
}

struct http_priority client_priority(const struct exchange *x)
{
	return session_priority(conn_of(&x->down)->session, x->down.stream);
}

void client_set_priority(struct exchange *push, struct http_priority priority)
{
	session_set_priority(conn_of(&push->down)->session, push->down.stream, priority);
}
