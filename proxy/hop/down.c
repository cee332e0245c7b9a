/* SPDX-License-Identifier: MIT */
/*
 * A client's connection: its transport and its engine. What its engine tells is in down_events.c,
 * what its streams carry in down_leg.c, its deadlines are in down_deadline.c; what becomes of a
 * request is in request.c.
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

static void bury(struct corpse *corpse)
{
	struct down *d = container_of(corpse, struct down, corpse);
	if (d->h2)
		h2_free(d->h2);
	memory_fini(d);
	d->hop->pressure.closing_bytes -= d->closing_bytes;
	budget_give(&d->hop->budget, connection_bytes(d->listener->tls));
	budget_fini(&d->hold_budget);
	budget_fini(&d->budget);
	free(d);
}

/* Room for another connection: NULL, or what is in the way. */
static const char *make_room(struct listener *l, const struct address *from, struct client **client)
{
	if (l->connections >= l->conf->max_connections)
		return "connection refused (max-connections)";
	if (!clients_enter(l, from, client)) {
		HOP_COUNT(l->hop, connections_refused_client, 1);
		return "connection refused (max-connections-per-client)";
	}
	if (budget_take(&l->hop->budget, connection_bytes(l->tls)))
		return NULL;
	clients_leave(l, *client);
	return "connection refused (memory)";
}

void down_accept(struct listener *l, int fd, const struct net_address *peer)
{
	struct hop *hop = l->hop;
	usec now = hop_now(hop);
	struct address from;
	struct client *client;
	net_address_ip(peer, &from);
	const char *refusal = make_room(l, &from, &client);
	if (refusal) {
		HOP_COUNT(hop, connections_refused, 1);
		complain_of_client(l, &from, refusal, NULL);
		net_refuse(hop->env.loop, fd);
		return;
	}
	struct down *d = memory_new(struct down);
	d->hop = hop;
	d->listener = l;
	d->opened = now;
	list_init(&d->idle);
	down_is_quiet(d);
	d->client = from;
	d->counted = client;
	size_t allowance = hop->env.conf->server.connection_memory_bytes;
	budget_init(&d->budget, &hop->budget, allowance);
	budget_init(&d->hold_budget, &hop->hold_budget, allowance);
	hold_store_init(
	    &d->held, &hop->hold, &d->hold_budget, &hop->hold_limits, !l->conf->clients_shared);
	memory_init(d);
	list_init(&d->legs);
	list_init(&d->waiting);
	d->corpse.bury = bury;
	list_init(&d->corpse.link);
	wheel_node_init(&d->timer, down_expired);
	list_append(&hop->downs, &d->link);
	l->connections++;
	HOP_COUNT(hop, connections, 1);
	HOP_COUNT(hop, connections_open, 1);
	d->is_open = l->tls == NULL;
	d->net = net_conn_new(hop->env.loop, fd, l->tls, &conn_ops, d);
	net_conn_set_budget(d->net, &d->budget);
	down_arm(d);
}

static void down_dispose(struct down *d)
{
	ensure(list_is_empty(&d->legs) && list_is_empty(&d->waiting));
	hold_store_fini(&d->held);
	d->net = NULL;
	wheel_forget(&d->hop->relay.wheel, &d->timer);
	list_remove(&d->link);
	list_remove(&d->idle);
	list_append(&d->hop->dead, &d->corpse.link);
	d->listener->connections--;
	clients_leave(d->listener, d->counted);
	hop_nudge(d->hop);
	d->hop->env.observe->counters->connections_open--;
}

/* The transport is left to its own end; everything else of it dies with this loop pass. */
static void down_close(struct down *d)
{
	if (!d->net)
		return;
	net_conn_close(d->net);
	down_dispose(d);
}

void down_end_exchanges(
    struct down *d, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	while (!list_is_empty(&d->legs)) {
		struct leg *leg = list_first(&d->legs, struct leg, link);
		down_leg_cut(leg);
		exchange_on_down_ended(leg->exchange, cause, code, detail);
	}
}

void down_abort(struct down *d, const char *detail)
{
	if (!d->net)
		return;
	down_end_exchanges(d, &relay_cause_DOWN_LOST, RELAY_CANCEL, detail);
	net_conn_abort(d->net);
	down_dispose(d);
}

/* GOAWAY says which requests were not looked at: the client may send them once more elsewhere. */
void down_shed(struct down *d, const char *why)
{
	struct hop *hop = d->hop;
	complain_of_down(d, why, NULL);
	list_remove(&d->idle);
	d->closing_bytes = connection_bytes(d->listener->tls) + d->budget.used_bytes;
	hop->pressure.closing_bytes += d->closing_bytes;
	if (!d->h2 || net_conn_is_blocked(d->net)) {
		down_abort(d, "memory-short");
		return;
	}
	d->is_closing = true;
	h2_terminate(d->h2, H2_NO_ERROR, SLICE("memory-short"));
	net_conn_dirty(d->net);
}

