/* SPDX-License-Identifier: MIT */
/*
 * The engine under arbitrary octets, arbitrarily split, with an owner that does arbitrary (but
 * legal) things in between. The invariants are walked after each step.
 *
 * Input: one octet of options, then steps. A step below 0x80 feeds (step + 1) octets of what
 * follows; any other is an action of the owner's with one octet of argument.
 */
#include "proxy/h2/conn.h"

#include <stdlib.h>

#define HANDLES 512u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct owner {
	struct h2_conn *conn;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct h2_stream *handles[HANDLES];
	size_t count;
	usec now;
	bool is_over;
};

enum action {
	ACTION_RESPOND,
	ACTION_RESPOND_END,
	ACTION_INTERIM,
	ACTION_OFFER,
	ACTION_OFFER_END,
	ACTION_TRAILERS,
	ACTION_RESET,
	ACTION_CREDIT,
	ACTION_WINDOW,
	ACTION_OPEN,
	ACTION_TURN,
	ACTION_CONTROL,
	ACTION_TIME,
	ACTION_SETTINGS,
	ACTION_PRIORITY,
	ACTION_END,
	ACTION_COUNT
};

static void keep(struct owner *o, struct h2_stream *s)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->handles[i] == s)
			return;
	ensure(o->count < HANDLES);
	o->handles[o->count++] = s;
}

static void forget(struct owner *o, const struct h2_stream *s)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->handles[i] == s)
			o->handles[i] = o->handles[--o->count];
}

static struct http_head *make_head(struct owner *o, enum http_head_kind kind, const char *status)
{
	struct http_head *head = http_head_new(o->heads);
	if (kind == HTTP_REQUEST) {
		http_head_add(head, SLICE(":method"), SLICE("GET"));
		http_head_add(head, SLICE(":scheme"), SLICE("https"));
		http_head_add(head, SLICE(":authority"), SLICE("a.example"));
		http_head_add(head, SLICE(":path"), SLICE("/a"));
	} else if (kind == HTTP_RESPONSE) {
		http_head_add(head, SLICE(":status"), slice_of_string(status));
	}
	http_head_add(head, SLICE("x-field"), SLICE("value"));
	ensure(!http_head_settle(head, kind));
	return head;
}

static void drain_events(struct owner *o)
{
	struct h2_event event;
	while (h2_next_event(o->conn, &event)) {
		if (event.promised)
			keep(o, event.promised);
		if (event.kind == H2_EVENT_HEAD)
			keep(o, event.stream);
		if (event.kind == H2_EVENT_RESET || event.kind == H2_EVENT_CLOSED)
			forget(o, event.stream);
		if (event.kind == H2_EVENT_DATA && event.piece.length > 0)
			ensure(
			    event.piece.offset + event.piece.length <= event.piece.chunk->capacity);
		http_head_free(event.head);
		h2_check(o->conn);
	}
}

static void feed(struct owner *o, const uint8_t *octets, size_t n)
{
	struct chunk *chunk = chunk_acquire(o->chunks);
	memcpy(chunk->data, octets, n);
	for (size_t at = 0; at < n;) {
		size_t used = h2_receive(o->conn, chunk, at, n - at, o->now);
		ensure(used <= n - at);
		at += used;
		h2_check(o->conn);
		drain_events(o);
	}
	chunk_release(chunk);
}

static void respond(struct owner *o, struct h2_stream *s, const char *status, bool end)
{
	if (o->conn->role != H2_SERVER)
		return;
	struct http_head *head = make_head(o, HTTP_RESPONSE, status);
	h2_respond(o->conn, s, head, end);
	http_head_free(head);
}

static void open_stream(struct owner *o, struct h2_stream *parent, uint8_t argument)
{
	if (o->count >= HANDLES / 2 || (o->conn->role == H2_SERVER && !parent))
		return;
	struct http_head *head = make_head(o, HTTP_REQUEST, NULL);
	struct h2_stream *s = o->conn->role == H2_CLIENT
				  ? h2_request(o->conn, head, argument & 1, NULL)
				  : h2_promise(o->conn, parent, head, NULL);
	http_head_free(head);
	if (s)
		keep(o, s);
}

static void take_control(struct owner *o, uint8_t argument)
{
	struct slice control = h2_control(o->conn);
	h2_control_taken(o->conn, argument < 128 ? control.len : control.len / 2);
}

static void change_settings(struct owner *o, uint8_t argument)
{
	struct h2_settings settings = o->conn->wanted;
	settings.initial_window_size = (uint32_t)argument * 400;
	settings.max_concurrent_streams = argument;
	settings.enable_push = argument & 1;
	h2_update_settings(o->conn, &settings, o->now);
}

