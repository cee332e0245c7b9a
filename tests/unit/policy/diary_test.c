/* SPDX-License-Identifier: MIT */
/* What is noted about a resource: answered, bounded, forgotten; and the same as a naive list over many random steps. */
#include "policy/diary.h"
#include "tests/unit/policy/offer.h"

enum { NOW = 1000, PAGE = 7 };

static struct policy_diary_note had(uint32_t validator, uint32_t fresh_until_sec)
{
	return (struct policy_diary_note){
	    .state = POLICY_DIARY_HAD, .validator = validator, .fresh_until_sec = fresh_until_sec};
}

static void put(struct policy_diary *d, uint64_t key)
{
	const struct policy_diary_note note = had(1, 0);
	policy_diary_put(d, key, &note);
}

static bool has(const struct policy_diary *d, uint64_t key)
{
	struct policy_diary_note note;
	return policy_diary_find(d, key, &note);
}

/* The answer to a promise of an origin; to an offer of our own for the same page, and for another one. */
struct answers {
	enum policy_known relayed, same_page, other_page;
};

static void answers_are(const struct policy_diary_note *note, struct answers wanted)
{
	assert_int_equal(policy_diary_answer(note, false, PAGE, NOW), wanted.relayed);
	assert_int_equal(policy_diary_answer(note, true, PAGE, NOW), wanted.same_page);
	assert_int_equal(policy_diary_answer(note, true, PAGE + 1, NOW), wanted.other_page);
}

static void answer_is_of_the_state(void **state)
{
	(void)state;
	static const struct answers none = {POLICY_NOT_KNOWN, POLICY_NOT_KNOWN, POLICY_NOT_KNOWN},
				    fresh = {POLICY_KNOWN, POLICY_KNOWN, POLICY_KNOWN},
				    valid = {POLICY_KNOWN_VALIDATOR, POLICY_KNOWN_VALIDATOR, POLICY_KNOWN_VALIDATOR};
	const struct policy_diary_note unanswered = {.state = POLICY_DIARY_PUSHED_UNANSWERED, .coding = PAGE},
				       again = {.state = POLICY_DIARY_PUSHED_AGAIN, .coding = PAGE},
				       once = {.state = POLICY_DIARY_PUSHED_ONCE, .page = PAGE}, stale = had(0, NOW),
				       lasts = had(0, NOW + 1), validated = had(1, 0);
	answers_are(&unanswered, (struct answers){POLICY_NOT_KNOWN, POLICY_KNOWN, POLICY_KNOWN});
	answers_are(&again, (struct answers){POLICY_NOT_KNOWN, POLICY_KNOWN, POLICY_KNOWN});
	answers_are(&once, (struct answers){POLICY_NOT_KNOWN, POLICY_KNOWN, POLICY_NOT_KNOWN});
	answers_are(&stale, none);
	answers_are(&lasts, fresh);
	answers_are(&validated, valid);
}

static void note_comes_back_as_it_was_put(void **state)
{
	(void)state;
	static const struct policy_diary_note notes[] = {
	    {.state = POLICY_DIARY_PUSHED_UNANSWERED, .coding = 3},
	    {.state = POLICY_DIARY_PUSHED_AGAIN, .coding = 4},
	    {.state = POLICY_DIARY_PUSHED_ONCE, .page = UINT32_MAX},
	    {.state = POLICY_DIARY_HAD, .validator = 5, .fresh_until_sec = UINT32_MAX, .is_common = true},
	    {.state = POLICY_DIARY_HAD},
	};
	struct policy_diary d;
	struct policy_diary_note back;
	policy_diary_init(&d, 100);
	assert_false(policy_diary_find(&d, 1, &back));
	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
		policy_diary_put(&d, 1, &notes[i]); /* replaces the one before */
		assert_true(policy_diary_find(&d, 1, &back));
		assert_int_equal(back.state, notes[i].state);
		assert_int_equal(back.validator, notes[i].validator); /* the union as a number */
		assert_int_equal(back.fresh_until_sec, notes[i].fresh_until_sec);
		assert_int_equal(back.is_common, notes[i].is_common);
	}
	assert_int_equal(d.count, 1);
	policy_diary_forget(&d, 2);
	assert_true(has(&d, 1));
	policy_diary_forget(&d, 1);
	assert_false(has(&d, 1));
	assert_int_equal(d.count, 0);
	policy_diary_fini(&d);
}

static void oldest_goes_first_and_noting_makes_young(void **state)
{
	(void)state;
	struct policy_diary d;
	policy_diary_init(&d, 3);
	for (uint64_t key = 1; key <= 3; key++)
		put(&d, key);
	put(&d, 1);
	put(&d, 4);
	assert_true(has(&d, 1));
	assert_false(has(&d, 2));
	assert_true(has(&d, 3));
	assert_true(has(&d, 4));
	policy_diary_fini(&d);
}

