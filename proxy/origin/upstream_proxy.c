/* SPDX-License-Identifier: MIT */
/*
 * Upstream proxies: connections to them, and what is said to one. Requests for http go to it in absolute-form, and so
 * does a client's CONNECT (RFC 9112 3.2.2, 3.2.3). Everything else is sent through a tunnel, which the proxy is asked
 * for when a connection has opened:
 *
 *   connect ─── TLS with an https:// proxy ─── CONNECT, 2xx ─── TLS with the destination ─── session
 *
 * The CONNECT is a request on a session of its own, which ends with the answer. Nothing may follow that: no server
 * speaks before its client does, in TLS or HTTP/1.1.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"
#include "proxy/http/via.h"

/* ---- the connection ---- */

static const char *name_of(const struct origin_conn *c)
{
	const struct conf_origin *o = c->pool->conf;
	const struct origin_server *s = c->pool->server;
	return o->tls_name && !s->origin->speaks_to_proxy ? o->tls_name : s->conf->tls_name;
}

/* Before TLS: the origin reads it first. */
static void send_header(const struct origin_conn *c, struct net_conn *net)
{
	uint8_t bytes[PEER_WRITTEN_BYTES];
	enum peer_version version = c->pool->conf->send_proxy;
	if (version != PEER_VERSION_NONE)
		net_conn_send_first(
		    net, bytes, peer_header_write(version, &c->owner->client, bytes));
}

struct net_conn *origin_conn_connect(struct origin_conn *c)
{
	const struct net_conn_ops *ops = &origin_conn_ops;
	struct pool *p = c->pool;
	struct origins *u = c->origins;
	struct net_loop *loop = u->env->loop;
	const struct origin_server *server = p->server;
	const struct origin *d = server->origin;
	if (p->conf->kind == CONF_ORIGIN_DEMO) {
		int fd = u->demo_connect ? u->demo_connect(u->demo_context, server->conf) : -1;
		return fd < 0 ? NULL : net_conn_new(loop, fd, NULL, ops, c);
	}
	c->offers_http1_alone = pool_offers_http1_alone(p);
	c->asks_proxy = d->tunnel_to != NULL;
	if (c->asks_proxy)
		return net_connect_from(loop, &p->conf->source, server->address, d->proxy_tls,
		    p->conf->proxy->server->tls_name, ops, c);
	struct net_conn *net =
	    net_connect_from(loop, &p->conf->source, server->address, p->tls, name_of(c), ops, c);
	send_header(c, net);
	if (c->offers_http1_alone)
		net_conn_set_alpn(net, protocols_http1.alpn);
	return net;
}

size_t origin_conn_bytes(const struct pool *p)
{
	bool has_outer = p->server->origin->proxy_tls != NULL;
	return connection_bytes(p->tls) +
	       (has_outer ? connection_bytes(true) - connection_bytes(false) : 0);
}

/* ---- its answers ---- */

static const struct relay_cause *cause_of(unsigned status)
{
	return status == 407 ? &relay_cause_UP_PROXY_USER : &relay_cause_UP_PROXY_REFUSED;
}

/* For the log. */
static const char *tell_status(
    const struct origin_conn *c, unsigned status, char text[ORIGIN_TEXT_BYTES])
{
	char what[64];
	snprintf(what, sizeof(what), "the upstream proxy answered %u", status);
	const char *detail = origin_conn_say(c, what, text);
	origin_log_fault(c, "upstream proxy refused", detail);
	return detail;
}

bool upstream_proxy_refused(
    struct origin_conn *c, struct leg *leg, struct http_head *head, bool end)
{
	struct exchange *x = leg->exchange;
	bool opens_none = x->tunnel.is_asked && !head->opens_tunnel;
	if (http_head_is_interim(head) || (head->status != 407 && !opens_none))
		return false;
	char text[ORIGIN_TEXT_BYTES];
	unsigned status = head->status;
	http_head_free(head);
	leg->ops->discard(leg, end);
	exchange_on_up_failed(x, cause_of(status), 0, tell_status(c, status, text));
	return true;
}

/* ---- the dialogue before a session ---- */

static void fail(struct origin_conn *c, const struct relay_cause *cause, const char *detail)
{
	WORKER_COUNT(c->origins->env, upstream_failed, 1);
	origin_conn_lost(c, cause, 0, detail);
}

void upstream_proxy_failed(struct origin_conn *c, const char *what)
{
	char text[ORIGIN_TEXT_BYTES];
	const char *detail = origin_conn_say(c, what, text);
	origin_log_fault(c, "upstream proxy answered wrongly", detail);
	fail(c, &relay_cause_UP_PROXY_ANSWER, detail);
}

