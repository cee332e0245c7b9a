/* SPDX-License-Identifier: MIT */
/*
 * The same request by HTTP/1.1 and by HTTP/2, through a whole gateway, to an origin of either version:
 * all four arrive the same (method, authority, path, fields, body, trailers), or none does. A gRPC
 * call arrives at origins of HTTP/2 alone, since its status is in trailers.
 *
 * Input: one byte of options, two for the places of the cuts, lines for method, authority and path,
 * field lines up to an empty one, trailer lines up to an empty one, then the body.
 *
 * Left out, because only one version can say it: CR, LF and NUL; a name with a colon or without a
 * byte; a method, authority or target with a space, or empty; a target that does not begin with "/"
 * and is not "*"; CONNECT; whitespace around a value; capital letters in a name; Host and the fields
 * for one hop. What may differ: Via, which tells the version; Content-Length, where only the body
 * says how long it is; how often Cookie is cut.
 */
#include "tests/fuzz/input.h"
#include "tests/support/memory_net.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/gateway/gateway_private.h"
#include "proxy/h1/h1.h"
#include "proxy/h2/h2.h"
#include "proxy/limits.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define FIELDS_MOST 40u
#define LINE_MOST 4000u
#define BODY_MOST 30000u
#define ORIGINS_MOST 8u
#define PASSES_MOST 200u

enum {
	OPTION_LENGTH = 1,   /* the request says how long it is */
	OPTION_BODY = 2,     /* it has one */
	OPTION_TRAILERS = 4, /* ... and trailers, if its length is not said */
	OPTION_ABSOLUTE = 8, /* HTTP/1.1: the target in absolute-form */
	OPTION_CUT = 16,     /* what clients send comes in pieces */
};

/* ---- the clock ---- */

/* In the place of the library's: no time passes. */
usec clock_monotonic(void)
{
	return USEC_PER_SEC;
}

usec clock_wall(void)
{
	return UINT64_C(1795262400) * USEC_PER_SEC;
}

/* ---- the request ---- */

struct text_field {
	struct slice name, value;
};

struct request {
	uint8_t options;
	uint32_t random; /* of the cuts */
	struct slice method, authority, path, body;
	struct text_field fields[FIELDS_MOST], trailers[FIELDS_MOST];
	size_t field_count, trailer_count;
	struct arena arena;
};

static bool has_byte(struct slice s, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (slice_find(s, bytes[i]) < s.len)
			return true;
	return false;
}

static bool is_of_one_version(struct slice name)
{
	static const struct slice names[] = {SLICE_INIT("host"), SLICE_INIT("connection"),
	    SLICE_INIT("keep-alive"), SLICE_INIT("proxy-connection"),
	    SLICE_INIT("transfer-encoding"), SLICE_INIT("upgrade"), SLICE_INIT("http2-settings"),
	    SLICE_INIT("te"), SLICE_INIT("content-length"), SLICE_INIT("via")};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (slice_equal(name, names[i]))
			return true;
	return name.len == 0 || has_byte(name, ": \t", 3);
}

static size_t read_fields(struct request *r, struct input *in, struct text_field *fields)
{
	size_t count = 0;
	struct slice line;
	while (in->left > 0 && (line = input_line(in)).len > 0) {
		if (has_byte(line, "\r\0", 2) || line.len > LINE_MOST || count == FIELDS_MOST)
			continue;
		size_t colon = slice_find(line, ':');
		struct slice name = arena_copy(&r->arena, slice_sub(line, 0, colon));
		ascii_lower_copy((char *)(uintptr_t)name.ptr, name);
		if (is_of_one_version(name))
			continue;
		fields[count].name = name;
		fields[count++].value = slice_trim(slice_from(line, colon + 1));
	}
	return count;
}

