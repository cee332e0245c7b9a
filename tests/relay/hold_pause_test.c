/* SPDX-License-Identifier: MIT */
/* What misses twice for the same cause is not held for a while. */
#include "tests/support/hold_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

/* covers: P-hold-paused */

#define PRIVATE FIELDS("cache-control", "private, max-age=20")
#define SAME NULL
#define OTHER_COOKIE FIELDS("cookie", "user=b")
#define RANGE FIELDS("range", "bytes=0-1")

static void ask(struct hold_world *hw, uint8_t client, const char *path, hold_fields fields)
{
	struct world_leg *down;
	struct exchange *x = hold_world_request(hw, &hw->store, "GET", path, fields, &down);
	x->facts.client = (struct address){.family = 4, .bytes = {192, 0, 2, client}};
	if (!hold_claim(&hw->hold, x))
		exchange_dispatch(x);
	hold_world_pass(hw);
	hold_world_take(hw, down);
}

/* The push of a page of this client. */
static bool is_held(struct hold_world *hw, uint8_t client, const char *path, hold_fields fields)
{
	struct world_leg *up;
	hw->parent->facts.client = (struct address){.family = 4, .bytes = {192, 0, 2, client}};
	struct exchange *push = hold_world_promise(hw, path, NULL, &up);
	if (!push)
		return false;
	hold_world_head(hw, push, 200, fields, false);
	hold_world_pass(hw);
	if (!exchange_is_over(push))
		world_download(hw->w, push, "abc", true);
	hold_world_pass(hw);
	return true;
}

/* A page load: what is pushed with it, and the request for that. False: it was not held. */
static bool load(struct hold_world *hw, uint8_t client, hold_fields response, hold_fields request)
{
	bool held = is_held(hw, client, "/a", response);
	ask(hw, client, "/a", request);
	hold_world_wait(hw, 25 * USEC_PER_SEC); /* longer than it is held */
	return held;
}

static const char *last_refusal(struct hold_world *hw)
{
	const char *last = strrchr(hw->w->refused, ' ');
	return last ? last + 1 : hw->w->refused;
}

static void two_misses_for_one_cause_pause_the_resource(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	assert_false(is_held(hw, 1, "/a", PRIVATE));
	assert_string_equal(last_refusal(hw), "hold-paused");
	assert_true(is_held(hw, 1, "/b", PRIVATE)); /* others are held */
	hold_world_wait(hw, 40 * USEC_PER_SEC); /* 65 s after the second miss */
	/* One more: for twice as long. */
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	hold_world_wait(hw, 90 * USEC_PER_SEC);
	assert_false(is_held(hw, 1, "/a", PRIVATE));
	hold_world_wait(hw, 10 * USEC_PER_SEC);
	/* A claim ends it. */
	assert_true(load(hw, 1, PRIVATE, SAME));
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	assert_true(is_held(hw, 1, "/a", PRIVATE));
	hold_world_free(hw);
}

static void misses_of_different_causes_do_not_add_up(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	for (int i = 0; i < 3; i++) {
		assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
		assert_true(load(hw, 1, PRIVATE, RANGE));
	}
	assert_true(load(hw, 1, PRIVATE, RANGE));
	assert_false(is_held(hw, 1, "/a", PRIVATE));
	hold_world_free(hw);
}

/* Whoever reloads, or sends what only the origin can answer, says nothing of the resource. */
static void causes_of_the_request_alone_do_not_count(void **state)
{
	(void)state;
	static const char *const reload[] = {"cache-control", "no-cache", NULL};
	static const char *const changed[] = {"if-none-match", "\"2\"", NULL};
	struct hold_world *hw = hold_world_new();
	for (int i = 0; i < 5; i++) {
		assert_true(load(hw, 1, PRIVATE, reload));
		assert_true(load(hw, 1, PRIVATE, changed));
	}
	hold_world_free(hw);
}

/* One push that several requests miss is one miss. */
static void a_push_counts_once(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	assert_true(is_held(hw, 1, "/a", PRIVATE));
	for (int i = 0; i < 5; i++)
		ask(hw, 1, "/a", OTHER_COOKIE);
	hold_world_wait(hw, 25 * USEC_PER_SEC);
	assert_true(is_held(hw, 1, "/a", PRIVATE));
	hold_world_free(hw);
}

static void what_one_client_misses_is_paused_for_that_client(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	assert_false(is_held(hw, 1, "/a", PRIVATE));
	assert_true(load(hw, 2, PRIVATE, OTHER_COOKIE)); /* the miss of another one */
	assert_false(is_held(hw, 3, "/a", PRIVATE));
	assert_false(is_held(hw, 1, "/a", PRIVATE));
	/* The next pause is for all again, whoever misses. */
	hold_world_wait(hw, 60 * USEC_PER_SEC);
	assert_true(load(hw, 3, PRIVATE, OTHER_COOKIE));
	assert_false(is_held(hw, 3, "/a", PRIVATE));
	assert_false(is_held(hw, 4, "/a", PRIVATE));
	hold_world_free(hw);
}

/* What is never fresh is given up with its head, and soon not asked for. */
static void what_no_request_could_claim_is_paused_too(void **state)
{
	(void)state;
	static const char *const nothing[] = {"x-none", "nothing said", NULL};
	static const char *const all[] = {"cache-control", "max-age=60", "vary", "*", NULL};
	for (unsigned i = 0; i < 2; i++) {
		struct hold_world *hw = hold_world_new();
		for (unsigned j = 0; j < 2; j++)
			assert_true(is_held(hw, 1, "/a", i ? all : nothing));
		assert_false(is_held(hw, 1, "/a", PRIVATE));
		assert_string_equal(last_refusal(hw), "hold-paused");
		hold_world_free(hw);
	}
}

