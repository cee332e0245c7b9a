/* SPDX-License-Identifier: MIT */
/*
 * A connection to an origin: its transport and its engine. It is shared by all clients of the
 * worker; who may use it is the pool's business. What its engine tells is in up_events.c, what its
 * streams carry in up_leg.c, its deadlines are in up_deadline.c, the growth of its windows is in
 * up_window.c.
 */
#include "proxy/hop/private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

static void conn_opened(void *owner);
static void conn_received(void *owner, struct chunk *chunk, size_t offset, size_t length);
static void conn_fill(void *owner, struct net_out *out);
static void conn_ended(void *owner, enum net_end end, const char *text);

static const struct net_conn_ops conn_ops = {
    .opened = conn_opened,
    .received = conn_received,
    .fill = conn_fill,
    .ended = conn_ended,
};

/* ---- life ---- */

struct h2_settings up_settings(const struct conf_origin *o, bool push)
{
	struct h2_settings s = h2_settings_initial;
	s.enable_push = push;
	s.max_concurrent_streams = o->max_concurrent_pushes;
	s.initial_window_size = o->stream_window_bytes;
	s.max_header_list_size = o->max_header_list_bytes;
	s.no_rfc7540_priorities = 1; /* none are sent: the priority field says it (RFC 9218 2.1) */
	return s;
}

/* The transport is open: the time for SETTINGS begins. */
static void begin_http2(struct up *u)
{
	const struct conf_origin *o = u->pool->origin;
	struct h2_settings s = up_settings(o, u->pool->push);
	struct h2_limits limits = up_limits(o);
	const struct h2_env env = {
	    .chunks = u->hop->env.chunks,
	    .heads = u->hop->heads,
	    .budget = &u->budget,
	    .seed = u->hop->env.seed,
	    .fault = complain_count_origin,
	    .fault_context = u->hop,
	};
	u->h2 = h2_new(H2_CLIENT, &s, &limits, &env, u->hop->relay.now);
	u->is_open = true;
	u->started = u->quiet_since = u->hop->relay.now;
}

static struct net_conn *connect_to(struct up *u)
{
	struct pool *p = u->pool;
	const struct conf_origin *o = p->origin;
	struct net_loop *loop = u->hop->env.loop;
	if (o->kind == CONF_ORIGIN_DEMO) {
		int fd = u->hop->env.demo_connect
			     ? u->hop->env.demo_connect(u->hop->env.demo_context)
			     : -1;
		return fd < 0 ? NULL : net_conn_new(loop, fd, NULL, &conn_ops, u);
	}
	const struct net_address *to = &o->addresses[p->next_address % o->address_count];
	return net_connect(loop, to, p->tls, o->tls_name ? o->tls_name : o->host, &conn_ops, u);
}

static void bury(struct corpse *corpse)
{
	struct up *u = container_of(corpse, struct up, corpse);
	h2_free(u->h2);
	budget_give(&u->hop->budget, connection_bytes(u->pool->tls));
	budget_fini(&u->budget);
	free(u);
}

void up_open(struct pool *p)
{
	struct hop *hop = p->hop;
	struct up *u = memory_new(struct up);
	u->hop = hop;
	u->pool = p;
	u->started = u->quiet_since = hop->relay.now;
	up_window_init(&u->window, p->origin);
	budget_init(&u->budget, &hop->budget, hop->env.conf->server.connection_memory_bytes);
	budget_force(&hop->budget, connection_bytes(p->tls));
	list_init(&u->legs);
	u->corpse.bury = bury;
	list_init(&u->corpse.link);
	wheel_node_init(&u->timer, up_expired);
	pool_joined(p, u);
	u->net = connect_to(u);
	if (u->net)
		net_conn_set_budget(u->net, &u->budget);
	HOP_COUNT(hop, upstream_connections, 1);
	hop->env.observe->counters->upstream_connections_open++;
	if (p->origin->kind == CONF_ORIGIN_DEMO && u->net) { /* a socketpair is open at once */
		begin_http2(u);
		net_conn_dirty(u->net);
	}
	up_arm(u);
}

void up_retire(struct up *u)
{
	if (u->is_closing)
		return;
	u->is_closing = true;
	pool_left(u->pool, u->is_ready);
}

static void up_dispose(struct up *u)
{
	ensure(list_is_empty(&u->legs) && !u->is_gone);
	up_retire(u);
	u->is_gone = true;
	u->net = NULL;
	wheel_forget(&u->hop->relay.wheel, &u->timer);
	list_remove(&u->link);
	list_append(&u->hop->dead, &u->corpse.link);
	u->hop->env.observe->counters->upstream_connections_open--;
	hop_nudge(u->hop);
}

void up_end_exchanges(
    struct up *u, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	/* a retry may land on this very list's successor: take what there is now */
	struct list legs;
	list_init(&legs);
	list_splice(&legs, &u->legs);
	while (!list_is_empty(&legs)) {
		struct leg *leg = list_first(&legs, struct leg, link);
		struct exchange *x = leg->exchange;
		/* Nothing at all came back on a connection that had been idle: the origin has
		 * closed it at the same moment. What is safe to repeat is repeated (RFC 9110
		 * 9.2.2). */
		bool was_stale = cause == &relay_cause_UP_LOST && u->requests > 1 && code == 0 &&
				 http_method_is_safe(x->method) && x->upload.forwarded == 0 &&
				 x->response.answered_by == ANSWERED_BY_NOBODY &&
				 x->response.interims == 0;
		up_leg_cut(leg);
		exchange_on_up_failed(
		    x, was_stale ? &relay_cause_UP_UNPROCESSED : cause, code, detail);
	}
}

