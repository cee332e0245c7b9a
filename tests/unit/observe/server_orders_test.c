/* SPDX-License-Identifier: MIT */
/* Orders for servers in shared memory: rows, and what workers tell of them. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/observe/server_orders.h"
#include <stdlib.h>

static struct server_orders *begin(void **memory, size_t rows, uint32_t workers)
{
	*memory = calloc(1, server_orders_bytes(rows, workers));
	return server_orders_new(*memory, rows, workers);
}

static void rows_are_told_apart(void **state)
{
	(void)state;
	void *memory;
	struct server_orders *s = begin(&memory, 3, 2);
	server_orders_give(s, 1, (struct server_orders_row){SERVER_DRAIN, 256});
	server_orders_give(s, 2, (struct server_orders_row){SERVER_TAKEN_DOWN, 0});
	server_orders_give(s, 3, (struct server_orders_row){SERVER_TAKEN_DOWN, 1}); /* there is none */
	assert_int_equal(server_orders_get(s, 0).order, SERVER_READY);
	assert_int_equal(server_orders_get(s, 0).weight, 0);
	assert_int_equal(server_orders_get(s, 1).order, SERVER_DRAIN);
	assert_int_equal(server_orders_get(s, 1).weight, 256);
	assert_int_equal(server_orders_get(s, 2).order, SERVER_TAKEN_DOWN);
	assert_int_equal(server_orders_get(s, 3).order, SERVER_READY);
	assert_string_equal(server_order_text(SERVER_TAKEN_DOWN), "down");
	free(s);
	free(memory);
}

static void a_dead_worker_is_not_waited_for(void **state)
{
	(void)state;
	void *memory;
	struct server_orders *s = begin(&memory, 2, 2);
	server_orders_publish(s);
	server_orders_obeyed(s, 0, 1);
	assert_false(server_orders_are_obeyed(s));
	server_orders_obeyed(s, 1, 1);
	server_orders_obeyed(s, 2, 1); /* there is none */
	assert_true(server_orders_are_obeyed(s));
	server_orders_tell_open(s, 0, 1, 5);
	server_orders_tell_open(s, 1, 1, 7);
	server_orders_tell_open(s, 1, 2, 9); /* there is none */
	assert_int_equal(server_orders_open(s, 1), 12);
	assert_int_equal(server_orders_open(s, 0), 0);
	server_orders_publish(s);
	server_orders_obeyed(s, 0, 2);
	assert_false(server_orders_are_obeyed(s));
	server_orders_forget(s, 1);
	assert_true(server_orders_are_obeyed(s));
	assert_int_equal(server_orders_open(s, 1), 5);
	free(s);
	free(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rows_are_told_apart),
	    cmocka_unit_test(a_dead_worker_is_not_waited_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