/* False: only one version can say it. */
static bool read_request(struct request *r, struct input *in)
{
	r->options = input_byte(in);
	r->random = input_below(in, 65536) + 1;
	r->method = input_line(in);
	r->authority = input_line(in);
	r->path = input_line(in);
	r->field_count = read_fields(r, in, r->fields);
	r->trailer_count = read_fields(r, in, r->trailers);
	r->body = input_take(in, r->options & OPTION_BODY ? BODY_MOST : 0);
	const struct slice words[] = {r->method, r->authority, r->path};
	for (size_t i = 0; i < 3; i++)
		if (words[i].len == 0 || words[i].len > LINE_MOST ||
		    has_byte(words[i], " \t\r\0", 4))
			return false;
	if (slice_equal(r->method, SLICE("CONNECT")))
		return false;
	return r->path.ptr[0] == '/' || slice_equal(r->path, SLICE("*"));
}

static bool has_trailers(const struct request *r)
{
	return (r->options & (OPTION_BODY | OPTION_TRAILERS | OPTION_LENGTH)) ==
		   (OPTION_BODY | OPTION_TRAILERS) &&
	       r->trailer_count > 0;
}

/* A POST whose first Content-Type is application/grpc, with a suffix, with parameters or alone. */
static bool is_grpc_call(const struct request *r)
{
	const struct slice grpc = SLICE("application/grpc");
	if (!slice_equal(r->method, SLICE("POST")))
		return false;
	for (size_t i = 0; i < r->field_count; i++) {
		struct slice value = r->fields[i].value;
		if (!slice_equal(r->fields[i].name, SLICE("content-type")))
			continue;
		return slice_equal_nocase(slice_sub(value, 0, grpc.len), grpc) &&
		       (value.len == grpc.len ||
			   has_byte(slice_sub(value, grpc.len, 1), "+; \t", 4));
	}
	return false;
}

/* ---- the request in HTTP/1.1 ---- */

static void write_lines(FILE *out, const struct text_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		fprintf(out, "%.*s: ", SLICE_ARG(fields[i].name));
		fprintf(out, "%.*s\r\n", SLICE_ARG(fields[i].value));
	}
}

static void write_chunks(FILE *out, const struct request *r)
{
	uint32_t random = r->random;
	for (struct slice rest = r->body; rest.len > 0;) {
		random = random * 1664525u + 1013904223u;
		size_t n = 1 + (random >> 16) % 3000;
		struct slice chunk = slice_sub(rest, 0, n);
		fprintf(out, "%zx\r\n", chunk.len);
		fwrite(chunk.ptr, 1, chunk.len, out);
		fputs("\r\n", out);
		rest = slice_from(rest, chunk.len);
	}
	fputs("0\r\n", out);
	if (has_trailers(r))
		write_lines(out, r->trailers, r->trailer_count);
	fputs("\r\n", out);
}

static void write_http1(FILE *out, const struct request *r)
{
	bool is_absolute = r->options & OPTION_ABSOLUTE && r->path.ptr[0] == '/';
	fprintf(out, "%.*s ", SLICE_ARG(r->method));
	if (is_absolute)
		fprintf(out, "http://%.*s", SLICE_ARG(r->authority));
	fprintf(out, "%.*s HTTP/1.1\r\nHost: ", SLICE_ARG(r->path));
	fprintf(out, "%.*s\r\n", SLICE_ARG(r->authority));
	write_lines(out, r->fields, r->field_count);
	if (r->options & OPTION_LENGTH)
		fprintf(out, "Content-Length: %zu\r\n", r->body.len);
	else if (r->options & OPTION_BODY)
		fputs("Transfer-Encoding: chunked\r\n", out);
	fputs("\r\n", out);
	if (r->options & OPTION_LENGTH)
		fwrite(r->body.ptr, 1, r->body.len, out);
	else if (r->options & OPTION_BODY)
		write_chunks(out, r);
}

/* ---- the request in HTTP/2 ---- */

