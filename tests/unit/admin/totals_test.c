/* SPDX-License-Identifier: MIT */
/* Counters of several generations in one sum: what has a name is found again by it. */
#include "proxy/base/memory.h"
#include "proxy/admin/admin.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = OBSERVE_RULES + 2 };

/* A configuration of rules and routes with these names. */
struct names {
	struct conf conf;
	struct policy_rule rules[MOST];
	struct conf_route routes[MOST];
	char texts[MOST][16];
};

static void add(struct names *n, const char *name)
{
	size_t i = n->conf.route_count;
	snprintf(n->texts[i], sizeof(n->texts[i]), "%s", name);
	n->rules[i].name = n->routes[i].name = n->texts[i];
	n->conf.policy.rules = n->rules;
	n->conf.routes = n->routes;
	n->conf.policy.count = n->conf.route_count = i + 1;
}

static const struct observe_rule *rule_of(const struct totals *t, const char *name)
{
	for (size_t i = 0; i < t->rule_count; i++)
		if (strcmp(t->rules[i].name, name) == 0)
			return &t->rules[i].counts;
	return NULL;
}

static uint64_t limited(const struct totals *t, const char *name)
{
	uint64_t n = 0;
	for (size_t i = 0; i < t->limited.count; i++)
		if (strcmp(t->limited.list[i].name, name) == 0)
			n += t->limited.list[i].n[0];
	return n;
}

static void rule_and_route_that_have_moved_are_found_again(void **state)
{
	(void)state;
	struct names *first = memory_new(struct names), *second = memory_new(struct names);
	struct observe_counters *slots = memory_zalloc(2 * sizeof(*slots));
	struct totals *ended = totals_new(), *all = totals_new();
	add(first, "a");
	add(first, "b");
	add(second, "new");
	add(second, "b");
	add(second, "a");
	slots[0].requests = 10;
	slots[1].requests = 20;
	slots[0].rules[0].used_bytes = 1;
	slots[1].rules[1].used_bytes = 2;
	slots[0].route_limited[1][0] = 3;
	slots[0].push_off_until[0] = 99;
	totals_add(ended, &first->conf, slots, 2, false);
	memset(slots, 0, 2 * sizeof(*slots));
	slots[0].requests = 5;
	slots[0].rules[0].used_bytes = 100;
	slots[0].rules[1].used_bytes = 200;
	slots[0].rules[2].used_bytes = 300;
	slots[0].route_limited[0][0] = 400;
	slots[0].route_limited[1][0] = 500;
	totals_add(all, &second->conf, slots, 1, true);
	totals_add_totals(all, ended);
	assert_int_equal(all->whole.requests, 35);
	assert_int_equal(rule_of(all, "new")->used_bytes, 100);
	assert_int_equal(rule_of(all, "b")->used_bytes, 202);
	assert_int_equal(rule_of(all, "a")->used_bytes, 301);
	assert_int_equal(limited(all, "new"), 400);
	assert_int_equal(limited(all, "b"), 503);
	assert_int_equal(limited(all, "a"), 0);
	/* A place of a configuration that is gone says nothing of this one. */
	assert_int_equal(all->whole.push_off_until[0], 0);
	assert_int_equal(all->whole.rules[0].used_bytes, 0);
	totals_free(ended);
	totals_free(all);
	free(slots);
	free(first);
	free(second);
}

static void names_without_end_are_counted_together(void **state)
{
	(void)state;
	struct observe_counters *slot = memory_new(struct observe_counters);
	struct totals *t = totals_new();
	uint64_t sum = 0;
	slot->rules[0].used_bytes = slot->rules[OBSERVE_RULES].used_bytes = 1;
	slot->route_limited[0][0] = 1;
	for (unsigned i = 0; i < TOTALS_NAMES + 10; i++) {
		struct names *n = memory_new(struct names);
		char name[16];
		snprintf(name, sizeof(name), "r%u", i);
		add(n, name);
		totals_add(t, &n->conf, slot, 1, false);
		free(n);
	}
	assert_int_equal(t->rule_count, TOTALS_NAMES);
	assert_int_equal(t->limited.count, TOTALS_NAMES);
	for (size_t i = 0; i < t->rule_count; i++)
		sum += t->rules[i].counts.used_bytes;
	assert_int_equal(sum, TOTALS_NAMES);
	assert_int_equal(t->whole.rules[OBSERVE_RULES].used_bytes, TOTALS_NAMES + 20);
	totals_free(t);
	free(slot);
}

static void name_without_a_place_has_none_when_its_generation_has_ended(void **state)
{
	(void)state;
	struct observe_counters *slot = memory_new(struct observe_counters);
	struct totals *ended = totals_new(), *all;
	struct names *known = memory_new(struct names), *late = memory_new(struct names);
	slot->rules[0].used_bytes = 1;
	for (unsigned i = 0; i < TOTALS_NAMES - 1; i++) {
		struct names *n = memory_new(struct names);
		char name[16];
		snprintf(name, sizeof(name), "r%u", i);
		add(n, name);
		totals_add(ended, &n->conf, slot, 1, false);
		free(n);
	}
	/* Two serve at once, and that which has begun later ends first. */
	add(known, "known");
	add(late, "late");
	totals_know(ended, &known->conf);
	totals_know(ended, &late->conf);
	for (int has_ended = 0; has_ended < 2; has_ended++) {
		all = totals_new();
		totals_add_totals(all, ended);
		totals_add(all, &known->conf, slot, 1, true);
		if (!has_ended)
			totals_add(all, &late->conf, slot, 1, true);
		assert_int_equal(rule_of(all, "known")->used_bytes, 1);
		assert_null(rule_of(all, "late"));
		assert_int_equal(all->whole.rules[OBSERVE_RULES].used_bytes, 1);
		totals_free(all);
		totals_add(ended, &late->conf, slot, 1, false);
	}
	totals_free(ended);
	free(known);
	free(late);
	free(slot);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rule_and_route_that_have_moved_are_found_again),
	    cmocka_unit_test(names_without_end_are_counted_together),
	    cmocka_unit_test(name_without_a_place_has_none_when_its_generation_has_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
