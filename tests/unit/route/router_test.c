/* SPDX-License-Identifier: MIT */
/* Routing: hosts and paths, the most specific first. */
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
#include <sys/resource.h>

#define HEAD "[listen l]\naddress = 127.0.0.1:1\n[origin o]\nserver = h2c://127.0.0.1:2\n"

/* covers: R490 */

struct case_map {
	struct conf *conf;
	struct router *router;
};

static struct case_map map_new(const char *routes)
{
	char text[8192];
	snprintf(text, sizeof(text), HEAD "%s", routes);
	struct case_map m = {.conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr)};
	assert_non_null(m.conf);
	m.router = router_new(m.conf, CONF_MODE_GATEWAY, 7);
	return m;
}

static void map_free(struct case_map *m)
{
	router_free(m->router);
	conf_free(m->conf);
}

/* The name of the route, "421" or "404". */
static const char *where(const struct case_map *m, const char *authority, const char *path)
{
	const struct conf_route *route = NULL;
	const struct http_head request = {
	    .method = SLICE("GET"), .authority = slice_of_string(authority), .path = slice_of_string(path)};
	switch (router_find(m->router, &(struct request_facts){.head = &request}, &route, NULL, NULL)) {
	case ROUTER_FOUND:
		assert_non_null(route);
		return route->name;
	case ROUTER_NO_HOST:
		return "421";
	case ROUTER_NO_PATH:
		return "404";
	}
	return "?";
}

static void a_route_without_conditions_takes_everything(void **state)
{
	(void)state;
	struct case_map m = map_new("[route all]\norigin = o\n");
	assert_string_equal(where(&m, "example.com", "/"), "all");
	assert_string_equal(where(&m, "192.0.2.1:8443", "/x/y?z"), "all");
	assert_string_equal(where(&m, "[::1]:1", "*"), "all");
	map_free(&m);
}

static void an_exact_host_comes_before_a_wildcard_and_that_before_any(void **state)
{
	(void)state;
	struct case_map m =
	    map_new("[route any]\norigin = o\n[route wild]\nhost = *.example.com\norigin = o\n"
		    "[route longer]\nhost = *.a.example.com\norigin = o\n"
		    "[route exact]\nhost = b.a.example.com\norigin = o\n");
	assert_string_equal(where(&m, "b.a.example.com", "/"), "exact");
	assert_string_equal(where(&m, "c.a.example.com", "/"), "longer");
	assert_string_equal(where(&m, "d.c.a.example.com", "/"), "longer");
	assert_string_equal(where(&m, "a.example.com", "/"), "wild");
	assert_string_equal(where(&m, "example.com", "/"), "any");
	assert_string_equal(where(&m, "badexample.com", "/"), "any");
	map_free(&m);
}

static void case_ports_and_a_last_dot_do_not_matter(void **state)
{
	(void)state;
	struct case_map m = map_new("[route r]\nhost = Example.COM\norigin = o\n[route w]\nhost = "
			       "*.Example.org\norigin = o\n");
	assert_string_equal(where(&m, "example.com", "/"), "r");
	assert_string_equal(where(&m, "EXAMPLE.com:8443", "/"), "r");
	assert_string_equal(where(&m, "example.com.", "/"), "r");
	assert_string_equal(where(&m, "example.com.:443", "/"), "r");
	assert_string_equal(where(&m, "A.eXample.ORG.", "/"), "w");
	map_free(&m);
}

static void an_unknown_host_is_misdirected(void **state)
{
	(void)state;
	struct case_map m = map_new("[route r]\nhost = example.com\norigin = o\n");
	assert_string_equal(where(&m, "example.org", "/"), "421");
	assert_string_equal(where(&m, "www.example.com", "/"), "421");
	assert_string_equal(where(&m, "", "/"), "421");
	assert_string_equal(where(&m, ".", "/"), "421");
	assert_string_equal(where(&m, "user@example.com", "/"), "421");
	assert_string_equal(where(&m, "example.com:port", "/"), "421");
	char longest[400];
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_string_equal(where(&m, longest, "/"), "421");
	map_free(&m);
}

