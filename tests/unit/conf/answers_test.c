/* SPDX-License-Identifier: MIT */
/* What pushgate answers by itself: protocols and redirects of listeners, HSTS, files for error statuses. */
#include "proxy/conf/option.h"
#include "proxy/limits.h"
#include "proxy/relay/cause.h"
#include "tests/unit/conf/load.h"
#include <sys/stat.h>

/* ---- listeners ---- */

static struct load listener_with(const char *lines)
{
	char text[512];
	snprintf(text, sizeof text, LOAD_ORIGIN LOAD_ROUTE LOAD_LISTEN "%s\n", lines);
	return load_text(text);
}

static void protocols_are_those_that_are_named(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		uint32_t protocols;
	} rows[] = {
	    {"", CONF_HTTP2 | CONF_HTTP1},
	    {"protocols = h2", CONF_HTTP2},
	    {"protocols = http/1.1", CONF_HTTP1},
	    {"protocols = http/1.1 h2", CONF_HTTP2 | CONF_HTTP1},
	    {"protocols = h2, http/1.1", CONF_HTTP2 | CONF_HTTP1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = listener_with(rows[i].line);
		assert_string_equal(load.errors, "");
		assert_int_equal(load.conf->listens[0].protocols, rows[i].protocols);
		load_free(&load);
	}
}

static void redirect_is_to_443_or_to_the_port_that_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *line;
		bool redirects;
		uint16_t port;
	} rows[] = {
	    {"", false, 443},
	    {"redirect-to-https = no", false, 443},
	    {"redirect-to-https = yes", true, 443},
	    {"redirect-to-https = 8443", true, 8443},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = listener_with(rows[i].line);
		assert_string_equal(load.errors, "");
		assert_int_equal(load.conf->listens[0].redirect_to_https, rows[i].redirects);
		assert_int_equal(load.conf->listens[0].redirect_port, rows[i].port);
		load_free(&load);
	}
}

