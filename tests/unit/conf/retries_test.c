/* SPDX-License-Identifier: MIT */
/* What is sent again, how often, and how long it may take: the options of routes and origins. */
#include "tests/unit/conf/load.h"

#define FLEET "[origin o]\nserver = http://127.0.0.1:1\nserver = http://127.0.0.1:2\n"

static struct load with(const char *origin, const char *route)
{
	char text[1024];
	snprintf(text, sizeof text, LOAD_LISTEN "%s\n" LOAD_ROUTE "%s\n", origin, route);
	return load_text(text);
}

static void retry_on_is_what_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool lost, late;
		unsigned statuses, one;
	} rows[] = {
	    {"", true, false, 0, 0},
	    {"retry-on = off", false, false, 0, 0},
	    {"retry-on = late", false, true, 0, 0},
	    {"retry-on = Lost, LATE 503", true, true, 1, 503},
	    {"retry-on = 500 599", false, false, 2, 599},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = with(FLEET, rows[i].line);
		assert_string_equal(load.errors, "");
		const struct conf_retry_on *on = &load.conf->routes[0].retry_on;
		unsigned statuses = 0;
		for (unsigned s = 0; s < 100; s++)
			statuses += on->statuses[s];
		assert_int_equal(on->lost, rows[i].lost);
		assert_int_equal(on->late, rows[i].late);
		assert_int_equal(statuses, rows[i].statuses);
		assert_true(rows[i].one == 0 || on->statuses[rows[i].one - 500]);
		load_free(&load);
	}
}

static void retry_on_knows_nothing_else(void **state)
{
	(void)state;
	static const char *const values[] = {"499", "600", "5xx", "lost off", "timeout", ""};
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		char line[64];
		snprintf(line, sizeof line, "retry-on = %s", values[i]);
		struct load load = with(FLEET, line);
		assert_null(load.conf);
		assert_non_null(strstr(load.errors, "retry-on"));
		load_free(&load);
	}
}

static void retry_budget_is_a_share(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		uint32_t share;
	} rows[] = {{"", 2000}, {"retry-budget = 0%", 0}, {"retry-budget = 0.5%", 50}, {"retry-budget = 100%", 10000}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char origin[256];
		snprintf(origin, sizeof origin, FLEET "%s", rows[i].line);
		struct load load = with(origin, "");
		assert_string_equal(load.errors, "");
		assert_int_equal(load.conf->origins[0].retry_budget, rows[i].share);
		load_free(&load);
	}
	struct load load = with(FLEET "retry-budget = 20", "");
	assert_null(load.conf);
	assert_non_null(strstr(load.errors, "give a share from 0% to 100%"));
	load_free(&load);
}

static void timeouts_that_are_not_given_are_the_origins(void **state)
{
	(void)state;
	struct load load = with(FLEET, "");
	assert_int_equal(load.conf->routes[0].connect_timeout, 0);
	assert_int_equal(load.conf->routes[0].response_timeout, 0);
	assert_int_equal(load.conf->routes[0].request_timeout, 0);
	load_free(&load);
	/* 0 would be no limit, which only the origin's can be */
	load = with(FLEET, "response-timeout = 0\nconnect-timeout = 0");
	assert_null(load.conf);
	load_free(&load);
	load = with(FLEET, "response-timeout = 5s\nconnect-timeout = 2s\nrequest-timeout = 0");
	assert_string_equal(load.errors, "");
	assert_int_equal(load.conf->routes[0].connect_timeout, 2 * USEC_PER_SEC);
	assert_int_equal(load.conf->routes[0].response_timeout, 5 * USEC_PER_SEC);
	load_free(&load);
}

/* ---- what has no effect ---- */

static void warns(const char *origin, const char *route, const char *expected)
{
	char text[1024];
	snprintf(text, sizeof text, LOAD_LISTEN "%s\n" LOAD_ROUTE "%s\n", origin, route);
	struct load load = load_bytes(slice_of_string(text), true);
	assert_non_null(load.conf);
	if (*expected == '\0')
		assert_string_equal(load.errors, "");
	else
		assert_non_null(strstr(load.errors, expected));
	load_free(&load);
}

static void retries_that_never_happen_are_warned_of(void **state)
{
	(void)state;
	static const char one[] = "[origin o]\nserver = http://127.0.0.1:1\n";
	warns(FLEET, "retry-on = 503\nretries = 1", "");
	warns("[origin o]\nserver = http://localhost:1\n", "retry-on = 503", "");
	warns(FLEET "retry-budget = 10%", "retry-on = late", "");
	warns(one, "retry-on = 503", "retry-on has no effect, because its origin has one server");
	warns(one, "retries = 3", "retries has no effect, because its origin has one server");
	warns(FLEET, "retry-on = 503\nretries = 0", "retry-on has no effect, because retries is 0");
	warns(FLEET, "retry-on = off\nretries = 1", "retries has no effect, because retry-on is off");
	warns("[origin o]\nserver = http://127.0.0.1:1\nretry-budget = 0%", "retry-on = off", "");
	warns(FLEET "retry-budget = 10%", "retry-on = off",
	    "retry-budget has no effect, because no route to it has retry-on and retries");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(retry_on_is_what_is_named),
	    cmocka_unit_test(retry_on_knows_nothing_else),
	    cmocka_unit_test(retry_budget_is_a_share),
	    cmocka_unit_test(timeouts_that_are_not_given_are_the_origins),
	    cmocka_unit_test(retries_that_never_happen_are_warned_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
