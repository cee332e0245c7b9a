/* SPDX-License-Identifier: MIT */
/* The table of open connections: when a worker writes it, and what a reader takes from it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/base/memory.h"
#include "proxy/observe/connection_table.h"
#include <string.h>

static void it_is_wanted_until_the_latest_time(void **state)
{
	(void)state;
	struct connection_lane *l = memory_new(struct connection_lane);
	assert_false(connection_lane_is_wanted(l, 1));
	connection_lane_want(l, 10);
	connection_lane_want(l, 5);
	assert_true(connection_lane_is_wanted(l, 9));
	assert_false(connection_lane_is_wanted(l, 10));
	free(l);
}

static void a_reader_gets_what_is_whole(void **state)
{
	(void)state;
	struct connection_lane *l = memory_new(struct connection_lane);
	struct connection_list *copy = memory_new(struct connection_list);
	assert_true(connection_lane_read(l, copy));
	assert_int_equal(copy->written, 0);
	struct connection_list *list = connection_lane_begin(l);
	list->count = 1;
	list->rows[0] = (struct connection_row){.id = 7, .ours = {.is_known = 1, .max_concurrent_streams = 100}};
	connection_text(list->rows[0].peer, sizeof(list->rows[0].peer), "192.0.2.1");
	connection_text(list->rows[0].name, sizeof(list->rows[0].name), NULL);
	assert_false(connection_lane_read(l, copy));
	connection_lane_done(l, 42);
	assert_true(connection_lane_read(l, copy));
	assert_int_equal(copy->written, 42);
	assert_int_equal(copy->count, 1);
	assert_int_equal(copy->rows[0].id, 7);
	assert_int_equal(copy->rows[0].ours.max_concurrent_streams, 100);
	assert_string_equal(copy->rows[0].peer, "192.0.2.1");
	assert_string_equal(copy->rows[0].name, "");
	/* The worker died while it wrote; the next one has the lane. */
	(void)connection_lane_begin(l);
	assert_false(connection_lane_read(l, copy));
	(void)connection_lane_begin(l);
	connection_lane_done(l, 43);
	assert_true(connection_lane_read(l, copy));
	assert_int_equal(copy->count, 0);
	free(copy);
	free(l);
}

static void a_reader_stays_within_the_list_whatever_it_says(void **state)
{
	(void)state;
	struct connection_lane *l = memory_new(struct connection_lane);
	struct connection_list *copy = memory_new(struct connection_list);
	struct connection_list *list = connection_lane_begin(l);
	memset(list->rows, 'x', sizeof(list->rows));
	list->count = UINT32_MAX;
	connection_lane_done(l, 1);
	assert_true(connection_lane_read(l, copy));
	assert_int_equal(copy->count, 2 * CONNECTION_ROWS);
	assert_int_equal(strlen(copy->rows[copy->count - 1].peer), sizeof(copy->rows[0].peer) - 1);
	assert_int_equal(strlen(copy->rows[0].protocol), sizeof(copy->rows[0].protocol) - 1);
	free(copy);
	free(l);
}

static void a_text_is_cut_where_its_place_ends(void **state)
{
	(void)state;
	char text[4];
	connection_text(text, sizeof(text), "abcdef");
	assert_string_equal(text, "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_is_wanted_until_the_latest_time),
	    cmocka_unit_test(a_reader_gets_what_is_whole),
	    cmocka_unit_test(a_reader_stays_within_the_list_whatever_it_says),
	    cmocka_unit_test(a_text_is_cut_where_its_place_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
