/* SPDX-License-Identifier: MIT */
/* The scheme of a request in HTTP/1, whose target has none: what trusted peers say counts, and nobody else. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/route/route.h"

#include <stdio.h>
#include <string.h>

static struct conf *conf;
static struct http_head_pool *heads;
static const struct route_env *the_env;

static const struct conf_listen *listener(const char *name)
{
	for (size_t i = 0; i < conf->listen_count; i++)
		if (strcmp(conf->listens[i].name, name) == 0)
			return &conf->listens[i];
	fail_msg("no [listen %s]", name);
	return NULL;
}

static struct http_head *request(const char *scheme, bool from_connection)
{
	struct http_head *head = http_head_new(heads);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), slice_of_string(scheme));
	http_head_add(head, SLICE(":authority"), SLICE("a.example"));
	http_head_add(head, SLICE(":path"), SLICE("/"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	head->scheme_from_connection = from_connection;
	return head;
}

static struct address peer(const char *text)
{
	struct address a;
	assert_true(address_parse(slice_of_string(text), &a));
	return a;
}

struct said {
	const char *x[2], *forwarded[2];
	const char *scheme;
};

static void scheme_becomes(const char *listen, const char *address, const char *given, bool from_connection,
    const struct said *s, const char *wanted)
{
	struct http_head *head = request(given, from_connection);
	struct address a = peer(address);
	for (int i = 0; i < 2; i++) {
		if (s->x[i])
			http_head_add_token(head, HTTP_TOKEN_X_FORWARDED_PROTO, slice_of_string(s->x[i]));
		if (s->forwarded[i])
			http_head_add_token(head, HTTP_TOKEN_FORWARDED, slice_of_string(s->forwarded[i]));
	}
	route_adopt_scheme(listener(listen), &a, head);
	if (!slice_equal(head->scheme, slice_of_string(wanted)))
		fail_msg("%s %s: x-forwarded-proto %s %s, forwarded %s %s: %.*s, not %s", listen, address, s->x[0], s->x[1],
		    s->forwarded[0], s->forwarded[1], SLICE_ARG(head->scheme), wanted);
	http_head_free(head);
}

#define HTTPS "https"
#define HTTP "http"

static const struct said rows[] = {
    {.scheme = HTTP},
    {.x = {"https"}, .scheme = HTTPS},
    {.x = {"HTTPS"}, .scheme = HTTPS},
    {.x = {"http"}, .scheme = HTTP},
    /* One proxy says one scheme. */
    {.x = {"https, http"}, .scheme = HTTP},
    {.x = {"http, https"}, .scheme = HTTP},
    {.x = {"https", "https"}, .scheme = HTTP},
    {.x = {"wss"}, .scheme = HTTP},
    {.x = {""}, .scheme = HTTP},
    {.x = {"https "}, .scheme = HTTP},
    {.forwarded = {"proto=https"}, .scheme = HTTPS},
    {.forwarded = {"for=192.0.2.1;proto=https"}, .scheme = HTTPS},
    {.forwarded = {"for=192.0.2.1; Proto=\"HTTPS\" ;by=_b"}, .scheme = HTTPS},
    {.forwarded = {"proto=http"}, .scheme = HTTP},
    {.forwarded = {"for=192.0.2.1"}, .scheme = HTTP},
    {.forwarded = {"protocol=https"}, .scheme = HTTP},
    {.forwarded = {"for=\"proto=https"}, .scheme = HTTP},
    {.forwarded = {"proto=ftp"}, .scheme = HTTP},
    {.forwarded = {"proto=\""}, .scheme = HTTP},
    /* a client's Host may have ';' and '=' */
    {.forwarded = {"proto=http;host=\"a;proto=https;b\""}, .scheme = HTTP},
    {.forwarded = {"host=\"a;proto=https;b\""}, .scheme = HTTP},
    {.forwarded = {"for=\"a;proto=https;b, proto=http;by=_b"}, .scheme = HTTP},
    {.forwarded = {"proto=http;proto=https"}, .scheme = HTTP},
    {.forwarded = {"proto=;proto=https"}, .scheme = HTTP},
    /* The client has opened quotes, and the proxy has added an element behind them. */
    {.forwarded = {"proto=https;for=\", for=192.0.2.1;proto=http"}, .scheme = HTTP},
    {.forwarded = {"for=\", for=192.0.2.1;proto=https"}, .scheme = HTTPS},
    /* The last element is the nearest proxy's. */
    {.forwarded = {"proto=http, for=192.0.2.1;proto=https"}, .scheme = HTTPS},
    {.forwarded = {"proto=https, for=192.0.2.1"}, .scheme = HTTP},
    {.forwarded = {"proto=http", "proto=https"}, .scheme = HTTPS},
    {.forwarded = {"proto=https", "proto=http"}, .scheme = HTTP},
    /* The client may have sent either. */
    {.x = {"https"}, .forwarded = {"for=192.0.2.1"}, .scheme = HTTPS},
    {.x = {"https"}, .forwarded = {"proto=https"}, .scheme = HTTPS},
    {.x = {"https"}, .forwarded = {"proto=http"}, .scheme = HTTP},
    {.x = {"http"}, .forwarded = {"proto=https"}, .scheme = HTTP},
    {.x = {"wss"}, .forwarded = {"proto=https"}, .scheme = HTTP},
};
#define COUNT (sizeof(rows) / sizeof(rows[0]))

