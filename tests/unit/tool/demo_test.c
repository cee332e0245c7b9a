/* SPDX-License-Identifier: MIT */
/* The demo origin, asked by a client engine of ours over its socketpair. */
#include "proxy/base/memory.h"
#include "proxy/h2/h2.h"
#include "proxy/tool/demo.h"
#include "proxy/tool/tool_conn.h"
#include "proxy/tool/tool.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define STREAMS_MAX 64

/* What came of one stream. */
struct answer {
	uint32_t id;
	char path[64];
	uint16_t status;
	char type[64], etag[64];
	uint64_t length; /* content-length */
	char *body;
	size_t body_len, capacity;
	bool is_pushed, is_complete;
	unsigned promised_at; /* DATA frames seen before the promise */
	unsigned nth;         /* the how manieth to be complete, from 1 */
};

struct bench {
	struct chunk_pool *chunks;
	struct net_loop *loop;
	struct http_head_pool *heads;
	struct budget budget;
	struct demo_origin *demo;
	struct conf_origin_server server; /* the delays */
	struct link wire;
	struct h2_config config;
	struct session_env env;
	struct slice upload;
	struct answer answers[STREAMS_MAX];
	size_t count;
	unsigned data_frames, completed;
	bool is_holding_credit, has_failed;
};

static struct answer *answer_of(struct bench *b, uint32_t id)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->answers[i].id == id)
			return &b->answers[i];
	assert_true(b->count < STREAMS_MAX);
	b->answers[b->count] = (struct answer){.id = id};
	return &b->answers[b->count++];
}

static void copy_field(const struct http_head *head, enum http_token token, char *out, size_t size)
{
	const struct http_field *f = http_head_find(head, token);
	snprintf(out, size, "%.*s", f ? (int)f->value.len : 0, f ? f->value.ptr : "");
}

static void on_data(struct bench *b, struct answer *a, const struct session_event *e)
{
	b->data_frames++;
	if (a->body_len + e->piece.length >= a->capacity) {
		a->capacity = 2 * (a->body_len + e->piece.length) + 4096;
		a->body = memory_resize(a->body, a->capacity, 1);
	}
	if (e->piece.length > 0)
		memcpy(
		    a->body + a->body_len, e->piece.chunk->data + e->piece.offset, e->piece.length);
	a->body_len += e->piece.length;
	if (!b->is_holding_credit && !e->end)
		session_credit(b->wire.session, e->stream, e->piece.length);
}

static void on_event(void *owner, struct session_event *e)
{
	struct bench *b = owner;
	struct answer *a = e->stream ? answer_of(b, h2_stream_id(e->stream)) : NULL;
	if (e->kind == SESSION_EVENT_PROMISE) {
		struct answer *p = answer_of(b, h2_stream_id(e->promised));
		p->is_pushed = true;
		p->promised_at = b->data_frames;
		snprintf(
		    p->path, sizeof(p->path), "%.*s", (int)e->head->path.len, e->head->path.ptr);
		assert_true(slice_equal(e->head->authority, SLICE("a.test")));
		assert_true(slice_equal(e->head->scheme, SLICE("https")));
	} else if (e->kind == SESSION_EVENT_HEAD) {
		a->status = e->head->status;
		a->length = e->head->content_length;
		copy_field(e->head, HTTP_TOKEN_CONTENT_TYPE, a->type, sizeof(a->type));
		copy_field(e->head, HTTP_TOKEN_ETAG, a->etag, sizeof(a->etag));
	} else if (e->kind == SESSION_EVENT_DATA) {
		on_data(b, a, e);
	} else if (e->kind == SESSION_EVENT_FAILED) {
		b->has_failed = true;
	}
	if (a && e->end && e->kind != SESSION_EVENT_PROMISE) {
		a->is_complete = true;
		a->nth = ++b->completed;
	}
	http_head_free(e->head);
}

static void on_payload(void *owner, struct net_out *out, const struct session_output *frame)
{
	struct bench *b = owner;
	net_out_copy(out, b->upload.ptr, frame->length);
	b->upload = slice_from(b->upload, frame->length);
}

static void on_finished(void *owner)
{
	(void)owner;
}

static void on_ended(void *owner, enum net_end end, const char *text)
{
	(void)end, (void)text;
	struct bench *b = owner;
	link_close(&b->wire);
}

