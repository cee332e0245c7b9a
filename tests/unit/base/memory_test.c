/* SPDX-License-Identifier: MIT */
/* Chunks, the heap, hashes, the clock, and the way a broken invariant ends. */
#include "proxy/base/chunk.h"
#include "proxy/base/clock.h"
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void released_chunk_is_used_again(void **state)
{
	(void)state;
	struct chunk_pool *pool = chunk_pool_new(100, 1);
	struct chunk *a = chunk_acquire(pool), *b = chunk_acquire(pool);
	assert_int_equal(a->capacity, 100);
	assert_ptr_not_equal(a, b);
	assert_int_equal(chunk_pool_out(pool), 2);
	chunk_release(a);
	chunk_release(b); /* above what the pool keeps */
	assert_int_equal(chunk_pool_out(pool), 0);
	assert_ptr_equal(chunk_acquire(pool), a);
	chunk_release(a);
	chunk_pool_free(pool);
}

static void held_chunk_lives_until_the_last_release(void **state)
{
	(void)state;
	struct chunk_pool *pool = chunk_pool_new(100, 4);
	struct chunk *c = chunk_acquire(pool);
	memcpy(c->data, "0123456789", 10);
	assert_false(chunk_is_shared(c));
	struct piece piece = {chunk_hold(c), 2, 3};
	assert_true(chunk_is_shared(c));
	chunk_release(c);
	assert_int_equal(chunk_pool_out(pool), 1);
	assert_true(slice_equal(piece_slice(piece), SLICE("234")));
	chunk_release(piece.chunk);
	assert_int_equal(chunk_pool_out(pool), 0);
	chunk_pool_free(pool);
}

static void heap_gives_even_nothing_an_address(void **state)
{
	(void)state;
	void *none = memory_alloc(0);
	char *zeroed = memory_zalloc(64);
	char *text = memory_strdup("text");
	assert_non_null(none);
	for (size_t i = 0; i < 64; i++)
		assert_int_equal(zeroed[i], 0);
	text = memory_resize(text, 100, 3);
	assert_string_equal(text, "text");
	free(none);
	free(zeroed);
	free(text);
}

static void hash_depends_on_seed_bytes_and_length(void **state)
{
	(void)state;
	char zeros[40] = {0};
	for (size_t len = 0; len < sizeof(zeros); len++) {
		uint64_t h = hash_bytes(1, zeros, len);
		assert_true(h == hash_bytes(1, zeros, len));
		assert_true(h != hash_bytes(2, zeros, len));
		if (len > 0)
			assert_true(h != hash_bytes(1, zeros, len - 1));
	}
}

/* Flips each bit of strings of each length; every one of them must reach all of the hash. */
static void every_bit_of_the_input_changes_about_half_of_the_hash(void **state)
{
	(void)state;
	unsigned char text[40];
	unsigned flipped = 0, trials = 0;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (unsigned char)('a' + i);
	for (size_t len = 1; len <= sizeof(text); len++) {
		uint64_t h = hash_bytes(12345, text, len);
		for (size_t bit = 0; bit < len * 8; bit++) {
			text[bit / 8] ^= (unsigned char)(1u << bit % 8);
			int changed = __builtin_popcountll(h ^ hash_bytes(12345, text, len));
			text[bit / 8] ^= (unsigned char)(1u << bit % 8);
			assert_in_range(changed, 8, 56);
			flipped += (unsigned)changed;
			trials++;
		}
	}
	assert_in_range(flipped / trials, 31, 32);
}

static void short_keys_spread_over_few_slots(void **state)
{
	(void)state;
	unsigned slots[1024] = {0}, most = 0;
	for (uint32_t i = 0; i < 65536; i++) {
		unsigned *slot = &slots[hash_bytes(99, &i, sizeof(i)) % 1024];
		if (++*slot > most)
			most = *slot;
	}
	assert_true(most < 128); /* 64 each on average */
}

static void random_seeds_differ(void **state)
{
	(void)state;
	assert_true(hash_random_seed() != hash_random_seed());
}

static void monotonic_clock_is_never_zero_and_never_goes_back(void **state)
{
	(void)state;
	usec before = clock_monotonic();
	usec after = clock_monotonic();
	assert_true(before > 0 && after >= before);
	assert_true(clock_wall() > 1600000000 * USEC_PER_SEC);
}

static void span_of_zero_is_no_limit_and_sums_do_not_wrap(void **state)
{
	(void)state;
	assert_true(clock_after(5, 0) == USEC_NEVER);
	assert_true(clock_after(5, 10) == 15);
	assert_true(clock_after(USEC_NEVER - 3, 3) == USEC_NEVER);
	assert_true(clock_after(USEC_NEVER - 3, 2) == USEC_NEVER - 1);
	assert_true(clock_after(USEC_NEVER, 1) == USEC_NEVER);
}

static size_t describe(const void *object, char *buffer, size_t size)
{
	size_t len = strlen(object);
	ensure(len <= size);
	memcpy(buffer, object, len);
	return len;
}

static size_t describe_badly(const void *object, char *buffer, size_t size)
{
	(void)buffer;
	(void)size;
	ensure(object == NULL);
	return 0;
}

/* Runs in a child of ours; what it wrote is in `out`, NUL-terminated. Returns its wait status. */
static int die(size_t (*dump)(const void *, char *, size_t), char *out, size_t size)
{
	int pipes[2], status;
	size_t at = 0;
	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const struct rlimit no_core = {0, 0};
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		dup2(pipes[1], STDERR_FILENO);
		ensure_set_dumper(dump, "what was alive\n");
		ensure(1 + 1 == 3);
		_exit(0);
	}
	close(pipes[1]);
	for (ssize_t n; (n = read(pipes[0], out + at, size - 1 - at)) > 0;)
		at += (size_t)n;
	out[at] = 0;
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void broken_invariant_says_where_dumps_and_aborts(void **state)
{
	(void)state;
	char out[4096];
	int status = die(describe, out, sizeof(out));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(out, "1 + 1 == 3"));
	assert_non_null(strstr(out, "memory_test.c:"));
	assert_non_null(strstr(out, "in die ("));
	assert_non_null(strstr(out, "what was alive\n"));
}

static void dumper_that_fails_itself_is_not_asked_twice(void **state)
{
	(void)state;
	char out[4096];
	int status = die(describe_badly, out, sizeof(out));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	assert_non_null(strstr(out, "1 + 1 == 3"));
	assert_non_null(strstr(out, "object == NULL"));
}

static void without_a_dumper_it_aborts_all_the_same(void **state)
{
	(void)state;
	char out[4096];
	int status = die(NULL, out, sizeof(out));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(released_chunk_is_used_again),
	    cmocka_unit_test(held_chunk_lives_until_the_last_release),
	    cmocka_unit_test(heap_gives_even_nothing_an_address),
	    cmocka_unit_test(hash_depends_on_seed_bytes_and_length),
	    cmocka_unit_test(every_bit_of_the_input_changes_about_half_of_the_hash),
	    cmocka_unit_test(short_keys_spread_over_few_slots),
	    cmocka_unit_test(random_seeds_differ),
	    cmocka_unit_test(monotonic_clock_is_never_zero_and_never_goes_back),
	    cmocka_unit_test(span_of_zero_is_no_limit_and_sums_do_not_wrap),
	    cmocka_unit_test(broken_invariant_says_where_dumps_and_aborts),
	    cmocka_unit_test(dumper_that_fails_itself_is_not_asked_twice),
	    cmocka_unit_test(without_a_dumper_it_aborts_all_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