static void end_connection(struct owner *o, uint8_t argument)
{
	if (argument < 128)
		h2_shutdown(o->conn, o->now);
	else if (argument < 160)
		h2_receive_eof(o->conn);
	else if (argument < 192)
		h2_terminate(o->conn, H2_INTERNAL_ERROR, SLICE("fuzz"));
	else
		h2_ping(o->conn, o->now);
}

static void act_on_stream(
    struct owner *o, enum action action, struct h2_stream *s, uint8_t argument)
{
	bool may_offer = s->send_phase == H2_PHASE_BODY && s->life == H2_LIFE_ALIVE;
	struct http_head *head;
	switch (action) {
	case ACTION_RESPOND:
		respond(o, s, "200", false);
		break;
	case ACTION_RESPOND_END:
		respond(o, s, "204", true);
		break;
	case ACTION_INTERIM:
		respond(o, s, "103", false);
		break;
	case ACTION_OFFER:
	case ACTION_OFFER_END:
		if (may_offer)
			h2_offer(o->conn, s, (size_t)argument * 300, action == ACTION_OFFER_END);
		break;
	case ACTION_TRAILERS:
		if (!may_offer || s->offered > 0 || s->offered_end)
			break;
		head = make_head(o, HTTP_TRAILERS, NULL);
		h2_trailers(o->conn, s, head);
		http_head_free(head);
		break;
	case ACTION_RESET:
		if (!h2_has_failed(o->conn))
			forget(o, s);
		h2_reset(o->conn, s, H2_CANCEL);
		break;
	case ACTION_CREDIT:
		h2_credit(o->conn, s, s->unread * argument / 255);
		break;
	case ACTION_WINDOW:
		h2_set_window(o->conn, s, (uint32_t)argument << 16);
		break;
	case ACTION_PRIORITY:
		h2_set_priority(o->conn, s, (struct http_priority){argument & 7, argument & 8});
		break;
	case ACTION_OPEN:
	case ACTION_TURN:
	case ACTION_CONTROL:
	case ACTION_TIME:
	case ACTION_SETTINGS:
	case ACTION_END:
	case ACTION_COUNT:
		break;
	}
}

static void act(struct owner *o, uint8_t step, uint8_t argument)
{
	struct h2_turn turn;
	enum action action = step % ACTION_COUNT;
	struct h2_stream *s = o->count ? o->handles[(step >> 4 & 7u) % o->count] : NULL;
	if (action == ACTION_OPEN)
		open_stream(o, s, argument);
	else if (action == ACTION_TURN)
		h2_next_turn(o->conn, (uint32_t)argument * 100, &turn);
	else if (action == ACTION_CONTROL)
		take_control(o, argument);
	else if (action == ACTION_TIME)
		h2_tick(o->conn, o->now += (usec)argument * argument * 100);
	else if (action == ACTION_SETTINGS)
		change_settings(o, argument);
	else if (action == ACTION_END)
		end_connection(o, argument);
	else if (s)
		act_on_stream(o, action, s, argument);
	h2_check(o->conn);
	drain_events(o);
}

static void run(struct owner *o, const uint8_t *data, size_t size)
{
	while (size >= 2) {
		uint8_t step = *data++;
		size--;
		if (step >= 0x80) {
			act(o, step, *data++);
			size--;
			continue;
		}
		size_t n = (size_t)step + 1 < size ? (size_t)step + 1 : size;
		feed(o, data, n);
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	uint8_t options = data[0];
	struct budget budget;
	budget_init(&budget, NULL, options & 8 ? 20000 : 1u << 20);
	struct owner o = {.now = 1};
	o.chunks = chunk_pool_new(16384, 1);
	o.heads = http_head_pool_new(4);
	struct h2_settings settings = h2_settings_initial;
	settings.max_concurrent_streams = 8;
	settings.max_header_list_size = 4096;
	settings.initial_window_size = options & 4 ? 100 : 65535;
	struct h2_limits limits = h2_limits_default;
	limits.reserved_streams = 8;
	struct h2_env env = {.chunks = o.chunks, .heads = o.heads, .budget = &budget, .seed = 1};
	o.conn = h2_new(options & 1 ? H2_CLIENT : H2_SERVER, &settings, &limits, &env, o.now);
	if (!(options & 2) && !(options & 1))
		feed(&o, (const uint8_t *)H2_PREFACE, H2_PREFACE_LEN);
	if (!(options & 2))
		feed(&o, (const uint8_t *)"\0\0\0\4\0\0\0\0\0", 9);
	run(&o, data + 1, size - 1);
	h2_free(o.conn);
	budget_fini(&budget);
	http_head_pool_free(o.heads);
	chunk_pool_free(o.chunks);
	return 0;
}
