/* SPDX-License-Identifier: MIT */
/* The pages of an admin listener: who gets them, and what /readyz says when. */
#include "proxy/admin/admin_private.h"
#include "proxy/base/memory.h"
#include "tests/support/gate_ask.h"

#include <stdio.h>

#define ROUTES                                                                                     \
	"[route a]\nhost = www.a.example *.b.example\norigin = a\n[route b]\norigin = b\n"

static struct gate_world *world(const char *server, const char *listen, const char *more)
{
	char lines[256], text[1024];
	snprintf(lines, sizeof(lines), "mode = admin\n%s", listen);
	snprintf(text, sizeof(text), "[listen web]\naddress = 127.0.0.1:2\n%s%s", ROUTES, more);
	return gate_world_new(server, lines, NULL, text);
}

/* Sends a head with these lines on a connection of its own; text: all that comes until the gateway closes it. */
static void asks(struct gate_world *w, const char *lines, char *text, size_t size)
{
	char head[512];
	snprintf(head, sizeof(head), "%s\r\nConnection: close\r\n\r\n", lines);
	gate_ask(w, head, text, size);
}

static void answers(struct gate_world *w, const char *lines, const char *status, const char *has)
{
	char text[4096], wanted[32];
	asks(w, lines, text, sizeof(text));
	snprintf(wanted, sizeof(wanted), "HTTP/1.1 %s ", status);
	if (strncmp(text, wanted, strlen(wanted)) != 0 || !strstr(text, has))
		fail_msg("%s: not %s and %s but %s", lines, status, has, text);
}

#define OK "\r\ncontent-type: text/plain\r\ncontent-length: 3\r\nserver: pushgate\r\ncache-control: no-store\r\n"
#define HOST "\r\nHost: 127.0.0.1"

static void paths_and_methods_are_a_table(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, "", "");
	answers(w, "GET /livez HTTP/1.1" HOST, "200", OK);
	answers(w, "GET /livez HTTP/1.1" HOST, "200", "\r\n\r\nok\n");
	answers(w, "GET /readyz?verbose HTTP/1.1" HOST, "200", "\r\n\r\nok\n");
	answers(w, "HEAD /readyz HTTP/1.1" HOST, "200", OK);
	answers(w, "GET /readyz HTTP/1.0", "200", "ok\n"); /* a balancer that sends no Host */
	answers(w, "POST /readyz HTTP/1.1\r\nContent-Length: 0" HOST, "405", "\r\nallow: GET, HEAD\r\n");
	answers(w, "OPTIONS /livez HTTP/1.1" HOST, "405", "\r\nallow: GET, HEAD\r\n");
	for (size_t i = 0; i < 5; i++) {
		static const char *const paths[] = {"/nothing", "/livez/", "/READYZ", "/readyz/x", "//livez"};
		char lines[64];
		snprintf(lines, sizeof(lines), "GET %s HTTP/1.1" HOST, paths[i]);
		answers(w, lines, "404", "404 Not Found: no such page\n");
	}
	answers(w, "OPTIONS * HTTP/1.1" HOST, "404", "no such page");
	/* No origin was asked, whatever host was named. */
	answers(w, "GET /index.html HTTP/1.1\r\nHost: www.a.example", "404", "no such page");
	assert_int_equal(w->counters.upstream_connections, 0);
	assert_int_equal(w->counters.responses_own, w->counters.requests);
	gate_world_free(w);
}

static void hosts_of_others_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *host, *status;
	} rows[] = {
	    {"127.0.0.1:9000", "200"},
	    {"192.0.2.7", "200"},
	    {"[2001:db8::1]:80", "200"},
	    {"localhost", "200"},
	    {"LocalHost.:9000", "200"},
	    {"a.localhost", "200"},
	    {"www.a.example", "200"}, /* a name of the routes */
	    {"x.B.example:1", "200"},
	    {"probe.example", "200"}, /* of the access rules */
	    {"evil.example", "403"},
	    {"a.example", "403"},
	    {"b.example", "403"},
	    {"127.0.0.1.evil.example", "403"},
	    {"127.1", "403"}, /* rules with host= take no host that others may read otherwise */
	};
	struct gate_world *w = world(NULL, "access = x\n", "[access x]\nallow = host=probe.example\nallow = host=*\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char lines[128];
		snprintf(lines, sizeof(lines), "GET /livez HTTP/1.1\r\nHost: %s", rows[i].host);
		answers(w, lines, rows[i].status, "");
	}
	answers(w, "GET http://evil.example/livez HTTP/1.1\r\nHost: evil.example", "403", "no name of the configuration");
	gate_world_free(w);
	w = world(NULL, "", "");
	answers(w, "GET /livez HTTP/1.1\r\nHost: 127.1", "403", "no name of the configuration");
	answers(w, "GET /livez HTTP/1.1\r\nHost: probe.example", "403", "no name of the configuration");
	gate_world_free(w);
}

