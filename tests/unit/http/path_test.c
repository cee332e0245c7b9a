/* SPDX-License-Identifier: MIT */
/* Paths as a server may read them that decodes them. */
#include "proxy/base/ascii.h"
#include "proxy/http/path.h"
#include "tests/unit/http/heads.h"

static void plain(const char *path, const char *expected)
{
	char out[256];
	struct slice s = http_path_plain(slice_of_string(path), out);
	if (!slice_equal(s, slice_of_string(expected)))
		fail_msg("'%s' is '%.*s'", path, SLICE_ARG(s));
}

static void what_a_server_may_read(void **state)
{
	(void)state;
	plain("/", "/");
	plain("/a", "/a");
	plain("/a/", "/a/");
	plain("/a/b?c/../d", "/a/b");
	plain("//a///b", "/a/b");
	plain("/a/./b/.", "/a/b/");
	plain("/a/../b", "/b");
	plain("/a/..", "/");
	plain("/a/b/..", "/a/");
	plain("/../../a", "/a");
	plain("/..", "/");
	plain("/.../..a/b..", "/.../..a/b..");
	plain("/%61%2F%62", "/a/b");
	plain("/%2e%2e/a", "/a");
	plain("/x/%2E%2e%2fa", "/a");
	plain("/%", "/%");
	plain("/%4", "/%4");
	plain("/%zz", "/%zz");
	plain("/%2541", "/%41"); /* once */
	plain("/x\\..\\a", "/a");
	plain("/x%5c..%5Ca", "/a");
	plain("/a;v=1/b;c;d", "/a/b");
	plain("/x/..;y/a", "/a");
	plain("/x/;/a", "/x/a");
	plain("*", "*");
	plain("", "");
	plain("a/b", "a/b");
}

static void ambiguous(const char *path, bool is)
{
	if (http_path_is_ambiguous(slice_of_string(path)) != is)
		fail_msg("%s", path);
}

static void what_servers_read_in_more_ways(void **state)
{
	(void)state;
	ambiguous("/x%2fy/../admin", true); /* or /x/admin */
	ambiguous("/x\\y/../admin", true);
	ambiguous("/x%5Cy/%2e%2E/admin", true);
	ambiguous("/x//../admin", true); /* or /x/admin */
	ambiguous("/x;y/../admin", true);
	ambiguous("/a/..;/b", true);
	ambiguous("/admin%5c..%3b", true);
	ambiguous("/;%2fx/admin", true);
	ambiguous("/x%3ba\\b", true);
	ambiguous("//x/admin", true); /* or /admin of the host x */
	ambiguous("/\\x/admin", true);
	ambiguous("/%2561dmin", true); /* decoded twice: /admin */
	ambiguous("/%25%36%31dmin", true);
	ambiguous("/%%361dmin", true);
	ambiguous("/%6%31dmin", true);
	ambiguous("/%252fadmin", true);
	ambiguous("/%25252fadmin", true);
	ambiguous("/x%2", false);
	ambiguous("/admin%00", true);
	ambiguous("/%00admin", true);
	ambiguous("/admin%00.css", true);
	ambiguous("/%u0061dmin", true);
	ambiguous("/%U0061dmin", true);
	ambiguous("/%25u0061dmin", true);
	ambiguous("/%u006dmin", true); /* "m" is no digit, but "006d" is four */
	ambiguous("/%u061min", false);
	ambiguous("/%c0%af", true);
	ambiguous("/%C1%a1dmin", true);
	ambiguous("/%e0%81%a1dmin", true);
	ambiguous("/%f0%80%81%a1dmin", true);
	ambiguous("/\xc1\xa1" "dmin%20", true);
	ambiguous("/%c3%a4%20%e2%82%ac%e0%a4%85%f0%9f%98%80", false);
	ambiguous("/%c0a", false);
	ambiguous("/100%25", false);
	ambiguous("/100%25off", false);
	ambiguous("/100%2", false);
	ambiguous("/%zz%", false);
	ambiguous("/%2041", false);
	ambiguous("/x?a=%2561%00", false);
	ambiguous("/x/../admin", false);
	ambiguous("/x/..", false);
	ambiguous("/x%2fy/a", false);
	ambiguous("/x//a;b", false);
	ambiguous("/x?a=%2f/../b", false);
	ambiguous("/", false);
	ambiguous("", false);
	ambiguous("*", false);
}

