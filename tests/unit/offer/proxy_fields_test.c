/* SPDX-License-Identifier: MIT */
/* What becomes of Forwarded and of the fields of proxy authentication, in both modes. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/offer/offer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct made {
	struct http_head_pool *heads;
	struct conf *conf;
	struct offer_env env;
	struct exchange x;
};

/* A request on a listener with more lines, to a route with more lines; fields: "name: value\n…". */
static struct made made_new(const char *listen, const char *route, const char *client, const char *fields)
{
	char text[2048], line[256];
	struct made m = {.heads = http_head_pool_new(4)};
	snprintf(text, sizeof(text),
	    "[listen l]\naddress = 127.0.0.1:1\n%s\n[origin o]\nserver = h2c://127.0.0.1:2\n[route r]\norigin = o\n%s\n", listen,
	    route);
	m.conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr);
	assert_non_null(m.conf);
	m.env = (struct offer_env){.conf = m.conf, .pseudonym = SLICE("gate"), .via = http_via_make(SLICE("gate"))};
	struct http_head *head = http_head_new(m.heads);
	head->version = HTTP_VERSION_2;
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("http"));
	http_head_add(head, SLICE(":authority"), SLICE("a.example:81"));
	http_head_add(head, SLICE(":path"), SLICE("/"));
	for (const char *at = fields; *at;) {
		size_t end = strcspn(at, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)end, at);
		char *colon = strchr(line, ':');
		http_head_add(head, slice_of(line, (size_t)(colon - line)), slice_of_string(colon + 2));
		at += end + (at[end] == '\n');
	}
	assert_null(http_head_validate(head, HTTP_REQUEST));
	m.x.request = head;
	m.x.method = head->method_token;
	m.x.context.listen = &m.conf->listens[0];
	m.x.context.route = &m.conf->routes[0];
	m.x.context.origin = m.conf->routes[0].origin;
	if (*client)
		assert_true(address_parse(slice_of_string(client), &m.x.context.client));
	return m;
}

static void made_free(struct made *m)
{
	http_head_free((struct http_head *)(uintptr_t)m->x.request);
	conf_free(m->conf);
	http_head_pool_free(m->heads);
}

static void text_is(const struct http_head *head, const char *wanted)
{
	char text[4096] = "";
	for (uint32_t i = 0; i < head->count; i++) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%.*s: %.*s\n", SLICE_ARG(head->fields[i].name),
		    SLICE_ARG(head->fields[i].value));
	}
	assert_string_equal(text, wanted);
}

/* The origin gets these fields, and Via. */
static void origin_gets(const char *listen, const char *route, const char *client, const char *fields, const char *wanted)
{
	char all[2048];
	struct made m = made_new(listen, route, client, fields);
	struct http_head *head = offer_origin_request(&m.env, &m.x);
	http_head_remove(head, HTTP_TOKEN_VIA);
	snprintf(all, sizeof(all), "%s", wanted);
	text_is(head, all);
	http_head_free(head);
	made_free(&m);
}

#define CLAIMS                                                                                                         \
	"forwarded: for=192.0.2.1\nx-forwarded-for: 192.0.2.1\nx-forwarded-proto: https\nx-forwarded-host: b.example\n" \
	"x-real-ip: 192.0.2.1\n"
#define OURS                                                                                    \
	"forwarded: for=10.0.0.1;host=\"a.example:81\";proto=http\nx-forwarded-for: 10.0.0.1\n" \
	"x-forwarded-proto: http\nx-forwarded-host: a.example:81\n"
#define FORWARD "mode = forward"

/* covers: R498 */
static void what_proxies_say_of_the_client_is_kept_by_a_gateway_alone(void **state)
{
	(void)state;
	origin_gets("", "", "10.0.0.1", CLAIMS, CLAIMS);
	origin_gets(FORWARD, "", "10.0.0.1", CLAIMS, "");
	origin_gets("", "forwarded = auto", "10.0.0.1", CLAIMS, CLAIMS);
	origin_gets(FORWARD, "forwarded = auto", "10.0.0.1", "accept: */*\n" CLAIMS "x-own: 1\n", "accept: */*\nx-own: 1\n");
	origin_gets("", "forwarded = remove", "10.0.0.1", CLAIMS, "");
	origin_gets(FORWARD, "forwarded = keep", "10.0.0.1", CLAIMS, CLAIMS);
}

