/* SPDX-License-Identifier: MIT */
/* The upstream end of an exchange: a stream of a connection to an origin. */
#include "proxy/hop/private.h"

#include "proxy/base/ensure.h"

static struct up *up_of(struct leg *leg)
{
	return leg->carrier;
}

void up_leg_cut(struct leg *leg)
{
	h2_stream_set_user((struct h2_stream *)leg->stream, NULL);
	list_remove(&leg->link);
	leg->ops = NULL;
}

/* Stream ids end at 2^31 - 1 (RFC 9113 5.1.1): before that another connection takes over. */
#define REQUESTS_MAX 1000000000u

bool up_has_room(const struct up *u)
{
	/* Its own allowance: another connection may do. */
	return u->is_ready && !u->is_closing && u->budget.used_bytes < u->budget.limit_bytes &&
	       h2_request_room(u->h2) > 0;
}

/* RFC 9113 10.5.1: an origin may take what is larger for an attack on the whole connection. */
static bool is_too_large(const struct up *u, const struct http_head *head)
{
	uint32_t most = h2_peer_settings(u->h2)->max_header_list_size;
	return most != UINT32_MAX && http_head_list_bytes(head) > most;
}

/* What the origin is told: the hop's own scheme and authority where the configuration says so. */
const struct relay_cause *up_send(struct up *u, struct exchange *x)
{
	const struct conf_origin *o = u->pool->origin;
	struct http_head *head = x->request;
	bool end = x->upload.source_ended && x->upload.body.bytes == 0 && !x->upload.trailers;
	if (o->host_override)
		head->authority = slice_of_string(o->host_override);
	if (o->scheme == CONF_SCHEME_HOP)
		head->scheme = o->kind == CONF_ORIGIN_H2_TLS ? SLICE("https") : SLICE("http");
	bool is_large = is_too_large(u, head);
	struct h2_stream *s = is_large ? NULL : h2_request(u->h2, head, end, &x->up);
	head->authority = x->authority;
	head->scheme = x->scheme;
	if (!s)
		return is_large ? &relay_cause_HEAD_LARGE : &relay_cause_NO_MEMORY;
	const struct leg leg = {.ops = &up_leg_ops,
	    .carrier = u,
	    .stream = (struct session_stream *)s,
	    .budget = &u->budget};
	list_append(&u->legs, &x->up.link);
	if (u->quiet_since != USEC_NEVER) {
		u->quiet_since = USEC_NEVER;
		up_arm(u);
	}
	if (++u->requests >= REQUESTS_MAX)
		up_retire(u);
	exchange_on_connected(x, &leg);
	net_conn_dirty(u->net);
	return NULL;
}

static bool leg_send_head(struct leg *leg, const struct http_head *head, bool end)
{
	(void)leg;
	(void)head;
	(void)end;
	ensure_failed("a request's head goes out with its stream", __FILE__, __LINE__, __func__);
}

static bool leg_promise(struct leg *leg, const struct http_head *request, struct exchange *child)
{
	(void)leg;
	(void)request;
	(void)child;
	ensure_failed("clients do not promise (RFC 9113 8.4)", __FILE__, __LINE__, __func__);
}

static void leg_send_body(struct leg *leg, const struct flow *flow)
{
	struct up *u = up_of(leg);
	h2_offer(u->h2, (struct h2_stream *)leg->stream, flow->body.bytes, flow_may_end(flow));
	net_conn_dirty(u->net);
}

static void leg_send_trailers(struct leg *leg, const struct http_head *trailers)
{
	struct up *u = up_of(leg);
	h2_trailers(u->h2, (struct h2_stream *)leg->stream, trailers);
	net_conn_dirty(u->net);
}

/*
 * An origin takes a client that cancels a lot for an attacker (CVE-2023-44487) and ends its
 * connection, with all that is under way on it: one like us after 200 cancellations (limit-resets),
 * others after 500 or 1,000. Ours are those of all clients together: before it comes to that
 * another connection takes over, and this one ends with its last request.
 */
#define CANCELS_MOST 150u

static void count_cancel(struct up *u)
{
	if (++u->cancels % CANCELS_MOST == 0 && pool_may_replace(u->pool))
		up_retire(u);
}

static void leg_reset(struct leg *leg, uint32_t code)
{
	struct up *u = up_of(leg);
	struct h2_stream *s = (struct h2_stream *)leg->stream;
	/* A promise that is refused before it became an exchange has a leg of its own in no list.
	 * */
	if (leg->exchange) {
		up_leg_cut(leg);
		if (leg->exchange->pushed.state == PUSH_NONE)
			count_cancel(u);
	}
	h2_reset(u->h2, s, code);
	net_conn_dirty(u->net);
}

static void leg_credit(struct leg *leg, size_t n)
{
	struct up *u = up_of(leg);
	h2_credit(u->h2, (struct h2_stream *)leg->stream, n);
	net_conn_dirty(u->net);
}

static void leg_detach(struct leg *leg)
{
	up_leg_cut(leg);
}

const struct leg_ops up_leg_ops = {
    .send_head = leg_send_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promise,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = leg_detach,
};
