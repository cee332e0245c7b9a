/* SPDX-License-Identifier: MIT */
/* Page records: what a lane keeps, what it forgets, and what a reader gets while a worker writes. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/base/memory.h"
#include "proxy/waterfall/waterfall.h"
#include <pthread.h>
#include <stdio.h>

#define RECORDS 4u

struct scene {
	struct waterfall w;
	struct waterfall_lane *lane;
	struct page_record copy;
};

static struct scene *scene_new(uint32_t workers, uint64_t first)
{
	struct scene *s = memory_new(struct scene);
	s->w = (struct waterfall){.workers = workers, .records = RECORDS};
	s->w.memory = memory_zalloc(waterfall_bytes(workers, RECORDS));
	waterfall_begin_numbers(&s->w, first);
	s->lane = waterfall_lane_new(&s->w, workers - 1);
	return s;
}

static void scene_free(struct scene *s)
{
	waterfall_lane_free(s->lane);
	free(s->w.memory);
	free(s);
}

/* The first second of the records' rate. */
#define NOW (100 * USEC_PER_SEC)

static void records_at(struct scene *s, uint64_t exchange, usec now)
{
	struct page_record *r = waterfall_begin(s->lane, exchange, 1000, now, false);
	assert_non_null(r);
	char path[32];
	snprintf(path, sizeof(path), "/%u", (unsigned)exchange);
	waterfall_path(r, r->request.path, sizeof(r->request.path), slice_of_string(path));
	waterfall_done(s->lane, r, true);
}

/* Slowly enough that each gets its record. */
static void records(struct scene *s, uint64_t exchange)
{
	records_at(s, exchange, NOW + (exchange + 10) * 4 * USEC_PER_SEC);
}

static uint32_t count(const struct scene *s)
{
	uint32_t n = 0;
	struct page_glance g;
	for (uint32_t w = 0; w < s->w.workers; w++)
		for (uint32_t i = 0; i < RECORDS; i++)
			n += waterfall_glance(&s->w, w, i, &g);
	return n;
}

static void a_lane_keeps_the_last_pages(void **state)
{
	(void)state;
	struct scene *s = scene_new(2, 1000);
	uint32_t at;
	assert_int_equal(count(s), 0);
	for (uint64_t x = 1; x <= RECORDS + 2; x++)
		records(s, x);
	assert_int_equal(count(s), RECORDS);
	for (uint64_t x = 1; x <= RECORDS + 2; x++) {
		bool is_kept = x > 2;
		assert_int_equal(waterfall_find(&s->w, 1, 1000 + x, &at), is_kept);
		if (!is_kept)
			continue;
		char path[32];
		assert_true(waterfall_read(&s->w, 1, at, &s->copy));
		snprintf(path, sizeof(path), "/%u", (unsigned)x);
		assert_string_equal(s->copy.request.path, path);
		assert_int_equal(s->copy.number, 1000 + x);
		assert_int_equal(s->copy.change, x);
		assert_int_equal(s->copy.started, 1000);
		usec off = s->copy.started_wall + clock_monotonic() + USEC_PER_SEC - clock_wall();
		assert_in_range(off, 1000, 1000 + 2 * USEC_PER_SEC);
		assert_false(s->copy.is_cut);
	}
	assert_int_equal(waterfall_last_change(&s->w, 1), RECORDS + 2);
	assert_int_equal(waterfall_last_change(&s->w, 0), 0);
	assert_false(waterfall_find(&s->w, 0, 1000 + RECORDS, &at));
	assert_false(waterfall_find(&s->w, 2, 1000 + RECORDS, &at));
	scene_free(s);
}

static void a_page_that_was_forgotten_is_not_changed(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	assert_null(waterfall_change(s->lane, 0));
	for (uint64_t x = 1; x <= RECORDS + 1; x++)
		records(s, x);
	assert_null(waterfall_change(s->lane, 1));
	assert_null(waterfall_change(s->lane, 99));
	struct page_record *r = waterfall_change(s->lane, 2);
	assert_non_null(r);
	assert_int_equal(r->exchange, 2);
	waterfall_done(s->lane, r, false);
	assert_int_equal(waterfall_last_change(&s->w, 0), RECORDS + 1);
	scene_free(s);
}