static void what_is_good_for_one_use_goes_before_all_others(void **state)
{
	(void)state;
	static const struct policy_diary_note once = {.state = POLICY_DIARY_PUSHED_ONCE},
					      unanswered = {.state = POLICY_DIARY_PUSHED_UNANSWERED};
	struct policy_diary d;
	policy_diary_init(&d, 3);
	put(&d, 1);
	put(&d, 2);
	for (uint64_t key = 10; key < 20; key++) {
		policy_diary_put(&d, key, &unanswered);
		policy_diary_put(&d, key, &once);
		assert_true(has(&d, key));
	}
	assert_true(has(&d, 1));
	assert_true(has(&d, 2));
	policy_diary_fini(&d);
	policy_diary_put(&d, 1, &once); /* alone */
	put(&d, 2);
	policy_diary_forget(&d, 1);
	assert_true(has(&d, 2));
	policy_diary_fini(&d);
}

static void diary_of_size_zero_knows_nothing(void **state)
{
	(void)state;
	struct policy_diary d;
	policy_diary_init(&d, 0);
	put(&d, 1);
	assert_false(has(&d, 1));
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
		put(&d, key * 0x9e3779b97f4a7c15u);
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
		put(&d, key);
	assert_int_equal(d.count, POLICY_DIARY_MOST);
	assert_false(has(&d, 9));
	assert_true(has(&d, 10));
	policy_diary_fini(&d);
}

/* ---- beside a list, newest first ---- */

enum { MODEL_MOST = 20 };

struct model {
	struct {
		uint64_t key;
		uint32_t validator;
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

static void model_forget(struct model *m, uint64_t key)
{
	size_t at = model_find(m, key);
	if (at < m->count)
		model_remove(m, at);
}

static void model_put(struct model *m, uint64_t key, uint32_t validator)
{
	model_forget(m, key);
	memmove(&m->entries[1], &m->entries[0], m->count * sizeof m->entries[0]);
	m->entries[0].key = key;
	m->entries[0].validator = validator;
	m->count = m->count < MODEL_MOST ? m->count + 1 : MODEL_MOST;
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
		const struct policy_diary_note note = had(next_random(&seed), 0);
		struct policy_diary_note back;
		if (next_random(&seed) % 4 == 0) {
			policy_diary_forget(&d, key);
			model_forget(&m, key);
		} else {
			policy_diary_put(&d, key, &note);
			model_put(&m, key, note.validator);
		}
		key = (next_random(&seed) % 40) * 0x1000003u;
		size_t found = model_find(&m, key);
		assert_int_equal(policy_diary_find(&d, key, &back), found < m.count);
		if (found < m.count)
			assert_int_equal(back.validator, m.entries[found].validator);
		uint32_t cursor = 0;
		uint64_t at;
		for (size_t i = 0; i < m.count; i++) {
			assert_true(policy_diary_next(&d, &cursor, &at, &back));
			assert_int_equal(at, m.entries[i].key);
			assert_int_equal(back.validator, m.entries[i].validator);
		}
		assert_int_equal(d.count, m.count);
		assert_false(m.count && policy_diary_next(&d, &cursor, &at, &back));
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

static void weak_and_strong_etags_are_the_same_and_no_date(void **state)
{
	(void)state;
	assert_int_equal(policy_diary_etag(SLICE("\"a\"")), policy_diary_etag(SLICE(" W/\"a\"")));
	assert_int_not_equal(policy_diary_etag(SLICE("\"a\"")), policy_diary_etag(SLICE("\"b\"")));
	assert_int_not_equal(policy_diary_etag(SLICE("")), 0);
	assert_int_equal(policy_diary_modified(SLICE("x")), policy_diary_modified(SLICE(" x ")));
	assert_int_not_equal(policy_diary_modified(SLICE("x")), policy_diary_modified(SLICE("y")));
	assert_int_not_equal(policy_diary_modified(SLICE("x")), policy_diary_etag(SLICE("x")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answer_is_of_the_state),
	    cmocka_unit_test(note_comes_back_as_it_was_put),
	    cmocka_unit_test(oldest_goes_first_and_noting_makes_young),
	    cmocka_unit_test(what_is_good_for_one_use_goes_before_all_others),
	    cmocka_unit_test(diary_of_size_zero_knows_nothing),
	    cmocka_unit_test(growth_is_announced_before_it_happens),
	    cmocka_unit_test(largest_diary_is_as_large_as_it_says),
	    cmocka_unit_test(diary_is_a_list_over_random_steps),
	    cmocka_unit_test(keys_tell_resources_apart),
	    cmocka_unit_test(weak_and_strong_etags_are_the_same_and_no_date),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
