/* SPDX-License-Identifier: MIT */
/* The collector of spans, and what is recorded: options of [server]. */
#include "tests/unit/conf/load.h"

static struct load with(const char *lines)
{
	char text[1024];
	snprintf(text, sizeof text, "[server]\n%s\n" LOAD_REST, lines);
	return load_text(text);
}

static void collector_is_a_host_a_port_and_a_path(void **state)
{
	(void)state;
	static const struct {
		const char *value, *host, *path, *text;
		uint16_t port;
		bool is_name;
	} rows[] = {
	    {"127.0.0.1:4318", "127.0.0.1", "/v1/traces", "127.0.0.1:4318", 4318, false},
	    {"http://127.0.0.1:4318", "127.0.0.1", "/v1/traces", "127.0.0.1:4318", 4318, false},
	    {"http://127.0.0.1:4318/", "127.0.0.1", "/v1/traces", "127.0.0.1:4318", 4318, false},
	    {"http://[::1]:80/otlp/traces?a=b", "::1", "/otlp/traces?a=b", "[::1]:80", 80, false},
	    {"collector.example:1/x", "collector.example", "/x", "collector.example:1", 1, true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char line[128];
		snprintf(line, sizeof line, "tracing = %s", rows[i].value);
		struct load load = with(line);
		assert_string_equal(load.errors, "");
		const struct conf_tracing *t = &load.conf->server.tracing;
		assert_string_equal(t->collector->host, rows[i].host);
		assert_string_equal(t->collector->text, rows[i].text);
		assert_string_equal(t->path, rows[i].path);
		assert_int_equal(t->collector->port, rows[i].port);
		assert_int_equal(conf_tracing_has_name(load.conf), rows[i].is_name);
		assert_false(conf_has_names(load.conf)); /* workers look up nothing for it */
		assert_int_equal(t->ratio, 100);
		assert_int_equal(t->parent, CONF_TRACING_TRUSTED);
		load_free(&load);
	}
}

static void off_is_no_collector(void **state)
{
	(void)state;
	static const char *const lines[] = {"", "tracing = off"};
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct load load = with(lines[i]);
		assert_string_equal(load.errors, "");
		assert_null(load.conf->server.tracing.collector);
		load_free(&load);
	}
}

static void everything_else_is_a_mistake(void **state)
{
	(void)state;
	static const struct {
		const char *value, *wrong;
	} rows[] = {
	    {"https://127.0.0.1:4318", "spans are sent over http alone"},
	    {"127.0.0.1", "it is not HOST:PORT"},
	    {"http://127.0.0.1", "it is not HOST:PORT"},
	    {"http://:4318", "it is not HOST:PORT"},
	    {"http://a.test:0", "it is not HOST:PORT"},
	    {"http://127.0.0.1:4318/#x", "its path is none of a URL"},
	    {"http://127.0.0.1:4318/a b", "its path is none of a URL"},
	    {"http://a..b:1", "its host is no name that can be looked up"},
	    {"on", "it is not HOST:PORT"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char line[128];
		snprintf(line, sizeof line, "tracing = %s", rows[i].value);
		struct load load = with(line);
		assert_null(load.conf);
		if (!strstr(load.errors, rows[i].wrong) || strncmp(load.errors, "test.ini:2: ", 12) != 0)
			fail_msg("%s: %s", rows[i].value, load.errors);
		load_free(&load);
	}
}

static void password_in_it_is_not_shown(void **state)
{
	(void)state;
	struct load load = with("tracing = http://me:secret@127.0.0.1:4318");
	assert_null(load.conf);
	assert_null(strstr(load.errors, "secret"));
	load_free(&load);
}

static void ratio_and_parent_need_a_collector(void **state)
{
	(void)state;
	struct load load = with("tracing = 127.0.0.1:1\ntracing-ratio = 0.25%\ntracing-parent = ignore\n");
	assert_string_equal(load.errors, "");
	assert_int_equal(load.conf->server.tracing.ratio, 25);
	assert_int_equal(load.conf->server.tracing.parent, CONF_TRACING_IGNORE);
	load_free(&load);
	load = load_bytes(SLICE("[server]\ntracing-ratio = 2%\n" LOAD_REST), true);
	assert_non_null(strstr(load.errors, "tracing-ratio has no effect, because tracing is off"));
	load_free(&load);
	/* A name needs resolvers. */
	load = load_bytes(SLICE("[server]\ntracing = a.test:1\ndns-timeout = 1s\n" LOAD_REST), true);
	assert_null(strstr(load.errors, "dns-timeout"));
	load_free(&load);
	load = load_bytes(SLICE("[server]\ntracing = 127.0.0.1:1\ndns-timeout = 1s\n" LOAD_REST), true);
	assert_non_null(strstr(load.errors, "dns-timeout has no effect"));
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(collector_is_a_host_a_port_and_a_path),
	    cmocka_unit_test(off_is_no_collector),
	    cmocka_unit_test(everything_else_is_a_mistake),
	    cmocka_unit_test(password_in_it_is_not_shown),
	    cmocka_unit_test(ratio_and_parent_need_a_collector),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
