/* SPDX-License-Identifier: MIT */
/*
 * A client's connection: its transport and its session. The session's events are in
 * client_conn_events.c, its streams in client_leg.c, its deadlines in client_deadline.c.
 */
#include "proxy/client/client_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

static const struct net_conn_ops conn_ops;

/* ---- life ---- */

static void free_conn(struct deferred_free *deferred)
{
	struct client_conn *c = container_of(deferred, struct client_conn, deferred);
	session_free(c->session);
	client_diary_fini(c);
	client_auth_close(c);
	c->clients->closing_bytes -= c->closing_bytes;
	budget_give(&c->clients->env->budget, connection_bytes(c->listener->tls));
	budget_fini(&c->hold_budget);
	budget_fini(&c->budget);
	peer_ends_release(c->ends);
	free(c);
}

static struct client_conn *conn_new(struct client_listener *l)
{
	struct clients *clients = l->clients;
	struct worker_env *env = clients->env;
	struct client_conn *c = memory_new(struct client_conn);
	c->leaves_at = USEC_NEVER;
	size_t allowance = env->conf->server.connection_memory_bytes;
	c->clients = clients;
	c->listener = l;
	c->hop.connection = ++clients->last_id;
	c->opened = env->relay->now;
	c->half_closed = USEC_NEVER;
	list_init(&c->idle);
	list_init(&c->legs);
	list_init(&c->waiting);
	wheel_node_init(&c->timer, client_conn_expired);
	budget_init(&c->budget, &env->budget, allowance);
	budget_init(&c->hold_budget, clients->hold_budget, allowance);
	hold_store_init(&c->held, clients->hold, &c->hold_budget, &clients->hold_limits,
	    !l->conf->clients_shared);
	c->held.is_secluded = !conf_listen_shares(l->conf);
	client_diary_init(c);
	list_append(&clients->conns, &c->link);
	client_conn_is_quiet(c);
	return c;
}

struct client_conn *client_conn_new(struct client_listener *l, int fd,
    const struct client_peer *peer, struct client_address *counted)
{
	struct worker_env *env = l->clients->env;
	struct client_conn *c = conn_new(l);
	c->ends = peer->ends;
	c->address = peer->address;
	c->port = peer->port;
	c->counted = counted;
	l->connections++;
	WORKER_COUNT(env, connections, 1);
	WORKER_COUNT(env, connections_open, 1);
	c->is_open = l->tls == NULL;
	c->net = net_conn_new(env->loop, fd, l->tls, &conn_ops, c);
	net_conn_set_budget(c->net, &c->budget);
	net_conn_keepalive(c->net, l->conf->keepalive, l->conf->write_timeout);
	client_conn_arm(c);
	return c;
}

static void dispose(struct client_conn *c)
{
	struct worker_env *env = c->clients->env;
	ensure(list_is_empty(&c->legs) && list_is_empty(&c->waiting));
	hold_store_fini(&c->held);
	c->net = NULL;
	wheel_forget(worker_wheel(env), &c->timer);
	list_remove(&c->link);
	list_remove(&c->idle);
	worker_free_later(env, &c->deferred, free_conn);
	c->listener->connections--;
	client_address_detach(c->listener, c->counted);
	worker_schedule_drain_check(env);
	env->observe->counters->connections_open--;
	worker_count_session(env, OBSERVE_CLIENT, c->hop.protocol, -1);
}

/* The transport ends by itself; everything else of the connection dies with this loop pass. */
static void close_conn(struct client_conn *c)
{
	if (!c->net)
		return;
	net_conn_close(c->net);
	dispose(c);
}

static void end_exchanges(struct client_conn *c,
    void (*end)(struct exchange *, const struct relay_cause *, uint32_t, const char *),
    const struct relay_cause *cause, uint32_t code, const char *detail)
{
	while (!list_is_empty(&c->legs)) {
		struct leg *leg = list_first(&c->legs, struct leg, link);
		client_leg_cut(leg);
		end(leg->exchange, cause, code, detail);
	}
}

void client_conn_end_exchanges(
    struct client_conn *c, const struct relay_cause *cause, uint32_t code, const char *detail)
{
	end_exchanges(c, exchange_on_down_ended, cause, code, detail);
}

/* Without close_notify; nor with a FIN, where that would make a response look complete. */
static void cut_transport(struct client_conn *c)
{
	if (c->session && session_must_abort(c->session))
		net_conn_reset(c->net);
	else
		net_conn_abort(c->net);
	dispose(c);
}

static void terminate(struct client_conn *c)
{
	if (list_is_empty(&c->legs))
		return;
	ensure(c->session);
	session_terminate(c->session, SESSION_CANCEL, SLICE(""));
}

