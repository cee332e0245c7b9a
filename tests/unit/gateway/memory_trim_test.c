/* SPDX-License-Identifier: MIT */
/* After a peak, memory is returned to the system: only if it is much, and once. */
#include "tests/support/gateway_world.h"

#define MIB ((size_t)1 << 20)

static void use_for_a_moment(struct gate_world *w, size_t bytes)
{
	budget_force(&w->gateway->env.budget, bytes);
	budget_give(&w->gateway->env.budget, bytes);
	gate_passes(w);
}

static bool will_look(const struct gate_world *w)
{
	return w->gateway->trim.timer.deadline != USEC_NEVER;
}

/* Runs the trim timer as if ten seconds had passed. */
static void look_now(struct gate_world *w)
{
	assert_true(will_look(w));
	wheel_set(&w->gateway->relay.wheel, &w->gateway->trim.timer, w->gateway->relay.now);
	UNTIL(w, !will_look(w));
}

static void memory_of_a_peak_is_returned_once(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	use_for_a_moment(w, 8 * MIB);
	assert_int_equal(w->counters.memory_trims, 0);
	look_now(w);
	assert_int_equal(w->counters.memory_trims, 1);
	gate_passes(w);
	assert_false(will_look(w));
	use_for_a_moment(w, 8 * MIB);
	look_now(w);
	assert_int_equal(w->counters.memory_trims, 2);
	gate_world_free(w);
}

/* One loop pass never does all of it: other connections are served in between. */
static void memory_is_returned_in_steps(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	use_for_a_moment(w, 8 * MIB);
	wheel_set(&w->gateway->relay.wheel, &w->gateway->trim.timer, w->gateway->relay.now);
	UNTIL(w, w->gateway->trim.is_under_way);
	unsigned steps = 0;
	for (unsigned before = 0; w->gateway->trim.is_under_way; before = w->gateway->trim.size) {
		assert_int_equal(w->counters.memory_trims, 0);
		assert_in_range(w->gateway->trim.size - before, 0, 1);
		net_run_once(w->loop, USEC_PER_MSEC);
		steps++;
	}
	assert_in_range(steps, 4, UINT32_MAX);
	assert_int_equal(w->counters.memory_trims, 1);
	assert_null(w->gateway->trim.taken);
	/* Nor does a worker that ends in the middle of it lose anything. */
	use_for_a_moment(w, 8 * MIB);
	wheel_set(&w->gateway->relay.wheel, &w->gateway->trim.timer, w->gateway->relay.now);
	UNTIL(w, w->gateway->trim.is_under_way);
	gate_world_free(w);
}

static void small_peak_is_not_trimmed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	use_for_a_moment(w, 3 * MIB);
	assert_false(will_look(w));
	gate_world_free(w);
}

static void peak_close_to_the_used_memory_is_not_trimmed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	budget_force(&w->gateway->env.budget, 20 * MIB);
	use_for_a_moment(w, 9 * MIB);
	assert_false(will_look(w));
	use_for_a_moment(w, 11 * MIB);
	assert_true(will_look(w));
	budget_give(&w->gateway->env.budget, 20 * MIB);
	gate_world_free(w);
}

static void memory_needed_again_is_not_trimmed(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	use_for_a_moment(w, 8 * MIB);
	budget_force(&w->gateway->env.budget, 8 * MIB);
	look_now(w);
	assert_int_equal(w->counters.memory_trims, 0);
	budget_give(&w->gateway->env.budget, 8 * MIB);
	gate_passes(w);
	look_now(w);
	assert_int_equal(w->counters.memory_trims, 1);
	gate_world_free(w);
}

static void spare_chunks_count_as_unused_memory(void **state)
{
	(void)state;
	enum { CHUNKS = 300 };
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	static struct chunk *chunks[CHUNKS];
	use_for_a_moment(w, 4 * MIB);
	assert_true(will_look(w));
	struct chunk_pool *pool = w->gateway->env.chunks;
	for (unsigned i = 0; i < CHUNKS; i++)
		assert_non_null(chunks[i] = chunk_acquire(pool));
	for (unsigned i = 0; i < CHUNKS; i++)
		chunk_release(chunks[i]);
	/* They were needed in this time, but not in the next. */
	look_now(w);
	assert_int_equal(w->counters.memory_trims, 1);
	size_t freed = chunk_pool_trim(pool);
	assert_true(freed > 0);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(memory_of_a_peak_is_returned_once),
	    cmocka_unit_test(memory_is_returned_in_steps),
	    cmocka_unit_test(small_peak_is_not_trimmed),
	    cmocka_unit_test(peak_close_to_the_used_memory_is_not_trimmed),
	    cmocka_unit_test(memory_needed_again_is_not_trimmed),
	    cmocka_unit_test(spare_chunks_count_as_unused_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
