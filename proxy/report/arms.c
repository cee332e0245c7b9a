/* SPDX-License-Identifier: MIT */
/*
 * Comparisons of the arms of [preload] sections with share. Of each arm there is a histogram of the times to the first byte
 * of its page loads, whose buckets are less than 1.6 % wide. The medians of two arms differ if a rank test (Mann and
 * Whitney, with the correction for ties) says so: it supposes nothing about how such times are distributed.
 */
#include "proxy/report/report_private.h"

#include "proxy/base/memory.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Of each power of two. */
#define STEPS 64u
/* 2^36 µs are 19 hours. */
#define TIME_BITS 36u
#define BUCKETS ((TIME_BITS - 6) * STEPS + STEPS)

struct arm {
	char name[REPORT_ARM_NAME_BYTES];
	uint64_t loads; /* in the histogram */
	uint64_t counts[BUCKETS];
};

struct report_arms {
	struct arm *list[REPORT_ARMS_MOST]; /* owned */
	size_t count;
};

struct report_arms *report_arms_new(void)
{
	return memory_new(struct report_arms);
}

void report_arms_free(struct report_arms *a)
{
	for (size_t i = 0; a && i < a->count; i++)
		free(a->list[i]);
	free(a);
}

/* ---- the histogram ---- */

static size_t bucket_of(uint64_t time)
{
	const uint64_t most = (UINT64_C(1) << TIME_BITS) - 1;
	unsigned shift = 0;
	if (time > most)
		time = most;
	while (time >> shift >= 2 * STEPS)
		shift++;
	return shift * STEPS + (size_t)(time >> shift);
}

/* The middle of the bucket. */
static uint64_t time_of(size_t bucket)
{
	if (bucket < 2 * STEPS)
		return bucket;
	unsigned shift = (unsigned)(bucket / STEPS - 1);
	uint64_t first = (uint64_t)(bucket % STEPS + STEPS) << shift;
	return first + (UINT64_C(1) << shift) / 2;
}

static uint64_t quantile(const struct arm *a, unsigned percent)
{
	uint64_t rank = (a->loads * percent + 99) / 100, seen = 0;
	for (size_t i = 0; i < BUCKETS; i++) {
		seen += a->counts[i];
		if (seen > 0 && seen >= rank)
			return time_of(i);
	}
	return 0;
}

/* ---- lines ---- */

static struct arm *find(const struct report_arms *a, const char *name)
{
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->list[i]->name, name) == 0)
			return a->list[i];
	return NULL;
}

static struct arm *make(struct report_arms *a, const char *name)
{
	if (a->count == REPORT_ARMS_MOST || strlen(name) >= REPORT_ARM_NAME_BYTES)
		return NULL;
	struct arm *arm = a->list[a->count++] = memory_new(struct arm);
	memcpy(arm->name, name, strlen(name) + 1);
	return arm;
}

void report_arms_load(struct report_arms *a, const char *name, uint64_t first_byte)
{
	struct arm *arm = find(a, name);
	if (!arm)
		arm = make(a, name);
	if (!arm)
		return;
	arm->loads++;
	arm->counts[bucket_of(first_byte)]++;
}

void report_arms_end(struct report *r)
{
	for (size_t i = 0; i < r->arms->count; i++) {
		const struct arm *arm = r->arms->list[i];
		const struct report_figures f = {
		    .n = {[REPORT_MEDIAN] = quantile(arm, 50), [REPORT_P95] = quantile(arm, 95)}};
		report_groups_add(&r->groups[REPORT_BY_ARM], arm->name, &f);
	}
}

/* ---- comparisons ---- */

/* How far the ranks of the arm on are above those that chance gives, in standard deviations: above 0, its times are longer. */
static double rank_test(const struct arm *on, const struct arm *off)
{
	double n = (double)on->loads, m = (double)off->loads, all = n + m;
	double longer = 0, below = 0, ties = 0;
	for (size_t i = 0; i < BUCKETS; i++) {
		double a = (double)on->counts[i], b = (double)off->counts[i], t = a + b;
		longer += a * (below + b / 2);
		below += b;
		ties += t * t * t - t;
	}
	double variance = n * m / 12 * (all + 1 - ties / (all * (all - 1)));
	return variance > 0 ? (longer - n * m / 2) / sqrt(variance) : 0;
}