void down_shutdown(struct down *d)
{
	if (!d->net)
		return;
	if (!d->h2) {
		down_close(d);
		return;
	}
	h2_shutdown(d->h2, hop_now(d->hop));
	net_conn_dirty(d->net);
	down_arm(d);
}

/* ---- the beginning ---- */

static struct h2_settings local_settings(const struct conf_listen *c)
{
	struct h2_settings s = h2_settings_initial;
	s.header_table_size = c->header_table_bytes;
	s.max_concurrent_streams = c->max_concurrent_streams;
	s.initial_window_size = c->stream_window_bytes;
	s.max_header_list_size = c->max_header_list_bytes;
	s.no_rfc7540_priorities = 1;
	return s;
}

static void begin_http2(struct down *d)
{
	const struct conf_listen *c = d->listener->conf;
	struct h2_settings settings = local_settings(c);
	const struct h2_env env = {
	    .chunks = d->hop->env.chunks,
	    .heads = d->hop->heads,
	    .budget = &d->budget,
	    .seed = d->hop->env.seed,
	    .fault = complain_count_client,
	    .fault_context = d->hop,
	};
	d->h2 = h2_new(H2_SERVER, &settings, &d->listener->limits, &env, hop_now(d->hop));
}

static void conn_opened(void *owner)
{
	struct down *d = owner;
	d->is_open = true;
	d->opened = hop_now(d->hop);
	down_is_quiet(d);
	if (net_conn_alpn(d->net).len > 0) { /* h2 was agreed: our SETTINGS need not wait */
		begin_http2(d);
		net_conn_dirty(d->net);
	}
	down_arm(d);
}

static void refuse_protocol(struct down *d, const char *what)
{
	HOP_COUNT(d->hop, not_http2, 1);
	complain_of_down(d, what, NULL);
	d->is_closing = true;
	net_conn_dirty(d->net);
}

/* In cleartext the first bytes tell HTTP/2 from all else; over TLS nothing but ALPN does (RFC 9113
 * 3.3). True once the engine has taken over. */
static bool sniff(struct down *d, struct chunk *chunk, size_t offset, size_t length)
{
	if (d->listener->tls) {
		refuse_protocol(d, "did not agree on HTTP/2 by ALPN, answered 505");
		return false;
	}
	for (size_t i = 0; i < length && d->sniffed_len < H2_PREFACE_LEN; i++) {
		uint8_t byte = chunk->data[offset + i];
		if (byte != (uint8_t)H2_PREFACE[d->sniffed_len]) {
			refuse_protocol(d, "spoke something other than HTTP/2, answered 505");
			return false;
		}
		d->sniffed_len++;
	}
	if (d->sniffed_len < H2_PREFACE_LEN)
		return false;
	begin_http2(d);
	return true;
}

static const char http11_answer[] = "HTTP/1.1 505 HTTP Version Not Supported\r\n"
				    "content-type: text/plain\r\n"
				    "content-length: 29\r\n"
				    "connection: close\r\n\r\n"
				    "This endpoint speaks HTTP/2.\n";

/* ---- input ---- */

static void conn_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct down *d = owner;
	usec now = hop_now(d->hop);
	if (d->is_closing && !d->h2)
		return;
	if (!d->h2) {
		uint8_t had = d->sniffed_len;
		if (!sniff(d, chunk, offset, length))
			return;
		/* what came before is gone from the chunk: the engine wants it too */
		if (had > 0) {
			struct chunk *copy = chunk_acquire(d->hop->env.chunks);
			if (!copy) {
				HOP_COUNT(d->hop, connections_refused, 1);
				down_abort(d, NULL);
				return;
			}
			memcpy(copy->data, H2_PREFACE, had);
			h2_receive(d->h2, copy, 0, had, now);
			chunk_release(copy);
		}
	}
	while (length > 0 && d->net) {
		size_t n = h2_receive(d->h2, chunk, offset, length, now);
		offset += n;
		length -= n;
		down_take_events(d);
	}
	if (d->net) {
		net_conn_dirty(d->net);
		down_arm_sooner(d);
	}
	pressure_check(d->hop);
}

/* ---- output ---- */

static void conn_fill(void *owner, struct net_out *out)
{
	struct down *d = owner;
	hop_now(d->hop);
	if (!d->h2) {
		if (d->is_closing) {
			net_out_copy(out, http11_answer, sizeof(http11_answer) - 1);
			down_close(d);
		}
		return;
	}
	out_fill(d->h2, out);
	down_take_events(d);
	if (!d->net || h2_wants_write(d->h2))
		return;
	if (d->is_closing || h2_is_done(d->h2)) {
		down_end_exchanges(d, &relay_cause_DOWN_LOST, 0, NULL);
		down_close(d);
	}
}

static void conn_ended(void *owner, enum net_end end, const char *text)
{
	struct down *d = owner;
	hop_now(d->hop);
	if (net_end_is_tls(end)) {
		HOP_COUNT(d->hop, tls_failed, 1);
		complain_of_down(d, d->is_open ? "TLS failed" : "TLS handshake failed", text);
	}
	down_abort(d, NULL);
}
