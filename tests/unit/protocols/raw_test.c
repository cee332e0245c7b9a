/* SPDX-License-Identifier: MIT */
/* The session without HTTP: one tunnel, whose bytes, ends and credit are those of its connection. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/net/net_conn.h"
#include "proxy/protocols/protocols.h"

#include <stdio.h>
#include <stdlib.h>

#define WINDOW 1000u

struct bench {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct session_env env;
	struct session_plan *plans;
	struct session *session;
	struct session_stream *stream;
	/* What is sent: a send of a connection without a socket. */
	struct net_loop loop;
	struct net_conn conn;
	char sent[4096];
	size_t sent_bytes;
	/* The owner's body. */
	struct chunk *body;
	uint32_t body_at, body_end, most_at_once;
	bool took_end, resets_at_end;
	/* Events: "R" ready, "H" head, "d" data, "D" data and end, "C" closed. */
	char told[64];
	char text[4096];
	size_t text_bytes, pieces;
};

static const struct session_protocol *const raw[] = {&protocols_raw, NULL};

static struct piece front(void *user, size_t most)
{
	struct bench *b = user;
	uint32_t left = b->body_end - b->body_at;
	if (left > most)
		left = (uint32_t)most;
	if (b->most_at_once > 0 && left > b->most_at_once)
		left = b->most_at_once;
	return (struct piece){b->body, b->body_at, left};
}

static void taken(void *user, size_t n, bool end)
{
	struct bench *b = user;
	assert_false(b->took_end);
	b->body_at += (uint32_t)n;
	b->took_end = end;
	if (end && b->resets_at_end)
		session_reset(b->session, b->stream, SESSION_CANCEL);
}

static void on_fault(void *context, const struct session_fault *fault, size_t index)
{
	(void)index;
	(void)context;
	fail_msg("%s", fault->name);
}

static void drain(struct bench *b)
{
	struct session_event e;
	while (session_next_event(b->session, &e)) {
		static const char letters[] = {[SESSION_EVENT_READY] = 'R', [SESSION_EVENT_HEAD] = 'H',
		    [SESSION_EVENT_DATA] = 'd', [SESSION_EVENT_CLOSED] = 'C'};
		char letter = letters[e.kind];
		assert_true(letter != '\0');
		assert_ptr_equal(e.user, e.kind == SESSION_EVENT_READY ? NULL : b);
		if (e.kind == SESSION_EVENT_DATA) {
			if (e.piece.length > 0)
				memcpy(b->text + b->text_bytes, piece_slice(e.piece).ptr, e.piece.length);
			b->text_bytes += e.piece.length;
			b->pieces++;
		}
		if (e.kind == SESSION_EVENT_HEAD) {
			assert_int_equal(e.head->status, 200);
			assert_int_equal(e.head->count, 0);
			assert_true(e.head->opens_tunnel);
			assert_false(e.end);
			http_head_free(e.head);
		}
		size_t length = strlen(b->told);
		const char more[] = {e.kind == SESSION_EVENT_DATA && e.end ? 'D' : letter, '\0'};
		if (more[0] != 'd' || length == 0 || b->told[length - 1] != 'd')
			strcat(b->told, more);
		session_check(b->session);
	}
}

static void begin(struct bench *b)
{
	const struct conf_origin conf = {.stream_window_bytes = WINDOW};
	const struct session_conn conn = {.budget = &b->budget};
	*b = (struct bench){.chunks = chunk_pool_new(4096, 4), .heads = http_head_pool_new(4)};
	budget_init(&b->budget, NULL, 1 << 20);
	b->env = (struct session_env){
	    .heads = b->heads, .seed = 1, .fault = on_fault, .front = front, .taken = taken};
	b->plans = protocols_plans_for_origin(raw, &conf, false);
	b->session = protocols_begin(b->plans, &b->env, &conn, 1000000);
	b->body = chunk_acquire(b->chunks);
	for (uint32_t i = 0; i < b->body->capacity; i++)
		b->body->data[i] = (uint8_t)('a' + i % 26);
	b->conn.loop = &b->loop;
	b->loop.output = (struct net_buffer){malloc(4096), 0, 4096};
	session_check(b->session);
}

static void finish(struct bench *b)
{
	session_check(b->session);
	session_free(b->session);
	protocols_plans_free(b->plans);
	free(b->loop.output.data);
	chunk_release(b->body);
	http_head_pool_free(b->heads);
	chunk_pool_free(b->chunks);
}

