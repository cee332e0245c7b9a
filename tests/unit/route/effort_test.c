/* SPDX-License-Identifier: MIT */
/*
 * The longest path, host and field that a request may have, against as many access rules and routes as people write: the
 * work is bounded, and what could not be found out opens nothing.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/limits.h"
#include "proxy/route/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG = 60000, TEXT = 4 << 20 };

#define HEAD                                                                                       \
	"[listen l]\naddress = 127.0.0.1:1\naccess = a\n[origin o]\nserver = h2c://127.0.0.1:2\n"

struct text {
	char *bytes;
	size_t length;
};

static void add(struct text *t, const char *format, unsigned number)
{
	if (!t->bytes)
		t->bytes = malloc(TEXT);
	assert_non_null(t->bytes);
	int n = snprintf(t->bytes + t->length, TEXT - t->length, format, number, number);
	assert_in_range(n, 0, TEXT - t->length - 1);
	t->length += (size_t)n;
}

static struct conf *load(struct text *t)
{
	struct conf *c = conf_load_text(slice_of(t->bytes, t->length), "test.ini", false, NULL);
	assert_non_null(c);
	free(t->bytes);
	return c;
}

static struct conf *load_rules(const char *rule, unsigned count, const char *last)
{
	struct text t = {0};
	add(&t, HEAD "[route r]\norigin = o\n[access a]\n", 0);
	for (unsigned i = 0; i < count; i++)
		add(&t, rule, i);
	add(&t, last, 0);
	return load(&t);
}

static char *long_path(void)
{
	char *path = malloc(LONG + 1);
	assert_non_null(path);
	memset(path, 'a', LONG);
	path[0] = '/';
	path[LONG] = '\0';
	return path;
}

static enum access_answer answer_of(
    const struct conf *c, struct slice path, struct slice host, struct effort *e)
{
	const struct access_facts f = {
	    .method = SLICE("GET"), .path = path, .plain_path = path, .host = host, .effort = e};
	return access_judge(&c->accesses[0], &f).answer;
}

static void path_too_long_for_all_patterns_is_ambiguous(void **state)
{
	(void)state;
	static const char *const rules[] = {
	    "deny = path=*aaaaaa%ub*\n", "deny = path=/*a?a?a%u?b*\n", "deny = path=*/x*%u*b\n"};
	char *path = long_path();
	const struct slice full = slice_of(path, LONG), usual = slice_of(path, 200);
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		bool costs_nothing = i == 2; /* its end does not fit */
		struct conf *c = load_rules(rules[i], 998, "allow = all\n");
		struct effort e = effort_of(LIMIT_EFFORT_OF_REQUEST);
		assert_int_equal(answer_of(c, usual, SLICE("x"), &e), ACCESS_ALLOW);
		assert_false(e.is_used_up);
		e = effort_of(LIMIT_EFFORT_OF_REQUEST);
		assert_int_equal(
		    answer_of(c, full, SLICE("x"), &e), costs_nothing ? ACCESS_ALLOW : ACCESS_DENY);
		assert_int_equal(e.is_used_up, !costs_nothing);
		conf_free(c);
	}
	/* No allow takes it, even one that would. */
	struct conf *c = load_rules("deny = path=*aaa%ub*\n", 1, "allow = path=/*\n");
	struct effort little = effort_of(LONG), enough = effort_of(LIMIT_EFFORT_OF_REQUEST);
	assert_int_equal(answer_of(c, full, SLICE("x"), &enough), ACCESS_ALLOW);
	assert_int_equal(answer_of(c, full, SLICE("x"), &little), ACCESS_DENY);
	conf_free(c);
	c = load_rules("deny = method=PUT path=*aaa%ub*\n", 1, "allow = path=*a*a*\n");
	little = effort_of(LONG / 2);
	little.is_used_up = true;
	assert_int_equal(answer_of(c, full, SLICE("x"), &little), ACCESS_DENY);
	conf_free(c);
	free(path);
}

/* Ends of patterns cost no effort, however many there are. */
static void patterns_with_fixed_ends_take_the_longest_path(void **state)
{
	(void)state;
	char *path = long_path();
	struct conf *c = load_rules("deny = path=/part%u/*,*.%u\n", 998, "allow = path=/a*\n");
	struct effort e = effort_of(LIMIT_EFFORT_OF_REQUEST);
	assert_int_equal(answer_of(c, slice_of(path, LONG), SLICE("x"), &e), ACCESS_ALLOW);
	assert_int_equal(e.left, LIMIT_EFFORT_OF_REQUEST);
	conf_free(c);
	free(path);
}