/* covers: R497 */
static void address_is_added_where_the_route_says_so(void **state)
{
	(void)state;
	origin_gets("", "forwarded = add", "10.0.0.1", "", OURS);
	origin_gets(FORWARD, "forwarded = add", "10.0.0.1", "", OURS);
	/* Nobody has to believe what the client says of itself. */
	origin_gets("", "forwarded = add", "10.0.0.1", CLAIMS, OURS);
	origin_gets("trusted = 10.0.0.2", "forwarded = add", "10.0.0.1", CLAIMS, OURS);
}

static void address_goes_behind_those_of_a_trusted_proxy(void **state)
{
	(void)state;
	origin_gets("trusted = 10.0.0.0/8", "forwarded = add", "10.0.0.1", CLAIMS,
	    "forwarded: for=192.0.2.1, for=10.0.0.1;host=\"a.example:81\";proto=http\n"
	    "x-forwarded-for: 192.0.2.1, 10.0.0.1\nx-forwarded-proto: https\nx-forwarded-host: b.example\n"
	    "x-real-ip: 192.0.2.1\n");
	origin_gets("trusted = 10.0.0.0/8", "forwarded = add", "10.0.0.1", "x-forwarded-for: 192.0.2.1\nx-forwarded-for: 192.0.2.2\n",
	    "x-forwarded-for: 192.0.2.1\nx-forwarded-for: 192.0.2.2, 10.0.0.1\n"
	    "forwarded: for=10.0.0.1;host=\"a.example:81\";proto=http\nx-forwarded-proto: http\nx-forwarded-host: a.example:81\n");
	origin_gets("trusted = 10.0.0.0/8", "forwarded = add", "10.0.0.1", "x-forwarded-for: \n",
	    "x-forwarded-for: 10.0.0.1\nforwarded: for=10.0.0.1;host=\"a.example:81\";proto=http\n"
	    "x-forwarded-proto: http\nx-forwarded-host: a.example:81\n");
}

/* RFC 7239 6.
 * covers: R497 */
static void other_addresses_have_their_forms(void **state)
{
	(void)state;
	origin_gets("", "forwarded = add", "2001:db8::1", "",
	    "forwarded: for=\"[2001:db8::1]\";host=\"a.example:81\";proto=http\nx-forwarded-for: 2001:db8::1\n"
	    "x-forwarded-proto: http\nx-forwarded-host: a.example:81\n");
	origin_gets("trusted = unix", "forwarded = add", "", "x-forwarded-for: 192.0.2.1\n",
	    "x-forwarded-for: 192.0.2.1\nforwarded: for=unknown;host=\"a.example:81\";proto=http\n"
	    "x-forwarded-proto: http\nx-forwarded-host: a.example:81\n");
}

static void rules_of_the_route_have_the_last_word(void **state)
{
	(void)state;
	origin_gets(FORWARD, "request-set = X-Real-IP: 192.0.2.9", "10.0.0.1", CLAIMS, "x-real-ip: 192.0.2.9\n");
	origin_gets("", "forwarded = add\nrequest-remove = Forwarded\nrequest-remove = X-Forwarded-Host", "10.0.0.1", "",
	    "x-forwarded-for: 10.0.0.1\nx-forwarded-proto: http\n");
}

static void held_responses_are_told_of_changes(void **state)
{
	(void)state;
	struct made m = made_new("", "", "10.0.0.1", "");
	assert_false(offer_changes_claims(&m.x));
	made_free(&m);
	m = made_new(FORWARD, "", "10.0.0.1", "");
	assert_true(offer_changes_claims(&m.x));
	made_free(&m);
}

