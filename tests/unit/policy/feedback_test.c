/* SPDX-License-Identifier: MIT */
/* What came of a rule's pushes: the counts, the pause, the probes. */
#include "tests/unit/policy/offer.h"

struct world {
	struct scene scene;
	struct policy_rule *rule;
	struct policy_feedback feedback;
	usec now;
};

static int setup(void **state)
{
	struct world *w = *state = calloc(1, sizeof *w);
	scene_init(&w->scene);
	w->rule = scene_rule(&w->scene, "one", POLICY_FORWARD);
	w->rule->min_used = 2000; /* 20 % */
	w->rule->min_sample = 20;
	policy_feedback_init(&w->feedback, &w->scene.set);
	w->now = 1000;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;
	policy_feedback_fini(&w->feedback);
	scene_fini(&w->scene);
	free(w);
	return 0;
}

static enum policy_change note(struct world *w, enum policy_event event)
{
	return policy_feedback_note(
	    &w->feedback, w->rule, &(struct policy_outcome){.event = event, .now = w->now});
}

static bool is_paused(const struct world *w)
{
	return policy_feedback_is_paused(&w->feedback, w->rule, w->now);
}

/* `used` of `count` pushes are; returns how often something was to be told. */
static unsigned run(struct world *w, unsigned count, unsigned used, enum policy_event otherwise)
{
	unsigned told = 0;
	for (unsigned i = 0; i < count; i++) {
		note(w, POLICY_EVENT_FORWARDED);
		told += note(w, i < used ? POLICY_EVENT_USED : otherwise) != POLICY_CHANGE_NONE;
	}
	return told;
}

static void events_are_counted(void **state)
{
	struct world *w = *state;
	static const struct policy_outcome outcomes[] = {
	    {.event = POLICY_EVENT_OFFERED},
	    {.event = POLICY_EVENT_OFFERED},
	    {.event = POLICY_EVENT_USED, .bytes = 100},
	    {.event = POLICY_EVENT_CLAIMED, .bytes = 50},
	    {.event = POLICY_EVENT_RESET, .bytes = 7, .span = 300},
	    {.event = POLICY_EVENT_RESET, .bytes = 0, .span = 100},
	    {.event = POLICY_EVENT_EXPIRED, .bytes = 3},
	    {.event = POLICY_EVENT_WITHDRAWN, .bytes = 1},
	    {.event = POLICY_EVENT_SHADOWED},
	};
	for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
		assert_int_equal(
		    policy_feedback_note(&w->feedback, w->rule, &outcomes[i]), POLICY_CHANGE_NONE);
	const struct policy_tally *t = &w->feedback.tallies[0];
	assert_int_equal(t->events[POLICY_EVENT_OFFERED], 2);
	assert_int_equal(t->events[POLICY_EVENT_RESET], 2);
	assert_int_equal(t->events[POLICY_EVENT_SHADOWED], 1);
	assert_int_equal(policy_feedback_used_rate(t), 3333);
	assert_int_equal(policy_feedback_used_rate(&(struct policy_tally){0}), 0);
}

static void what_no_rule_decided_is_nobodys(void **state)
{
	struct world *w = *state;
	w->rule = NULL;
	assert_int_equal(note(w, POLICY_EVENT_RESET), POLICY_CHANGE_NONE);
	assert_int_equal(w->feedback.tallies[0].events[POLICY_EVENT_RESET], 0);
}

static void rule_is_not_judged_before_its_sample_is_full(void **state)
{
	struct world *w = *state;
	assert_int_equal(run(w, 19, 0, POLICY_EVENT_RESET), 0);
	assert_false(is_paused(w));
	assert_int_equal(note(w, POLICY_EVENT_RESET), POLICY_CHANGE_PAUSED);
	assert_true(is_paused(w));
}

static void rule_that_is_used_enough_goes_on(void **state)
{
	struct world *w = *state;
	for (int i = 0; i < 50; i++)
		assert_int_equal(run(w, 20, 4, POLICY_EVENT_RESET), 0);
	assert_false(is_paused(w));
}

static void rule_without_a_share_never_pauses_for_resets(void **state)
{
	struct world *w = *state;
	w->rule->min_used = 0;
	assert_int_equal(run(w, 1000, 0, POLICY_EVENT_RESET), 0);
	assert_false(is_paused(w));
}

static void rule_that_makes_errors_pauses_without_a_share(void **state)
{
	struct world *w = *state;
	w->rule->min_used = 0;
	assert_int_equal(run(w, 20, 10, POLICY_EVENT_WITHDRAWN), 0); /* half of them is borne */
	assert_int_equal(run(w, 20, 0, POLICY_EVENT_WITHDRAWN), 1);
	assert_true(is_paused(w));
}

