/* SPDX-License-Identifier: MIT */
/* Requests of an authority for the file of a challenge: which are answered, and which go to the routes. */
#include "tests/support/gate_ask.h"

#include <stdio.h>

#define THUMBPRINT "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
#define TOKEN "LoqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0"
#define AT "/.well-known/acme-challenge/"

static struct gate_world *world(const char *listen_lines, const char *thumbprint)
{
	struct gate_world *w = gate_world_new("acme-dir = /tmp", listen_lines, NULL,
	    "[listen tls]\naddress = unix:/tmp/pushgate-challenge-test\nacme = https://ca.test/dir\n"
	    "[route x]\nhost = a.example b.example\nanswer = 204\n[route rest]\nanswer = 403\n");
	w->gateway->acme_thumbprint = thumbprint;
	return w;
}

static void ask(struct gate_world *w, const char *line, const char *host, char *text, size_t size)
{
	char head[512];
	snprintf(head, sizeof(head), "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", line, host);
	gate_ask(w, head, text, size);
}

static void answers_are_the_token_and_the_thumbprint(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, THUMBPRINT);
	char text[4096];
	static const char end[] = "\r\n\r\n" TOKEN "." THUMBPRINT;
	static const char *const hosts[] = {"a.example", "B.Example", "a.example:80"};
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		ask(w, "GET " AT TOKEN, hosts[i], text, sizeof(text));
		assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
		assert_non_null(strstr(text, "content-type: application/octet-stream\r\n"));
		assert_string_equal(text + strlen(text) - strlen(end), end);
	}
	ask(w, "HEAD " AT TOKEN, "a.example", text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
	assert_null(strstr(text, THUMBPRINT));
	gate_world_free(w);
}

static void all_else_goes_to_the_routes(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, THUMBPRINT);
	static const struct {
		const char *line, *host, *status;
	} rows[] = {
	    {"GET " AT TOKEN, "c.example", "403"},
	    {"GET " AT TOKEN, "a.example.", "204"},
	    {"GET " AT TOKEN, "127.0.0.1", "403"},
	    {"POST " AT TOKEN, "a.example", "204"},
	    {"OPTIONS " AT TOKEN, "a.example", "204"},
	    {"GET " AT, "a.example", "204"},
	    {"GET " AT "short", "a.example", "204"},
	    {"GET " AT "012345678901234567890", "a.example", "204"}, /* 21 characters are less than 128 bits */
	    {"GET " AT TOKEN "/x", "a.example", "204"},
	    {"GET " AT TOKEN "?x", "a.example", "204"},
	    {"GET " AT "../" TOKEN, "a.example", "204"},
	    {"GET " AT "%4coqXcYV8q5ONbJQxbmR7SCTNo3tiAXDfowyjxAjEuX0", "a.example", "204"},
	    {"GET " AT TOKEN "<b>", "a.example", "204"},
	    {"GET " AT TOKEN TOKEN TOKEN, "a.example", "204"}, /* 129 characters */
	    {"GET /.well-known/acme-challenge" TOKEN, "a.example", "204"},
	    {"GET /.Well-Known/acme-challenge/" TOKEN, "a.example", "204"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[4096], wanted[32];
		ask(w, rows[i].line, rows[i].host, text, sizeof(text));
		snprintf(wanted, sizeof(wanted), "HTTP/1.1 %s ", rows[i].status);
		if (strncmp(text, wanted, strlen(wanted)) != 0 || strstr(text, THUMBPRINT))
			fail_msg("%s, %s: %s", rows[i].line, rows[i].host, text);
	}
	gate_world_free(w);
}

static void nothing_is_answered_before_the_account_is_known(void **state)
{
	(void)state;
	char text[4096];
	static const char *const thumbprints[] = {"", NULL};
	for (size_t i = 0; i < 2; i++) {
		struct gate_world *w = world(NULL, thumbprints[i]);
		ask(w, "GET " AT TOKEN, "a.example", text, sizeof(text));
		assert_non_null(strstr(text, "HTTP/1.1 204 "));
		gate_world_free(w);
	}
}

static void redirects_and_access_rules_come_after_it(void **state)
{
	(void)state;
	struct gate_world *w = world("redirect-to-https = yes", THUMBPRINT);
	char text[4096];
	ask(w, "GET " AT TOKEN, "a.example", text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
	ask(w, "GET /", "a.example", text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 308 "));
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_are_the_token_and_the_thumbprint),
	    cmocka_unit_test(all_else_goes_to_the_routes),
	    cmocka_unit_test(nothing_is_answered_before_the_account_is_known),
	    cmocka_unit_test(redirects_and_access_rules_come_after_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
