/* SPDX-License-Identifier: MIT */
/* How many connections of one request each a pool uses while its queue moves fast, and when it stops bounding them. */
#include "tests/support/script_peer.h"

#include <stdio.h>

#define OK "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
#define WINDOW_MS 30

static struct pool *plain_pool(struct gate_world *w, size_t origin)
{
	return gate_pool(w, origin, POOL_PLAIN);
}

static struct gate_world *world(const char *origin)
{
	char more[256];
	snprintf(more, sizeof(more), "[origin c]\nserver = http://%%a\n%s\n[route r]\nhost = example.com\norigin = c\n", origin);
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
	script_site(&w->sites[0]);
	return w;
}

/* ---- what follows from the measured rate: the pool is real, its clock and its numbers are the test's ---- */

struct bench {
	struct gate_world *w;
	struct pool *p;
	usec now;
};

static struct bench bench(const char *origin, uint32_t busy)
{
	struct bench b = {.w = world(origin), .now = 1000 * USEC_PER_SEC};
	b.p = plain_pool(b.w, 2);
	assert_string_equal(b.p->conf->name, "c");
	b.p->count = busy;
	b.w->gateway->relay.now = b.now;
	pool_pace_queue_began(b.p);
	return b;
}

static void pass(struct bench *b, usec span)
{
	b->w->gateway->relay.now = b->now += span;
	pool_pace_update(b->p);
}

static void moved_for(struct bench *b, uint64_t per_second, usec span)
{
	b->p->pace.sent = per_second * span / USEC_PER_SEC;
	pass(b, span);
}

/* The queue has moved at this rate for a window. */
static void moved(struct bench *b, uint64_t per_second)
{
	moved_for(b, per_second, WINDOW_MS * USEC_PER_MSEC);
}

/* The window in which a trial begins counts for nothing. */
static void settled(struct bench *b)
{
	assert_true(b->p->pace.is_settling);
	moved(b, 0);
	assert_false(b->p->pace.is_settling);
}

static void bench_free(struct bench *b)
{
	b->p->count = b->p->usable_count = b->p->connecting = 0;
	pool_pace_queue_ended(b->p);
	gate_world_free(b->w);
}

static void a_slow_queue_has_no_bound(void **state)
{
	(void)state;
	struct bench b = bench("", 128);
	for (unsigned i = 0; i < 3; i++)
		moved(&b, 7900);
	assert_int_equal(b.p->pace.bound, 0);
	bench_free(&b);
}

static void a_fast_queue_is_bounded_if_it_stays_as_fast(void **state)
{
	(void)state;
	struct bench b = bench("", 128);
	moved(&b, 30000);
	assert_int_equal(b.p->pace.bound, 32);
	settled(&b);
	moved(&b, 29000);
	assert_int_equal(b.p->pace.bound, 32);
	for (unsigned i = 0; i < 5; i++)
		moved(&b, 29000);
	assert_int_equal(b.p->pace.bound, 32);
	bench_free(&b);
}

/* 128 connections to an origin that answers within 10 ms carry 12,800 requests a second, 32 carry 3,200. */
static void a_queue_that_was_fast_because_of_many_connections_keeps_them(void **state)
{
	(void)state;
	struct bench b = bench("", 128);
	moved(&b, 12800);
	settled(&b);
	moved(&b, 3200);
	assert_int_equal(b.p->pace.bound, 0);
	for (unsigned i = 0; i < 300; i++) { /* 9 s */
		moved(&b, 12800);
		assert_int_equal(b.p->pace.bound, 0);
	}
	moved_for(&b, 12800, USEC_PER_SEC);
	assert_int_equal(b.p->pace.bound, 32);
	settled(&b);
	moved(&b, 9000);
	assert_int_equal(b.p->pace.bound, 0);
	bench_free(&b);
}

static void twice_as_many_are_tried_and_kept_if_the_queue_moves_faster(void **state)
{
	(void)state;
	struct bench b = bench("", 20); /* few were in use: there is nothing to compare with */
	moved(&b, 10000);
	assert_int_equal(b.p->pace.bound, 32);
	assert_false(b.p->pace.is_settling);
	moved(&b, 10000);
	assert_int_equal(b.p->pace.bound, 64);
	settled(&b);
	moved(&b, 15000);
	assert_int_equal(b.p->pace.bound, 128);
	settled(&b);
	moved(&b, 16000);
	assert_int_equal(b.p->pace.bound, 64);
	for (unsigned i = 0; i < 300; i++)
		moved(&b, 15000);
	assert_int_equal(b.p->pace.bound, 64);
	moved_for(&b, 15000, USEC_PER_SEC);
	assert_int_equal(b.p->pace.bound, 128);
	settled(&b);
	for (unsigned i = 0; i < 3; i++) {
		moved(&b, 20000);
		assert_int_equal(b.p->pace.bound, 128); /* max-http1-connections */
	}
	bench_free(&b);
}

