/* SPDX-License-Identifier: MIT */
/* The samples of a status text, in Prometheus' text format as pushgate writes it. */
#include "proxy/top/top_private.h"

#include "proxy/base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void append(struct top_samples *s, struct top_sample sample)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 256;
		s->list = memory_resize(s->list, s->room, sizeof(*s->list));
	}
	s->list[s->count++] = sample;
}

/* The end of a label's value, which begins behind a quote. */
static size_t value_end(struct slice text)
{
	size_t i = 0;
	while (i < text.len && text.ptr[i] != '"')
		i += text.ptr[i] == '\\' ? 2 : 1;
	return i < text.len ? i : text.len;
}

/* Where the labels end: at a brace outside of quotes. */
static size_t labels_end(struct slice text)
{
	size_t i = 0;
	while (i < text.len && text.ptr[i] != '}')
		i += text.ptr[i] == '"' ? value_end(slice_from(text, i + 1)) + 2 : 1;
	return i < text.len ? i : text.len;
}

static void read_line(struct top_samples *s, struct slice line)
{
	struct top_sample sample = {0};
	size_t name = 0;
	while (name < line.len && line.ptr[name] != '{' && line.ptr[name] != ' ')
		name++;
	sample.name = slice_sub(line, 0, name);
	line = slice_from(line, name);
	if (line.len > 0 && line.ptr[0] == '{') {
		line = slice_from(line, 1);
		size_t end = labels_end(line);
		sample.labels = slice_sub(line, 0, end);
		line = slice_from(line, end < line.len ? end + 1 : end);
	}
	/* The text is of one allocation and ends with a zero, and a number ends with its line. */
	sample.value = line.len > 0 ? strtod(line.ptr, NULL) : 0;
	if (isfinite(sample.value))
		append(s, sample);
}

void top_samples_read(struct top_samples *s, char *text, double at)
{
	*s = (struct top_samples){.text = text, .at = at};
	struct slice rest = slice_of_string(text);
	while (rest.len > 0) {
		struct slice line = slice_cut(&rest, '\n');
		if (line.len > 0 && line.ptr[0] != '#')
			read_line(s, line);
	}
}

void top_samples_free(struct top_samples *s)
{
	free(s->list);
	free(s->text);
	*s = (struct top_samples){0};
}

struct slice top_label(const struct top_sample *sample, struct slice label)
{
	struct slice rest = sample->labels;
	while (rest.len > 0) {
		struct slice name = slice_cut(&rest, '=');
		if (rest.len == 0 || rest.ptr[0] != '"')
			break;
		rest = slice_from(rest, 1);
		size_t end = value_end(rest);
		if (slice_equal(name, label))
			return slice_sub(rest, 0, end);
		rest = slice_from(rest, end < rest.len ? end + 1 : end);
		if (rest.len > 0 && rest.ptr[0] == ',')
			rest = slice_from(rest, 1);
	}
	return (struct slice){0};
}

double top_sum(const struct top_samples *s, struct slice selector, bool *is_there)
{
	struct slice wanted = selector, name = slice_cut(&wanted, '{');
	struct slice label = slice_cut(&wanted, '=');
	double sum = 0;
	bool any = false;
	wanted = slice_sub(wanted, 1, wanted.len > 3 ? wanted.len - 3 : 0); /* "value"} */
	for (size_t i = 0; i < s->count; i++) {
		const struct top_sample *x = &s->list[i];
		if (!slice_equal(x->name, name) ||
		    (label.len > 0 && !slice_equal(top_label(x, label), wanted)))
			continue;
		sum += x->value;
		any = true;
	}
	if (is_there)
		*is_there = any;
	return sum;
}

/* ---- histograms ---- */

/* More than any histogram has. */
#define BUCKETS_MOST 64u

struct buckets {
	double bounds[BUCKETS_MOST], counts[BUCKETS_MOST]; /* counts: of values up to the bound */
	size_t count;
};

static bool is_bucket(const struct top_sample *x, struct slice histogram)
{
	return slice_starts_with(x->name, histogram) &&
	       slice_equal(slice_from(x->name, histogram.len), SLICE("_bucket"));
}

bool top_has_histogram(const struct top_samples *s, struct slice histogram)
{
	for (size_t i = 0; i < s->count; i++)
		if (is_bucket(&s->list[i], histogram))
			return true;
	return false;
}

static void add_bucket(struct buckets *b, double bound, double count)
{
	size_t i = 0;
	while (i < b->count && b->bounds[i] < bound)
		i++;
	if (i == b->count || b->bounds[i] != bound) {
		if (b->count == BUCKETS_MOST)
			return;
		memmove(&b->bounds[i + 1], &b->bounds[i], (b->count - i) * sizeof(*b->bounds));
		memmove(&b->counts[i + 1], &b->counts[i], (b->count - i) * sizeof(*b->counts));
		b->bounds[i] = bound;
		b->counts[i] = 0;
		b->count++;
	}
	b->counts[i] += count;
}

/* The series of all labels together, in order of their bounds. */
static void add_buckets(
    struct buckets *b, const struct top_samples *s, struct slice histogram, double sign)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct top_sample *x = &s->list[i];
		struct slice bound = top_label(x, SLICE("le"));
		if (is_bucket(x, histogram) && bound.len > 0)
			add_bucket(b, strtod(bound.ptr, NULL), sign * x->value);
	}
}

double top_quantile(const struct top_samples *before, const struct top_samples *now,
    struct slice histogram, double part)
{
	struct buckets b = {.count = 0};
	add_buckets(&b, now, histogram, 1);
	add_buckets(&b, before, histogram, -1);
	double all = b.count > 0 ? b.counts[b.count - 1] : 0, wanted = part * all;
	if (all <= 0)
		return -1;
	size_t i = 0;
	while (i < b.count - 1 && b.counts[i] < wanted)
		i++;
	double low = i > 0 ? b.bounds[i - 1] : 0, below = i > 0 ? b.counts[i - 1] : 0;
	if (!isfinite(b.bounds[i])) /* of the last bucket only its beginning is known */
		return low;
	double within = b.counts[i] - below;
	return within > 0 ? low + (b.bounds[i] - low) * (wanted - below) / within : b.bounds[i];
}