static const struct link_ops ops = {on_event, on_payload, on_finished, on_ended};
static const struct net_conn_ops net_ops = {
    .received = link_received, .fill = link_fill, .ended = link_ended};

static int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	b->chunks = chunk_pool_new(16384, 8);
	b->loop = net_loop_new(b->chunks);
	b->heads = http_head_pool_new(8);
	budget_init(&b->budget, NULL, 64u << 20);
	b->demo = demo_origin_new(b->loop, b->chunks, 1);
	link_init(&b->wire, b->loop, &ops, b);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	link_fini(&b->wire);
	demo_origin_free(b->demo);
	for (size_t i = 0; i < b->count; i++)
		free(b->answers[i].body);
	net_loop_free(b->loop);
	http_head_pool_free(b->heads);
	budget_fini(&b->budget);
	chunk_pool_free(b->chunks);
	free(b);
	return 0;
}

static void connect_with(struct bench *b, const struct h2_settings *settings)
{
	int fd = demo_origin_connect(b->demo, &b->server);
	assert_true(fd >= 0);
	b->wire.net = net_conn_new(b->loop, fd, NULL, &net_ops, &b->wire);
	b->config = (struct h2_config){H2_CLIENT, *settings, h2_limits_default};
	b->env = (struct session_env){.heads = b->heads, .seed = 2};
	const struct session_conn conn = {.budget = &b->budget};
	link_start(&b->wire, h2_new(&b->config, &b->env, &conn, net_now(b->loop)));
}

static struct session_stream *request_stream(
    struct bench *b, const char *method, const char *path, const char *if_none_match)
{
	struct http_head *head = http_head_new(b->heads);
	head->kind = HTTP_REQUEST;
	head->method = slice_of_string(method);
	head->method_token = (uint16_t)http_method_find(head->method);
	head->scheme = SLICE("https");
	head->authority = SLICE("a.test");
	head->path = slice_of_string(path);
	if (if_none_match)
		http_head_add_token(head, HTTP_TOKEN_IF_NONE_MATCH, slice_of_string(if_none_match));
	bool has_body = b->upload.len > 0;
	struct session_stream *s = session_request(b->wire.session, head, !has_body, NULL);
	http_head_free(head);
	assert_non_null(s);
	if (has_body)
		session_offer(b->wire.session, s, b->upload.len, true);
	link_wake(&b->wire);
	return s;
}

static uint32_t request(
    struct bench *b, const char *method, const char *path, const char *if_none_match)
{
	return h2_stream_id(request_stream(b, method, path, if_none_match));
}

static bool all_complete(const struct bench *b)
{
	for (size_t i = 0; i < b->count; i++)
		if (!b->answers[i].is_complete)
			return false;
	return b->count > 0;
}

/*
 * Until every stream that is known of is complete; each loop pass ends at once when something happened.
 */
static void run(struct bench *b)
{
	for (int turn = 0; turn < 5000 && !all_complete(b) && !b->has_failed; turn++)
		net_run_once(b->loop, USEC_PER_SEC);
	assert_false(b->has_failed);
}

/* Enough turns for everything that can move to have moved. */
static void run_until_quiet(struct bench *b)
{
	for (int turn = 0; turn < 200; turn++)
		net_run_once(b->loop, 0);
}

static struct answer *get(struct bench *b, const char *method, const char *path)
{
	uint32_t id = request(b, method, path, NULL);
	answer_of(b, id);
	run(b);
	return answer_of(b, id);
}

static void page_promises_its_assets_before_its_data(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	struct answer *page = get(b, "GET", "/");
	assert_int_equal(page->status, 200);
	assert_int_equal(page->length, page->body_len);
	assert_string_equal(page->type, "text/html; charset=utf-8");
	unsigned pushes = 0;
	for (size_t i = 0; i < b->count; i++) {
		const struct answer *a = &b->answers[i];
		if (!a->is_pushed)
			continue;
		pushes++;
		assert_int_equal(a->promised_at, 0);
		assert_int_equal(a->status, 200);
		assert_true(a->is_complete);
		assert_int_equal(a->length, a->body_len);
		assert_true(a->type[0] && a->etag[0]);
		page->body[page->body_len] = '\0';
		/* What is pushed is what the page, or a script of it, asks for. */
		if (strcmp(a->path, "/facts.json") != 0)
			assert_non_null(strstr(page->body, a->path));
	}
	assert_int_equal(pushes, DEMO_LATE - DEMO_FIRST_PUSHED);
}

