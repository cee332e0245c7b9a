/* SPDX-License-Identifier: MIT */
/* Clients and origins around one gateway; see gateway_world.h. */
#include "tests/support/gateway_world.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "tests/support/head_names.h"
#include "tests/support/net_sys.h"

#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

static void on_opened(void *owner);
static void on_received(void *owner, struct chunk *chunk, size_t offset, size_t length);
static void on_fill(void *owner, struct net_out *out);
static void on_ended(void *owner, enum net_end end, const char *text);
static const struct net_conn_ops ops = {
    .opened = on_opened,
    .received = on_received,
    .fill = on_fill,
    .ended = on_ended,
};

/* ---- peers ---- */

struct h2_settings gate_peer_settings(const struct gate_peer_options *o, bool is_client)
{
	struct h2_settings s = h2_settings_initial;
	if (o->max_streams)
		s.max_concurrent_streams = o->max_streams == UINT32_MAX ? 0 : o->max_streams;
	if (o->window)
		s.initial_window_size = o->window == UINT32_MAX ? 0 : o->window;
	if (is_client)
		s.enable_push = !o->no_push;
	else
		s.enable_connect_protocol = o->takes_tunnels;
	return s;
}

static struct gate_peer *peer_new(
    struct gate_world *w, struct gate_site *site, const struct gate_peer_options *o)
{
	struct gate_peer *p = memory_new(struct gate_peer);
	p->world = w;
	p->site = site;
	if (o)
		p->options = *o;
	p->enable_push = 1;
	budget_init(&p->budget, &w->budget, 1u << 30);
	p->config = (struct h2_config){site ? H2_SERVER : H2_CLIENT,
	    gate_peer_settings(&p->options, !site), h2_limits_default};
	p->env = (struct session_env){.heads = w->heads, .seed = 7};
	const struct session_conn conn = {.budget = &p->budget};
	p->h2 = h2_new(&p->config, &p->env, &conn, net_now(w->loop));
	return p;
}

static void peer_free(struct gate_peer *p)
{
	if (!p)
		return;
	if (p->net)
		net_conn_abort(p->net);
	session_free(p->h2);
	for (size_t i = 0; i < p->stream_count; i++) {
		http_head_free(p->streams[i]->head);
		free(p->streams[i]);
	}
	budget_fini(&p->budget);
	free(p);
}

static void dirty(struct gate_peer *p)
{
	if (p->net && !p->options.is_silent)
		net_conn_dirty(p->net);
}

void gate_peer_abort(struct gate_peer *p)
{
	if (p->net)
		net_conn_abort(p->net);
	p->net = NULL;
	p->ended = true;
}

static struct gate_stream *stream_new(struct gate_peer *p, struct session_stream *handle)
{
	ensure(p->stream_count < GATE_PEER_STREAMS);
	struct gate_stream *s = memory_new(struct gate_stream);
	s->peer = p;
	s->handle = handle;
	p->streams[p->stream_count++] = s;
	return s;
}

static void attach(struct gate_stream *s, struct session_stream *handle)
{
	s->handle = handle;
	s->id = h2_stream_id(handle);
	session_set_user(handle, s);
}

static void keep(char *to, size_t size, struct slice text)
{
	snprintf(to, size, "%.*s", SLICE_ARG(text));
}

static void name(struct gate_stream *s, const struct http_head *head)
{
	keep(s->method, sizeof(s->method), head->method);
	keep(s->scheme, sizeof(s->scheme), head->scheme);
	keep(s->authority, sizeof(s->authority), head->authority);
	keep(s->path, sizeof(s->path), head->path);
	for (uint32_t i = 0; i < head->count; i++)
		if (head->fields[i].token == HTTP_TOKEN_VIA)
			keep(s->via, sizeof(s->via), head->fields[i].value);
}

static void keep_head(struct gate_stream *s, struct http_head *head)
{
	http_head_free(s->head);
	s->head = head;
}

static void begun(struct gate_peer *p)
{
	if (++p->open_now > p->open_most)
		p->open_most = p->open_now;
}

static void over(struct gate_stream *s)
{
	s->handle = NULL;
	if (s->is_over)
		return;
	s->is_over = true;
	bool counts = s->peer->site ? s->parent == NULL : s->parent != NULL && s->status != 0;
	if (counts)
		s->peer->open_now--;
}

