/* SPDX-License-Identifier: MIT */
/* limit-requests: what its words mean, and what is refused. */
#include "proxy/limits.h"
#include "tests/unit/conf/load.h"

static struct load route_with(const char *lines)
{
	char text[2048];
	snprintf(text, sizeof text, LOAD_LISTEN LOAD_ORIGIN LOAD_ROUTE "%s\n", lines);
	return load_text(text);
}

static void a_line_says_how_many_and_of_what(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		struct conf_request_limit wanted;
	} rows[] = {
	    {"100/s", {.rate = 100, .period = USEC_PER_SEC, .burst = 100}},
	    {"5/m burst 2", {.rate = 5, .period = 60 * USEC_PER_SEC, .burst = 2}},
	    {"1000000/h by=all", {.rate = 1000000, .period = 3600 * USEC_PER_SEC, .burst = 1000000, .key = CONF_LIMIT_ALL}},
	    {"concurrent=7", {.concurrent = 7}},
	    {"shadow by=client concurrent=7, 3/S", {.rate = 3, .period = USEC_PER_SEC, .burst = 3, .concurrent = 7, .is_shadow = true}},
	    {"1/s by=field:X-Key", {.rate = 1, .period = USEC_PER_SEC, .burst = 1, .key = CONF_LIMIT_FIELD, .field = SLICE_INIT("x-key")}},
	    {"1/s by=FIELD:authorization",
		{.rate = 1, .period = USEC_PER_SEC, .burst = 1, .key = CONF_LIMIT_FIELD, .field = SLICE_INIT("authorization"), .field_token = HTTP_TOKEN_AUTHORIZATION}},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char line[128];
		snprintf(line, sizeof line, "limit-requests = %s", rows[i].line);
		struct load load = route_with(line);
		assert_string_equal(load.errors, "");
		assert_int_equal(load.conf->routes[0].request_limit_count, 1);
		const struct conf_request_limit *l = &load.conf->routes[0].request_limits[0], *w = &rows[i].wanted;
		assert_string_equal(l->text, rows[i].line);
		assert_int_equal(l->rate, w->rate);
		assert_int_equal(l->period, w->period);
		assert_int_equal(l->burst, w->burst);
		assert_int_equal(l->concurrent, w->concurrent);
		assert_int_equal(l->key, w->key);
		assert_true(slice_equal(l->field, w->field));
		assert_int_equal(l->field_token, w->field_token);
		assert_int_equal(l->is_shadow, w->is_shadow);
		load_free(&load);
	}
}

static void lines_of_all_routes_are_counted(void **state)
{
	(void)state;
	struct load load = load_text(LOAD_LISTEN LOAD_ORIGIN "[route a]\norigin = o\nhost = a.test\nlimit-requests = 1/s\nlimit-requests = 2/s\n"
		"[route b]\norigin = o\nlimit-requests = 3/s\n");
	assert_string_equal(load.errors, "");
	assert_int_equal(load.conf->request_limit_count, 3);
	assert_int_equal(load.conf->server.limit_table_keys, 65536);
	unsigned seen = 0;
	for (size_t i = 0; i < load.conf->route_count; i++)
		for (size_t k = 0; k < load.conf->routes[i].request_limit_count; k++)
			seen |= 1u << load.conf->routes[i].request_limits[k].index;
	assert_int_equal(seen, 7);
	load_free(&load);
}