static void held_responses_that_nobody_claims_count_as_unused(void **state)
{
	struct world *w = *state;
	for (int i = 0; i < 20; i++) {
		note(w, POLICY_EVENT_HELD);
		note(w, i < 4 ? POLICY_EVENT_CLAIMED : POLICY_EVENT_EXPIRED);
	}
	assert_false(is_paused(w));
	note(w, POLICY_EVENT_HELD);
	assert_int_equal(note(w, POLICY_EVENT_EXPIRED), POLICY_CHANGE_PAUSED);
}

static void pause_is_told_once_and_late_ends_change_nothing(void **state)
{
	struct world *w = *state;
	assert_int_equal(run(w, 20, 0, POLICY_EVENT_RESET), 1);
	for (int i = 0; i < 100; i++)
		assert_int_equal(note(w, POLICY_EVENT_RESET), POLICY_CHANGE_NONE);
	assert_true(is_paused(w));
}

static void pause_to_probes(struct world *w)
{
	assert_int_equal(run(w, 20, 0, POLICY_EVENT_RESET), 1);
	w->now += FEEDBACK_PAUSE_USEC - 1;
	assert_true(is_paused(w));
	w->now++;
	assert_false(is_paused(w));
}

static void few_probes_go_through_after_a_pause(void **state)
{
	struct world *w = *state;
	pause_to_probes(w);
	for (int i = 0; i < FEEDBACK_PROBES; i++) {
		assert_false(is_paused(w));
		note(w, POLICY_EVENT_FORWARDED);
	}
	assert_true(is_paused(w));
}

static void good_probes_end_the_pause(void **state)
{
	struct world *w = *state;
	pause_to_probes(w);
	for (int i = 0; i < FEEDBACK_PROBES; i++)
		note(w, POLICY_EVENT_FORWARDED);
	for (int i = 1; i < FEEDBACK_PROBES; i++)
		assert_int_equal(note(w, POLICY_EVENT_USED), POLICY_CHANGE_NONE);
	assert_int_equal(note(w, POLICY_EVENT_USED), POLICY_CHANGE_RESUMED);
	assert_false(is_paused(w));
	/* And the next pause is a short one again. */
	assert_int_equal(run(w, 100, 0, POLICY_EVENT_RESET), 1);
	w->now += FEEDBACK_PAUSE_USEC;
	assert_false(is_paused(w));
}

static void bad_probes_double_the_pause_up_to_its_bound(void **state)
{
	struct world *w = *state;
	usec pause = FEEDBACK_PAUSE_USEC;
	assert_int_equal(run(w, 20, 0, POLICY_EVENT_RESET), 1);
	for (int i = 0; i < 10; i++) {
		w->now += pause - 1;
		assert_true(is_paused(w));
		w->now++;
		assert_false(is_paused(w));
		assert_int_equal(run(w, FEEDBACK_PROBES, 0, POLICY_EVENT_RESET), 0);
		assert_true(is_paused(w));
		pause = 2 * pause < FEEDBACK_PAUSE_MAX_USEC ? 2 * pause : FEEDBACK_PAUSE_MAX_USEC;
	}
	assert_int_equal(pause, FEEDBACK_PAUSE_MAX_USEC);
}

static void probes_that_never_end_do_not_pause_for_ever(void **state)
{
	struct world *w = *state;
	pause_to_probes(w);
	for (int i = 0; i < FEEDBACK_PROBES; i++)
		note(w, POLICY_EVENT_FORWARDED);
	assert_true(is_paused(w));
	w->now += FEEDBACK_PAUSE_USEC;
	assert_false(is_paused(w));
	assert_int_equal(run(w, FEEDBACK_PROBES, FEEDBACK_PROBES, POLICY_EVENT_USED), 1);
	assert_int_equal(w->feedback.tallies[0].state, POLICY_RULE_ACTIVE);
}

static void what_is_long_ago_fades(void **state)
{
	struct world *w = *state;
	assert_int_equal(run(w, 10000, 10000, POLICY_EVENT_USED), 0);
	assert_int_equal(run(w, 500, 0, POLICY_EVENT_RESET), 1);
}

static void rule_that_names_no_sample_has_the_usual_one(void **state)
{
	struct world *w = *state;
	w->rule->min_sample = 0;
	assert_int_equal(run(w, FEEDBACK_SAMPLE - 1, 0, POLICY_EVENT_RESET), 0);
	assert_false(is_paused(w));
	assert_int_equal(run(w, 1, 0, POLICY_EVENT_RESET), 1);
	assert_true(is_paused(w));
}

