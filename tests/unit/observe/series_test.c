/* SPDX-License-Identifier: MIT */
/* Histograms, and the table of series that workers share. */
#include "proxy/base/memory.h"
#include "proxy/observe/observe.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- histograms ---- */

static void a_span_is_in_the_first_bucket_whose_bound_it_does_not_exceed(void **state)
{
	(void)state;
	for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++) {
		struct histogram h = {0};
		histogram_count(&h, histogram_bounds[i]);
		histogram_count(&h, histogram_bounds[i] + 1);
		assert_int_equal(h.counts[i], 1);
		assert_int_equal(h.counts[i + 1], 1);
		assert_int_equal(h.sum, 2 * histogram_bounds[i] + 1);
		assert_int_equal(histogram_total(&h), 2);
		assert_true(i == 0 || histogram_bounds[i - 1] < histogram_bounds[i]);
		/* The text says the same. */
		double bound = strtod(histogram_bound_text(i), NULL) * 1e6;
		assert_int_equal((usec)(bound + 0.5), histogram_bounds[i]);
	}
	struct histogram h = {0};
	histogram_count(&h, 0);
	histogram_count(&h, UINT64_MAX / 2);
	assert_int_equal(h.counts[0], 1);
	assert_int_equal(h.counts[HISTOGRAM_BOUNDS], 1);
}

static void the_bucket_is_found_for_each_size_of_a_span(void **state)
{
	(void)state;
	for (unsigned bit = 0; bit < HISTOGRAM_BITS; bit++)
		for (usec offset = 0; offset < 64; offset++) {
			usec span = ((usec)1 << bit) + (((usec)1 << bit) / 64) * offset - (offset % 2);
			size_t i = 0;
			while (i < HISTOGRAM_BOUNDS && span > histogram_bounds[i])
				i++;
			assert_int_equal(histogram_bucket(span), i);
		}
}

static void a_histogram_is_printed_with_cumulative_buckets(void **state)
{
	(void)state;
	struct histogram h = {0};
	char *text = NULL;
	size_t size;
	histogram_count(&h, 7000);
	histogram_count(&h, 7000);
	histogram_count(&h, 2000000);
	histogram_count(&h, 11000000);
	FILE *out = open_memstream(&text, &size);
	histogram_print(&h, "a_seconds", "b=\"c\"", out);
	fclose(out);
	assert_string_equal(text,
	    "a_seconds_bucket{b=\"c\",le=\"0.005\"} 0\n"
	    "a_seconds_bucket{b=\"c\",le=\"0.01\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"0.025\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"0.05\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"0.075\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"0.1\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"0.25\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"0.5\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"0.75\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"1.0\"} 2\n"
	    "a_seconds_bucket{b=\"c\",le=\"2.5\"} 3\n"
	    "a_seconds_bucket{b=\"c\",le=\"5.0\"} 3\n"
	    "a_seconds_bucket{b=\"c\",le=\"7.5\"} 3\n"
	    "a_seconds_bucket{b=\"c\",le=\"10.0\"} 3\n"
	    "a_seconds_bucket{b=\"c\",le=\"+Inf\"} 4\n"
	    "a_seconds_sum{b=\"c\"} 13.014000\n"
	    "a_seconds_count{b=\"c\"} 4\n");
	free(text);
}

/* ---- series ---- */

enum { LISTENS = 2, ROUTES = 3, ORIGINS = 2, LANES = 2 };

static size_t servers(const void *context, size_t origin)
{
	return ((const size_t *)context)[origin];
}

struct table {
	struct series series;
	void *memory;
};

static struct table table_new(uint32_t most)
{
	static const size_t lines[ORIGINS] = {1, 4};
	const struct series_sizes sizes = {LISTENS, ROUTES, ORIGINS, servers, lines};
	struct table t;
	t.memory = memory_zalloc(series_init(&t.series, &sizes, most, LANES) + 64);
	series_attach(&t.series, (void *)(((uintptr_t)t.memory + 63) / 64 * 64));
	return t;
}

static void table_free(struct table *t)
{
	series_fini(&t->series);
	free(t->memory);
}

/* The sums of all series; returns their number. */
static size_t sums(const struct table *t, struct series_sum *all, size_t most)
{
	size_t count = 0, at = 0;
	while (count < most && series_next(&t->series, &at, &all[count]))
		count++;
	return count;
}