void client_conn_abort(struct client_conn *c, const char *detail)
{
	if (!c->net)
		return;
	terminate(c);
	client_conn_end_exchanges(c, &relay_cause_DOWN_LOST, SESSION_CANCEL, detail);
	cut_transport(c);
}

void client_conn_closed(struct client_conn *c)
{
	if (!c->net)
		return;
	terminate(c);
	end_exchanges(c, exchange_on_client_closed, &relay_cause_DOWN_LOST, SESSION_CANCEL, NULL);
	cut_transport(c);
}

void client_conn_leave(struct client_conn *c)
{
	c->is_leaving = false;
	c->leaves_at = USEC_NEVER;
	if (!c->session) {
		close_conn(c);
		return;
	}
	session_shutdown(c->session, worker_now(c->clients->env));
	net_conn_dirty(c->net);
	client_conn_arm(c);
}

/* ---- memory is short ---- */

/* GOAWAY names the last stream that was processed: the client may retry later requests on another connection. */
static void shed(struct client_conn *c, const char *why)
{
	WORKER_COUNT(c->clients->env, shed_connections, 1);
	client_log_fault(c, why, NULL);
	list_remove(&c->idle);
	c->closing_bytes = connection_bytes(c->listener->tls) + c->budget.used_bytes;
	c->clients->closing_bytes += c->closing_bytes;
	if (!c->session || net_conn_is_blocked(c->net)) {
		client_conn_abort(c, "memory-short");
		return;
	}
	c->is_closing = true;
	session_terminate(c->session, SESSION_NO_ERROR, SLICE("memory-short"));
	net_conn_dirty(c->net);
}

bool clients_shed_idle(struct clients *clients, usec since)
{
	struct client_conn *c = list_first(&clients->idle, struct client_conn, idle);
	if (!c || c->quiet_since > since)
		return false;
	shed(c, "closed while idle: memory is short");
	return true;
}

bool client_shed_unread(struct exchange *x, size_t bytes, usec since)
{
	struct client_conn *c = client_conn_of(x);
	if (!c || session_peer(c->session).unsent_bytes < bytes ||
	    !client_conn_is_blocked(c, since))
		return false;
	shed(c, "does not read: memory is short");
	return true;
}

/* ---- the beginning ---- */

static void begin_session(struct client_conn *c, const struct session_plan *plan)
{
	const struct session_conn conn = {
	    .budget = &c->budget,
	    .traced = client_is_traced(c) ? c : NULL,
	    .is_tls = c->listener->tls != NULL || (c->ends && c->ends->is_https),
	};
	struct clients *clients = c->clients;
	c->session = protocols_begin(plan, &clients->session_env, &conn, worker_now(clients->env));
	c->hop.protocol = session_name(c->session);
	worker_count_session(clients->env, OBSERVE_CLIENT, c->hop.protocol, 1);
	c->tls = net_conn_tls_version(c->net);
	c->hop.cipher = net_conn_tls_cipher(c->net);
	c->hop.alpn = net_conn_alpn(c->net).len > 0 ? c->hop.protocol : "";
	if (c->is_leaving && session_can(c->session, SESSION_MULTIPLEXES))
		client_conn_leave(c);
}

static void conn_opened(void *owner)
{
	struct client_conn *c = owner;
	struct worker_env *env = c->clients->env;
	usec now = worker_now(env);
	series_count(&env->observe->series, SERIES_TLS,
	    conf_listen_number(env->conf, c->listener->conf), 0, now - c->opened);
	c->is_open = true;
	c->opened = now;
	if (c->listener->conf->client_auth && !client_auth_open(c))
		return;
	client_conn_is_quiet(c);
	const struct slice alpn = net_conn_alpn(c->net);
	if (slice_equal(alpn, SLICE(NET_CHALLENGE_ALPN))) { /* RFC 8737 3: the handshake was all */
		close_conn(c);
		return;
	}
	const struct session_plan *plan = protocols_by_alpn(c->listener->plans, alpn);
	if (plan) { /* send our first frames without waiting for the client's */
		begin_session(c, plan);
		net_conn_dirty(c->net);
	}
	client_conn_arm(c);
}

/* In cleartext the first bytes of the connection identify HTTP/2; over TLS only ALPN does (RFC 9113
 * 3.3). Returns true once the connection has its session. */
static bool identify_protocol(struct client_conn *c, const uint8_t *bytes, size_t n)
{
	bool more;
	if (c->listener->tls) {
		client_refuse_protocol(c, "agreed on no protocol by ALPN, answered 505");
		return false;
	}
	while (n > 0 && c->first_count < PROTOCOLS_MATCH_BYTES) {
		c->first_bytes[c->first_count++] = *bytes++;
		n--;
	}
	const struct session_plan *plan =
	    protocols_match(c->listener->plans, c->first_bytes, c->first_count, &more);
	if (plan)
		begin_session(c, plan);
	else if (!more)
		client_refuse_protocol(
		    c, "its first bytes begin no protocol spoken here, answered 505");
	return plan != NULL;
}

