/* SPDX-License-Identifier: MIT */
/*
 * References resolved against a request. The rows are RFC 3986 5.4's with its base put on http; the
 * rest is what HTTP asks besides.
 */
#include "proxy/http/link.h"
#include "proxy/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define RFC_BASE "http", "a", "/b/c/d;p?q"

static struct http_head base_of(const char *scheme, const char *authority, const char *path)
{
	return (struct http_head){.scheme = slice_of_string(scheme),
	    .authority = slice_of_string(authority),
	    .path = slice_of_string(path)};
}

/* want: "scheme://authority path" in one, or NULL when it must be refused. */
static void check_slice(const char *scheme, const char *authority, const char *path,
    struct slice reference, const char *want)
{
	struct http_head base = base_of(scheme, authority, path);
	struct http_target t;
	struct arena a;
	arena_init(&a, NULL, 0);
	bool is_resolved = http_target_resolve(&a, &base, reference, &t);
	if (is_resolved != (want != NULL))
		fail_msg("<%.*s>: %s", SLICE_ARG(reference), want ? "refused" : "not refused");
	if (want) {
		struct slice got = arena_printf(&a, "%.*s://%.*s%.*s", SLICE_ARG(t.scheme),
		    SLICE_ARG(t.authority), SLICE_ARG(t.path));
		if (!slice_equal(got, slice_of_string(want)))
			fail_msg(
			    "<%.*s>: %.*s, want %s", SLICE_ARG(reference), SLICE_ARG(got), want);
	}
	arena_fini(&a);
}

static void check(const char *scheme, const char *authority, const char *path,
    const char *reference, const char *want)
{
	check_slice(scheme, authority, path, slice_of_string(reference), want);
}

/* Such references are not given to the library; as part of a URI of another host they are. */
static void simple_paths_resolve_as_in_a_whole_uri(void **state)
{
	(void)state;
	static const char bytes[] = "aZ0/.?-_~!$&'()*+,;=:@/./?a";
	uint32_t chance = 1;
	for (unsigned n = 0; n < 20000; n++) {
		char path[12] = "/", whole[32], want[64];
		for (unsigned i = 1; i < sizeof(path) - 1; i++) {
			chance = chance * 1664525 + 1013904223;
			path[i] = (chance >> 8) % 12 == 0 ? '\0' : bytes[(chance >> 16) % (sizeof(bytes) - 1)];
		}
		if (path[1] == '/')
			continue; /* another authority */
		snprintf(whole, sizeof(whole), "http://h%s", path);
		struct http_head other = base_of("http", "a", "/x");
		struct http_target t;
		struct arena a;
		arena_init(&a, NULL, 0);
		assert_true(http_target_resolve(&a, &other, slice_of_string(whole), &t));
		snprintf(want, sizeof(want), "http://h%.*s", SLICE_ARG(t.path));
		arena_fini(&a);
		check("http", "h", "/x", path, want);
	}
}

static void normal_examples_of_the_rfc(void **state)
{
	(void)state;
	check(RFC_BASE, "g:h", NULL); /* a scheme without an http authority */
	check(RFC_BASE, "g", "http://a/b/c/g");
	check(RFC_BASE, "./g", "http://a/b/c/g");
	check(RFC_BASE, "g/", "http://a/b/c/g/");
	check(RFC_BASE, "/g", "http://a/g");
	check(RFC_BASE, "//g", "http://g/");
	check(RFC_BASE, "?y", "http://a/b/c/d;p?y");
	check(RFC_BASE, "g?y", "http://a/b/c/g?y");
	check(RFC_BASE, "#s", "http://a/b/c/d;p?q");
	check(RFC_BASE, "g#s", "http://a/b/c/g");
	check(RFC_BASE, "g?y#s", "http://a/b/c/g?y");
	check(RFC_BASE, ";x", "http://a/b/c/;x");
	check(RFC_BASE, "g;x", "http://a/b/c/g;x");
	check(RFC_BASE, "g;x?y#s", "http://a/b/c/g;x?y");
	check(RFC_BASE, "", "http://a/b/c/d;p?q");
	check(RFC_BASE, ".", "http://a/b/c/");
	check(RFC_BASE, "./", "http://a/b/c/");
	check(RFC_BASE, "..", "http://a/b/");
	check(RFC_BASE, "../", "http://a/b/");
	check(RFC_BASE, "../g", "http://a/b/g");
	check(RFC_BASE, "../..", "http://a/");
	check(RFC_BASE, "../../", "http://a/");
	check(RFC_BASE, "../../g", "http://a/g");
}

