/* SPDX-License-Identifier: MIT */
/* Regular expressions among patterns: what they match, their mistakes, and that they are bounded. */
#include "tests/support/patterns.h"
#include "tests/unit/policy/offer.h"
#include <malloc.h>

static const struct policy_regex *compiled(
    struct policy_regexes *all, const char *text, bool nocase)
{
	char what[128];
	size_t at;
	const struct policy_regex *regex =
	    policy_regex_compile(all, slice_of_string(text), nocase, &at, what, sizeof what);
	assert_non_null(regex);
	return regex;
}

static void expression_matches_anywhere_unless_anchored(void **state)
{
	(void)state;
	struct policy_regexes *all = policy_regexes_new();
	assert_true(regex_matches(compiled(all, "~b+c", false), SLICE("abbcd")));
	assert_false(regex_matches(compiled(all, "~^b", false), SLICE("abbcd")));
	assert_true(regex_matches(
	    compiled(all, "~^/(css|js)/[a-z]{1,3}\\.(css|js)$", false), SLICE("/js/abc.js")));
	assert_false(regex_matches(compiled(all, "~\\.js$", false), SLICE("/a.js\n")));
	assert_true(regex_matches(
	    compiled(all, "~(a)(b)(c)\\3", false), SLICE("abcc"))); /* more groups than room */
	assert_true(regex_matches(compiled(all, "~^$", false), (struct slice){NULL, 0}));
	policy_regexes_free(all);
}

static void case_is_ignored_where_the_patterns_ignore_it(void **state)
{
	(void)state;
	struct policy_regexes *all = policy_regexes_new();
	assert_false(regex_matches(compiled(all, "~^curl/", false), SLICE("Curl/8")));
	assert_true(regex_matches(compiled(all, "~^curl/", true), SLICE("Curl/8")));
	policy_regexes_free(all);
}

static void bytes_above_ascii_are_bytes(void **state)
{
	(void)state;
	struct policy_regexes *all = policy_regexes_new();
	assert_true(regex_matches(compiled(all, "~^.\\xff.$", false), SLICE("\xc3\xff\x80")));
	policy_regexes_free(all);
}

static void mistake_tells_where_it_is(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		size_t at;
		const char *what;
	} rows[] = {
	    {"~^/(a", 5, "missing closing parenthesis"},
	    {"~[b-a]", 4, "range out of order in character class"},
	    {"~*", 1, "quantifier does not follow a repeatable item"},
	    {"~", 1, "it is empty"},
	    {"~(*UTF)a", 7, NULL},
	};
	struct policy_regexes *all = policy_regexes_new();
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char what[128] = "";
		size_t at = 0;
		assert_null(policy_regex_compile(
		    all, slice_of_string(rows[i].text), false, &at, what, sizeof what));
		assert_int_equal(at, rows[i].at);
		if (rows[i].what)
			assert_string_equal(what, rows[i].what);
		assert_int_not_equal(strlen(what), 0);
	}
	policy_regexes_free(all);
}

static void overlong_expression_is_refused(void **state)
{
	(void)state;
	char text[POLICY_REGEX_BYTES + 2], what[128];
	size_t at;
	struct policy_regexes *all = policy_regexes_new();
	memset(text, 'a', sizeof text);
	text[0] = '~';
	assert_non_null(policy_regex_compile(
	    all, slice_of(text, sizeof text - 1), false, &at, what, sizeof what));
	assert_null(
	    policy_regex_compile(all, slice_of(text, sizeof text), false, &at, what, sizeof what));
	assert_string_equal(what, "it is longer than 1024 bytes");
	policy_regexes_free(all);
}

static void expression_that_explodes_ends_without_a_match(void **state)
{
	(void)state;
	char text[4096];
	struct policy_regexes *all = policy_regexes_new();
	memset(text, 'a', sizeof text);
	/* 2^4096 ways, were there no bound. */
	assert_false(
	    regex_matches(compiled(all, "~^(a+)+b", false), slice_of(text, sizeof text)));
	assert_false(
	    regex_matches(compiled(all, "~^(?:a|aa)*$x", false), slice_of(text, sizeof text)));
	/* The next is none the worse for it. */
	assert_true(regex_matches(compiled(all, "~a$", false), slice_of(text, sizeof text)));
	policy_regexes_free(all);
}

/* Each place where a match might begin costs little, and all together their square. */
static void places_of_a_long_text_are_bounded_together(void **state)
{
	(void)state;
	struct policy_regexes *all = policy_regexes_new();
	char text[65000];
	static const char *const squares[] = {
	    "~a+[bc]", "~[^/x]+[xy]", "~a+\\.js$", "~[a-z]+[.](js|css)"};

	memset(text, 'a', sizeof text);
	memcpy(text + sizeof text - 12, "/ab/a.js/axs", 12);
	for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
		assert_false(regex_matches(
		    compiled(all, squares[i], false), slice_of(text, sizeof text)));
	/* A text of usual length has steps enough for the same, */
	for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
		assert_true(regex_matches(compiled(all, squares[i], false),
		    slice_of(text + sizeof text - 300, i == 2 ? 296 : 300)));
	/* and one without squares is looked at to its end. */
	assert_true(
	    regex_matches(compiled(all, "~/a[x]s$", false), slice_of(text, sizeof text)));
	policy_regexes_free(all);
}

