/* SPDX-License-Identifier: MIT */
/* The queue of pieces: order, copies of small ones, references to large ones, what it charges. */
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/relay/body_queue.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct rig {
	struct chunk_pool *chunks, *small;
	struct budget budget;
	struct body body;
};

static void rig_init(struct rig *r)
{
	*r = (struct rig){0};
	r->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	r->small = chunk_pool_new(LIMIT_COPY_BELOW_BYTES, 4);
	budget_init(&r->budget, NULL, 16 << 20);
}

static void rig_fini(struct rig *r)
{
	body_clear(&r->body, &r->budget);
	assert_int_equal(r->budget.used_bytes, 0);
	chunk_pool_free(r->chunks);
	chunk_pool_free(r->small);
	budget_fini(&r->budget);
}

/* The byte at position i of the stream that the tests send. */
static uint8_t byte_at(size_t i)
{
	return (uint8_t)(i * 131 + (i >> 8) * 17);
}

static void send(struct rig *r, size_t from, uint32_t n)
{
	struct chunk *c = chunk_acquire(r->chunks);
	for (uint32_t i = 0; i < n; i++)
		c->data[i] = byte_at(from + i);
	body_append(&r->body, (struct piece){c, 0, n}, r->small, &r->budget);
	chunk_release(c);
}

static size_t take(struct rig *r, size_t from, size_t most)
{
	size_t taken = 0;
	while (taken < most && r->body.bytes > 0) {
		struct piece p = body_front(&r->body, most - taken);
		assert_true(p.length > 0);
		for (uint32_t i = 0; i < p.length; i++)
			assert_int_equal(p.chunk->data[p.offset + i], byte_at(from + taken + i));
		taken += p.length;
		body_take(&r->body, p.length, &r->budget);
	}
	return taken;
}

static void bytes_come_out_as_they_went_in(void **state)
{
	(void)state;
	struct rig r;
	unsigned seed = 20260102;
	size_t in = 0, out = 0;
	rig_init(&r);
	for (unsigned i = 0; i < 5000; i++) {
		seed = seed * 1103515245 + 12345;
		uint32_t n = (seed >> 16) % (i % 7 == 0 ? LIMIT_CHUNK_BYTES : 600) + 1;
		if (r.body.bytes < 400000 && seed & 0x100) {
			send(&r, in, n);
			in += n;
		} else {
			out += take(&r, out, n);
		}
		assert_int_equal(r.body.bytes, in - out);
	}
	out += take(&r, out, SIZE_MAX);
	assert_int_equal(in, out);
	rig_fini(&r);
}

static void small_pieces_pin_no_chunk(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r);
	for (size_t i = 0; i < 1000; i++)
		send(&r, i, 1);
	assert_int_equal(chunk_pool_out(r.chunks), 0);
	assert_int_equal(chunk_pool_out(r.small), 1);
	assert_int_equal(r.budget.used_bytes, LIMIT_COPY_BELOW_BYTES);
	assert_int_equal(take(&r, 0, SIZE_MAX), 1000);
	rig_fini(&r);
}

static void large_pieces_are_held_by_reference_and_charged_whole(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r);
	send(&r, 0, LIMIT_COPY_BELOW_BYTES);
	assert_int_equal(chunk_pool_out(r.chunks), 1);
	assert_int_equal(chunk_pool_out(r.small), 0);
	assert_int_equal(r.budget.used_bytes, LIMIT_CHUNK_BYTES);
	rig_fini(&r);
}

static void neighbours_in_one_chunk_become_one_piece(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r);
	struct chunk *c = chunk_acquire(r.chunks);
	for (uint32_t i = 0; i < LIMIT_CHUNK_BYTES; i++)
		c->data[i] = byte_at(i);
	for (uint32_t at = 0; at < LIMIT_CHUNK_BYTES; at += 4096)
		body_append(&r.body, (struct piece){c, at, 4096}, r.small, &r.budget);
	chunk_release(c);
	assert_int_equal(r.body.count, 1);
	assert_int_equal(r.budget.used_bytes, LIMIT_CHUNK_BYTES);
	assert_int_equal(take(&r, 0, SIZE_MAX), LIMIT_CHUNK_BYTES);
	rig_fini(&r);
}