static void a_path_ends_at_a_border_of_segments(void **state)
{
	(void)state;
	struct case_map m = map_new(
	    "[route api]\npath = /api\norigin = o\n[route img]\npath = /img/\norigin = o\n");
	assert_string_equal(where(&m, "h", "/api"), "api");
	assert_string_equal(where(&m, "h", "/api/"), "api");
	assert_string_equal(where(&m, "h", "/api/x"), "api");
	assert_string_equal(where(&m, "h", "/api?x=/img/"), "api");
	assert_string_equal(where(&m, "h", "/apix"), "404");
	assert_string_equal(where(&m, "h", "/API"), "404");
	assert_string_equal(where(&m, "h", "/ap"), "404");
	assert_string_equal(where(&m, "h", "/img/a"), "img");
	assert_string_equal(where(&m, "h", "/img/"), "img");
	assert_string_equal(where(&m, "h", "/img"), "404");
	assert_string_equal(where(&m, "h", "/"), "404");
	map_free(&m);
}

static void the_longest_path_wins_and_between_equals_the_first(void **state)
{
	(void)state;
	struct case_map m = map_new("[route root]\norigin = o\n[route a]\npath = /a\norigin = o\n"
			       "[route ab]\npath = /a/b\norigin = o\n[route again]\nhost = *\npath "
			       "= /a\norigin = o\n");
	assert_string_equal(where(&m, "h", "/a/b/c"), "ab");
	assert_string_equal(where(&m, "h", "/a/c"), "a");
	assert_string_equal(where(&m, "h", "/b"), "root");
	map_free(&m);
}

static void a_host_without_the_path_leaves_it_to_less_specific_hosts(void **state)
{
	(void)state;
	struct case_map m = map_new("[route exact]\nhost = www.example.com\npath = /only\norigin = o\n"
			       "[route wild]\nhost = *.example.com\npath = /wild\norigin = o\n"
			       "[route any]\npath = /any\norigin = o\n");
	assert_string_equal(where(&m, "www.example.com", "/only"), "exact");
	assert_string_equal(where(&m, "www.example.com", "/wild"), "wild");
	assert_string_equal(where(&m, "www.example.com", "/any"), "any");
	assert_string_equal(where(&m, "www.example.com", "/none"), "404");
	assert_string_equal(where(&m, "other.test", "/only"), "404");
	map_free(&m);
}

static void one_route_may_have_many_hosts_and_paths(void **state)
{
	(void)state;
	struct case_map m =
	    map_new("[route r]\nhost = a.test b.test\nhost = *.c.test\npath = /x /y\norigin = o\n");
	static const char *const hosts[] = {"a.test", "b.test", "z.c.test"};
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(where(&m, hosts[i], "/x/1"), "r");
		assert_string_equal(where(&m, hosts[i], "/y"), "r");
		assert_string_equal(where(&m, hosts[i], "/z"), "404");
	}
	assert_string_equal(where(&m, "c.test", "/x"), "421");
	map_free(&m);
}

static void options_star_goes_where_the_root_goes(void **state)
{
	(void)state;
	struct case_map m = map_new("[route a]\npath = /a\norigin = o\n[route root]\norigin = o\n");
	assert_string_equal(where(&m, "h", "*"), "root");
	map_free(&m);
	m = map_new("[route a]\npath = /a\norigin = o\n");
	assert_string_equal(where(&m, "h", "*"), "404");
	map_free(&m);
}

static void addresses_are_hosts_too(void **state)
{
	(void)state;
	struct case_map m = map_new(
	    "[route four]\nhost = 192.0.2.1\norigin = o\n[route name]\nhost = *.1\norigin = o\n");
	assert_string_equal(where(&m, "192.0.2.1", "/"), "four");
	assert_string_equal(where(&m, "192.0.2.1:80", "/"), "four");
	map_free(&m);
}

/* Routes take one reading of a host, that of rules: a host that other programs may read as another one is only what it is
 * written as. */
