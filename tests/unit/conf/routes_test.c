/* SPDX-License-Identifier: MIT */
/* Options of [route]: what a route does with its requests, conditions, weights, and lists from files. */
#include "tests/unit/conf/load.h"
#include "proxy/limits.h"
#include <unistd.h>

#define TOP "[listen l]\naddress = 127.0.0.1:1\n[origin a]\nserver = http://127.0.0.1:2\n[origin b]\nserver = http://127.0.0.1:3\n"

/* The route's lines begin in line 8. */
#define ROUTE(lines) TOP "[route r]\n" lines "\n"

static void bad_values_say_what_would_be_right(void **state)
{
	(void)state;
	static const struct {
		const char *line, *wrong; /* what the message has behind the value */
	} rows[] = {
	    {"rewrite = /a", "write the beginning of the clients' paths"}, {"rewrite = a /", "write the beginning"},
	    {"rewrite = / / /", "write the beginning"}, {"rewrite = /a /b/../..", "write the beginning"},
	    {"rewrite = /a /b?c", "write the beginning"},
	    {"redirect = b.example", "write a target that begins with https://, http:// or /"},
	    {"redirect = 304 /x", "write the status 301, 302, 303, 307 or 308"}, {"redirect = abc /x", "write the status"},
	    {"redirect = /x y", "write the status"}, {"redirect = 301 /x y", "write a URI"},
	    {"redirect = https://", "write a host or {host} behind the scheme"}, {"redirect = https:///x", "write a host or"},
	    {"redirect = https://{path}", "write a host or"}, {"redirect = http://{rest}", "write a host or"},
	    {"redirect = https://?{host}", "write a host or"}, {"redirect = //b.example/x", "write https:// or http:// before a host"},
	    {"redirect = /{uri}", "write {host}, {path}, {query} or {rest}"}, {"redirect = /{host", "write {host}"},
	    {"redirect = /{path}{path}{path}{path}{path}{path}{path}{path}{path}", "write at most 8 placeholders"},
	    {"redirect = /a}", "write a URI"}, {"redirect = /\\evil.example", "write a URI"},
	    {"answer = 100", "write a status"}, {"answer = 600", "write a status"}, {"answer = 304", "write a status"},
	    {"answer = 206", "write a status"}, {"answer = ok", "write a status"}, {"answer = 200 x.css", "write a file whose name ends"},
	    {"answer = 204 x.txt", "this status has no content"},
	    {"method = get", "write methods in upper case"}, {"method = CONNECT", "write a method other than CONNECT"},
	    {"method = *", "write a method other than CONNECT"}, {"method = G@T", "write methods"},
	    {"field = a b", "write NAME: PATTERN, NAME or !NAME"}, {"field = !x: 1", "a field that is absent has no value"},
	    {"field = x:", "write a pattern behind the colon"}, {"field = Host: x", "use the option host"},
	    {"field = Upgrade: x", "fields of one hop differ"}, {"field = x: ~(", "missing closing parenthesis"},
	    {"origin = a 1001, b 1", "write a weight from 0 to 1000"}, {"origin = a 1, a 2", "write each origin once"},
	    {"origin = a 0, b 0", "give one origin at least a weight above 0"}, {"origin = a -1, b", "write a weight from 0 to 1000"},
	    {"speculation = yes", "write off, prefetch or prerender"},
	    {"speculation-eagerness = high", "write conservative, moderate, eager or immediate"},
	    {"speculation-deny = logout", "write a path pattern that begins with '/' or '*'"},
	    {"speculation-deny = /a ~(", "missing closing parenthesis"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[512];
		snprintf(text, sizeof text, ROUTE("%s"), rows[i].line);
		struct load load = load_text(text);
		if (load.conf || !strstr(load.errors, "test.ini:8: ") || !strstr(load.errors, rows[i].wrong))
			fail_msg("%s: %s", rows[i].line, load.errors);
		load_free(&load);
	}
}

static void a_route_does_one_thing(void **state)
{
	(void)state;
	assert_refused(ROUTE("origin = a\nredirect = /x"), "test.ini:9: [route r] has origin and redirect; keep one of them\n");
	assert_refused(ROUTE("answer = 503\nredirect = /x"), "test.ini:9: [route r] has redirect and answer; keep one of them\n");
	assert_refused(ROUTE("path = /x"), "test.ini:7: [route r] has no origin; add a line such as origin = a\n");
	assert_refused(ROUTE("origin = a, cdef"), "test.ini:8: there is no [origin cdef]; add the section or name another\n");
	assert_refused(ROUTE("origin = a\npath = /x /y/z\nrewrite = /y/x /"),
	    "test.ini:10: no path of [route r] begins with /y/x, so that nothing is rewritten; write one of its paths\n");
}

static void values_are_taken_as_written(void **state)
{
	(void)state;
	struct load load = load_fine(ROUTE("origin = a 90, b 10\nrewrite = /api/ /v1/\npath = /api\nmethod = GET HEAD\nfield = X-A: 1\n"
					   "[route s]\npath = /old /older/\nredirect = 302 https://x.example/{rest}\n[route t]\npath = "
					   "/gone\nanswer = 410\n[route u]\npath = /deep/er\norigin = a\nrewrite = /deep /\n[route "
					   "v]\npath = /w/\norigin = b\nrewrite = /w/x /"),
	    "");
	const struct conf_route *r = load.conf->routes;
	assert_int_equal(r[0].side_count, 2);
	assert_int_equal(r[0].side_weights, 100);
	assert_string_equal(r[0].origin_text, "a 90, b 10");
	assert_string_equal(r[0].sides[1].origin->name, "b");
	assert_int_equal(r[0].sides[1].weight, 10);
	assert_true(slice_equal(r[0].rewrite.from, SLICE("/api")) && slice_equal(r[0].rewrite.to, SLICE("/v1")));
	assert_int_equal(r[0].method_count, 2);
	assert_true(slice_equal(r[0].field_tests[0].name, SLICE("x-a")));
	assert_int_equal(r[1].redirect.status, 302);
	assert_null(r[1].origin);
	assert_string_equal(r[1].origin_text, "-");
	assert_int_equal(r[2].answer.status, 410);
	load_free(&load);
}

static void options_that_need_an_origin_are_idle_without_one(void **state)
{
	(void)state;
	struct load load = load_text(ROUTE("answer = 503\nstreaming = yes\nrequest-set = x: y\nretry-on = 502\nrewrite = / /x\n"
					   "[route all]\npath = /x\norigin = a, b"));
	assert_non_null(load.conf);
	for (unsigned line = 9; line < 13; line++) {
		char place[32];
		snprintf(place, sizeof place, "test.ini:%u: warning", line);
		if (!strstr(load.errors, place))
			fail_msg("line %u: %s", line, load.errors);
	}
	assert_non_null(strstr(load.errors, "because pushgate answers by itself (redirect, answer, files); remove it"));
	load_free(&load);
}

static void conditions_are_seen_when_one_route_hides_another(void **state)
{
	(void)state;
	struct load load = load_fine(ROUTE("origin = a\n[route s]\nmethod = POST\norigin = b\n[route t]\nfield = x\norigin = b"), "");
	load_free(&load);
	load = load_text(ROUTE("method = GET POST\norigin = a\n[route s]\nmethod = POST\norigin = b\n[route t]\norigin = b\n"
			       "[route u]\norigin = a"));
	assert_non_null(load.conf);
	assert_non_null(strstr(load.errors, "[route s] never matches"));
	assert_null(strstr(load.errors, "[route t] never matches"));
	assert_non_null(strstr(load.errors, "[route u] never matches"));
	load_free(&load);
}

/* ---- lists ---- */

static char folder[64];

/* Writes a list, and a configuration that names it: the messages of its load, and the snapshot. */
static struct load load_list(const char *key, const char *list, size_t bytes)
{
	char path[128], text[512];
	snprintf(path, sizeof path, "%s/list.txt", folder);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(list, 1, bytes, out), bytes);
	fclose(out);
	snprintf(path, sizeof path, "%s/test.ini", folder);
	out = fopen(path, "w");
	assert_non_null(out);
	snprintf(text, sizeof text, ROUTE("%s = list.txt\norigin = a, b"), key);
	fputs(text, out);
	fclose(out);
	return load_file(path, true);
}