static void a_record_that_is_being_written_is_not_read(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	struct page_glance g;
	struct page_record *r = waterfall_begin(s->lane, 7, 1, NOW, false);
	assert_false(waterfall_read(&s->w, 0, 1, &s->copy));
	assert_false(waterfall_glance(&s->w, 0, 1, &g));
	waterfall_done(s->lane, r, true);
	assert_true(waterfall_read(&s->w, 0, 1, &s->copy));
	r = waterfall_change(s->lane, 7);
	assert_false(waterfall_read(&s->w, 0, 1, &s->copy));
	waterfall_done(s->lane, r, true);
	assert_true(waterfall_read(&s->w, 0, 1, &s->copy));
	scene_free(s);
}

static void the_next_worker_goes_on_after_one_that_died_while_it_wrote(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	records(s, 1);
	assert_non_null(waterfall_begin(s->lane, 2, 1, NOW + 60 * USEC_PER_SEC, false)); /* and never ends */
	waterfall_lane_free(s->lane);
	s->lane = waterfall_lane_new(&s->w, 0);
	assert_true(waterfall_read(&s->w, 0, 1, &s->copy)); /* of the dead worker */
	assert_false(waterfall_read(&s->w, 0, 2, &s->copy));
	assert_null(waterfall_change(s->lane, 1)); /* its ids are not the next worker's */
	for (uint64_t x = 1; x <= RECORDS; x++)
		records(s, x);
	assert_int_equal(count(s), RECORDS);
	assert_true(waterfall_read(&s->w, 0, 2, &s->copy));
	assert_int_equal(s->copy.number, 2 + RECORDS);
	scene_free(s);
}

static void offers_beyond_the_room_are_counted(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	struct page_record *r = waterfall_begin(s->lane, 1, 1, NOW, false);
	for (unsigned i = 0; i < WATERFALL_PUSHES; i++) {
		struct page_push *p = waterfall_add_push(r);
		assert_non_null(p);
		assert_int_equal(p->at[PAGE_PUSH_END], 0);
		p->exchange = 100 + i;
	}
	assert_null(waterfall_add_push(r));
	assert_int_equal(r->offers, WATERFALL_PUSHES + 1);
	assert_int_equal(r->push_count, WATERFALL_PUSHES);
	assert_ptr_equal(waterfall_find_push(r, 163), &r->pushes[63]);
	assert_null(waterfall_find_push(r, 164));
	waterfall_done(s->lane, r, true);
	records(s, 2), records(s, 3), records(s, 4), records(s, 5);
	assert_int_equal(r->offers, 0); /* of the page that has its place */
	assert_null(waterfall_find_push(r, 100));
	scene_free(s);
}

static void times_are_those_since_the_page_began(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	struct page_record *r = waterfall_begin(s->lane, 1, 1000, NOW, false);
	struct page_push *p = waterfall_add_push(r);
	r->result.at[PAGE_SENT] = 1000;
	r->result.at[PAGE_END] = 1500;
	p->at[PAGE_PUSH_HOLD] = 1250;
	p->at[PAGE_PUSH_END] = 999; /* before it: none */
	waterfall_done(s->lane, r, true);
	assert_true(waterfall_read(&s->w, 0, 1, &s->copy));
	assert_int_equal(s->copy.result.at[PAGE_SENT], 0);
	assert_int_equal(s->copy.result.at[PAGE_END], 500);
	assert_int_equal(s->copy.result.at[PAGE_HEAD], USEC_NEVER);
	assert_int_equal(s->copy.pushes[0].at[PAGE_PUSH_HOLD], 250);
	assert_int_equal(s->copy.pushes[0].at[PAGE_PUSH_END], USEC_NEVER);
	assert_int_equal(s->copy.pushes[0].at[PAGE_PUSH_DECIDED], USEC_NEVER);
	scene_free(s);
}