static void each_combination_of_labels_has_a_series(void **state)
{
	(void)state;
	struct table t = table_new(100);
	struct series_sum all[100];
	struct series_lane a = series_lane(&t.series, 0), b = series_lane(&t.series, 1);
	/* Span n for the n-th combination, in both lanes. */
	usec n = 0;
	for (size_t listen = 0; listen <= LISTENS; listen++)
		for (size_t route = 0; route <= ROUTES; route++) {
			series_count(&a, SERIES_REQUEST, listen, route, ++n);
			series_count(&b, SERIES_REQUEST, listen, route, n);
		}
	for (size_t server = 0; server <= 4; server++)
		series_count(&b, SERIES_CONNECT, 2, server, ++n);
	series_count(&b, SERIES_CONNECT, 1, 1, ++n);
	series_count(&b, SERIES_CONNECT, 0, 0, ++n);
	series_count(&a, SERIES_TLS, 2, 0, ++n);
	series_count(&a, SERIES_QUEUE, 1, 0, ++n);
	assert_int_equal(sums(&t, all, 100), n);
	assert_int_equal(series_used(&t.series), n);
	assert_int_equal(series_left_out(&t.series), 0);
	for (size_t i = 0; i < n; i++) {
		bool is_request = all[i].id == SERIES_REQUEST;
		assert_false(all[i].is_rest);
		assert_int_equal(histogram_total(&all[i].histogram), is_request ? 2 : 1);
		assert_int_equal(all[i].histogram.sum, (is_request ? 2 : 1) * (i + 1));
		if (is_request) {
			assert_int_equal(all[i].first, i / (ROUTES + 1));
			assert_int_equal(all[i].second, i % (ROUTES + 1));
		}
	}
	const struct series_sum *last = &all[n - 5];
	assert_int_equal(last->id, SERIES_CONNECT);
	assert_int_equal(last->first, 2);
	assert_int_equal(last->second, 4);
	table_free(&t);
}

static void what_comes_later_than_max_series_is_counted_together(void **state)
{
	(void)state;
	struct table t = table_new(2);
	struct series_sum all[10];
	struct series_lane l = series_lane(&t.series, 1);
	for (int times = 0; times < 3; times++)
		for (size_t route = 0; route <= ROUTES; route++) {
			series_count(&l, SERIES_PUSH, route, 0, 10);
			series_count(&l, SERIES_CLAIM, route, 0, 100);
		}
	assert_int_equal(sums(&t, all, 10), 4);
	assert_int_equal(series_used(&t.series), 2);
	assert_int_equal(series_left_out(&t.series), 6);
	uint64_t pushes = 0, claims = 0;
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(all[i].is_rest, i < 2);
		*(all[i].id == SERIES_PUSH ? &pushes : &claims) += histogram_total(&all[i].histogram);
		if (all[i].is_rest)
			assert_int_equal(histogram_total(&all[i].histogram), 9);
	}
	assert_int_equal(pushes, 12);
	assert_int_equal(claims, 12);
	table_free(&t);
}

static void without_places_all_of_a_family_is_counted_together(void **state)
{
	(void)state;
	struct table t = table_new(0);
	struct series_sum sum;
	size_t at = 0;
	struct series_lane l = series_lane(&t.series, 0);
	series_count(&l, SERIES_TLS, 1, 0, 5);
	series_count(&l, SERIES_TLS, 2, 0, 6);
	assert_true(series_next(&t.series, &at, &sum));
	assert_true(sum.is_rest && sum.id == SERIES_TLS && sum.histogram.sum == 11);
	assert_false(series_next(&t.series, &at, &sum));
	table_free(&t);
}

static void a_worker_without_a_table_counts_nothing(void **state)
{
	(void)state;
	const struct series_lane none = {0};
	series_count(&none, SERIES_REQUEST, 1, 1, 5);
}

/* A worker that is not ours any more writes what it likes into the table. */
static void forged_numbers_lead_nowhere(void **state)
{
	(void)state;
	static const uint32_t forged[] = {1000, UINT32_MAX, SERIES_FAMILIES + 11};
	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		struct table t = table_new(10);
		struct series_sum all[30];
		struct series_lane l = series_lane(&t.series, 0);
		for (size_t cell = 0; cell < t.series.first[SERIES_FAMILIES]; cell++)
			atomic_store(&t.series.number_of[cell], forged[i]);
		for (int times = 0; times < 50; times++)
			series_count(&l, SERIES_REQUEST, 1, 1, 5);
		assert_in_range(sums(&t, all, 30), 1, 30);
		atomic_store(t.series.used, forged[i]);
		for (size_t n = 0; n < 10; n++)
			atomic_store(&t.series.cell_of[n], forged[i]);
		assert_in_range(sums(&t, all, 30), 1, 30);
		assert_int_equal(series_used(&t.series), 10);
		table_free(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_span_is_in_the_first_bucket_whose_bound_it_does_not_exceed),
	    cmocka_unit_test(the_bucket_is_found_for_each_size_of_a_span),
	    cmocka_unit_test(a_histogram_is_printed_with_cumulative_buckets),
	    cmocka_unit_test(each_combination_of_labels_has_a_series),
	    cmocka_unit_test(what_comes_later_than_max_series_is_counted_together),
	    cmocka_unit_test(without_places_all_of_a_family_is_counted_together),
	    cmocka_unit_test(a_worker_without_a_table_counts_nothing),
	    cmocka_unit_test(forged_numbers_lead_nowhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
