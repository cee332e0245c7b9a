/* SPDX-License-Identifier: MIT */
/*
 * Two engines of ours that talk in memory: an exchange, a push, a shutdown, byte by byte and in one go.
 * The rules one by one are in the other tests of this folder.
 */
#include "tests/support/h2_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define BODY_BYTES 100000u

struct end {
	struct session *conn;
	struct h2_config config;
	struct session_env env;
	struct budget budget;
	struct session_stream *last, *pushed;
	uint64_t data_bytes;
	unsigned heads, trailers, promises, closed, resets, goaways, pongs, settings;
	bool answers;
	const struct session_fault *fault;
};

struct pair {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct end server, client;
	usec now;
	size_t step; /* bytes given at a time; 0 = all */
};

static void end_open(struct pair *p, struct end *e, enum h2_role role)
{
	e->config = (struct h2_config){role, h2_settings_initial, h2_limits_default};
	e->config.settings.max_concurrent_streams = 100;
	e->env = (struct session_env){.heads = p->heads, .seed = 7};
	budget_init(&e->budget, NULL, 1u << 24);
	const struct session_conn conn = {.budget = &e->budget};
	e->conn = h2_new(&e->config, &e->env, &conn, p->now);
}

static int pair_open(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));
	p->chunks = chunk_pool_new(16384, 8);
	p->heads = http_head_pool_new(8);
	p->now = 1000;
	end_open(p, &p->server, H2_SERVER);
	end_open(p, &p->client, H2_CLIENT);
	*state = p;
	return 0;
}

static int pair_close(void **state)
{
	struct pair *p = *state;
	session_free(p->server.conn);
	session_free(p->client.conn);
	budget_fini(&p->server.budget);
	budget_fini(&p->client.budget);
	http_head_pool_free(p->heads);
	chunk_pool_free(p->chunks);
	free(p);
	return 0;
}

static struct http_head *request_head(struct pair *p, const char *path)
{
	struct http_head *head = http_head_new(p->heads);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("http"));
	http_head_add(head, SLICE(":authority"), SLICE("a.example"));
	http_head_add(head, SLICE(":path"), slice_of_string(path));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	return head;
}

static struct http_head *response_head(struct pair *p, const char *status)
{
	struct http_head *head = http_head_new(p->heads);
	http_head_add(head, SLICE(":status"), slice_of_string(status));
	http_head_add(head, SLICE("server"), SLICE("smoke"));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	return head;
}

static void answer(struct pair *p, struct end *e, struct session_stream *s)
{
	struct http_head *head = response_head(p, "200");
	assert_true(session_respond(e->conn, s, head, false));
	session_offer(e->conn, s, BODY_BYTES, true);
	http_head_free(head);
}

static void on_event(struct pair *p, struct end *e, const struct session_event *event)
{
	switch (event->kind) {
	case SESSION_EVENT_READY:
		e->settings++;
		break;
	case SESSION_EVENT_HEAD:
		e->heads++;
		e->last = event->stream;
		if (e->answers)
			answer(p, e, event->stream);
		break;
	case SESSION_EVENT_DATA:
		e->data_bytes += event->piece.length;
		session_credit(e->conn, event->stream, event->piece.length);
		break;
	case SESSION_EVENT_TRAILERS:
		e->trailers++;
		break;
	case SESSION_EVENT_PROMISE:
		e->promises++;
		e->pushed = event->promised;
		break;
	case SESSION_EVENT_RESET:
		e->resets++;
		e->fault = event->fault;
		break;
	case SESSION_EVENT_CLOSED:
		e->closed++;
		break;
	case SESSION_EVENT_GOAWAY:
		e->goaways++;
		break;
	case SESSION_EVENT_REFUSED:
		break;
	case SESSION_EVENT_PONG:
		e->pongs++;
		break;
	case SESSION_EVENT_FAILED:
		e->fault = event->fault;
		break;
	}
	http_head_free(event->head);
}

static void drain_events(struct pair *p, struct end *e)
{
	struct session_event event;
	while (session_next_event(e->conn, &event))
		on_event(p, e, &event);
	session_check(e->conn);
}

static void give(struct pair *p, struct end *to, const void *bytes, size_t length)
{
	const uint8_t *from = bytes;
	while (length > 0) {
		struct chunk *chunk = chunk_acquire(p->chunks);
		size_t n = length < chunk->capacity ? length : chunk->capacity;
		if (p->step && n > p->step)
			n = p->step;
		memcpy(chunk->data, from, n);
		for (size_t at = 0; at < n;) {
			at += session_receive(to->conn, chunk, at, n - at, p->now);
			drain_events(p, to);
		}
		chunk_release(chunk);
		from += n;
		length -= n;
	}
}

/* Moves what `from` has to say. True if that was anything. */
static bool carry(struct pair *p, struct end *from, struct end *to)
{
	static uint8_t wire[65536];
	size_t n = 0;
	struct slice control = h2_control(from->conn);
	n = control.len;
	assert_true(n < 16384);
	memcpy(wire, control.ptr, n);
	h2_control_taken(from->conn, n);
	struct session_output frame;
	while (n < 32768 && h2_next_data(from->conn, 16384, &frame)) {
		memcpy(wire + n, frame.before.ptr, 9);
		memset(wire + n + 9, 'x', frame.length);
		n += 9 + frame.length;
	}
	drain_events(p, from);
	give(p, to, wire, n);
	return n > 0;
}

