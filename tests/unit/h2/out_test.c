/* SPDX-License-Identifier: MIT */
/* How large the queue of frames is made, and when its memory is freed and charged. */
#include "proxy/h2/out.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct queue {
	struct budget budget;
	struct h2_out out;
};

static int set_up(void **state)
{
	static struct queue q;
	budget_init(&q.budget, NULL, 1 << 20);
	h2_out_init(&q.out, &q.budget);
	*state = &q;
	return 0;
}

static int tear_down(void **state)
{
	struct queue *q = *state;
	h2_out_fini(&q->out);
	budget_fini(&q->budget);
	return 0;
}

/* Frames of `each` bytes, `count` of them; sent together. Returns the capacity that the first of them found. */
static size_t bursts(struct h2_out *o, size_t count, size_t each)
{
	size_t first = 0;
	for (size_t i = 0; i < count; i++) {
		memset(h2_out_reserve(o, each), (int)i, each);
		h2_out_commit(o, each);
		if (i == 0)
			first = o->capacity;
	}
	assert_int_equal(h2_out_length(o), count * each);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(o->data[o->start + i * each], i);
	h2_out_taken(o, h2_out_length(o));
	h2_out_trim(o, true);
	assert_int_equal(o->capacity, 0);
	return first;
}

static void queue_is_made_for_as_much_as_was_sent_last(void **state)
{
	struct h2_out *o = &((struct queue *)*state)->out;
	assert_int_equal(bursts(o, 3, 100), H2_OUT_SMALL);
	assert_int_equal(bursts(o, 30, 100), H2_OUT_SMALL); /* it grows */
	assert_int_equal(bursts(o, 100, 100), H2_OUT_BASE);
	assert_int_equal(bursts(o, 1, 100), H2_OUT_BASE); /* no more than is not charged */
	assert_int_equal(bursts(o, 1, 100), H2_OUT_SMALL);
	assert_int_equal(bursts(o, 1, 3000), H2_OUT_BASE);
}

static void what_is_above_the_base_is_charged(void **state)
{
	struct queue *q = *state;
	h2_out_commit(&q->out, (h2_out_reserve(&q->out, H2_OUT_BASE), H2_OUT_BASE));
	assert_int_equal(q->budget.used_bytes, 0);
	h2_out_commit(&q->out, (h2_out_reserve(&q->out, 1), 1));
	assert_int_equal(q->budget.used_bytes, H2_OUT_BASE);
	h2_out_taken(&q->out, H2_OUT_BASE);
	h2_out_trim(&q->out, true); /* a byte is left */
	assert_int_equal(q->budget.used_bytes, H2_OUT_BASE);
	h2_out_taken(&q->out, 1);
	h2_out_trim(&q->out, false); /* a connection in use keeps a small one */
	assert_int_equal(q->budget.used_bytes, H2_OUT_BASE);
	h2_out_trim(&q->out, true);
	assert_int_equal(q->budget.used_bytes, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(queue_is_made_for_as_much_as_was_sent_last),
	    TEST(what_is_above_the_base_is_charged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
