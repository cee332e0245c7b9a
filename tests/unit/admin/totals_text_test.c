/* SPDX-License-Identifier: MIT */
/* Totals as a text: all counters come back, and names of another version do no harm. */
#include "proxy/base/memory.h"
#include "proxy/admin/admin.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct totals *full(void)
{
	struct totals *t = totals_new();
	struct observe_counters *c = &t->whole;
	c->requests = 1;
	c->tls_renewed = UINT64_MAX;
	c->push[POLICY_SOURCE_COUNT - 1][POLICY_ACTION_COUNT - 1][POLICY_REASON_COUNT - 1] = 3;
	c->faults[OBSERVE_CLIENT][0] = 4;
	c->faults[OBSERVE_ORIGIN][1] = 5;
	c->causes[2] = 6;
	c->misses[1] = 7;
	c->denials[1] = 8;
	c->rules[OBSERVE_RULES].wasted_bytes = 9;
	totals_rule(t, "a rule")->events[POLICY_EVENT_COUNT - 1] = 10;
	totals_rule(t, "a rule")->reset_usec = 11;
	totals_rule(t, "b")->used_bytes = 12;
	totals_add_pair(&t->limited, "r", (const uint64_t[2]){13, 14});
	totals_add_pair(&t->arms, "shop", (const uint64_t[2]){15, 16});
	histogram_count(totals_series(t, SERIES_REQUEST, "listen=\"l\",route=\"r s\""), 15);
	histogram_count(totals_series(t, SERIES_TLS, "listen=\"l\""), 20 * USEC_PER_SEC);
	return t;
}

static char *text_of(struct totals *t, size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);
	assert_non_null(out);
	totals_write(t, out);
	fclose(out);
	return text;
}

static void all_counters_come_back(void **state)
{
	(void)state; /* covers: R662 */
	size_t size, again;
	struct totals *t = full(), *copy = totals_new();
	char *text = text_of(t, &size);
	totals_read(copy, slice_of(text, size));
	assert_memory_equal(&t->whole, &copy->whole, sizeof(t->whole));
	assert_int_equal(copy->rule_count, 2);
	assert_int_equal(totals_rule(copy, "a rule")->reset_usec, 11);
	assert_int_equal(copy->limited.count, 1);
	assert_int_equal(copy->limited.list[0].n[1], 14);
	assert_int_equal(copy->arms.count, 1);
	assert_int_equal(copy->arms.list[0].n[0], 15);
	assert_int_equal(copy->arms.list[0].n[1], 16);
	assert_int_equal(copy->series.count, 2);
	assert_int_equal(totals_series(copy, SERIES_REQUEST, "listen=\"l\",route=\"r s\"")->counts[0], 1);
	const struct histogram *h = totals_series(copy, SERIES_TLS, "listen=\"l\"");
	assert_int_equal(h->counts[HISTOGRAM_BOUNDS], 1);
	assert_int_equal(h->sum, 20 * USEC_PER_SEC);
	char *second = text_of(copy, &again);
	assert_string_equal(text, second);
	/* It adds. */
	totals_read(copy, SLICE("counter\trequests\t4\n"));
	assert_int_equal(copy->whole.requests, 5);
	free(text);
	free(second);
	totals_free(t);
	totals_free(copy);
}

static void unknown_names_and_broken_lines_are_passed_over(void **state)
{
	(void)state;
	struct totals *t = totals_new(), *none = totals_new();
	totals_read(t, SLICE("counter\tof another version\t1\ncause\n\n\t\t\t7\ncounter\trequests\t-1\n"
			     "counter\trequests\t2\nrule\t\t1\nno tab 5\ncounter\trequests\t3x"));
	assert_int_equal(t->whole.requests, 2);
	totals_read(none, SLICE(""));
	t->whole.requests = 0;
	assert_memory_equal(&t->whole, &none->whole, sizeof(t->whole));
	totals_free(t);
	totals_free(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_counters_come_back),
	    cmocka_unit_test(unknown_names_and_broken_lines_are_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
