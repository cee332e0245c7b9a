/* SPDX-License-Identifier: MIT */
/* See histogram.h. */
#include "proxy/observe/observe.h"

#include <inttypes.h>

/* X(microseconds, "seconds"): with a decimal point, so that both text formats, and every Prometheus, name a bucket alike. */
#define BOUNDS(X)                                                                                  \
	X(5000, "0.005")                                                                           \
	X(10000, "0.01")                                                                           \
	X(25000, "0.025")                                                                          \
	X(50000, "0.05")                                                                           \
	X(75000, "0.075")                                                                          \
	X(100000, "0.1")                                                                           \
	X(250000, "0.25")                                                                          \
	X(500000, "0.5")                                                                           \
	X(750000, "0.75")                                                                          \
	X(1000000, "1.0")                                                                          \
	X(2500000, "2.5")                                                                          \
	X(5000000, "5.0")                                                                          \
	X(7500000, "7.5")                                                                          \
	X(10000000, "10.0")

const usec histogram_bounds[HISTOGRAM_BOUNDS + 1] = {
#define ROW(bound, text) bound,
    BOUNDS(ROW) UINT64_MAX
#undef ROW
};

/* How many bounds are below 2 to the power of the index, which is the place of a span's highest bit. */
// clang-format off
const uint8_t histogram_first[HISTOGRAM_BITS] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 6, 7, 8, 10, 10, 11, 13,
	14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
	14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14, 14,
};
// clang-format on

const char *histogram_bound_text(size_t bucket)
{
	static const char *const texts[HISTOGRAM_BOUNDS + 1] = {
#define ROW(bound, text) text,
	    BOUNDS(ROW) "+Inf"
#undef ROW
	};
	return texts[bucket];
}

uint64_t histogram_total(const struct histogram *h)
{
	uint64_t total = 0;
	for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
		total += h->counts[i];
	return total;
}

void histogram_add(struct histogram *sum, const struct histogram *more)
{
	for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
		sum->counts[i] += more->counts[i];
	sum->sum += more->sum;
}

void histogram_print(const struct histogram *h, const char *name, const char *labels, FILE *out)
{
	uint64_t total = 0;
	for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++) {
		total += h->counts[i];
		fprintf(out, "%s_bucket{%s,le=\"%s\"} %" PRIu64 "\n", name, labels,
		    histogram_bound_text(i), total);
	}
	fprintf(out, "%s_sum{%s} %" PRIu64 ".%06" PRIu64 "\n", name, labels,
	    (uint64_t)(h->sum / USEC_PER_SEC), (uint64_t)(h->sum % USEC_PER_SEC));
	fprintf(out, "%s_count{%s} %" PRIu64 "\n", name, labels, total);
}