/* What set out before the pause may end while it is probed, and even before the first probe does. */
static void ends_of_what_set_out_earlier_are_no_probes(void **state)
{
	struct world *w = *state;
	pause_to_probes(w);
	note(w, POLICY_EVENT_FORWARDED); /* a probe */
	for (int i = 0; i < FEEDBACK_PROBES; i++)
		assert_int_equal(note(w, POLICY_EVENT_USED), POLICY_CHANGE_NONE);
	assert_int_equal(w->feedback.tallies[0].state, POLICY_RULE_PROBING);
	assert_int_equal(w->feedback.tallies[0].probes_open, 0);
	for (int i = 1; i < FEEDBACK_PROBES; i++)
		note(w, POLICY_EVENT_FORWARDED);
	for (int i = 2; i < FEEDBACK_PROBES; i++)
		assert_int_equal(note(w, POLICY_EVENT_USED), POLICY_CHANGE_NONE);
	assert_int_equal(note(w, POLICY_EVENT_USED), POLICY_CHANGE_RESUMED);
}

static void without_rules_there_is_nothing_to_count(void **state)
{
	(void)state;
	struct policy_rules none = {.fallback = POLICY_FORWARD};
	struct policy_feedback feedback;
	policy_feedback_init(&feedback, &none);
	assert_null(feedback.tallies);
	assert_int_equal(policy_feedback_note(&feedback, NULL, &(struct policy_outcome){.now = 1}),
	    POLICY_CHANGE_NONE);
	policy_feedback_fini(&feedback);
}

/* A hint has its own begin and end: a rule pauses for those that are ignored, and is tried again. */
static void hints_that_are_ignored_pause_their_rule(void **state)
{
	struct world *w = *state;
	for (unsigned i = 0; i < 20; i++) {
		note(w, POLICY_EVENT_AWAITED);
		assert_false(is_paused(w));
		note(w, i < 3 ? POLICY_EVENT_FOLLOWED : POLICY_EVENT_IGNORED);
	}
	assert_true(is_paused(w));
	assert_int_equal(policy_feedback_used_rate(&w->feedback.tallies[w->rule->index]), 1500);
	w->now += FEEDBACK_PAUSE_USEC;
	for (unsigned i = 0; i < FEEDBACK_PROBES; i++) {
		assert_false(is_paused(w));
		note(w, POLICY_EVENT_AWAITED);
		note(w, POLICY_EVENT_FOLLOWED);
	}
	assert_false(is_paused(w));
}

static void every_event_has_a_name(void **state)
{
	(void)state;
	const char *const names[POLICY_EVENT_COUNT] = {"offered", "forwarded", "held", "hinted",
	    "shadowed", "awaited", "used", "claimed", "followed", "reset", "expired", "ignored",
	    "withdrawn"};
	for (unsigned i = 0; i < POLICY_EVENT_COUNT; i++)
		assert_string_equal(policy_event_name((enum policy_event)i), names[i]);
}

#define FEEDBACK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    FEEDBACK_TEST(events_are_counted),
	    FEEDBACK_TEST(what_no_rule_decided_is_nobodys),
	    FEEDBACK_TEST(rule_is_not_judged_before_its_sample_is_full),
	    FEEDBACK_TEST(rule_that_is_used_enough_goes_on),
	    FEEDBACK_TEST(rule_without_a_share_never_pauses_for_resets),
	    FEEDBACK_TEST(rule_that_makes_errors_pauses_without_a_share),
	    FEEDBACK_TEST(held_responses_that_nobody_claims_count_as_unused),
	    FEEDBACK_TEST(pause_is_told_once_and_late_ends_change_nothing),
	    FEEDBACK_TEST(few_probes_go_through_after_a_pause),
	    FEEDBACK_TEST(good_probes_end_the_pause),
	    FEEDBACK_TEST(bad_probes_double_the_pause_up_to_its_bound),
	    FEEDBACK_TEST(probes_that_never_end_do_not_pause_for_ever),
	    FEEDBACK_TEST(what_is_long_ago_fades),
	    FEEDBACK_TEST(rule_that_names_no_sample_has_the_usual_one),
	    FEEDBACK_TEST(ends_of_what_set_out_earlier_are_no_probes),
	    FEEDBACK_TEST(hints_that_are_ignored_pause_their_rule),
	    cmocka_unit_test(without_rules_there_is_nothing_to_count),
	    cmocka_unit_test(every_event_has_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