static void a_strange_host_is_none_of_those_that_it_resembles(void **state)
{
	(void)state;
	struct case_map m = map_new("[route name]\nhost = internal.example *.wild.example\norigin = o\n"
				    "[route address]\nhost = 10.0.0.1 [2001:DB8:0::1] *.0.0.1\norigin = o\n"
				    "[route strange]\nhost = 10.2 A!B.wild.example\norigin = o\n"
				    "[route any]\norigin = o\n");
	static const struct {
		const char *host, *route;
	} rows[] = {
	    {"internal.example", "name"}, {"INTERNAL.example.", "name"}, {"internal.example.:80", "name"},
	    {"x.wild.example.", "name"}, {"internal.example..", "any"}, {".internal.example", "any"},
	    {"%69nternal.example", "any"}, {"internal%2eexample", "any"}, {".wild.example", "any"},
	    {"x..wild.example", "any"}, {"x.wild.example..", "any"}, {"%78.wild.example", "any"},
	    {"10.0.0.1", "address"}, {"10.0.0.1.", "any"}, {"10.1", "any"}, {"0xa.0.0.1", "any"},
	    {"[::ffff:10.0.0.1]", "any"}, {"[2001:db8::1]", "address"}, {"[2001:DB8:0:0::0001]:80", "address"},
	    {"[2001:db8::2]", "any"}, {"10.2", "strange"}, {"a!b.wild.example", "strange"}, {"10.2.", "any"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(where(&m, rows[i].host, "/"), rows[i].route) != 0)
			fail_msg("%s: %s", rows[i].host, where(&m, rows[i].host, "/"));
	map_free(&m);
}

static void many_hosts_are_all_found(void **state)
{
	(void)state;
	static char text[65536];
	size_t n = (size_t)snprintf(text, sizeof(text), HEAD);
	for (unsigned i = 0; i < 1000; i++)
		n += (size_t)snprintf(
		    text + n, sizeof(text) - n, "[route r%u]\nhost = h%u.test\norigin = o\n", i, i);
	struct case_map m = {.conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr)};
	assert_non_null(m.conf);
	m.router = router_new(m.conf, CONF_MODE_GATEWAY, 99);
	for (unsigned i = 0; i < 1000; i++) {
		char host[32], name[32];
		snprintf(host, sizeof(host), "h%u.test", i);
		snprintf(name, sizeof(name), "r%u", i);
		assert_string_equal(where(&m, host, "/"), name);
	}
	assert_string_equal(where(&m, "h1000.test", "/"), "421");
	map_free(&m);
}

