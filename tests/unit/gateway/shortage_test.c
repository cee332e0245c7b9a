/* SPDX-License-Identifier: MIT */
/*
 * A gateway when the system is short of descriptors or memory: requests that need them wait or are answered with an
 * error, others go on, the loop does not spin, and normal service resumes after the shortage.
 */
#include "tests/support/gateway_world.h"

#include "proxy/net/loop.h"
#include "tests/support/net_faults.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

static void fail_sockets(int error)
{
	net_faults_begin();
	net_faults_plan(
	    (struct net_fault){NET_CALL_SOCKET, NET_SIDE_CONNECTING, error, 1, SIZE_MAX});
}

static size_t tries(void)
{
	return net_faults.calls[NET_CALL_SOCKET];
}

/* ---- descriptors ---- */

static void request_without_free_descriptor_is_answered_503_and_the_next_is_served(void **state)
{
	(void)state;
	static const int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		w->sites[0].serve = ok;
		struct gate_peer *c = gate_client(w, NULL);
		UNTIL(w, c->settings_came);
		fail_sockets(errors[i]);
		struct gate_stream *s = gate_get(c, "/a");
		UNTIL(w, s->is_over);
		assert_int_equal(s->status, 503);
		assert_non_null(strstr(s->status_error, "error=connection_refused"));
		/* What the system said is for the log alone. */
		assert_non_null(strstr(s->status_error, "details=\"origin-unreachable\""));
		assert_null(strstr(s->status_error, strerrordesc_np(errors[i])));
		assert_in_range(tries(), 1, 2); /* it may be tried once more */
		size_t before = tries();
		uint64_t passes = w->loop->pass;
		for (unsigned j = 0; j < 5; j++)
			net_run_once(w->loop, 10 * USEC_PER_MSEC);
		assert_int_equal(tries(), before);
		assert_in_range(w->loop->pass - passes, 1, 12);
		net_faults_plan((struct net_fault){.error = 0});
		s = gate_get(c, "/b");
		UNTIL(w, s->is_over);
		assert_int_equal(s->status, 200);
		gate_world_free(w);
	}
}

static void queued_requests_use_existing_connections_when_none_can_be_opened(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, "max-connections = 4", NULL);
	w->sites[0].options.max_streams = 1;
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[10];
	s[0] = gate_get(c, "/0");
	UNTIL(w, gate_find(w, "/0"));
	gate_passes(w);
	size_t peers = w->sites[0].peer_count;
	fail_sockets(EMFILE);
	for (unsigned i = 1; i < 10; i++) {
		char path[16];
		snprintf(path, sizeof(path), "/%u", i);
		s[i] = gate_get(c, path);
	}
	w->sites[0].serve = ok;
	gate_passes(w);
	ok(gate_find(w, "/0"));
	for (unsigned i = 0; i < 10; i++) {
		UNTIL(w, s[i]->is_over);
		assert_int_equal(s[i]->status, 200);
	}
	assert_int_equal(w->sites[0].peer_count, peers);
	/* Not one for each request: after a failure the pool waits for a second. */
	assert_in_range(tries(), 1, 4);
	gate_world_free(w);
}

/* Each system call of the gateway's origin connections fails once, at each of its occurrences. */
static void a_failing_call_costs_at_most_its_own_connection(void **state)
{
	(void)state;
	static const struct {
		enum net_call call;
		int error;
	} rows[] = {
	    {NET_CALL_SOCKET, EMFILE},
	    {NET_CALL_CONNECT, ECONNREFUSED},
	    {NET_CALL_CONNECT, EHOSTUNREACH},
	    {NET_CALL_RECV, ECONNRESET},
	    {NET_CALL_RECV, ETIMEDOUT},
	    {NET_CALL_SEND, EPIPE},
	    {NET_CALL_SEND, ENOBUFS},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool has_failed = true;
		for (size_t n = 1; has_failed; n++) {
			assert_in_range(n, 1, 50);
			struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
			w->sites[0].serve = ok;
			/* The client's own calls would fail as well: it is there already. */
			struct gate_peer *c = gate_client(w, NULL);
			UNTIL(w, c->settings_came);
			net_faults_begin();
			net_faults_plan(
			    (struct net_fault){rows[i].call, NET_SIDE_ANY, rows[i].error, n, 1});
			struct gate_stream *s = gate_get(c, "/a");
			UNTIL(w, s->is_over || c->ended);
			if (s->is_over && !s->was_reset)
				assert_true(
				    s->status == 200 || s->status == 502 || s->status == 503);
			gate_passes(w);
			has_failed = net_faults.failed > 0;
			net_faults_plan((struct net_fault){.error = 0});
			struct gate_peer *other = gate_client(w, NULL);
			s = gate_get(other, "/b");
			UNTIL(w, s->is_over);
			assert_int_equal(s->status, 200);
			gate_world_free(w);
		}
	}
}