static void client_without_push_gets_the_page_alone(void **state)
{
	struct bench *b = *state;
	struct h2_settings settings = h2_settings_initial;
	settings.enable_push = 0;
	connect_with(b, &settings);
	run_until_quiet(b); /* the SETTINGS are there before the request */
	struct answer *page = get(b, "GET", "/");
	assert_int_equal(page->status, 200);
	assert_int_equal(b->count, 1);
}

static void pushes_wait_for_the_clients_stream_limit(void **state)
{
	struct bench *b = *state;
	struct h2_settings settings = h2_settings_initial;
	settings.max_concurrent_streams = 2;
	settings.initial_window_size = 100; /* so that a response does not end by itself */
	connect_with(b, &settings);
	run_until_quiet(b);
	b->is_holding_credit = true;
	answer_of(b, request(b, "GET", "/", NULL));
	run_until_quiet(b);
	unsigned begun = 0, promised = 0;
	for (size_t i = 0; i < b->count; i++) {
		promised += b->answers[i].is_pushed;
		begun += b->answers[i].is_pushed && b->answers[i].status;
	}
	assert_int_equal(promised, DEMO_LATE - DEMO_FIRST_PUSHED);
	assert_int_equal(begun, 2);
}

static void head_has_the_length_and_no_body_and_no_pushes(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	struct answer *page = get(b, "HEAD", "/");
	assert_int_equal(page->status, 200);
	assert_int_equal(page->body_len, 0);
	assert_int_equal(page->length, demo_assets[DEMO_PAGE].body.len);
	assert_int_equal(b->count, 1);
}

static void unknown_path_is_404_and_unknown_method_405(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	assert_int_equal(get(b, "GET", "/nothing")->status, 404);
	assert_int_equal(get(b, "DELETE", "/")->status, 405);
	assert_int_equal(get(b, "HEAD", "/nothing")->status, 404);
}

static void matching_etag_is_answered_304(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	struct answer *first = get(b, "GET", "/logo.svg");
	assert_int_equal(first->status, 200);
	char etag[64];
	strcpy(etag, first->etag);
	uint32_t id = request(b, "GET", "/logo.svg", etag);
	answer_of(b, id);
	run(b);
	assert_int_equal(answer_of(b, id)->status, 304);
	assert_int_equal(answer_of(b, id)->body_len, 0);
}

static void image_is_a_whole_svg(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	struct answer *image = get(b, "GET", "/gradient.svg");
	assert_int_equal(image->status, 200);
	assert_string_equal(image->type, "image/svg+xml");
	assert_memory_equal(image->body, "<svg ", 5);
	assert_memory_equal(image->body + image->body_len - 7, "</svg>\n", 7);
}

static void big_is_ten_mebibytes_through_the_windows(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	struct answer *big = get(b, "GET", "/big?x");
	assert_int_equal(big->body_len, 10u << 20);
	assert_memory_equal(big->body, big->body + (5u << 20), 4096);
}

static void body_stops_at_the_stream_window(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	b->is_holding_credit = true;
	uint32_t id = request(b, "GET", "/big", NULL);
	run_until_quiet(b);
	assert_int_equal(answer_of(b, id)->body_len, 65535);
}

static void echo_returns_the_upload(void **state)
{
	struct bench *b = *state;
	static char upload[700000];
	for (size_t i = 0; i < sizeof(upload); i++)
		upload[i] = (char)(i * 13 + i / 509);
	connect_with(b, &h2_settings_initial);
	b->upload = slice_of(upload, sizeof(upload));
	struct answer *echo = get(b, "POST", "/echo");
	assert_int_equal(echo->status, 200);
	assert_int_equal(echo->body_len, sizeof(upload));
	assert_memory_equal(echo->body, upload, sizeof(upload));
}

static void echo_of_nothing_is_empty(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	struct answer *echo = get(b, "POST", "/echo");
	assert_int_equal(echo->status, 200);
	assert_int_equal(echo->body_len, 0);
}

static void slow_promises_late_and_then_goes_on(void **state)
{
	struct bench *b = *state;
	connect_with(b, &h2_settings_initial);
	struct answer *slow = get(b, "GET", "/slow");
	assert_int_equal(slow->body_len, demo_slow_parts[0].len + demo_slow_parts[1].len);
	assert_int_equal(b->count, 2);
	const struct answer *push = &b->answers[1];
	assert_string_equal(push->path, "/late.css");
	assert_int_equal(push->promised_at, 1);
	run(b);
	assert_true(push->is_complete);
}