static void abnormal_examples_of_the_rfc(void **state)
{
	(void)state;
	check(RFC_BASE, "../../../g", "http://a/g");
	check(RFC_BASE, "../../../../g", "http://a/g");
	check(RFC_BASE, "/./g", "http://a/g");
	check(RFC_BASE, "/../g", "http://a/g");
	check(RFC_BASE, "g.", "http://a/b/c/g.");
	check(RFC_BASE, ".g", "http://a/b/c/.g");
	check(RFC_BASE, "g..", "http://a/b/c/g..");
	check(RFC_BASE, "..g", "http://a/b/c/..g");
	check(RFC_BASE, "./../g", "http://a/b/g");
	check(RFC_BASE, "./g/.", "http://a/b/c/g/");
	check(RFC_BASE, "g/./h", "http://a/b/c/g/h");
	check(RFC_BASE, "g/../h", "http://a/b/c/h");
	check(RFC_BASE, "g;x=1/./y", "http://a/b/c/g;x=1/y");
	check(RFC_BASE, "g;x=1/../y", "http://a/b/c/y");
	check(RFC_BASE, "g?y/./x", "http://a/b/c/g?y/./x");
	check(RFC_BASE, "g?y/../x", "http://a/b/c/g?y/../x");
	check(RFC_BASE, "g#s/./x", "http://a/b/c/g");
	check(RFC_BASE, "g#s/../x", "http://a/b/c/g");
	check(RFC_BASE, "http:g", NULL); /* strict: absolute, without an authority */
}

static void dot_segments_go_wherever_they_come_from(void **state)
{
	(void)state;
	check("https", "a", "/b/../c/./d", "e", "https://a/c/e");
	check("https", "a", "/", "a/../../b", "https://a/b");
	check("https", "a", "/", "//h/../x", "https://h/x");
	check("https", "a", "/", "https://h/x/../y/.", "https://h/y/");
	check("https", "a", "/", "/..", "https://a/");
}

static void reference_without_a_path_keeps_the_base_s_as_it_is(void **state)
{
	(void)state;
	check("https", "a", "/b/../c", "?y", "https://a/b/../c?y");
	check("https", "a", "/b/../c?q", "?", "https://a/b/../c?");
	check("https", "a", "/b/../c?q", "", "https://a/b/../c?q");
	check("https", "a", "/b?q?r", "#f", "https://a/b?q?r");
	check("https", "a", "/s|t", "?y#f", "https://a/s|t?y");
}

static void empty_segments_stay(void **state)
{
	(void)state;
	check("https", "a", "/", "/.//x", "https://a//x");
	check("https", "a", "/b//c", "x", "https://a/b//x");
	check("https", "a", "/", "//h//x", "https://h//x");
	check("https", "a", "/", "x//", "https://a/x//");
	check("https", "a", "//b/c", "x", "https://a//b/x");
	check("https", "a", "//////", "x", "https://a//////x");
	check("https", "a", "/////", "..", "https://a////");
	check("https", "a", "///", ".", "https://a///");
	check("https", "a", "/", "https://h//..//./..//x", "https://h//x");
}

static void percent_encoding_stays_as_written(void **state)
{
	(void)state;
	check("https", "a", "/%7eb/c", "%7E%2f%2e%2e/x%20?%c3%A4",
	    "https://a/%7eb/%7E%2f%2e%2e/x%20?%c3%A4");
	check("https", "a", "/", "/%zz", NULL);
	check("https", "a", "/", "/%4", NULL);
	check("https", "a", "/", "/%", NULL);
}

static void same_authority_has_the_bytes_of_the_base(void **state)
{
	(void)state;
	check("https", "A.example", "/", "https://a.EXAMPLE:443/x", "https://A.example/x");
	check("https", "a.example:443", "/", "//a.example/x", "https://a.example:443/x");
	check("http", "a.example:8080", "/", "HTTP://A.example:8080/x", "http://a.example:8080/x");
	check("https", "[::1]:8443", "/", "//[::1]:8443/x", "https://[::1]:8443/x");
	check("HTTPS", "a", "/", "x", "https://a/x");
}

static void other_authority_is_written_in_its_usual_form(void **state)
{
	(void)state;
	check("https", "a", "/", "//CDN.Example:443/x", "https://cdn.example/x");
	check("https", "a", "/", "//cdn.example:/x", "https://cdn.example/x");
	check("https", "a", "/", "//cdn.example:08443", "https://cdn.example:8443/");
	check("https", "a", "/", "http://a/x", "http://a/x");
	check("https", "a", "/", "http://a:443/x", "http://a:443/x");
	check("https", "a", "/", "//a:80/?x", "https://a:80/?x");
	check("https", "a", "/", "//a2?x#f", "https://a2/?x");
	check("https", "a", "/", "//[2001:DB8::1]:1/x", "https://[2001:db8::1]:1/x");
	check("https", "a", "/", "//192.0.2.1/x", "https://192.0.2.1/x");
}

static void what_http_cannot_name_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"//u@a/x", "https://u:p@a/x", "https://@a/x", "//",
	    "///x", "https:///x", "https://:443/x", "https:", "https:/x", "https:x", "ftp://a/x",
	    "file:///x", "data:text/css,x", "javascript:x()", "mailto:a@b", "ws://a/x", "//a:0/",
	    "//a:65536/", "//a:99999999999/", "//a:x/", "//[::1/x", "//[::1]x/", "//[]/",
	    "//[v1.x]/", "//a b/", "//a\\b/", "1:x:y/", ":x"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check("https", "a", "/", bad[i], NULL);
}