/* RFC 7541 5.1, with a prefix of 7 bits. */
static void write_string(FILE *out, struct slice s)
{
	size_t n = s.len;
	fputc(n < 127 ? (int)n : 127, out);
	if (n >= 127)
		for (n -= 127;; n >>= 7) {
			fputc((int)(n < 128 ? n : (n & 127) | 128), out);
			if (n < 128)
				break;
		}
	fprintf(out, "%.*s", SLICE_ARG(s));
}

static void write_literal(FILE *out, struct slice name, struct slice value)
{
	fputc(0, out);
	write_string(out, name);
	write_string(out, value);
}

static void write_frame(FILE *out, uint8_t type, uint8_t flags, struct slice payload)
{
	const uint8_t header[9] = {(uint8_t)(payload.len >> 16), (uint8_t)(payload.len >> 8),
	    (uint8_t)payload.len, type, flags, 0, 0, 0, type == H2_SETTINGS ? 0 : 1};
	fwrite(header, 1, sizeof(header), out);
	if (payload.len > 0)
		fwrite(payload.ptr, 1, payload.len, out);
}

/* A field block, as HEADERS and CONTINUATION. */
static void write_block(FILE *out, struct slice block, bool end)
{
	uint8_t type = H2_HEADERS;
	for (;;) {
		struct slice part = slice_sub(block, 0, 16384);
		block = slice_from(block, part.len);
		write_frame(out, type,
		    (uint8_t)((block.len == 0 ? H2_END_HEADERS : 0) |
			      (end && type == H2_HEADERS ? H2_END_STREAM : 0)),
		    part);
		if (block.len == 0)
			return;
		type = H2_CONTINUATION;
	}
}

static void write_fields(FILE *out, const struct request *r, bool is_trailers, bool end)
{
	char *text, number[32];
	size_t size;
	FILE *block = open_memstream(&text, &size);
	const struct text_field *fields = is_trailers ? r->trailers : r->fields;
	size_t count = is_trailers ? r->trailer_count : r->field_count;
	if (!is_trailers) {
		write_literal(block, SLICE(":method"), r->method);
		write_literal(block, SLICE(":scheme"), SLICE("http"));
		write_literal(block, SLICE(":authority"), r->authority);
		write_literal(block, SLICE(":path"), r->path);
	}
	for (size_t i = 0; i < count; i++)
		write_literal(block, fields[i].name, fields[i].value);
	if (!is_trailers && r->options & OPTION_LENGTH) {
		snprintf(number, sizeof(number), "%zu", r->body.len);
		write_literal(block, SLICE("content-length"), slice_of_string(number));
	}
	fclose(block);
	write_block(out, slice_of(text, size), end);
	free(text);
}

static void write_http2(FILE *out, const struct request *r)
{
	bool has_body = r->options & OPTION_BODY && (r->body.len > 0 || has_trailers(r));
	fwrite(H2_PREFACE, 1, H2_PREFACE_LEN, out);
	write_frame(out, H2_SETTINGS, 0, SLICE(""));
	write_fields(out, r, false, !has_body);
	for (struct slice rest = r->body; has_body && rest.len > 0;) {
		struct slice part = slice_sub(rest, 0, 16384);
		rest = slice_from(rest, part.len);
		bool end = rest.len == 0 && !has_trailers(r);
		write_frame(out, H2_DATA, end ? H2_END_STREAM : 0, part);
	}
	if (has_body && has_trailers(r))
		write_fields(out, r, true, true);
}

/* ---- origins ---- */

struct fake_origin {
	struct memory_socket *socket;
	struct budget budget;
	struct session *h1;
	struct session *h2;
	struct session_stream *stream; /* of the present request */
};

struct world {
	bool speaks_http2; /* its origins */
	struct net_loop *loop;
	struct memory_net *net;
	struct chunk_pool *chunks, *peer_chunks;
	struct http_head_pool *heads;
	struct gateway *gateway;
	struct observe observe;
	struct observe_counters counters;
	struct h1_config h1; /* of its origins: no head is over its limits */
	struct h2_config h2;
	struct session_env env;
	struct fake_origin origins[ORIGINS_MOST];
	unsigned origin_count;
	FILE *seen;       /* what the origins have received */
	unsigned wholes; /* requests that were complete there */
};

