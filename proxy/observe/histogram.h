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

/* The last one is above all spans. */
extern const usec histogram_bounds[HISTOGRAM_BOUNDS + 1];

/* By the place of a span's highest bit: the first bucket that it may be in. No more than two bounds have it in one place. */
#define HISTOGRAM_BITS 64u
extern const uint8_t histogram_first[HISTOGRAM_BITS];

/* Without a branch: what it costs depends on no span. */
static inline size_t histogram_bucket(usec span)
{
	const usec *b = histogram_bounds;
	size_t i = histogram_first[HISTOGRAM_BITS - 1 - (unsigned)__builtin_clzll(span | 1)];
	i += span > b[i];
	i += span > b[i];
	return i;
}

static inline void histogram_count(struct histogram *h, usec span)
{
	h->counts[histogram_bucket(span)]++;
	h->sum += span;
}

uint64_t histogram_total(const struct histogram *h);
void histogram_add(struct histogram *sum, const struct histogram *more);
/* The upper bound of a bucket as Prometheus writes it: "0.005", "+Inf". */
const char *histogram_bound_text(size_t bucket);
/* Prints NAME_bucket, NAME_sum and NAME_count. labels: as a sample has them, without braces. */
void histogram_print(const struct histogram *h, const char *name, const char *labels, FILE *out);

#endif
