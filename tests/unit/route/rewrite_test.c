/* SPDX-License-Identifier: MIT */
/* rewrite of a route: the path that the origin gets, and what its responses say, as the client gets it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/http/path.h"
#include "proxy/limits.h"
#include "proxy/route/route.h"

#include <stdio.h>
#include <string.h>

/* covers: R491 R492 R494 R496 */

struct made {
	struct http_head_pool *heads;
	struct conf *conf;
	struct route_env env;
	struct exchange x;
};

/* A request for https://a.example with this path. */
static struct made made_new(const char *rewrite, const char *path)
{
	char text[1024];
	struct made m = {.heads = http_head_pool_new(4)};
	snprintf(text, sizeof(text),
	    "[listen l]\naddress = 127.0.0.1:1\n[origin o]\nserver = h2c://10.1.2.3:8080\nhost = app.internal\n"
	    "[route r]\norigin = o\n%s%s\n",
	    rewrite ? "rewrite = " : "", rewrite ? rewrite : "");
	m.conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr);
	assert_non_null(m.conf);
	m.env = (struct route_env){.pseudonym = SLICE("gate"), .via = http_via_make(SLICE("gate"))};
	struct http_head *head = http_head_new(m.heads);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("https"));
	http_head_add(head, SLICE(":authority"), SLICE("a.example"));
	http_head_add(head, SLICE(":path"), slice_of_string(path));
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

/* ---- the request ---- */

