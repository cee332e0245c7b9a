/* SPDX-License-Identifier: MIT */
/* What a client has: noted, bounded, forgotten; and the same as a naive list over many random steps. */
#include "policy/diary.h"
#include "tests/unit/policy/offer.h"

static void what_was_pushed_reset_hinted_or_requested_is_known(void **state)
{
	(void)state;
	static const enum policy_note notes[] = {
	    POLICY_NOTE_PUSHED, POLICY_NOTE_RESET, POLICY_NOTE_HINTED, POLICY_NOTE_REQUESTED};
	struct policy_diary d;
	policy_diary_init(&d, 100);
	for (uint64_t i = 0; i < sizeof notes / sizeof *notes; i++) {
		assert_int_equal(policy_diary_knows(&d, i, 0), POLICY_NOT_KNOWN);
		policy_note(&d, notes[i], i, 0);
		assert_int_equal(policy_diary_knows(&d, i, 0), POLICY_KNOWN);
		assert_int_equal(policy_diary_knows(&d, i, 7), POLICY_KNOWN);
	}
	policy_diary_fini(&d);
}

static void another_etag_is_not_known(void **state)
{
	(void)state;
	struct policy_diary d;
	policy_diary_init(&d, 100);
	policy_note(&d, POLICY_NOTE_PUSHED, 1, 7);
	assert_int_equal(policy_diary_knows(&d, 1, 7), POLICY_KNOWN_ETAG);
	assert_int_equal(policy_diary_knows(&d, 1, 0), POLICY_KNOWN_ETAG);
	assert_int_equal(policy_diary_knows(&d, 1, 8), POLICY_NOT_KNOWN);
	/* A reset tells no ETag: what was known stays. */
	policy_note(&d, POLICY_NOTE_RESET, 1, 0);
	assert_int_equal(policy_diary_knows(&d, 1, 8), POLICY_NOT_KNOWN);
	policy_note(&d, POLICY_NOTE_REQUESTED, 1, 8);
	assert_int_equal(policy_diary_knows(&d, 1, 8), POLICY_KNOWN_ETAG);
	policy_diary_fini(&d);
}

static void change_of_the_etag_makes_it_unknown_again(void **state)
{
	(void)state;
	struct policy_diary d;
	policy_diary_init(&d, 100);
	policy_note(&d, POLICY_NOTE_CHANGED, 1, 7); /* nothing to forget */
	policy_note(&d, POLICY_NOTE_PUSHED, 1, 7);
	policy_note(&d, POLICY_NOTE_PUSHED, 2, 0);
	policy_note(&d, POLICY_NOTE_CHANGED, 1, 7);
	policy_note(&d, POLICY_NOTE_CHANGED, 1, 0);
	policy_note(&d, POLICY_NOTE_CHANGED, 2, 9);
	assert_int_equal(policy_diary_knows(&d, 1, 0), POLICY_KNOWN_ETAG);
	assert_int_equal(policy_diary_knows(&d, 2, 0), POLICY_KNOWN);
	policy_note(&d, POLICY_NOTE_CHANGED, 1, 8);
	assert_int_equal(policy_diary_knows(&d, 1, 0), POLICY_NOT_KNOWN);
	assert_int_equal(policy_diary_knows(&d, 2, 0), POLICY_KNOWN);
	policy_note(&d, POLICY_NOTE_GONE, 2, 0);
	assert_int_equal(policy_diary_knows(&d, 2, 0), POLICY_NOT_KNOWN);
	assert_int_equal(d.count, 0);
	policy_diary_fini(&d);
}

static void oldest_goes_first_and_noting_makes_young(void **state)
{
	(void)state;
	struct policy_diary d;
	policy_diary_init(&d, 3);
	for (uint64_t key = 1; key <= 3; key++)
		policy_note(&d, POLICY_NOTE_PUSHED, key, 0);
	policy_note(&d, POLICY_NOTE_REQUESTED, 1, 0);
	policy_note(&d, POLICY_NOTE_PUSHED, 4, 0);
	assert_int_equal(policy_diary_knows(&d, 1, 0), POLICY_KNOWN);
	assert_int_equal(policy_diary_knows(&d, 2, 0), POLICY_NOT_KNOWN);
	assert_int_equal(policy_diary_knows(&d, 3, 0), POLICY_KNOWN);
	assert_int_equal(policy_diary_knows(&d, 4, 0), POLICY_KNOWN);
	policy_diary_fini(&d);
}

static void diary_of_size_zero_knows_nothing(void **state)
{
	(void)state;
	struct policy_diary d;
	policy_diary_init(&d, 0);
	policy_note(&d, POLICY_NOTE_PUSHED, 1, 0);
	assert_int_equal(policy_diary_knows(&d, 1, 0), POLICY_NOT_KNOWN);
	assert_int_equal(policy_diary_bytes(&d), 0);
	assert_int_equal(policy_diary_growth(&d), 0);
	policy_diary_fini(&d);
}

static void growth_is_announced_before_it_happens(void **state)
{
	(void)state;
	struct policy_diary d;
	policy_diary_init(&d, 100);
	assert_int_equal(policy_diary_bytes(&d), 0);
	for (uint64_t key = 1; key <= 300; key++) {
		size_t before = policy_diary_bytes(&d), more = policy_diary_growth(&d);
		policy_note(&d, POLICY_NOTE_PUSHED, key * 0x9e3779b97f4a7c15u, 0);
		assert_int_equal(policy_diary_bytes(&d), before + more);
	}
	assert_int_equal(d.count, 100);
	assert_in_range(policy_diary_bytes(&d), 100 * 16, 100 * 32);
	policy_diary_fini(&d);
}