static void on_head(struct gate_peer *p, struct session_event *e)
{
	struct gate_stream *s = e->user;
	if (p->site) {
		s = stream_new(p, NULL);
		attach(s, e->stream);
		name(s, e->head);
		begun(p);
		s->ended = e->end;
		keep_head(s, e->head);
		if (p->site->serve)
			p->site->serve(s);
		return;
	} else if (s && http_head_is_interim(e->head)) {
		s->interims++;
		keep_head(s, e->head);
		return;
	} else if (s) {
		if (s->parent)
			begun(p);
		s->status = e->head->status;
		s->ended = e->end;
		const struct http_field *f = http_head_find_name(e->head, SLICE("proxy-status"));
		if (f)
			keep(s->status_error, sizeof(s->status_error), f->value);
		keep_head(s, e->head);
		return;
	}
	http_head_free(e->head);
}

static void on_data(struct gate_peer *p, struct session_event *e)
{
	struct gate_stream *s = e->user;
	if (s) {
		struct slice bytes = piece_slice(e->piece);
		for (size_t i = 0; i < bytes.len && s->received + i < sizeof(s->text) - 1; i++)
			s->text[s->received + i] = (uint8_t)bytes.ptr[i];
		s->received += bytes.len;
		s->ended = s->ended || e->end;
	}
	if (!p->options.keeps_credit)
		session_credit(p->h2, e->stream, e->piece.length);
	else if (s)
		s->unread += e->piece.length;
}

static void on_promised(struct gate_peer *p, struct session_event *e)
{
	if (e->promised) {
		struct gate_stream *s = stream_new(p, NULL);
		attach(s, e->promised);
		s->parent = e->user;
		name(s, e->head);
		keep_head(s, e->head);
		return;
	}
	http_head_free(e->head);
}

static void on_event(struct gate_peer *p, struct session_event *e)
{
	struct gate_stream *s = e->user;
	switch (e->kind) {
	case SESSION_EVENT_READY:
		if (p->settings_came++ == 0)
			p->enable_push = h2_peer_settings(p->h2)->enable_push;
		break;
	case SESSION_EVENT_HEAD:
		on_head(p, e);
		break;
	case SESSION_EVENT_DATA:
		on_data(p, e);
		break;
	case SESSION_EVENT_TRAILERS:
		if (s) {
			s->trailers = e->head->count;
			s->ended = true;
		}
		http_head_free(e->head);
		break;
	case SESSION_EVENT_PROMISE:
		on_promised(p, e);
		break;
	case SESSION_EVENT_RESET:
		if (s) {
			s->was_reset = true;
			s->code = e->code;
			s->unprocessed = e->unprocessed;
			over(s);
		}
		break;
	case SESSION_EVENT_CLOSED:
		if (s)
			over(s);
		break;
	case SESSION_EVENT_GOAWAY:
		p->goaway_came = true;
		p->goaway_code = e->code;
		break;
	case SESSION_EVENT_PONG:
	case SESSION_EVENT_REFUSED:
		break;
	case SESSION_EVENT_FAILED:
		p->failed = true;
		break;
	}
}

static void drain(struct gate_peer *p)
{
	struct session_event e;
	while (session_next_event(p->h2, &e))
		on_event(p, &e);
}

static void on_opened(void *owner)
{
	dirty(owner);
}

static void on_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct gate_peer *p = owner;
	while (length > 0) {
		size_t n = session_receive(p->h2, chunk, offset, length, net_now(p->world->loop));
		offset += n;
		length -= n;
		drain(p);
	}
	dirty(p);
}

static void on_fill(void *owner, struct net_out *out)
{
	struct gate_peer *p = owner;
	static const uint8_t zeroes[16384] = {0};
	size_t room;
	while (!p->options.is_silent && (room = net_out_room(out)) > 0) {
		struct session_output part;
		if (!session_next_output(p->h2, 16384, &part))
			break;
		net_out_copy(out, part.before.ptr, part.before.len);
		if (!part.stream)
			continue;
		struct gate_stream *s = part.stream->user;
		net_out_copy(out, zeroes, part.length);
		s->out -= part.length;
	}
	drain(p);
}

static void on_ended(void *owner, enum net_end end, const char *text)
{
	(void)end, (void)text;
	gate_peer_abort(owner);
}

/* ---- commands of the test to a peer ---- */

struct server *gate_server(struct gate_world *w, size_t origin)
{
	struct destination *d = &w->gateway->upstream.destinations[origin];
	return list_first(&d->servers, struct server, link);
}