/* The router parses an authority once while lookups name the same: whatever came before, each gets its own answer. */
static void the_authority_of_the_lookup_before_does_not_matter(void **state)
{
	(void)state;
	struct case_map m = map_new("[route a]\nhost = a.example\norigin = o\n"
				    "[route b]\nhost = b.example\npath = /b\norigin = o\n");
	char longest[300];
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	const struct {
		const char *authority, *path, *answer;
	} rows[] = {
	    {"a.example", "/", "a"}, {"a.example:80", "/", "a"}, {"A.EXAMPLE", "/x", "a"}, {"b.example", "/b", "b"},
	    {"b.example", "/", "404"}, {"a.example.", "/", "a"}, {"not a host", "/", "421"}, {longest, "/", "421"},
	    {"c.example", "/", "421"}, {"a.exampl", "/", "421"}, {"a.examples", "/", "421"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++)
			for (unsigned times = 0; times < 2; times++) {
				assert_string_equal(where(&m, rows[i].authority, rows[i].path), rows[i].answer);
				assert_string_equal(where(&m, rows[j].authority, rows[j].path), rows[j].answer);
			}
	map_free(&m);
}

/* ---- conditions ---- */

/* The route of a request for h/ with this method and fields: name, value, …, NULL. */
static const char *where_with(const struct case_map *m, const char *method, const char *path, const char *const *fields)
{
	struct http_head_pool *pool = http_head_pool_new(1);
	struct http_head *request = http_head_new(pool);
	const struct conf_route *route = NULL;
	http_head_add(request, SLICE(":method"), slice_of_string(method));
	http_head_add(request, SLICE(":scheme"), SLICE("https"));
	http_head_add(request, SLICE(":authority"), SLICE("h"));
	http_head_add(request, SLICE(":path"), slice_of_string(path));
	for (; *fields; fields += 2)
		http_head_add(request, slice_of_string(fields[0]), slice_of_string(fields[1]));
	assert_null(http_head_validate(request, HTTP_REQUEST));
	enum router_answer answer = router_find(m->router, &(struct request_facts){.head = request}, &route, NULL, NULL);
	http_head_free(request);
	http_head_pool_free(pool);
	return answer == ROUTER_FOUND ? route->name : "404";
}

#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NO_FIELDS ((const char *const[]){NULL})

static void a_route_with_conditions_comes_before_those_without(void **state)
{
	(void)state;
	struct case_map m = map_new("[route all]\norigin = o\n[route write]\nmethod = POST PUT\nmethod = DELETE\norigin = o\n"
				    "[route both]\nmethod = POST\nfield = X-Beta\norigin = o\n");
	assert_string_equal(where_with(&m, "GET", "/", NO_FIELDS), "all");
	assert_string_equal(where_with(&m, "DELETE", "/x", NO_FIELDS), "write");
	assert_string_equal(where_with(&m, "post", "/x", NO_FIELDS), "all");
	/* in the order of the file, not the one with more conditions */
	assert_string_equal(where_with(&m, "POST", "/x", FIELDS("x-beta", "1")), "write");
	map_free(&m);
}

static void certificates_are_looked_at_by_their_names(void **state)
{
	(void)state;
	struct case_map m = map_new("[route all]\norigin = o\n[route b]\ncert = cn:b dns:*.b.example\norigin = o\n"
				    "[route some]\ncert = *\norigin = o\n");
	static const struct client_certificate b = {.names = SLICE_INIT("dns:x.b.example\n")},
					       c = {.names = SLICE_INIT("cn:c\n")};
	const struct client_certificate *shown[] = {NULL, &b, &c};
	static const char *const names[] = {"all", "b", "some"};
	const struct http_head request = {.method = SLICE("GET"), .authority = SLICE("h"), .path = SLICE("/")};
	for (size_t i = 0; i < 3; i++) {
		const struct conf_route *route = NULL;
		const struct request_facts f = {
		    .head = &request, .certificate = (struct client_certificate *)(uintptr_t)shown[i]};
		assert_int_equal(router_find(m.router, &f, &route, NULL, NULL), ROUTER_FOUND);
		assert_string_equal(route->name, names[i]);
	}
	map_free(&m);
}

static void who_meets_no_condition_goes_to_shorter_paths_and_other_hosts(void **state)
{
	(void)state;
	struct case_map m = map_new("[route deep]\nhost = h\npath = /a/b\nmethod = POST\norigin = o\n"
				    "[route mid]\nhost = h\npath = /a\nfield = x-a: 1\norigin = o\n"
				    "[route any]\npath = /a/b/c\norigin = o\n");
	assert_string_equal(where_with(&m, "POST", "/a/b/c", NO_FIELDS), "deep");
	assert_string_equal(where_with(&m, "GET", "/a/b/c", FIELDS("x-a", "1")), "mid");
	assert_string_equal(where_with(&m, "GET", "/a/b/c", NO_FIELDS), "any");
	assert_string_equal(where_with(&m, "GET", "/a/b", NO_FIELDS), "404");
	map_free(&m);
}

static void fields_are_looked_at_by_name_and_value(void **state)
{
	(void)state;
	static const struct {
		const char *condition, *name, *value;
		bool is_met;
	} rows[] = {
	    {"X-A: 1", "x-a", "1", true}, {"X-A: 1", "x-a", "10", false}, {"X-A: 1", "x-b", "1", false},
	    {"x-a: 1*", "x-a", "10", true}, {"x-a: *", "x-a", "", true}, {"x-a", "x-a", "", true}, {"x-a", "x-ab", "1", false},
	    {"!x-a", "x-a", "", false}, {"!x-a", "x-b", "1", true}, {"Cookie: *beta=1*", "cookie", "a=b; beta=1; c=d", true},
	    {"User-Agent: *Mobile Safari*", "user-agent", "X Mobile Safari/1", true}, {"User-Agent: *mobile*", "user-agent", "Mobile", false},
	    {"User-Agent: ~^curl/[78]", "user-agent", "curl/8.1", true}, {"User-Agent: ~^curl/[78]", "user-agent", "xcurl/8.1", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text), "[route met]\nfield = %s\norigin = o\n[route not]\norigin = o\n", rows[i].condition);
		struct case_map m = map_new(text);
		const char *route = where_with(&m, "GET", "/", FIELDS(rows[i].name, rows[i].value));
		if (strcmp(route, rows[i].is_met ? "met" : "not") != 0)
			fail_msg("%s: %s: %s: %s", rows[i].condition, rows[i].name, rows[i].value, route);
		map_free(&m);
	}
}

