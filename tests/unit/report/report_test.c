/* SPDX-License-Identifier: MIT */
/* What a report makes of the lines of access logs. */
#include "proxy/report/report_private.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define PAGE(id, agent) "{\"worker\":0,\"id\":" #id ",\"listen\":\"main\",\"protocol\":\"h2\",\"route\":\"r\",\"user_agent\":\"" agent "\"}"
#define PUSH(parent, rest) "{\"worker\":0,\"id\":9,\"listen\":\"main\",\"protocol\":\"h2\",\"route\":\"r\",\"authority\":\"a.test\",\"path\":\"/a.css?v=1\",\"push\":true,\"parent\":" #parent ",\"source\":\"relayed\"," rest "}"
#define FORWARD(parent, outcome) PUSH(parent, "\"verdict\":\"forward\",\"rule\":\"f\",\"reason\":\"rule\",\"response_bytes\":1000,\"outcome\":\"" outcome "\"")
#define HOLD(parent, end, wasted) PUSH(parent, "\"verdict\":\"hint+hold\",\"rule\":\"h\",\"reason\":\"rule\",\"origin_response_bytes\":500,\"wasted_bytes\":" #wasted ",\"end_reason\":\"" end "\"")

static void add(struct report *r, const char *line)
{
	const char *why = report_line(r, line, strlen(line));
	if (why)
		fail_msg("%s: %s", line, why);
}

static uint64_t figure(const struct report *r, enum report_by by, const char *key, enum report_figure f)
{
	const struct report_group *group = report_groups_find(&r->groups[by], key);
	if (!group)
		fail_msg("no group %s", key);
	return group->figures.n[f];
}

/* The report in one of its forms; freed by the caller. */
static char *shown(const struct report *r, size_t top, void (*show)(const struct report *, const struct report_sections *, FILE *))
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct report_sections s;
	report_sections_make(&s, r, top);
	show(r, &s, out);
	report_sections_free(&s);
	fclose(out);
	return text;
}

