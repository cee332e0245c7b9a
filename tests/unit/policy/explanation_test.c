/* SPDX-License-Identifier: MIT */
/* A watched decision says what an unwatched one does, and names each step of it. */
#include "proxy/base/list.h"
#include "tests/unit/policy/offer.h"
#include <stdio.h>

struct heard {
	struct policy_watch watch;
	char text[512];
};

static struct heard *heard_of(const struct policy_watch *watch)
{
	return container_of((uintptr_t)watch, struct heard, watch);
}

static void hear_guard(const struct policy_watch *watch, const struct policy_reason *guard, bool holds_up)
{
	struct heard *h = heard_of(watch);
	size_t n = strlen(h->text);
	if (guard && holds_up)
		snprintf(h->text + n, sizeof h->text - n, "!%s ", guard->code);
}

static void hear_rule(const struct policy_watch *watch, const struct policy_rule *rule, const char *condition)
{
	struct heard *h = heard_of(watch);
	size_t n = strlen(h->text);
	snprintf(h->text + n, sizeof h->text - n, "%s%s%s ", rule->name, condition ? "-" : "+",
	    condition ? condition : "");
}

static void hears(struct scene *s, enum policy_action action, const char *expected)
{
	struct heard heard = {{hear_guard, hear_rule}, ""};
	struct policy_verdict v = policy_decide_with(&s->set, NULL, &s->offer, NULL, &heard.watch);
	struct policy_verdict same = policy_decide(&s->set, &s->offer);
	assert_string_equal(heard.text, expected);
	assert_int_equal(v.action, action);
	assert_int_equal(v.action, same.action);
	assert_ptr_equal(v.reason, same.reason);
	assert_ptr_equal(v.rule, same.rule);
	assert_ptr_equal(v.lost_half, same.lost_half);
}

static void rules_are_told_in_order_up_to_the_one_that_takes_it(void **state)
{
	(void)state;
	struct scene s;
	scene_init(&s);
	scene_rule(&s, "pictures", POLICY_DROP)->types = 1u << POLICY_TYPE_IMAGE;
	scene_rule(&s, "any", POLICY_FORWARD);
	scene_rule(&s, "never", POLICY_DROP);
	hears(&s, POLICY_FORWARD, "pictures-type any+ ");
	scene_fini(&s);
}

static void the_version_of_the_request_is_told_as_a_condition(void **state)
{
	(void)state;
	struct scene s;
	scene_init(&s);
	s.parent->version = HTTP_VERSION_2;
	scene_rule(&s, "old", POLICY_DROP)->versions = 1u << HTTP_VERSION_1_0 | 1u << HTTP_VERSION_1_1;
	scene_rule(&s, "new", POLICY_FORWARD)->versions = 1u << HTTP_VERSION_2;
	hears(&s, POLICY_FORWARD, "old-version new+ ");
	scene_fini(&s);
}

static void a_guard_before_the_rules_ends_it(void **state)
{
	(void)state;
	struct scene s;
	scene_init(&s);
	scene_rule(&s, "any", POLICY_FORWARD);
	s.offer.parent_gone = true;
	hears(&s, POLICY_DROP, "!parent-gone ");
	scene_fini(&s);
}

static void guards_that_take_each_half_are_both_told(void **state)
{
	(void)state;
	struct scene s;
	scene_init(&s);
	scene_rule(&s, "any", POLICY_HINT_HOLD);
	s.offer.hold_refusal = &policy_reason_HOLD_SHARED;
	hears(&s, POLICY_HINT, "any+ !hold-shared ");
	s.offer.hint_refusal = &policy_reason_HINT_LATE;
	hears(&s, POLICY_DROP, "any+ !hold-shared !hint-late ");
	scene_fini(&s);
}

static void a_shadow_rule_is_told_and_decides_nothing(void **state)
{
	(void)state;
	struct scene s;
	scene_init(&s);
	scene_rule(&s, "shadow", POLICY_DROP)->shadow = true;
	scene_rule(&s, "live", POLICY_FORWARD);
	hears(&s, POLICY_FORWARD, "shadow+ live+ ");
	scene_fini(&s);
}

static void a_condition_on_the_client_is_named(void **state)
{
	(void)state;
	struct scene s;
	scene_init(&s);
	struct policy_rule *rule = scene_rule(&s, "r", POLICY_DROP);
	rule->push_enabled = POLICY_NO;
	scene_rule(&s, "any", POLICY_FORWARD);
	hears(&s, POLICY_FORWARD, "r-push-enabled any+ ");
	scene_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rules_are_told_in_order_up_to_the_one_that_takes_it),
	    cmocka_unit_test(the_version_of_the_request_is_told_as_a_condition),
	    cmocka_unit_test(a_guard_before_the_rules_ends_it),
	    cmocka_unit_test(guards_that_take_each_half_are_both_told),
	    cmocka_unit_test(a_shadow_rule_is_told_and_decides_nothing),
	    cmocka_unit_test(a_condition_on_the_client_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
