/* SPDX-License-Identifier: MIT */
/*
 * The system refuses memory while a gateway works: whichever allocation it is, the gateway lives, sheds load as if its
 * memory were smaller, and has all of it again when the system gives it.
 */
#include "tests/support/gateway_world.h"

#include "proxy/base/memory.h"
#include "tests/support/heap.h"

#define MIB ((size_t)1 << 20)

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

static void passes(struct gate_world *w)
{
	gate_passes(w);
	gate_passes(w);
}

/* covers: R233 */
static void each_allocation_of_a_request_may_be_refused(void **state)
{
	(void)state;
	bool was_refused = true;
	for (size_t n = 1; was_refused; n += 1 + n / 4) {
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
		w->sites[0].serve = ok;
		struct gate_peer *c = gate_client(w, NULL);
		test_heap_refuse(n, 1);
		struct gate_stream *s = gate_get(c, "/a");
		UNTIL(w, s->is_over || c->ended);
		test_heap_refuse(0, 0);
		passes(w);
		was_refused = w->counters.memory_refusals > 0;
		struct gate_stream *next = gate_get(gate_client(w, NULL), "/b");
		UNTIL(w, next->is_over);
		assert_int_equal(next->status, 200);
		gate_world_free(w);
	}
}

static void budget_becomes_what_the_system_gives_and_grows_again(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct budget *b = &w->gateway->env.budget;
	size_t most = b->limit_bytes;
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	UNTIL(w, c->settings_came > 0);

	budget_force(b, 80 * MIB);
	test_heap_refuse(1, 1);
	free(memory_alloc(1));
	assert_true(b->limit_bytes < b->used_bytes);
	assert_true(b->limit_bytes >= 70 * MIB);
	passes(w);
	assert_true(w->gateway->env.memory_is_short);
	assert_int_equal(w->counters.memory_refusals, 1);
	/* What asks for more is refused as if all of `memory` were in use. */
	struct gate_stream *s = gate_get(c, "/a");
	UNTIL(w, s->is_over || c->ended);
	assert_int_not_equal(s->status, 200);

	budget_give(b, 80 * MIB);
	passes(w);
	size_t before = b->limit_bytes;
	w->gateway->squeeze.grow_at = 0;
	passes(w);
	assert_true(b->limit_bytes > before);
	for (unsigned i = 0; i < 100 && w->gateway->squeeze.is_on; i++) {
		w->gateway->squeeze.grow_at = 0;
		passes(w);
	}
	assert_false(w->gateway->squeeze.is_on);
	assert_int_equal(b->limit_bytes, most);
	struct gate_stream *next = gate_get(gate_client(w, NULL), "/b");
	UNTIL(w, next->is_over);
	assert_int_equal(next->status, 200);
	gate_world_free(w);
}

static void worker_with_nothing_in_use_keeps_enough_for_a_client(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	test_heap_refuse(1, 1);
	free(memory_alloc(1));
	assert_int_equal(w->gateway->env.budget.limit_bytes, MIB);
	struct gate_stream *s = gate_get(gate_client(w, NULL), "/a");
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_allocation_of_a_request_may_be_refused),
	    cmocka_unit_test(budget_becomes_what_the_system_gives_and_grows_again),
	    cmocka_unit_test(worker_with_nothing_in_use_keeps_enough_for_a_client),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