static void path_of_a_request_is_compared_once_for_all_its_addresses(void **state)
{
	(void)state;
	char *path = long_path();
	uint8_t answers[2] = {ACCESS_PATH_UNKNOWN, ACCESS_PATH_UNKNOWN};
	struct conf *c = load_rules("deny = path=*aab%u*\n", 1, "allow = path=*aa*\n");
	struct effort e = effort_of(LIMIT_EFFORT_OF_REQUEST);
	const struct slice full = slice_of(path, LONG);
	const struct access_facts f = {.method = SLICE("GET"),
	    .path = full,
	    .plain_path = full,
	    .effort = &e,
	    .path_answers = answers};
	assert_int_equal(access_judge(&c->accesses[0], &f).answer, ACCESS_ALLOW);
	uint64_t left = e.left;
	assert_true(left < LIMIT_EFFORT_OF_REQUEST - LONG);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(access_judge(&c->accesses[0], &f).answer, ACCESS_ALLOW);
	assert_int_equal(e.left, left);
	conf_free(c);
	free(path);
}

/* Inline hosts are looked up as those of a file are: by a hash, and only with as many labels as some pattern has. */
static void hosts_of_many_rules_are_found(void **state)
{
	(void)state;
	static const struct {
		const char *host;
		enum access_answer answer;
	} rows[] = {
	    {"x.h7.example", ACCESS_DENY},
	    {"y.x.h997.example", ACCESS_DENY},
	    {"h7.example", ACCESS_ALLOW},
	    {"n3.example", ACCESS_DENY},
	    {"x.n3.example", ACCESS_ALLOW},
	    {"h998.example", ACCESS_ALLOW},
	    {"a.a.a.a.h5.example", ACCESS_DENY},
	};
	struct conf *c =
	    load_rules("deny = host=*.h%u.example,n%u.example\n", 998, "allow = all\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
		    answer_of(c, SLICE("/"), slice_of_string(rows[i].host), NULL), rows[i].answer);
	assert_int_equal(
	    http_host_set_seed(&c->accesses[0].rules[5].hosts), c->accesses[0].host_seed);
	char labels[256] = "";
	for (unsigned i = 0; i < 120; i++)
		strcat(labels, "a.");
	strcat(labels, "h3.example");
	assert_int_equal(answer_of(c, SLICE("/"), slice_of_string(labels), NULL), ACCESS_DENY);
	conf_free(c);
}

/* ---- routes ---- */

static const char *route_of(const struct router *r, struct http_head *request, struct effort *e)
{
	const struct conf_route *route = NULL;
	assert_int_equal(router_find(r, &(struct request_facts){.head = request}, &route, NULL, e), ROUTER_FOUND);
	return route->name;
}

/* A route whose patterns could not be compared is not taken, and those without patterns are. */
static void routes_by_fields_share_the_effort_of_a_request(void **state)
{
	(void)state;
	struct text t = {0};
	char *value = long_path();
	add(&t, "[listen l]\naddress = 127.0.0.1:1\n[origin o]\nserver = h2c://127.0.0.1:2\n", 0);
	for (unsigned i = 0; i < 200; i++)
		add(&t, "[route r%u]\nfield = X-T: *aaa%ua*\norigin = o\n", i);
	add(&t, "[route costly]\nfield = X-E: ~^/(a+)+(b|c)\norigin = o\n", 0);
	add(&t, "[route late]\nfield = X-T: /aab*aa*\norigin = o\n", 0);
	add(&t, "[route named]\nfield = X-N\norigin = o\n[route all]\norigin = o\n", 0);
	struct conf *c = load(&t);
	struct router *r = router_new(c, CONF_MODE_GATEWAY, 7);
	struct http_head_pool *pool = http_head_pool_new(1);
	struct http_head *request = http_head_new(pool);
	request->authority = SLICE("x");
	request->path = SLICE("/");
	request->method = SLICE("GET");
	http_head_add(request, SLICE("x-t"), SLICE("/aab/aab"));
	struct effort e = effort_of(LIMIT_EFFORT_OF_REQUEST);
	assert_string_equal(route_of(r, request, &e), "late");
	request->fields[request->count - 1].value = slice_of(value, LONG);
	e = effort_of(LIMIT_EFFORT_OF_REQUEST);
	assert_string_equal(route_of(r, request, &e), "all");
	assert_true(e.is_used_up);
	http_head_add(request, SLICE("x-n"), SLICE("1"));
	e = effort_of(LIMIT_EFFORT_OF_REQUEST);
	assert_string_equal(route_of(r, request, &e), "named");
	/* As many fields of one name as a request may have. */
	request->count--;
	request->fields[request->count - 1].value = SLICE("/");
	for (unsigned i = 0; i < 900; i++)
		http_head_add(request, SLICE("x-e"), slice_of(value, 30));
	e = effort_of(LIMIT_EFFORT_OF_REQUEST);
	assert_string_equal(route_of(r, request, &e), "all");
	assert_true(e.is_used_up);
	http_head_free(request);
	http_head_pool_free(pool);
	router_free(r);
	conf_free(c);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(path_too_long_for_all_patterns_is_ambiguous),
	    cmocka_unit_test(patterns_with_fixed_ends_take_the_longest_path),
	    cmocka_unit_test(path_of_a_request_is_compared_once_for_all_its_addresses),
	    cmocka_unit_test(hosts_of_many_rules_are_found),
	    cmocka_unit_test(routes_by_fields_share_the_effort_of_a_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