static void other_sites_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *field, *status;
	} rows[] = {
	    {"Sec-Fetch-Site: cross-site", "403"},
	    {"Sec-Fetch-Site: same-site", "403"}, /* such as another port of this machine */
	    {"Sec-Fetch-Site: something-new", "403"},
	    {"Sec-Fetch-Site: same-origin", "200"},
	    {"Sec-Fetch-Site: none", "200"}, /* a bookmark */
	    {"Origin: http://127.0.0.1", "200"},
	    {"Origin: http://127.0.0.1:80", "200"},
	    {"Origin: http://127.0.0.1:81", "403"},
	    {"Origin: https://127.0.0.1", "403"},
	    {"Origin: http://localhost", "403"},
	    {"Origin: http://evil.example", "403"},
	    {"Origin: http://127.0.0.1.evil.example", "403"},
	    {"Origin: null", "403"},
	    {"Origin: 127.0.0.1", "403"},
	    {"Origin:", "403"},
	    {"Origin: http://127.0.0.1\r\nSec-Fetch-Site: cross-site", "403"},
	};
	struct gate_world *w = world(NULL, "", "");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char lines[160];
		snprintf(lines, sizeof(lines), "GET /livez HTTP/1.1\r\n%s" HOST, rows[i].field);
		answers(w, lines, rows[i].status, "");
	}
	gate_world_free(w);
}

/* Whatever the answer is, no other site may read, store, frame or guess at it. */
static void answers_are_for_nobody_else(void **state)
{
	(void)state;
	static const char *const lines[] = {"GET /livez HTTP/1.1" HOST, "GET /none HTTP/1.1" HOST,
	    "POST /livez HTTP/1.1\r\nContent-Length: 0" HOST, "GET /livez HTTP/1.1\r\nHost: evil.example",
	    "GET /livez HTTP/1.1\r\nOrigin: http://evil.example" HOST};
	static const char *const wanted[] = {"\r\ncache-control: no-store\r\n", "\r\nx-content-type-options: nosniff\r\n",
	    "\r\ncontent-security-policy: default-src 'none'; frame-ancestors 'none'; ",
	    "\r\ncross-origin-resource-policy: same-origin\r\n", "\r\nreferrer-policy: no-referrer\r\n"};
	struct gate_world *w = world(NULL, "", "");
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char text[4096];
		asks(w, lines[i], text, sizeof(text));
		for (size_t k = 0; k < sizeof(wanted) / sizeof(wanted[0]); k++)
			if (!strstr(text, wanted[k]))
				fail_msg("%s: no %s in %s", lines[i], wanted[k], text);
		assert_null(strstr(text, "access-control"));
	}
	gate_world_free(w);
}

static void rules_hold_there(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, "access = x\n", "[access x]\nallow = path=/livez\n");
	answers(w, "GET /livez HTTP/1.1" HOST, "200", "ok\n");
	answers(w, "GET /readyz HTTP/1.1" HOST, "403", "path");
	gate_world_free(w);
}

static void no_other_listener_has_the_pages(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, "[route r]\nhost = none.example\norigin = a\n[listen adm]\naddress = 127.0.0.1:3\nmode = admin\n");
	answers(w, "GET /livez HTTP/1.1" HOST, "421", "no route for this host");
	gate_world_free(w);
	w = gate_world_new(NULL, "mode = forward\n", NULL, "[listen adm]\naddress = 127.0.0.1:3\nmode = admin\n[origin f]\nserver = forward:\n[route f]\norigin = f\n");
	answers(w, "GET /livez HTTP/1.1" HOST, "400", "");
	gate_world_free(w);
}

static void an_end_that_is_near_is_told(void **state)
{
	(void)state;
	struct readiness shared = {0};
	gate_share_readiness(&shared);
	struct gate_world *w = world(NULL, "", "");
	answers(w, "GET /readyz HTTP/1.1" HOST, "200", "ok\n");
	assert_true(shared.was_ready);
	atomic_store(&shared.will_drain, true);
	answers(w, "GET /readyz HTTP/1.1" HOST, "503", "503 Service Unavailable: draining\n");
	answers(w, "GET /livez HTTP/1.1" HOST, "200", "ok\n");
	assert_int_equal(w->counters.causes[relay_cause_index(&relay_cause_ADMIN_PAGE)], 3);
	gate_world_free(w);
	gate_share_readiness(NULL);
}