void up_lost(struct up *u, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	struct pool *p = u->pool;
	bool was_ready = u->is_ready;
	up_retire(u);
	up_end_exchanges(u, cause, code, detail);
	if (u->net)
		net_conn_abort(u->net);
	up_dispose(u);
	if (!was_ready)
		pool_failed(p, cause, detail);
	else
		pool_serve(p);
}

void up_terminate(struct up *u, enum h2_code code, struct slice why)
{
	h2_terminate(u->h2, code, why);
	up_retire(u);
	up_end_exchanges(u, &relay_cause_UP_LOST, code, "terminated");
	net_conn_dirty(u->net);
}

void up_kill(struct up *u, const struct relay_cause *cause)
{
	up_retire(u);
	up_end_exchanges(u, cause, 0, NULL);
	if (u->net)
		net_conn_abort(u->net);
	up_dispose(u);
}

/* ---- input ---- */

static void conn_opened(void *owner)
{
	struct up *u = owner;
	hop_now(u->hop);
	begin_http2(u);
	if (net_conn_is_tls(u->net) && !slice_equal(net_conn_alpn(u->net), SLICE("h2"))) {
		complain_of_up(u, "does not speak h2 over TLS (no ALPN agreement)", NULL);
		up_lost(u, &relay_cause_UP_TLS, 0, "the origin does not speak h2");
		return;
	}
	net_conn_dirty(u->net);
	up_arm(u);
}

static void conn_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct up *u = owner;
	usec now = hop_now(u->hop);
	bool is_open = true;
	while (length > 0 && is_open) {
		size_t n = h2_receive(u->h2, chunk, offset, length, now);
		offset += n;
		length -= n;
		up_take_events(u);
		is_open = u->net != NULL;
	}
	if (is_open) {
		if (!list_is_empty(&u->pool->queue))
			pool_serve(u->pool); /* streams that ended have made room */
		net_conn_dirty(u->net);
	}
	pressure_check(u->hop);
}

/* ---- output ---- */

static void conn_fill(void *owner, struct net_out *out)
{
	struct up *u = owner;
	struct pool *p = u->pool;
	hop_now(u->hop);
	if (!list_is_empty(&p->queue)) /* streams that we have reset have made room */
		pool_serve(p);
	out_fill(u->h2, out);
	up_take_events(u);
	if (!list_is_empty(&p->queue)) /* and so have uploads that have ended */
		pool_serve(p);
	bool is_over = (u->is_closing && list_is_empty(&u->legs)) || h2_is_done(u->h2);
	if (u->net && is_over && !h2_wants_write(u->h2) && !h2_has_failed(u->h2)) {
		/* Whoever closes says so, also after the peer's own GOAWAY (RFC 9113 6.8). */
		h2_terminate(u->h2, H2_NO_ERROR, (struct slice){0});
		out_fill(u->h2, out);
	}
	if (u->net && is_over && !h2_wants_write(u->h2)) {
		up_end_exchanges(u, &relay_cause_UP_LOST, 0, NULL);
		net_conn_close(u->net);
		up_dispose(u);
		if (!list_is_empty(&p->queue))
			pool_serve(p);
	}
}

/* RFC 9209 2.3.13 to 2.3.15. */
static const struct relay_cause *cause_of_tls(const struct up *u, enum net_end end)
{
	if (u->is_open)
		return &relay_cause_UP_LOST;
	if (end == NET_END_CERTIFICATE)
		return &relay_cause_UP_CERTIFICATE;
	return end == NET_END_ALERT ? &relay_cause_UP_ALERT : &relay_cause_UP_TLS;
}

static void conn_ended(void *owner, enum net_end end, const char *text)
{
	struct up *u = owner;
	hop_now(u->hop);
	switch (end) {
	case NET_END_CONNECT:
	case NET_END_NO_ROUTE:
		complain_of_up(u, "cannot connect", text);
		HOP_COUNT(u->hop, upstream_failed, 1);
		up_lost(u,
		    end == NET_END_CONNECT ? &relay_cause_UP_UNREACHABLE
					   : &relay_cause_UP_UNROUTABLE,
		    0, text);
		return;
	case NET_END_TLS:
	case NET_END_CERTIFICATE:
	case NET_END_ALERT:
		complain_of_up(u, "TLS failed", text);
		HOP_COUNT(u->hop, upstream_failed, 1);
		up_lost(u, cause_of_tls(u, end), 0, text);
		return;
	case NET_END_ERROR:
		if (!list_is_empty(&u->legs))
			complain_of_up(u, "connection lost", text);
		break;
	case NET_END_EOF:
		if (!list_is_empty(&u->legs))
			complain_of_up(
			    u, "closed the connection in the middle of a response", NULL);
		break;
	}
	/* Before its SETTINGS no request was sent on it. */
	up_lost(u, u->is_ready ? &relay_cause_UP_LOST : &relay_cause_UP_UNPROCESSED, 0, text);
}
