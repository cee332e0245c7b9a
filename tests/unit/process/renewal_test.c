/* SPDX-License-Identifier: MIT */
/* Which changes of files the workers that run can take, and the memory file of lists that they are given. */
#include "proxy/base/sealed.h"
#include "proxy/process/lists.h"
#include "proxy/process/master.h"
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/pushgate-renewal.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st, (void)kind, (void)walk;
	return remove(path);
}

static int remove_folder(void **state)
{
	(void)state;
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *path_of(const char *name)
{
	static char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void put(const char *name, const char *text)
{
	FILE *out = fopen(path_of(name), "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static const char text[] =
    "[server]\ndiary-cookie = d\ndiary-cookie-key = key\n"
    "[listen l]\naddress = 127.0.0.1:0\naccess = a\n[listen f]\naddress = 127.0.0.1:1\nmode = "
    "forward\n"
    "[access a]\ndeny = host-file=denied client=192.0.2.0/24\ndeny = client=198.51.100.1 "
    "host=fixed.example\n"
    "allow = all\n"
    "[routes]\nrewrite = /new /\n"
    "[origin o]\nserver = http://127.0.0.1:2\n[origin p]\nserver = forward:\n"
    "upstream-proxy = http://bob@127.0.0.1:3 password-file=password\n"
    "[route listed]\nhost-file = hosts\npath-file = paths\norigin = o\n"
    "[route fixed]\nhost = fixed.example\nanswer = 200 answer.txt\n"
    "[route p]\norigin = p\n"
    "[errors]\n404 = lost.html\n";

/* The first contents of all files. */
static void put_first(void)
{
	put("main.ini", text);
	put("key", "0123456789abcdef");
	put("denied", "a.evil\n*.b.evil\n");
	put("hosts", "a.example\n");
	put("paths", "/new\n/old\n");
	put("password", "first\n");
	put("answer.txt", "first answer");
	put("lost.html", "first page");
}

static struct conf *load(void)
{
	struct conf *c =
	    conf_load(path_of("main.ini"), true, &(struct conf_findings){.text = stderr});
	assert_non_null(c);
	return c;
}

/* ---- what has changed ---- */

static void lists_bodies_and_passwords_are_taken_and_what_more_depends_on_is_not(void **state)
{
	(void)state;
	static const struct {
		const char *file, *content;
		unsigned change;
	} rows[] = {
	    {"main.ini", text, 0},
	    {"denied", "x.evil\n", RENEWAL_OF_LISTS},
	    {"hosts", "*\n", RENEWAL_OF_LISTS},
	    {"paths", "/new\n/newer\n", RENEWAL_OF_LISTS},
	    {"password", "second\n", RENEWAL_OF_LISTS},
	    {"answer.txt", "second", RENEWAL_OF_LISTS},
	    {"lost.html", "second", RENEWAL_OF_LISTS},
	    /* The route takes the default `rewrite` no more. */
	    {"paths", "/old\n", RENEWAL_OF_MORE},
	    {"key", "fedcba9876543210", RENEWAL_OF_MORE},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_first();
		struct conf *now = load();
		put(rows[i].file, rows[i].content);
		struct conf *next = load();
		unsigned change = renewal_compare(now, next);
		assert_int_equal(change, rows[i].change);
		assert_int_equal(renewal_is_in_place(change), change == RENEWAL_OF_LISTS);
		conf_free(now);
		conf_free(next);
	}
	put_first();
	struct conf *now = load();
	FILE *out = fopen(path_of("main.ini"), "a");
	fputs("# more\n", out);
	fclose(out);
	struct conf *next = load();
	assert_int_equal(renewal_compare(now, next), RENEWAL_OF_CONFIGURATION);
	assert_false(renewal_is_in_place(RENEWAL_OF_CONFIGURATION));
	assert_true(renewal_is_in_place(RENEWAL_OF_CERTIFICATES | RENEWAL_OF_LISTS));
	assert_false(renewal_is_in_place(RENEWAL_OF_CERTIFICATES | RENEWAL_OF_MORE));
	conf_free(now);
	conf_free(next);
}

/* ---- the memory file ---- */

static bool denies(const struct conf *c, const char *host)
{
	const struct conf_access *a = &c->accesses[0];
	struct http_host_keys keys;
	http_host_keys_init(&keys, slice_of_string(host), a->host_seed);
	return http_host_set_has(&a->rules[0].hosts, &keys);
}

static bool is_fixed(const struct conf *c)
{
	const struct conf_access *a = &c->accesses[0];
	struct http_host_keys keys;
	http_host_keys_init(&keys, SLICE("fixed.example"), a->host_seed);
	return http_host_set_has(&a->rules[1].hosts, &keys) &&
	       http_host_set_is_empty(&a->rules[2].hosts);
}

/* The name of the route; "": none. */
static const char *route_of(const struct router *r, const char *host, const char *path)
{
	const struct conf_route *route;
	const struct http_head request = {.method = SLICE("GET"),
	    .authority = slice_of_string(host),
	    .path = slice_of_string(path)};
	return router_find(r, &(struct request_facts){.head = &request}, &route, NULL, NULL) == ROUTER_FOUND ? route->name : "";
}

static int seal_second(void)
{
	put("denied", "c.evil\n");
	put("hosts", "*.example\nc.test\n");
	put("paths", "/new\n/newest\n");
	put("password", "second\n");
	put("answer.txt", "a second answer");
	put("lost.html", "a second page");
	struct conf *next = load();
	struct router_tables tables = router_tables_make(next, 2);
	int fd = lists_seal(next, &tables);
	assert_true(fd >= 0);
	router_tables_free(&tables);
	conf_free(next);
	return fd;
}

/* "Basic " and "bob:first", "bob:second" */
#define FIRST "Basic Ym9iOmZpcnN0"
#define SECOND "Basic Ym9iOnNlY29uZA=="

static void lists_of_another_load_take_the_places_of_those_in_use(void **state)
{
	(void)state;
	put_first();
	struct conf *c = load();
	struct router_tables own = router_tables_make(c, 1), tables = own;
	struct router *r = router_of_table(c, tables.gateway);
	struct router *forward = router_of_table(c, tables.forward);
	const struct slice *password = &c->origins[1].chain.proxies[0].authorization;
	assert_true(denies(c, "x.b.evil") && !denies(c, "c.evil") && is_fixed(c));
	assert_string_equal(route_of(r, "a.example", "/old"), "listed");
	assert_string_equal(route_of(r, "c.test", "/newest"), "");
	assert_true(slice_equal(*password, SLICE(FIRST)));

	struct lists lists;
	int fd = seal_second();
	assert_true(lists_map(&lists, fd, c));
	close(fd);
	lists_use(&lists, c, &tables);
	router_use(r, tables.gateway);
	router_use(forward, tables.forward);
	router_tables_free(&own);
	assert_int_equal(
	    c->accesses[0].host_seed, http_host_set_seed(&c->accesses[0].rules[0].hosts));
	assert_true(denies(c, "c.evil") && !denies(c, "x.b.evil") && is_fixed(c));
	assert_string_equal(route_of(r, "a.example", "/old"), "");
	assert_string_equal(route_of(r, "c.test", "/newest/x"), "listed");
	assert_string_equal(route_of(r, "b.example", "/new"), "listed");
	assert_string_equal(route_of(r, "fixed.example", "/"), "fixed");
	assert_string_equal(route_of(forward, "any.test", "/"), "p");
	assert_true(router_has_host(r, SLICE("x.example")) && !router_has_host(r, SLICE("test")));
	assert_true(slice_equal(*password, SLICE(SECOND)));
	assert_true(slice_equal(c->error_bodies[0].body, SLICE("a second page")));
	assert_true(slice_equal(c->routes[1].answer.body, SLICE("a second answer")));
	router_free(r);
	router_free(forward);
	lists_unmap(&lists);
	conf_free(c);
}

static void a_file_that_is_none_of_lists_is_refused(void **state)
{
	(void)state;
	put_first();
	struct conf *c = load();
	struct router_tables tables = router_tables_make(c, 1);
	struct lists lists;
	int fd = lists_seal(c, &tables);
	assert_false(lists_map(&lists, -1, c));
	/* Not sealed; too short; for another number of lists; with an extent that leads out of it. */
	enum { LISTS = 2 + 3 + 1 + 3 + 1 };
	static const uint64_t extents[64] = {[0] = 16 * LISTS, [3] = 513};
	static const uint64_t fewer[64] = {[0] = 16 * LISTS - 16};
	int open = sealed_begin(), empty = sealed_make(SLICE("lists"));
	int out = sealed_make(slice_of(extents, sizeof(extents)));
	int other = sealed_make(slice_of(fewer, sizeof(fewer)));
	assert_true(write(open, extents, sizeof(extents)) == sizeof(extents));
	assert_false(lists_map(&lists, open, c));
	assert_false(lists_map(&lists, empty, c));
	assert_false(lists_map(&lists, out, c));
	assert_false(lists_map(&lists, other, c));
	assert_null(lists.bytes);
	assert_true(lists_map(&lists, fd, c));
	lists_unmap(&lists);
	lists_unmap(&lists);
	close(open);
	close(empty);
	close(out);
	close(other);
	close(fd);
	router_tables_free(&tables);
	router_tables_free(&tables);
	conf_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lists_bodies_and_passwords_are_taken_and_what_more_depends_on_is_not),
	    cmocka_unit_test(lists_of_another_load_take_the_places_of_those_in_use),
	    cmocka_unit_test(a_file_that_is_none_of_lists_is_refused),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
