/* SPDX-License-Identifier: MIT */
/* What status says of servers: those that are not up first, and no more than fit. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/base/hash.h"
#include "proxy/admin/admin.h"
#include <stdlib.h>
#include <string.h>

struct text {
	char *bytes;
	size_t size;
};

static struct text print(const struct status *s, void (*what)(const struct status *s, FILE *out))
{
	struct text t = {0};
	FILE *out = open_memstream(&t.bytes, &t.size);
	what(s, out);
	fclose(out);
	return t;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;
	for (const char *at = text; (at = strstr(at, what)); at++)
		n++;
	return n;
}

struct scene {
	struct conf_origin origins[2];
	struct conf conf;
	void *memory;
	struct health_table *health_table;
	struct status status;
};

static struct scene *scene(size_t servers)
{
	struct scene *s = calloc(1, sizeof(*s));
	s->origins[0].name = "a";
	s->origins[1].name = "b";
	s->conf.origins = s->origins;
	s->conf.origin_count = 2;
	s->memory = calloc(1, health_table_bytes(servers, 0));
	s->health_table = health_table_new(s->memory, servers, 0);
	s->status = (struct status){.conf = &s->conf, .health_table = s->health_table};
	return s;
}

static struct server_entry *add(struct scene *s, unsigned number, uint32_t worker)
{
	char text[32];
	snprintf(text, sizeof(text), "192.0.2.%u:80", number);
	return health_table_join(s->health_table, worker, hash_bytes(7, &number, sizeof(number)), number % 2, text);
}

static void scene_free(struct scene *s)
{
	free(s->memory);
	free(s->health_table);
	free(s);
}

static void each_state_is_told(void **state)
{
	(void)state;
	struct scene *s = scene(4);
	usec now = clock_monotonic();
	add(s, 0, 0);
	struct server_entry *failing = add(s, 1, 0), *ejected = add(s, 2, 0);
	add(s, 2, 3);
	server_entry_publish(s->health_table, failing, (struct server_check){SERVER_CHECK_FAILS, SERVER_CHECK_REFUSED, now - 90 * USEC_PER_SEC});
	server_entry_eject(ejected, 0, now + 100 * USEC_PER_SEC, SERVER_FAILED_CONNECTS);
	server_entry_eject(ejected, 3, now + 50 * USEC_PER_SEC, SERVER_FAILED_OFTEN);
	struct text notes = print(&s->status, status_server_notes), families = print(&s->status, status_servers_print);
	assert_non_null(strstr(notes.bytes, "# origin b: server 192.0.2.1:80 has failed its checks for 90 s (cannot connect)\n"));
	assert_non_null(strstr(notes.bytes, "# origin a: server 192.0.2.2:80 is ejected for 100 s more by 2 workers (too many of its requests failed)\n"));
	assert_int_equal(count(notes.bytes, "\n"), 2);
	assert_non_null(strstr(families.bytes, "pushgate_server_up{origin=\"a\",server=\"192.0.2.0:80\"} 1\n"));
	assert_non_null(strstr(families.bytes, "pushgate_server_up{origin=\"b\",server=\"192.0.2.1:80\"} 0\n"));
	assert_non_null(strstr(families.bytes, "pushgate_server_up{origin=\"a\",server=\"192.0.2.2:80\"} 0\n"));
	assert_non_null(strstr(families.bytes, "pushgate_server_ejected_workers{origin=\"a\",server=\"192.0.2.2:80\"} 2\n"));
	assert_int_equal(count(families.bytes, "\npushgate_server_ejected_workers{"), 1);
	free(notes.bytes);
	free(families.bytes);
	scene_free(s);
}

static void an_origin_that_is_none_is_left_out(void **state)
{
	(void)state;
	struct scene *s = scene(4);
	atomic_store(&add(s, 0, 0)->origin, 4711);
	struct text families = print(&s->status, status_servers_print);
	assert_int_equal(count(families.bytes, "pushgate_server_up{"), 0);
	free(families.bytes);
	scene_free(s);
}

static void those_that_are_not_up_come_first(void **state)
{
	(void)state;
	struct scene *s = scene(200);
	for (unsigned i = 0; i < 200; i++) {
		struct server_entry *e = add(s, i, 0);
		if (i >= 197)
			server_entry_publish(s->health_table, e, (struct server_check){SERVER_CHECK_FAILS, 500, 0});
	}
	struct text families = print(&s->status, status_servers_print);
	assert_int_equal(count(families.bytes, "\npushgate_server_up{"), 128);
	assert_int_equal(count(families.bytes, "} 0\n"), 3);
	/* Before all others. */
	assert_true(strstr(families.bytes, "} 1\n") > strstr(families.bytes, "192.0.2.199:80\"} 0\n"));
	free(families.bytes);
	scene_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_state_is_told),
	    cmocka_unit_test(an_origin_that_is_none_is_left_out),
	    cmocka_unit_test(those_that_are_not_up_come_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
