/* SPDX-License-Identifier: MIT */
/* The system refuses memory: once, while there is a reserve, and when that is used up. */
#include "proxy/base/chunk.h"
#include "proxy/base/memory.h"
#include "proxy/base/reserve.h"
#include "tests/support/heap.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned refusals;

static void count(void *context)
{
	assert_ptr_equal(context, &refusals);
	refusals++;
}

static int set_up(void **state)
{
	(void)state;
	refusals = 0;
	reserve_open(count, &refusals);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	test_heap_refuse(0, 0);
	reserve_close();
	return 0;
}

static void *resize(void)
{
	char *bytes = memcpy(memory_alloc(5), "text", 5);
	test_heap_refuse(1, 1);
	bytes = memory_resize(bytes, 4000, 2);
	assert_string_equal(bytes, "text");
	return bytes;
}

static void *zeroed(void)
{
	test_heap_refuse(1, 1);
	char *bytes = memory_zalloc(5000);
	for (size_t i = 0; i < 5000; i++)
		assert_int_equal(bytes[i], 0);
	return bytes;
}

static void *zeroed_small(void)
{
	test_heap_refuse(1, 1);
	return memory_new(int);
}

static void *plain(void)
{
	test_heap_refuse(1, 1);
	return memory_alloc(0);
}

static void refused_allocation_uses_the_reserve_and_tells_the_owner(void **state)
{
	(void)state; /* covers: R233 */
	static void *(*const all[])(void) = {plain, zeroed, zeroed_small, resize};
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_true(reserve_refill());
		void *bytes = all[i]();
		assert_non_null(bytes);
		assert_int_equal(refusals, i + 1);
		free(bytes);
	}
}

static void refused_chunk_is_told_and_leaves_the_reserve(void **state)
{
	(void)state;
	struct chunk_pool *pool = chunk_pool_new(100, 1);
	test_heap_refuse(1, 3);
	for (unsigned i = 1; i <= 3; i++) {
		assert_null(chunk_acquire(pool));
		assert_int_equal(refusals, i);
	}
	assert_int_equal(chunk_pool_refused(pool), 3);
	chunk_release(chunk_acquire(pool));
	chunk_pool_free(pool);
	assert_true(reserve_give_way());
	assert_false(reserve_give_way());
}

static void process_without_reserve_says_that_memory_is_out_and_ends(void **state)
{
	(void)state;
	int said[2], status;
	char text[300] = "";
	assert_int_equal(pipe(said), 0);
	pid_t pid = fork();
	if (pid == 0) {
		dup2(said[1], STDERR_FILENO);
		test_heap_refuse(1, 2);
		free(memory_alloc(10)); /* refused twice: before the reserve is given up, and after */
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
	assert_true(read(said[0], text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "pushgate: out of memory: "));
	assert_null(strstr(text, "broken invariant"));
	close(said[0]);
	close(said[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		refused_allocation_uses_the_reserve_and_tells_the_owner, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		refused_chunk_is_told_and_leaves_the_reserve, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		process_without_reserve_says_that_memory_is_out_and_ends, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