static void largest_diary_is_as_large_as_it_says(void **state)
{
	(void)state;
	struct policy_diary d;
	policy_diary_init(&d, POLICY_DIARY_MOST);
	for (uint64_t key = 0; key < POLICY_DIARY_MOST + 10; key++)
		policy_note(&d, POLICY_NOTE_PUSHED, key, 0);
	assert_int_equal(d.count, POLICY_DIARY_MOST);
	assert_int_equal(policy_diary_knows(&d, 9, 0), POLICY_NOT_KNOWN);
	assert_int_equal(policy_diary_knows(&d, 10, 0), POLICY_KNOWN);
	policy_diary_fini(&d);
}

/* ---- beside a list, newest first ---- */

enum { MODEL_MOST = 20 };

struct model {
	struct {
		uint64_t key;
		uint32_t etag;
	} entries[MODEL_MOST + 1];
	size_t count;
};

static void model_remove(struct model *m, size_t at)
{
	memmove(&m->entries[at], &m->entries[at + 1], (m->count - at - 1) * sizeof m->entries[0]);
	m->count--;
}

static size_t model_find(const struct model *m, uint64_t key)
{
	size_t at = 0;
	while (at < m->count && m->entries[at].key != key)
		at++;
	return at;
}

static void model_note(struct model *m, enum policy_note note, uint64_t key, uint32_t etag)
{
	size_t at = model_find(m, key);
	uint32_t old = at < m->count ? m->entries[at].etag : 0;

	if (note == POLICY_NOTE_GONE || note == POLICY_NOTE_CHANGED) {
		bool goes = note == POLICY_NOTE_GONE || (etag && old && etag != old);
		if (at < m->count && goes)
			model_remove(m, at);
		return;
	}
	if (at < m->count)
		model_remove(m, at);
	memmove(&m->entries[1], &m->entries[0], m->count * sizeof m->entries[0]);
	m->entries[0].key = key;
	m->entries[0].etag = etag ? etag : old;
	m->count = m->count < MODEL_MOST ? m->count + 1 : MODEL_MOST;
}

static enum policy_known model_knows(const struct model *m, uint64_t key, uint32_t etag)
{
	size_t at = model_find(m, key);
	if (at == m->count)
		return POLICY_NOT_KNOWN;
	if (m->entries[at].etag == 0)
		return POLICY_KNOWN;
	return etag && etag != m->entries[at].etag ? POLICY_NOT_KNOWN : POLICY_KNOWN_ETAG;
}

static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void diary_is_a_list_over_random_steps(void **state)
{
	(void)state;
	struct policy_diary d;
	struct model m = {0};
	uint64_t seed = 17;
	policy_diary_init(&d, MODEL_MOST);
	for (int step = 0; step < 200000; step++) {
		/* Keys that share their low bits, so that chains are long. */
		uint64_t key = (next_random(&seed) % 40) * 0x1000003u
			       << (next_random(&seed) % 2 * 8);
		uint32_t etag = next_random(&seed) % 3, asked = next_random(&seed) % 3;
		enum policy_note note =
		    (enum policy_note)(next_random(&seed) % (POLICY_NOTE_GONE + 1));
		policy_note(&d, note, key, etag);
		model_note(&m, note, key, etag);
		key = (next_random(&seed) % 40) * 0x1000003u;
		assert_int_equal(policy_diary_knows(&d, key, asked), model_knows(&m, key, asked));
		uint32_t cursor = 0;
		uint64_t at;
		for (size_t i = 0; i < m.count; i++) {
			assert_true(policy_diary_next(&d, &cursor, &at));
			assert_int_equal(at, m.entries[i].key);
		}
		assert_int_equal(d.count, m.count);
		assert_false(m.count && policy_diary_next(&d, &cursor, &at));
	}
	policy_diary_fini(&d);
}

static void keys_tell_resources_apart(void **state)
{
	(void)state;
	uint64_t key = policy_diary_key(SLICE("GET"), SLICE("a.example"), SLICE("/x"));
	assert_true(key == policy_diary_key(SLICE("GET"), SLICE("a.example"), SLICE("/x")));
	assert_true(key != policy_diary_key(SLICE("HEAD"), SLICE("a.example"), SLICE("/x")));
	assert_true(key != policy_diary_key(SLICE("GET"), SLICE("a.exampl"), SLICE("e/x")));
	assert_true(key != policy_diary_key(SLICE("GET"), SLICE("a.example"), SLICE("/x?1")));
}

static void weak_and_strong_etags_are_the_same(void **state)
{
	(void)state;
	assert_int_equal(policy_diary_etag(SLICE("\"a\"")), policy_diary_etag(SLICE(" W/\"a\"")));
	assert_int_not_equal(policy_diary_etag(SLICE("\"a\"")), policy_diary_etag(SLICE("\"b\"")));
	assert_int_not_equal(policy_diary_etag(SLICE("")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_pushed_reset_hinted_or_requested_is_known),
	    cmocka_unit_test(another_etag_is_not_known),
	    cmocka_unit_test(change_of_the_etag_makes_it_unknown_again),
	    cmocka_unit_test(oldest_goes_first_and_noting_makes_young),
	    cmocka_unit_test(diary_of_size_zero_knows_nothing),
	    cmocka_unit_test(growth_is_announced_before_it_happens),
	    cmocka_unit_test(largest_diary_is_as_large_as_it_says),
	    cmocka_unit_test(diary_is_a_list_over_random_steps),
	    cmocka_unit_test(keys_tell_resources_apart),
	    cmocka_unit_test(weak_and_strong_etags_are_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
