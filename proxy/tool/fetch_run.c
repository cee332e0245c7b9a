/* SPDX-License-Identifier: MIT */
/*
 * The client behind `pushgate fetch`: connects (each address in turn), sends one request, takes
 * what is pushed with it, and ends when all of it has come. A promise is accepted only for the very
 * origin that was asked (RFC 9113 8.4).
 */
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"
#include "proxy/tool/fetch.h"
#include "proxy/tool/link.h"
#include <errno.h>
#include <stdarg.h>

#define ADDRESSES_MAX 8
#define CHUNKS_KEPT 64
#define HEADS_KEPT 8
#define MEMORY_BYTES (64u << 20)
#define STREAM_WINDOW_BYTES (1u << 20)
#define CONNECTION_WINDOW_BYTES (16u << 20)
#define PUSHES_MAX 1000u
#define LAST_WORDS_USEC (200 * USEC_PER_MSEC)

struct fetch {
	const struct fetch_request *request;
	struct fetch_result *result;
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct net_tls *tls; /* NULL for http */
	struct link wire;
	struct net_timer limit; /* --max-time */
	struct net_address addresses[ADDRESSES_MAX];
	size_t address_count, next_address;
	usec started, sent;
	struct slice unsent;      /* of the request's body */
	struct h2_stream *stream; /* the request's, while it is alive */
	size_t open;              /* items under way */
	FILE *output;             /* NULL = discard */
	bool is_over;
};

/* ---- ends ---- */

__attribute__((format(printf, 3, 4))) static void fail(
    struct fetch *f, int status, const char *format, ...)
{
	if (f->result->exit_status != FETCH_OK)
		return; /* the first reason is the one to tell */
	f->result->exit_status = status;
	va_list args;
	va_start(args, format);
	vsnprintf(f->result->error, sizeof(f->result->error), format, args);
	va_end(args);
}

static void finish(struct fetch *f)
{
	if (f->is_over)
		return;
	f->is_over = true;
	net_stop(f->loop);
}

static usec since_sent(const struct fetch *f)
{
	/* Never 0, which means that it has not happened. */
	usec at = net_now(f->loop) - f->sent;
	return at ? at : 1;
}

static void check_finished(struct fetch *f)
{
	if (f->open == 0)
		finish(f);
}

/* ---- items ---- */

/* What a peer sends may not steer the terminal. */
static char *printable(struct slice s)
{
	char *copy = memory_alloc(s.len + 1);
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		copy[i] = c >= 0x20 && c < 0x7f ? (char)c : '?';
	}
	copy[s.len] = '\0';
	return copy;
}

static struct fetch_item *add_item(struct fetch *f, uint32_t id, struct slice path)
{
	struct fetch_result *result = f->result;
	result->items = memory_resize(result->items, result->count + 1, sizeof(*result->items));
	struct fetch_item *i = &result->items[result->count++];
	*i = (struct fetch_item){.id = id, .path = printable(path)};
	return i;
}

static struct fetch_item *item_of(struct fetch *f, uint32_t id)
{
	for (size_t i = 0; i < f->result->count; i++)
		if (f->result->items[i].id == id)
			return &f->result->items[i];
	return NULL;
}

static void end_item(struct fetch *f, struct fetch_item *i, enum fetch_state state, const char *why)
{
	i->state = state;
	i->why = why;
	i->end = since_sent(f);
	f->open--;
}

/* ---- the request ---- */

static struct http_head *make_head(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	struct http_head *head = http_head_new(f->heads);
	head->kind = HTTP_REQUEST;
	head->method = slice_of_string(r->method);
	head->method_token = (uint16_t)http_method_find(head->method);
	head->scheme = r->is_https ? SLICE("https") : SLICE("http");
	head->authority = r->authority;
	head->path = r->path;
	bool has_agent = false, has_accept = false;
	for (size_t i = 0; i < r->header_count; i++) {
		const struct fetch_header *h = &r->headers[i];
		http_head_add(head, h->name, h->value);
		has_agent |= slice_equal(h->name, SLICE("user-agent"));
		has_accept |= slice_equal(h->name, SLICE("accept"));
	}
	if (!has_agent)
		http_head_add_token(
		    head, HTTP_TOKEN_USER_AGENT, SLICE("pushgate-fetch/" PUSHGATE_VERSION));
	if (!has_accept)
		http_head_add_token(head, HTTP_TOKEN_ACCEPT, SLICE("*/*"));
	if (r->has_body)
		http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH,
		    arena_printf(&head->arena, "%zu", r->body.len));
	return head;
}

