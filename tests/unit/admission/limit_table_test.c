/* SPDX-License-Identifier: MIT */
/* The table of limit-requests: rates and open requests by key, and what it forgets when it is full. */
#include "proxy/admission/limit_table.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define NOW (1000 * USEC_PER_SEC)
#define SEC_NSEC UINT64_C(1000000000)
#define KEY(i) ((uint64_t)(i) << 32)

static const struct limit_terms ten_a_second = {SEC_NSEC / 10, 5, 0};

/* Asks, and counts what passes. */
static bool passes(struct limit_table *t, uint64_t key, usec now)
{
	usec wait;
	bool was_full;
	if (limit_table_ask(t, key, now, &wait) != LIMIT_PASSES)
		return false;
	limit_table_take(t, key, now, &was_full);
	return true;
}

static void a_key_has_its_burst_and_then_its_rate(void **state)
{
	(void)state;
	struct limit_table *t = limit_table_new(&ten_a_second, 100);
	usec wait;
	for (unsigned i = 0; i < 5; i++)
		assert_true(passes(t, 7, NOW));
	assert_int_equal(limit_table_ask(t, 7, NOW, &wait), LIMIT_RATE);
	assert_int_equal(wait, USEC_PER_SEC / 10);
	assert_int_equal(limit_table_ask(t, 7, NOW + 60000, &wait), LIMIT_RATE);
	assert_int_equal(wait, 40000);
	assert_true(passes(t, 8, NOW)); /* another key */
	assert_true(passes(t, 7, NOW + 100000));
	assert_false(passes(t, 7, NOW + 100000));
	for (unsigned i = 0; i < 5; i++) /* the bucket is full again, and not fuller */
		assert_true(passes(t, 7, NOW + 100 * USEC_PER_SEC));
	assert_false(passes(t, 7, NOW + 100 * USEC_PER_SEC));
	assert_false(passes(t, 7, NOW)); /* a clock that goes backwards gives nothing */
	limit_table_free(t);
}

static void long_and_short_intervals_are_exact(void **state)
{
	(void)state;
	const struct limit_terms slow = {3600 * SEC_NSEC, 1000000, 0}, fast = {1000, 1, 0};
	struct limit_table *t = limit_table_new(&slow, 1), *u = limit_table_new(&fast, 1);
	bool was_full;
	usec wait;
	for (unsigned i = 0; i < 1000000; i++)
		limit_table_take(t, KEY(1), NOW, &was_full);
	assert_int_equal(limit_table_ask(t, KEY(1), NOW, &wait), LIMIT_RATE);
	assert_int_equal(wait, 3600 * USEC_PER_SEC);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(passes(u, KEY(2), NOW + i));
	limit_table_free(t);
	limit_table_free(u);
}

static void open_requests_are_counted_until_they_are_given_back(void **state)
{
	(void)state;
	const struct limit_terms two = {0, 0, 2};
	struct limit_table *t = limit_table_new(&two, 100), *rated = limit_table_new(&ten_a_second, 100);
	struct limit_entry *e[2];
	bool was_full = false;
	usec wait;
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(limit_table_ask(t, 7, NOW, &wait), LIMIT_PASSES);
		e[i] = limit_table_take(t, 7, NOW, &was_full);
		assert_non_null(e[i]);
	}
	assert_int_equal(limit_table_ask(t, 7, NOW, &wait), LIMIT_CONCURRENT);
	assert_int_equal(limit_table_ask(t, 8, NOW, &wait), LIMIT_PASSES);
	limit_entry_give(t, e[0]);
	assert_int_equal(limit_table_ask(t, 7, NOW, &wait), LIMIT_PASSES);
	limit_entry_give(t, e[1]);
	assert_int_equal(limit_table_open(t, 7), 0);
	assert_false(was_full);
	assert_null(limit_table_take(rated, 9, NOW, &was_full)); /* counts no open ones */
	limit_table_free(t);
	limit_table_free(rated);
}

/* ---- shared memory ---- */