static void a_server_that_passes_is_waited_for_once(void **state)
{
	(void)state;
	struct readiness shared = {0};
	void *memory = memory_zalloc(health_table_bytes(4, 0));
	struct health_table *table = health_table_new(memory, 4, 0);
	gate_share_readiness(&shared);
	gate_share_health(table);
	/* The workers' table; that this one checks nothing in it is of no concern here. */
	struct gate_world *w = world("ready-when = servers", "",
	    "[origin c]\nserver = http://127.0.0.1:4\nhealth-check = /up\nhealth-interval = 1h\n[route c]\nhost = c.example\norigin = c\n");
	answers(w, "GET /readyz HTTP/1.1" HOST, "503", "no server has passed its health check yet\n");
	struct server_entry *e = health_table_join(table, 1, 77777, 2, "127.0.0.1:4");
	answers(w, "GET /readyz HTTP/1.1" HOST, "503", "no server");
	server_entry_publish(table, e, (struct server_check){.state = SERVER_CHECK_FAILS});
	answers(w, "GET /readyz HTTP/1.1" HOST, "503", "no server");
	server_entry_publish(table, e, (struct server_check){.state = SERVER_CHECK_PASSES});
	answers(w, "GET /readyz HTTP/1.1" HOST, "200", "ok\n");
	server_entry_publish(table, e, (struct server_check){.state = SERVER_CHECK_FAILS});
	answers(w, "GET /readyz HTTP/1.1" HOST, "200", "ok\n");
	gate_world_free(w);
	gate_share_health(NULL);
	gate_share_readiness(NULL);
	free(table);
	free(memory);
}

static void the_demo_site_is_known(void **state)
{
	(void)state;
	struct gate_world *w = world("ready-when = servers", "", "[origin d]\nserver = demo:\n[route d]\nhost = d.example\norigin = d\n");
	answers(w, "GET /readyz HTTP/1.1" HOST, "200", "ok\n");
	gate_world_free(w);
}

/* A request on a connection of a worker that accepts no more, such as one of an older generation. */
static void a_worker_that_accepts_no_more_looks_at_the_others(void **state)
{
	(void)state;
	struct readiness shared = {0};
	gate_share_readiness(&shared);
	struct gate_world *w = world(NULL, "", "");
	struct gate_peer *client = gate_client(w, NULL);
	for (unsigned accepting = 0; accepting < 2; accepting++) {
		atomic_store(&shared.accepting, accepting);
		struct gate_stream *s = gate_request(client, "GET", "localhost", "/readyz", true, NULL);
		UNTIL(w, s->ended);
		assert_int_equal(s->status, 200);
	}
	listeners_stop(w->gateway);
	for (unsigned accepting = 0; accepting < 2; accepting++) {
		atomic_store(&shared.accepting, accepting);
		struct gate_stream *s = gate_request(client, "GET", "localhost", "/readyz", true, NULL);
		UNTIL(w, s->ended);
		assert_int_equal(s->status, accepting ? 200 : 503);
	}
	gate_world_free(w);
	gate_share_readiness(NULL);
}

