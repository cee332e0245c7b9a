/* SPDX-License-Identifier: MIT */
/*
 * A histogram of spans of time, in the buckets that OpenTelemetry advises for http.server.request.duration:
 * https://opentelemetry.io/docs/specs/semconv/http/http-metrics/
 * Included by observe.h.
 */
#ifndef PUSHGATE_OBSERVE_HISTOGRAM_H
#define PUSHGATE_OBSERVE_HISTOGRAM_H

#include "proxy/base/clock.h"
#include <stdio.h>

#define HISTOGRAM_BOUNDS 14u

struct histogram {
	/* Spans above the bound before and at most this one; the last: above all bounds. */
	uint64_t counts[HISTOGRAM_BOUNDS + 1];
	usec sum;
};

extern const usec histogram_bounds[HISTOGRAM_BOUNDS];

/* Most spans are short: the search ends early, and the processor guesses it right. */
static inline void histogram_count(struct histogram *h, usec span)
{
	size_t i = 0;
	while (i < HISTOGRAM_BOUNDS && span > histogram_bounds[i])
		i++;
	h->counts[i]++;
	h->sum += span;
}

uint64_t histogram_total(const struct histogram *h);
void histogram_add(struct histogram *sum, const struct histogram *more);
/* The upper bound of a bucket as Prometheus writes it: "0.005", "+Inf". */
const char *histogram_bound_text(size_t bucket);
/* Prints NAME_bucket, NAME_sum and NAME_count. labels: as a sample has them, without braces. */
void histogram_print(const struct histogram *h, const char *name, const char *labels, FILE *out);

#endif
