/* SPDX-License-Identifier: MIT */
/* Each option that has a meaning in HTTP/1.1 sets its own member of the codec's limits. */
#include "proxy/protocols/protocols_private.h"
#include "tests/unit/conf/load.h"

static const struct row {
	const char *key, *value;
	size_t offset;
	uint64_t expected;
	bool is_for_listen, is_for_origin;
} rows[] = {
#define AT(member) offsetof(struct h1_limits, member)
    {"max-field-block", "100k", AT(head_bytes), 100 << 10, true, true},
    {"max-header-list", "20k", AT(list_bytes), 20 << 10, true, true},
    {"max-header-list", "20k", AT(trailer_bytes), 20 << 10, true, true},
    {"stream-window", "32k", AT(window_bytes), 32 << 10, true, true},
    {"max-interim-responses", "13", AT(interim_responses), 13, false, true},
    {"header-timeout", "17s", AT(head_timeout), 17 * USEC_PER_SEC, true, false},
};

static uint64_t member(const struct h1_limits *limits, const struct row *row)
{
	const char *at = (const char *)limits + row->offset;
	if (row->offset == AT(head_timeout))
		return *(const usec *)(const void *)at;
	return *(const uint32_t *)(const void *)at;
}

static struct h1_limits limits_of(void *made)
{
	assert_non_null(made);
	struct h1_limits limits = ((struct h1_config *)made)->limits;
	free(made);
	return limits;
}

static struct h1_limits limits_for_origin(const struct conf_origin *conf)
{
	struct conf_origin origin = *conf;
	origin.protocols |= CONF_HTTP1;
	return limits_of(http1_options_for_origin(&origin, false));
}

static void each_option_sets_its_limit(void **state)
{
	(void)state;
	struct load plain = load_fine(LOAD_REST, "");
	const struct h1_limits client = limits_of(http1_options_for_clients(plain.conf->listens));
	const struct h1_limits origin = limits_for_origin(plain.conf->origins);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];
		char line[80], text[512];
		snprintf(line, sizeof line, "%s = %s\n", row->key, row->value);
		snprintf(text, sizeof text, LOAD_ROUTE LOAD_LISTEN "%s" LOAD_ORIGIN "%s",
		    row->is_for_listen ? line : "", row->is_for_origin ? line : "");
		struct load load = load_fine(text, "");
		struct h1_limits changed = limits_of(http1_options_for_clients(load.conf->listens));
		assert_int_equal(member(&changed, row), row->is_for_listen ? row->expected : member(&client, row));
		changed = limits_for_origin(load.conf->origins);
		assert_int_equal(member(&changed, row), row->is_for_origin ? row->expected : member(&origin, row));
		load_free(&load);
	}
	load_free(&plain);
}

/* What no option sets has the codec's own value; an origin's head has response-timeout instead. */
static void the_rest_is_the_codecs(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST, "");
	const struct h1_limits client = limits_of(http1_options_for_clients(load.conf->listens));
	const struct h1_limits origin = limits_for_origin(load.conf->origins);
	assert_int_equal(client.extension_bytes, h1_limits_default.extension_bytes);
	assert_int_equal(origin.extension_bytes, h1_limits_default.extension_bytes);
	assert_int_equal(client.head_timeout, 10 * USEC_PER_SEC);
	assert_int_equal(origin.head_timeout, 0);
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_option_sets_its_limit),
	    cmocka_unit_test(the_rest_is_the_codecs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
