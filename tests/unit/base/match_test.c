/* SPDX-License-Identifier: MIT */
/* What configuration patterns match: globs, addresses, CIDR blocks. */
#include "proxy/base/cidr.h"
#include "proxy/base/glob.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static bool glob(const char *pattern, const char *text)
{
	return glob_match(slice_of_string(pattern), slice_of_string(text));
}

static void star_matches_any_run_and_none(void **state)
{
	(void)state;
	assert_true(glob("*", ""));
	assert_true(glob("*", "a/b"));
	assert_true(glob("/*.css", "/a/b.css"));
	assert_true(glob("a*b*c", "abc"));
	assert_true(glob("a*b*c", "a-b-b-c-c"));
	assert_true(glob("**a**", "bab"));
	assert_false(glob("a*b*c", "a-c-b"));
	assert_false(glob("/*.css", "/a.css2"));
	assert_false(glob("a*", "ba"));
}

static void question_mark_matches_exactly_one(void **state)
{
	(void)state;
	assert_true(glob("a?c", "abc"));
	assert_true(glob("?", "\xff"));
	assert_false(glob("a?c", "ac"));
	assert_false(glob("?", ""));
	assert_true(glob("*?", "x"));
	assert_false(glob("*??", "x"));
}

static void empty_pattern_matches_nothing_but_empty(void **state)
{
	(void)state;
	assert_true(glob("", ""));
	assert_false(glob("", "a"));
	assert_false(glob("a", ""));
	assert_true(glob_match((struct slice){NULL, 0}, (struct slice){NULL, 0}));
}

static void backslash_takes_the_next_byte_as_itself(void **state)
{
	(void)state;
	assert_true(glob("a\\*b", "a*b"));
	assert_false(glob("a\\*b", "axb"));
	assert_true(glob("\\?", "?"));
	assert_false(glob("\\?", "x"));
	assert_true(glob("\\\\", "\\"));
	assert_true(glob("a\\", "a\\"));
	assert_true(glob("*\\**", "a*b"));
	assert_false(glob("*\\**", "ab"));
}

static void case_counts_unless_asked_not_to(void **state)
{
	(void)state;
	assert_false(glob("*.Example.com", "www.example.com"));
	assert_true(glob_match_nocase(SLICE("*.Example.com"), SLICE("WWW.eXample.com")));
	assert_true(glob_match_nocase(SLICE("\\A"), SLICE("a")));
	assert_false(glob_match_nocase(SLICE("["), SLICE("{")));
}

/* With naive backtracking this pattern would outlive the reader. */
static void many_stars_stay_linear(void **state)
{
	(void)state;
	enum { TEXT = 20000, STARS = 60 };
	char *text = malloc(TEXT);
	char pattern[2 * STARS + 1];
	assert_non_null(text);
	memset(text, 'a', TEXT);
	for (size_t i = 0; i < STARS; i++)
		memcpy(pattern + 2 * i, "*a", 2);
	pattern[2 * STARS] = 'b';
	assert_false(glob_match(slice_of(pattern, sizeof(pattern)), slice_of(text, TEXT)));
	assert_true(glob_match(slice_of(pattern, sizeof(pattern) - 1), slice_of(text, TEXT)));
	free(text);
}

/* By the definition: of each beginning of the text, whether the pattern up to here matches it. */
static bool reference(const char *pattern, const char *text, bool nocase)
{
	size_t length = strlen(text);
	bool matches[1001] = {true};
	for (; *pattern; pattern++) {
		bool is_escaped = *pattern == '\\' && pattern[1];
		bool is_star = !is_escaped && *pattern == '*';
		bool is_any = !is_escaped && *pattern == '?';
		pattern += is_escaped;
		for (size_t i = 1; is_star && i <= length; i++)
			matches[i] = matches[i] || matches[i - 1];
		for (size_t i = length + 1; !is_star && i-- > 1;) {
			bool is_same =
			    nocase ? tolower((uint8_t)*pattern) == tolower((uint8_t)text[i - 1])
				   : *pattern == text[i - 1];
			matches[i] = matches[i - 1] && (is_any || is_same);
		}
		matches[0] = matches[0] && is_star;
	}
	return matches[length];
}

static void fill_randomly(char *out, size_t most, const char *letters)
{
	size_t n = (size_t)rand() % most;
	for (size_t i = 0; i < n; i++)
		out[i] = letters[(size_t)rand() % strlen(letters)];
	out[n] = '\0';
}