static void write_seen(FILE *out, const struct http_head *head)
{
	bool had_cookie = false;
	fprintf(out, "%.*s|", SLICE_ARG(head->method));
	fprintf(out, "%.*s|", SLICE_ARG(head->authority));
	fprintf(out, "%.*s\n", SLICE_ARG(head->path));
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->token == HTTP_TOKEN_COOKIE || f->token == HTTP_TOKEN_VIA ||
		    f->token == HTTP_TOKEN_HOST || f->token == HTTP_TOKEN_CONTENT_LENGTH ||
		    f->name.ptr[0] == ':')
			continue;
		fprintf(out, "%.*s: ", SLICE_ARG(f->name));
		fprintf(out, "%.*s\n", SLICE_ARG(f->value));
	}
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		struct slice crumb, rest = f->value;
		if (f->token != HTTP_TOKEN_COOKIE)
			continue;
		for (; rest.len > 0; rest = slice_from(rest, crumb.len + 1)) {
			crumb = slice_sub(rest, 0, slice_find(rest, ';'));
			if (slice_trim(crumb).len > 0)
				fprintf(out, "%s%.*s", had_cookie ? "; " : "cookie: ",
				    SLICE_ARG(slice_trim(crumb)));
			had_cookie |= slice_trim(crumb).len > 0;
		}
	}
	fputs("\n\n", out);
}

static struct http_head *answer_head(struct world *w)
{
	struct http_head *head = http_head_new(w->heads);
	head->kind = HTTP_RESPONSE;
	head->status = 200;
	return head;
}

static void on_http1_event(struct world *w, struct fake_origin *o, struct session_event *e)
{
	ensure(!e->fault && !e->oversize && e->kind != SESSION_EVENT_FAILED);
	bool ends = e->end && e->kind != SESSION_EVENT_CLOSED;
	if (e->kind == SESSION_EVENT_HEAD || e->kind == SESSION_EVENT_TRAILERS)
		write_seen(w->seen, e->head);
	if (e->kind == SESSION_EVENT_DATA && e->piece.length > 0) {
		fwrite(piece_slice(e->piece).ptr, 1, e->piece.length, w->seen);
		session_credit(o->h1, NULL, e->piece.length);
	}
	http_head_free(e->head);
	if (!ends)
		return;
	w->wholes++;
	struct http_head *head = answer_head(w);
	ensure(session_respond(o->h1, NULL, head, true));
	http_head_free(head);
}

static void serve_http1(struct world *w, struct fake_origin *o, struct chunk *chunk, size_t n)
{
	struct session_event event;
	struct session_output output;
	if (n > 0)
		session_receive(o->h1, chunk, 0, n, USEC_PER_SEC);
	while (session_next_event(o->h1, &event))
		on_http1_event(w, o, &event);
	while (session_next_output(o->h1, 1000, &output))
		memory_socket_put(o->socket, output.before.ptr, output.before.len);
	while (session_next_event(o->h1, &event))
		on_http1_event(w, o, &event);
}

static void on_http2_event(struct world *w, struct fake_origin *o, struct session_event *e)
{
	bool ends = e->end && e->kind != SESSION_EVENT_CLOSED;
	if (e->kind == SESSION_EVENT_HEAD || e->kind == SESSION_EVENT_TRAILERS)
		write_seen(w->seen, e->head);
	ends |= e->kind == SESSION_EVENT_TRAILERS;
	if (e->kind == SESSION_EVENT_DATA) {
		fwrite(piece_slice(e->piece).ptr, 1, e->piece.length, w->seen);
		if (!ends)
			session_credit(o->h2, e->stream, e->piece.length);
	}
	http_head_free(e->head);
	if (!ends)
		return;
	w->wholes++;
	struct http_head *head = answer_head(w);
	ensure(session_respond(o->h2, e->stream, head, true));
	http_head_free(head);
}