static void each_field_line_must_hold_by_any_field_of_its_name(void **state)
{
	(void)state;
	struct case_map m =
	    map_new("[route both]\nfield = x-a: 1\nfield = x-b: 2\nfield = !x-c\norigin = o\n[route not]\norigin = o\n");
	assert_string_equal(where_with(&m, "GET", "/", FIELDS("x-a", "1", "x-b", "2")), "both");
	assert_string_equal(where_with(&m, "GET", "/", FIELDS("x-a", "0", "x-b", "2", "x-a", "1")), "both");
	assert_string_equal(where_with(&m, "GET", "/", FIELDS("x-a", "1")), "not");
	assert_string_equal(where_with(&m, "GET", "/", FIELDS("x-a", "1", "x-b", "2", "x-c", "3")), "not");
	map_free(&m);
}

/* ---- many of each ---- */

/* The same as a table that is searched from its longest prefix on. */
static void prefixes_of_all_shapes_are_found(void **state)
{
	(void)state;
	static const char *const prefixes[] = {"/", "/a", "/a/", "/a/b", "/a/b/c/", "/a!", "/a-b", "/ab", "/b/c/d/e", "/b", "/a/b/c/d"};
	static const char *const segments[] = {"a", "b", "c", "d", "e", "ab", "a!", "a-b", ""};
	const size_t n = sizeof(prefixes) / sizeof(prefixes[0]), kinds = sizeof(segments) / sizeof(segments[0]);
	for (unsigned set = 1; set < 1u << n; set = set * 2 + (set % 3 == 0)) {
		char routes[2048];
		size_t used = 0;
		for (size_t i = 0; i < n; i++)
			if (set >> i & 1)
				used += (size_t)snprintf(routes + used, sizeof(routes) - used, "[route r%zu]\npath = %s\norigin = o\n", i,
				    prefixes[i]);
		struct case_map m = map_new(routes);
		for (size_t k = 0; k < kinds * kinds * kinds * kinds; k++) {
			char path[64];
			snprintf(path, sizeof(path), "/%s/%s/%s/%s", segments[k % kinds], segments[k / kinds % kinds],
			    segments[k / kinds / kinds % kinds], segments[k / kinds / kinds / kinds]);
			char wanted[16] = "404";
			size_t longest = 0;
			for (size_t i = 0; i < n; i++) {
				size_t length = strlen(prefixes[i]);
				bool is_prefix = strncmp(path, prefixes[i], length) == 0 &&
						 (prefixes[i][length - 1] == '/' || path[length] == '/' || path[length] == '\0');
				if (!(set >> i & 1) || !is_prefix || length <= longest)
					continue;
				longest = length;
				snprintf(wanted, sizeof(wanted), "r%zu", i);
			}
			assert_string_equal(where(&m, "h", path), wanted);
		}
		map_free(&m);
	}
}

static void one_host_may_have_ten_thousand_paths(void **state)
{
	(void)state;
	size_t used = 0, size = 1u << 20;
	char *text = malloc(size);
	assert_non_null(text);
	used += (size_t)snprintf(text + used, size - used, HEAD "[route few]\nhost = h\norigin = o\n[route many]\nhost = h\n");
	for (unsigned i = 0; i < 10000; i++)
		used += (size_t)snprintf(text + used, size - used, "path = /p%u/x\n", i);
	snprintf(text + used, size - used, "origin = o\n");
	struct case_map m = {.conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr)};
	assert_non_null(m.conf);
	m.router = router_new(m.conf, CONF_MODE_GATEWAY, 3);
	for (unsigned i = 0; i < 10000; i++) {
		char path[32];
		snprintf(path, sizeof(path), "/p%u/x/y", i);
		assert_string_equal(where(&m, "h", path), "many");
		snprintf(path, sizeof(path), "/p%u/y", i);
		assert_string_equal(where(&m, "h", path), "few");
	}
	map_free(&m);
	free(text);
}