struct pool *gate_pool(struct gate_world *w, size_t origin, enum pool_kind kind)
{
	return origin_server_pool(&gate_server(w, origin)->at, kind);
}

struct origin_conn *gate_first_conn(struct gate_world *w)
{
	return list_first(&w->gateway->upstream.origins.conns, struct origin_conn, all);
}

struct origin_conn *gate_newest_conn(struct gate_world *w)
{
	struct origin_conn *newest = NULL;
	list_for_each(&w->gateway->upstream.origins.conns, c, struct origin_conn, all)
	{
		if (!newest || c->hop.connection > newest->hop.connection)
			newest = c;
	}
	return newest;
}

const struct net_address *gate_site_address(struct gate_world *w, size_t origin)
{
	return &w->conf->origins[origin].servers[0].address;
}

void gate_set_servers(
    struct gate_world *w, size_t origin, const struct net_address *const *addresses, size_t count)
{
	struct destination *d = &w->gateway->upstream.destinations[origin];
	list_for_each(&d->servers, s, struct server, link) server_leave(s);
	for (size_t i = 0; i < count; i++)
		server_new(d, &d->origin.conf->servers[0], addresses[i], 1);
	destination_changed(d);
}

struct gate_peer *gate_client(struct gate_world *w, const struct gate_peer_options *o)
{
	ensure(w->client_count < GATE_PEERS);
	struct gate_peer *p = peer_new(w, NULL, o);
	p->net = net_connect(w->loop, &w->at, p->options.tls, p->options.server_name, &ops, p);
	w->clients[w->client_count++] = p;
	dirty(p);
	return p;
}