static void misses_are_forgotten_in_time(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	hold_world_wait(hw, 600 * USEC_PER_SEC);
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	assert_false(is_held(hw, 1, "/a", PRIVATE));
	/* So is the length of the pause. */
	hold_world_wait(hw, 700 * USEC_PER_SEC);
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	assert_true(is_held(hw, 1, "/a", PRIVATE));
	hold_world_free(hw);
}

/* Three pages had it before the second of them missed. */
static void what_was_held_before_a_pause_does_not_lengthen_it(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct hold_store stores[2];
	struct exchange *first = hw->parent, *parents[2];
	struct world_leg *down;
	for (unsigned i = 0; i < 2; i++) {
		hold_store_init(&stores[i], &hw->hold, &hw->w->budget, &hold_world_ample, true);
		parents[i] = hold_world_request(hw, &stores[i], "GET", "/", NULL, &down);
		exchange_dispatch(parents[i]);
	}
	assert_true(is_held(hw, 0, "/a", PRIVATE));
	for (unsigned i = 0; i < 2; i++) {
		hw->parent = parents[i];
		assert_true(is_held(hw, 0, "/a", PRIVATE));
	}
	hw->parent = first;
	assert_false(hold_world_get(hw, "/a", OTHER_COOKIE, &down));
	for (unsigned i = 0; i < 2; i++)
		assert_false(hold_world_ask(hw, &stores[i], "GET", "/a", OTHER_COOKIE, &down));
	hold_world_wait(hw, 59 * USEC_PER_SEC);
	first->facts.client = (struct address){0};
	struct http_head *promised = world_request(hw->w, "GET", "/a");
	assert_ptr_equal(hold_refusal(first, promised), &policy_reason_HOLD_PAUSED);
	hold_world_wait(hw, 2 * USEC_PER_SEC);
	assert_null(hold_refusal(first, promised));
	http_head_free(promised);
	for (unsigned i = 0; i < 2; i++)
		hold_store_fini(&stores[i]);
	hold_world_free(hw);
}

static void no_pause_is_longer_than_an_hour(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	struct http_head *promised = world_request(hw->w, "GET", "/a");
	assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
	for (unsigned minutes = 1; minutes < 200; minutes *= 2) {
		assert_true(load(hw, 1, PRIVATE, OTHER_COOKIE));
		usec pause = (minutes < 60 ? minutes : 60) * 60 * USEC_PER_SEC;
		hw->w->relay.now += pause - 30 * USEC_PER_SEC; /* load waits for 25 s */
		assert_ptr_equal(hold_refusal(hw->parent, promised), &policy_reason_HOLD_PAUSED);
		hold_world_wait(hw, 6 * USEC_PER_SEC);
		assert_null(hold_refusal(hw->parent, promised));
	}
	http_head_free(promised);
	hold_world_free(hw);
}

static void the_table_is_bounded(void **state)
{
	(void)state;
	static const char *const nothing[] = {"x-none", "nothing said", NULL};
	struct hold_world *hw = hold_world_new();
	unsigned paused = 0;
	char path[32];
	for (unsigned round = 0; round < 2; round++)
		for (unsigned i = 0; i < 3000; i++) {
			snprintf(path, sizeof(path), "/%u", i);
			is_held(hw, 1, path, nothing);
			hw->notes[0] = hw->pushes[0] = hw->w->ended[0] = hw->w->refused[0] = 0;
			hw->w->leg_count = 2; /* the parent's */
			hold_world_wait(hw, USEC_PER_MSEC);
		}
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		struct http_head *promised = world_request(hw->w, "GET", path);
		paused += hold_refusal(hw->parent, promised) == &policy_reason_HOLD_PAUSED;
		http_head_free(promised);
	}
	assert_true(paused <= 1024);
	hold_world_free(hw);
}

static void without_memory_nothing_is_paused(void **state)
{
	(void)state;
	struct hold_world *hw = hold_world_new();
	for (unsigned i = 0; i < 3; i++) {
		assert_true(is_held(hw, 1, "/a", PRIVATE));
		struct world_leg *down;
		struct exchange *x = hold_world_request(hw, &hw->store, "GET", "/a", OTHER_COOKIE, &down);
		size_t limit = hw->w->budget.limit_bytes;
		hw->w->budget.limit_bytes = hw->w->budget.used_bytes + 4096;
		assert_false(hold_claim(&hw->hold, x));
		hw->w->budget.limit_bytes = limit;
		exchange_dispatch(x);
		hold_world_wait(hw, 25 * USEC_PER_SEC);
	}
	hold_world_free(hw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_misses_for_one_cause_pause_the_resource),
	    cmocka_unit_test(misses_of_different_causes_do_not_add_up),
	    cmocka_unit_test(causes_of_the_request_alone_do_not_count),
	    cmocka_unit_test(a_push_counts_once),
	    cmocka_unit_test(what_one_client_misses_is_paused_for_that_client),
	    cmocka_unit_test(what_no_request_could_claim_is_paused_too),
	    cmocka_unit_test(misses_are_forgotten_in_time),
	    cmocka_unit_test(what_was_held_before_a_pause_does_not_lengthen_it),
	    cmocka_unit_test(no_pause_is_longer_than_an_hour),
	    cmocka_unit_test(the_table_is_bounded),
	    cmocka_unit_test(without_memory_nothing_is_paused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