static void hsts_becomes_the_value_of_the_field(void **state)
{
	(void)state;
	static const struct {
		const char *value, *field;
	} rows[] = {
	    {"off", NULL},
	    {"365d", "max-age=31536000"},
	    {"24h", "max-age=86400"},
	    {"0s", "max-age=0"},
	    {"30d Include-Subdomains", "max-age=2592000; includeSubDomains"},
	    {"730d preload include-subdomains", "max-age=63072000; includeSubDomains; preload"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char lines[128];
		snprintf(lines, sizeof lines, "certificate = a.pem\nkey = a.key\nhsts = %s", rows[i].value);
		struct load load = listener_with(lines);
		assert_string_equal(load.errors, "");
		if (rows[i].field)
			assert_string_equal(load.conf->listens[0].hsts, rows[i].field);
		else
			assert_null(load.conf->listens[0].hsts);
		load_free(&load);
	}
}

static void bad_values_of_listeners_say_what_would_be_right(void **state)
{
	(void)state;
	static const struct {
		const char *line, *error;
	} rows[] = {
	    {"protocols = spdy", "bad value 'spdy' for protocols; write h2 or http/1.1, such as protocols = h2\n"},
	    {"protocols = h2 h3", "bad value 'h3' for protocols; write h2 or http/1.1; did you mean protocols = h2?\n"},
	    {"redirect-to-https = 0", "write no, yes or the port of the listener with the certificate"},
	    {"redirect-to-https = 65536", "write no, yes or the port of the listener with the certificate"},
	    {"hsts = 1500ms", "write off, or a time from 0s to 3650d"},
	    {"hsts = 3651d", "write off, or a time from 0s to 3650d"},
	    {"hsts = 365d subdomains", "write off, or a time from 0s to 3650d"},
	    {"hsts = 365d include-subdomains include-subdomains", "write off, or a time from 0s to 3650d"},
	    {"hsts = 365d preload", "preload needs include-subdomains and at least 365d"},
	    {"hsts = 364d include-subdomains preload", "preload needs include-subdomains and at least 365d"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = listener_with(rows[i].line);
		if (load.conf || !strstr(load.errors, rows[i].error) || !strstr(load.errors, "test.ini:7: "))
			fail_msg("%s: '%s' lacks '%s'", rows[i].line, load.errors, rows[i].error);
		load_free(&load);
	}
}

static void what_belongs_to_the_other_kind_of_listener_is_refused(void **state)
{
	(void)state;
	assert_refused(LOAD_ORIGIN LOAD_ROUTE LOAD_LISTEN "hsts = 365d\n"
	    "[listen m]\naddress = *:2\ncertificate = a.pem\nkey = a.key\nredirect-to-https = yes\n",
	    "test.ini:7: hsts is for TLS, but the section has no certificate (browsers ignore it in "
	    "cleartext); put it into the [listen NAME] with the certificate\n"
	    "test.ini:12: redirect-to-https is for cleartext, but the section has a certificate; put it "
	    "into a [listen NAME] without one\n");
}

/* ---- [errors] ---- */

static void each_status_that_pushgate_sends_has_an_option(void **state)
{
	(void)state;
	static const uint16_t statuses[] = {
#define STATUS(symbol, name, side, status, ...) status,
	    RELAY_CAUSES(STATUS)
#undef STATUS
	};
	bool is_sent[600] = {false};
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
		is_sent[statuses[i]] = true;
	for (unsigned status = 400; status < 600; status++) {
		char key[8];
		snprintf(key, sizeof key, "%u", status);
		const struct conf_option *o = conf_find_option(CONF_SECTION_ERRORS, slice_of_string(key));
		if (is_sent[status] != (o != NULL))
			fail_msg("%u", status);
	}
}

static void files_get_their_type_from_their_ending(void **state)
{
	(void)state;
	struct load load = load_fine(LOAD_REST "[errors]\n502 = a.html\n503 = /b.TXT\ndefault = c.json\n504 = d.htm\n", "");
	assert_int_equal(load.conf->error_body_count, 4);
	const struct conf_error_body *e = load.conf->error_bodies;
	assert_int_equal(e[0].status, 502);
	assert_string_equal(e[0].content_type, "text/html; charset=utf-8");
	assert_int_equal(e[1].status, 503);
	assert_string_equal(e[1].content_type, "text/plain; charset=utf-8");
	assert_int_equal(e[2].status, 0);
	assert_string_equal(e[2].content_type, "application/json");
	assert_string_equal(e[3].content_type, "text/html; charset=utf-8");
	load_free(&load);
}

static void bad_lines_of_errors_say_what_would_be_right(void **state)
{
	(void)state;
	assert_refused(LOAD_REST "[errors]\n502 = page\n418 = a.html\n5xx = a.html\nDefault = a.html\n503 = .html\n502 = b.html\n",
	    "test.ini:8: bad value 'page' for 502; write a file whose name ends with .html, .txt or .json, such as 502 = /etc/pushgate/errors/502.html\n"
	    "test.ini:9: pushgate never answers 418 by itself; write one of 400, 401, 403, 404, 407, 408, 411, 413, 414, 421, 429, 431, 501, 502, 503, 504, 505, 508, or remove the line\n"
	    "test.ini:10: '5xx' is not one status; write a line for each, or default\n"
	    "test.ini:11: [errors] has no option 'Default'; did you mean 'default'?\n"
	    "test.ini:12: bad value '.html' for 503; write a file whose name ends with .html, .txt or .json, such as 503 = /etc/pushgate/errors/503.html\n"
	    "test.ini:13: duplicate option '502', first at test.ini:8; remove one of them\n");
}

static void write_bytes(const char *path, size_t bytes)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	for (size_t i = 0; i < bytes; i++)
		fputc('e', out);
	fclose(out);
}

static void files_are_read_at_load_up_to_their_bound(void **state)
{
	(void)state;
	char folder[] = "/tmp/pushgate-errors-XXXXXX", path[128], text[512];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/502.html", folder);
	snprintf(text, sizeof text, LOAD_REST "[errors]\n502 = %s\n", path);
	static const struct {
		size_t bytes;
		const char *error;
	} rows[] = {
	    {1, NULL}, {LIMIT_ERROR_BODY_BYTES, NULL}, {0, "is empty; write the text into it"},
	    {LIMIT_ERROR_BODY_BYTES + 1, "is larger than 65536 bytes; make it smaller"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		write_bytes(path, rows[i].bytes);
		struct load load = load_bytes(slice_of_string(text), true);
		if (rows[i].error) {
			assert_null(load.conf);
			assert_non_null(strstr(load.errors, rows[i].error));
		} else {
			assert_string_equal(load.errors, "");
			assert_int_equal(load.conf->error_bodies[0].body.len, rows[i].bytes);
			assert_int_equal(load.conf->error_bodies[0].body.ptr[0], 'e');
		}
		load_free(&load);
	}
	unlink(path);
	struct load load = load_bytes(slice_of_string(text), true);
	assert_non_null(strstr(load.errors, "test.ini:8: the error file '"));
	assert_non_null(strstr(load.errors, "cannot be read: No such file"));
	load_free(&load);
	/* Neither waits for the other end of a pipe nor reads a folder. */
	assert_int_equal(mkfifo(path, 0600), 0);
	load = load_bytes(slice_of_string(text), true);
	assert_non_null(strstr(load.errors, "for 502 is not a file; name a file"));
	load_free(&load);
	unlink(path);
	rmdir(folder);
}

/* The files of /proc have no bytes before they are read. */
static void file_without_a_size_is_read_whole(void **state)
{
	(void)state;
	char folder[] = "/tmp/pushgate-errors-XXXXXX", path[128], text[512];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/502.html", folder);
	snprintf(text, sizeof text, LOAD_REST "[errors]\n502 = %s\n", path);
	assert_int_equal(symlink("/proc/version", path), 0);
	struct load load = load_bytes(slice_of_string(text), true);
	assert_string_equal(load.errors, "");
	assert_true(slice_starts_with(load.conf->error_bodies[0].body, SLICE("Linux version ")));
	load_free(&load);
	unlink(path);
	rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(protocols_are_those_that_are_named),
	    cmocka_unit_test(redirect_is_to_443_or_to_the_port_that_is_named),
	    cmocka_unit_test(hsts_becomes_the_value_of_the_field),
	    cmocka_unit_test(bad_values_of_listeners_say_what_would_be_right),
	    cmocka_unit_test(what_belongs_to_the_other_kind_of_listener_is_refused),
	    cmocka_unit_test(each_status_that_pushgate_sends_has_an_option),
	    cmocka_unit_test(files_get_their_type_from_their_ending),
	    cmocka_unit_test(bad_lines_of_errors_say_what_would_be_right),
	    cmocka_unit_test(files_are_read_at_load_up_to_their_bound),
	    cmocka_unit_test(file_without_a_size_is_read_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