#if !defined(__SANITIZE_ADDRESS__)
static void match_takes_nothing_from_the_heap(void **state)
{
	(void)state;
	char text[4096];
	struct policy_regexes *all = policy_regexes_new();
	const struct policy_regex *deep = compiled(all, "~^(?:a|b)*$", false);
	memset(text, 'a', sizeof text);
	size_t before = mallinfo2().uordblks;
	for (size_t n = 1; n < sizeof text; n += 97)
		regex_matches(deep, slice_of(text, n));
	assert_int_equal(mallinfo2().uordblks, before);
	policy_regexes_free(all);
}
#endif

static void list_may_mix_globs_and_expressions(void **state)
{
	(void)state;
	struct policy_regexes *all = policy_regexes_new();
	struct slice texts[] = {SLICE("/a/*"), SLICE("~^/b[0-9]+$")};
	const struct policy_regex *regexes[] = {NULL, compiled(all, "~^/b[0-9]+$", false)};
	struct policy_patterns p = {texts, regexes, 2};
	assert_true(patterns_take(&p, SLICE("/a/x"), false));
	assert_true(patterns_take(&p, SLICE("/b17"), false));
	assert_false(patterns_take(&p, SLICE("/bx"), false));
	assert_false(patterns_take(&p, SLICE("~^/b[0-9]+$"), false));
	policy_regexes_free(all);
}

static void rule_asks_its_expressions(void **state)
{
	(void)state;
	struct scene s;
	struct policy_regexes *all = policy_regexes_new();
	struct slice text = SLICE("~\\.css$");
	const struct policy_regex *regex = compiled(all, "~\\.css$", false);
	scene_init(&s);
	struct policy_rule *rule = scene_rule(&s, "one", POLICY_DROP);
	rule->promised_paths = (struct policy_patterns){&text, &regex, 1};
	assert_decided(
	    &s, POLICY_DROP, &policy_reason_RULE, rule); /* the query is not part of it */
	scene_promise(&s, "GET", "/css/a.js");
	assert_decided(&s, POLICY_FORWARD, &policy_reason_DEFAULT, NULL);
	scene_fini(&s);
	policy_regexes_free(all);
}

static void message_without_room_is_replaced_by_a_plain_one(void **state)
{
	(void)state;
	struct policy_regexes *all = policy_regexes_new();
	char what[23];
	size_t at;
	assert_null(policy_regex_compile(all, SLICE("~[b-a]"), false, &at, what, sizeof what));
	assert_int_equal(at, 4);
	assert_string_equal(what, "it cannot be compiled");
	policy_regexes_free(all);
	policy_regexes_free(NULL); /* a configuration without any */
}

static void empty_patterns_and_empty_texts_are_compared_as_others(void **state)
{
	(void)state;
	struct slice glob = SLICE("");
	struct policy_patterns p = {&glob, NULL, 1};
	assert_true(patterns_take(&p, SLICE(""), false));
	assert_false(patterns_take(&p, SLICE("a"), false));
	glob = SLICE("*");
	assert_true(patterns_take(&p, SLICE(""), false));
	glob = SLICE("a*");
	assert_false(patterns_take(&p, SLICE(""), false));
	assert_false(policy_pattern_is_regex(SLICE("")));
}

static void destination_has_a_host_and_may_have_a_port(void **state)
{
	(void)state;
	static const struct {
		const char *text, *host; /* NULL: none */
		uint16_t port;
	} rows[] = {
	    {"a.example", "a.example", 0},
	    {"*.example:8443", "*.example", 8443},
	    {"[::1]", "[::1]", 0},
	    {"[::1]:65535", "[::1]", 65535},
	    {"*:1", "*", 1},
	    {"", NULL, 0},
	    {":80", NULL, 0},
	    {"a:", NULL, 0},
	    {"a:0", NULL, 0},
	    {"a:65536", NULL, 0},
	    {"a:https", NULL, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct policy_destination d;
		assert_int_equal(policy_destination_of(slice_of_string(rows[i].text), &d), rows[i].host != NULL);
		if (!rows[i].host)
			continue;
		assert_true(slice_equal(d.host, slice_of_string(rows[i].host)));
		assert_int_equal(d.port, rows[i].port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expression_matches_anywhere_unless_anchored),
		cmocka_unit_test(case_is_ignored_where_the_patterns_ignore_it),
		cmocka_unit_test(bytes_above_ascii_are_bytes),
		cmocka_unit_test(mistake_tells_where_it_is),
		cmocka_unit_test(overlong_expression_is_refused),
		cmocka_unit_test(expression_that_explodes_ends_without_a_match),
		cmocka_unit_test(places_of_a_long_text_are_bounded_together),
#if !defined(__SANITIZE_ADDRESS__)
		cmocka_unit_test(match_takes_nothing_from_the_heap),
#endif
		cmocka_unit_test(list_may_mix_globs_and_expressions),
		cmocka_unit_test(rule_asks_its_expressions),
		cmocka_unit_test(destination_has_a_host_and_may_have_a_port),
		cmocka_unit_test(message_without_room_is_replaced_by_a_plain_one),
		cmocka_unit_test(empty_patterns_and_empty_texts_are_compared_as_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
