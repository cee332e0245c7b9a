/* SPDX-License-Identifier: MIT */
/*
 * One check of a server: a connection of its own, which carries one GET, or nothing. The response's head decides;
 * then the connection is closed.
 */
#include "proxy/upstream/health_check.h"

#include "proxy/base/memory.h"

struct health_probe {
	struct upstream *upstream;
	struct health_target *target;    /* NULL: its result is not wanted any more */
	struct net_conn *net;            /* NULL: closed */
	const struct session_plan *plan; /* borrows: of the destination */
	struct session *session;         /* NULL until connected */
	struct budget budget;
	size_t charged_bytes;
	struct wheel_node timer; /* health-timeout, also for the end of the connection */
	struct deferred_free deferred;
	bool is_sent;
	bool has_result;
};

static void free_probe(struct deferred_free *deferred)
{
	struct health_probe *p = container_of(deferred, struct health_probe, deferred);
	session_free(p->session);
	budget_give(&p->upstream->env->budget, p->charged_bytes);
	budget_fini(&p->budget);
	free(p);
}

/* The connection is closed already. */
static void dispose(struct health_probe *p)
{
	struct health_target *t = p->target;
	p->net = NULL;
	p->target = NULL;
	wheel_forget(worker_wheel(p->upstream->env), &p->timer);
	worker_free_later(p->upstream->env, &p->deferred, free_probe);
	if (t)
		health_target_free(t);
}

void health_probe_abort(struct health_probe *p)
{
	if (p->net)
		net_conn_abort(p->net);
	dispose(p);
}

static void report(struct health_probe *p, unsigned result)
{
	if (p->has_result)
		return;
	p->has_result = true;
	health_target_done(p->target, result);
}

/* The result is known while the connection still works: it ends in good order. */
static void finish(struct health_probe *p, unsigned result)
{
	if (p->has_result)
		return;
	report(p, result);
	if (!p->session) {
		net_conn_close(p->net);
		dispose(p);
		return;
	}
	session_terminate(p->session, SESSION_NO_ERROR, (struct slice){0});
	net_conn_dirty(p->net);
}

/* ---- the request ---- */

static struct slice authority_of(const struct server *s, struct arena *arena)
{
	const struct conf_origin *o = s->destination->origin.conf;
	const char *host = s->at.conf->tls_name; /* without the labels of an SRV record */
	unsigned port = net_address_port(s->at.address);
	if (o->check.host)
		return slice_of_string(o->check.host);
	if (o->host_override)
		return slice_of_string(o->host_override);
	if (!host)
		return SLICE("localhost"); /* a unix socket */
	bool is_ipv6 = strchr(host, ':') != NULL;
	bool is_default = port == (o->kind == CONF_ORIGIN_TLS ? 443 : 80);
	struct slice name = is_ipv6 ? arena_printf(arena, "[%s]", host) : slice_of_string(host);
	return is_default ? name : arena_printf(arena, "%.*s:%u", SLICE_ARG(name), port);
}

static bool send_request(struct health_probe *p)
{
	const struct server *s = p->target->server;
	const struct conf_origin *o = s->destination->origin.conf;
	struct http_head *head = http_head_new(p->upstream->env->heads);
	head->kind = HTTP_REQUEST;
	head->method = SLICE("GET");
	head->method_token = HTTP_METHOD_GET;
	head->scheme = o->kind == CONF_ORIGIN_TLS ? SLICE("https") : SLICE("http");
	head->authority = authority_of(s, &head->arena);
	head->path = slice_of_string(o->check.path);
	http_head_add_token(head, HTTP_TOKEN_USER_AGENT, SLICE("pushgate-health"));
	http_head_add_token(head, HTTP_TOKEN_ACCEPT, SLICE("*/*"));
	bool is_sent = session_request_fits(p->session, head, true) == SESSION_FITS &&
		       session_request(p->session, head, true, p);
	http_head_free(head);
	return is_sent;
}

/* ---- events ---- */

/* True: the connection is closed. */
static bool handle_event(struct health_probe *p, struct session_event *e)
{
	switch (e->kind) {
	case SESSION_EVENT_READY:
		if (p->is_sent || p->has_result)
			break;
		p->is_sent = true;
		if (!send_request(p))
			finish(p, SERVER_CHECK_LOST);
		break;
	case SESSION_EVENT_HEAD:
		if (!p->has_result && !http_head_is_interim(e->head))
			finish(p, e->head->status);
		http_head_free(e->head);
		break;
	case SESSION_EVENT_TRAILERS:
	case SESSION_EVENT_PROMISE:
		http_head_free(e->head);
		break;
	case SESSION_EVENT_RESET:
	case SESSION_EVENT_FAILED:
		finish(p, SERVER_CHECK_LOST);
		break;
	case SESSION_EVENT_DATA:
	case SESSION_EVENT_REFUSED:
	case SESSION_EVENT_CLOSED:
	case SESSION_EVENT_GOAWAY:
	case SESSION_EVENT_PONG:
		break;
	}
	return p->net == NULL;
}

