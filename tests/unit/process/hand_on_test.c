/* SPDX-License-Identifier: MIT */
/* What one outfit's tables and servers have in common with another's, by name. */
#include "proxy/process/hand_on.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW (1000 * USEC_PER_SEC)

static struct outfit outfit_of(const char *routes, uint32_t workers)
{
	char text[2048];
	struct outfit o = {.workers = workers};
	snprintf(text, sizeof(text), "[listen l]\naddress = 127.0.0.1:0\n%s", routes);
	o.conf = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(o.conf);
	return o;
}

static void close_both(struct outfit *a, struct outfit *b)
{
	outfit_close(b);
	outfit_close(a);
}

#define ORIGIN "[origin a]\nserver = demo:\n"

/* Whether the line of the next outfit has the memory that the other line had. */
static bool is_same(const struct outfit *next, size_t line, const struct outfit *old, size_t before, uint32_t worker)
{
	return limit_memories_of(&next->limits, worker)[line] == limit_memories_of(&old->limits, worker)[before];
}

static void lines_are_known_by_route_and_terms(void **state)
{
	(void)state;
	struct outfit old = outfit_of(ORIGIN "[route one]\npath = /one\norigin = a\nlimit-requests = 10/s burst 20\nlimit-requests = 10/s burst 20\n"
					     "[route two]\norigin = a\nlimit-requests = 5/m concurrent=3\nlimit-requests = 100/h by=field:x-key\n", 2);
	assert_true(limit_memories_open(&old.limits, old.conf, 2));
	struct outfit next = outfit_of(ORIGIN "[route zero]\npath = /zero\norigin = a\nlimit-requests = 10/s burst 20\n"
					      "[route two]\norigin = a\nlimit-requests = 100/h by=field:x-key shadow\nlimit-requests = 5/m concurrent=4\n"
					      "[route one]\npath = /one\norigin = a\nlimit-requests = 10/s burst 20\nlimit-requests = 10/s burst 30\n", 3);
	assert_true(hand_on_limits(&next, &old));
	for (uint32_t w = 0; w < 2; w++) {
		assert_false(is_same(&next, 0, &old, 0, w)); /* another route's */
		assert_true(is_same(&next, 1, &old, 3, w));
		assert_true(is_same(&next, 2, &old, 2, w));
		assert_true(is_same(&next, 3, &old, 0, w));
		assert_false(is_same(&next, 4, &old, 1, w)); /* another burst */
	}
	assert_non_null(limit_memories_of(&next.limits, 2)[1]);
	/* The older one goes first, as generations do. */
	memset(limit_memories_of(&next.limits, 0)[1], 1, 64);
	outfit_close(&old);
	memset(limit_memories_of(&next.limits, 0)[1], 2, 64);
	outfit_close(&next);
}

static void tables_of_another_size_begin_anew(void **state)
{
	(void)state;
	struct outfit old = outfit_of(ORIGIN "[route r]\norigin = a\nlimit-requests = 10/s\nmax-tunnels-per-client = 3\nupgrade = websocket\n", 1);
	assert_true(limit_memories_open(&old.limits, old.conf, 1));
	struct outfit same = outfit_of(ORIGIN "[route s]\norigin = a\nmax-tunnels-per-client = 5\nupgrade = websocket\n", 1);
	assert_true(hand_on_limits(&same, &old));
	assert_true(is_same(&same, 0 + ADMISSION_TUNNELS, &old, 1 + ADMISSION_TUNNELS, 0));
	assert_true(is_same(&same, 0 + ADMISSION_FAILURES, &old, 1 + ADMISSION_FAILURES, 0));
	outfit_close(&same);
	struct outfit larger = outfit_of("[server]\nlimit-table = 100000\n" ORIGIN "[route r]\norigin = a\nlimit-requests = 10/s\n", 1);
	assert_true(hand_on_limits(&larger, &old));
	assert_false(is_same(&larger, 0, &old, 0, 0));
	close_both(&old, &larger);
}

/* Files have changed, and the configuration was loaded once more: nothing of the first load is used any more. */
static void an_outfit_goes_on_with_another_load_of_the_same_text(void **state)
{
	(void)state;
#define LIMITED "[server]\nuser = nobody\n" ORIGIN "[route r]\nhost = a.example\norigin = a\nlimit-requests = 10/s by=field:x-key\n"
	struct outfit old = outfit_of(LIMITED, 1), again = outfit_of(LIMITED, 1), next = outfit_of(LIMITED, 1);
	struct conf *second = again.conf;
	assert_true(limit_memories_open(&old.limits, old.conf, 1));
	old.identity.name = old.conf->server.user;
	old.tables = router_tables_make(old.conf, 1);
	const struct router_tables tables = router_tables_make(second, 2);
	outfit_exchange(&old, second, &tables);
	assert_ptr_equal(old.conf, second);
	assert_ptr_equal(old.share.conf, second);
	assert_string_equal(old.identity.name, "nobody");
	assert_ptr_equal(old.tables.gateway.ptr, tables.gateway.ptr);
	assert_true(hand_on_limits(&next, &old));
	assert_true(is_same(&next, 0, &old, 0, 0));
	close_both(&old, &next);
}

