/* SPDX-License-Identifier: MIT */
/* An engine driven by commands; see h2_owner.h. */
#include "tests/support/h2_owner.h"

#include "tests/support/seldom.h"

#include "proxy/base/ensure.h"

/* ---- heads ---- */

static const struct {
	const char *method, *authority, *path, *name, *value;
} requests[] = {
    {"GET", "a.example", "/", "sec-fetch-mode", "navigate"},
    {"GET", "a.example", "/page.html", "user-agent", "Mozilla/5.0 Chrome/120"},
    {"GET", "a.example", "/app.css", "cookie", "user=a"},
    {"GET", "a.example", "/app.js", "if-none-match", "\"e1\""},
    {"GET", "a.example", "/img/1.png", "accept-language", "de"},
    {"HEAD", "a.example", "/app.css", "accept-language", "en"},
    {"POST", "a.example", "/app.css", "content-length", "600"},
    {"GET", "b.example", "/", "cache-control", "no-cache"},
    {"GET", "nobody.example", "/", "range", "bytes=0-1"},
    {"OPTIONS", "a.example", "*", "max-forwards", "0"},
    {"GET", "a.example", "/loop", "via", "2 fuzz"},
    {"PUT", "a.example", "/app.js", "expect", "100-continue"},
    {"GET", "a.example", "/img/../x?q=1", "priority", "u=1, i"},
    {"DELETE", "a.example", "/img/1.png", "authorization", "Basic Zm9v"},
    {"GET", "a.example:80", "/app.css", "referer", "http://a.example/page.html"},
    {"GET", "b.example", "/b.css", "x-forwarded-for", "192.0.2.1"},
};

static const struct {
	const char *status, *name, *value;
} responses[] = {
    {"200", "cache-control", "max-age=60"},
    {"200", "link", "</app.css>; rel=preload; as=style, </app.js>; rel=preload; as=script"},
    {"200", "content-length", "600"},
    {"404", "cache-control", "no-store"},
    {"304", "etag", "\"e1\""},
    {"200", "vary", "accept-language, cookie"},
    {"302", "location", "/page.html"},
    {"200", "cache-control", "private, no-cache"},
    {"200", "link", "<//b.example/b.css>; rel=preload; nopush; as=style"},
    {"206", "content-range", "bytes 0-1/9"},
    {"204", "set-cookie", "user=a"},
    {"200", "age", "70"},
    {"500", "retry-after", "1"},
    {"200", "etag", "W/\"e2\""},
    {"200", "content-type", "text/css"},
    {"200", "content-length", "0"},
};

static const struct {
	const char *status, *name, *value;
} interims[] = {
    {"103", "link", "</app.css>; rel=preload; as=style"},
    {"100", "x-field", "value"},
    {"103", "link", "</img/1.png>; rel=preload; as=image"},
    {"102", "x-field", "value"},
};

static void add(struct http_head *head, const char *name, const char *value)
{
	http_head_add(head, slice_of_string(name), slice_of_string(value));
}

static struct http_head *request(struct h2_owner *o, uint8_t argument, enum http_head_kind kind)
{
	struct http_head *head = http_head_new(o->heads);
	unsigned i = argument % 16;
	/* Sending a promise that is not allowed now would be a mistake of this owner. */
	bool has_body = strcmp(requests[i].name, "content-length") == 0;
	if (kind == HTTP_PROMISE && (has_body || argument % 16 >= 9))
		i = 2;
	add(head, ":method", requests[i].method);
	add(head, ":scheme", argument & 16 ? "https" : "http");
	add(head, ":authority", requests[i].authority);
	add(head, ":path", requests[i].path);
	add(head, requests[i].name, requests[i].value);
	ensure(!http_head_validate(head, kind));
	return head;
}

static struct http_head *response(struct h2_owner *o, uint8_t argument, bool is_interim)
{
	struct http_head *head = http_head_new(o->heads);
	unsigned i = is_interim ? argument % 4 : argument % 16;
	add(head, ":status", is_interim ? interims[i].status : responses[i].status);
	add(head, is_interim ? interims[i].name : responses[i].name,
	    is_interim ? interims[i].value : responses[i].value);
	if (argument & 32)
		add(head, "date", "Sat, 21 Nov 2026 12:00:00 GMT");
	ensure(!http_head_validate(head, HTTP_RESPONSE));
	return head;
}