/* ---- proxy authentication ---- */

#define LOGIN "authorization: Basic Yg==\nproxy-authorization: Basic YQ==\nproxy-authenticate: Basic\n"

/* covers: R345 R347 R563 */
static void credentials_of_a_forward_proxy_go_no_further(void **state)
{
	(void)state;
	origin_gets(FORWARD, "", "10.0.0.1", LOGIN, "authorization: Basic Yg==\n");
	origin_gets("", "", "10.0.0.1", LOGIN, LOGIN); /* the origin may be the proxy that is meant */
	origin_gets("", "", "10.0.0.1", "proxy: http://evil.example\nx-own: 1\n", "x-own: 1\n");
	origin_gets(FORWARD, "", "10.0.0.1", "proxy: http://evil.example\n", "");
}

/* covers: R563 */
static void credentials_of_a_gateway_go_no_further(void **state)
{
	(void)state;
	static const char asks[] = "access = a\n[access a]\nusers = users\nask = all\nallow = user=*";
	origin_gets(asks, "", "10.0.0.1", "authorization: Basic YQ==\n", "");
	origin_gets(asks, "", "10.0.0.1", "authorization: basic\tYQ==\n", "");
	origin_gets(asks, "", "10.0.0.1", "authorization: Bearer x\nauthorization: Basic YQ==\n", "");
	origin_gets(asks, "", "10.0.0.1", "authorization: Bearer x\n", "authorization: Bearer x\n");
	origin_gets("access = a\n[access a]\nallow = all", "", "10.0.0.1", "authorization: Basic YQ==\n",
	    "authorization: Basic YQ==\n");
}

static struct http_head *response(struct made *m, uint16_t status)
{
	struct http_head *head = http_head_new(m->heads);
	head->kind = HTTP_RESPONSE;
	head->status = status;
	http_head_add(head, SLICE("proxy-authenticate"), SLICE("Basic realm=\"x\""));
	http_head_add(head, SLICE("www-authenticate"), SLICE("Basic"));
	http_head_add(head, SLICE("proxy-authentication-info"), SLICE("nextnonce=\"x\""));
	return head;
}

/* covers: R347 */
static void no_origin_asks_for_them(void **state)
{
	(void)state;
	static const struct {
		const char *listen;
		uint16_t status, wanted;
		const char *fields;
	} rows[] = {
	    {FORWARD, 200, 200, "www-authenticate: Basic\n"},
	    {FORWARD, 103, 103, "www-authenticate: Basic\n"},
	    {FORWARD, 401, 401, "www-authenticate: Basic\n"},
	    {FORWARD, 407, 502,
		"www-authenticate: Basic\nproxy-status: gate; error=http_protocol_error; received-status=407; "
		"details=\"a server asked for the credentials of a proxy\"\n"},
	    {"", 407, 407,
		"proxy-authenticate: Basic realm=\"x\"\nwww-authenticate: Basic\nproxy-authentication-info: nextnonce=\"x\"\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = made_new(rows[i].listen, "", "10.0.0.1", "");
		struct http_head *head = response(&m, rows[i].status);
		offer_response_of_proxy(&m.env, &m.x, head);
		assert_int_equal(head->status, rows[i].wanted);
		text_is(head, rows[i].fields);
		http_head_free(head);
		made_free(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_proxies_say_of_the_client_is_kept_by_a_gateway_alone),
	    cmocka_unit_test(address_is_added_where_the_route_says_so),
	    cmocka_unit_test(address_goes_behind_those_of_a_trusted_proxy),
	    cmocka_unit_test(other_addresses_have_their_forms),
	    cmocka_unit_test(rules_of_the_route_have_the_last_word),
	    cmocka_unit_test(held_responses_are_told_of_changes),
	    cmocka_unit_test(credentials_of_a_forward_proxy_go_no_further),
	    cmocka_unit_test(credentials_of_a_gateway_go_no_further),
	    cmocka_unit_test(no_origin_asks_for_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