static void ask(struct origin_conn *c)
{
	const struct origins *u = c->origins;
	struct http_head *head = http_head_new(u->env->heads);
	head->kind = HTTP_REQUEST;
	head->method = SLICE("CONNECT");
	head->method_token = HTTP_METHOD_CONNECT;
	head->version = HTTP_VERSION_1_1;
	head->authority = slice_of_string(c->pool->server->origin->tunnel_to);
	http_via_add(head, &u->routes->via);
	upstream_proxy_authorize(c, head);
	bool is_sent = session_request(c->dialogue, head, false, NULL) != NULL;
	http_head_free(head);
	ensure(is_sent);
	net_conn_dirty(c->net);
}

enum answer { ANSWER_MORE, ANSWER_TUNNEL, ANSWER_OTHER };

static const char *what_is_wrong(const struct session_event *e)
{
	if (e->kind == SESSION_EVENT_DATA)
		return "bytes follow the answer that opens the tunnel";
	if (e->kind == SESSION_EVENT_RESET || e->kind == SESSION_EVENT_FAILED)
		return e->fault ? e->fault->text : "it broke off";
	return NULL;
}

/* status: of ANSWER_OTHER; 0: it was no answer, and *what is wrong with it. */
static enum answer read_answer(struct origin_conn *c, unsigned *status, const char **what)
{
	struct session_event e;
	enum answer answer = ANSWER_MORE;
	while (session_next_event(c->dialogue, &e)) {
		bool is_final = e.kind == SESSION_EVENT_HEAD && !http_head_is_interim(e.head);
		if (e.kind == SESSION_EVENT_READY) {
			ask(c);
		} else if (is_final && answer == ANSWER_MORE) {
			answer = e.head->opens_tunnel ? ANSWER_TUNNEL : ANSWER_OTHER;
			*status = e.head->status;
		} else if (answer != ANSWER_OTHER && what_is_wrong(&e)) {
			*what = what_is_wrong(&e);
			*status = 0;
			answer = ANSWER_OTHER;
		}
		if (e.kind == SESSION_EVENT_HEAD || e.kind == SESSION_EVENT_TRAILERS)
			http_head_free(e.head);
	}
	return answer;
}

static void tunnel_is_open(struct origin_conn *c)
{
	const struct pool *p = c->pool;
	session_free(c->dialogue);
	c->dialogue = NULL;
	c->asks_proxy = false;
	if (c->origins->env->relay->unread_since != USEC_NEVER)
		net_conn_pause_reading(c->net, NET_PAUSE_MEMORY);
	if (!p->tls) {
		origin_conn_opened(c);
		return;
	}
	if (c->offers_http1_alone)
		net_conn_set_alpn(c->net, protocols_http1.alpn);
	net_conn_start_tls(c->net, p->tls, name_of(c));
}

static void handle_answer(struct origin_conn *c)
{
	unsigned status = 0;
	const char *what = NULL;
	char text[ORIGIN_TEXT_BYTES];
	switch (read_answer(c, &status, &what)) {
	case ANSWER_MORE:
		return;
	case ANSWER_TUNNEL:
		/* uncovered: a socket takes so few bytes at once */
		if (net_conn_is_blocked(c->net))
			upstream_proxy_failed(c, "it answered before it had read the request");
		else
			tunnel_is_open(c);
		return;
	case ANSWER_OTHER:
		if (status == 0)
			upstream_proxy_failed(c, what);
		else
			fail(c, cause_of(status), tell_status(c, status, text));
		return;
	}
}

void upstream_proxy_opened(struct origin_conn *c)
{
	const struct session_conn conn = {.budget = &c->budget};
	const struct session_plan *plan = protocols_by_alpn(c->pool->plans, SLICE("http/1.1"));
	ensure(plan != NULL);
	c->dialogue = protocols_begin(
	    plan, &c->origins->session_env, &conn, relay_origin_clock(c->origins->env->relay));
	handle_answer(c);
}

void upstream_proxy_received(
    struct origin_conn *c, struct chunk *chunk, size_t offset, size_t length)
{
	usec now = relay_origin_clock(c->origins->env->relay);
	while (length > 0) {
		size_t n = session_receive(c->dialogue, chunk, offset, length, now);
		offset += n;
		length -= n;
		handle_answer(c);
		if (!c->net || !c->dialogue)
			return;
	}
}