static void send_request(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	struct http_head *head = make_head(f);
	bool has_body = r->has_body && r->body.len > 0;
	f->sent = net_now(f->loop);
	f->stream = h2_request(f->wire.h2, head, !has_body, NULL);
	http_head_free(head);
	if (!f->stream) {
		fail(f, FETCH_PROTOCOL, "the request cannot be sent: it is too large");
		finish(f);
		return;
	}
	add_item(f, h2_stream_id(f->stream), r->path);
	f->open++;
	f->unsent = r->body;
	if (has_body)
		h2_offer(f->wire.h2, f->stream, r->body.len, true);
	link_wake(&f->wire);
}

static void on_payload(void *owner, struct net_out *out, const struct h2_turn *turn)
{
	struct fetch *f = owner;
	net_out_copy(out, f->unsent.ptr, turn->length);
	f->unsent = slice_from(f->unsent, turn->length);
}

/* ---- events ---- */

static const char *why_refuse(struct fetch *f, const struct http_head *promised)
{
	const struct fetch_request *r = f->request;
	struct slice scheme = r->is_https ? SLICE("https") : SLICE("http");
	struct http_authority asked, got;
	if (!slice_equal_nocase(promised->scheme, scheme))
		return "another scheme";
	if (!http_authority_parse(r->authority, scheme, &asked) ||
	    !http_authority_parse(promised->authority, scheme, &got) ||
	    !http_authority_equal(&asked, &got))
		return "another origin";
	if (f->result->count > PUSHES_MAX)
		return "too many";
	return NULL;
}

static void on_promise(struct fetch *f, struct h2_event *e)
{
	if (!e->promised) {
		struct fetch_item *i = add_item(f, e->last_id, SLICE("?"));
		f->open++;
		i->promised = since_sent(f);
		end_item(f, i, FETCH_REFUSED, e->fault ? e->fault->name : NULL);
		return;
	}
	struct fetch_item *i = add_item(f, h2_stream_id(e->promised), e->head->path);
	i->promised = since_sent(f);
	f->open++;
	const char *why = why_refuse(f, e->head);
	if (!why)
		return;
	h2_reset(f->wire.h2, e->promised, H2_PROTOCOL_ERROR);
	end_item(f, i, FETCH_REFUSED, why);
}

static void on_interim(struct fetch *f, struct fetch_item *i, const struct http_head *head)
{
	if (i->interim_count == FETCH_INTERIMS_MAX)
		return;
	const struct http_field *link = http_head_find(head, HTTP_TOKEN_LINK);
	i->interims[i->interim_count].status = head->status;
	i->interims[i->interim_count].at = since_sent(f);
	i->interims[i->interim_count].link = link ? printable(link->value) : NULL;
	i->interim_count++;
}

static void on_head(struct fetch *f, struct fetch_item *i, const struct h2_event *e)
{
	if (http_head_is_interim(e->head)) {
		on_interim(f, i, e->head);
		return;
	}
	i->status = e->head->status;
	i->first_byte = since_sent(f);
	i->state = FETCH_RECEIVING;
	if (e->end)
		end_item(f, i, FETCH_COMPLETE, NULL);
}

static void on_data(struct fetch *f, struct fetch_item *i, const struct h2_event *e)
{
	struct slice data = piece_slice(e->piece);
	i->bytes += data.len;
	bool is_main = i == &f->result->items[0];
	if (is_main && f->output && data.len > 0 &&
	    fwrite(data.ptr, 1, data.len, f->output) != data.len) {
		fail(f, FETCH_WRITE, "cannot write %s: %s", f->request->output, strerror(errno));
		finish(f);
		return;
	}
	if (e->end)
		end_item(f, i, FETCH_COMPLETE, NULL);
	else
		h2_credit(f->wire.h2, e->stream, e->piece.length);
}

static bool is_under_way(const struct fetch_item *i)
{
	return i->state == FETCH_PROMISED || i->state == FETCH_RECEIVING;
}

static void on_reset(struct fetch *f, struct fetch_item *i, const struct h2_event *e)
{
	if (is_under_way(i))
		end_item(f, i, FETCH_RESET, e->fault ? e->fault->name : h2_code_name(e->code));
	if (i == &f->result->items[0]) {
		f->stream = NULL;
		if (e->fault)
			fail(f, FETCH_PROTOCOL, "the response is malformed: %s (%s)",
			    e->fault->text, e->fault->section);
		else if (i->state == FETCH_RESET)
			fail(f, FETCH_PROTOCOL, "the server reset the request: %s%s",
			    h2_code_name(e->code), e->unprocessed ? " (it was not processed)" : "");
	}
}

static void on_goaway(struct fetch *f, const struct h2_event *e)
{
	if (e->code == H2_NO_ERROR)
		return;
	char *debug = printable(e->debug);
	fail(f, FETCH_PROTOCOL, "the server ends the connection: GOAWAY %s%s%s",
	    h2_code_name(e->code), debug[0] ? ", " : "", debug);
	free(debug);
}

