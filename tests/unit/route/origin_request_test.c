/* SPDX-License-Identifier: MIT */
/* The request as its origin gets it: what is made of the client's request, each time anew, while that one stays as it came. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/route/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})

struct made {
	struct http_head_pool *heads;
	struct conf *conf;
	struct route_env env;
	struct exchange x;
};

/* A request without fields for the route that has these rules. origin: more lines, may be NULL. */
static struct made made_new(const char *origin, const char *rules, const char *method, const char *const *fields)
{
	char text[4096];
	struct made m = {.heads = http_head_pool_new(4)};
	snprintf(text, sizeof(text),
	    "[listen l]\naddress = 127.0.0.1:1\n[origin o]\n%s%s\n[route r]\norigin = o\nforwarded = keep\n%s\n",
	    origin && strstr(origin, "server =") ? "" : "server = h2c://127.0.0.1:2\n", origin ? origin : "",
	    rules ? rules : "");
	m.conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr);
	assert_non_null(m.conf);
	m.env = (struct route_env){.pseudonym = SLICE("gate"), .via = http_via_make(SLICE("gate"))};
	struct http_head *head = http_head_new(m.heads);
	head->version = HTTP_VERSION_2;
	http_head_add(head, SLICE(":method"), slice_of_string(method));
	http_head_add(head, SLICE(":scheme"), SLICE("https"));
	http_head_add(head, SLICE(":authority"), SLICE("a.example"));
	http_head_add(head, SLICE(":path"), SLICE("/p?q"));
	for (; fields && *fields; fields += 2)
		http_head_add(head, slice_of_string(fields[0]), slice_of_string(fields[1]));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	m.x.request = m.x.facts.head = head;
	m.x.method = head->method_token;
	m.x.place.route = &m.conf->routes[0];
	m.x.place.origin = m.conf->routes[0].origin;
	return m;
}

static void made_free(struct made *m)
{
	http_head_free((struct http_head *)(uintptr_t)m->x.request);
	conf_free(m->conf);
	http_head_pool_free(m->heads);
}

static void text_of(const struct http_head *head, char *text, size_t size)
{
	*text = '\0';
	for (uint32_t i = 0; i < head->count; i++) {
		size_t n = strlen(text);
		snprintf(text + n, size - n, "%s%.*s: %.*s", i ? "\n" : "", SLICE_ARG(head->fields[i].name),
		    SLICE_ARG(head->fields[i].value));
	}
}

static void text_is(const struct http_head *head, const char *wanted)
{
	char text[4096];
	text_of(head, text, sizeof(text));
	assert_string_equal(text, wanted);
}

/* What the origin gets, twice, and the client's request stays what it was. */
static void origin_gets(struct made *m, const char *wanted)
{
	char before[4096];
	text_of(m->x.request, before, sizeof(before));
	for (int i = 0; i < 2; i++) {
		struct http_head *head = route_origin_request(&m->env, &m->x.facts, &m->x.place);
		text_is(head, wanted);
		assert_ptr_not_equal(head, m->x.request);
		http_head_free(head);
	}
	text_is(m->x.request, before);
}

/* ---- fields ---- */

static void via_is_added_once_behind_those_that_came(void **state)
{
	(void)state;
	struct made m = made_new(NULL, NULL, "GET", NULL);
	origin_gets(&m, "via: 2 gate");
	made_free(&m);
	m = made_new(NULL, NULL, "GET", FIELDS("via", "1.1 cdn", "accept", "*/*"));
	origin_gets(&m, "via: 1.1 cdn\naccept: */*\nvia: 2 gate");
	made_free(&m);
}

static void fields_of_one_hop_do_not_go_on(void **state)
{
	(void)state;
	struct made m = made_new(NULL, NULL, "GET", FIELDS("host", "a.example", "te", "trailers", "accept", "*/*"));
	origin_gets(&m, "te: trailers\naccept: */*\nvia: 2 gate");
	made_free(&m);
}

static void rules_set_add_and_remove_in_the_order_of_the_file(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *wanted;
	} rows[] = {
	    {"request-set = Cookie: gate=1", "accept: */*\nx-own: 1\nvia: 2 gate\ncookie: gate=1"},
	    {"request-add = Cookie: gate=1", "cookie: a=1\naccept: */*\ncookie: b=2\nx-own: 1\nvia: 2 gate\ncookie: gate=1"},
	    {"request-remove = Cookie", "accept: */*\nx-own: 1\nvia: 2 gate"},
	    {"request-remove = X-Own", "cookie: a=1\naccept: */*\ncookie: b=2\nvia: 2 gate"},
	    {"request-set = x-own: 2", "cookie: a=1\naccept: */*\ncookie: b=2\nvia: 2 gate\nx-own: 2"},
	    {"request-remove = Referer", "cookie: a=1\naccept: */*\ncookie: b=2\nx-own: 1\nvia: 2 gate"},
	    {"request-remove = Cookie\nrequest-add = Cookie: c=1\nrequest-add = Cookie: c=2",
		"accept: */*\nx-own: 1\nvia: 2 gate\ncookie: c=1\ncookie: c=2"},
	    {"request-add = Cookie: c=1\nrequest-remove = Cookie", "accept: */*\nx-own: 1\nvia: 2 gate"},
	    {"request-set = Authorization: Basic x", "cookie: a=1\naccept: */*\ncookie: b=2\nx-own: 1\nvia: 2 gate\n"
						     "authorization: Basic x"},
	    {"request-remove = Via", "cookie: a=1\naccept: */*\ncookie: b=2\nx-own: 1"},
	    {"response-set = Cookie: no\nresponse-remove = Accept",
		"cookie: a=1\naccept: */*\ncookie: b=2\nx-own: 1\nvia: 2 gate"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = made_new(NULL, rows[i].rules, "GET",
		    FIELDS("cookie", "a=1", "accept", "*/*", "cookie", "b=2", "x-own", "1"));
		origin_gets(&m, rows[i].wanted);
		made_free(&m);
	}
}

