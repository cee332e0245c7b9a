/* SPDX-License-Identifier: MIT */
/* What a session to an origin that speaks HTTP/2 says of tunnels, before and after the origin's SETTINGS. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/protocols/protocols.h"

struct bench {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget worker, budget;
	struct session_env env;
	struct session_plan *plans;
	struct session *session;
};

static void on_fault(void *context, const struct session_fault *fault, size_t index)
{
	(void)index;
	(void)context;
	fail_msg("%s", fault->name);
}

static void open_bench(struct bench *b)
{
	const struct conf_origin conf = {.protocols = CONF_HTTP2,
	    .max_concurrent_pushes = 100,
	    .stream_window_bytes = 65535,
	    .connection_window_bytes = 65535,
	    .max_header_list_bytes = 1 << 16,
	    .max_request_list_bytes = 1 << 16,
	    .limits = {.settings = {100, 100}, .field_block_bytes = 1 << 16, .control_bytes = 1 << 16}};
	const struct session_conn conn = {.budget = &b->budget};
	*b = (struct bench){.chunks = chunk_pool_new(4096, 4), .heads = http_head_pool_new(4)};
	budget_init(&b->worker, NULL, 1 << 20);
	budget_init(&b->budget, &b->worker, 1 << 20);
	b->env = (struct session_env){.heads = b->heads, .seed = 1, .fault = on_fault};
	b->plans = protocols_plans_for_origin(protocols_all, &conf, false);
	b->session = protocols_begin(b->plans, &b->env, &conn, 1000000);
}

static void close_bench(struct bench *b)
{
	session_free(b->session);
	protocols_plans_free(b->plans);
	http_head_pool_free(b->heads);
	chunk_pool_free(b->chunks);
}

/* SETTINGS with ENABLE_CONNECT_PROTOCOL of this value. */
static void origin_says(struct bench *b, uint8_t value)
{
	const uint8_t frame[] = {0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, value};
	struct session_event event;
	struct chunk *chunk = chunk_acquire(b->chunks);
	memcpy(chunk->data, frame, sizeof(frame));
	assert_int_equal(
	    session_receive(b->session, chunk, 0, sizeof(frame), 1000001), sizeof(frame));
	assert_true(session_next_event(b->session, &event));
	assert_int_equal(event.kind, SESSION_EVENT_READY);
	chunk_release(chunk);
}

/* covers: R399 */
static void an_origin_takes_tunnels_once_it_has_said_so(void **state)
{
	(void)state;
	struct bench b;
	open_bench(&b);
	struct http_head *get = http_head_new(b.heads), *tunnel = http_head_new(b.heads);
	tunnel->protocol = SLICE("websocket");
	assert_true(session_can(b.session, SESSION_TUNNELS));
	for (uint8_t value = 0; value < 2; value++) {
		origin_says(&b, value);
		assert_int_equal(session_peer(b.session).takes_tunnels, value);
		assert_int_equal(
		    session_request_fits(b.session, tunnel, false), value ? SESSION_FITS : SESSION_NO_TUNNEL);
		assert_int_equal(session_request_fits(b.session, get, true), SESSION_FITS);
	}
	assert_false(session_has_finished(b.session));
	http_head_free(get);
	http_head_free(tunnel);
	close_bench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_origin_takes_tunnels_once_it_has_said_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