static void refused_list(const char *key, const char *list, size_t bytes, const char *message)
{
	struct load load = load_list(key, list, bytes);
	if (load.conf || !strstr(load.errors, message))
		fail_msg("%s: %s", message, load.errors);
	load_free(&load);
}

static void lists_are_read_from_files(void **state)
{
	(void)state;
	static const char hosts[] = "\xef\xbb\xbf# ours\na.example\n  *.b.example\t# all\r\n\nC.Example";
	struct load load = load_list("host-file", hosts, strlen(hosts));
	assert_non_null(load.conf);
	const struct conf_route *r = load.conf->routes;
	assert_int_equal(r->host_count, 3);
	assert_true(slice_equal(r->hosts[1], SLICE("*.b.example")));
	assert_true(slice_equal(r->hosts[2], SLICE("C.Example")));
	load_free(&load);
	load = load_list("path-file", "/a\n/b/\n", 7);
	assert_non_null(load.conf);
	assert_int_equal(load.conf->routes->path_count, 2);
	load_free(&load);
}

static void bad_lists_name_file_and_line(void **state)
{
	(void)state;
	char place[256];
	snprintf(place, sizeof place, "%s/list.txt:2: bad host 'b.example:80'; write a host name without a port", folder);
	refused_list("host-file", "a.example\nb.example:80\n", 23, place);
	snprintf(place, sizeof place, "%s/list.txt:1: bad path 'a'; write a path that begins with '/'", folder);
	refused_list("path-file", "a\n", 2, place);
	/* A route without hosts would be for all of them. */
	refused_list("host-file", "# none\n\n", 8, "names none; write a host on each line, or remove host-file");
	refused_list("host-file", "", 0, "names none");
	refused_list("path-file", "/a b\n", 5, "without '*', '?', '#' and spaces");
}