static void lose_all(struct fetch *f)
{
	for (size_t i = 0; i < f->result->count; i++)
		if (is_under_way(&f->result->items[i]))
			end_item(f, &f->result->items[i], FETCH_LOST, NULL);
}

static void on_failed(struct fetch *f, const struct h2_event *e)
{
	if (e->fault)
		fail(f, FETCH_PROTOCOL, "the server broke the protocol: %s (%s)", e->fault->text,
		    e->fault->section);
	else if (e->code)
		fail(f, FETCH_PROTOCOL, "the connection ended with %s", h2_code_name(e->code));
	else
		fail(f, FETCH_PROTOCOL, "the server closed the connection");
	lose_all(f);
}

static void on_stream_event(struct fetch *f, struct h2_event *e)
{
	struct fetch_item *i = e->stream ? item_of(f, h2_stream_id(e->stream)) : NULL;
	if (!i)
		return;
	if (e->kind == H2_EVENT_HEAD)
		on_head(f, i, e);
	else if (e->kind == H2_EVENT_DATA)
		on_data(f, i, e);
	else if (e->kind == H2_EVENT_TRAILERS)
		end_item(f, i, FETCH_COMPLETE, NULL);
	else
		on_reset(f, i, e);
}

static void on_event(void *owner, struct h2_event *e)
{
	struct fetch *f = owner;
	switch (e->kind) {
	case H2_EVENT_HEAD:
	case H2_EVENT_DATA:
	case H2_EVENT_TRAILERS:
	case H2_EVENT_RESET:
		on_stream_event(f, e);
		break;
	case H2_EVENT_PROMISE:
		on_promise(f, e);
		break;
	case H2_EVENT_GOAWAY:
		on_goaway(f, e);
		break;
	case H2_EVENT_FAILED:
		on_failed(f, e);
		break;
	case H2_EVENT_CLOSED:
	case H2_EVENT_SETTINGS:
	case H2_EVENT_PONG:
		break;
	}
	http_head_free(e->head);
	check_finished(f);
}

static void on_finished(void *owner)
{
	finish(owner);
}

/* ---- the connection ---- */

static void trace(void *context, const char *line)
{
	const struct fetch *f = context;
	fprintf(stderr, "%9.3f ms  %s\n", (double)(clock_monotonic() - f->started) / 1e3, line);
}

static void speak(struct fetch *f)
{
	struct h2_settings settings = h2_settings_initial;
	settings.enable_push = !f->request->no_push;
	settings.initial_window_size = STREAM_WINDOW_BYTES;
	settings.max_concurrent_streams = PUSHES_MAX;
	struct h2_limits limits = h2_limits_default;
	limits.connection_window = CONNECTION_WINDOW_BYTES;
	const struct h2_env env = {
	    .chunks = f->chunks,
	    .heads = f->heads,
	    .budget = &f->budget,
	    .seed = hash_random_seed(),
	    .trace = f->request->trace ? trace : NULL,
	    .trace_context = f,
	};
	link_speak(&f->wire, H2_CLIENT, &settings, &limits, &env);
	send_request(f);
}

static void on_opened(void *link)
{
	struct link *l = link;
	struct fetch *f = l->owner;
	const char *version = net_conn_tls_version(l->net);
	snprintf(f->result->protocol, sizeof(f->result->protocol), "%s%s%s", f->tls ? "h2" : "h2c",
	    f->tls ? ", " : "", version);
	if (f->tls && !slice_equal(net_conn_alpn(l->net), SLICE("h2"))) {
		fail(f, FETCH_PROTOCOL,
		    "the server does not speak HTTP/2: it did not choose h2 (ALPN)");
		finish(f);
		return;
	}
	speak(f);
}

static void connect_next(struct fetch *f);

static void on_ended(void *owner, enum net_end end, const char *text)
{
	struct fetch *f = owner;
	char at[NET_ADDRESS_TEXT];
	if (f->wire.h2) {
		if (f->open > 0 || f->result->count == 0)
			fail(f, FETCH_PROTOCOL, "the server closed the connection%s%s",
			    text && text[0] ? ": " : "", text ? text : "");
		lose_all(f);
		finish(f);
		return;
	}
	bool may_try_another = net_end_is_connect(end) && f->next_address < f->address_count;
	net_address_format(&f->addresses[f->next_address - 1], at, sizeof(at));
	if (may_try_another) {
		net_conn_abort(f->wire.net);
		f->wire.net = NULL;
		connect_next(f);
		return;
	}
	if (net_end_is_connect(end))
		fail(f, FETCH_CONNECT, "cannot connect to %s: %s", at,
		    text ? text : "unknown error");
	else if (net_end_is_tls(end))
		fail(f, FETCH_TLS, "TLS with %s failed: %s", at, text ? text : "unknown error");
	else
		fail(f, FETCH_CONNECT, "%s closed the connection%s%s", at,
		    text && text[0] ? ": " : "", text ? text : "");
	finish(f);
}