static void serve_http2(struct world *w, struct fake_origin *o, struct chunk *chunk, size_t n)
{
	struct session_event event;
	for (size_t at = 0; at < n;) {
		at += session_receive(o->h2, chunk, at, n - at, USEC_PER_SEC);
		while (session_next_event(o->h2, &event))
			on_http2_event(w, o, &event);
	}
	struct session_output output;
	while (session_next_output(o->h2, 1000, &output)) {
		ensure(!output.stream);
		memory_socket_put(o->socket, output.before.ptr, output.before.len);
	}
	while (session_next_event(o->h2, &event))
		on_http2_event(w, o, &event);
}

/* False: nothing moved. */
static bool serve(struct world *w, struct fake_origin *o)
{
	const struct net_buffer *from = &o->socket->out;
	bool has_moved = from->size > 0;
	size_t at = 0;
	do {
		struct chunk *chunk = chunk_acquire(w->peer_chunks);
		size_t n = from->size - at < chunk->capacity ? from->size - at : chunk->capacity;
		if (n > 0)
			memcpy(chunk->data, from->data + at, n);
		at += n;
		if (o->h1)
			serve_http1(w, o, chunk, n);
		else
			serve_http2(w, o, chunk, n);
		chunk_release(chunk);
	} while (at < from->size);
	memory_socket_read(o->socket);
	return has_moved;
}

static void origins_come(struct world *w)
{
	struct memory_socket *s;
	while ((s = memory_net_next(w->net))) {
		ensure(w->origin_count < ORIGINS_MOST);
		struct fake_origin *o = &w->origins[w->origin_count++];
		o->socket = s;
		budget_init(&o->budget, NULL, 1u << 24);
		const struct session_conn conn = {.budget = &o->budget};
		if (w->speaks_http2)
			o->h2 = h2_new(&w->h2, &w->env, &conn, USEC_PER_SEC);
		else
			o->h1 = h1_new(&w->h1, &w->env, &conn, USEC_PER_SEC);
	}
}

/* ---- the world ---- */

/* No head is over a limit: the versions count heads differently, and max-request-list is for HTTP/2 alone. */
#define LISTEN                                                                                     \
	"[listen l]\naddress = 127.0.0.1:1\nmax-header-list = 256k\nmax-field-block = 256k\n"      \
	"[route a]\norigin = a\n[origin a]\nmax-request-list = 256k\n"
static const char *const configurations[] = {
    LISTEN "server = http://127.0.0.1:8001\n",
    LISTEN "server = h2c://127.0.0.1:8001\n",
};

/* Const, and the same for all inputs. */
static const struct conf *configuration(bool speaks_http2)
{
	static struct conf *loaded[2];
	if (!loaded[speaks_http2])
		loaded[speaks_http2] = conf_load_text(slice_of_string(configurations[speaks_http2]),
		    "fuzz.ini", false, stderr);
	ensure(loaded[speaks_http2] != NULL);
	return loaded[speaks_http2];
}

static void open_world(struct world *w, bool speaks_http2)
{
	char error[256];
	const struct conf *conf = configuration(speaks_http2);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	w->speaks_http2 = speaks_http2;
	w->h1 = (struct h1_config){.role = H1_SERVER, .limits = h1_limits_default};
	w->h1.limits.head_bytes = w->h1.limits.list_bytes = w->h1.limits.trailer_bytes = 1u << 20;
	w->h2 = (struct h2_config){H2_SERVER, h2_settings_initial, h2_limits_default};
	w->h2.limits.field_block_bytes = LIMIT_FIELD_BLOCK_BYTES;
	w->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 16);
	w->peer_chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	w->heads = http_head_pool_new(16);
	w->env = (struct session_env){.heads = w->heads, .seed = 1};
	w->loop = net_loop_new(w->chunks);
	w->net = memory_net_new();
	w->observe = (struct observe){
	    .counters = &w->counters, .access_fd = nowhere, .error_fd = nowhere};
	const struct gateway_env env = {.loop = w->loop,
	    .chunks = w->chunks,
	    .conf = conf,
	    .observe = &w->observe,
	    .via_suffix = 0x12345678,
	    .seed = 42};
	w->gateway = gateway_new(&env, error, sizeof(error));
	ensure(w->gateway != NULL);
	gateway_listen(w->gateway, &conf->listens[0], w->net->listener);
}