static void request_is_retried_when_its_connection_is_lost_before_settings(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	UNTIL(w, c->settings_came);
	net_faults_begin();
	/* The origin connection reads first, when the origin's SETTINGS arrive; the client connection has nothing to read. */
	struct gate_stream *s = gate_request(c, "POST", "example.com", "/a", true, NULL);
	UNTIL(w, w->counters.upstream_connections == 1);
	net_faults_plan((struct net_fault){NET_CALL_RECV, NET_SIDE_CONNECTING, ECONNRESET, 1, 1});
	UNTIL(w, s->is_over);
	assert_int_equal(net_faults.failed, 1);
	assert_int_equal(s->status, 200);
	assert_int_equal(gate_seen(&w->sites[0], "/a"), 1);
	assert_int_equal(w->counters.upstream_connections, 2);
	/* And no more than once. */
	struct gate_site *b = &w->sites[1];
	b->serve = ok;
	s = gate_request(c, "GET", "b.example", "/b", true, NULL);
	UNTIL(w, w->counters.upstream_connections == 3);
	net_faults_plan((struct net_fault){NET_CALL_SEND, NET_SIDE_CONNECTING, EPIPE, 1, 2});
	UNTIL(w, s->is_over);
	assert_int_equal(net_faults.failed, 2);
	assert_int_equal(s->status, 503);
	assert_non_null(strstr(s->status_error, "error=connection_terminated"));
	assert_int_equal(w->counters.upstream_connections, 4);
	gate_world_free(w);
}

/* ---- chunks ---- */

/* An upload, a response with trailers, an error page, and a client whose preface arrives in two parts. */
static void everything_at_once(
    struct gate_world *w, struct gate_stream **page, struct gate_stream **lost, struct gate_peer **c)
{
	static const char preface[] = H2_PREFACE "\0\0\0\4\0\0\0\0";
	int raw = gate_raw(w);
	*c = gate_client(w, NULL);
	*page = gate_request(*c, "POST", "example.com", "/page", false, NULL);
	gate_more(*page, 150000, true);
	*lost = gate_get(*c, "/lost");
	assert_int_equal(send(raw, preface, 10, MSG_NOSIGNAL), 10);
	gate_passes(w);
	(void)send(raw, preface + 10, sizeof(preface) - 11, MSG_NOSIGNAL);
	UNTIL(w, gate_find(w, "/page") && gate_find(w, "/lost"));
	gate_answer(gate_find(w, "/page"), 200, 150000, false);
	gate_reset_stream(gate_find(w, "/lost"), SESSION_INTERNAL_ERROR);
	UNTIL(w, gate_find(w, "/page")->ended && gate_find(w, "/page")->out == 0);
	gate_trailers(gate_find(w, "/page"));
	UNTIL(w, (*page)->is_over && (*lost)->is_over);
	close(raw);
	gate_passes(w);
}

static void every_refused_read_chunk_only_delays_the_read(void **state)
{
	(void)state;
	size_t refused_clients = 0, n = 0;
	bool was_refused = true;
	while (was_refused) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		struct gate_stream *page, *lost;
		struct gate_peer *c;
		chunk_pool_fail_nth(w->chunks, ++n);
		everything_at_once(w, &page, &lost, &c);
		was_refused = chunk_pool_refused(w->chunks) > 0;
		assert_int_equal(page->status, 200);
		assert_int_equal(page->received, 150000);
		assert_int_equal(page->trailers, 1);
		assert_int_equal(lost->status, 502);
		refused_clients += w->counters.connections_refused_memory;
		gate_world_free(w);
		assert_true(n < 500);
	}
	assert_true(n > 5);
	/* The one whose preface came in two parts, once. */
	assert_int_equal(refused_clients, 1);
}

static void every_refused_copy_costs_at_most_an_error_page(void **state)
{
	(void)state;
	size_t pages_without_text = 0, n = 0;
	bool was_refused = true;
	while (was_refused) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		struct gate_stream *page, *lost;
		struct gate_peer *c;
		chunk_pool_fail_nth(w->gateway->small_chunks, ++n);
		everything_at_once(w, &page, &lost, &c);
		was_refused = chunk_pool_refused(w->gateway->small_chunks) > 0;
		assert_int_equal(page->status, 200);
		assert_int_equal(page->received, 150000);
		assert_int_equal(page->trailers, 1);
		assert_false(c->ended);
		if (lost->status == 0) {
			assert_true(lost->was_reset);
			pages_without_text++;
		} else {
			assert_int_equal(lost->status, 502);
			assert_true(lost->received > 0);
		}
		gate_world_free(w);
		assert_true(n < 500);
	}
	assert_int_equal(pages_without_text, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_without_free_descriptor_is_answered_503_and_the_next_is_served),
	    cmocka_unit_test(queued_requests_use_existing_connections_when_none_can_be_opened),
	    cmocka_unit_test(a_failing_call_costs_at_most_its_own_connection),
	    cmocka_unit_test(request_is_retried_when_its_connection_is_lost_before_settings),
	    cmocka_unit_test(every_refused_read_chunk_only_delays_the_read),
	    cmocka_unit_test(every_refused_copy_costs_at_most_an_error_page),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