static const struct link_ops fetch_link_ops = {on_event, on_payload, on_finished, on_ended};
static const struct net_conn_ops fetch_net_ops = {on_opened, link_received, link_fill, link_ended};

static void connect_next(struct fetch *f)
{
	const struct net_address *to = &f->addresses[f->next_address++];
	f->wire.net = net_connect(f->loop, to, f->tls, f->request->host, &fetch_net_ops, &f->wire);
}

static bool prepare(struct fetch *f)
{
	const struct fetch_request *r = f->request;
	const char *host = r->connect_host ? r->connect_host : r->host;
	const char *why = NULL;
	f->address_count = net_resolve(
	    host, r->connect_host ? r->connect_port : r->port, f->addresses, ADDRESSES_MAX, &why);
	if (f->address_count == 0) {
		fail(f, FETCH_RESOLVE, "cannot find %s: %s", host, why);
		return false;
	}
	if (r->is_https) {
		const struct net_tls_client_options o = {
		    .ca_file = r->cacert, .verify = !r->insecure, .alpn = "h2"};
		char error[400];
		f->tls = net_tls_client_new(&o, error, sizeof(error));
		if (!f->tls) {
			fail(f, FETCH_TLS, "%s", error);
			return false;
		}
	}
	if (r->output) {
		f->output = strcmp(r->output, "-") == 0 ? stdout : fopen(r->output, "wb");
		if (!f->output) {
			fail(f, FETCH_WRITE, "cannot write %s: %s", r->output, strerror(errno));
			return false;
		}
	}
	return true;
}

static void too_late(void *context)
{
	struct fetch *f = context;
	fail(f, FETCH_TIMEOUT, "not finished after %.1f s", (double)f->request->max_time / 1e6);
	if (f->wire.h2)
		lose_all(f);
	finish(f);
}

/* GOAWAY, and time for it to leave. */
static void say_goodbye(struct fetch *f)
{
	if (f->wire.net && f->wire.h2 && net_conn_is_open(f->wire.net)) {
		h2_terminate(f->wire.h2, H2_NO_ERROR, SLICE(""));
		link_wake(&f->wire);
		net_run_once(f->loop, 0);
	}
	link_close(&f->wire);
	net_run_once(f->loop, 0);
}

static void judge(struct fetch *f)
{
	struct fetch_result *result = f->result;
	if (f->output && (f->output == stdout ? fflush(f->output) : fclose(f->output)) != 0)
		fail(f, FETCH_WRITE, "cannot write %s: %s", f->request->output, strerror(errno));
	const struct fetch_item *main_item = result->items;
	if (result->count == 0 || main_item->state != FETCH_COMPLETE)
		fail(f, FETCH_PROTOCOL, "the response did not come whole");
	else if (main_item->status < 200 || main_item->status > 399)
		fail(f, FETCH_STATUS, "the server answered %u", main_item->status);
	/* What happened to a push does not spoil the response. */
	else if (result->exit_status == FETCH_PROTOCOL)
		result->exit_status = FETCH_OK;
}

void fetch_run(const struct fetch_request *r, struct fetch_result *result)
{
	struct fetch f = {.request = r, .result = result, .started = clock_monotonic()};
	*result = (struct fetch_result){.items = NULL};
	f.chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, CHUNKS_KEPT);
	f.heads = http_head_pool_new(HEADS_KEPT);
	f.loop = net_loop_new(f.chunks);
	budget_init(&f.budget, NULL, MEMORY_BYTES);
	link_init(&f.wire, f.loop, &fetch_link_ops, &f);
	net_timer_init(&f.limit, f.loop, too_late, &f);
	if (prepare(&f)) {
		net_timer_set(&f.limit, clock_after(f.started, r->max_time));
		connect_next(&f);
		net_run(f.loop);
		result->total = f.sent ? since_sent(&f) : 0;
		say_goodbye(&f);
	}
	judge(&f);
	net_timer_fini(&f.limit);
	link_fini(&f.wire);
	net_tls_free(f.tls);
	net_loop_free(f.loop);
	budget_fini(&f.budget);
	http_head_pool_free(f.heads);
	chunk_pool_free(f.chunks);
}

void fetch_result_fini(struct fetch_result *result)
{
	for (size_t i = 0; i < result->count; i++) {
		free(result->items[i].path);
		for (uint32_t n = 0; n < result->items[i].interim_count; n++)
			free(result->items[i].interims[n].link);
	}
	free(result->items);
}