static void trusted_peer_says_the_scheme(void **state)
{
	(void)state; /* covers: R85 */
	for (size_t i = 0; i < COUNT; i++)
		scheme_becomes("trusting", "192.0.2.7", HTTP, true, &rows[i], rows[i].scheme);
}

static void anybody_else_does_not(void **state)
{
	(void)state; /* covers: R85 */
	for (size_t i = 0; i < COUNT; i++) {
		scheme_becomes("trusting", "192.0.3.7", HTTP, true, &rows[i], HTTP);
		scheme_becomes("plain", "192.0.2.7", HTTP, true, &rows[i], HTTP);
	}
}

/* What stands in the target, or in :scheme, is what the peer asks for. */
static void target_with_a_scheme_is_taken_at_its_word(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		scheme_becomes("trusting", "192.0.2.7", HTTP, false, &rows[i], HTTP);
		scheme_becomes("trusting", "192.0.2.7", HTTPS, false, &rows[i], HTTPS);
	}
}

/* ---- redirect-to-https ---- */

static const struct relay_cause *routed(const char *listen, const char *address, const char *scheme, const char *method)
{
	const char *detail = NULL;
	struct request_routing routing;
	struct effort effort = effort_of(1000);
	struct http_head *head = request(scheme, true);
	head->method_token = (uint16_t)http_method_find(slice_of_string(method));
	struct request_facts f = {.listener = listener(listen), .client = peer(address), .head = head};
	const struct relay_cause *cause = route_admit(the_env, &f, &head->arena, &detail);
	if (!cause)
		cause = route_find(the_env, &f, &effort, &routing, &detail);
	http_head_free(head);
	return cause;
}

static void redirecting_listener_redirects_what_is_not_secure(void **state)
{
	(void)state;
	assert_ptr_equal(routed("moved", "192.0.2.1", HTTP, "GET"), &relay_cause_REDIRECT);
	assert_ptr_equal(routed("moved", "192.0.2.1", HTTP, "POST"), &relay_cause_REDIRECT);
	assert_ptr_equal(routed("moved", "192.0.2.1", HTTP, "TRACE"), &relay_cause_REDIRECT);
	assert_ptr_equal(routed("moved", "192.0.2.1", HTTP, "CONNECT"), &relay_cause_NOT_IMPLEMENTED);
	assert_ptr_equal(routed("moved", "192.0.2.1", HTTPS, "GET"), &relay_cause_UNTRUSTED_SCHEME);
	assert_ptr_equal(routed("moved", "192.0.2.1", "ftp", "GET"), &relay_cause_MISDIRECTED);
	/* Behind a proxy that ends TLS there would be no end of redirects. */
	assert_ptr_equal(routed("moved", "198.51.100.1", HTTP, "GET"), &relay_cause_REDIRECT);
	assert_ptr_not_equal(routed("moved", "198.51.100.1", HTTPS, "GET"), &relay_cause_REDIRECT);
}

static int open_all(void **state)
{
	(void)state;
	static struct route_env env;
	const char text[] =
	    "[listen plain]\naddress = 127.0.0.1:1\n"
	    "[listen trusting]\naddress = 127.0.0.1:2\ntrusted = 192.0.2.0/24\n"
	    "[listen moved]\naddress = 127.0.0.1:3\ntrusted = 198.51.100.0/24\n"
	    "[origin o]\nserver = h2c://127.0.0.1:4\n[route r]\norigin = o\n";
	conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr);
	heads = http_head_pool_new(2);
	if (!conf)
		return -1;
	env = (struct route_env){.router = router_new(conf, CONF_MODE_GATEWAY, 1), .pseudonym = SLICE("gate"), .via = http_via_make(SLICE("gate"))};
	the_env = &env;
	((struct conf_listen *)(uintptr_t)listener("moved"))->redirect_to_https = true;
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	router_free((struct router *)(uintptr_t)the_env->router);
	conf_free(conf);
	http_head_pool_free(heads);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(trusted_peer_says_the_scheme),
	    cmocka_unit_test(anybody_else_does_not),
	    cmocka_unit_test(target_with_a_scheme_is_taken_at_its_word),
	    cmocka_unit_test(redirecting_listener_redirects_what_is_not_secure),
	};
	return cmocka_run_group_tests(tests, open_all, close_all);
}