static void families_of_user_agents(void **state)
{
	(void)state;
	static const struct {
		const char *agent, *family;
	} rows[] = {
	    {NULL, "(no user-agent)"},
	    {"", "others"},
	    {"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36", "Chrome"},
	    {"Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 CriOS/120.0 Mobile Safari/604.1", "Chrome"},
	    {"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36 Edg/120.0", "Edge"},
	    {"Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/120.0.0.0 Safari/537.36 OPR/106.0", "Opera"},
	    {"Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/115.0", "Firefox"},
	    {"Mozilla/5.0 (Macintosh) AppleWebKit/605.1.15 Version/17.1 Safari/605.1.15", "Safari"},
	    {"Mozilla/5.0 AppleWebKit/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/120 Safari/537", "bots"},
	    {"curl/7.88.1", "curl"},
	    {"nghttp2/1.52.0", "nghttp"},
	    {"h2load nghttp2/1.52.0", "nghttp"},
	    {"undici", "Node"},
	    {"node", "Node"},
	    {"Go-http-client/2.0", "Go"},
	    {"Java-http-client/17.0.9", "Java"},
	    {"Wget/1.21", "others"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(report_family(rows[i].agent), rows[i].family);
}

static void each_verdict_has_its_figures(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		uint64_t forwarded, taken, reset, held, claimed, unclaimed, hinted, dropped, refused, used_bytes, wasted_bytes;
	} rows[] = {
	    {FORWARD(1, "complete"), .forwarded = 1, .taken = 1, .used_bytes = 1000},
	    {FORWARD(1, "client-reset"), .forwarded = 1, .reset = 1, .wasted_bytes = 1000},
	    {FORWARD(1, "origin-reset"), .forwarded = 1},
	    {HOLD(1, "claimed", 100), .held = 1, .claimed = 1, .hinted = 1, .used_bytes = 400, .wasted_bytes = 100},
	    {HOLD(1, "claimed", 0), .held = 1, .claimed = 1, .hinted = 1, .used_bytes = 500},
	    {HOLD(1, "expired", 500), .held = 1, .unclaimed = 1, .hinted = 1, .wasted_bytes = 500},
	    {HOLD(1, "missed", 500), .held = 1, .unclaimed = 1, .hinted = 1, .wasted_bytes = 500},
	    {HOLD(1, "origin-lost", 500), .held = 1, .hinted = 1, .wasted_bytes = 500},
	    {HOLD(1, "hold-shed", 500), .held = 1, .hinted = 1, .wasted_bytes = 500},
	    {PUSH(1, "\"verdict\":\"hold\",\"end_reason\":\"claimed\",\"origin_response_bytes\":7"), .held = 1, .claimed = 1,
		.used_bytes = 7},
	    {PUSH(1, "\"verdict\":\"hint\",\"reason\":\"rule\""), .hinted = 1},
	    {PUSH(1, "\"verdict\":\"drop\",\"reason\":\"known\""), .dropped = 1},
	    {PUSH(1, "\"verdict\":\"drop\",\"reason\":\"push-disabled\""), .dropped = 1, .refused = 1},
	    {PUSH(1, "\"verdict\":\"drop\",\"reason\":\"no-streams\""), .dropped = 1, .refused = 1},
	    {PUSH(1, "\"verdict\":7,\"response_bytes\":-5"), .used_bytes = 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct report r;
		report_init(&r);
		add(&r, rows[i].line);
		const uint64_t wanted[REPORT_FIGURE_COUNT] = {
		    [REPORT_OFFERED] = 1,
		    [REPORT_FORWARDED] = rows[i].forwarded,
		    [REPORT_TAKEN] = rows[i].taken,
		    [REPORT_RESET] = rows[i].reset,
		    [REPORT_HELD] = rows[i].held,
		    [REPORT_CLAIMED] = rows[i].claimed,
		    [REPORT_UNCLAIMED] = rows[i].unclaimed,
		    [REPORT_HINTED] = rows[i].hinted,
		    [REPORT_DROPPED] = rows[i].dropped,
		    [REPORT_REFUSED] = rows[i].refused,
		    [REPORT_USED] = rows[i].taken + rows[i].claimed,
		    [REPORT_UNUSED] = rows[i].reset + rows[i].unclaimed,
		    [REPORT_USED_BYTES] = rows[i].used_bytes,
		    [REPORT_WASTED_BYTES] = rows[i].wasted_bytes,
		};
		for (unsigned f = 0; f < REPORT_FIGURE_COUNT; f++)
			if (r.all.n[f] != wanted[f])
				fail_msg("%s: figure %u is %u", rows[i].line, f, (unsigned)r.all.n[f]);
		report_end(&r);
		report_fini(&r);
	}
}

static void a_line_is_counted_in_each_of_its_groups(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add(&r, PAGE(1, "curl/7"));
	add(&r, FORWARD(1, "complete"));
	add(&r, PUSH(1, "\"verdict\":\"drop\",\"reason\":\"default\""));
	add(&r, PUSH(1, "\"verdict\":\"drop\",\"reason\":\"known\""));
	add(&r, HOLD(1, "missed", 5));
	add(&r, "{\"worker\":0,\"id\":2,\"held\":7,\"user_agent\":\"curl/7\"}");
	add(&r, "{\"worker\":0,\"id\":3,\"held\":7,\"joined\":true}");
	add(&r, "{\"worker\":0,\"id\":4,\"missed\":\"vary accept-language\"}");
	report_end(&r);
	assert_int_equal(figure(&r, REPORT_BY_LISTENER, "main h2", REPORT_OFFERED), 4);
	assert_int_equal(figure(&r, REPORT_BY_LISTENER, "main h2", REPORT_REQUESTS), 1);
	assert_int_equal(figure(&r, REPORT_BY_LISTENER, "- -", REPORT_REQUESTS), 3);
	assert_int_equal(figure(&r, REPORT_BY_ROUTE, "r", REPORT_OFFERED), 4);
	assert_int_equal(figure(&r, REPORT_BY_SOURCE, "relayed", REPORT_OFFERED), 4);
	assert_int_equal(figure(&r, REPORT_BY_RULE, "f", REPORT_TAKEN), 1);
	assert_int_equal(figure(&r, REPORT_BY_RULE, "h", REPORT_UNCLAIMED), 1);
	assert_int_equal(figure(&r, REPORT_BY_RULE, "(default-action)", REPORT_DROPPED), 1);
	assert_int_equal(figure(&r, REPORT_BY_RULE, "(no rule)", REPORT_DROPPED), 1);
	assert_int_equal(figure(&r, REPORT_BY_RESOURCE, "a.test/a.css", REPORT_OFFERED), 4);
	assert_int_equal(figure(&r, REPORT_BY_REASON, "known relayed", REPORT_DROPPED), 1);
	assert_int_equal(figure(&r, REPORT_BY_END, "missed", REPORT_HELD), 1);
	assert_int_equal(figure(&r, REPORT_BY_ANSWER, "claimed", REPORT_REQUESTS), 1);
	assert_int_equal(figure(&r, REPORT_BY_ANSWER, "joined", REPORT_REQUESTS), 1);
	assert_int_equal(figure(&r, REPORT_BY_ANSWER, "missed: vary accept-language", REPORT_REQUESTS), 1);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "curl", REPORT_REQUESTS), 2);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "(no user-agent)", REPORT_REQUESTS), 2);
	report_fini(&r);
}