static void the_result_is_never_longer(void **state)
{
	(void)state;
	static const char letters[] = "/.a%2fe5c;\\?";
	unsigned seed = 1;
	for (int i = 0; i < 200000; i++) {
		size_t length = (size_t)rand_r(&seed) % 16;
		char *text = malloc(length + 1), *out = malloc(length > 0 ? length : 1);
		text[0] = '/';
		for (size_t k = 1; k < length; k++)
			text[k] = letters[(size_t)rand_r(&seed) % (sizeof letters - 1)];
		struct slice s = http_path_plain(slice_of(text, length), out);
		assert_true(s.len <= length);
		for (size_t k = 0; k + 1 < s.len; k++)
			assert_false(s.ptr[k] == '/' && s.ptr[k + 1] == '/');
		free(text);
		free(out);
	}
}

/* ---- climbing ---- */

/* How a server reads paths. */
struct reader {
	unsigned decodings;
	bool takes_backslash, drops_parameters;
};

/* Decodes in place, once. */
static size_t decode(char *text, size_t length)
{
	size_t n = 0;
	for (size_t at = 0; at < length;) {
		int byte = ascii_percent_byte(slice_of(text + at, length - at));
		text[n++] = byte >= 0 ? (char)byte : text[at];
		at += byte >= 0 ? 3 : 1;
	}
	return n;
}

static bool leads_above(const struct reader *r, const char *path, size_t length)
{
	char text[32];
	int depth = 0;
	memcpy(text, path, length);
	for (unsigned i = 0; i < r->decodings; i++)
		length = decode(text, length);
	for (size_t at = 0; at <= length; at++) {
		size_t begin = at, end;
		while (at < length && text[at] != '/' && (text[at] != '\\' || !r->takes_backslash))
			at++;
		struct slice segment = slice_of(text + begin, at - begin);
		end = r->drops_parameters ? slice_find(segment, ';') : segment.len;
		segment = slice_sub(segment, 0, end);
		if (slice_equal(segment, SLICE("..")))
			depth--;
		else if (segment.len > 0 && !slice_equal(segment, SLICE(".")))
			depth++;
		if (depth < 0)
			return true;
	}
	return false;
}

static bool leads_some_reader_above(const char *path, size_t length)
{
	for (unsigned i = 0; i < 16; i++) {
		const struct reader r = {i / 4, i & 1, i & 2};
		if (leads_above(&r, path, length))
			return true;
	}
	return false;
}

static void a_path_that_leads_some_reader_above_its_beginning_climbs(void **state)
{
	(void)state;
	static const char *const pieces[] = {"/", "/..", "/..", "..", ".", "%2e", "%2f", "%25", "%", "2", "25", "2e", "5", "c", "%32", "%65",
	    "\\", ";", "a", "%252e", "%5c", "%3b"};
	unsigned seed = 1, climbing = 0;
	for (int i = 0; i < 200000; i++) {
		char text[32] = "/";
		size_t length = 1, most = 1 + (size_t)rand_r(&seed) % 24;
		while (length < most) {
			const char *piece = pieces[(size_t)rand_r(&seed) % (sizeof(pieces) / sizeof(pieces[0]))];
			length += (size_t)snprintf(text + length, sizeof(text) - length, "%s", piece);
		}
		bool climbs = leads_some_reader_above(text, length);
		climbing += climbs;
		if (climbs && !http_path_climbs(slice_of(text, length)))
			fail_msg("%s", text);
		const struct reader simple = {0};
		bool is_simple = strcspn(text, "%\\;") == length;
		if (is_simple && http_path_climbs(slice_of(text, length)) != leads_above(&simple, text, length))
			fail_msg("%s", text);
	}
	assert_in_range(climbing, 10000, 190000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_a_server_may_read),
	    cmocka_unit_test(what_servers_read_in_more_ways),
	    cmocka_unit_test(the_result_is_never_longer),
	    cmocka_unit_test(a_path_that_leads_some_reader_above_its_beginning_climbs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