static void workers_of_two_generations_count_together(void **state)
{
	(void)state;
	const struct limit_terms terms = {SEC_NSEC / 10, 5, 3};
	size_t bytes = limit_table_bytes(true, 100);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	struct limit_table *old = limit_table_in((struct limit_memory){memory, 0}, &terms, 100);
	struct limit_table *next = limit_table_in((struct limit_memory){memory, 8}, &terms, 100);
	struct limit_entry *e[3];
	bool was_full = false;
	usec wait;
	for (unsigned i = 0; i < 2; i++)
		e[i] = limit_table_take(old, 7, NOW, &was_full);
	e[2] = limit_table_take(next, 7, NOW, &was_full);
	assert_int_equal(limit_table_open(next, 7), 3);
	assert_int_equal(limit_table_ask(next, 7, NOW, &wait), LIMIT_CONCURRENT);
	limit_entry_give(old, e[0]);
	assert_int_equal(limit_table_ask(next, 7, NOW, &wait), LIMIT_PASSES);
	limit_table_take(next, 7, NOW, &was_full);
	/* The older worker is killed. */
	limit_table_clear_lane(memory, true, 100, 0);
	assert_int_equal(limit_table_open(next, 7), 2);
	limit_entry_give(old, e[1]); /* none is there: nothing happens */
	assert_int_equal(limit_table_open(next, 7), 2);
	limit_entry_give(next, e[2]);
	assert_int_equal(limit_table_ask(next, 7, NOW, &wait), LIMIT_PASSES);
	limit_table_take(next, 7, NOW, &was_full);
	limit_entry_give(next, e[2]);
	assert_int_equal(limit_table_ask(next, 7, NOW, &wait), LIMIT_RATE); /* five have passed */
	/* A bucket that cannot be is at most empty. */
	e[2]->bucket.full_at_nsec = UINT64_MAX;
	assert_int_equal(limit_table_ask(next, 7, NOW, &wait), LIMIT_RATE);
	assert_int_equal(wait, USEC_PER_SEC / 10);
	assert_int_equal(limit_table_ask(next, 7, NOW + wait, &wait), LIMIT_PASSES);
	limit_table_free(old);
	limit_table_free(next);
	munmap(memory, bytes);
}

/* Pages of this memory that the system has given. */
static size_t pages_of(void *memory, size_t bytes)
{
	size_t pages = bytes / 4096, count = 0;
	unsigned char *there = malloc(pages);
	assert_int_equal(mincore(memory, bytes, there), 0);
	for (size_t i = 0; i < pages; i++)
		count += there[i] & 1;
	free(there);
	return count;
}

static void only_lanes_in_use_take_memory(void **state)
{
	(void)state;
	enum { TABLE_KEYS = 65536, LANE_PAGES = TABLE_KEYS * 4 / 4096, SET_PAGES = TABLE_KEYS * 16 / 4096 };
	const struct limit_terms terms = {0, 0, 3};
	size_t bytes = limit_table_bytes(true, TABLE_KEYS);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	struct limit_table *t = limit_table_in((struct limit_memory){memory, 0}, &terms, TABLE_KEYS);
	struct limit_table *next = limit_table_in((struct limit_memory){memory, 4}, &terms, TABLE_KEYS);
	for (uint64_t i = 0; i < TABLE_KEYS; i++)
		passes(t, i | KEY(i + 1), NOW);
	assert_in_range(pages_of(memory, bytes), SET_PAGES, SET_PAGES + LANE_PAGES + 1);
	for (uint64_t i = 0; i < TABLE_KEYS; i++)
		passes(next, i | KEY(i + 1), NOW);
	assert_in_range(pages_of(memory, bytes), SET_PAGES, SET_PAGES + 2 * LANE_PAGES + 1);
	assert_int_equal(limit_table_open(next, 7 | KEY(8)), 2);
	limit_table_clear_lane(memory, true, TABLE_KEYS, 0);
	assert_in_range(pages_of(memory, bytes), SET_PAGES, SET_PAGES + LANE_PAGES + 1);
	assert_int_equal(limit_table_open(next, 7 | KEY(8)), 1);
	limit_table_free(t);
	limit_table_free(next);
	munmap(memory, bytes);
}

/* ---- a full table ---- */

static void the_key_that_has_most_of_its_burst_left_is_forgotten(void **state)
{
	(void)state;
	struct limit_table *t = limit_table_new(&ten_a_second, LIMIT_TABLE_WAYS);
	bool was_full = false;
	usec wait;
	for (unsigned k = 1; k <= LIMIT_TABLE_WAYS; k++) /* the key 3 has 1 request, the others have 5 */
		for (unsigned i = 0; i < (k == 3 ? 1 : 5); i++)
			limit_table_take(t, KEY(k), NOW, &was_full);
	assert_false(was_full);
	limit_table_take(t, KEY(100), NOW, &was_full);
	assert_true(was_full);
	for (unsigned k = 1; k <= LIMIT_TABLE_WAYS; k++)
		assert_int_equal(
		    limit_table_ask(t, KEY(k), NOW, &wait), k == 3 ? LIMIT_PASSES : LIMIT_RATE);
	was_full = false; /* the entries say nothing any more */
	limit_table_take(t, KEY(101), NOW + 10 * USEC_PER_SEC, &was_full);
	assert_false(was_full);
	limit_table_free(t);
}

static void a_flood_of_new_keys_does_not_free_one_that_is_over_its_rate(void **state)
{
	(void)state;
	const struct limit_terms slow = {3600 * SEC_NSEC, 10, 0};
	struct limit_table *t = limit_table_new(&slow, 1024);
	while (passes(t, KEY(1), NOW))
		;
	for (uint64_t i = 2; i < 200000; i++)
		assert_true(passes(t, KEY(i) | (i * 7919 & 0xffff), NOW));
	assert_false(passes(t, KEY(1), NOW));
	limit_table_free(t);
}