/* Short and long texts, so that each of the searches is used. */
static void random_globs_match_as_defined(void **state)
{
	(void)state;
	static const char *const letters[] = {"ab", "abA*", "a[{*"};
	char pattern[12], tail[8], text[600], all[24];
	unsigned matches = 0;
	srand(7);
	for (unsigned i = 0; i < 60000; i++) {
		fill_randomly(pattern, sizeof(pattern), "aabB*?*\\[");
		fill_randomly(tail, sizeof(tail), "ab?");
		snprintf(all, sizeof(all), i % 3 ? "%s" : "*%s*%s", pattern, tail);
		fill_randomly(text, i % 5 ? 12 : sizeof(text), letters[i % 3]);
		for (int nocase = 0; nocase < 2; nocase++) {
			struct effort e = effort_of(UINT64_MAX);
			bool expected = reference(all, text, nocase);
			matches += expected;
			if (glob_match_within(slice_of_string(all), slice_of_string(text), nocase,
				&e) != expected)
				fail_msg("%s: %s, %d", all, text, nocase);
		}
	}
	assert_in_range(matches, 5000, 100000);
}

static void piece_longer_than_a_word_is_found(void **state)
{
	(void)state;
	char pattern[200], text[1000];
	for (size_t items = 60; items < 140; items += 3) {
		for (int nocase = 0; nocase < 2; nocase++) {
			memset(text, 'a', sizeof(text));
			memset(pattern, 'a', sizeof(pattern));
			pattern[0] = '*';
			pattern[7] = '?';
			pattern[items] = 'B';
			pattern[items + 1] = '*';
			struct slice glob = slice_of(pattern, items + 2);
			struct slice within = slice_of(text, sizeof(text));
			struct effort e = effort_of(UINT64_MAX);
			assert_false(glob_match_within(glob, within, nocase, &e));
			text[sizeof(text) - 1] = nocase ? 'b' : 'B';
			assert_true(glob_match_within(glob, within, nocase, &e));
			assert_false(glob_match_within(
			    glob, slice_sub(within, sizeof(text) - items + 1, items), nocase, &e));
		}
	}
}

/* The effort of a match is at most the length of the text, whatever the pattern. */
static void each_byte_is_searched_once(void **state)
{
	(void)state;
	static const char *const patterns[] = {"*aaaaaaaaab*", "*a?a?a?a?a?b*", "*a*a*a*a*a*a*b",
	    "*aab*aab*c*", "*?*?*?*?*?*?*b*", "*\\a\\a\\a\\a\\b*", "*Googlebot/*", "/*/*/*/*.css"};
	enum { TEXT = 60000 };
	char *text = malloc(TEXT);
	assert_non_null(text);
	for (size_t i = 0; i < TEXT; i++)
		text[i] = "a/aaGooglebot "[i % 8 ? 0 : i % 14];
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		for (int nocase = 0; nocase < 2; nocase++) {
			struct effort e = effort_of(TEXT);
			glob_match_within(
			    slice_of_string(patterns[i]), slice_of(text, TEXT), nocase, &e);
			assert_false(e.is_used_up);
		}
	/* An end of the pattern that does not fit costs nothing. */
	struct effort none = effort_of(0);
	assert_false(glob_match_within(SLICE("/x*a*a*"), slice_of(text, TEXT), false, &none));
	assert_false(glob_match_within(SLICE("*a*b*.css"), slice_of(text, TEXT), false, &none));
	assert_false(none.is_used_up);
	free(text);
}

static void nobody_knows_when_the_effort_is_used_up(void **state)
{
	(void)state;
	char text[1000];
	memset(text, 'a', sizeof(text));
	memcpy(text + 800, "found", 5);
	const struct slice all = slice_of(text, sizeof(text));
	static const char *const patterns[] = {"*found*", "*fo?nd*"};
	for (size_t i = 0; i < 2; i++) {
		const struct slice pattern = slice_of_string(patterns[i]);
		struct effort e = effort_of(700);
		assert_false(glob_match_within(pattern, all, false, &e));
		assert_true(e.is_used_up);
		e = effort_of(805);
		assert_true(glob_match_within(pattern, all, false, &e));
		assert_false(e.is_used_up);
		assert_int_equal(e.left, 0);
		assert_false(glob_match_within(pattern, all, false, &e));
		assert_true(e.is_used_up);
	}
}

static struct address address(const char *text)
{
	struct address a;
	assert_true(address_parse(slice_of_string(text), &a));
	return a;
}

static void addresses_come_back_as_they_went_in(void **state)
{
	(void)state;
	const char *texts[] = {"192.0.2.1", "0.0.0.0", "255.255.255.255", "::", "::1",
	    "2001:db8::ff00:42:8329", "fe80::1"};
	char buffer[46];
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct address a = address(texts[i]);
		assert_string_equal(address_format(&a, buffer, sizeof(buffer)), texts[i]);
	}
}