static void never_indexed_fields_stay_so(void **state)
{
	(void)state;
	struct made m = made_new(NULL, NULL, "GET", FIELDS("x-key", "secret", "x-open", "1"));
	((struct http_head *)(uintptr_t)m.x.request)->fields[0].never_index = true;
	struct http_head *head = route_origin_request(&m.env, &m.x.facts, &m.x.place);
	assert_true(head->fields[0].never_index);
	assert_false(head->fields[1].never_index);
	http_head_free(head);
	made_free(&m);
}

/* ---- Max-Forwards (RFC 9110 7.6.2) ---- */

static void max_forwards_is_counted_for_two_methods(void **state)
{
	(void)state;
	static const struct {
		const char *method, *value, *left;
	} rows[] = {
	    {"OPTIONS", "1", "0"},
	    {"OPTIONS", "10", "9"},
	    {"TRACE", "3", "2"},
	    {"OPTIONS", "99999999999999999999", "4294967294"},
	    {"OPTIONS", "+1", "+1"},
	    {"OPTIONS", "", ""},
	    {"OPTIONS", "x", "x"},
	    {"GET", "5", "5"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char wanted[128];
		struct made m = made_new(NULL, NULL, rows[i].method, FIELDS("max-forwards", rows[i].value));
		snprintf(wanted, sizeof(wanted), "max-forwards: %s\nvia: 2 gate", rows[i].left);
		origin_gets(&m, wanted);
		made_free(&m);
	}
}

static void a_rule_has_the_last_word_on_max_forwards(void **state)
{
	(void)state;
	struct made m = made_new(NULL, "request-set = Max-Forwards: 7", "OPTIONS", FIELDS("max-forwards", "3"));
	origin_gets(&m, "via: 2 gate\nmax-forwards: 7");
	made_free(&m);
}

/* ---- authority and scheme ---- */

static void pseudo_fields_are_the_clients_unless_the_origin_has_its_own(void **state)
{
	(void)state;
	static const struct {
		const char *origin, *authority, *scheme;
	} rows[] = {
	    {NULL, "a.example", "https"},
	    {"host = inner.example", "inner.example", "https"},
	    {"scheme = hop", "a.example", "http"},
	    {"server = h2://127.0.0.1:2\ntls-verify = no\nscheme = hop", "a.example", "https"},
	    {"host = inner.example:81\nscheme = hop", "inner.example:81", "http"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = made_new(rows[i].origin, NULL, "GET", NULL);
		struct http_head *head = route_origin_request(&m.env, &m.x.facts, &m.x.place);
		assert_true(slice_equal(head->authority, slice_of_string(rows[i].authority)));
		assert_true(slice_equal(head->scheme, slice_of_string(rows[i].scheme)));
		assert_true(slice_equal(head->method, SLICE("GET")));
		assert_true(slice_equal(head->path, SLICE("/p?q")));
		http_head_free(head);
		assert_true(slice_equal(m.x.request->authority, SLICE("a.example")));
		assert_true(slice_equal(m.x.request->scheme, SLICE("https")));
		made_free(&m);
	}
}

/* The certificate of a client of the proxy says nothing to the sites that it asks for. */
static void an_origin_of_a_gateway_is_told_of_the_certificate(void **state)
{
	(void)state;
	static struct client_certificate c = {.references = 1, .leaf = SLICE_INIT(":YQ==:"), .chain = SLICE_INIT(":Yg==:")};
	static const struct conf_listen gateway = {0}, forward = {.mode = CONF_MODE_FORWARD};
	static const struct {
		const char *rules, *told;
		bool is_forward;
	} rows[] = {
	    {NULL, "client-cert: :YQ==:", false},
	    {"client-cert = chain", "client-cert: :YQ==:\nclient-cert-chain: :Yg==:", false},
	    {"client-cert = no", "", false},
	    {NULL, "", true},
	    {"client-cert = chain", "", true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		struct made m = made_new(NULL, rows[i].rules, "GET", FIELDS("client-cert", ":Zg==:", "client_cert", ":Zg==:"));
		struct request_facts f = m.x.facts;
		f.listener = rows[i].is_forward ? &forward : &gateway;
		f.certificate = &c;
		struct http_head *head = route_origin_request(&m.env, &f, &m.x.place);
		http_head_remove(head, HTTP_TOKEN_VIA);
		text_of(head, text, sizeof(text));
		assert_string_equal(text, rows[i].told);
		http_head_free(head);
		made_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_origin_of_a_gateway_is_told_of_the_certificate),
	    cmocka_unit_test(via_is_added_once_behind_those_that_came),
	    cmocka_unit_test(fields_of_one_hop_do_not_go_on),
	    cmocka_unit_test(rules_set_add_and_remove_in_the_order_of_the_file),
	    cmocka_unit_test(never_indexed_fields_stay_so),
	    cmocka_unit_test(max_forwards_is_counted_for_two_methods),
	    cmocka_unit_test(a_rule_has_the_last_word_on_max_forwards),
	    cmocka_unit_test(pseudo_fields_are_the_clients_unless_the_origin_has_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