static struct page_record *begins(struct scene *s, uint64_t exchange, usec started, usec now)
{
	struct page_record *r = waterfall_begin(s->lane, exchange, started, now, false);
	if (r)
		waterfall_done(s->lane, r, true);
	return r;
}

static void a_record_stays_some_seconds_however_many_pages_come(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	uint64_t x = 1;
	for (; x <= RECORDS; x++)
		assert_non_null(begins(s, x, NOW, NOW));
	for (unsigned i = 0; i < 1000; i++)
		assert_null(begins(s, x++, NOW, NOW));
	/* Of a page that came before then, a part has happened already. */
	assert_null(begins(s, x++, NOW, NOW + USEC_PER_SEC));
	struct page_record *r = waterfall_begin(s->lane, x++, NOW, NOW + USEC_PER_SEC, true);
	assert_non_null(r); /* it is whole */
	waterfall_done(s->lane, r, true);
	unsigned begun = 0;
	for (usec now = NOW + USEC_PER_SEC; now <= NOW + 4 * USEC_PER_SEC; now += USEC_PER_MSEC)
		begun += begins(s, x++, now, now) != NULL;
	assert_int_equal(begun, 3); /* RECORDS / 4 a second */
	assert_int_equal(count(s), RECORDS);
	waterfall_leave_out(s->lane);
	assert_int_equal(waterfall_left_out(&s->w, 0), 1);
	scene_free(s);
}

static void a_page_that_is_over_is_not_looked_for(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	struct page_record *r = waterfall_begin(s->lane, 1, 1, NOW, true);
	assert_true(r->result.is_over);
	waterfall_done(s->lane, r, true);
	assert_null(waterfall_change(s->lane, 1));
	records(s, 2), records(s, 3), records(s, 4), records(s, 5);
	assert_int_equal(count(s), RECORDS);
	scene_free(s);
}

/* Ids in steps that are powers of two, found in any order, while older ones go. */
static void each_page_that_is_there_is_found(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	for (uint64_t x = 1; x <= 40; x++) {
		records(s, x << 20);
		for (uint64_t y = 1; y <= x; y++) {
			struct page_record *r = waterfall_change(s->lane, y << 20);
			assert_int_equal(r != NULL, y + RECORDS > x);
			if (!r)
				continue;
			assert_int_equal(r->exchange, y << 20);
			waterfall_done(s->lane, r, false);
		}
	}
	scene_free(s);
}

/* ---- texts ---- */

static const struct {
	const char *path, *kept;
} paths[] = {
    {"/a", "/a"},
    {"/a?", "/a?"},
    {"/a?token", "/a?…"},
    {"/a?user=jo&password=secret", "/a?user=…&password=…"},
    {"/a?=secret", "/a?=…"},
    {"/a?x=", "/a?x=…"},
    {"/a?x=a=b?c&&y", "/a?x=…&&…"},
    {"/a&b=c", "/a&b=c"},
    {"*", "*"},
    {"", ""},
    {"/<script>?<img>=1", "/<script>?<img>=…"},
};

static void values_of_a_query_are_not_kept(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	struct page_record *r = waterfall_begin(s->lane, 1, 1, NOW, false);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char text[64];
		waterfall_path(r, text, sizeof(text), slice_of_string(paths[i].path));
		assert_string_equal(text, paths[i].kept);
	}
	assert_false(r->is_cut);
	scene_free(s);
}

