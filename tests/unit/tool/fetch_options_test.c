/* SPDX-License-Identifier: MIT */
/* What `pushgate fetch` understands of its command line, and what it refuses. */
#include "proxy/tool/fetch.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static int parse(struct fetch_request *r, const char *const *words)
{
	static char storage[16][256];
	char *argv[17];
	int argc = 0;
	for (; words[argc]; argc++) {
		strcpy(storage[argc], words[argc]);
		argv[argc] = storage[argc];
	}
	argv[argc] = NULL;
	return fetch_parse(r, argc, argv);
}

/* Complaints go to standard error, where they would look like the test's own. */
static int silence(void)
{
	int kept = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
	dup2(null, STDERR_FILENO);
	close(null);
	return kept;
}

static void unsilence(int kept)
{
	dup2(kept, STDERR_FILENO);
	close(kept);
}

#define PARSE(r, ...) parse((r), (const char *const[]){"fetch", __VA_ARGS__, NULL})

static void urls_are_taken_apart(void **state)
{
	(void)state;
	static const struct {
		const char *url, *host, *authority, *path;
		bool is_https;
		uint16_t port;
	} rows[] = {
	    {"https://a.test/x?y=1", "a.test", "a.test", "/x?y=1", true, 443},
	    {"http://a.test", "a.test", "a.test", "/", false, 80},
	    {"HTTPS://a.test:8443/", "a.test", "a.test:8443", "/", true, 8443},
	    {"http://a.test?q", "a.test", "a.test", "/?q", false, 80},
	    {"http://[::1]:81/a#b", "::1", "[::1]:81", "/a", false, 81},
	    {"http://a.test/#", "a.test", "a.test", "/", false, 80},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fetch_request r = {0};
		assert_null(fetch_parse_url(&r, rows[i].url));
		assert_string_equal(r.host, rows[i].host);
		assert_int_equal(r.port, rows[i].port);
		assert_int_equal(r.is_https, rows[i].is_https);
		assert_true(slice_equal(r.authority, slice_of_string(rows[i].authority)));
		assert_true(slice_equal(r.path, slice_of_string(rows[i].path)));
		fetch_request_fini(&r);
	}
}

static void bad_urls_are_refused(void **state)
{
	(void)state;
	static const char *const urls[] = {"", "a.test", "ftp://a.test/", "http:/a.test",
	    "http:///x", "http://u@a.test/", "http://a.test:99999/", "http://a.test/a b",
	    "http://a.test/\x01", "http://a.test/\xc3\xa9"};
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct fetch_request r = {0};
		assert_non_null(fetch_parse_url(&r, urls[i]));
		fetch_request_fini(&r);
	}
}

static void method_is_get_without_and_post_with_a_body(void **state)
{
	(void)state;
	struct fetch_request r;
	assert_int_equal(PARSE(&r, "http://a.test/"), FETCH_OK);
	assert_string_equal(r.method, "GET");
	fetch_request_fini(&r);
	assert_int_equal(PARSE(&r, "-d", "x=1", "http://a.test/"), FETCH_OK);
	assert_string_equal(r.method, "POST");
	assert_true(slice_equal(r.body, SLICE("x=1")));
	fetch_request_fini(&r);
	assert_int_equal(PARSE(&r, "-d", "x", "-X", "PUT", "http://a.test/"), FETCH_OK);
	assert_string_equal(r.method, "PUT");
	fetch_request_fini(&r);
}

static void body_may_come_from_a_file(void **state)
{
	(void)state;
	char path[] = "/tmp/pushgate-test-XXXXXX", option[64];
	int fd = mkstemp(path);
	static char block[100000];
	memset(block, 'b', sizeof(block));
	assert_int_equal(write(fd, block, sizeof(block)), (ssize_t)sizeof(block));
	close(fd);
	snprintf(option, sizeof(option), "@%s", path);
	struct fetch_request r;
	assert_int_equal(PARSE(&r, "-d", option, "http://a.test/"), FETCH_OK);
	assert_true(slice_equal(r.body, slice_of(block, sizeof(block))));
	fetch_request_fini(&r);
	unlink(path);
	int kept = silence();
	assert_int_equal(PARSE(&r, "-d", option, "http://a.test/"), FETCH_USAGE);
	unsilence(kept);
	fetch_request_fini(&r);
}