/* ---- the health of servers ---- */

#define SERVERS "server = http://192.0.2.1:80\nserver = http://192.0.2.2:80\n"

static void share_table(struct outfit *o)
{
	o->health_table_bytes = health_table_bytes(8, 0);
	char error[128];
	o->health_table_memory = outfit_map_shared(o->health_table_bytes, "", error, sizeof(error));
	o->health_table = health_table_new(o->health_table_memory, 8, 0);
}

/* What a worker of the next outfit knows of a server that was failing and ejected. */
static struct health_kept kept_with(const char *before, const char *after)
{
	char text[1024];
	snprintf(text, sizeof(text), "%s[route r]\norigin = f\n", before);
	struct outfit old = outfit_of(text, 1);
	snprintf(text, sizeof(text), "%s%s[route r]\norigin = f\n", "[origin first]\nserver = demo:\n", after);
	struct outfit next = outfit_of(text, 1);
	share_table(&old);
	share_table(&next);
	uint64_t key = UINT64_C(0x123456789a0000);
	struct server_entry *e = health_table_join(old.health_table, 0, key, 0, "192.0.2.1:80");
	server_entry_publish(old.health_table, e, (struct server_check){SERVER_CHECK_FAILS, 500, NOW});
	server_entry_eject(e, 0, NOW + 10000 * USEC_PER_SEC, SERVER_FAILED_OFTEN);
	assert_int_equal(hand_on_health(&next, &old, NOW), 0);
	e = health_table_join(next.health_table, 0, key, 1, "192.0.2.1:80");
	usec length, until = server_entry_kept(e, &length);
	struct health_kept kept = {server_entry_check(e).state == SERVER_CHECK_FAILS, until > 0 ? until - NOW : 0};
	close_both(&old, &next);
	return kept;
}

static void health_is_known_by_the_name_of_the_origin(void **state)
{
	(void)state;
	struct health_kept k = kept_with("[origin f]\n" SERVERS "health-check = /h\n", "[origin f]\n" SERVERS "health-check = /h\nhealth-interval = 1h\neject-time-max = 20s\n");
	assert_true(k.check);
	assert_int_equal(k.ejection_most, 20 * USEC_PER_SEC);
}

static void other_checks_begin_anew(void **state)
{
	(void)state;
	static const char *const others[] = {"health-check = /else\n", "health-check = connect\n", "health-check = /h\nhealth-status = 204\n",
	    "health-check = /h\nhealth-host = other.example\n", ""};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char after[256];
		snprintf(after, sizeof(after), "[origin f]\n" SERVERS "%s", others[i]);
		struct health_kept k = kept_with("[origin f]\n" SERVERS "health-check = /h\n", after);
		assert_false(k.check);
		assert_true(k.ejection_most > 0);
	}
}

static void servers_that_are_spoken_to_in_another_way_begin_anew(void **state)
{
	(void)state;
	struct health_kept k = kept_with("[origin f]\n" SERVERS "health-check = /h\n", "[origin f]\nserver = h2c://192.0.2.1:80\nserver = h2c://192.0.2.2:80\nhealth-check = /h\n");
	assert_false(k.check);
	assert_int_equal(k.ejection_most, 0);
}

static void what_is_never_ejected_is_not_kept_so(void **state)
{
	(void)state;
	struct health_kept k = kept_with("[origin f]\n" SERVERS "health-check = /h\n", "[origin f]\n" SERVERS "health-check = /h\neject-failures = 0\neject-percent = 0\n");
	assert_true(k.check);
	assert_int_equal(k.ejection_most, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(lines_are_known_by_route_and_terms),
	    cmocka_unit_test(tables_of_another_size_begin_anew),
	    cmocka_unit_test(an_outfit_goes_on_with_another_load_of_the_same_text),
	    cmocka_unit_test(health_is_known_by_the_name_of_the_origin),
	    cmocka_unit_test(other_checks_begin_anew),
	    cmocka_unit_test(servers_that_are_spoken_to_in_another_way_begin_anew),
	    cmocka_unit_test(what_is_never_ejected_is_not_kept_so),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