/* Bytes, as many as the process ever had. */
static size_t most_memory(void)
{
	struct rusage usage;
	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (size_t)usage.ru_maxrss * 1024;
}

/* Twenty lists of hosts in turn, beside one route with all hosts and many paths: twenty tables of paths, not one for
 * each host. */
static void hosts_with_the_same_routes_share_their_paths(void **state)
{
	(void)state;
	enum { HOSTS = 3000, PATHS = 3000, LISTS = 20, ROOM = 1 << 18 };
	char *text = malloc(ROOM);
	size_t at = (size_t)snprintf(text, ROOM, HEAD "[route all]\norigin = o\n");
	for (unsigned i = 0; i < HOSTS; i++)
		at += (size_t)snprintf(text + at, ROOM - at, "host = h%u.example\n", i);
	for (unsigned i = 0; i < PATHS; i++)
		at += (size_t)snprintf(text + at, ROOM - at, "path = /p%u\n", i);
	for (unsigned list = 0; list < LISTS; list++) {
		at += (size_t)snprintf(text + at, ROOM - at, "[route l%u]\norigin = o\n", list);
		for (unsigned i = list; i < HOSTS; i += LISTS)
			at += (size_t)snprintf(text + at, ROOM - at, "host = h%u.example\n", i);
	}
	struct case_map m = {.conf = conf_load_text(slice_of(text, at), "test.ini", false, stderr)};
	assert_non_null(m.conf);
	size_t before = most_memory();
	m.router = router_new(m.conf, CONF_MODE_GATEWAY, 7);
	assert_true(most_memory() - before < 64u << 20);
	assert_string_equal(where(&m, "h2999.example", "/p2999"), "all");
	assert_string_equal(where(&m, "h2999.example", "/q"), "l19");
	map_free(&m);
	free(text);
}

static void no_routes_at_all_is_fine(void **state)
{
	(void)state;
	const struct conf none = {0};
	struct router *r = router_new(&none, CONF_MODE_GATEWAY, 1);
	const struct conf_route *route;
	const struct http_head request = {.authority = SLICE("example.com"), .path = SLICE("/")};
	assert_int_equal(router_find(r, &(struct request_facts){.head = &request}, &route, NULL, NULL), ROUTER_NO_HOST);
	router_free(r);
	router_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_route_without_conditions_takes_everything),
	    cmocka_unit_test(an_exact_host_comes_before_a_wildcard_and_that_before_any),
	    cmocka_unit_test(case_ports_and_a_last_dot_do_not_matter),
	    cmocka_unit_test(an_unknown_host_is_misdirected),
	    cmocka_unit_test(a_path_ends_at_a_border_of_segments),
	    cmocka_unit_test(the_longest_path_wins_and_between_equals_the_first),
	    cmocka_unit_test(a_host_without_the_path_leaves_it_to_less_specific_hosts),
	    cmocka_unit_test(one_route_may_have_many_hosts_and_paths),
	    cmocka_unit_test(options_star_goes_where_the_root_goes),
	    cmocka_unit_test(addresses_are_hosts_too),
	    cmocka_unit_test(a_strange_host_is_none_of_those_that_it_resembles),
	    cmocka_unit_test(many_hosts_are_all_found),
	    cmocka_unit_test(the_authority_of_the_lookup_before_does_not_matter),
	    cmocka_unit_test(a_route_with_conditions_comes_before_those_without),
	    cmocka_unit_test(certificates_are_looked_at_by_their_names),
	    cmocka_unit_test(who_meets_no_condition_goes_to_shorter_paths_and_other_hosts),
	    cmocka_unit_test(fields_are_looked_at_by_name_and_value),
	    cmocka_unit_test(each_field_line_must_hold_by_any_field_of_its_name),
	    cmocka_unit_test(prefixes_of_all_shapes_are_found),
	    cmocka_unit_test(one_host_may_have_ten_thousand_paths),
	    cmocka_unit_test(hosts_with_the_same_routes_share_their_paths),
	    cmocka_unit_test(no_routes_at_all_is_fine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