static void a_push_belongs_to_the_family_of_its_page(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add(&r, FORWARD(1, "complete")); /* the page comes later */
	add(&r, FORWARD(1, "client-reset"));
	add(&r, PAGE(1, "curl/7"));
	add(&r, FORWARD(1, "complete"));
	add(&r, PAGE(2, "Firefox/115"));
	add(&r, FORWARD(2, "complete"));
	add(&r, FORWARD(3, "complete")); /* never */
	add(&r, FORWARD(0, "complete"));
	/* The same ids of another worker. */
	add(&r, "{\"worker\":1,\"id\":1,\"user_agent\":\"undici\"}");
	add(&r, "{\"worker\":1,\"push\":true,\"parent\":1,\"verdict\":\"hint\"}");
	report_end(&r);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "curl", REPORT_OFFERED), 3);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "curl", REPORT_TAKEN), 2);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "Firefox", REPORT_OFFERED), 1);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "Node", REPORT_HINTED), 1);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "(not known)", REPORT_OFFERED), 2);
	report_fini(&r);
}

/* Ids begin anew with each generation, and two of them may write at the same time. */
static void an_id_that_comes_again_is_another_page(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add(&r, "{\"worker\":0,\"id\":1,\"connection\":1,\"client\":\"192.0.2.1\",\"user_agent\":\"curl/7\"}");
	add(&r, "{\"worker\":0,\"push\":true,\"parent\":1,\"connection\":2,\"client\":\"192.0.2.1\",\"verdict\":\"hint\"}");
	add(&r, "{\"worker\":0,\"push\":true,\"parent\":1,\"connection\":1,\"client\":\"192.0.2.2\",\"verdict\":\"drop\"}");
	add(&r, "{\"worker\":0,\"id\":1,\"connection\":2,\"client\":\"192.0.2.1\",\"user_agent\":\"Firefox/115\"}");
	add(&r, "{\"worker\":0,\"id\":1,\"connection\":1,\"client\":\"192.0.2.2\",\"user_agent\":\"undici\"}");
	report_end(&r);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "curl", REPORT_OFFERED), 0);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "Firefox", REPORT_HINTED), 1);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "Node", REPORT_DROPPED), 1);
	report_fini(&r);
}

/* Many more requests than are remembered: memory stays, and no push is lost. */
static void a_request_to_an_admin_listener_is_none(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add(&r, "{\"id\":1,\"user_agent\":\"curl/8\",\"status\":200,\"detail\":\"admin-page\"}");
	add(&r, "{\"id\":2,\"user_agent\":\"curl/8\",\"status\":200,\"detail\":\"no-route\"}");
	assert_int_equal(r.lines, 2);
	assert_int_equal(r.all.n[REPORT_REQUESTS], 1);
	report_fini(&r);
}

static void old_requests_are_forgotten(void **state)
{
	(void)state;
	enum { MANY = 300000 };
	struct report r;
	const struct report_figures one = {.n = {[REPORT_OFFERED] = 1}}, request = {.n = {[REPORT_REQUESTS] = 1}};
	report_init(&r);
	for (uint64_t page = 1; page <= MANY; page++)
		report_families_push(&r, page, &one);
	for (uint64_t page = MANY; page >= 1; page--)
		report_families_request(&r, page, "curl", &request);
	report_end(&r);
	uint64_t known = figure(&r, REPORT_BY_FAMILY, "curl", REPORT_OFFERED);
	assert_true(known > MANY / 4 && known < MANY);
	assert_int_equal(known + figure(&r, REPORT_BY_FAMILY, "(not known)", REPORT_OFFERED), MANY);
	assert_int_equal(figure(&r, REPORT_BY_FAMILY, "curl", REPORT_REQUESTS), MANY);
	report_fini(&r);
}