/* False: the connection is closed. */
static bool handle_events(struct health_probe *p)
{
	struct session_event e;
	while (session_next_event(p->session, &e))
		if (handle_event(p, &e))
			return false;
	net_conn_dirty(p->net);
	return true;
}

/* ---- the connection ---- */

static void probe_opened(void *owner)
{
	struct health_probe *p = owner;
	struct upstream *u = p->upstream;
	const struct destination *d = p->target->server->destination;
	worker_now(u->env);
	const struct session_plan *plan =
	    net_conn_is_tls(p->net) ? protocols_by_alpn(d->origin.plans[0], net_conn_alpn(p->net))
				    : d->origin.plans[0];
	if (!plan) {
		finish(p, SERVER_CHECK_TLS);
		return;
	}
	if (d->origin.conf->check.kind == CONF_CHECK_CONNECT) {
		finish(p, SERVER_CHECK_CONNECTED);
		return;
	}
	const struct session_conn conn = {.budget = &p->budget};
	p->session = protocols_begin(plan, &u->origins.session_env, &conn, u->env->relay->now);
	(void)handle_events(p); /* some sessions are ready at once */
}

static void probe_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct health_probe *p = owner;
	usec now = worker_now(p->upstream->env);
	/* Nothing is credited: what does not fit into the first window is not wanted. */
	while (length > 0 && !p->has_result) {
		size_t n = session_receive(p->session, chunk, offset, length, now);
		offset += n;
		length -= n;
		if (!handle_events(p))
			return;
	}
	if (p->has_result)
		net_conn_dirty(p->net);
}

static void probe_fill(void *owner, struct net_out *out)
{
	struct health_probe *p = owner;
	worker_now(p->upstream->env);
	if (!p->session)
		return;
	protocols_fill(p->session, out);
	if (!handle_events(p) || !p->has_result || session_wants_write(p->session))
		return;
	net_conn_close(p->net);
	dispose(p);
}

static void probe_ended(void *owner, enum net_end end, const char *text)
{
	struct health_probe *p = owner;
	(void)text;
	worker_now(p->upstream->env);
	report(p, net_end_is_connect(end) ? SERVER_CHECK_REFUSED
		  : net_end_is_tls(end)   ? SERVER_CHECK_TLS
					  : SERVER_CHECK_LOST);
	health_probe_abort(p);
}

static const struct net_conn_ops probe_ops = {
    .opened = probe_opened,
    .received = probe_received,
    .fill = probe_fill,
    .ended = probe_ended,
};

static void probe_expired(struct wheel_node *timer, usec now)
{
	struct health_probe *p = container_of(timer, struct health_probe, timer);
	(void)now;
	report(p, SERVER_CHECK_LATE);
	health_probe_abort(p);
}

/* A check speaks for no client. */
static void send_header(const struct health_probe *p, enum peer_version version)
{
	uint8_t bytes[PEER_WRITTEN_BYTES];
	const struct peer_header local = {.is_local = true};
	if (version != PEER_VERSION_NONE)
		net_conn_send_first(p->net, bytes, peer_header_write(version, &local, bytes));
}

bool health_probe_begin(struct health_target *t)
{
	struct server *s = t->server;
	const struct destination *d = s->destination;
	struct upstream *u = d->upstream;
	const struct conf_origin *o = d->origin.conf;
	size_t bytes = connection_bytes(d->origin.tls);
	if (!budget_take(&u->env->budget, bytes))
		return false;
	struct health_probe *p = memory_new(struct health_probe);
	p->upstream = u;
	p->target = t;
	p->charged_bytes = bytes;
	budget_init(&p->budget, &u->env->budget, u->env->conf->server.connection_memory_bytes);
	wheel_node_init(&p->timer, probe_expired);
	wheel_set(worker_wheel(u->env), &p->timer, u->env->relay->now + o->check.timeout);
	t->probe = p;
	p->net = net_connect_from(u->env->loop, &o->source, s->at.address, d->origin.tls,
	    o->tls_name ? o->tls_name : s->at.conf->tls_name, &probe_ops, p);
	send_header(p, o->send_proxy);
	net_conn_set_budget(p->net, &p->budget);
	return true;
}