/* ---- events ---- */

static void keep(struct h2_owner *o, struct session_stream *s)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->handles[i] == s)
			return;
	ensure(o->count < H2_OWNER_HANDLES);
	o->handles[o->count++] = s;
}

static void forget(struct h2_owner *o, const struct session_stream *s)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->handles[i] == s)
			o->handles[i] = o->handles[--o->count];
}

static void on_event(struct h2_owner *o, const struct session_event *e)
{
	if (e->promised)
		keep(o, e->promised);
	if (e->kind == SESSION_EVENT_HEAD)
		keep(o, e->stream);
	if (e->kind == SESSION_EVENT_RESET || e->kind == SESSION_EVENT_CLOSED)
		forget(o, e->stream);
	if (e->kind == SESSION_EVENT_DATA && e->piece.length > 0) {
		ensure(e->piece.offset + e->piece.length <= e->piece.chunk->capacity);
		if (o->gives_credit)
			session_credit(o->conn, e->stream, e->piece.length);
	}
	http_head_free(e->head);
}

void h2_owner_check(struct h2_owner *o)
{
	if (seldom(&o->steps))
		session_check(o->conn);
}

void h2_owner_drain(struct h2_owner *o)
{
	struct session_event e;
	while (session_next_event(o->conn, &e)) {
		on_event(o, &e);
		h2_owner_check(o);
	}
}

void h2_owner_receive(struct h2_owner *o, const void *bytes, size_t n)
{
	const uint8_t *from = bytes;
	while (n > 0) {
		struct chunk *chunk = chunk_acquire(o->chunks);
		size_t most = n < chunk->capacity ? n : chunk->capacity;
		memcpy(chunk->data, from, most);
		for (size_t at = 0; at < most;) {
			size_t used = session_receive(o->conn, chunk, at, most - at, o->now);
			ensure(used <= most - at);
			at += used;
			h2_owner_check(o);
			h2_owner_drain(o);
		}
		chunk_release(chunk);
		from += most;
		n -= most;
	}
}

/* ---- actions ---- */

static void respond(
    struct h2_owner *o, struct session_stream *s, uint8_t argument, bool is_interim, bool end)
{
	if (h2_of(o->conn)->role != H2_SERVER)
		return;
	struct http_head *head = response(o, argument, is_interim);
	session_respond(o->conn, s, head, end);
	http_head_free(head);
}

static void open_stream(struct h2_owner *o, struct session_stream *parent, uint8_t argument)
{
	bool is_client = h2_of(o->conn)->role == H2_CLIENT;
	if (o->count >= H2_OWNER_HANDLES / 2 || (!is_client && !parent))
		return;
	struct http_head *head = request(o, argument, is_client ? HTTP_REQUEST : HTTP_PROMISE);
	bool has_body = argument & 128 || head->content_length != HTTP_LENGTH_UNKNOWN;
	struct session_stream *s = is_client ? session_request(o->conn, head, !has_body, NULL)
					: session_promise(o->conn, parent, head, NULL);
	http_head_free(head);
	if (s)
		keep(o, s);
}

static void change_settings(struct h2_owner *o, uint8_t argument)
{
	struct h2_settings settings = h2_of(o->conn)->wanted;
	settings.initial_window_size = (uint32_t)argument * 400;
	settings.max_concurrent_streams = argument;
	settings.enable_push = argument & 1;
	h2_update_settings(o->conn, &settings, o->now);
}

static void end_connection(struct h2_owner *o, uint8_t argument)
{
	if (argument < 64)
		session_shutdown(o->conn, o->now);
	else if (argument < 96)
		h2_receive_eof(o->conn);
	else if (argument < 128)
		session_terminate(o->conn, SESSION_INTERNAL_ERROR, SLICE("fuzz"));
	else
		session_ping(o->conn, o->now);
}

