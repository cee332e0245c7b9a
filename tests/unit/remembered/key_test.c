/* SPDX-License-Identifier: MIT */
/* The name of a page: No-Vary-Search, members of queries, Vary. */
#include "proxy/remembered/remembered_private.h"
#include "tests/support/remembered_world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct http_head_pool *pool;

static int set_up(void **state)
{
	(void)state;
	pool = http_head_pool_new(2);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	http_head_pool_free(pool);
	return 0;
}

static void rules_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *value, *rule;
	} rows[] = {
	    {"", "=*"},
	    {"key-order", "~*"},
	    {"key-order=?1", "~*"},
	    {"key-order=?0", "=*"},
	    {"key-order=?2", "=*"},
	    {"params", "=+"},
	    {"params=?1", "=+"},
	    {"params=?0", "=*"},
	    {"params=()", "=*"},
	    {"params=(\"a\")", "=-a"},
	    {"params=( \"a\"  \"b\" )", "=-a b"},
	    {"key-order, params=(\"a\")", "~-a"},
	    {"params, except=(\"id\" \"page\")", "=+id page"},
	    {"except=(\"id\"), params, key-order", "~+id"},
	    {"except=(\"id\")", "=*"},
	    {"params=(\"a\"), except=(\"id\")", "=*"},
	    {"params=(\"a)", "=*"},
	    {"params=(\"a\"", "=*"},
	    {"params=(\"\")", "=*"},
	    {"params=(\"a b\")", "=*"},
	    {"params=(a)", "=*"},
	    {"params=(\"a\");x", "=*"},
	    {"other", "=*"},
	    {"params=(\"\\\"\")", "=-\""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *response = http_head_new(pool);
		struct text rule;
		http_head_add(response, SLICE("no-vary-search"), slice_of_string(rows[i].value));
		query_rule_read(response, &rule);

		if (!slice_equal(text_slice(&rule), slice_of_string(rows[i].rule)))
			fail_msg("%s: %.*s", rows[i].value, SLICE_ARG(text_slice(&rule)));
		assert_true(query_rule_is_good(text_slice(&rule)));
		/* Two lines: nobody knows which counts. */
		http_head_add(response, SLICE("no-vary-search"), SLICE("params"));
		query_rule_read(response, &rule);
		assert_true(slice_equal(text_slice(&rule), SLICE("=*")));
		http_head_free(response);
	}
	static const char *const bad[] = {"", "=", "x*", "=x", "=*a", "=-a\n", "~+\x80"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(query_rule_is_good(slice_of_string(bad[i])));
}

static void members_are_chosen(void **state)
{
	(void)state;
	static const struct {
		const char *rule, *query, *chosen;
	} rows[] = {
	    {"=*", "", ""},
	    {"=*", "b=2&a=1&&c", "b=2&a=1&c"},
	    {"=*", "utm_source=x&a=1&utm_=2&ref=3&refer=4", "a=1&refer=4"},
	    {"=-a c", "a=1&b=2&c&d", "b=2&d"},
	    {"=-a", "%61=1&a%62=2", "a%62=2"},
	    {"=+b", "a=1&b=2&b=1", "b=2&b=1"},
	    {"=+", "a=1&b=2", ""},
	    {"~*", "b=2&a=1&b=1", "a=1&b=2&b=1"},
	};
	static const struct slice ignored[] = {SLICE_INIT("utm_*"), SLICE_INIT("ref")};
	struct remembered *m =
	    remembered_new(&(struct remembered_options){.ignored = ignored, .ignored_count = 2}, 1, NULL);
	struct text chosen;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(query_choose(
		    m, slice_of_string(rows[i].rule), slice_of_string(rows[i].query), &chosen));
		if (!slice_equal(text_slice(&chosen), slice_of_string(rows[i].chosen)))
			fail_msg("%s %s: %.*s", rows[i].rule, rows[i].query, SLICE_ARG(text_slice(&chosen)));
	}
	char many[400];
	for (size_t i = 0; i < sizeof(many); i++)
		many[i] = i % 2 ? '&' : 'a';
	assert_false(query_choose(m, SLICE("=*"), slice_of(many, sizeof(many)), &chosen));
	assert_true(query_choose(m, SLICE("=+"), slice_of(many, sizeof(many)), &chosen));
	memset(many, 'a', sizeof(many));
	assert_false(query_choose(m, SLICE("=*"), slice_of(many, sizeof(many)), &chosen));
	assert_false(query_choose(m, SLICE("=*"), SLICE("a b"), &chosen));
	remembered_free(m);
}

static void vary_makes_variants(void **state)
{
	(void)state;
	struct http_head *response = http_head_new(pool), *request = http_head_new(pool);
	struct text vary, variant;
	http_head_add(response, SLICE("vary"), SLICE("X-B, Accept-Encoding, x-a"));
	http_head_add(response, SLICE("vary"), SLICE("cookie, x-b, Authorization"));
	assert_true(vary_read(response, &vary));
	assert_true(slice_equal(text_slice(&vary), SLICE("cookie x-a x-b")));
	assert_true(vary_is_good(text_slice(&vary)));
	assert_true(variant_of(text_slice(&vary), request, &variant));
	assert_int_equal(variant.len, 0);
	http_head_add(request, SLICE("cookie"), SLICE("secret=1"));
	http_head_add(request, SLICE("x-a"), SLICE("1"));
	http_head_add(request, SLICE("x-a"), SLICE("2"));
	assert_true(variant_of(text_slice(&vary), request, &variant));
	assert_true(slice_equal(text_slice(&variant), SLICE("cookie: yes\tx-a: 1, 2")));
	http_head_add(request, SLICE("x-b"), SLICE("\xc3\xa4"));
	assert_false(variant_of(text_slice(&vary), request, &variant));
	/* It would read as the value of another field. */
	struct http_head *two_in_one = http_head_new(pool);
	http_head_add(two_in_one, SLICE("x-a"), SLICE("1\tx-b: 2"));
	assert_false(variant_of(text_slice(&vary), two_in_one, &variant));
	http_head_free(two_in_one);
	http_head_free(response);
	http_head_free(request);
	static const char *const bad[] = {" a", "a  b", "A", "a b c d e", "a,b"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(vary_is_good(slice_of_string(bad[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(rules_are_read),
	    TEST(members_are_chosen),
	    TEST(vary_makes_variants),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
