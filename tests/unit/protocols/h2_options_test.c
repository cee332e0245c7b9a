/* SPDX-License-Identifier: MIT */
/* Each limit option sets its own member of the engine's limits; the option defaults equal the engine's. */
#include "proxy/conf/option.h"
#include "proxy/protocols/protocols_private.h"
#include "tests/unit/conf/load.h"

#define BOTH 3

/* An option, a value that is not its default, and the member of struct h2_limits that it sets. */
static const struct row {
	unsigned sections; /* 1: [listen], 2: [origin] */
	const char *key, *value;
	size_t offset, size;
	uint64_t expected; /* of a rate: per_second, burst 1000 times that */
} rows[] = {
#define AT(member) offsetof(struct h2_limits, member), sizeof(((struct h2_limits *)NULL)->member)
    {1, "limit-resets", "3/s burst 3000", AT(resets_received), 3},
    {BOTH, "limit-faults", "4/s burst 4000", AT(resets_provoked), 4},
    {BOTH, "limit-pings", "5/s burst 5000", AT(pings), 5},
    {BOTH, "limit-settings", "6/s burst 6000", AT(settings), 6},
    {BOTH, "limit-priorities", "7/s burst 7000", AT(priorities), 7},
    {BOTH, "limit-empty-frames", "8/s burst 8000", AT(empty_frames), 8},
    {BOTH, "limit-window-updates", "9/s burst 9000", AT(window_updates), 9},
    {BOTH, "limit-field-blocks", "10/s burst 10000", AT(field_blocks), 10},
    {1, "limit-expansion", "1/s burst 1000", AT(expansion), 1},
    {2, "limit-promises", "2/s burst 2000", AT(promises), 2},
    {BOTH, "max-field-block", "100k", AT(field_block_bytes), 100 << 10},
    {BOTH, "max-continuations", "11", AT(continuations), 11},
    {BOTH, "max-control-output", "120k", AT(control_bytes), 120 << 10},
    {2, "max-interim-responses", "13", AT(interim_responses), 13},
    {2, "max-reserved-pushes", "14", AT(reserved_streams), 14},
    {BOTH, "connection-window", "2M", AT(connection_window), 2 << 20},
    {BOTH, "settings-timeout", "15s", AT(settings_timeout), 15 * USEC_PER_SEC},
    {1, "preface-timeout", "16s", AT(preface_timeout), 16 * USEC_PER_SEC},
    {1, "header-timeout", "17s", AT(block_timeout), 17 * USEC_PER_SEC},
};
#define ROWS (sizeof(rows) / sizeof(*rows))

static struct h2_config config_of(void *made)
{
	assert_non_null(made);
	struct h2_config config = *(struct h2_config *)made;
	free(made);
	return config;
}

/* Loads a configuration with one further line in [listen] (1) or [origin] (2). */
static struct h2_limits limits_with(unsigned section, const char *line)
{
	char text[512];
	snprintf(text, sizeof(text), LOAD_ROUTE LOAD_LISTEN "%s\n" LOAD_ORIGIN "%s\n",
	    section == 1 ? line : "", section == 2 ? line : "");
	struct load load = load_text(text);
	assert_non_null(load.conf);
	struct conf_origin origin = load.conf->origins[0];
	origin.protocols |= CONF_HTTP2;
	struct h2_config config = config_of(
	    section == 1 ? h2_options_for_clients(load.conf->listens) : h2_options_for_origin(&origin, false));
	load_free(&load);
	return config.limits;
}

static void assert_member(const struct h2_limits *limits, const struct row *row)
{
	const char *at = (const char *)limits + row->offset;
	if (row->size == sizeof(uint32_t)) {
		assert_int_equal(*(const uint32_t *)(const void *)at, row->expected);
	} else if (strncmp(row->key, "limit-", 6) == 0) {
		const struct rate *rate = (const void *)at;
		assert_int_equal(rate->per_second, row->expected);
		assert_int_equal(rate->burst, row->expected * 1000);
	} else {
		assert_int_equal(*(const usec *)(const void *)at, row->expected);
	}
}

/* covers: R64 R65 */
static void each_option_reaches_its_member_and_no_other(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		for (unsigned section = 1; section <= 2; section++) {
			const struct row *row = &rows[i];
			if (!(row->sections & section))
				continue;
			char line[128];
			snprintf(line, sizeof(line), "%s = %s", row->key, row->value);
			struct h2_limits with = limits_with(section, line);
			struct h2_limits without = limits_with(section, "");
			assert_member(&with, row);
			for (size_t j = 0; j < ROWS; j++) {
				bool is_equal =
				    memcmp((char *)&with + rows[j].offset,
					(char *)&without + rows[j].offset, rows[j].size) == 0;
				assert_int_equal(is_equal, j != i);
			}
		}
}

static void every_limit_of_the_option_table_is_tested(void **state)
{
	(void)state;
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		unsigned section = o->section == CONF_SECTION_LISTEN ? 1 : 2;
		bool is_here = false;
		bool is_of_connections =
		    o->section == CONF_SECTION_LISTEN || o->section == CONF_SECTION_ORIGIN;
		if (strncmp(o->key, "limit-", 6) != 0 || !is_of_connections)
			continue;
		for (size_t j = 0; j < ROWS; j++)
			is_here = is_here ||
				  (strcmp(rows[j].key, o->key) == 0 && rows[j].sections & section);
		assert_true(is_here);
	}
}

static void defaults_are_those_of_the_engine(void **state)
{
	(void)state;
	struct h2_limits down = limits_with(1, ""), up = limits_with(2, "");
	assert_int_equal(up.connection_window, 16 << 20);
	up.connection_window = h2_limits_default.connection_window;
	for (size_t i = 0; i < ROWS; i++) {
		const char *preset = (const char *)&h2_limits_default + rows[i].offset;
		assert_memory_equal((char *)&down + rows[i].offset, preset, rows[i].size);
		assert_memory_equal((char *)&up + rows[i].offset, preset, rows[i].size);
	}
}

/* Clients are told of tunnels if some route opens them. */
static void tunnels_are_announced_where_they_are_taken(void **state)
{
	(void)state;
	for (int taken = 0; taken < 2; taken++) {
		const char *upgrade = taken ? "upgrade = websocket\n" : "";
		char text[512];
		snprintf(text, sizeof(text), LOAD_LISTEN LOAD_ORIGIN LOAD_ROUTE "%s", upgrade);
		struct load load = load_text(text);
		assert_non_null(load.conf);
		struct conf_origin origin = load.conf->origins[0];
		origin.protocols |= CONF_HTTP2;
		struct h2_config config = config_of(h2_options_for_clients(load.conf->listens));
		assert_int_equal(config.settings.enable_connect_protocol, taken);
		config = config_of(h2_options_for_origin(&origin, true));
		assert_int_equal(config.settings.enable_connect_protocol, 0);
		load_free(&load);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_option_reaches_its_member_and_no_other),
	    cmocka_unit_test(every_limit_of_the_option_table_is_tested),
	    cmocka_unit_test(defaults_are_those_of_the_engine),
	    cmocka_unit_test(tunnels_are_announced_where_they_are_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