static void bytes_that_no_uri_has_are_refused(void **state)
{
	(void)state;
	for (int c = 0; c < 256; c++) {
		char text[] = {'/', 'x', (char)c, 'y'};
		bool is_allowed = c != 0 && c < 0x7f &&
				  strchr("abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					 "0123456789-._~!$&'()*+,;=:@/?#",
				      c);
		struct http_head base = base_of("https", "a", "/");
		struct http_target t;
		struct arena a;
		arena_init(&a, NULL, 0);
		if (http_target_resolve(&a, &base, slice_of(text, 4), &t) != is_allowed)
			fail_msg("byte %d", c);
		arena_fini(&a);
	}
	check("https", "a", "/", " /x", NULL);
	check("https", "a", "/", "/x ", NULL);
}

static void odd_base_hurts_only_what_needs_it(void **state)
{
	(void)state;
	check("https", "a", "/s?q={a|b}", "x", "https://a/x");
	check("https", "a", "/s?q={a|b}", "?y", "https://a/s?y");
	check("https", "a", "/s|t/u", "/x", "https://a/x");
	check("https", "a", "/s|t/u", "//b/x", "https://b/x");
	check("https", "a", "/s|t/u", "", "https://a/s|t/u");
	check("https", "a", "/s|t/u", "x", NULL);
	check("https", "a", "/a:b/c", "x", "https://a/a:b/x");
	check("https", "a", "*", "/x", "https://a/x");
	check("", "a", "/", "/x", NULL);
	check("ftp", "a", "/", "/x", NULL);
	check("https", "", "/", "/x", NULL);
	check("https", "", "/", "//h/x", NULL);
}

static void colon_in_a_relative_path_needs_a_dot(void **state)
{
	(void)state;
	check("https", "a", "/", "./x:y", "https://a/x:y");
	check("https", "a", "/", "x:y", NULL);
	check("https", "a", "/", "b/x:y", "https://a/b/x:y");
}

static void length_is_bounded(void **state)
{
	(void)state;
	static const char fills[] = {'a', '/', '.', '?', '#', ':', '%', '['};
	char text[LIMIT_REFERENCE_BYTES + 2];
	struct http_target t;
	struct arena a;
	for (size_t f = 0; f < sizeof(fills); f++) {
		memset(text, fills[f], sizeof(text));
		text[0] = '/';
		text[1] = 'x';
		struct http_head base = base_of("https", "a", "/");
		bool is_valid = fills[f] != '%' && fills[f] != '[' && fills[f] != '#';
		arena_init(&a, NULL, 0);
		assert_int_equal(
		    http_target_resolve(&a, &base, slice_of(text, LIMIT_REFERENCE_BYTES), &t),
		    is_valid);
		assert_true(a.heap_bytes <= 2 * (LIMIT_REFERENCE_BYTES + 4096));
		assert_false(
		    http_target_resolve(&a, &base, slice_of(text, LIMIT_REFERENCE_BYTES + 1), &t));
		base.path = slice_of(text, LIMIT_REFERENCE_BYTES + 1);
		bool is_long = fills[f] != '?';
		assert_int_equal(http_target_resolve(&a, &base, SLICE("y"), &t), !is_long);
		assert_true(http_target_resolve(&a, &base, SLICE("/y"), &t));
		arena_fini(&a);
	}
}

static void result_outlives_base_and_reference(void **state)
{
	(void)state;
	char path[] = "/dir/page", authority[] = "a.example", reference[] = "x/y?z";
	struct http_head base = base_of("https", authority, path);
	struct http_target t;
	struct arena a;
	arena_init(&a, NULL, 0);
	assert_true(http_target_resolve(&a, &base, slice_of_string(reference), &t));
	memset(path, 'X', sizeof(path));
	memset(authority, 'X', sizeof(authority));
	memset(reference, 'X', sizeof(reference));
	assert_true(slice_equal(t.path, SLICE("/dir/x/y?z")));
	assert_true(slice_equal(t.authority, SLICE("a.example")));
	arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(simple_paths_resolve_as_in_a_whole_uri),
	    cmocka_unit_test(normal_examples_of_the_rfc),
	    cmocka_unit_test(abnormal_examples_of_the_rfc),
	    cmocka_unit_test(dot_segments_go_wherever_they_come_from),
	    cmocka_unit_test(reference_without_a_path_keeps_the_base_s_as_it_is),
	    cmocka_unit_test(empty_segments_stay),
	    cmocka_unit_test(percent_encoding_stays_as_written),
	    cmocka_unit_test(same_authority_has_the_bytes_of_the_base),
	    cmocka_unit_test(other_authority_is_written_in_its_usual_form),
	    cmocka_unit_test(what_http_cannot_name_is_refused),
	    cmocka_unit_test(bytes_that_no_uri_has_are_refused),
	    cmocka_unit_test(odd_base_hurts_only_what_needs_it),
	    cmocka_unit_test(colon_in_a_relative_path_needs_a_dot),
	    cmocka_unit_test(length_is_bounded),
	    cmocka_unit_test(result_outlives_base_and_reference),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