static void lists_are_bounded(void **state)
{
	(void)state;
	const size_t most = LIMIT_LIST_BYTES + 1;
	char *text = malloc(most);
	assert_non_null(text);
	memset(text, '\n', most);
	text[0] = '/';
	refused_list("path-file", text, LIMIT_LIST_LINES + 2, "list.txt:100001: the file has more than 100000 lines");
	struct load load = load_list("path-file", text, LIMIT_LIST_LINES + 1);
	assert_non_null(load.conf);
	load_free(&load);
	memset(text, '#', most);
	refused_list("path-file", text, most, "is larger than 8388608 bytes");
	free(text);
}

static void a_list_that_cannot_be_read_is_named(void **state)
{
	(void)state;
	struct load load = load_text(ROUTE("host-file = /nonexistent/hosts.txt\norigin = a, b"));
	load_free(&load);
	char text[512];
	snprintf(text, sizeof text, ROUTE("host-file = %s\norigin = a, b"), folder);
	struct load there = load_bytes(slice_of_string(text), true);
	assert_null(there.conf);
	assert_non_null(strstr(there.errors, "is not a file; name a file"));
	load_free(&there);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/routes_test.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char path[128];
	(void)state;
	snprintf(path, sizeof path, "%s/list.txt", folder);
	unlink(path);
	snprintf(path, sizeof path, "%s/test.ini", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bad_values_say_what_would_be_right),
	    cmocka_unit_test(a_route_does_one_thing),
	    cmocka_unit_test(values_are_taken_as_written),
	    cmocka_unit_test(options_that_need_an_origin_are_idle_without_one),
	    cmocka_unit_test(conditions_are_seen_when_one_route_hides_another),
	    cmocka_unit_test(lists_are_read_from_files),
	    cmocka_unit_test(bad_lists_name_file_and_line),
	    cmocka_unit_test(lists_are_bounded),
	    cmocka_unit_test(a_list_that_cannot_be_read_is_named),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
