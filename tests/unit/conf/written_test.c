/* SPDX-License-Identifier: MIT */
/* The configuration as it was written: each line in its order with its place, and no secret. And which pages are recorded. */
#include "tests/unit/conf/load.h"

static const char text[] = "[server]\ntracing = http://127.0.0.1:4318/v1/traces?key=word\n[listen a]\nmode = forward\naddress = 127.0.0.1:1\n[origin o]\nserver = forward:\n"
			   "upstream-proxy = http://user:word@127.0.0.1:3\n[route r]\norigin = o\n"
			   "request-set = Authorization: Bearer word\nrequest-set = X-Kind: a:b\n\nresponse-remove = X-Powered-By\n"
			   "field = X-From-Edge: word\nfield = !X-Kind\n"
			   "[origin b]\nserver = http://127.0.0.1:4\nhealth-check = /health?token=word\n"
			   "[route forward]\norigin = o\n";

static void each_line_is_there_with_its_place_and_no_secret(void **state)
{
	(void)state;
	static const struct {
		const char *word, *key, *value;
		uint32_t line;
	} rows[] = {
	    {"server", NULL, NULL, 1},
	    {"server", "tracing", "http://127.0.0.1:4318/v1/traces?…", 2},
	    {"listen", NULL, NULL, 3},
	    {"listen", "mode", "forward", 4},
	    {"listen", "address", "127.0.0.1:1", 5},
	    {"origin", NULL, NULL, 6},
	    {"origin", "server", "forward:", 7},
	    {"origin", "upstream-proxy", "http://*********@127.0.0.1:3", 8},
	    {"route", NULL, NULL, 9},
	    {"route", "origin", "o", 10},
	    {"route", "request-set", "Authorization: …", 11},
	    {"route", "request-set", "X-Kind: …", 12},
	    {"route", "response-remove", "X-Powered-By", 14},
	    {"route", "field", "X-From-Edge: …", 15},
	    {"route", "field", "!X-Kind", 16},
	    {"origin", NULL, NULL, 17},
	    {"origin", "server", "http://127.0.0.1:4", 18},
	    {"origin", "health-check", "/health?…", 19},
	    {"route", NULL, NULL, 20},
	    {"route", "origin", "o", 21},
	};
	struct load load = load_text(text);
	assert_non_null(load.conf);
	struct conf_walk walk = {0};
	struct conf_written w;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_true(conf_next_written(load.conf, &walk, &w));
		assert_string_equal(w.word, rows[i].word);
		assert_int_equal(w.at.line, rows[i].line);
		if (!rows[i].key) {
			assert_null(w.key);
			continue;
		}
		assert_string_equal(w.key, rows[i].key);
		assert_string_equal(w.value, rows[i].value);
	}
	assert_false(conf_next_written(load.conf, &walk, &w));
	load_free(&load);
}

static void pages_are_recorded_if_a_page_can_show_them(void **state)
{
	(void)state;
#define ADMIN "[listen admin]\naddress = 127.0.0.1:9\nmode = admin\n"
	static const struct {
		const char *server, *more;
		uint32_t records;
	} rows[] = {
	    {"", "", 0},
	    {"", ADMIN, 256},
	    {"page-records = 7\n", ADMIN, 7},
	    {"page-records = 0\n", ADMIN, 0},
	    {"page-records = 7\n", "", 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char all[1024];
		snprintf(all, sizeof all, "[server]\n%s" LOAD_LISTEN LOAD_ORIGIN LOAD_ROUTE "%s", rows[i].server, rows[i].more);
		struct load load = load_text(all);
		assert_non_null(load.conf);
		assert_int_equal(conf_page_records(load.conf), rows[i].records);
		assert_int_equal(conf_has_admin(load.conf), rows[i].more[0] != '\0');
		load_free(&load);
	}
	const struct conf_listen gateway = {0}, forward = {.mode = CONF_MODE_FORWARD}, admin = {.mode = CONF_MODE_ADMIN},
				 asked = {.mode = CONF_MODE_FORWARD, .recording = CONF_RECORD_YES},
				 off = {.recording = CONF_RECORD_NO};
	assert_true(conf_listen_records(&gateway));
	assert_true(conf_listen_records(&asked));
	assert_false(conf_listen_records(&forward));
	assert_false(conf_listen_records(&admin));
	assert_false(conf_listen_records(&off));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_line_is_there_with_its_place_and_no_secret),
	    cmocka_unit_test(pages_are_recorded_if_a_page_can_show_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