static void pushes_arrive_while_the_page_is_still_thought_about(void **state)
{
	struct bench *b = *state;
	b->server.demo_think = 300 * USEC_PER_MSEC;
	b->server.demo_rtt = 5 * USEC_PER_MSEC;
	connect_with(b, &h2_settings_initial);
	usec begun = clock_monotonic();
	struct answer *page = get(b, "GET", "/");
	assert_true(clock_monotonic() - begun >= 305 * USEC_PER_MSEC);
	assert_int_equal(page->status, 200);
	assert_int_equal(b->count, 1 + DEMO_LATE - DEMO_FIRST_PUSHED);
	assert_int_equal(page->nth, b->count);
	/* What is asked for is as far away as the page. */
	begun = clock_monotonic();
	assert_int_equal(get(b, "GET", "/logo.svg")->status, 200);
	assert_true(clock_monotonic() - begun >= 5 * USEC_PER_MSEC);
}

static void request_may_be_cancelled_while_the_demo_thinks(void **state)
{
	struct bench *b = *state;
	b->server.demo_think = USEC_PER_SEC; /* longer than a busy machine keeps the cancellation waiting */
	struct h2_settings settings = h2_settings_initial;
	settings.enable_push = 0;
	connect_with(b, &settings);
	run_until_quiet(b);
	struct session_stream *page = request_stream(b, "GET", "/", NULL);
	run_until_quiet(b);
	session_reset(b->wire.session, page, SESSION_CANCEL);
	link_wake(&b->wire);
	usec until = clock_monotonic() + b->server.demo_think + 30 * USEC_PER_MSEC;
	while (clock_monotonic() < until)
		net_run_once(b->loop, until - clock_monotonic());
	b->count = 0; /* forgets the cancelled one */
	assert_int_equal(get(b, "GET", "/logo.svg")->status, 200);
}

static void slow_is_as_far_away_as_the_page(void **state)
{
	struct bench *b = *state;
	b->server.demo_rtt = USEC_PER_MSEC;
	connect_with(b, &h2_settings_initial);
	struct answer *slow = get(b, "GET", "/slow");
	assert_int_equal(slow->body_len, demo_slow_parts[0].len + demo_slow_parts[1].len);
}

static void client_that_goes_away_is_forgotten_and_the_next_served(void **state)
{
	struct bench *b = *state;
	struct h2_settings settings = h2_settings_initial;
	settings.initial_window_size = 100;
	connect_with(b, &settings);
	run_until_quiet(b);
	b->is_holding_credit = true;
	uint32_t id = request(b, "GET", "/slow", NULL);
	run_until_quiet(b);
	link_close(&b->wire);
	run_until_quiet(b);
	/* The client went away in the middle: the demo forgets it, and serves the next. */
	assert_true(answer_of(b, id)->body_len > 0);
	assert_false(answer_of(b, id)->is_complete);
	session_free(b->wire.session);
	b->wire.session = NULL;
	b->is_holding_credit = false;
	for (size_t i = 0; i < b->count; i++)
		free(b->answers[i].body);
	b->count = 0;
	connect_with(b, &h2_settings_initial);
	assert_int_equal(get(b, "GET", "/logo.svg")->status, 200);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(page_promises_its_assets_before_its_data),
	    TEST(client_without_push_gets_the_page_alone),
	    TEST(pushes_wait_for_the_clients_stream_limit),
	    TEST(head_has_the_length_and_no_body_and_no_pushes),
	    TEST(unknown_path_is_404_and_unknown_method_405),
	    TEST(matching_etag_is_answered_304),
	    TEST(image_is_a_whole_svg),
	    TEST(big_is_ten_mebibytes_through_the_windows),
	    TEST(body_stops_at_the_stream_window),
	    TEST(echo_returns_the_upload),
	    TEST(echo_of_nothing_is_empty),
	    TEST(slow_promises_late_and_then_goes_on),
	    TEST(pushes_arrive_while_the_page_is_still_thought_about),
	    TEST(request_may_be_cancelled_while_the_demo_thinks),
	    TEST(slow_is_as_far_away_as_the_page),
	    TEST(client_that_goes_away_is_forgotten_and_the_next_served),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