static void mapped_address_is_ipv4(void **state)
{
	(void)state;
	struct address a = address("::ffff:192.0.2.7");
	char buffer[46];
	assert_int_equal(a.family, 4);
	assert_string_equal(address_format(&a, buffer, sizeof(buffer)), "192.0.2.7");
}

static void malformed_addresses_are_refused(void **state)
{
	(void)state;
	const struct slice bad[] = {SLICE_INIT(""), SLICE_INIT("192.0.2"),
	    SLICE_INIT("192.0.2.256"), SLICE_INIT("1.2.3.4.5"), SLICE_INIT("localhost"),
	    SLICE_INIT(":::"), SLICE_INIT("1.2.3.4\0"), SLICE_INIT(" 1.2.3.4"), SLICE_INIT("[::1]"),
	    SLICE_INIT("fe80::1%lo"),
	    SLICE_INIT("0000:0000:0000:0000:0000:0000:0000:0000:0000:0000")};
	struct address a;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(address_parse(bad[i], &a));
}

static void format_cuts_to_the_buffer_and_knows_no_address(void **state)
{
	(void)state;
	struct address a = address("192.0.2.1"), none = {.family = 0};
	char buffer[8];
	assert_string_equal(address_format(&a, buffer, sizeof(buffer)), "192.0.2");
	assert_string_equal(address_format(&none, buffer, sizeof(buffer)), "-");
}

static bool contains(const char *block, const char *text)
{
	struct cidr c;
	struct address a = address(text);
	assert_null(cidr_parse(slice_of_string(block), &c));
	return cidr_contains(&c, &a);
}

static void blocks_end_at_their_prefix(void **state)
{
	(void)state;
	assert_true(contains("192.0.2.0/24", "192.0.2.255"));
	assert_false(contains("192.0.2.0/24", "192.0.3.0"));
	assert_true(contains("192.0.2.128/25", "192.0.2.128"));
	assert_false(contains("192.0.2.128/25", "192.0.2.127"));
	assert_true(contains("10.0.0.0/8", "10.255.0.1"));
	assert_true(contains("0.0.0.0/0", "203.0.113.9"));
	assert_false(contains("0.0.0.0/0", "::1"));
	assert_true(contains("::/0", "2001:db8::1"));
	assert_false(contains("::/0", "192.0.2.1"));
	assert_true(contains("2001:db8::/33", "2001:db8:7fff::"));
	assert_false(contains("2001:db8::/33", "2001:db8:8000::"));
	assert_true(contains("::1", "::1"));
	assert_false(contains("::1", "::2"));
	assert_true(contains("192.0.2.9", "::ffff:192.0.2.9"));
	assert_true(contains("::ffff:192.0.2.0/120", "192.0.2.77"));
	assert_false(contains("::ffff:192.0.2.0/120", "192.0.3.77"));
}

static void address_of_a_unix_socket_is_in_no_block(void **state)
{
	(void)state;
	struct cidr c;
	struct address none = {.family = 0};
	assert_null(cidr_parse(SLICE("0.0.0.0/0"), &c));
	assert_false(cidr_contains(&c, &none));
}

static void malformed_blocks_are_refused_in_words(void **state)
{
	(void)state;
	const char *bad[] = {"", "/", "192.0.2.0/", "192.0.2.0/33", "192.0.2.0/-1", "192.0.2.1/24",
	    "192.0.2.0/24/2", "::/129", "2001:db8::1/64", "::ffff:0.0.0.0/95", "example.com/8"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cidr c;
		assert_non_null(cidr_parse(slice_of_string(bad[i]), &c));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(star_matches_any_run_and_none),
	    cmocka_unit_test(question_mark_matches_exactly_one),
	    cmocka_unit_test(empty_pattern_matches_nothing_but_empty),
	    cmocka_unit_test(backslash_takes_the_next_byte_as_itself),
	    cmocka_unit_test(case_counts_unless_asked_not_to),
	    cmocka_unit_test(many_stars_stay_linear),
	    cmocka_unit_test(random_globs_match_as_defined),
	    cmocka_unit_test(piece_longer_than_a_word_is_found),
	    cmocka_unit_test(each_byte_is_searched_once),
	    cmocka_unit_test(nobody_knows_when_the_effort_is_used_up),
	    cmocka_unit_test(addresses_come_back_as_they_went_in),
	    cmocka_unit_test(mapped_address_is_ipv4),
	    cmocka_unit_test(malformed_addresses_are_refused),
	    cmocka_unit_test(format_cuts_to_the_buffer_and_knows_no_address),
	    cmocka_unit_test(blocks_end_at_their_prefix),
	    cmocka_unit_test(address_of_a_unix_socket_is_in_no_block),
	    cmocka_unit_test(malformed_blocks_are_refused_in_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
