/* SPDX-License-Identifier: MIT */
/* What the owner of the memory says of pages, in memory that it shares: whatever it writes there, a reader gets a line. */
#include "proxy/observe/observe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* covers: P-src-remembered-shown */
static void what_is_written_is_read(void **state)
{
	(void)state;
	struct observe_remembered row = {0};
	char text[OBSERVE_REMEMBERED_TEXT];
	assert_false(observe_remembered_read(&row, text));
	observe_remembered_write(&row, "www.example/: 1 client");
	assert_true(observe_remembered_read(&row, text));
	assert_string_equal(text, "www.example/: 1 client");
	uint32_t version = row.version;
	observe_remembered_write(&row, "www.example/: 1 client"); /* nothing new */
	assert_int_equal(row.version, version);
	observe_remembered_write(&row, "");
	assert_false(observe_remembered_read(&row, text));
}

static void a_long_line_is_cut(void **state)
{
	(void)state;
	struct observe_remembered row = {0};
	char text[OBSERVE_REMEMBERED_TEXT], more[OBSERVE_REMEMBERED_TEXT + 20];
	memset(more, 'x', sizeof(more));
	more[sizeof(more) - 1] = '\0';
	observe_remembered_write(&row, more);
	assert_true(observe_remembered_read(&row, text));
	assert_int_equal(strlen(text), OBSERVE_REMEMBERED_TEXT - 1);
}

static void what_is_being_written_is_not_read(void **state)
{
	(void)state;
	struct observe_remembered row = {.version = 1, .text = "half a li"};
	char text[OBSERVE_REMEMBERED_TEXT];
	assert_false(observe_remembered_read(&row, text));
}

/* A worker that an attacker has taken over controls neither a terminal nor the reader's memory. */
static void whatever_a_worker_writes_is_a_printable_line(void **state)
{
	(void)state;
	struct observe_remembered row = {0};
	char text[OBSERVE_REMEMBERED_TEXT];
	memset(row.text, '\n', sizeof(row.text));
	row.text[0] = '\x1b';
	row.text[1] = '\xff';
	assert_true(observe_remembered_read(&row, text));
	assert_int_equal(strspn(text, "?"), OBSERVE_REMEMBERED_TEXT - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_is_read),
	    cmocka_unit_test(a_long_line_is_cut),
	    cmocka_unit_test(what_is_being_written_is_not_read),
	    cmocka_unit_test(whatever_a_worker_writes_is_a_printable_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