static void send_trailers(struct h2_owner *o, struct session_stream *s)
{
	struct http_head *head = http_head_new(o->heads);
	add(head, "x-checksum", "1");
	ensure(!http_head_validate(head, HTTP_TRAILERS));
	session_trailers(o->conn, s, head);
	http_head_free(head);
}

static void reset(struct h2_owner *o, struct session_stream *s, uint8_t argument)
{
	if (!session_has_failed(o->conn))
		forget(o, s);
	session_reset(o->conn, s, argument % 16);
}

static void act_on_stream(
    struct h2_owner *o, enum h2_owner_action action, struct session_stream *handle, uint8_t argument)
{
	struct h2_stream *s = h2_stream_of(handle);
	bool may_offer = s->send_phase == H2_PHASE_BODY && s->life == H2_LIFE_ALIVE;
	switch (action) {
	case H2_OWNER_RESPOND:
		respond(o, handle, argument, false, false);
		break;
	case H2_OWNER_RESPOND_END:
		respond(o, handle, argument, false, true);
		break;
	case H2_OWNER_INTERIM:
		respond(o, handle, argument, true, false);
		break;
	case H2_OWNER_OFFER:
	case H2_OWNER_OFFER_END:
		if (may_offer)
			session_offer(o->conn, handle, (size_t)argument * 300, action == H2_OWNER_OFFER_END);
		break;
	case H2_OWNER_TRAILERS:
		if (may_offer && s->offered == 0 && !s->offered_end)
			send_trailers(o, handle);
		break;
	case H2_OWNER_RESET:
		reset(o, handle, argument);
		break;
	case H2_OWNER_CREDIT:
		session_credit(o->conn, handle, s->unread * argument / 255);
		break;
	case H2_OWNER_WINDOW:
		session_widen(o->conn, handle, (uint32_t)argument << 16);
		break;
	case H2_OWNER_PRIORITY:
		session_set_priority(o->conn, handle, (struct http_priority){argument & 7, argument & 8});
		break;
	case H2_OWNER_OPEN:
	case H2_OWNER_SETTINGS:
	case H2_OWNER_END:
	case H2_OWNER_ACTION_COUNT:
		break;
	}
}

void h2_owner_act(struct h2_owner *o, enum h2_owner_action action, uint8_t which, uint8_t argument)
{
	struct session_stream *s = o->count ? o->handles[which % o->count] : NULL;
	if (action == H2_OWNER_OPEN)
		open_stream(o, s, argument);
	else if (action == H2_OWNER_SETTINGS)
		change_settings(o, argument);
	else if (action == H2_OWNER_END)
		end_connection(o, argument);
	else if (s)
		act_on_stream(o, action, s, argument);
	h2_owner_check(o);
	h2_owner_drain(o);
}

size_t h2_owner_output(struct h2_owner *o, uint8_t *buffer, size_t size)
{
	size_t at = 0;
	struct session_output frame;
	while (size - at > 9) {
		struct slice control = h2_control(o->conn);
		if (control.len > 0) {
			size_t n = control.len < size - at ? control.len : size - at;
			memcpy(buffer + at, control.ptr, n);
			h2_control_taken(o->conn, n);
			at += n;
			continue;
		}
		if (!h2_next_data(o->conn, (uint32_t)(size - at - 9), &frame))
			break;
		memcpy(buffer + at, frame.before.ptr, 9);
		memset(buffer + at + 9, 'x', frame.length);
		at += 9 + frame.length;
	}
	if (at > 0)
		h2_owner_check(o);
	h2_owner_drain(o);
	return at;
}

/* ---- life ---- */

void h2_owner_init(struct h2_owner *o, enum h2_role role, const struct h2_settings *settings,
    const struct h2_limits *limits, size_t budget_bytes, usec now)
{
	budget_init(&o->budget, NULL, budget_bytes);
	o->count = 0;
	o->now = now;
	o->config = (struct h2_config){role, *settings, *limits};
	o->env = (struct session_env){.heads = o->heads, .seed = 1};
	const struct session_conn conn = {.budget = &o->budget};
	o->conn = h2_new(&o->config, &o->env, &conn, now);
}

void h2_owner_fini(struct h2_owner *o)
{
	session_free(o->conn);
	budget_fini(&o->budget);
}