static void what_says_nothing_or_cannot_be_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *line, *error;
	} rows[] = {
	    {"by=client", "write a rate (100/s, 10/m), concurrent=NUMBER or both"},
	    {"shadow", "write a rate (100/s, 10/m), concurrent=NUMBER or both"},
	    {"0/s", "write a rate"},
	    {"1000001/s", "write a rate"},
	    {"10/d", "write a rate"},
	    {"10/", "write a rate"},
	    {"10", "write a rate (100/s, 10/m), concurrent=NUMBER or both; did you mean limit-requests = 10/s?"},
	    {"1000001", "write a rate (100/s, 10/m), concurrent=NUMBER or both, such as limit-requests = "},
	    {"60/min", "write a rate"},
	    {"10/s burst", "write burst NUMBER behind the rate"},
	    {"10/s burst 0", "write burst NUMBER behind the rate"},
	    {"burst 5", "write burst NUMBER behind the rate"},
	    {"concurrent=0", "give concurrent a whole number from 1 to 1000000"},
	    {"concurrent=", "give concurrent a whole number from 1 to 1000000"},
	    {"10/s by=user", "write by=client, by=field:NAME or by=all"},
	    {"10/s by=field:", "write by=client, by=field:NAME or by=all"},
	    {"10/s by=field::path", "write by=client, by=field:NAME or by=all"},
	    {"10/s by=field:Host", "name a field that is not of one hop and not Host"},
	    {"10/s by=field:connection", "name a field that is not of one hop and not Host"},
	    {"10/s burst=20", "write burst NUMBER behind the rate"},
	    {"10/s per client", "write a rate"},
	    {"10/s 20/s", "give each part once"},
	    {"10/s by=client by=all", "give each part once"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char line[128];
		snprintf(line, sizeof line, "limit-requests = %s", rows[i].line);
		struct load load = route_with(line);
		if (load.conf || !strstr(load.errors, rows[i].error))
			fail_msg("%s: '%s' lacks '%s'", rows[i].line, load.errors, rows[i].error);
		load_free(&load);
	}
}

static void a_route_has_a_bounded_number_of_lines(void **state)
{
	(void)state;
	char lines[1024] = "";
	for (unsigned i = 0; i < LIMIT_REQUEST_LIMITS; i++)
		strcat(lines, "limit-requests = 1/s\n");
	struct load load = route_with(lines);
	assert_string_equal(load.errors, "");
	load_free(&load);
	strcat(lines, "limit-requests = 1/s\n");
	load = route_with(lines);
	assert_non_null(strstr(load.errors, "the route has 16 of these lines; remove one of them"));
	load_free(&load);
}

static void a_table_without_limits_has_no_effect(void **state)
{
	(void)state;
	struct load load = load_bytes(SLICE("[server]\nlimit-table = 2048\n" LOAD_REST), true);
	const char *wanted = "test.ini:2: warning: limit-table has no effect, because no route has limit-requests; remove it\n";
	assert_non_null(strstr(load.errors, wanted));
	load_free(&load);
}

static void clients_on_unix_sockets_alone_are_not_counted(void **state)
{
	(void)state;
	static const struct {
		const char *listen, *limits;
		bool is_idle;
	} rows[] = {
	    {"", "limit-requests = 1/s\nlimit-requests = 2/m by=client\n", true},
	    {"", "limit-requests = 1/s\nlimit-requests = 1/s by=all\n", false},
	    {"", "limit-requests = 1/s by=field:x-key\n", false},
	    {LOAD_LISTEN, "limit-requests = 1/s\n", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[512];
		snprintf(text, sizeof text, LOAD_ORIGIN LOAD_ROUTE "%s[listen u]\naddress = unix:/tmp/pushgate-limits\n%s", rows[i].limits, rows[i].listen);
		struct load load = load_bytes(slice_of_string(text), true);
		bool warns = strstr(load.errors, ": warning: limit-requests has no effect, because clients on unix sockets") != NULL;
		if (warns != rows[i].is_idle)
			fail_msg("%zu: %s", i, load.errors);
		load_free(&load);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_line_says_how_many_and_of_what),
	    cmocka_unit_test(lines_of_all_routes_are_counted),
	    cmocka_unit_test(what_says_nothing_or_cannot_be_is_refused),
	    cmocka_unit_test(a_route_has_a_bounded_number_of_lines),
	    cmocka_unit_test(a_table_without_limits_has_no_effect),
	    cmocka_unit_test(clients_on_unix_sockets_alone_are_not_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