static void the_prefix_is_exchanged_at_the_border_of_a_segment(void **state)
{
	(void)state;
	static const struct {
		const char *rewrite, *path, *wanted;
	} rows[] = {
	    {"/api /", "/api", "/"}, {"/api /", "/api/", "/"}, {"/api /", "/api/x", "/x"}, {"/api /", "/api?q", "/?q"},
	    {"/api /", "/api/?q", "/?q"}, {"/api /", "/api/x?q=/api/y", "/x?q=/api/y"}, {"/api /", "/apix", "/apix"},
	    {"/api /", "/API/x", "/API/x"}, {"/api /", "/%61pi/x", "/%61pi/x"}, {"/api /", "/", "/"},
	    {"/api /", "/x/api", "/x/api"}, {"/api/ /", "/api/x", "/x"}, {"/api/ /v1/", "/api", "/v1"},
	    {"/api /v1", "/api", "/v1"}, {"/api /v1", "/api/", "/v1/"}, {"/api /v1", "/api/x%2fy", "/v1/x%2fy"},
	    {"/api /v1/deep", "/api?", "/v1/deep?"}, {"/ /v1", "/", "/v1/"}, {"/ /v1", "/x?q", "/v1/x?q"},
	    {"/ /v1", "/?q", "/v1/?q"}, {"/api/v1 /api", "/api/v1/x", "/api/x"}, {"/a /a/b", "/a/c", "/a/b/c"},
	    {"/api /", "/api//x", "//x"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = made_new(rows[i].rewrite, rows[i].path);
		struct http_head *sent = route_origin_request(&m.env, &m.x.facts, &m.x.place);
		if (!slice_equal(sent->path, slice_of_string(rows[i].wanted)))
			fail_msg("%s %s: %.*s", rows[i].rewrite, rows[i].path, SLICE_ARG(sent->path));
		assert_true(slice_equal(m.x.request->path, slice_of_string(rows[i].path)));
		http_head_free(sent);
		made_free(&m);
	}
}

static void a_path_that_climbs_is_seen_in_each_spelling(void **state)
{
	(void)state;
	static const char *const climbs[] = {"/..", "/../x", "/x/../../y", "/%2e%2E/x", "/.%2e/x", "/..%2fx", "/..\\x",
	    "/..;a=b/x", "/x/..%5c..", "/x/../..?q", "//..", "/./..",
	    /* one segment for some servers, two for others */
	    "/x%2fy/../../z", "/x%2Fy%2Fz/../../z", "/x\\y/../../z", "/x%5cy/../../z", "/x/..;%2fy/../z", "/%2fx/../z",
	    /* more than one decoding */
	    "/%252e%252e/x", "/%252E./x", "/%25252e%2e/x", "/x/%252e%252e/..", "/..%252fx", "/..%255cx", "/x%252fy/../../z",
	    "/%%32e./x", "/%%32%65./x", "/%2%65./x", "/%25%32%65./x", "/..%3bx/y", "/..%253bx/y",
	    /* decodings of their own */
	    "/%u002e./x", "/%U002E%u002e/x", "/..%u002fx", "/%25u002e./x", "/%u00%32e./x", "/%%75002e./x",
	    "/%c0%ae%c0%AE/x", "/..%c0%afx", "/..%c1%9cx", "/%e0%80%ae./x", "/%f0%80%80%ae./x", "/%25c0%ae./x", "/\xc0\xae./x",
	    "/..%00x", "/..%2500/x", "/..%c0%80/x"};
	static const char *const stays[] = {"", "/", "/x", "/x/..", "/x/../y", "/...", "/..x/y", "/x..", "/x?/../..", "/a;/../b",
	    "/x/./y", "/%2e%2ex", "/x/y/../..", "/x%2fy", "/x%2fy/..", "/x%2fy/z/../..", "/x%2f..", "/x\\y",
	    "/%252e%252ex", "/x%252fy", "/x/%252e%252e", "/http%253a%252f%252fx%252fy", "/100%25/..", "/x%25", "/x%", "/x%2",
	    "/%u002", "/%u/..", "/%ux/..", "/x%u", "/%uff0e./x", "/%u0080/..", "/%c0", "/%c0./x", "/%c2%ae./x", "/%c3%a4/..",
	    "/%e0%81%80./x", "/%e0%a4%85/..", "/%e0%80", "/%f0%9f%98%80/..", "/%f0%80%80./x", "/x%00y", "/x%00.."};
	for (size_t i = 0; i < sizeof(climbs) / sizeof(climbs[0]); i++)
		if (!http_path_climbs(slice_of_string(climbs[i])))
			fail_msg("%s", climbs[i]);
	for (size_t i = 0; i < sizeof(stays) / sizeof(stays[0]); i++)
		if (http_path_climbs(slice_of_string(stays[i])))
			fail_msg("%s", stays[i]);
}

/* ---- URLs in fields of the request ---- */

/* The field as the origin gets it; wanted NULL: as it came. */
static void check_request(const char *rewrite, const char *options, const char *name, const char *value, const char *wanted)
{
	char rules[256];
	snprintf(rules, sizeof rules, "%s\n%s", rewrite ? rewrite : "/ /", options);
	struct made m = made_new(rules, "/api/x");
	struct http_head *head = http_head_overlay(m.x.request), *sent;
	http_head_add(head, slice_of_string(name), slice_of_string(value));
	struct http_head *asked = http_head_new(m.heads);
	http_head_add(asked, SLICE(":method"), SLICE("MOVE"));
	http_head_add(asked, SLICE(":scheme"), SLICE("https"));
	http_head_add(asked, SLICE(":authority"), SLICE("a.example"));
	http_head_add(asked, SLICE(":path"), SLICE("/api/x"));
	http_head_add(asked, slice_of_string(name), slice_of_string(value));
	assert_null(http_head_validate(asked, HTTP_REQUEST));
	http_head_free(head);
	http_head_free((struct http_head *)(uintptr_t)m.x.request);
	m.x.request = m.x.facts.head = asked;
	m.x.method = HTTP_METHOD_OTHER;
	struct conf_listen listen = m.conf->listens[0];
	m.x.facts.listener = &listen;
	sent = route_origin_request(&m.env, &m.x.facts, &m.x.place);
	struct slice got = {0};
	for (uint32_t i = 0; i < sent->count; i++)
		if (slice_equal(sent->fields[i].name, slice_of_string(name)))
			got = sent->fields[i].value;
	if (!slice_equal(got, slice_of_string(wanted ? wanted : value)))
		fail_msg("%s, %s: %s became %.*s, not %s", rules, name, value, SLICE_ARG(got), wanted ? wanted : value);
	http_head_free(sent);
	made_free(&m);
}

static void destination_names_the_resource_as_the_origin_knows_it(void **state)
{
	(void)state; /* covers: R489 */
	static const struct {
		const char *said, *wanted;
	} rows[] = {
	    {"https://a.example/api/y", "http://app.internal/v1/y"}, {"HTTPS://A.example:443/api/y?q", "http://app.internal/v1/y?q"},
	    {"/api/y", "/v1/y"}, {"https://a.example/api", "http://app.internal/v1"},
	    /* another host, another port, what is no URL of HTTP */
	    {"https://b.example/api/y", NULL}, {"https://a.example:8443/api/y", NULL}, {"//a.example/api/y", NULL}, {"mailto:x", NULL},
	    {"https://u@a.example/api/y", NULL}, {"https:/api/y", NULL}, {"", NULL}, {"api/y", NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		check_request("/api /v1", "", "destination", rows[i].said, rows[i].wanted);
		check_request("/api /v1", "map-referer = yes", "referer", rows[i].said, rows[i].wanted);
		check_request("/api /v1", "", "referer", rows[i].said, NULL);
		check_request("/api /v1", "map-referer = yes", "origin", rows[i].said, NULL);
	}
	check_request(NULL, "", "destination", "https://a.example/z", "http://app.internal/z");
}

/* Access rules and routes have looked at the path of the request alone. */
static void destination_does_not_lead_out_of_what_is_rewritten(void **state)
{
	(void)state; /* covers: R489 */
	static const struct {
		const char *said;
		bool leaves;
	} rows[] = {
	    {"https://a.example/api/y", false}, {"/api/y", false}, {"/api", false}, {"/apix", true}, {"/other/y", true},
	    {"https://a.example/other", true}, {"https://b.example/api/y", true}, {"http://app.internal/v1/y", true},
	    {"/api/../y", true}, {"/api/%2e%2e/y", true}, {"https://a.example/api/..;x/y", true}, {"//evil/api/y", true},
	    {"https://a.example\\/api/y", true}, {"", true},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made m = made_new("/api /v1", "/api/x");
		http_head_add((struct http_head *)(uintptr_t)m.x.request, SLICE("destination"), slice_of_string(rows[i].said));
		if (route_destination_leaves(m.x.request, m.x.place.route) != rows[i].leaves)
			fail_msg("%s", rows[i].said);
		made_free(&m);
	}
}

/* ---- the response ---- */

static void check_field(const char *rewrite, const char *path, const char *name, const char *value, const char *wanted)
{
	struct made m = made_new(rewrite, path);
	struct http_head *response = http_head_new(m.heads), *overlay;
	http_head_add(response, SLICE(":status"), SLICE("302"));
	http_head_add(response, slice_of_string(name), slice_of_string(value));
	assert_null(http_head_validate(response, HTTP_RESPONSE));
	overlay = http_head_overlay(response);
	route_map_response(m.x.request, &m.x.place, overlay);
	if (!slice_equal(overlay->fields[0].value, slice_of_string(wanted)))
		fail_msg("rewrite = %s, %s: %s: %s became %.*s, not %s", rewrite, path, name, value,
		    SLICE_ARG(overlay->fields[0].value), wanted);
	assert_true(slice_equal(response->fields[0].value, slice_of_string(value)));
	http_head_free(overlay);
	http_head_free(response);
	made_free(&m);
}

struct form {
	const char *said, *wanted; /* NULL: the same */
};

#define FORMS(rows) rows, sizeof(rows) / sizeof((rows)[0])

static void check_forms(const char *rewrite, const char *path, const char *name, const struct form *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_field(rewrite, path, name, rows[i].said, rows[i].wanted ? rows[i].wanted : rows[i].said);
}

static void a_location_gets_the_public_path(void **state)
{
	(void)state;
	static const struct form stripped[] = {
	    {"/", "/api/"}, {"/x", "/api/x"}, {"/x?q=1#f", "/api/x?q=1#f"}, {"/?q", "/api/?q"}, {"/#f", "/api/#f"},
	    {"/x y|\xc3\xa4", "/api/x y|\xc3\xa4"}, {"/a/../b", "/api/a/../b"},
	    {"https://a.example/x", "https://a.example/api/x"}, {"https://A.Example:443/x", "https://A.Example:443/api/x"},
	    {"http://a.example/x", "http://a.example/api/x"}, {"https://a.example", "https://a.example/api/"},
	    {"https://a.example?q", "https://a.example/api/?q"}, {"//a.example/x", "//a.example/api/x"},
	    {"https://app.internal/x", "https://a.example/api/x"}, {"http://app.internal/x#f", "https://a.example/api/x#f"},
	    {"http://10.1.2.3:8080/x", "https://a.example/api/x"}, {"//app.internal/x", "https://a.example/api/x"},
	    /* other hosts, other ports, other schemes, and what is no path */
	    {"https://b.example/x", NULL}, {"https://a.example:8443/x", NULL}, {"http://10.1.2.3:81/x", NULL},
	    {"//b.example/x", NULL}, {"mailto:x@a.example", NULL}, {"ftp://a.example/x", NULL}, {"https:/x", NULL},
	    {"https://user@a.example/x", NULL}, {"https://a.example.evil/x", NULL}, {"", NULL}, {"#f", NULL}, {"?q", NULL},
	    /* relative: right as it is, as long as it stays below both */
	    {"y", NULL}, {"./y?q", NULL}, {"../y", NULL}, {"y/../z", NULL},
	    {"../../y?q#f", "/api/y?q#f"}, {"../../../y", "/api/y"},
	    /* out of the prefix */
	    {"/../x", NULL}, {"/%2e%2e/x", NULL},
	};
	check_forms("/api /", "/api/a/b?q", "location", FORMS(stripped));
	check_forms("/api /", "/api/a/b?q", "content-location", FORMS(stripped));
}

static void a_refresh_gets_the_public_path(void **state)
{
	(void)state;
	static const struct form rows[] = {
	    {"1; url=/x", "1; url=/api/x"}, {"0;URL=/x?q", "0;URL=/api/x?q"}, {"1, url='/x'", "1, url='/api/x'"},
	    {"1; url=\"http://app.internal/x\"; y", "1; url=\"https://a.example/api/x\"; y"}, {"5", NULL}, {"5; url=", NULL},
	    {"5; url=https://b.example/x", NULL}, {"", NULL}, {"url", NULL},
	};
	check_forms("/api /", "/api/a/b", "refresh", FORMS(rows));
}

static void a_cookie_of_the_origins_host_is_for_the_clients(void **state)
{
	(void)state;
	static const struct form rows[] = {
	    {"a=1; Domain=app.internal", "a=1; Domain=a.example"}, {"a=1; domain = .APP.internal ;Path=/x", "a=1; domain = a.example ;Path=/api/x"},
	    {"a=1; Domain=internal", "a=1; Domain=a.example"}, {"a=1; Domain=b.internal; Domain=10.1.2.3", "a=1; Domain=b.internal; Domain=a.example"},
	    {"a=1; Domain=a.example", NULL}, {"a=1; Domain=example", NULL}, {"a=1; Domain=.example", NULL}, {"a=1; Domain=other.internal", NULL},
	    {"a=1; Domain=pp.internal", NULL}, {"a=1; Domain=", NULL}, {"Domain=app.internal", NULL}, {"__Host-a=1; Domain=app.internal", NULL},
	};
	check_forms("/api /", "/api/a/b", "set-cookie", FORMS(rows));
}

static void what_is_not_below_the_origins_prefix_stays(void **state)
{
	(void)state;
	static const struct form rows[] = {
	    {"/v1", "/api"}, {"/v1/", "/api/"}, {"/v1/x", "/api/x"}, {"/v1?q", "/api?q"}, {"/v1x", NULL}, {"/x", NULL}, {"/", NULL},
	    {"/V1/x", NULL}, {"https://a.example/x", NULL}, {"https://app.internal/x", NULL}, {"/v1/../x", NULL},
	    {"https://app.internal/v1/x", "https://a.example/api/x"}, {"../../x", NULL}, {"x", NULL},
	};
	check_forms("/api /v1", "/api/a/b", "location", FORMS(rows));
	static const struct form deeper[] = {{"/x", NULL}, {"/v1/x", "/x"}, {"/v1", "/"}, {"/v1?q", "/?q"}, {"/v1/", "/"}};
	check_forms("/ /v1", "/a", "location", FORMS(deeper));
	/* A path never becomes another host: so servers answer for a directory that the client asked for with "//". */
	static const struct form doubled[] = {
	    {"/v1//evil.example/x/?q#f", "https://a.example//evil.example/x/?q#f"}, {"/v1/\\evil.example/x", "https://a.example/\\evil.example/x"},
	    {"/v1/\t/evil.example", "https://a.example/\t/evil.example"}, {"https://app.internal/v1//x", "https://a.example//x"},
	    {"/v1/x//y", "/x//y"},
	};
	check_forms("/ /v1", "//evil.example/x", "location", FORMS(doubled));
	/* The client's URL has no "/" behind the prefix: what is relative to the origin's "/" is not to it. */
	static const struct form bare[] = {{"x", "/api/x"}, {"./x?q", "/api/x?q"}, {"?q", NULL}};
	check_forms("/api /", "/api", "location", FORMS(bare));
}

static void a_cookie_gets_the_public_path(void **state)
{
	(void)state;
	static const struct form stripped[] = {
	    {"a=b; Path=/", "a=b; Path=/api"}, {"a=b; path=/x", "a=b; path=/api/x"}, {"a=b; PATH = /x/ ; Secure", "a=b; PATH = /api/x/ ; Secure"},
	    {"a=b", NULL}, {"a=b; Secure", NULL}, {"a=b; Path", NULL}, {"a=b; Path=", NULL}, {"a=b; Path=x", NULL},
	    {"path=/x; Secure", NULL}, {"a=b;Path=/x;HttpOnly", "a=b;Path=/api/x;HttpOnly"},
	    {"a=b; Path=/x; Path=/y; Secure", "a=b; Path=/x; Path=/api/y; Secure"},
	    {"a=b; Pathname=/x", NULL}, {"a=b; Domain=/x", NULL}, {"a=b; Path=/../x", NULL}, {"a=b; ; Path=/x;", "a=b; ; Path=/api/x;"},
	    {"__Host-a=b; Secure; Path=/", NULL}, {"__Secure-a=b; Secure; Path=/", "__Secure-a=b; Secure; Path=/api"},
	};
	check_forms("/api /", "/api/x", "set-cookie", FORMS(stripped));
	static const struct form moved[] = {
	    {"a=b; Path=/v1", "a=b; Path=/api"}, {"a=b; Path=/v1/", "a=b; Path=/api/"}, {"a=b; Path=/v1/x", "a=b; Path=/api/x"},
	    {"a=b; Path=/", NULL}, {"a=b; Path=/v1x", NULL},
	};
	check_forms("/api /v1", "/api/x", "set-cookie", FORMS(moved));
	check_field("/ /v1", "/x", "set-cookie", "a=b; Path=/v1", "a=b; Path=/");
	check_field("/ /v1", "/x", "set-cookie", "a=b; Path=/", "a=b; Path=/");
}

static void links_get_the_public_path(void **state)
{
	(void)state;
	static const struct form rows[] = {
	    {"</v1/a.css>; rel=preload", "</api/a.css>; rel=preload"},
	    {"</v1/a.css>; rel=preload , </x.css>;rel=preload,<https://app.internal/v1/b.js>; rel=modulepreload",
		"</api/a.css>; rel=preload , </x.css>;rel=preload,<https://a.example/api/b.js>; rel=modulepreload"},
	    {"<b.css>; rel=preload", NULL}, {"<https://cdn.example/v1/a>; rel=preconnect", NULL},
	    {"</v1/a>; title=\"</v1/b>, \"; rel=next", "</api/a>; title=\"</v1/b>, \"; rel=next"},
	    {"/v1/a; rel=preload", NULL}, {"</v1/a", NULL}, {"</v1/a>; rel=\"x", NULL}, {"", NULL}, {",,", NULL},
	    {"<>; rel=self", NULL}, {"</v1/a?x=<y>", "</api/a?x=<y>"},
	};
	check_forms("/api /v1", "/api/page", "link", FORMS(rows));
}

static void nothing_is_mapped_where_nothing_was_rewritten(void **state)
{
	(void)state;
	check_field(NULL, "/api/x", "location", "/x", "/x");
	check_field(NULL, "/api/x", "location", "https://app.internal/x", "https://app.internal/x");
	check_field("/api /", "/other", "location", "/x", "/x");
	check_field("/api /", "/other", "set-cookie", "a=b; Path=/x", "a=b; Path=/x");
	check_field("/api /", "/apix", "link", "</x>; rel=preload", "</x>; rel=preload");
	check_field(NULL, "/api/x", "refresh", "1; url=/x", "1; url=/x");
}

/* A value of 60 KiB with thousands of attributes costs one copy, not one for each. */
static void a_long_field_costs_a_few_copies_of_it(void **state)
{
	(void)state;
	static const struct {
		const char *name, *first, *piece;
	} rows[] = {
	    {"set-cookie", "a=b", "; Path=/x"}, {"link", "</a>; rel=next", ", </x>; rel=next"}, {"location", "/a", "/x"}, {"location", "b", "/../x"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made m = made_new("/api /", "/api/page");
		struct http_head *response = http_head_new(m.heads);
		static char text[61000];
		size_t used = (size_t)snprintf(text, sizeof(text), "%s", rows[i].first);
		while (used < 60000)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", rows[i].piece);
		http_head_add(response, SLICE(":status"), SLICE("200"));
		http_head_add(response, slice_of_string(rows[i].name), slice_of_string(text));
		assert_null(http_head_validate(response, HTTP_RESPONSE));
		struct http_head *overlay = http_head_overlay(response);
		route_map_response(m.x.request, &m.x.place, overlay);
		assert_in_range(http_head_bytes(overlay), 0, 10u * 60000);
		http_head_free(overlay);
		http_head_free(response);
		made_free(&m);
	}
}

/* ---- where a redirect leads ---- */

static void check_redirect(const char *more, const char *host, const char *path, const char *wanted)
{
	char text[1024];
	snprintf(text, sizeof(text), "[listen l]\naddress = 127.0.0.1:1\n[route r]\n%s\n", more);
	struct conf *conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr);
	assert_non_null(conf);
	struct router *router = router_new(conf, CONF_MODE_GATEWAY, 5);
	const struct route_env env = {.router = router};
	const struct http_head request = {.method = SLICE("GET"),
	    .scheme = SLICE("https"), .authority = slice_of_string(host), .path = slice_of_string(path)};
	struct arena a;
	arena_init(&a, NULL, 0);
	struct slice target = route_redirect_target(&env, &(struct request_facts){.head = &request}, &a);
	if (!slice_equal(target, slice_of_string(wanted)))
		fail_msg("%s: %s%s leads to %.*s", more, host, path, SLICE_ARG(target));
	arena_fini(&a);
	router_free(router);
	conf_free(conf);
}

static void a_redirect_leads_where_its_target_says(void **state)
{
	(void)state;
	static const struct {
		const char *more, *path, *wanted;
	} rows[] = {
	    {"redirect = https://b.example/", "/x?q", "https://b.example/"},
	    {"redirect = https://b.example{path}{query}", "/x?q", "https://b.example/x?q"},
	    {"redirect = https://b.example{path}{query}", "*", "https://b.example/"},
	    {"redirect = 301 https://www.{host}{path}", "/x?q", "https://www.a.example/x"},
	    {"redirect = http://{host}:8080/", "/", "http://a.example:8080/"},
	    {"path = /old\nredirect = 302 /new{rest}", "/old/x?q", "/new/x?q"},
	    {"path = /old\nredirect = /new{rest}", "/old", "/new"}, {"path = /old\nredirect = /new{rest}", "/old?q", "/new?q"},
	    {"path = /old/\nredirect = /new{rest}", "/old/x", "/new/x"}, {"redirect = https://b.example{rest}", "/x", "https://b.example/x"},
	    {"path = /old /old/deep\nredirect = /new{rest}", "/old/deep/x", "/new/x"},
	    {"path = /old\nredirect = /{rest}", "/old/x", "/x"},
	    /* no other host */
	    {"path = /old\nredirect = /{rest}", "/old//evil.example/x", "/evil.example/x"},
	    {"path = /old\nredirect = /{rest}", "/old/\\evil.example", "/evil.example"},
	    {"redirect = /{rest}", "/\\evil.example", "/evil.example"},
	    {"redirect = /{rest}", "//\\/evil.example", "/evil.example"},
	    {"redirect = /{path}", "/\\", "/"},
	    {"path = /old\nredirect = /new{rest}", "/old/\\evil.example", "/new/\\evil.example"},
	    {"redirect = /{path}", "/evil.example", "/evil.example"},
	    {"redirect = https://b.example{rest}", "//evil.example", "https://b.example//evil.example"},
	    {"redirect = /x?to={path}", "/y", "/x?to=/y"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_redirect(rows[i].more, "a.example:8443", rows[i].path, rows[i].wanted);
}

/* ---- sides ---- */

static void clients_are_split_by_weight_and_stay(void **state)
{
	(void)state;
	static const char text[] = "[listen l]\naddress = 127.0.0.1:1\n[origin a]\nserver = h2c://127.0.0.1:2\n[origin b]\nserver = "
				   "h2c://127.0.0.1:3\n[route most]\npath = /m\norigin = a 90, b 10\n[route half]\norigin = a 50, b "
				   "50\n[route none]\npath = /n\norigin = a 0, b\n";
	struct conf *conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr);
	assert_non_null(conf);
	unsigned on_b = 0, moved = 0, back = 0;
	for (unsigned i = 0; i < 10000; i++) {
		struct address client = {.family = 4};
		char ip[32];
		snprintf(ip, sizeof(ip), "10.%u.%u.7", i / 256, i % 256);
		assert_true(address_parse(slice_of_string(ip), &client));
		const struct conf_origin *most = route_side(&conf->routes[0], &client);
		const struct conf_origin *half = route_side(&conf->routes[1], &client);
		assert_ptr_equal(most, route_side(&conf->routes[0], &client));
		assert_ptr_equal(route_side(&conf->routes[2], &client), &conf->origins[1]);
		on_b += most == &conf->origins[1];
		moved += most == &conf->origins[0] && half == &conf->origins[1];
		back += most == &conf->origins[1] && half == &conf->origins[0];
	}
	assert_in_range(on_b, 850, 1150);
	/* Another weight moves only as many clients as it must. */
	assert_in_range(moved, 3700, 4300);
	assert_int_equal(back, 0);
	conf_free(conf);
}

/* Each that climbs is resolved twice, against a path of any length. */
static void few_references_that_climb_are_resolved(void **state)
{
	(void)state;
	static char said[8192], wanted[8192];
	size_t at = 0, to = 0;
	for (unsigned i = 0; i < 2 * LIMIT_REFERENCES_RESOLVED; i++) {
		bool is_mapped = i < LIMIT_REFERENCES_RESOLVED;
		at += (size_t)snprintf(said + at, sizeof(said) - at, "<a%u>,<../../b>,", i);
		to += (size_t)snprintf(wanted + to, sizeof(wanted) - to, "<a%u>,<%s>,", i, is_mapped ? "/api/b" : "../../b");
	}
	check_field("/api /", "/api/a/c", "link", said, wanted);
}

/* ---- two routes ---- */

/* Whether a response that was fetched by one route may answer a request for the other. */
static void routes_rewrite_alike_what_they_send_as_the_same_path(void **state)
{
	(void)state;
	static const struct {
		const char *one, *other, *path; /* rewrite of each, NULL: none */
		bool is_alike;
	} rows[] = {
	    {NULL, NULL, "/a/x", true},
	    {"/a /b", NULL, "/a/x", false},
	    {NULL, "/a /b", "/a/x", false},
	    {"/a /b", NULL, "/c/x", true},
	    {NULL, "/a /b", "/c/x", true},
	    {"/a /b", "/a /b", "/a/x", true},
	    {"/a /b", "/a /c", "/a/x", false},
	    {"/a /b", "/a/x /b", "/a/x", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct made one = made_new(rows[i].one, rows[i].path), other = made_new(rows[i].other, rows[i].path);
		const struct conf_route *a = one.x.place.route, *b = other.x.place.route;
		assert_int_equal(route_rewrites_alike(a, b, slice_of_string(rows[i].path)), rows[i].is_alike);
		assert_true(route_rewrites_alike(a, a, slice_of_string(rows[i].path)));
		made_free(&one);
		made_free(&other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(routes_rewrite_alike_what_they_send_as_the_same_path),
	    cmocka_unit_test(the_prefix_is_exchanged_at_the_border_of_a_segment),
	    cmocka_unit_test(a_path_that_climbs_is_seen_in_each_spelling),
	    cmocka_unit_test(a_location_gets_the_public_path),
	    cmocka_unit_test(destination_names_the_resource_as_the_origin_knows_it),
	    cmocka_unit_test(destination_does_not_lead_out_of_what_is_rewritten),
	    cmocka_unit_test(a_refresh_gets_the_public_path),
	    cmocka_unit_test(a_cookie_of_the_origins_host_is_for_the_clients),
	    cmocka_unit_test(what_is_not_below_the_origins_prefix_stays),
	    cmocka_unit_test(a_cookie_gets_the_public_path),
	    cmocka_unit_test(links_get_the_public_path),
	    cmocka_unit_test(few_references_that_climb_are_resolved),
	    cmocka_unit_test(nothing_is_mapped_where_nothing_was_rewritten),
	    cmocka_unit_test(a_long_field_costs_a_few_copies_of_it),
	    cmocka_unit_test(a_redirect_leads_where_its_target_says),
	    cmocka_unit_test(clients_are_split_by_weight_and_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