static struct http_head *connect_head(struct bench *b, const char *protocol)
{
	struct http_head *head = http_head_new(b->heads);
	head->kind = HTTP_REQUEST;
	head->method = SLICE("CONNECT");
	head->method_token = HTTP_METHOD_CONNECT;
	head->authority = SLICE("a:1");
	head->protocol = slice_of_string(protocol);
	return head;
}

static void ask(struct bench *b, bool end)
{
	struct http_head *head = connect_head(b, "");
	assert_int_equal(session_request_fits(b->session, head, end), SESSION_FITS);
	b->stream = session_request(b->session, head, end, b);
	assert_non_null(b->stream);
	http_head_free(head);
}

static void open_tunnel(struct bench *b)
{
	begin(b);
	drain(b);
	ask(b, false);
	drain(b);
	assert_string_equal(b->told, "RH");
	b->told[0] = '\0';
}

static void say(struct bench *b, const char *text, size_t n)
{
	struct chunk *chunk = chunk_acquire(b->chunks);
	memcpy(chunk->data, text, n);
	assert_int_equal(session_receive(b->session, chunk, 0, n, 1000000), n);
	drain(b);
	chunk_release(chunk);
}

/* One send with this much room. */
static bool send_some(struct bench *b, size_t room)
{
	struct net_out out = {.conn = &b->conn, .limit = room};
	bool any = protocols_fill(b->session, &out);
	for (unsigned i = 0; i < out.count; i++) {
		const struct net_segment *s = &out.segments[i];
		const uint8_t *from = s->chunk ? s->chunk->data : b->loop.output.data;
		memcpy(b->sent + b->sent_bytes, from + s->offset, s->length);
		b->sent_bytes += s->length;
		if (s->chunk)
			chunk_release(s->chunk);
	}
	b->loop.output.size = 0;
	drain(b);
	return any;
}

static void offer(struct bench *b, uint32_t bytes, bool end)
{
	b->body_end = b->body_at + bytes;
	session_offer(b->session, b->stream, bytes, end);
}

/* ---- the answer ---- */

static void a_request_is_answered_at_once_and_nothing_is_sent_for_it(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	assert_int_equal(session_request_room(b.session), 0);
	assert_false(session_is_done(b.session));
	drain(&b);
	assert_string_equal(b.told, "R");
	assert_int_equal(session_request_room(b.session), 1);
	assert_false(session_peer(b.session).is_going_away);
	ask(&b, false);
	assert_int_equal(session_request_room(b.session), 0);
	assert_true(session_peer(b.session).is_going_away);
	assert_false(session_is_done(b.session));
	assert_false(session_wants_write(b.session));
	assert_false(send_some(&b, 100));
	assert_int_equal(b.sent_bytes, 0);
	assert_string_equal(b.told, "RH");
	finish(&b);
}

static void only_a_connect_without_a_protocol_is_sent(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	drain(&b);
	struct http_head *websocket = connect_head(&b, "websocket"), *get = connect_head(&b, "");
	get->method_token = HTTP_METHOD_GET;
	assert_int_equal(session_request_fits(b.session, websocket, false), SESSION_NO_TUNNEL);
	assert_int_equal(session_request_fits(b.session, get, true), SESSION_NO_TUNNEL);
	assert_null(session_request(b.session, websocket, false, &b));
	assert_null(session_request(b.session, get, true, &b));
	ask(&b, false);
	struct http_head *second = connect_head(&b, "");
	assert_null(session_request(b.session, second, false, &b));
	http_head_free(second);
	http_head_free(websocket);
	http_head_free(get);
	finish(&b);
}

/* Servers of other protocols may speak first; and one that waits for its client ends a silent connection. */
static void a_connection_that_nobody_asked_for_is_not_read_and_is_done(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	assert_false(session_is_full(b.session));
	drain(&b);
	assert_true(session_is_full(b.session));
	assert_true(session_is_done(b.session));
	ask(&b, false);
	assert_false(session_is_full(b.session));
	drain(&b);
	say(&b, "220 ready", 9);
	assert_string_equal(b.told, "RHd");
	finish(&b);
}

/* ---- bytes ---- */

static void bytes_of_the_peer_are_data_however_they_are_cut(void **state)
{
	(void)state;
	static const char text[] = "HTTP/1.1 500 No\r\n\r\n\0\xff";
	for (size_t cut = 0; cut < sizeof(text); cut++) {
		struct bench b;
		open_tunnel(&b);
		if (cut > 0)
			say(&b, text, cut);
		say(&b, text + cut, sizeof(text) - cut);
		assert_int_equal(b.text_bytes, sizeof(text));
		assert_memory_equal(b.text, text, sizeof(text));
		assert_int_equal(b.pieces, cut > 0 ? 2 : 1);
		finish(&b);
	}
}

