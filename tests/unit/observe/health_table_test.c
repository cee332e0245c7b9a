/* SPDX-License-Identifier: MIT */
/* the health table: entries, leases, what a dead worker leaves behind, and a health table that is full. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/base/hash.h"
#include "proxy/observe/health_table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEC USEC_PER_SEC

static void *memory;
static struct health_table *new_health_table(size_t servers)
{
	memory = calloc(1, health_table_bytes(servers, 0));
	assert_non_null(memory);
	return health_table_new(memory, servers, 0);
}

static void board_free(struct health_table *b)
{
	free(memory);
	free(b);
}

static uint64_t key_of(unsigned number)
{
	return hash_bytes(7, &number, sizeof(number));
}

static size_t used(const struct health_table *b)
{
	size_t count = 0, origin;
	for (size_t i = 0; i < b->capacity; i++)
		count += health_table_entry(b, i, &origin) != NULL;
	return count;
}

/* An address that leaves its name and comes back, while the first server of it still has requests. */
static void a_worker_counts_once_in_an_entry(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(2);
	struct server_entry *e = health_table_join(b, 0, key_of(1), 3, "192.0.2.1:80");
	assert_ptr_equal(health_table_join(b, 0, key_of(1), 3, "192.0.2.1:80"), e);
	assert_ptr_equal(health_table_join(b, 1, key_of(1), 3, "192.0.2.1:80"), e);
	server_entry_leave(e, 0);
	assert_int_equal(used(b), 1);
	server_entry_leave(e, 1);
	assert_int_equal(used(b), 0);
	board_free(b);
}

static void workers_share_an_entry(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(2);
	struct server_entry *e = health_table_join(b, 0, key_of(1), 3, "192.0.2.1:80");
	assert_non_null(e);
	assert_ptr_equal(health_table_join(b, 255, key_of(1), 3, "192.0.2.1:80"), e);
	assert_ptr_not_equal(health_table_join(b, 0, key_of(2), 3, "192.0.2.2:80"), e);
	size_t origin = 99;
	assert_ptr_equal(health_table_entry(b, (size_t)(e - b->entries), &origin), e);
	assert_int_equal(origin, 3);
	assert_string_equal(e->text, "192.0.2.1:80");
	server_entry_leave(e, 0);
	assert_int_equal(used(b), 2);
	server_entry_leave(e, 255);
	assert_int_equal(used(b), 1);
	/* An entry that is taken again knows nothing of the one before. */
	server_entry_publish(b, e, (struct server_check){SERVER_CHECK_FAILS, 500, SEC});
	struct server_entry *again = health_table_join(b, 1, key_of(1), 4, "192.0.2.1:80");
	server_entry_eject(again, 1, 100 * SEC, SERVER_FAILED_OFTEN);
	server_entry_leave(again, 1);
	again = health_table_join(b, 2, key_of(1), 4, "192.0.2.1:80");
	assert_int_equal(server_entry_check(again).state, SERVER_CHECK_UNKNOWN);
	assert_int_equal(server_entry_ejected(again, SEC), 0);
	board_free(b);
}

