/* SPDX-License-Identifier: MIT */
/*
 * The demo origin: a small HTTP/2 server in the worker's own loop, reached over socketpairs. It
 * lets pushgate show pushes without another server; it is a demonstration, not a web server.
 * demo_stream.c makes its responses.
 */
#include "proxy/base/memory.h"
#include "proxy/h2/h2.h"
#include "proxy/tool/demo_stream.h"
#include "proxy/tool/tool.h"
#include <unistd.h>

#define HEADS_KEPT 32
#define CONNECTION_MEMORY_BYTES (16u << 20)

struct demo_origin {
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct h2_config config;
	struct session_env env;
	struct list conns;
	struct net_timer reaper; /* frees connections that ended inside a callback of their own */
};

/* ---- events ---- */

static void on_data(struct demo_conn *c, const struct session_event *e)
{
	struct demo_stream *s = e->user;
	if (!s || !s->body.is_echo) {
		session_credit(c->wire.session, e->stream, e->piece.length);
		return;
	}
	/* Credit the bytes only after they have been echoed, so that the client's window bounds them. */
	if (e->piece.length > 0)
		demo_body_append(&s->body, piece_slice(e->piece));
	s->is_complete = e->end;
	demo_stream_offer(s);
}

static void on_trailers(const struct session_event *e)
{
	struct demo_stream *s = e->user;
	if (!s || !s->body.is_echo)
		return;
	s->is_complete = true;
	demo_stream_offer(s);
}

static void end_conn(void *owner)
{
	struct demo_conn *c = owner;
	if (c->is_over)
		return;
	c->is_over = true;
	link_close(&c->wire);
	net_timer_set(&c->origin->reaper, net_now(c->origin->loop));
}

static void on_event(void *owner, struct session_event *e)
{
	struct demo_conn *c = owner;
	switch (e->kind) {
	case SESSION_EVENT_HEAD:
		demo_stream_answer(demo_stream_new(c, e->stream), e);
		break;
	case SESSION_EVENT_DATA:
		on_data(c, e);
		break;
	case SESSION_EVENT_TRAILERS:
		on_trailers(e);
		break;
	case SESSION_EVENT_RESET:
	case SESSION_EVENT_CLOSED:
		if (e->user)
			demo_stream_free(e->user);
		demo_start_pushes(c);
		break;
	case SESSION_EVENT_READY:
		demo_start_pushes(c);
		break;
	case SESSION_EVENT_GOAWAY:
		session_shutdown(c->wire.session, net_now(c->origin->loop));
		break;
	case SESSION_EVENT_REFUSED:
	case SESSION_EVENT_PROMISE:
	case SESSION_EVENT_PONG:
	case SESSION_EVENT_FAILED:
		break;
	}
	http_head_free(e->head);
}

static void on_payload(void *owner, struct net_out *out, const struct session_output *part)
{
	struct demo_conn *c = owner;
	struct demo_stream *s = part->stream->user;
	demo_body_send(&s->body, out, part->length);
	if (s->body.is_echo && !part->end)
		session_credit(c->wire.session, part->stream, part->length);
}

static void on_ended(void *owner, enum net_end end, const char *text)
{
	(void)end, (void)text;
	end_conn(owner);
}

static const struct link_ops conn_link_ops = {on_event, on_payload, end_conn, on_ended};

/* ---- life ---- */

static const struct net_conn_ops conn_net_ops = {
    .received = link_received,
    .fill = link_fill,
    .ended = link_ended,
};

static void conn_free(struct demo_conn *c)
{
	list_for_each(&c->streams, s, struct demo_stream, link) demo_stream_free(s);
	link_fini(&c->wire);
	budget_fini(&c->budget);
	list_remove(&c->link);
	free(c);
}

static void reap(void *context)
{
	struct demo_origin *d = context;
	list_for_each(&d->conns, c, struct demo_conn, link) if (c->is_over) conn_free(c);
}

struct demo_origin *demo_origin_new(struct net_loop *l, struct chunk_pool *chunks, uint64_t seed)
{
	struct demo_origin *d = memory_new(struct demo_origin);
	d->loop = l;
	d->chunks = chunks;
	d->heads = http_head_pool_new(HEADS_KEPT);
	d->env = (struct session_env){.heads = d->heads, .seed = seed};
	d->config = (struct h2_config){H2_SERVER, h2_settings_initial, h2_limits_default};
	d->config.settings.max_concurrent_streams = 100;
	list_init(&d->conns);
	net_timer_init(&d->reaper, l, reap, d);
	return d;
}

int demo_origin_connect(void *demo, const struct conf_origin_server *server)
{
	struct demo_origin *d = demo;
	int fds[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0)
		return -1;
	struct demo_conn *c = memory_new(struct demo_conn);
	c->origin = d;
	c->heads = d->heads;
	c->think = server->demo_think;
	c->rtt = server->demo_rtt;
	list_init(&c->streams);
	list_append(&d->conns, &c->link);
	budget_init(&c->budget, NULL, CONNECTION_MEMORY_BYTES);
	link_init(&c->wire, d->loop, &conn_link_ops, c);
	c->wire.net = net_conn_new(d->loop, fds[1], NULL, &conn_net_ops, &c->wire);
	const struct session_conn conn = {.budget = &c->budget};
	link_start(&c->wire, h2_new(&d->config, &d->env, &conn, net_now(d->loop)));
	return fds[0];
}

void demo_origin_free(struct demo_origin *d)
{
	if (!d)
		return;
	list_for_each(&d->conns, c, struct demo_conn, link) conn_free(c);
	net_timer_fini(&d->reaper);
	http_head_pool_free(d->heads);
	free(d);
}