/* What was read waits for nobody here: the owner is asked to read no more. */
static void without_credit_the_session_is_full(void **state)
{
	(void)state;
	struct bench b;
	open_tunnel(&b);
	say(&b, b.text, WINDOW - 1);
	assert_false(session_is_full(b.session));
	say(&b, b.text, 700);
	assert_int_equal(b.text_bytes, WINDOW + 699);
	assert_true(session_is_full(b.session));
	session_credit(b.session, b.stream, 699);
	assert_true(session_is_full(b.session));
	session_credit(b.session, b.stream, 1);
	assert_false(session_is_full(b.session));
	session_widen(b.session, b.stream, 2 * WINDOW);
	session_widen(b.session, b.stream, WINDOW);
	say(&b, b.text, WINDOW);
	assert_false(session_is_full(b.session));
	say(&b, b.text, 1);
	assert_true(session_is_full(b.session));
	session_credit(b.session, b.stream, 5 * WINDOW);
	assert_false(session_is_full(b.session));
	finish(&b);
}

static void our_bytes_leave_as_they_are_in_sends_of_any_size(void **state)
{
	(void)state;
	for (size_t room = 1; room < 60; room++) {
		struct bench b;
		open_tunnel(&b);
		b.most_at_once = 7;
		offer(&b, 50, false);
		while (session_wants_write(b.session))
			assert_true(send_some(&b, room));
		assert_false(b.took_end);
		offer(&b, 50, true);
		while (session_wants_write(b.session))
			send_some(&b, room);
		assert_true(b.took_end);
		assert_int_equal(b.sent_bytes, 100);
		assert_memory_equal(b.sent, b.body->data, 100);
		assert_true(session_has_finished(b.session));
		assert_false(session_is_done(b.session));
		finish(&b);
	}
}

/* ---- the ends ---- */

static void end_ours(struct bench *b, unsigned way)
{
	assert_false(session_has_finished(b->session));
	offer(b, way == 0 ? 0 : 3, way < 2);
	if (way == 2)
		assert_true(session_trailers(b->session, b->stream, NULL));
	assert_true(session_wants_write(b->session));
	send_some(b, 100);
	/* Our direction ends once. */
	assert_false(session_trailers(b->session, b->stream, NULL));
	assert_false(session_wants_write(b->session));
	assert_true(b->took_end);
	assert_int_equal(b->sent_bytes, way == 0 ? 0 : 3);
}

static void end_theirs(struct bench *b)
{
	say(b, "bye", 3);
	session_ended(b->session, true);
	drain(b);
}

static void each_direction_ends_by_itself(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct bench b;
		open_tunnel(&b);
		if (i & 1) {
			end_ours(&b, i / 2);
			assert_true(session_has_finished(b.session));
			say(&b, "more", 4);
			assert_string_equal(b.told, "d");
			end_theirs(&b);
			assert_string_equal(b.told, "dDC");
		} else {
			end_theirs(&b);
			assert_string_equal(b.told, "dD");
			end_ours(&b, i / 2);
			assert_string_equal(b.told, "dDC");
		}
		assert_true(session_is_done(b.session));
		assert_false(session_must_abort(b.session));
		assert_false(session_has_finished(b.session));
		assert_false(session_wants_write(b.session));
		session_offer(b.session, b.stream, 1, false);
		assert_false(session_wants_write(b.session));
		finish(&b);
	}
}

static void an_end_stays_an_end_when_the_transport_fails_behind_it(void **state)
{
	(void)state;
	struct bench b;
	open_tunnel(&b);
	end_theirs(&b);
	session_ended(b.session, false);
	session_check(b.session);
	drain(&b);
	assert_string_equal(b.told, "dD");
	finish(&b);
}

static void a_client_that_has_ended_before_the_answer_still_gets_one(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	drain(&b);
	ask(&b, true);
	drain(&b);
	send_some(&b, 100);
	assert_true(session_has_finished(b.session));
	end_theirs(&b);
	assert_string_equal(b.told, "RHdDC");
	finish(&b);
}

/* The peer was gone before the tunnel had begun: the tunnel ends as it would a moment later. */
static void an_end_that_comes_before_the_request_leaves_no_room_for_it(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	drain(&b);
	session_ended(b.session, true);
	drain(&b);
	assert_int_equal(session_request_room(b.session), 0);
	assert_true(session_is_done(b.session));
	finish(&b);
}