int gate_raw(struct gate_world *w)
{
	int fd = socket(w->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ensure(fd >= 0 && connect(fd, &w->at.any, w->at.length) == 0);
	return fd;
}

static struct http_head *head_of(struct gate_peer *p, va_list list)
{
	struct http_head *head = http_head_new(p->world->heads);
	const char *field;
	while ((field = va_arg(list, const char *)) != NULL)
		http_head_add(
		    head, slice_of_string(field), slice_of_string(va_arg(list, const char *)));
	return head;
}

/* Frees the head. */
static struct gate_stream *ask(struct gate_peer *p, struct http_head *head, bool end)
{
	const char *wrong = http_head_validate(head, HTTP_REQUEST);
	if (wrong)
		fail_msg("%s", wrong);
	struct gate_stream *s = stream_new(p, NULL);
	name(s, head);
	struct session_stream *handle = session_request(p->h2, head, end, s);
	assert_non_null(handle);
	attach(s, handle);
	http_head_free(head);
	dirty(p);
	return s;
}

struct gate_stream *gate_request(
    struct gate_peer *p, const char *method, const char *authority, const char *path, int end, ...)
{
	struct http_head *head = http_head_new(p->world->heads);
	http_head_add(head, SLICE(":method"), slice_of_string(method));
	bool is_connect = strcmp(method, "CONNECT") == 0;
	const char *scheme = p->options.scheme ? p->options.scheme : p->options.tls ? "https" : "http";
	if (!is_connect)
		http_head_add(head, SLICE(":scheme"), slice_of_string(scheme));
	http_head_add(head, SLICE(":authority"), slice_of_string(authority));
	if (!is_connect)
		http_head_add(head, SLICE(":path"), slice_of_string(path));
	va_list list;
	va_start(list, end);
	const char *field;
	while ((field = va_arg(list, const char *)) != NULL)
		http_head_add(
		    head, slice_of_string(field), slice_of_string(va_arg(list, const char *)));
	va_end(list);
	return ask(p, head, end);
}

struct gate_stream *gate_tunnel(struct gate_peer *p, const char *protocol, const char *path)
{
	return gate_tunnel_to(p, protocol, "example.com", path);
}

struct gate_stream *gate_tunnel_to(
    struct gate_peer *p, const char *protocol, const char *authority, const char *path)
{
	struct http_head *head = http_head_new(p->world->heads);
	head->allows_protocol = true;
	http_head_add(head, SLICE(":method"), SLICE("CONNECT"));
	http_head_add(head, SLICE(":protocol"), slice_of_string(protocol));
	http_head_add(head, SLICE(":scheme"), SLICE("http"));
	http_head_add(head, SLICE(":authority"), slice_of_string(authority));
	http_head_add(head, SLICE(":path"), slice_of_string(path));
	return ask(p, head, false);
}

struct gate_stream *gate_connect(struct gate_peer *p, const char *authority)
{
	struct http_head *head = http_head_new(p->world->heads);
	http_head_add(head, SLICE(":method"), SLICE("CONNECT"));
	http_head_add(head, SLICE(":authority"), slice_of_string(authority));
	return ask(p, head, false);
}

struct gate_stream *gate_get(struct gate_peer *p, const char *path)
{
	return gate_request(p, "GET", "example.com", path, true, NULL);
}

struct gate_stream *gate_find_at(struct gate_peer *p, const char *path)
{
	for (size_t i = p->stream_count; i-- > 0;)
		if (strcmp(p->streams[i]->path, path) == 0)
			return p->streams[i];
	return NULL;
}

struct gate_stream *gate_find(struct gate_world *w, const char *path)
{
	for (size_t i = 0; i < GATE_SITES; i++)
		for (size_t j = w->sites[i].peer_count; j-- > 0;) {
			struct gate_stream *s = gate_find_at(w->sites[i].peers[j], path);
			if (s)
				return s;
		}
	return NULL;
}

size_t gate_seen(const struct gate_site *site, const char *path)
{
	size_t n = 0;
	for (size_t i = 0; i < site->peer_count; i++)
		for (size_t j = 0; j < site->peers[i]->stream_count; j++)
			n += strcmp(site->peers[i]->streams[j]->path, path) == 0 &&
			     site->peers[i]->streams[j]->parent == NULL;
	return n;
}

static void respond(struct gate_stream *s, struct http_head *head, bool end)
{
	const char *wrong = http_head_validate(head, HTTP_RESPONSE);
	if (wrong)
		fail_msg("%s", wrong);
	if (s->handle)
		session_respond(s->peer->h2, s->handle, head, end);
	http_head_free(head);
	dirty(s->peer);
}

void gate_answer_fields(struct gate_stream *s, unsigned status, int end, ...)
{
	char text[8];
	va_list list;
	va_start(list, end);
	struct http_head *fields = head_of(s->peer, list),
			 *head = http_head_new(s->peer->world->heads);
	va_end(list);
	snprintf(text, sizeof(text), "%u", status % 1000);
	http_head_add(head, SLICE(":status"), slice_of_string(text));
	for (uint32_t i = 0; i < fields->count; i++)
		http_head_add(head, fields->fields[i].name, fields->fields[i].value);
	respond(s, head, end);
	http_head_free(fields);
}

void gate_answer(struct gate_stream *s, unsigned status, size_t body, bool end)
{
	gate_answer_fields(s, status, body == 0 && end, NULL);
	if (body > 0)
		gate_more(s, body, end);
}

void gate_more(struct gate_stream *s, size_t body, bool end)
{
	s->out += body;
	s->out_end = end;
	if (s->handle)
		session_offer(s->peer->h2, s->handle, s->out, end);
	dirty(s->peer);
}

void gate_trailers(struct gate_stream *s)
{
	struct http_head *head = http_head_new(s->peer->world->heads);
	http_head_add(head, SLICE("x-checksum"), SLICE("1"));
	assert_null(http_head_validate(head, HTTP_TRAILERS));
	if (s->handle)
		session_trailers(s->peer->h2, s->handle, head);
	http_head_free(head);
	dirty(s->peer);
}

void gate_credit(struct gate_stream *s)
{
	if (s->handle && s->unread > 0)
		session_credit(s->peer->h2, s->handle, s->unread);
	s->unread = 0;
	dirty(s->peer);
}

void gate_reset_stream(struct gate_stream *s, uint32_t code)
{
	if (!s->handle)
		return;
	struct session_stream *handle = s->handle;
	over(s);
	session_reset(s->peer->h2, handle, code);
	dirty(s->peer);
}

static struct gate_stream *promise(struct gate_stream *parent, const char *scheme,
    const char *authority, const char *path, const struct http_head *fields)
{
	struct gate_peer *p = parent->peer;
	struct http_head *head = http_head_new(p->world->heads);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), slice_of_string(scheme));
	http_head_add(head, SLICE(":authority"), slice_of_string(authority));
	http_head_add(head, SLICE(":path"), slice_of_string(path));
	for (uint32_t i = 0; fields && i < fields->count; i++)
		http_head_add(head, fields->fields[i].name, fields->fields[i].value);
	assert_null(http_head_validate(head, HTTP_PROMISE));
	struct gate_stream *s = stream_new(p, NULL);
	s->parent = parent;
	name(s, head);
	struct session_stream *handle =
	    parent->handle ? session_promise(p->h2, parent->handle, head, s) : NULL;
	http_head_free(head);
	if (handle)
		attach(s, handle);
	else
		s->is_over = true;
	dirty(p);
	return handle ? s : NULL;
}