static void header_names_become_lower_case_and_values_are_trimmed(void **state)
{
	(void)state;
	struct fetch_request r;
	assert_int_equal(
	    PARSE(&r, "-H", "X-Thing:  a: b ", "-H", "empty:", "http://a.test/"), FETCH_OK);
	assert_int_equal(r.headers.count, 2);
	assert_true(slice_equal(r.headers.list[0].name, SLICE("x-thing")));
	assert_true(slice_equal(r.headers.list[0].value, SLICE("a: b")));
	assert_true(slice_equal(r.headers.list[1].name, SLICE("empty")));
	assert_int_equal(r.headers.list[1].value.len, 0);
	fetch_request_fini(&r);
}

static void options_set_what_they_say(void **state)
{
	(void)state;
	struct fetch_request r;
	assert_int_equal(
	    PARSE(&r, "--no-push", "--insecure", "--cacert", "ca.pem", "--trace", "--max-time",
		"1.5", "--connect", "[::1]:99", "-o", "-", "https://a.test/"),
	    FETCH_OK);
	assert_true(r.no_push && r.insecure && r.trace);
	assert_string_equal(r.cacert, "ca.pem");
	assert_int_equal(r.max_time, 1500001);
	assert_string_equal(r.connect_host, "::1");
	assert_int_equal(r.connect_port, 99);
	assert_string_equal(r.output, "-");
	fetch_request_fini(&r);
}

static void proxy_is_connected_to_and_spoken_to(void **state)
{
	(void)state;
	struct fetch_request r;
	assert_int_equal(
	    PARSE(&r, "--proxy", "https://proxy.test", "http://a.test:81/x"), FETCH_OK);
	assert_true(r.has_proxy && r.proxy_is_https && !r.is_https);
	assert_string_equal(r.connect_host, "proxy.test");
	assert_int_equal(r.connect_port, 443);
	assert_string_equal(r.host, "a.test");
	fetch_request_fini(&r);
	assert_int_equal(
	    PARSE(&r, "--proxy", "http://[::1]:3128/", "https://a.test/"), FETCH_OK);
	assert_true(r.has_proxy && !r.proxy_is_https && r.is_https);
	assert_string_equal(r.connect_host, "::1");
	assert_int_equal(r.connect_port, 3128);
	fetch_request_fini(&r);
}

static void wrong_use_has_its_own_status(void **state)
{
	(void)state;
	struct fetch_request r;
	int kept = silence();
#define WRONG(...)                                                                                 \
	assert_int_equal(PARSE(&r, __VA_ARGS__), FETCH_USAGE);                                     \
	fetch_request_fini(&r)
	WRONG("--frob", "http://a.test/");
	WRONG("http://a.test/", "http://b.test/");
	WRONG("-H", "no colon", "http://a.test/");
	WRONG("-H", ": no name", "http://a.test/");
	WRONG("--max-time", "soon", "http://a.test/");
	WRONG("--max-time", "-1", "http://a.test/");
	WRONG("--max-time", "nan", "http://a.test/");
	WRONG("--connect", "a.test", "http://a.test/");
	WRONG("--proxy", "a.test:3128", "http://a.test/");
	WRONG("--proxy", "http://a.test/path", "http://a.test/");
	WRONG("--proxy", "http://anna:secret@a.test", "http://a.test/");
	WRONG("--proxy", "http://a.test", "--http1.1", "http://a.test/");
	WRONG("--cacert");
	WRONG("-k");
	unsilence(kept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(urls_are_taken_apart),
	    cmocka_unit_test(bad_urls_are_refused),
	    cmocka_unit_test(method_is_get_without_and_post_with_a_body),
	    cmocka_unit_test(body_may_come_from_a_file),
	    cmocka_unit_test(header_names_become_lower_case_and_values_are_trimmed),
	    cmocka_unit_test(options_set_what_they_say),
	    cmocka_unit_test(proxy_is_connected_to_and_spoken_to),
	    cmocka_unit_test(wrong_use_has_its_own_status),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