static void a_sampled_line_counts_for_many(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add(&r, "{\"worker\":0,\"id\":1,\"sample\":100}");
	add(&r, PUSH(1, "\"verdict\":\"forward\",\"outcome\":\"complete\",\"response_bytes\":3,\"sample\":100"));
	add(&r, "{\"worker\":0,\"id\":2,\"sample\":-3}");
	add(&r, "{\"worker\":0,\"id\":3,\"sample\":1000001}");
	report_end(&r);
	assert_int_equal(r.lines, 4);
	assert_int_equal(r.all.n[REPORT_REQUESTS], 102);
	assert_int_equal(r.all.n[REPORT_TAKEN], 100);
	assert_int_equal(r.all.n[REPORT_USED_BYTES], 300);
	report_fini(&r);
}

static void keys_beyond_the_most_are_counted_together(void **state)
{
	(void)state;
	struct report_groups g;
	const struct report_figures one = {.n = {[REPORT_OFFERED] = 1}};
	report_groups_init(&g, 2);
	static const char *const keys[] = {"a", "b", "c", "a", "d"};
	for (size_t i = 0; i < 5; i++)
		report_groups_add(&g, keys[i], &one);
	assert_int_equal(g.by_key.count, 2);
	assert_true(g.has_others);
	assert_int_equal(g.others.n[REPORT_OFFERED], 2);
	size_t count;
	const struct report_group **sorted = report_groups_sorted(&g, REPORT_OFFERED, &count);
	assert_int_equal(count, 2);
	assert_string_equal(sorted[0]->key, "a");
	assert_string_equal(sorted[1]->key, "b");
	free(sorted);
	free(report_groups_sorted(&g, REPORT_HELD, &count));
	assert_int_equal(count, 0);
	report_groups_fini(&g);
}