struct gate_stream *gate_promise(
    struct gate_stream *parent, const char *scheme, const char *authority, const char *path)
{
	return promise(parent, scheme, authority, path, NULL);
}

struct gate_stream *gate_promise_fields(struct gate_stream *parent, const char *scheme,
    const char *authority, const char *path, ...)
{
	va_list list;
	va_start(list, path);
	struct http_head *fields = head_of(parent->peer, list);
	va_end(list);
	struct gate_stream *s = promise(parent, scheme, authority, path, fields);
	http_head_free(fields);
	return s;
}

void gate_shutdown(struct gate_peer *p)
{
	session_shutdown(p->h2, net_now(p->world->loop));
	dirty(p);
}

void gate_terminate(struct gate_peer *p, enum session_code code)
{
	session_terminate(p->h2, code, SLICE("test"));
	dirty(p);
}

/* ---- sites ---- */

static int listening(uint16_t *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons(*port)};
	socklen_t size = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), one = 1;
	ensure(fd >= 0);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) != 0 || listen(fd, 128) != 0)
		fail_msg("cannot listen");
	ensure(getsockname(fd, (struct sockaddr *)&in, &size) == 0);
	*port = ntohs(in.sin_port);
	return fd;
}

static void site_accepted(void *context, int fd, const struct net_address *from)
{
	struct gate_site *site = context;
	(void)from;
	if (site->adopt) {
		site->adopt(site, fd);
		return;
	}
	ensure(site->peer_count < GATE_PEERS);
	struct gate_peer *p = peer_new(site->world, site, &site->options);
	site->peers[site->peer_count++] = p;
	p->net = net_conn_new(site->world->loop, fd, site->options.tls, &ops, p);
	dirty(p);
}

void gate_site_close(struct gate_site *site)
{
	net_listener_free(site->listener);
	site->listener = NULL;
	if (site->fd >= 0)
		close(site->fd);
	site->fd = -1;
}

void gate_site_open(struct gate_site *site)
{
	site->fd = listening(&site->port);
	site->listener = net_listener_new(site->world->loop, site->fd, site_accepted, NULL, site);
}

/* ---- the world ---- */

static void replace(char *text, size_t size, const char *what, const char *by)
{
	size_t before = strlen(what), now = strlen(by);
	char *at;
	while ((at = strstr(text, what)) != NULL) {
		assert_true(strlen(text) + now < size);
		memmove(at + now, at + before, strlen(at + before) + 1);
		memcpy(at, by, now);
	}
}

static struct conf *configure(struct gate_world *w, const char *server, const char *listen_lines,
    const char *origin, const char *more)
{
	char text[1 << 17], a[64], b[64];
	const char *lines = origin ? origin : "";
	snprintf(a, sizeof(a), "h2c://127.0.0.1:%u", w->sites[0].port);
	snprintf(b, sizeof(b), "h2c://127.0.0.1:%u", w->sites[1].port);
	snprintf(text, sizeof(text),
	    "[server]\n%s\n[listen l]\naddress = 127.0.0.1:1\n%s\n"
	    "[origin a]\nserver = %%A\n%s\n[origin b]\nserver = %%B\n%s\n%s\n",
	    server ? server : "", listen_lines ? listen_lines : "", lines, lines,
	    more ? more : "[route a]\norigin = a\n[route b]\nhost = b.example\norigin = b\n");
	replace(text, sizeof(text), "%A", a);
	replace(text, sizeof(text), "%B", b);
	replace(text, sizeof(text), "%a", a + strlen("h2c://"));
	replace(text, sizeof(text), "%b", b + strlen("h2c://"));
	struct conf *conf = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(conf);
	return conf;
}

static struct health_table *shared_health;
static struct server_orders *shared_orders;

void gate_share_orders(struct server_orders *o)
{
	shared_orders = o;
}

void gate_share_health(struct health_table *t)
{
	shared_health = t;
}

static struct readiness *shared_readiness;