static void a_bounded_queue_that_becomes_slow_is_bounded_no_more(void **state)
{
	(void)state;
	struct bench b = bench("", 10);
	moved(&b, 10000);
	assert_int_equal(b.p->pace.bound, 32);
	moved(&b, 100);
	assert_int_equal(b.p->pace.bound, 0);
	/* And in a trial. */
	moved(&b, 10000);
	moved(&b, 10000);
	assert_int_equal(b.p->pace.bound, 64);
	settled(&b);
	moved(&b, 0);
	assert_int_equal(b.p->pace.bound, 0);
	assert_int_equal(b.p->pace.trial, POOL_TRIAL_NONE);
	bench_free(&b);
}

static void a_window_is_measured_whole(void **state)
{
	(void)state;
	struct bench b = bench("", 10);
	b.p->pace.sent = 1000;
	pass(&b, (WINDOW_MS - 1) * USEC_PER_MSEC);
	assert_int_equal(b.p->pace.bound, 0);
	pass(&b, 0); /* no division by zero */
	pass(&b, USEC_PER_MSEC);
	assert_int_equal(b.p->pace.bound, 32);
	pool_pace_queue_ended(b.p);
	moved(&b, 0); /* nobody waits: nothing is measured */
	assert_int_equal(b.p->pace.bound, 32);
	bench_free(&b);
}

static void few_connections_at_most_are_not_doubled(void **state)
{
	(void)state;
	struct bench b = bench("max-http1-connections = 8", 8);
	for (unsigned i = 0; i < 4; i++)
		moved(&b, 20000);
	assert_int_equal(b.p->pace.bound, 32);
	const struct exchange first = {.attempts = 1};
	assert_int_equal(pool_pace_bound(b.p, &first, 8), 8);
	bench_free(&b);
}

static void a_bound_below_those_that_are_busy_waits_for_them(void **state)
{
	(void)state;
	struct bench b = bench("", 128);
	const struct exchange first = {.attempts = 1}, retry = {.attempts = 2};
	moved(&b, 30000);
	assert_int_equal(b.p->pace.bound, 32);
	assert_false(pool_pace_allows(b.p, &first));
	assert_int_equal(pool_pace_bound(b.p, &first, 128), 32);
	b.p->usable_count = 96;
	assert_false(pool_pace_allows(b.p, &first));
	b.p->usable_count = 97;
	assert_true(pool_pace_allows(b.p, &first));
	b.p->usable_count = 90;
	b.p->connecting = 7;
	assert_true(pool_pace_allows(b.p, &first));
	assert_true(pool_pace_allows(b.p, &retry));
	bench_free(&b);
}

/* It needs a connection that has carried nothing, but not one for each request behind it. */
static void a_retry_may_open_one_connection_above_the_bound(void **state)
{
	(void)state;
	struct bench b = bench("", 40);
	const struct exchange retry = {.attempts = 2};
	moved(&b, 30000);
	assert_int_equal(pool_pace_bound(b.p, &retry, 128), 41);
	b.p->connecting = 1;
	assert_int_equal(pool_pace_bound(b.p, &retry, 128), 32);
	b.p->connecting = 0;
	assert_int_equal(pool_pace_bound(b.p, &retry, 40), 40);
	bench_free(&b);
}

static void an_origin_that_changes_to_http2_is_bounded_no_more(void **state)
{
	(void)state;
	struct bench b = bench("", 10);
	unsigned before = b.p->known->capabilities;
	moved(&b, 10000);
	assert_int_equal(b.p->pace.bound, 32);
	b.p->known->capabilities |= SESSION_MULTIPLEXES;
	moved(&b, 10000);
	assert_int_equal(b.p->pace.bound, 0);
	b.p->known->capabilities = before;
	bench_free(&b);
}

/* ---- with connections ---- */