static void a_text_that_is_too_long_ends_with_a_mark(void **state)
{
	(void)state;
	static const struct {
		const char *text, *kept;
	} rows[] = {
	    {"1234567", "1234567"},
	    {"12345678", "1234…"},
	    {"123äöü", "123…"}, /* no half of a character stays */
	    {"äöüäöü", "äö…"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene *s = scene_new(1, 0);
		struct page_record *r = waterfall_begin(s->lane, 1, 1, NOW, false);
		char text[8], path[8];
		waterfall_text(r, text, sizeof(text), slice_of_string(rows[i].text));
		assert_string_equal(text, rows[i].kept);
		assert_int_equal(r->is_cut, i > 0);
		waterfall_path(r, path, sizeof(path), slice_of_string(rows[i].text));
		assert_string_equal(path, rows[i].kept);
		scene_free(s);
	}
}

/* A worker that is not itself any more may write what it likes: a reader stays within the record. */
static void a_reader_takes_nothing_on_trust(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	struct page_record *r = waterfall_begin(s->lane, 1, 1, NOW, false);
	for (unsigned i = 0; i < WATERFALL_PUSHES; i++)
		memset(waterfall_add_push(r)->path, 'p', sizeof(r->pushes[0].path));
	memset(&r->request, 'x', sizeof(r->request));
	memset(&r->place, 'x', sizeof(r->place));
	r->push_count = UINT32_MAX;
	waterfall_done(s->lane, r, true);
	assert_true(waterfall_read(&s->w, 0, 1, &s->copy));
	assert_int_equal(s->copy.push_count, WATERFALL_PUSHES);
	assert_int_equal(strlen(s->copy.request.path), sizeof(s->copy.request.path) - 1);
	assert_int_equal(strlen(s->copy.place.server), sizeof(s->copy.place.server) - 1);
	assert_int_equal(strlen(s->copy.pushes[63].path), sizeof(s->copy.pushes[63].path) - 1);
	scene_free(s);
}

/* ---- a writer and a reader at the same time ---- */

#define ROUNDS 20000u

static void *write_rounds(void *context)
{
	struct scene *s = context;
	for (uint64_t x = 1; x <= ROUNDS; x++) {
		struct page_record *r = waterfall_begin(s->lane, x, x, NOW + x * USEC_PER_SEC, false);
		struct page_push *p = waterfall_add_push(r);
		p->exchange = x;
		r->result.bytes = x;
		waterfall_done(s->lane, r, true);
	}
	return NULL;
}

static unsigned read_all(struct scene *s)
{
	unsigned reads = 0;
	for (uint32_t i = 0; i < RECORDS; i++) {
		if (!waterfall_read(&s->w, 0, i, &s->copy))
			continue;
		reads++;
		assert_int_equal(s->copy.number, s->copy.exchange);
		assert_int_equal(s->copy.result.bytes, s->copy.exchange);
		assert_int_equal(s->copy.pushes[0].exchange, s->copy.exchange);
	}
	return reads;
}

static void what_is_read_is_of_one_page(void **state)
{
	(void)state;
	struct scene *s = scene_new(1, 0);
	pthread_t writer;
	assert_int_equal(pthread_create(&writer, NULL, write_rounds, s), 0);
	while (waterfall_last_change(&s->w, 0) < ROUNDS)
		(void)read_all(s);
	pthread_join(writer, NULL);
	assert_int_equal(read_all(s), RECORDS);
	scene_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_lane_keeps_the_last_pages),
	    cmocka_unit_test(a_page_that_was_forgotten_is_not_changed),
	    cmocka_unit_test(a_record_that_is_being_written_is_not_read),
	    cmocka_unit_test(the_next_worker_goes_on_after_one_that_died_while_it_wrote),
	    cmocka_unit_test(offers_beyond_the_room_are_counted),
	    cmocka_unit_test(times_are_those_since_the_page_began),
	    cmocka_unit_test(a_record_stays_some_seconds_however_many_pages_come),
	    cmocka_unit_test(a_page_that_is_over_is_not_looked_for),
	    cmocka_unit_test(each_page_that_is_there_is_found),
	    cmocka_unit_test(values_of_a_query_are_not_kept),
	    cmocka_unit_test(a_text_that_is_too_long_ends_with_a_mark),
	    cmocka_unit_test(a_reader_takes_nothing_on_trust),
	    cmocka_unit_test(what_is_read_is_of_one_page),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