static void close_world(struct world *w)
{
	gateway_free(w->gateway);
	for (unsigned i = 0; i < w->origin_count; i++) {
		session_free(w->origins[i].h1);
		session_free(w->origins[i].h2);
		ensure(w->origins[i].budget.used_bytes == 0);
		budget_fini(&w->origins[i].budget);
	}
	net_loop_free(w->loop);
	memory_net_free(w->net);
	http_head_pool_free(w->heads);
	chunk_pool_free(w->chunks);
	chunk_pool_free(w->peer_chunks);
	close(w->observe.access_fd);
}

static void run_until_quiet(struct world *w, struct memory_socket *client)
{
	unsigned quiet = 0;
	for (unsigned i = 0; quiet < 3; i++) {
		bool has_moved = client->out.size > 0;
		memory_socket_read(client);
		origins_come(w);
		for (unsigned n = 0; n < w->origin_count; n++)
			has_moved |= serve(w, &w->origins[n]);
		net_run_once(w->loop, 0);
		quiet = has_moved ? 0 : quiet + 1;
		ensure(i < PASSES_MOST);
	}
}

/* Sends it, and returns what the origins saw (owned): nothing if the request was refused in the
 * middle, since then the time says how much of it has arrived. */
static char *send_request(struct world *w, const struct request *r, bool by_http2)
{
	char *bytes, *seen;
	size_t size, seen_size;
	FILE *out = open_memstream(&bytes, &size);
	if (by_http2)
		write_http2(out, r);
	else
		write_http1(out, r);
	fclose(out);
	w->seen = open_memstream(&seen, &seen_size);
	w->wholes = 0;
	struct memory_socket *client = memory_net_dial(w->net);
	size_t at = r->options & OPTION_CUT ? r->random % (size + 1) : 0;
	memory_socket_put(client, bytes, at);
	run_until_quiet(w, client);
	memory_socket_put(client, bytes + at, size - at);
	run_until_quiet(w, client);
	memory_socket_end(client);
	run_until_quiet(w, client);
	fclose(w->seen);
	free(bytes);
	ensure(w->wholes <= 1);
	if (w->wholes == 0)
		seen[0] = '\0';
	return seen;
}

static void expect_same(const char *one, const char *other, const char *what)
{
	bool same = strcmp(one, other) == 0;
	if (!same)
		fprintf(stderr, "---- expected:\n%s\n---- %s:\n%s\n----\n", one, what, other);
	ensure(same);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct request *r = memory_new(struct request);
	char *seen[2][2] = {{NULL}};
	arena_init(&r->arena, NULL, 0);
	bool both = read_request(r, &in);
	for (int origin = 0; both && origin < 2; origin++) {
		struct world *w = memory_new(struct world);
		open_world(w, origin == 1);
		seen[origin][0] = send_request(w, r, false);
		seen[origin][1] = send_request(w, r, true);
		close_world(w);
		free(w);
	}
	if (both) {
		const char *by_http1 = is_grpc_call(r) ? "" : seen[1][0];
		expect_same(by_http1, seen[0][0], "HTTP/1.1 to HTTP/1.1");
		expect_same(by_http1, seen[0][1], "HTTP/2 to HTTP/1.1");
		expect_same(seen[1][0], seen[1][1], "HTTP/2 to HTTP/2");
	}
	for (int i = 0; i < 4; i++)
		free(seen[i / 2][i % 2]);
	arena_fini(&r->arena);
	free(r);
	return 0;
}