/* What it says of other workers is in the tests of the ledger and of processes. */
static void metrics_are_text_or_openmetrics(void **state)
{
	(void)state;
	static char text[65536];
	struct gate_world *w = world(NULL, "", "");
	gate_ask(w, "GET /metrics?x HTTP/1.1" HOST "\r\nConnection: close\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(text, "\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\n"));
	assert_non_null(strstr(text, "\npushgate_requests_total 1\n"));
	assert_null(strstr(text, "# EOF"));
	gate_ask(w, "GET /metrics HTTP/1.1" HOST "\r\nAccept: application/openmetrics-text\r\nConnection: close\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "\r\ncontent-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
	assert_non_null(strstr(text, "# TYPE pushgate_requests counter\npushgate_requests_total 2\n"));
	assert_non_null(strstr(text, "\n# EOF\n"));
	answers(w, "POST /metrics HTTP/1.1\r\nContent-Length: 0" HOST, "405", "\r\nallow: GET, HEAD\r\n");
	gate_world_free(w);
}

static void metrics_are_put_off(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL, "", "");
	struct budget *b = &w->gateway->env.budget;
	size_t limit = b->limit_bytes;
	b->limit_bytes = 200000;
	answers(w, "GET /metrics HTTP/1.1" HOST, "503", "503 Service Unavailable: memory is short\n");
	answers(w, "GET /metrics HTTP/1.1" HOST, "503", "\r\nretry-after: 1\r\n");
	b->limit_bytes = limit;
	answers(w, "GET /livez HTTP/1.1" HOST, "200", "ok\n");
	w->gateway->admin->is_draining = true;
	answers(w, "GET /metrics HTTP/1.1" HOST, "503", "503 Service Unavailable: this worker drains\n");
	answers(w, "GET /livez HTTP/1.1" HOST, "200", "ok\n");
	gate_world_free(w);
}

/* Histograms may be many; the rules have none. */
static void the_overview_is_put_off(void **state)
{
	(void)state;
	char error[256];
	struct gate_world *w = world(NULL, "", "");
	struct ledger *ledger = ledger_new(error, sizeof(error));
	static const uint32_t live[] = {1};
	struct totals *none = totals_new();
	const struct ledger_view view = {.ledger = ledger,
	    .regions = {{.generation = 1, .conf = w->conf, .slots = &w->counters, .workers = 1}},
	    .region_count = 1};
	ledger_write(ledger, &(struct ledger_facts){.live = live, .live_count = 1, .ended = none}, 1);
	w->gateway->admin->env.view = &view;
	struct budget *b = &w->gateway->env.budget;
	size_t limit = b->limit_bytes, needed = ledger_view_bytes(&view);
	assert_in_range(needed, 10000, 1000000);
	answers(w, "GET /api/overview HTTP/1.1" HOST, "200", "\"origin_first_byte\"");
	UNTIL(w, b->used_bytes < needed);
	b->limit_bytes = b->used_bytes + needed;
	answers(w, "GET /api/overview HTTP/1.1" HOST, "503", "503 Service Unavailable: memory is short\n");
	answers(w, "GET /api/rules HTTP/1.1" HOST, "200", "\"rules\"");
	b->limit_bytes = limit;
	answers(w, "GET /api/overview HTTP/1.1" HOST, "200", "\"origin_first_byte\"");
	gate_world_free(w);
	totals_free(none);
	ledger_free(ledger);
}

/* There is a ledger, and the master has not written it: the answer waits for that. */
static void metrics_wait_for_the_master(void **state)
{
	(void)state;
	char error[256];
	struct gate_world *w = world(NULL, "", "");
	struct ledger *ledger = ledger_new(error, sizeof(error));
	const struct ledger_view view = {.ledger = ledger,
	    .regions = {{.generation = 1, .conf = w->conf, .slots = &w->counters, .workers = 1}},
	    .region_count = 1};
	w->gateway->admin->env.view = &view;
	struct gate_peer *client = gate_client(w, NULL);
	struct gate_stream *s = gate_request(client, "GET", "localhost", "/metrics", true, NULL);
	UNTIL(w, s->status == 200);
	gate_passes(w);
	assert_int_equal(s->received, 0);
	struct totals *ended = totals_new();
	ended->whole.requests = 1000;
	ledger_write(ledger, &(struct ledger_facts){.live = (const uint32_t[]){1}, .live_count = 1, .ended = ended}, 1);
	UNTIL(w, s->is_over);
	assert_true(s->ended && s->received > 1000);
	totals_free(ended);
	gate_world_free(w);
	ledger_free(ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paths_and_methods_are_a_table),
	    cmocka_unit_test(hosts_of_others_are_refused),
	    cmocka_unit_test(other_sites_are_refused),
	    cmocka_unit_test(answers_are_for_nobody_else),
	    cmocka_unit_test(rules_hold_there),
	    cmocka_unit_test(no_other_listener_has_the_pages),
	    cmocka_unit_test(an_end_that_is_near_is_told),
	    cmocka_unit_test(a_server_that_passes_is_waited_for_once),
	    cmocka_unit_test(the_demo_site_is_known),
	    cmocka_unit_test(a_worker_that_accepts_no_more_looks_at_the_others),
	    cmocka_unit_test(metrics_are_text_or_openmetrics),
	    cmocka_unit_test(metrics_are_put_off),
	    cmocka_unit_test(the_overview_is_put_off),
	    cmocka_unit_test(metrics_wait_for_the_master),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
