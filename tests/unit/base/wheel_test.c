/* SPDX-License-Identifier: MIT */
/* The wheel of deadlines: never early, never lost, moved and cancelled at will. */
#include "proxy/base/wheel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define START ((usec)1000000007)

struct alarm {
	struct wheel_node node;
	usec rang;
	unsigned rings;
	struct wheel *again; /* set again in the callback when not NULL */
};

static void ring(struct wheel_node *node, usec now)
{
	struct alarm *a = container_of(node, struct alarm, node);
	a->rang = now;
	a->rings++;
	if (a->again)
		wheel_set(a->again, node, now + 5 * WHEEL_TICK_USEC);
}

static void deadline_fires_once_and_not_early(void **state)
{
	(void)state;
	struct wheel w;
	struct alarm a = {0};
	wheel_init(&w, START);
	wheel_node_init(&a.node, ring);
	wheel_set(&w, &a.node, START + 100000);
	for (usec now = START; now < START + 300000; now += 1000)
		wheel_advance(&w, now);
	assert_int_equal(a.rings, 1);
	assert_true(a.rang >= START + 100000);
	assert_true(a.rang <= START + 100000 + 2 * WHEEL_TICK_USEC);
	assert_true(wheel_next(&w) == USEC_NEVER);
}

static void deadline_beyond_the_span_fires_in_its_time(void **state)
{
	(void)state;
	struct wheel w;
	struct alarm a = {0};
	usec far = START + 60 * USEC_PER_SEC;
	wheel_init(&w, START);
	wheel_node_init(&a.node, ring);
	wheel_set(&w, &a.node, far);
	while (a.rings == 0) {
		usec next = wheel_next(&w);
		assert_true(next != USEC_NEVER);
		wheel_advance(&w, next);
	}
	assert_true(a.rang >= far);
	assert_true(a.rang <= far + 2 * WHEEL_TICK_USEC);
}

static void moved_later_it_fires_at_the_later_time(void **state)
{
	(void)state;
	struct wheel w;
	struct alarm a = {0};
	wheel_init(&w, START);
	wheel_node_init(&a.node, ring);
	wheel_set(&w, &a.node, START + 50000);
	wheel_set(&w, &a.node, START + 500000);
	wheel_advance(&w, START + 400000);
	assert_int_equal(a.rings, 0);
	wheel_advance(&w, START + 600000);
	assert_int_equal(a.rings, 1);
}

static void moved_earlier_it_fires_at_the_earlier_time(void **state)
{
	(void)state;
	struct wheel w;
	struct alarm a = {0};
	wheel_init(&w, START);
	wheel_node_init(&a.node, ring);
	wheel_set(&w, &a.node, START + 3 * USEC_PER_SEC);
	wheel_set(&w, &a.node, START + 50000);
	assert_true(wheel_next(&w) <= START + 50000 + 2 * WHEEL_TICK_USEC);
	wheel_advance(&w, START + 100000);
	assert_int_equal(a.rings, 1);
}

static void cancelled_it_never_fires(void **state)
{
	(void)state;
	struct wheel w;
	struct alarm a = {0};
	wheel_init(&w, START);
	wheel_node_init(&a.node, ring);
	wheel_set(&w, &a.node, START + 50000);
	wheel_set(&w, &a.node, USEC_NEVER);
	wheel_advance(&w, START + USEC_PER_SEC);
	assert_int_equal(a.rings, 0);
	assert_int_equal(w.count, 0);
}

static void callback_may_set_it_again(void **state)
{
	(void)state;
	struct wheel w;
	struct alarm a = {.again = &w};
	wheel_init(&w, START);
	wheel_node_init(&a.node, ring);
	wheel_set(&w, &a.node, START + WHEEL_TICK_USEC);
	for (unsigned i = 0; i < 100; i++)
		wheel_advance(&w, START + i * WHEEL_TICK_USEC);
	assert_in_range(a.rings, 10, 20);
	wheel_forget(&w, &a.node);
	assert_int_equal(w.count, 0);
}

static void long_sleep_loses_nothing(void **state)
{
	(void)state;
	struct wheel w;
	struct alarm a[100] = {0};
	wheel_init(&w, START);
	for (unsigned i = 0; i < 100; i++) {
		wheel_node_init(&a[i].node, ring);
		wheel_set(&w, &a[i].node, START + i * 700000);
	}
	wheel_advance(&w, START + 3600 * USEC_PER_SEC);
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(a[i].rings, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(deadline_fires_once_and_not_early),
	    cmocka_unit_test(deadline_beyond_the_span_fires_in_its_time),
	    cmocka_unit_test(moved_later_it_fires_at_the_later_time),
	    cmocka_unit_test(moved_earlier_it_fires_at_the_earlier_time),
	    cmocka_unit_test(cancelled_it_never_fires),
	    cmocka_unit_test(callback_may_set_it_again),
	    cmocka_unit_test(long_sleep_loses_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