static void a_long_address_is_cut(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(1);
	char path[120];
	memset(path, 'p', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	struct server_entry *e = health_table_join(b, 0, key_of(1), 0, path);
	assert_int_equal(strlen(e->text), SERVER_ENTRY_TEXT - 1);
	board_free(b);
}

/* The master, which is privileged, prints what workers have written. */
static void a_text_that_is_none_is_printable(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(1);
	struct server_entry *e = health_table_join(b, 0, key_of(1), 0, "a");
	char text[SERVER_ENTRY_TEXT];
	memset(e->text, '\n', sizeof(e->text));
	server_entry_text(e, text);
	assert_int_equal(strlen(text), SERVER_ENTRY_TEXT - 1);
	assert_int_equal(strspn(text, "?"), SERVER_ENTRY_TEXT - 1);
	board_free(b);
}

static void one_worker_at_a_time_has_the_lease(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(1);
	struct server_entry *e = health_table_join(b, 0, key_of(1), 0, "a");
	assert_true(server_entry_lease(e, 0, 10 * SEC, 25 * SEC));
	assert_false(server_entry_lease(e, 1, 11 * SEC, 26 * SEC));
	assert_true(server_entry_lease(e, 0, 15 * SEC, 30 * SEC));
	/* A worker that hangs or is gone: the lease runs out. */
	assert_false(server_entry_lease(e, 1, 29 * SEC, 44 * SEC));
	assert_true(server_entry_lease(e, 1, 30 * SEC, 45 * SEC));
	assert_false(server_entry_lease(e, 0, 31 * SEC, 46 * SEC));
	server_entry_unlease(e, 0); /* not its own */
	assert_false(server_entry_lease(e, 0, 31 * SEC, 46 * SEC));
	server_entry_unlease(e, 1);
	assert_true(server_entry_lease(e, 0, 31 * SEC, 46 * SEC));
	board_free(b);
}

static void what_is_published_is_read(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(1);
	struct server_entry *e = health_table_join(b, 0, key_of(1), 0, "a");
	uint32_t version = atomic_load(b->version);
	assert_int_equal(server_entry_check(e).state, SERVER_CHECK_UNKNOWN);
	server_entry_publish(b, e, (struct server_check){SERVER_CHECK_FAILS, 503, 123456 * USEC_PER_MSEC});
	assert_int_not_equal(atomic_load(b->version), version);
	struct server_check check = server_entry_check(e);
	assert_int_equal(check.state, SERVER_CHECK_FAILS);
	assert_int_equal(check.result, 503);
	assert_int_equal(check.since, 123456 * USEC_PER_MSEC);
	char text[SERVER_CHECK_TEXT];
	assert_string_equal(server_check_text(check.result, text), "status 503");
	assert_string_equal(server_check_text(SERVER_CHECK_LATE, text), "no answer in time");
	board_free(b);
}

static void ejections_of_workers_add_up(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(1);
	struct server_entry *e = health_table_join(b, 0, key_of(1), 0, "a");
	health_table_join(b, 70, key_of(1), 0, "a");
	server_entry_eject(e, 0, 20 * SEC, SERVER_FAILED_CONNECTS);
	server_entry_eject(e, 70, 15 * SEC, SERVER_FAILED_IN_A_ROW);
	assert_int_equal(server_entry_ejected(e, 10 * SEC), 2);
	assert_int_equal(atomic_load(&e->ejected_until), 20 * SEC);
	server_entry_return(e, 70);
	assert_int_equal(server_entry_ejected(e, 16 * SEC), 1);
	/* A worker that hangs lets nobody return: its time is over nevertheless. */
	assert_int_equal(server_entry_ejected(e, 20 * SEC), 0);
	board_free(b);
}

static void a_dead_worker_leaves_nothing(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(20);
	struct server_entry *shared = NULL;
	for (unsigned i = 0; i < 20; i++) {
		struct server_entry *e = health_table_join(b, 5, key_of(i), 0, "a");
		assert_true(server_entry_lease(e, 5, SEC, 100 * SEC));
		server_entry_eject(e, 5, 100 * SEC, SERVER_FAILED_CONNECTS);
		if (i == 7)
			shared = health_table_join(b, 6, key_of(i), 0, "a");
	}
	health_table_forget(b, 5);
	assert_int_equal(used(b), 1);
	assert_int_equal(server_entry_ejected(shared, SEC), 0);
	assert_true(server_entry_lease(shared, 6, 2 * SEC, 100 * SEC));
	health_table_forget(b, 5); /* nothing of the other's */
	assert_int_equal(used(b), 1);
	server_entry_leave(shared, 6);
	assert_int_equal(used(b), 0);
	board_free(b);
}

static void a_full_health_table_refuses(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(8);
	unsigned joined = 0;
	for (unsigned i = 0; i < 100; i++)
		joined += health_table_join(b, 0, key_of(i), 0, "a") != NULL;
	assert_int_equal(joined, b->capacity);
	assert_null(health_table_join(b, 1, key_of(100), 0, "a"));
	assert_non_null(health_table_join(b, 1, key_of(3), 0, "a"));
	assert_null(health_table_join(b, 256, key_of(3), 0, "a")); /* no number of a worker */
	health_table_forget(b, 1);
	health_table_forget(b, 0);
	assert_non_null(health_table_join(b, 1, key_of(100), 0, "a"));
	board_free(b);
}

/* ---- a reload ---- */

/* All but those of origin 9. Returns the number of servers for which there is no room. */
static size_t take_all(struct health_table *to, const struct health_table *from, usec now)
{
	struct health_state state;
	size_t lost = 0, room = health_table_room(to);
	for (size_t i = 0; i < from->capacity; i++)
		if (health_table_state(from, i, now, &state)) {
			struct health_kept kept = {state.origin != 9, state.origin != 9 ? 100 * SEC : 0};
			lost += !health_table_put(to, &state, kept, now, &room);
		}
	return lost;
}

static void the_next_table_knows_what_this_one_knew(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(4);
	void *old_memory = memory;
	struct server_entry *e = health_table_join(b, 3, key_of(1), 3, "192.0.2.1:80");
	server_entry_publish(b, e, (struct server_check){SERVER_CHECK_FAILS, 500, 5 * SEC});
	server_entry_eject(e, 3, 30 * SEC, SERVER_FAILED_OFTEN);
	server_entry_note_length(e, 20 * SEC);
	health_table_join(b, 3, key_of(2), 9, "another");
	server_entry_publish(b, health_table_join(b, 3, key_of(2), 9, "another"), (struct server_check){SERVER_CHECK_FAILS, 500, 5 * SEC});

	struct health_table *next = new_health_table(8);
	assert_int_equal(take_all(next, b, 10 * SEC), 0);
	assert_int_equal(used(next), 0); /* no worker has joined */
	struct server_entry *f = health_table_join(next, 0, key_of(1), 1, "192.0.2.1:80");
	usec length;
	assert_int_equal(server_entry_check(f).state, SERVER_CHECK_FAILS);
	assert_int_equal(server_entry_check(f).since, 5 * SEC);
	assert_int_equal(server_entry_kept(f, &length), 30 * SEC);
	assert_int_equal(length, 20 * SEC);
	assert_int_equal(atomic_load(&f->verdict), SERVER_FAILED_OFTEN);
	assert_int_equal(server_entry_ejected(f, 10 * SEC), 0); /* not in its workers yet */
	assert_ptr_equal(health_table_join(next, 1, key_of(1), 1, "192.0.2.1:80"), f);
	/* The other origin's is not handed on. */
	assert_int_equal(server_entry_check(health_table_join(next, 0, key_of(2), 1, "b")).state, SERVER_CHECK_UNKNOWN);

	/* Again, when workers have joined: the later result counts. */
	server_entry_publish(b, e, (struct server_check){SERVER_CHECK_PASSES, 200, 11 * SEC});
	take_all(next, b, 12 * SEC);
	assert_int_equal(server_entry_check(f).state, SERVER_CHECK_PASSES);
	server_entry_publish(next, f, (struct server_check){SERVER_CHECK_FAILS, 503, 13 * SEC});
	take_all(next, b, 14 * SEC);
	assert_int_equal(server_entry_check(f).state, SERVER_CHECK_FAILS);

	/* Its last worker takes what was kept with it. */
	health_table_forget(next, 0);
	health_table_forget(next, 1);
	assert_int_equal(used(next), 0);
	assert_int_equal(server_entry_kept(health_table_join(next, 0, key_of(1), 1, "a"), &length), 0);
	board_free(next);
	memory = old_memory;
	board_free(b);
}

/* A process that was taken over may have written anything. */
static void what_cannot_be_is_not_taken(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(4);
	void *old_memory = memory;
	struct server_entry *e = health_table_join(b, 0, key_of(1), 0, "a");
	server_entry_publish(b, e, (struct server_check){(enum server_check_state)7, 500, 5 * SEC});
	server_entry_eject(e, 0, 1000000 * SEC, SERVER_FAILED_OFTEN);
	server_entry_note_length(e, 4000000 * SEC);
	struct server_entry *f = health_table_join(b, 0, key_of(2), 0, "b");
	server_entry_publish(b, f, (struct server_check){SERVER_CHECK_FAILS, 500, 50 * SEC}); /* later than now */
	struct health_table *next = new_health_table(4);
	take_all(next, b, 10 * SEC);
	usec length;
	struct server_entry *g = health_table_join(next, 0, key_of(1), 0, "a");
	assert_int_equal(server_entry_check(g).state, SERVER_CHECK_UNKNOWN);
	assert_int_equal(server_entry_kept(g, &length), 110 * SEC); /* the most that take_all allows */
	assert_true(length <= 100 * SEC);
	assert_int_equal(server_entry_check(health_table_join(next, 0, key_of(2), 0, "b")).state, SERVER_CHECK_UNKNOWN);
	board_free(next);
	memory = old_memory;
	board_free(b);
}

static void kept_entries_leave_room_for_workers(void **state)
{
	(void)state;
	struct health_table *b = new_health_table(100);
	void *old_memory = memory;
	for (unsigned i = 0; i < 100; i++)
		server_entry_publish(b, health_table_join(b, 0, key_of(i), 0, "a"), (struct server_check){SERVER_CHECK_FAILS, 500, SEC});
	struct health_table *next = new_health_table(20);
	size_t kept = next->capacity / 4;
	assert_int_equal(take_all(next, b, 10 * SEC), 100 - kept);
	assert_int_equal(take_all(next, b, 10 * SEC), 100 - kept);
	for (unsigned i = 200; i < 220; i++)
		assert_non_null(health_table_join(next, 0, key_of(i), 0, "a"));
	board_free(next);
	memory = old_memory;
	board_free(b);
}

/* Whatever the keys are: they come from names and addresses. */
static void all_configured_servers_find_an_entry(void **state)
{
	(void)state;
	enum { SERVERS = 10000 };
	for (unsigned keys = 0; keys < 50; keys++) {
		struct health_table *b = new_health_table(SERVERS);
		for (unsigned i = 0; i < SERVERS; i++)
			assert_non_null(health_table_join(b, 0, key_of(keys * SERVERS + i), 0, "a"));
		board_free(b);
	}
	assert_true(health_table_bytes(SERVERS, 0) < SERVERS * 512);
}

/* Processes join, lease and leave the same servers at the same time, and some are killed. */
static void processes_share_a_board(void **state)
{
	(void)state;
	enum { WORKERS = 4, SERVERS = 6 };
	size_t bytes = health_table_bytes(SERVERS, 0);
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	struct health_table *b = health_table_new(shared, SERVERS, 0);
	pid_t pids[WORKERS];
	for (uint32_t w = 0; w < WORKERS; w++) {
		pids[w] = fork();
		if (pids[w] != 0)
			continue;
		for (unsigned round = 0;; round++) {
			struct server_entry *e = health_table_join(b, w, key_of(round % SERVERS), 0, "a");
			if (!e)
				_exit(2);
			if (server_entry_lease(e, w, round, round + 5000))
				server_entry_publish(b, e, (struct server_check){SERVER_CHECK_FAILS, 500, 0});
			server_entry_eject(e, w, round, SERVER_FAILED_OFTEN);
			server_entry_leave(e, w);
			if (w > 0 && round == 20000) {
				free(b);
				_exit(0);
			}
		}
	}
	for (uint32_t w = 1; w < WORKERS; w++) {
		int status = 0;
		assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
		assert_int_equal(status, 0);
	}
	kill(pids[0], SIGKILL);
	int status = 0;
	assert_int_equal(waitpid(pids[0], &status, 0), pids[0]);
	assert_true(WIFSIGNALED(status));
	health_table_forget(b, 0);
	/* Killed between two words, it may leave one entry in use, which only takes room. */
	assert_true(used(b) <= 1);
	munmap(shared, bytes);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(workers_share_an_entry),
	    cmocka_unit_test(a_worker_counts_once_in_an_entry),
	    cmocka_unit_test(a_long_address_is_cut),
	    cmocka_unit_test(a_text_that_is_none_is_printable),
	    cmocka_unit_test(one_worker_at_a_time_has_the_lease),
	    cmocka_unit_test(what_is_published_is_read),
	    cmocka_unit_test(ejections_of_workers_add_up),
	    cmocka_unit_test(a_dead_worker_leaves_nothing),
	    cmocka_unit_test(a_full_health_table_refuses),
	    cmocka_unit_test(the_next_table_knows_what_this_one_knew),
	    cmocka_unit_test(what_cannot_be_is_not_taken),
	    cmocka_unit_test(kept_entries_leave_room_for_workers),
	    cmocka_unit_test(all_configured_servers_find_an_entry),
	    cmocka_unit_test(processes_share_a_board),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