struct load {
	struct gate_world *w;
	struct gate_peer *client;
	struct pool *p;
};

static struct load load(const char *origin)
{
	struct load l = {.w = world(origin)};
	l.client = gate_client(l.w, NULL);
	l.p = plain_pool(l.w, 2);
	return l;
}

/* How many requests the origin has read. */
static size_t asked(const struct load *l)
{
	size_t n = 0;
	for (size_t i = 0; i < script_origins(&l->w->sites[0]); i++)
		n += script_times(script_origin(&l->w->sites[0], i), "GET /x");
	return n;
}

/* Asked in each step, it keeps the bound: on a slow machine a window ends in which the queue has hardly moved. */
static bool counts_as_fast(struct load *l)
{
	l->p->pace.try_after = USEC_NEVER;
	l->p->pace.sent = UINT32_MAX;
	return true;
}

static void a_pool_whose_requests_all_stall_grows_again(void **state)
{
	(void)state;
	struct load l = load("");
	l.p->pace.bound = 32;
	for (unsigned i = 0; i < 40; i++)
		gate_get(l.client, "/x");
	UNTIL(l.w, counts_as_fast(&l) && asked(&l) == 32);
	l.p->pace.sent = 0;
	UNTIL(l.w, asked(&l) == 40); /* nothing but the timer ends the measurement */
	assert_int_equal(l.p->pace.bound, 0);
	assert_int_equal(l.p->count, 40);
	gate_world_free(l.w);
}

static void what_waits_at_the_bound_goes_over_those_that_become_free(void **state)
{
	(void)state;
	struct load l = load("");
	struct gate_stream *x[3];
	l.p->pace.bound = 1;
	for (unsigned i = 0; i < 3; i++)
		x[i] = gate_get(l.client, "/x");
	UNTIL(l.w, counts_as_fast(&l) && pool_is_waiting(l.p));
	for (unsigned i = 0; i < 3; i++) {
		UNTIL(l.w, counts_as_fast(&l) && asked(&l) > i);
		script_put(script_origin(&l.w->sites[0], 0), OK, strlen(OK));
		UNTIL(l.w, counts_as_fast(&l) && x[i]->is_over);
		assert_int_equal(x[i]->status, 200);
	}
	assert_false(pool_is_waiting(l.p));
	assert_int_equal(l.p->pace.since, 0);
	assert_int_equal(l.p->count, l.p->usable_count);
	gate_world_free(l.w);
}

/* Clients that ask and cancel do not make a slow queue look fast. */
static void a_request_that_is_cancelled_while_it_waits_is_not_counted(void **state)
{
	(void)state;
	struct load l = load("max-http1-connections = 1");
	gate_get(l.client, "/x");
	UNTIL(l.w, asked(&l) == 1);
	uint64_t sent = l.p->pace.sent;
	gate_get(l.client, "/y");
	for (unsigned i = 0; i < 20; i++) {
		struct gate_stream *x = gate_get(l.client, "/x");
		UNTIL(l.w, l.p->queued == 2);
		gate_reset_stream(x, SESSION_CANCEL);
		UNTIL(l.w, l.p->queued == 1);
	}
	assert_true(l.p->pace.sent <= sent);
	assert_int_equal(l.p->pace.bound, 0);
	gate_world_free(l.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_queue_has_no_bound),
		cmocka_unit_test(a_fast_queue_is_bounded_if_it_stays_as_fast),
		cmocka_unit_test(a_queue_that_was_fast_because_of_many_connections_keeps_them),
		cmocka_unit_test(twice_as_many_are_tried_and_kept_if_the_queue_moves_faster),
		cmocka_unit_test(a_bounded_queue_that_becomes_slow_is_bounded_no_more),
		cmocka_unit_test(a_window_is_measured_whole),
		cmocka_unit_test(few_connections_at_most_are_not_doubled),
		cmocka_unit_test(a_bound_below_those_that_are_busy_waits_for_them),
		cmocka_unit_test(a_retry_may_open_one_connection_above_the_bound),
		cmocka_unit_test(an_origin_that_changes_to_http2_is_bounded_no_more),
		cmocka_unit_test(a_pool_whose_requests_all_stall_grows_again),
		cmocka_unit_test(what_waits_at_the_bound_goes_over_those_that_become_free),
		cmocka_unit_test(a_request_that_is_cancelled_while_it_waits_is_not_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