/* ---- input ---- */

/* Each request may take long: those behind it wait if the loop pass has no time left. */
static void receive(struct client_conn *c, struct chunk *chunk, size_t offset, size_t length)
{
	usec now = c->clients->env->relay->now;
	while (length > 0 && c->net) {
		size_t n = session_receive(c->session, chunk, offset, length, now);
		offset += n;
		length -= n;
		client_conn_handle_events(c);
		if (length > 0 && c->net && net_conn_postpone(c->net, chunk, offset, length))
			return;
	}
}

/* The bytes that identified the protocol arrived in earlier reads, and their chunks are released:
 * gives the session a copy. Returns false, with the connection aborted, when no chunk is free. */
static bool replay_first_bytes(struct client_conn *c, size_t n)
{
	struct worker_env *env = c->clients->env;
	struct chunk *copy = chunk_acquire(env->chunks);
	if (!copy) {
		WORKER_COUNT(env, connections_refused_memory, 1);
		client_conn_abort(c, NULL);
		return false;
	}
	memcpy(copy->data, c->first_bytes, n);
	receive(c, copy, 0, n); /* they cause no event, so none of them is postponed */
	chunk_release(copy);
	return true;
}

static void conn_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct client_conn *c = owner;
	struct worker_env *env = c->clients->env;
	usec now = worker_now(env);
	if (!c->session) {
		size_t had = c->first_count;
		if (c->is_closing || !identify_protocol(c, chunk->data + offset, length))
			return;
		if (had > 0 && !replay_first_bytes(c, had))
			return;
	}
	peer_silence_heard(&c->silence, now); /* in the place of the first bytes */
	receive(c, chunk, offset, length);
	if (c->net) {
		net_conn_dirty(c->net);
		client_conn_arm_sooner(c);
	}
	worker_check_memory(env);
}

/* ---- output ---- */

/* Its last bytes have left, or are in this fill. */
static void end_session(struct client_conn *c)
{
	if (session_must_abort(c->session))
		cut_transport(c);
	else
		close_conn(c);
}

static void conn_fill(void *owner, struct net_out *out)
{
	struct client_conn *c = owner;
	worker_now(c->clients->env);
	if (!c->session) {
		if (c->is_closing) {
			char text[PROTOCOLS_REFUSAL_BYTES];
			net_out_copy(
			    out, text, protocols_refusal(c->listener->plans, text, sizeof(text)));
			close_conn(c);
		}
		return;
	}
	bool has_sent = protocols_fill(c->session, out);
	client_conn_handle_events(c);
	if (c->net && client_conn_is_half_closed(c))
		client_half_closed_filled(c, has_sent);
	if (!c->net || session_wants_write(c->session))
		return;
	if (session_has_finished(c->session) && !session_is_done(c->session)) {
		net_conn_finish(c->net);
		c->is_finished = true;
		return;
	}
	/* The end of a session waits until its last bytes have left: a closed connection has less
	 * time for them than write-timeout. */
	if (c->is_closing || (session_is_done(c->session) && !has_sent)) {
		client_conn_end_exchanges(c, &relay_cause_DOWN_LOST, 0, NULL);
		end_session(c);
	}
}

/* Answers that are not complete, or have not left. */
static bool is_owed_anything(const struct client_conn *c)
{
	return !list_is_empty(&c->legs) ||
	       (c->session && (net_conn_is_blocked(c->net) || session_wants_write(c->session)));
}

static void conn_ended(void *owner, enum net_end end, const char *text)
{
	struct client_conn *c = owner;
	worker_now(c->clients->env);
	if (net_end_is_tls(end)) {
		WORKER_COUNT(c->clients->env, tls_failed, 1);
		client_log_fault(c, c->is_open ? "TLS failed" : "TLS handshake failed", text);
	}
	bool is_half_closed = end == NET_END_EOF && !c->is_closing;
	if (is_half_closed && c->session) {
		session_ended(c->session, true);
		client_conn_handle_events(c);
	}
	if (is_half_closed && is_owed_anything(c))
		client_half_close(c);
	else if (end == NET_END_EOF || end == NET_END_TRUNCATED)
		client_conn_closed(c);
	else
		client_conn_abort(c, NULL);
}

/* Starts the client's write-timeout. */
static void conn_blocked(void *owner)
{
	struct client_conn *c = owner;
	worker_now(c->clients->env);
	client_conn_arm_sooner(c);
}

static const struct net_conn_ops conn_ops = {
    .opened = conn_opened,
    .received = conn_received,
    .fill = conn_fill,
    .ended = conn_ended,
    .blocked = conn_blocked,
};