static void open_requests_are_never_forgotten(void **state)
{
	(void)state;
	const struct limit_terms one = {0, 0, 1};
	struct limit_table *t = limit_table_new(&one, LIMIT_TABLE_WAYS);
	struct limit_entry *e[LIMIT_TABLE_WAYS];
	bool was_full = false;
	usec wait;
	for (unsigned k = 0; k < LIMIT_TABLE_WAYS; k++)
		e[k] = limit_table_take(t, KEY(k + 1), NOW, &was_full);
	assert_false(was_full);
	for (unsigned k = 100; k < 200; k++) { /* no room: they pass, and are not counted */
		was_full = false;
		assert_int_equal(limit_table_ask(t, KEY(k), NOW, &wait), LIMIT_PASSES);
		assert_null(limit_table_take(t, KEY(k), NOW, &was_full));
		assert_true(was_full);
	}
	for (unsigned k = 0; k < LIMIT_TABLE_WAYS; k++)
		assert_int_equal(limit_table_ask(t, KEY(k + 1), NOW, &wait), LIMIT_CONCURRENT);
	limit_entry_give(t, e[3]);
	was_full = false;
	assert_ptr_equal(limit_table_take(t, KEY(300), NOW, &was_full), e[3]);
	assert_false(was_full);
	for (unsigned k = 0; k < LIMIT_TABLE_WAYS; k++)
		limit_entry_give(t, e[k]);
	limit_table_free(t);
}

/* ---- against a model that has room for all ---- */

#define KEYS 50u
#define OPEN_MOST 20u

struct model {
	uint64_t spent_nsec; /* of the burst; what the time gives back is taken off */
	usec at;
	struct limit_entry *open[OPEN_MOST];
	unsigned open_count;
};

static unsigned random_below(uint64_t *seed, unsigned n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(*seed >> 33) % n;
}

static enum limit_answer model_ask(struct model *m, const struct limit_terms *terms, usec now)
{
	uint64_t back = (now - m->at) * 1000;
	m->spent_nsec -= back < m->spent_nsec ? back : m->spent_nsec;
	m->at = now;
	if (terms->concurrent > 0 && m->open_count >= terms->concurrent)
		return LIMIT_CONCURRENT;
	return m->spent_nsec + terms->interval_nsec > terms->burst * terms->interval_nsec ? LIMIT_RATE : LIMIT_PASSES;
}

static void play(uint64_t seed, const struct limit_terms *terms)
{
	struct limit_table *t = limit_table_new(terms, 16384);
	struct model models[KEYS] = {0};
	usec now = NOW, wait;
	bool was_full = false;
	for (unsigned step = 0; step < 20000; step++) {
		unsigned k = random_below(&seed, KEYS);
		uint64_t key = (k + 1) * UINT64_C(0x9e3779b97f4a7c15);
		struct model *m = &models[k];
		if (random_below(&seed, 3) == 0 && m->open_count > 0)
			limit_entry_give(t, m->open[--m->open_count]);
		now += random_below(&seed, 4) == 0 ? random_below(&seed, 20000) : 0;
		enum limit_answer wanted = model_ask(m, terms, now);
		assert_int_equal(limit_table_ask(t, key, now, &wait), wanted);
		if (wanted != LIMIT_PASSES)
			continue;
		m->spent_nsec += terms->interval_nsec;
		struct limit_entry *e = limit_table_take(t, key, now, &was_full);
		assert_int_equal(e != NULL, terms->concurrent > 0);
		if (e)
			m->open[m->open_count++] = e;
		if (e)
			assert_int_equal(limit_table_open(t, key), m->open_count);
	}
	assert_false(was_full);
	limit_table_free(t);
}

static void random_requests_are_counted_as_in_a_table_without_bound(void **state)
{
	(void)state;
	static const struct limit_terms terms[] = {
	    {SEC_NSEC / 10, 5, 0}, {SEC_NSEC / 3, 1, 0}, {60 * SEC_NSEC / 7, 40, 3}, {0, 0, OPEN_MOST}, {SEC_NSEC / 1000, 3, 2}};
	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		for (uint64_t seed = 1; seed < 6; seed++)
			play(seed, &terms[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_key_has_its_burst_and_then_its_rate),
	    cmocka_unit_test(long_and_short_intervals_are_exact),
	    cmocka_unit_test(open_requests_are_counted_until_they_are_given_back),
	    cmocka_unit_test(workers_of_two_generations_count_together),
	    cmocka_unit_test(only_lanes_in_use_take_memory),
	    cmocka_unit_test(the_key_that_has_most_of_its_burst_left_is_forgotten),
	    cmocka_unit_test(a_flood_of_new_keys_does_not_free_one_that_is_over_its_rate),
	    cmocka_unit_test(open_requests_are_never_forgotten),
	    cmocka_unit_test(random_requests_are_counted_as_in_a_table_without_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