void gate_share_readiness(struct readiness *r)
{
	shared_readiness = r;
}

static const struct waterfall *shared_pages;

void gate_share_pages(const struct waterfall *w)
{
	shared_pages = w;
}

struct gate_world *gate_world_new(
    const char *server, const char *listen_lines, const char *origin, const char *more)
{
	return gate_world_with(NULL, server, listen_lines, origin, more);
}

static bool ask_password(void *context, const struct password_question *q)
{
	struct gate_world *w = context;
	if (w->asks_nobody)
		return false;
	if (w->question_count == sizeof(w->questions) / sizeof(w->questions[0]))
		fail_msg("more questions than the world has room for");
	struct gate_question *asked = &w->questions[w->question_count++];
	*asked = (struct gate_question){.id = q->id, .access = q->access};
	snprintf(asked->name, sizeof(asked->name), "%.*s", SLICE_ARG(q->name));
	snprintf(asked->password, sizeof(asked->password), "%.*s", SLICE_ARG(q->password));
	return true;
}

struct gate_world *gate_world_with(const struct session_protocol *const *protocols,
    const char *server, const char *listen_lines, const char *origin, const char *more)
{
	char error[256];
	struct gate_world *w = memory_new(struct gate_world);
	w->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 16);
	w->heads = http_head_pool_new(16);
	budget_init(&w->budget, NULL, 1u << 30);
	net_sys_reset();
	w->loop = net_loop_new(w->chunks);
	w->observe = (struct observe){.counters = &w->counters, .access_fd = -1, .error_fd = -1};
	for (size_t i = 0; i < GATE_SITES; i++) {
		w->sites[i].world = w;
		gate_site_open(&w->sites[i]);
	}
	w->conf = configure(w, server, listen_lines, origin, more);
	const struct gateway_env env = {
	    .loop = w->loop,
	    .chunks = w->chunks,
	    .conf = w->conf,
	    .observe = &w->observe,
	    .health_table = shared_health,
	    .readiness = shared_readiness,
	    .pages = shared_pages,
	    .server_orders = shared_orders,
	    .via_suffix = 0x12345678,
	    .seed = 42,
	    .protocols = protocols,
	    .ask_password = ask_password,
	    .ask_context = w,
	};
	w->gateway = gateway_new(&env, error, sizeof(error));
	if (!w->gateway)
		fail_msg("%s", error);
	uint16_t port = 0;
	w->fd = listening(&port);
	w->at.in = (struct sockaddr_in){.sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	    .sin_port = htons(port)};
	w->at.length = sizeof(w->at.in);
	gateway_listen(w->gateway, &w->conf->listens[0], w->fd);
	return w;
}

void gate_world_free_gateway(struct gate_world *w)
{
	gateway_free(w->gateway);
	w->gateway = NULL;
	/* All gauges are 0 again. */
	assert_int_equal(w->counters.connections_open, 0);
	assert_int_equal(w->counters.requests_open, 0);
	assert_int_equal(w->counters.pushes_open, 0);
	assert_int_equal(w->counters.upstream_connections_open, 0);
	assert_int_equal(w->counters.pushes_offered,
	    w->counters.pushes_forwarded + w->counters.pushes_dropped + w->counters.pushes_held +
		w->counters.pushes_hinted);
}

void gate_world_free(struct gate_world *w)
{
	if (w->gateway)
		gate_world_free_gateway(w);
	if (w->free_book)
		w->free_book(w);
	for (size_t i = 0; i < w->client_count; i++)
		peer_free(w->clients[i]);
	for (size_t i = 0; i < GATE_SITES; i++) {
		gate_site_close(&w->sites[i]);
		for (size_t j = 0; j < w->sites[i].peer_count; j++)
			peer_free(w->sites[i].peers[j]);
	}
	close(w->fd);
	net_loop_free(w->loop);
	http_head_pool_free(w->heads);
	chunk_pool_free(w->chunks);
	budget_fini(&w->budget);
	conf_free(w->conf);
	free(w);
}

static void on_drained(void *context)
{
	struct gate_world *w = context;
	w->drained++;
}

void gate_world_drain(struct gate_world *w, usec span)
{
	gateway_drain(w->gateway, net_now(w->loop) + span, on_drained, w);
}

void gate_passes(struct gate_world *w)
{
	for (unsigned i = 0; i < 40; i++)
		net_run_once(w->loop, 0);
}