/* The probability of a value that is so far from 0, or farther. */
static double chance_of(double deviations)
{
	return erfc(fabs(deviations) / sqrt(2));
}

static uint64_t wasted_of(const struct report *r, const struct arm *arm)
{
	const struct report_group *group = report_groups_find(&r->groups[REPORT_BY_ARM], arm->name);
	const uint64_t *n = group ? group->figures.n : NULL;
	return n && n[REPORT_REQUESTS] > 0 ? n[REPORT_WASTED_BYTES] / n[REPORT_REQUESTS] : 0;
}

static void compare(struct report_comparison *c, const struct arm *on, const struct arm *off)
{
	c->loads[0] = off->loads;
	c->loads[1] = on->loads;
	c->median[0] = quantile(off, 50);
	c->median[1] = quantile(on, 50);
	if (on->loads < REPORT_ARM_SAMPLE || off->loads < REPORT_ARM_SAMPLE)
		return;
	double deviations = rank_test(on, off);
	c->chance = chance_of(deviations);
	c->verdict = c->chance >= REPORT_ARM_CHANCE ? REPORT_ARM_ALIKE
		     : deviations > 0               ? REPORT_ARM_LATER
						    : REPORT_ARM_SOONER;
}

/* The length of NAME in "NAME=on"; 0: the text is none. */
static size_t name_of(const char *on)
{
	size_t length = strlen(on);
	return length > 3 && strcmp(on + length - 3, "=on") == 0 ? length - 3 : 0;
}

size_t report_compare(const struct report *r, struct report_comparison list[REPORT_ARMS_MOST])
{
	static const struct arm none;
	size_t count = 0;
	for (size_t i = 0; i < r->arms->count; i++) {
		const struct arm *on = r->arms->list[i];
		char other[REPORT_ARM_NAME_BYTES + 8];
		int length = (int)name_of(on->name);
		if (length == 0)
			continue;
		snprintf(other, sizeof(other), "%.*s=off", length, on->name);
		const struct arm *off = find(r->arms, other);
		struct report_comparison *c = &list[count++];
		*c = (struct report_comparison){.verdict = REPORT_ARM_WAIT, .chance = 1};
		snprintf(c->name, sizeof(c->name), "%.*s", length, on->name);
		compare(c, on, off ? off : &none);
		c->wasted[0] = off ? wasted_of(r, off) : 0;
		c->wasted[1] = wasted_of(r, on);
	}
	return count;
}

const char *report_arm_verdict(enum report_arm_verdict v)
{
	static const char *const names[] = {"wait", "alike", "sooner", "later"};
	return names[v];
}

void report_comparison_text(const struct report_comparison *c, char text[REPORT_COMPARISON_BYTES])
{
	static const char *const words[] = {[REPORT_ARM_ALIKE] = "no sooner and no later",
	    [REPORT_ARM_SOONER] = "sooner",
	    [REPORT_ARM_LATER] = "later"};
	double on = (double)c->median[1] / 1000, off = (double)c->median[0] / 1000;
	if (c->verdict == REPORT_ARM_WAIT) {
		snprintf(text, REPORT_COMPARISON_BYTES,
		    ": too few page loads to compare: %" PRIu64 " with the offers, %" PRIu64
		    " without; each arm needs %u",
		    c->loads[1], c->loads[0], REPORT_ARM_SAMPLE);
		return;
	}
	snprintf(text, REPORT_COMPARISON_BYTES,
	    ": with the offers the first byte of a page comes %s (median %.1f ms with, %.1f ms "
	    "without; chance makes as much of a difference in %s%.0f of 100 comparisons). Wasted "
	    "bytes of a page load: %" PRIu64 " with, %" PRIu64 " without",
	    words[c->verdict], on, off, c->chance < REPORT_ARM_CHANCE ? "less than " : "",
	    c->chance < REPORT_ARM_CHANCE ? 1 : c->chance * 100, c->wasted[1], c->wasted[0]);
}
