/* SPDX-License-Identifier: MIT */
/*
 * Totals as bytes, for another process of the same program: records, each of a head, a name and the values as they lie in
 * memory.
 */
#include "proxy/admin/totals.h"

#include <string.h>

/* Series have the number of their family behind that of the last kind. */
enum record_kind { RECORD_WHOLE, RECORD_RULE, RECORD_ROUTE, RECORD_ARM, RECORD_SERIES };

/* Both lengths are multiples of 8, and so are the places of values. */
struct record {
	uint32_t kind;
	uint16_t name_bytes; /* with the NULs behind it */
	uint32_t value_bytes;
};

struct writer {
	unsigned char *at, *end;
};

static size_t rounded(size_t n)
{
	return (n + 7) / 8 * 8;
}

/* Whatever does not fit is left out. */
static void write_record(
    struct writer *w, uint32_t kind, const char *name, const void *value, size_t value_bytes)
{
	size_t length = strlen(name) + 1;
	const struct record r = {.kind = kind,
	    .name_bytes = (uint16_t)rounded(length),
	    .value_bytes = (uint32_t)value_bytes};
	size_t head = rounded(sizeof(r));
	if (rounded(length) > UINT16_MAX ||
	    head + r.name_bytes + value_bytes > (size_t)(w->end - w->at))
		return;
	memcpy(w->at, &r, sizeof(r));
	memset(w->at + head, 0, r.name_bytes);
	memcpy(w->at + head, name, length);
	memcpy(w->at + head + r.name_bytes, value, value_bytes);
	w->at += head + r.name_bytes + value_bytes;
}

static void write_pairs(struct writer *w, uint32_t kind, const struct totals_pairs *p)
{
	for (size_t i = 0; i < p->count; i++)
		write_record(w, kind, p->list[i].name, p->list[i].n, sizeof(p->list[i].n));
}

struct totals_flat totals_flatten(const struct totals *t, void *bytes, size_t size)
{
	struct writer w = {bytes, (unsigned char *)bytes + size};
	_Static_assert(sizeof(t->whole) % 8 == 0 && sizeof(t->rules[0].counts) % 8 == 0 &&
			   sizeof(t->limited.list[0].n) % 8 == 0,
	    "values keep their places aligned");
	write_record(&w, RECORD_WHOLE, "", &t->whole, sizeof(t->whole));
	for (size_t i = 0; i < t->rule_count; i++)
		write_record(&w, RECORD_RULE, t->rules[i].name, &t->rules[i].counts,
		    sizeof(t->rules[i].counts));
	write_pairs(&w, RECORD_ROUTE, &t->limited);
	write_pairs(&w, RECORD_ARM, &t->arms);
	struct totals_flat flat = {.counters = (size_t)(w.at - (unsigned char *)bytes)};
	list_for_each(&t->in_order, s, struct totals_series, link)
	    write_record(&w, RECORD_SERIES + s->id, s->labels, &s->histogram, sizeof(s->histogram));
	flat.bytes = (size_t)(w.at - (unsigned char *)bytes);
	return flat;
}

static void take_record(
    struct totals *t, const struct record *r, const char *name, const void *value)
{
	if (r->kind == RECORD_WHOLE)
		observe_counters_add(&t->whole, value);
	else if (r->kind == RECORD_RULE)
		totals_add_rule(t, name, value);
	else if (r->kind == RECORD_ROUTE)
		totals_add_pair(&t->limited, name, value);
	else if (r->kind == RECORD_ARM)
		totals_add_pair(&t->arms, name, value);
	else
		histogram_add(
		    totals_series(t, (enum series_id)(r->kind - RECORD_SERIES), name), value);
}

bool totals_unflatten(struct totals *t, const void *bytes, size_t size, size_t *at, size_t most)
{
	for (; *at < size && most > 0; most--) {
		const unsigned char *next = (const unsigned char *)bytes + *at;
		struct record r;
		memcpy(&r, next, sizeof(r));
		const char *name = (const char *)next + rounded(sizeof(r));
		take_record(t, &r, name, name + r.name_bytes);
		*at += rounded(sizeof(r)) + r.name_bytes + r.value_bytes;
	}
	return *at < size;
}