/* A frame's header lies between two pieces of one chunk: it is pinned once, until the last of them has gone. */
static void pieces_of_one_chunk_are_charged_once(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r);
	struct chunk *c = chunk_acquire(r.chunks);
	for (uint32_t at = 0; at < 12288; at += 4096)
		body_append(&r.body, (struct piece){c, at, 4087}, r.small, &r.budget);
	chunk_release(c);
	assert_int_equal(r.body.count, 3);
	assert_int_equal(r.budget.used_bytes, LIMIT_CHUNK_BYTES);
	body_take(&r.body, 4087 + 1, &r.budget);
	assert_int_equal(r.budget.used_bytes, LIMIT_CHUNK_BYTES);
	send(&r, 0, 4096); /* a chunk of its own */
	assert_int_equal(r.budget.used_bytes, 2 * LIMIT_CHUNK_BYTES);
	body_take(&r.body, 4086 + 4087, &r.budget);
	assert_int_equal(r.budget.used_bytes, LIMIT_CHUNK_BYTES);
	assert_int_equal(chunk_pool_out(r.chunks), 1);
	rig_fini(&r);
}

static void another_budget_pays_for_what_is_there(void **state)
{
	(void)state;
	struct rig r;
	struct budget other;
	rig_init(&r);
	budget_init(&other, NULL, 1); /* even above its limit */
	for (size_t i = 0; i < 5; i++)
		send(&r, i * 4096, i % 2 ? 4096 : 10);
	size_t used = r.budget.used_bytes;
	body_move_charge(&r.body, &r.budget, &other);
	assert_int_equal(r.budget.used_bytes, 0);
	assert_int_equal(other.used_bytes, used);
	body_clear(&r.body, &other);
	budget_fini(&other);
	rig_fini(&r);
}

static void empty_body_holds_nothing(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r);
	for (size_t i = 0; i < 40; i++)
		send(&r, i * 4096, 4096);
	assert_non_null(r.body.many);
	take(&r, 0, SIZE_MAX);
	assert_null(r.body.many);
	assert_int_equal(chunk_pool_out(r.chunks), 0);
	rig_fini(&r);
}

static void bytes_that_others_hold_are_not_written_behind(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r);
	send(&r, 0, 10);
	struct piece lent = body_front(&r.body, SIZE_MAX);
	chunk_hold(lent.chunk);
	send(&r, 10, 10);
	assert_int_equal(r.body.count, 2);
	assert_int_equal(chunk_pool_out(r.small), 2);
	chunk_release(lent.chunk);
	send(&r, 20, 10); /* the second is all our own */
	assert_int_equal(r.body.count, 2);
	assert_int_equal(take(&r, 0, SIZE_MAX), 30);
	rig_fini(&r);
}

/* The copy has no chunk, or half of it has none: the rest pins the chunk that it came in. */
static void small_pieces_stay_where_they_are_when_there_is_no_chunk_for_a_copy(void **state)
{
	(void)state;
	for (uint32_t first = 0; first <= LIMIT_COPY_BELOW_BYTES - 10; first += LIMIT_COPY_BELOW_BYTES - 10) {
		struct rig r;
		rig_init(&r);
		if (first > 0)
			send(&r, 0, first);
		chunk_pool_fail_nth(r.small, 1);
		send(&r, first, 100);
		assert_int_equal(chunk_pool_refused(r.small), 1);
		assert_int_equal(chunk_pool_out(r.chunks), 1);
		assert_int_equal(r.budget.used_bytes, LIMIT_CHUNK_BYTES + (first > 0 ? LIMIT_COPY_BELOW_BYTES : 0));
		assert_int_equal(take(&r, 0, SIZE_MAX), first + 100);
		rig_fini(&r);
	}
}

static void copy_says_how_far_it_came(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r);
	static const char text[LIMIT_COPY_BELOW_BYTES + 100];
	chunk_pool_fail_nth(r.small, 2);
	assert_int_equal(body_append_copy(&r.body, slice_of(text, sizeof(text)), r.small, &r.budget),
	    LIMIT_COPY_BELOW_BYTES);
	assert_int_equal(r.body.bytes, LIMIT_COPY_BELOW_BYTES);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_come_out_as_they_went_in),
	    cmocka_unit_test(small_pieces_pin_no_chunk),
	    cmocka_unit_test(large_pieces_are_held_by_reference_and_charged_whole),
	    cmocka_unit_test(neighbours_in_one_chunk_become_one_piece),
	    cmocka_unit_test(pieces_of_one_chunk_are_charged_once),
	    cmocka_unit_test(another_budget_pays_for_what_is_there),
	    cmocka_unit_test(empty_body_holds_nothing),
	    cmocka_unit_test(bytes_that_others_hold_are_not_written_behind),
	    cmocka_unit_test(small_pieces_stay_where_they_are_when_there_is_no_chunk_for_a_copy),
	    cmocka_unit_test(copy_says_how_far_it_came),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
