/* SPDX-License-Identifier: MIT */
/* The proxy auto-configuration file: its text, and which requests get it. */
#include "tests/support/gate_ask.h"

#include <stdio.h>

static struct gate_world *world(const char *access)
{
	char more[512];
	snprintf(more, sizeof(more),
	    "[access lab]\n%s"
	    "[origin f]\nserver = forward:\nupstream-proxy = http://127.0.0.1:9\nno-proxy = *.Corp.example host.example 192.0.2.0/24\n"
	    "[route f]\norigin = f\n", access);
	return gate_world_new(NULL, "mode = forward\naccess = lab\npac = yes", NULL, more);
}

static void the_text_has_what_goes_past_the_proxy(void **state)
{
	(void)state;
	struct gate_world *w = world("allow = all\n");
	char head[256], text[8192], end[128];
	unsigned port = net_address_port(&w->at);
	snprintf(head, sizeof(head), "GET /proxy.pac HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", port);
	for (unsigned again = 0; again < 2; again++) { /* the text is made once */
		gate_ask(w, head, text, sizeof(text));
		assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
		assert_non_null(strstr(text, "content-type: application/x-ns-proxy-autoconfig\r\n"));
		assert_non_null(strstr(text, "; error=proxy_internal_response\r\n")); /* nothing is wrong: no details */
		assert_non_null(strstr(text, "\tvar names = [\".localhost\", \".corp.example\", \"host.example\"];\n"));
		assert_non_null(strstr(text, "[3232235520, 65536], [3221225984, 256]];\n"));
		snprintf(end, sizeof(end), "\t}\n\treturn \"PROXY 127.0.0.1:%u\";\n}\n", port);
		assert_string_equal(text + strlen(text) - strlen(end), end);
	}
	gate_world_free(w);
}

static void requests_for_the_listener_itself_get_it(void **state)
{
	(void)state;
	static const struct {
		const char *line, *host; /* %u: the port that is configured */
		const char *status;
	} rows[] = {
	    {"GET /proxy.pac?a=1", "127.0.0.1:%u", "200"},
	    {"HEAD /proxy.pac", "127.0.0.1:%u", "200"},
	    {"GET /proxy.pac", "gate.example", "200"}, /* whatever name it was found by */
	    {"GET /proxy.pac", "[bad", "400"},
	    {"GET http://127.0.0.1:%u/proxy.pac", "127.0.0.1:%u", "200"},
	    {"GET http://localhost:%u/proxy.pac", "localhost:%u", "200"},
	    /* Others are for where they say. */
	    {"GET http://127.0.0.2:%u/proxy.pac", "127.0.0.2:%u", "403"},
	    {"GET http://127.0.0.1:2/proxy.pac", "127.0.0.1:2", "403"},
	    {"GET https://127.0.0.1:%u/proxy.pac", "127.0.0.1:%u", "403"},
	    {"POST /proxy.pac", "127.0.0.1:%u", "400"},
	    {"GET /proxy.pac2", "127.0.0.1:%u", "400"},
	};
	struct gate_world *w = world("allow = client=any\n");
	unsigned port = net_address_port(&w->conf->listens[0].address);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char line[128], host[64], head[512], text[8192], wanted[32];
		snprintf(line, sizeof(line), rows[i].line, port);
		snprintf(host, sizeof(host), rows[i].host, port);
		snprintf(head, sizeof(head), "%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", line, host);
		gate_ask(w, head, text, sizeof(text));
		snprintf(wanted, sizeof(wanted), "HTTP/1.1 %s ", rows[i].status);
		if (strncmp(text, wanted, strlen(wanted)) != 0)
			fail_msg("%s: %s", line, text);
		assert_int_equal(strstr(text, "\r\n\r\nfunction") != NULL, strcmp(rows[i].status, "200") == 0 && line[0] == 'G');
	}
	gate_world_free(w);
}

static void clients_that_may_not_use_the_proxy_do_not_get_it(void **state)
{
	(void)state;
	struct gate_world *w = world("allow = client=192.0.2.1\n");
	char text[4096];
	gate_ask(w, "GET /proxy.pac HTTP/1.1\r\nHost: gate.example\r\nConnection: close\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 403 "));
	assert_null(strstr(text, "function"));
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_text_has_what_goes_past_the_proxy),
	    cmocka_unit_test(requests_for_the_listener_itself_get_it),
	    cmocka_unit_test(clients_that_may_not_use_the_proxy_do_not_get_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