static void what_to_do_about_a_rule(void **state)
{
	(void)state;
	static const struct {
		const char *key;
		uint64_t used, unused;
		const char *advice;
	} rows[] = {
	    {"r", 50, 50, "keep"}, {"r", 100, 0, "keep"}, {"r", 49, 51, "look"}, {"r", 20, 80, "look"}, {"r", 19, 81, "drop"},
	    {"r", 0, 100, "drop"}, {"r", 50, 49, "wait"}, {"r", 0, 0, "wait"}, {"(no rule)", 100, 0, ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct report_figures f = {.n = {[REPORT_USED] = rows[i].used, [REPORT_UNUSED] = rows[i].unused}};
		struct report_groups g;
		report_groups_init(&g, 1);
		report_groups_add(&g, rows[i].key, &f);
		assert_string_equal(report_advice(report_groups_find(&g, rows[i].key)), rows[i].advice);
		report_groups_fini(&g);
	}
}

static void numbers_for_a_reader(void **state)
{
	(void)state;
	static const struct {
		enum report_unit unit;
		uint64_t n, rest;
		const char *text;
	} rows[] = {
	    {REPORT_COUNT, 1234567, 0, "1234567"}, {REPORT_BYTES, 999, 0, "999"}, {REPORT_BYTES, 1000, 0, "1.0k"},
	    {REPORT_BYTES, 999949, 0, "999.9k"}, {REPORT_BYTES, 999999, 0, "1.0M"}, {REPORT_BYTES, 1500000000, 0, "1.5G"},
	    {REPORT_BYTES, UINT64_MAX, 0, "18.4E"}, {REPORT_SHARE, 1, 2, "33.3%"}, {REPORT_SHARE, 1, 0, "100.0%"},
	    {REPORT_SHARE, 0, 5, "0.0%"}, {REPORT_SHARE, 0, 0, "-"},
	    {REPORT_TIME, 12340, 0, "12.3"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct report_column c = {.figure = REPORT_USED, .unit = rows[i].unit, .rest = REPORT_UNUSED};
		const struct report_figures f = {.n = {[REPORT_USED] = rows[i].n, [REPORT_UNUSED] = rows[i].rest}};
		char text[REPORT_CELL_BYTES];
		report_cell(text, &c, &f);
		assert_string_equal(text, rows[i].text);
	}
}

/* ---- arms ---- */

/* Loads of a page whose times to the first byte are these, in steps of so many µs. */
static void add_loads(
    struct report *r, const char *arm, unsigned count, unsigned first, unsigned step)
{
	char line[256];
	for (unsigned i = 0; i < count; i++) {
		snprintf(line, sizeof(line),
		    "{\"worker\":0,\"id\":%u,\"status\":200,\"arm\":\"%s\",\"first_byte_us\":%u}",
		    i + 1, arm, first + i * step);
		add(r, line);
	}
}

static char *compared(const struct report *r)
{
	struct report_comparison list[REPORT_ARMS_MOST];
	static char text[REPORT_COMPARISON_BYTES + 64];
	assert_int_equal(report_compare(r, list), 1);
	int n = snprintf(text, 64, "%s", list[0].name);
	report_comparison_text(&list[0], text + n);
	return text;
}

static void arms_are_compared_by_the_ranks_of_their_times(void **state)
{
	(void)state;
	static const struct {
		unsigned on, on_first, off, off_first;
		const char *text;
	} rows[] = {
	    {99, 1000, 500, 1000,
		"shop: too few page loads to compare: 99 with the offers, 500 without; each arm "
		"needs 100"},
	    {100, 1000, 0, 0,
		"shop: too few page loads to compare: 100 with the offers, 0 without; each arm "
		"needs 100"},
	    {200, 100000, 200, 100000,
		"shop: with the offers the first byte of a page comes no sooner and no later "
		"(median 110.1 ms with, 110.1 ms without; "
		"chance makes as much of a difference in 100 of 100 comparisons). Wasted bytes of "
		"a page load: 0 with, 0 without"},
	    {200, 101000, 200, 100000,
		"shop: with the offers the first byte of a page comes no sooner and no later "
		"(median 111.1 ms with, 110.1 ms without; "
		"chance makes as much of a difference in 9 of 100 comparisons). Wasted bytes of a "
		"page load: 0 with, 0 without"},
	    {200, 110000, 200, 100000,
		"shop: with the offers the first byte of a page comes later (median 120.3 ms with, "
		"110.1 ms without; chance makes as "
		"much of a difference in less than 1 of 100 comparisons). Wasted bytes of a page "
		"load: 0 with, 0 without"},
	    {200, 100000, 200, 110000,
		"shop: with the offers the first byte of a page comes sooner (median 110.1 ms "
		"with, 120.3 ms without; chance makes as "
		"much of a difference in less than 1 of 100 comparisons). Wasted bytes of a page "
		"load: 0 with, 0 without"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct report r;
		report_init(&r);
		add_loads(&r, "shop=on", rows[i].on, rows[i].on_first, 100);
		add_loads(&r, "shop=off", rows[i].off, rows[i].off_first, 100);
		report_end(&r);
		assert_string_equal(compared(&r), rows[i].text);
		report_fini(&r);
	}
}

/* All times are in one bucket: there is nothing to rank. */
static void times_that_are_all_the_same_do_not_differ(void **state)
{
	(void)state;
	struct report r;
	struct report_comparison list[REPORT_ARMS_MOST];
	report_init(&r);
	add_loads(&r, "a=on", 100, 70000000, 0);
	add_loads(&r, "a=off", 100, 70000000, 0);
	report_end(&r);
	assert_int_equal(report_compare(&r, list), 1);
	assert_int_equal(list[0].verdict, REPORT_ARM_ALIKE);
	assert_true(list[0].median[0] > 68900000 && list[0].median[0] < 71100000);
	report_fini(&r);
}

/* A few very slow pages change neither the median nor the verdict. */
static void slow_pages_do_not_outvote_the_others(void **state)
{
	(void)state;
	struct report r;
	struct report_comparison list[REPORT_ARMS_MOST];
	report_init(&r);
	add_loads(&r, "a=on", 300, 1000, 10);
	add_loads(&r, "a=off", 300, 1000, 10);
	add_loads(&r, "a=on", 5, 4000000000u, 1);
	report_end(&r);
	assert_int_equal(report_compare(&r, list), 1);
	assert_int_equal(list[0].verdict, REPORT_ARM_ALIKE);
	assert_int_equal(figure(&r, REPORT_BY_ARM, "a=on", REPORT_REQUESTS), 305);
	assert_in_range(figure(&r, REPORT_BY_ARM, "a=on", REPORT_MEDIAN), 2490, 2560);
	assert_in_range(figure(&r, REPORT_BY_ARM, "a=off", REPORT_P95), 3810, 3900);
	report_fini(&r);
}

static void pushes_and_failures_belong_to_the_arm_of_their_page(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add_loads(&r, "a=on", 100, 1000, 10);
	add_loads(&r, "a=off", 100, 1000, 10);
	add(&r,
	    "{\"worker\":0,\"id\":7,\"status\":502,\"arm\":\"a=off\",\"first_byte_us\":9000000}");
	add(&r, "{\"worker\":0,\"id\":8,\"status\":0,\"arm\":\"a=off\"}");
	add(&r,
	    PUSH(1,
		"\"arm\":\"a=on\",\"verdict\":\"hint+hold\",\"rule\":\"h\",\"reason\":\"rule\","
		"\"origin_response_bytes\":500,\"wasted_bytes\":500,\"end_reason\":\"expired\""));
	report_end(&r);
	struct report_comparison list[REPORT_ARMS_MOST];
	assert_int_equal(report_compare(&r, list), 1);
	assert_int_equal(list[0].loads[0], 100);
	assert_int_equal(list[0].wasted[1], 5);
	assert_int_equal(list[0].wasted[0], 0);
	assert_int_equal(figure(&r, REPORT_BY_ARM, "a=off", REPORT_REQUESTS), 102);
	assert_int_equal(figure(&r, REPORT_BY_ARM, "a=on", REPORT_HINTED), 1);
	assert_int_equal(figure(&r, REPORT_BY_ARM, "a=on", REPORT_UNCLAIMED), 1);
	report_fini(&r);
}

static void names_of_arms_are_bounded(void **state)
{
	(void)state;
	struct report r;
	char name[100];
	report_init(&r);
	for (unsigned i = 0; i < 2 * REPORT_ARMS_MOST; i++) {
		snprintf(name, sizeof(name), "n%u=on", i);
		add_loads(&r, name, 1, 5, 0);
	}
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	add_loads(&r, name, 1, 5, 0);
	add_loads(&r, "no-arm", 1, 5, 0);
	report_end(&r);
	struct report_comparison list[REPORT_ARMS_MOST];
	assert_int_equal(report_compare(&r, list), REPORT_ARMS_MOST);
	report_fini(&r);
}

static void arms_are_shown_in_each_form(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add_loads(&r, "a=on", 200, 110000, 100);
	add_loads(&r, "a=off", 200, 100000, 100);
	add_loads(&r, "<b>=on", 3, 1, 1);
	report_end(&r);
	char *text = shown(&r, 1, report_show_text);
	assert_non_null(
	    strstr(text, "\na: with the offers the first byte of a page comes later ("));
	assert_non_null(strstr(text,
	    "\nArms that are compared\n  arm     page loads  first byte  95% below  offered"));
	assert_non_null(strstr(text, "\n  a=off          200       110.1      119.3        0"));
	free(text);
	text = shown(&r, 1, report_show_html);
	assert_non_null(
	    strstr(text, "<p>a: with the offers the first byte of a page comes later ("));
	assert_non_null(strstr(text, "<p>&lt;b&gt;: too few page loads"));
	free(text);
	text = shown(&r, 1, report_show_json);
	json_t *json = json_loads(text, 0, NULL),
	       *c = json_array_get(json_object_get(json, "comparisons"), 0);
	const char *name, *verdict;
	double chance;
	json_int_t on, off, on_median, off_median, wasted;
	assert_int_equal(
	    json_unpack(c, "{s:s, s:s, s:f, s:I, s:I, s:I, s:I, s:I}", "name", &name, "first_byte",
		&verdict, "chance", &chance, "on_loads", &on, "off_loads", &off, "on_median_us",
		&on_median, "off_median_us", &off_median, "on_wasted_bytes", &wasted),
	    0);
	assert_string_equal(name, "a");
	assert_string_equal(verdict, "later");
	assert_true(chance < 0.01 && on == 200 && off == 200 && wasted == 0);
	assert_int_equal(on_median, 120320);
	assert_int_equal(off_median, 110080);
	json_decref(json);
	free(text);
	report_fini(&r);
}

/* ---- reading ---- */

static char path[] = "/tmp/pushgate-report-XXXXXX";

static void write_file(const void *bytes, size_t length)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	int fd = mkstemp(path);
	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

static void read_back(struct report *r, bool is_fine)
{
	const char *error;
	report_init(r);
	assert_int_equal(report_read(r, path, &error), is_fine);
	report_end(r);
	unlink(path);
}

static void bad_lines_are_counted_and_named(void **state)
{
	(void)state;
	struct report r;
	static const char text[] = "{\"id\":1}\nnonsense\n[1]\n\n{\"id\":2}\n{\"a\":\0}\n{\"id\":3}";
	write_file(text, sizeof(text) - 1);
	read_back(&r, true);
	assert_int_equal(r.lines, 3);
	assert_int_equal(r.bad_lines, 4);
	assert_int_equal(r.bad[0].number, 2);
	assert_string_equal(r.bad[0].why, "it is no JSON");
	assert_int_equal(r.bad[1].number, 3);
	assert_string_equal(r.bad[1].why, "it is no JSON object");
	assert_int_equal(r.bad[3].number, 6);
	char *shown_text = shown(&r, 10, report_show_text);
	assert_non_null(strstr(shown_text, "4 lines could not be read:\n"));
	assert_non_null(strstr(shown_text, ":2: it is no JSON\n"));
	free(shown_text);
	report_fini(&r);
}

static void a_line_that_is_too_long_is_bad_and_the_next_is_not(void **state)
{
	(void)state;
	static const size_t lengths[] = {65535, 65536, 65537, 200000};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct report r;
		char *text = malloc(lengths[i] + 32);
		memset(text, ' ', lengths[i]); /* of JSON: an object behind blanks */
		memcpy(text + lengths[i] - 2, "{}", 2);
		memcpy(text + lengths[i], "\n{\"id\":1}\n", 10);
		write_file(text, lengths[i] + 10);
		free(text);
		read_back(&r, true);
		assert_int_equal(r.bad_lines, lengths[i] > 65535);
		assert_int_equal(r.lines, 1 + (lengths[i] <= 65535));
		if (r.bad_lines)
			assert_string_equal(r.bad[0].why, "it is too long");
		report_fini(&r);
	}
}

static void a_compressed_log_is_read_and_a_broken_one_as_far_as_it_goes(void **state)
{
	(void)state;
	for (int is_broken = 0; is_broken < 2; is_broken++) {
		struct report r;
		write_file("", 0);
		gzFile gz = gzopen(path, "wb");
		for (int i = 0; i < 20000; i++)
			gzprintf(gz, "{\"id\":%d,\"path\":\"/%d\"}\n", i, i * 7919);
		gzclose(gz);
		if (is_broken)
			assert_int_equal(truncate(path, 40000), 0);
		read_back(&r, !is_broken);
		assert_true(is_broken ? r.lines > 1000 && r.lines < 20000 : r.lines == 20000);
		assert_true(r.bad_lines <= (uint64_t)is_broken); /* the last line is a part of one */
		report_fini(&r);
	}
}

static void what_cannot_be_opened_is_told(void **state)
{
	(void)state;
	struct report r;
	const char *error;
	report_init(&r);
	assert_false(report_read(&r, "/nowhere/access.log", &error));
	assert_string_equal(error, "No such file or directory");
	assert_false(report_read(&r, "/", &error));
	assert_string_equal(error, "Is a directory");
	report_fini(&r);
}

/* ---- showing ---- */

static void hostile_texts_are_shown_as_texts(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add(&r, "{\"worker\":0,\"id\":1,\"time\":\"<time>\"}");
	add(&r, "{\"worker\":0,\"push\":true,\"parent\":1,\"verdict\":\"forward\",\"outcome\":\"complete\",\"response_bytes\":5,"
		"\"authority\":\"a\",\"path\":\"/<script>alert('1')</script>&\\\"\\u001b[2J\\u009b\",\"route\":\"r\\nx\"}");
	report_end(&r);
	char *html = shown(&r, 10, report_show_html), *text = shown(&r, 10, report_show_text), *json = shown(&r, 10, report_show_json);
	assert_null(strstr(html, "<script"));
	assert_null(strstr(html, "<time>"));
	assert_non_null(strstr(html, "a/&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;\\x1b[2J\\x9b"));
	assert_null(strchr(text, 0x1b));
	assert_non_null(strstr(text, "\\x1b[2J\\x9b"));
	assert_non_null(strstr(text, "r\\x0ax"));
	json_t *whole = json_loads(json, 0, NULL);
	assert_true(json_is_object(whole));
	json_decref(whole);
	free(html);
	free(text);
	free(json);
	report_fini(&r);
}

static void control_characters_are_known(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t bytes;
	} rows[] = {{"a", 0}, {"\x1f", 1}, {" ", 0}, {"~", 0}, {"\x7f", 1}, {"\xc2\x80", 2}, {"\xc2\x9f", 2}, {"\xc2\xa0", 0},
	    {"\xc3\x80", 0}, {"\xc2", 0} /* the name of a file may be no UTF-8 */};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(report_control(rows[i].text), rows[i].bytes);
}

static void the_forms_have_the_same_numbers(void **state)
{
	(void)state;
	struct report r;
	report_init(&r);
	add(&r, PAGE(1, "curl/7"));
	for (int i = 0; i < 60; i++)
		add(&r, FORWARD(1, "complete"));
	for (int i = 0; i < 40; i++)
		add(&r, FORWARD(1, "client-reset"));
	add(&r, "{\"worker\":0,\"push\":true,\"parent\":1,\"verdict\":\"forward\",\"outcome\":\"client-reset\",\"response_bytes\":9,"
		"\"path\":\"/b\"}");
	report_end(&r);
	char *text = shown(&r, 1, report_show_text), *json = shown(&r, 1, report_show_json);
	json_t *whole = json_loads(json, 0, NULL), *rule = NULL, *wasted = NULL;
	assert_int_equal(json_unpack(whole, "{s:{s:[o]}, s:{s:[o], s:i}}", "rules", "rows", &rule, "wasted", "rows", &wasted,
			     "left_out", &(int){0}), 0);
	assert_string_equal(json_string_value(json_object_get(rule, "name")), "f");
	assert_int_equal(json_integer_value(json_object_get(rule, "used")), 60);
	assert_int_equal(json_integer_value(json_object_get(rule, "unused")), 40);
	assert_true(json_real_value(json_object_get(rule, "used_share")) > 0.599);
	assert_string_equal(json_string_value(json_object_get(rule, "advice")), "keep");
	assert_int_equal(json_integer_value(json_object_get(wasted, "wasted_bytes")), 40000);
	json_decref(whole);
	assert_non_null(strstr(text,
	    "\nWhich rules to keep\n"
	    "  rule       offered  forwarded  held  hinted  dropped  used  unused  used %  used bytes  wasted bytes  advice\n"
	    "  f              100        100     0       0        0    60      40   60.0%       60.0k         40.0k  keep\n"
	    "  (no rule)        1          1     0       0        0     0       1    0.0%           0             9\n"));
	assert_non_null(strstr(text, "  … and 1 more\n"));
	free(text);
	free(json);
	report_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(families_of_user_agents),
	    cmocka_unit_test(each_verdict_has_its_figures),
	    cmocka_unit_test(a_line_is_counted_in_each_of_its_groups),
	    cmocka_unit_test(a_push_belongs_to_the_family_of_its_page),
	    cmocka_unit_test(an_id_that_comes_again_is_another_page),
	    cmocka_unit_test(a_request_to_an_admin_listener_is_none),
	    cmocka_unit_test(old_requests_are_forgotten),
	    cmocka_unit_test(a_sampled_line_counts_for_many),
	    cmocka_unit_test(keys_beyond_the_most_are_counted_together),
	    cmocka_unit_test(what_to_do_about_a_rule),
	    cmocka_unit_test(numbers_for_a_reader),
	    cmocka_unit_test(arms_are_compared_by_the_ranks_of_their_times),
	    cmocka_unit_test(times_that_are_all_the_same_do_not_differ),
	    cmocka_unit_test(slow_pages_do_not_outvote_the_others),
	    cmocka_unit_test(pushes_and_failures_belong_to_the_arm_of_their_page),
	    cmocka_unit_test(names_of_arms_are_bounded),
	    cmocka_unit_test(arms_are_shown_in_each_form),
	    cmocka_unit_test(bad_lines_are_counted_and_named),
	    cmocka_unit_test(a_line_that_is_too_long_is_bad_and_the_next_is_not),
	    cmocka_unit_test(a_compressed_log_is_read_and_a_broken_one_as_far_as_it_goes),
	    cmocka_unit_test(what_cannot_be_opened_is_told),
	    cmocka_unit_test(hostile_texts_are_shown_as_texts),
	    cmocka_unit_test(control_characters_are_known),
	    cmocka_unit_test(the_forms_have_the_same_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
