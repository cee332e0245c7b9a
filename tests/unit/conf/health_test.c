/* SPDX-License-Identifier: MIT */
/* The options of ejection and of checks: what they become, their mistakes, and when they have no effect. */
#include "tests/unit/conf/load.h"

#define SERVERS "server = http://127.0.0.1:81\nserver = http://127.0.0.1:82\n"

static struct load origin(const char *options)
{
	char text[1024];
	snprintf(text, sizeof text, LOAD_LISTEN "[origin o]\n%s" LOAD_ROUTE, options);
	return load_text(text);
}

static void nothing_is_given(void **state)
{
	(void)state;
	struct load load = origin(SERVERS);
	const struct conf_origin *o = &load.conf->origins[0];
	assert_true(conf_origin_may_eject(o));
	assert_int_equal(o->eject.failures, 5);
	assert_int_equal(o->eject.percent, 50);
	assert_int_equal(o->eject.most, 50);
	assert_int_equal(o->eject.time, 10 * USEC_PER_SEC);
	assert_int_equal(o->eject.time_max, 300 * USEC_PER_SEC);
	assert_true(conf_statuses_have(&o->eject.failure_status, 503));
	assert_false(conf_statuses_have(&o->eject.failure_status, 500));
	assert_int_equal(o->check.kind, CONF_CHECK_OFF);
	assert_int_equal(o->check.interval, 5 * USEC_PER_SEC);
	assert_int_equal(o->check.timeout, 2 * USEC_PER_SEC);
	assert_int_equal(o->check.rise, 2);
	assert_int_equal(o->check.fall, 3);
	assert_true(conf_statuses_have(&o->check.statuses, 200));
	assert_true(conf_statuses_have(&o->check.statuses, 399));
	assert_false(conf_statuses_have(&o->check.statuses, 400));
	load_free(&load);
}

static void all_is_given(void **state)
{
	(void)state;
	struct load load = origin(SERVERS "failure-status = 500, 502-504 429\nhealth-check = /ok?full=1\n"
					  "health-host = app.example.com:8443\nhealth-status = 204\n");
	assert_string_equal(load.errors, "");
	const struct conf_origin *o = &load.conf->origins[0];
	static const unsigned failures[] = {429, 500, 502, 503, 504}, others[] = {200, 428, 430, 501, 505};
	for (size_t i = 0; i < 5; i++) {
		assert_true(conf_statuses_have(&o->eject.failure_status, failures[i]));
		assert_false(conf_statuses_have(&o->eject.failure_status, others[i]));
	}
	assert_int_equal(o->check.kind, CONF_CHECK_GET);
	assert_string_equal(o->check.path, "/ok?full=1");
	assert_string_equal(o->check.host, "app.example.com:8443");
	load_free(&load);
	load = origin(SERVERS "health-check = Connect\n");
	assert_int_equal(load.conf->origins[0].check.kind, CONF_CHECK_CONNECT);
	load_free(&load);
}

static void mistakes_are_told(void **state)
{
	(void)state;
	static const struct {
		const char *line, *key;
	} rows[] = {
	    {"failure-status = 99", "failure-status"},
	    {"failure-status = 100", "failure-status"},
	    {"failure-status = 600", "failure-status"},
	    {"failure-status = 504-500", "failure-status"},
	    {"failure-status = 500-", "failure-status"},
	    {"failure-status = 5xx", "failure-status"},
	    {"health-status = 200 201 202 203 204 205 206 207 208 209 210 211 212 213 214 215 216", "health-status"},
	    {"health-check = health", "health-check"},
	    {"health-check = /a b", "health-check"},
	    {"health-check = /a#b", "health-check"},
	    {"health-host = /a", "health-host"},
	    {"health-rise = 0", "health-rise"},
	    {"eject-most = 0", "eject-most"},
	    {"eject-time = 0s", "eject-time"},
	    {"health-interval = 0s", "health-interval"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char lines[300], key[64];
		snprintf(lines, sizeof lines, SERVERS "%s\n", rows[i].line);
		snprintf(key, sizeof key, " for %s", rows[i].key);
		struct load load = origin(lines);
		if (load.conf || !strstr(load.errors, key))
			fail_msg("%s: %s", rows[i].line, load.errors);
		load_free(&load);
	}
}

/* `lines` warns of `key`, with these words. */
static void has_no_effect(const char *lines, const char *key, const char *why)
{
	char words[256];
	snprintf(words, sizeof words, "%s has no effect, because %s; remove it\n", key, why);
	struct load load = origin(lines);
	assert_non_null(load.conf);
	if (!strstr(load.errors, words))
		fail_msg("%s: %s", lines, load.errors);
	load_free(&load);
}

static void what_has_no_effect_is_told(void **state)
{
	(void)state;
	static const char one[] = "the origin has one server", off[] = "health-check is off";
	has_no_effect("server = http://127.0.0.1:81\neject-failures = 3\n", "eject-failures", one);
	has_no_effect("server = demo:\neject-time = 3s\n", "eject-time", one);
	has_no_effect("server = demo:\nhealth-check = /\n", "health-check", "the demo site always works");
	has_no_effect(SERVERS "eject-failures = 0\neject-percent = 0\neject-most = 10\n", "eject-most", "eject-failures and eject-percent are 0");
	has_no_effect(SERVERS "eject-time-max = 2s\n", "eject-time-max", "it is below eject-time");
	has_no_effect(SERVERS "health-fall = 1\n", "health-fall", off);
	has_no_effect(SERVERS "health-check = connect\nhealth-status = 204\n", "health-status", "health-check = connect sends no request");
	/* A name may have several addresses, and a single server may be checked: it is seen in status. */
	struct load load = origin("server = http://app.example.com\neject-failures = 3\n");
	assert_string_equal(load.errors, "");
	assert_true(conf_origin_may_eject(&load.conf->origins[0]));
	load_free(&load);
	load = origin("server = http://127.0.0.1:81\nhealth-check = /\n");
	assert_string_equal(load.errors, "");
	assert_false(conf_origin_may_eject(&load.conf->origins[0]));
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_given),
	    cmocka_unit_test(all_is_given),
	    cmocka_unit_test(mistakes_are_told),
	    cmocka_unit_test(what_has_no_effect_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