/* A FIN would be the end of a direction that has not ended: the transport is reset. */
static void whatever_is_cut_off_aborts_the_transport(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct bench b;
		open_tunnel(&b);
		if (i & 1)
			end_ours(&b, 1);
		if (i & 2) {
			session_ended(b.session, false); /* which ends nothing */
			drain(&b);
			assert_string_equal(b.told, "");
		}
		if (i & 4)
			session_terminate(b.session, SESSION_NO_ERROR, (struct slice){0});
		else
			session_reset(b.session, b.stream, SESSION_CANCEL);
		say(&b, "late", 4);
		assert_string_equal(b.told, "");
		assert_true(session_must_abort(b.session));
		assert_true(session_is_done(b.session));
		assert_int_equal(session_has_failed(b.session), (i & 4) != 0);
		finish(&b);
	}
}

static void a_reset_while_the_last_bytes_are_taken_is_safe(void **state)
{
	(void)state;
	for (uint32_t bytes = 0; bytes < 4; bytes += 3) {
		struct bench b;
		open_tunnel(&b);
		b.resets_at_end = true;
		offer(&b, bytes, true);
		send_some(&b, 100);
		assert_true(b.took_end);
		assert_true(session_must_abort(b.session));
		finish(&b);
	}
}

static void a_session_without_a_tunnel_ends_in_good_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct bench b;
		begin(&b);
		if (i & 1)
			drain(&b);
		if (i & 2)
			session_shutdown(b.session, 1000000);
		else
			session_terminate(b.session, SESSION_NO_ERROR, (struct slice){0});
		assert_true(session_is_done(b.session));
		assert_false(session_must_abort(b.session));
		assert_int_equal(session_request_room(b.session), 0);
		finish(&b);
	}
}

static void a_shutdown_leaves_the_tunnel_alone(void **state)
{
	(void)state;
	struct bench b;
	open_tunnel(&b);
	session_shutdown(b.session, 1000000);
	end_theirs(&b);
	end_ours(&b, 1);
	assert_string_equal(b.told, "dDC");
	finish(&b);
}

/* ---- the rest of the seam ---- */

static void it_is_a_protocol_of_origins_alone(void **state)
{
	(void)state;
	assert_int_equal(protocols_fault_count(raw), 0);
	assert_null(protocols_raw.for_clients);
	assert_null(protocols_raw.match);
	for (size_t i = 0; protocols_all[i]; i++)
		assert_ptr_not_equal(protocols_all[i], &protocols_raw);
}

static void it_describes_itself(void **state)
{
	(void)state;
	struct bench b;
	char text[128], little[8];
	open_tunnel(&b);
	say(&b, "four", 4);
	size_t length = session_describe(b.session, text, sizeof(text));
	assert_string_equal(text, "raw busy owed=4 offered=0\n");
	assert_int_equal(length, strlen(text));
	assert_int_equal(session_describe(b.session, little, sizeof(little)), sizeof(little) - 1);
	assert_int_equal(session_describe(b.session, little, 0), 0);
	assert_string_equal(session_name(b.session), "tcp");
	assert_true(session_deadline(b.session) == USEC_NEVER);
	session_tick(b.session, 2000000);
	session_trace(b.session, &b);
	assert_false(session_ping(b.session, 2000000));
	assert_true(session_can(b.session, SESSION_TUNNELS));
	assert_false(session_can(b.session, SESSION_MULTIPLEXES));
	assert_true(session_peer(b.session).takes_tunnels);
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_request_is_answered_at_once_and_nothing_is_sent_for_it),
	    cmocka_unit_test(only_a_connect_without_a_protocol_is_sent),
	    cmocka_unit_test(a_connection_that_nobody_asked_for_is_not_read_and_is_done),
	    cmocka_unit_test(bytes_of_the_peer_are_data_however_they_are_cut),
	    cmocka_unit_test(without_credit_the_session_is_full),
	    cmocka_unit_test(our_bytes_leave_as_they_are_in_sends_of_any_size),
	    cmocka_unit_test(each_direction_ends_by_itself),
	    cmocka_unit_test(an_end_stays_an_end_when_the_transport_fails_behind_it),
	    cmocka_unit_test(a_client_that_has_ended_before_the_answer_still_gets_one),
	    cmocka_unit_test(an_end_that_comes_before_the_request_leaves_no_room_for_it),
	    cmocka_unit_test(whatever_is_cut_off_aborts_the_transport),
	    cmocka_unit_test(a_reset_while_the_last_bytes_are_taken_is_safe),
	    cmocka_unit_test(a_session_without_a_tunnel_ends_in_good_order),
	    cmocka_unit_test(a_shutdown_leaves_the_tunnel_alone),
	    cmocka_unit_test(it_is_a_protocol_of_origins_alone),
	    cmocka_unit_test(it_describes_itself),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