static void talk(struct pair *p)
{
	bool asked, answered;
	do {
		asked = carry(p, &p->client, &p->server);
		answered = carry(p, &p->server, &p->client);
		p->now += 100;
	} while (asked || answered);
}

static struct session_stream *ask(struct pair *p, const char *path)
{
	struct http_head *head = request_head(p, path);
	struct session_stream *s = session_request(p->client.conn, head, true, NULL);
	assert_non_null(s);
	http_head_free(head);
	return s;
}

static void an_exchange_ends_on_both_sides(void **state)
{
	struct pair *p = *state;
	p->server.answers = true;
	ask(p, "/");
	talk(p);
	assert_int_equal(p->server.heads, 1);
	assert_int_equal(p->client.heads, 1);
	assert_int_equal(p->client.data_bytes, BODY_BYTES);
	assert_int_equal(p->client.closed, 1);
	assert_int_equal(p->server.closed, 1);
	assert_int_equal(h2_open_streams(p->server.conn), 0);
	assert_true(h2_settings_acknowledged(p->server.conn));
	assert_true(h2_settings_acknowledged(p->client.conn));
}

static void an_exchange_may_come_byte_by_byte(void **state)
{
	struct pair *p = *state;
	p->step = 1;
	an_exchange_ends_on_both_sides(state);
}

static void a_push_is_promised_and_answered(void **state)
{
	struct pair *p = *state;
	ask(p, "/");
	talk(p);
	struct http_head *head = request_head(p, "/style.css");
	struct session_stream *push = session_promise(p->server.conn, p->server.last, head, NULL);
	http_head_free(head);
	assert_non_null(push);
	answer(p, &p->server, p->server.last);
	answer(p, &p->server, push);
	talk(p);
	assert_int_equal(p->client.promises, 1);
	assert_int_equal(p->client.heads, 2);
	assert_int_equal(p->client.data_bytes, 2 * BODY_BYTES);
	assert_int_equal(p->client.closed, 2);
	assert_int_equal(p->server.closed, 2);
}

static void a_refused_push_leaves_its_parent_alone(void **state)
{
	struct pair *p = *state;
	ask(p, "/");
	talk(p);
	struct http_head *head = request_head(p, "/style.css");
	struct session_stream *push = session_promise(p->server.conn, p->server.last, head, NULL);
	http_head_free(head);
	answer(p, &p->server, push);
	carry(p, &p->server, &p->client);
	session_reset(p->client.conn, p->client.pushed, SESSION_CANCEL);
	answer(p, &p->server, p->server.last);
	talk(p);
	assert_int_equal(p->server.resets, 1);
	assert_int_equal(p->client.closed, 1);
	assert_false(session_has_failed(p->client.conn));
	assert_false(session_has_failed(p->server.conn));
}

static void a_shutdown_lets_streams_end(void **state)
{
	struct pair *p = *state;
	ask(p, "/");
	talk(p);
	session_shutdown(p->server.conn, p->now);
	talk(p);
	assert_int_equal(p->client.goaways, 2);
	assert_int_equal(session_request_room(p->client.conn), 0);
	assert_false(session_is_done(p->client.conn));
	answer(p, &p->server, p->server.last);
	talk(p);
	assert_int_equal(p->client.closed, 1);
	assert_true(session_is_done(p->client.conn));
	assert_true(session_is_done(p->server.conn));
}

static void a_ping_comes_back_with_its_time(void **state)
{
	struct pair *p = *state;
	talk(p);
	assert_true(session_ping(p->client.conn, p->now));
	assert_false(session_ping(p->client.conn, p->now));
	talk(p);
	assert_int_equal(p->client.pongs, 1);
}

static void an_idle_connection_holds_its_tables_and_no_buffers(void **state)
{
	struct pair *p = *state;
	p->server.answers = true;
	ask(p, "/");
	talk(p);
	size_t server = p->server.budget.used_bytes, client = p->client.budget.used_bytes;
	assert_in_range(server, 1, 4096);
	assert_in_range(client, 1, 4096);
	ask(p, "/");
	talk(p);
	assert_int_equal(p->server.budget.used_bytes, server);
	assert_int_equal(p->client.budget.used_bytes, client);
}

static void a_bad_preface_fails_the_connection(void **state)
{
	struct pair *p = *state;
	give(p, &p->server, "PRI * HTTP/1.1", 14);
	assert_true(session_has_failed(p->server.conn));
	assert_string_equal(p->server.fault->name, "preface-bad");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pair_open, pair_close)
	const struct CMUnitTest tests[] = {
	    TEST(an_exchange_ends_on_both_sides),
	    TEST(an_exchange_may_come_byte_by_byte),
	    TEST(a_push_is_promised_and_answered),
	    TEST(a_refused_push_leaves_its_parent_alone),
	    TEST(a_shutdown_lets_streams_end),
	    TEST(a_ping_comes_back_with_its_time),
	    TEST(an_idle_connection_holds_its_tables_and_no_buffers),
	    TEST(a_bad_preface_fails_the_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
