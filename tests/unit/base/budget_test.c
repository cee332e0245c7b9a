/* SPDX-License-Identifier: MIT */
/* Budgets: all levels or none. */
#include "proxy/base/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

struct levels {
	struct budget worker, connection, stream;
};

static void start(struct levels *l)
{
	budget_init(&l->worker, NULL, 1000);
	budget_init(&l->connection, &l->worker, 500);
	budget_init(&l->stream, &l->connection, 100);
}

static void take_is_counted_at_every_level(void **state)
{
	(void)state;
	struct levels l;
	start(&l);
	assert_true(budget_take(&l.stream, 60));
	assert_int_equal(l.worker.used_bytes, 60);
	assert_int_equal(l.connection.used_bytes, 60);
	budget_give(&l.stream, 60);
	budget_fini(&l.stream);
	budget_fini(&l.connection);
	budget_fini(&l.worker);
	assert_int_equal(l.worker.peak_bytes, 60);
}

static void refusal_at_any_level_changes_none(void **state)
{
	(void)state;
	struct levels l;
	start(&l);
	assert_true(budget_take(&l.worker, 950));
	assert_false(budget_take(&l.stream, 51));
	assert_int_equal(l.stream.used_bytes, 0);
	assert_int_equal(l.connection.used_bytes, 0);
	assert_int_equal(l.worker.used_bytes, 950);
	assert_int_equal(l.worker.refused, 1);
	assert_int_equal(l.stream.refused, 0);
	assert_true(budget_take(&l.stream, 50));
	assert_false(budget_take(&l.stream, SIZE_MAX));
	assert_int_equal(l.stream.refused, 1);
}

static void limit_itself_fits_and_one_more_does_not(void **state)
{
	(void)state;
	struct levels l;
	start(&l);
	assert_true(budget_take(&l.stream, 100));
	assert_false(budget_take(&l.stream, 1));
	assert_true(budget_take(&l.stream, 0));
}

static void forced_bytes_overdraw_and_are_given_back(void **state)
{
	(void)state;
	struct levels l;
	start(&l);
	budget_force(&l.stream, 150);
	assert_int_equal(l.connection.used_bytes, 150);
	assert_int_equal(budget_room(&l.stream), 0);
	assert_false(budget_take(&l.stream, 1));
	budget_give(&l.stream, 51);
	assert_int_equal(budget_room(&l.stream), 1);
	budget_give(&l.stream, 99);
	budget_fini(&l.worker);
}

static void room_is_that_of_the_tightest_level(void **state)
{
	(void)state;
	struct levels l;
	start(&l);
	assert_int_equal(budget_room(&l.stream), 100);
	assert_true(budget_take(&l.worker, 930));
	assert_int_equal(budget_room(&l.stream), 70);
	assert_int_equal(budget_room(&l.worker), 70);
}

static void nth_take_is_refused_once(void **state)
{
	(void)state;
	struct levels l;
	start(&l);
	budget_fail_nth(&l.connection, 3);
	assert_true(budget_take(&l.stream, 1));
	assert_true(budget_take(&l.connection, 1));
	assert_false(budget_take(&l.stream, 1));
	assert_true(budget_take(&l.stream, 1));
	assert_int_equal(l.connection.refused, 1);
	assert_int_equal(l.worker.used_bytes, 3);
	budget_fail_nth(&l.connection, 1);
	budget_fail_nth(&l.connection, 0);
	assert_true(budget_take(&l.stream, 1));
}

static void adjusting_charges_the_difference(void **state)
{
	(void)state;
	struct budget b;
	size_t charged = 0;
	budget_init(&b, NULL, 10);
	budget_adjust(&b, &charged, 30); /* even above the limit */
	assert_int_equal(b.used_bytes, 30);
	budget_adjust(&b, &charged, 30);
	budget_adjust(&b, &charged, 7);
	assert_int_equal(b.used_bytes, 7);
	assert_int_equal(charged, 7);
	budget_adjust(&b, &charged, 0);
	budget_fini(&b);
}

static void another_parent_pays_for_all_of_it(void **state)
{
	(void)state;
	struct budget old, new, child;
	budget_init(&old, NULL, 10);
	budget_init(&new, NULL, 1);
	budget_init(&child, &old, 10);
	assert_true(budget_take(&child, 5));
	budget_set_parent(&child, &new);
	assert_int_equal(old.used_bytes, 0);
	assert_int_equal(new.used_bytes, 5);
	budget_set_parent(&child, NULL);
	assert_int_equal(new.used_bytes, 0);
	budget_give(&child, 5);
	budget_fini(&child);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(take_is_counted_at_every_level),
	    cmocka_unit_test(refusal_at_any_level_changes_none),
	    cmocka_unit_test(limit_itself_fits_and_one_more_does_not),
	    cmocka_unit_test(forced_bytes_overdraw_and_are_given_back),
	    cmocka_unit_test(room_is_that_of_the_tightest_level),
	    cmocka_unit_test(nth_take_is_refused_once),
	    cmocka_unit_test(adjusting_charges_the_difference),
	    cmocka_unit_test(another_parent_pays_for_all_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
