/* SPDX-License-Identifier: MIT */
/* Hash indices over the encoder's dynamic table. */
#include "proxy/hpack/index.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"

void index_fini(struct index *x)
{
	free(x->links);
	free(x->pairs);
	free(x->seen);
	*x = (struct index){0};
}

static uint32_t *pair_bucket(const struct index *x, uint32_t key)
{
	return &x->pairs[key & (INDEX_PAIR_BUCKETS * x->slots - 1)];
}

static void link_entry(struct index *x, const struct table *t, uint32_t number)
{
	uint32_t mask = x->slots - 1;
	ensure(x->links && x->pairs && x->names);
	struct index_link *link = &x->links[number & mask];
	uint32_t *pair = pair_bucket(x, t->entries[number & mask].key);
	uint32_t *name = &x->names[link->name_key & mask];

	link->next_pair = *pair;
	link->next_name = *name;
	*pair = *name = number;
}

/*
 * Resizes to the table's slots and indexes its entries again, from the oldest to the one of this
 * age.
 */
static void rebuild(struct index *x, const struct table *t, uint32_t youngest)
{
	if (x->slots == t->slots)
		return;
	struct index_link *links = NULL;
	free(x->pairs);
	x->pairs = x->names = NULL;
	if (t->slots > 0) {
		links = memory_resize(NULL, t->slots, sizeof(*links));
		x->pairs = memory_zalloc((INDEX_PAIR_BUCKETS + 1) * t->slots * sizeof(*x->pairs));
		x->names = x->pairs + INDEX_PAIR_BUCKETS * t->slots;
		/* An empty bucket has number 0, which is older than every entry. */
		for (uint32_t age = t->count; x->slots > 0 && age >= youngest; age--) {
			uint32_t number = t->next - age;
			links[number & (t->slots - 1)] = x->links[number & (x->slots - 1)];
		}
	}
	uint32_t filed = x->slots > 0 ? t->count : 0;
	free(x->links);
	x->links = links;
	x->slots = t->slots;
	for (uint32_t age = filed; age >= youngest; age--)
		link_entry(x, t, t->next - age);
}

void index_follow(struct index *x, const struct table *t)
{
	rebuild(x, t, 1);
}

void index_insert(struct index *x, const struct table *t, uint32_t name_key)
{
	uint32_t number = t->next - 1;

	rebuild(x, t, 2);
	ensure(x->links != NULL);
	x->links[number & (x->slots - 1)].name_key = name_key;
	link_entry(x, t, number);
}

static inline bool has_name(
    const struct table *t, const struct table_entry *e, uint16_t token, struct slice name)
{
	return e->token == token && (e->name || slice_equal(table_name(t, e), name));
}

static inline bool is_field(
    const struct table *t, const struct table_entry *e, const struct http_field *f)
{
	return has_name(t, e, f->token, f->name) && slice_equal(table_value(t, e), f->value);
}

/* From the entry with this number on; last: the age of the one before it in the chain, 0 if there is none. No call is
 * made before an entry with the key is found, which nearly always is the one. */
static inline uint32_t find_key(
    const struct index *x, const struct table *t, uint32_t key, uint32_t *number, uint32_t last)
{
	uint32_t mask = x->slots - 1;
	/* Ages increase along a chain. A number reused after 2^32 insertions ends it too. */
	for (;;) {
		uint32_t age = t->next - *number;
		/* uncovered: a number that was used again after 2^32 inserts */
		if (age > t->count || age <= last)
			return 0;
		if (t->entries[*number & mask].key == key)
			return age;
		last = age;
		*number = x->links[*number & mask].next_pair;
	}
}

/* Another field has the same key. */
static RARE uint32_t find_further(const struct index *x, const struct table *t, uint32_t key,
    const struct http_field *f, uint32_t number)
{
	for (uint32_t age = t->next - number; age > 0;) {
		number = x->links[number & (x->slots - 1)].next_pair;
		age = find_key(x, t, key, &number, age);
		if (age > 0 && is_field(t, &t->entries[number & (x->slots - 1)], f))
			return age;
	}
	return 0;
}

uint32_t index_find_pair(
    const struct index *x, const struct table *t, uint32_t key, const struct http_field *f)
{
	if (t->count == 0)
		return 0;
	uint32_t number = *pair_bucket(x, key);
	uint32_t age = find_key(x, t, key, &number, 0);
	if (age == 0 || is_field(t, &t->entries[number & (x->slots - 1)], f))
		return age;
	return find_further(x, t, key, f, number);
}

uint32_t index_find_name(const struct index *x, const struct table *t, uint32_t name_key,
    uint16_t token, struct slice name)
{
	uint32_t mask = x->slots - 1, last = 0;

	if (t->count == 0)
		return 0;
	for (uint32_t number = x->names[name_key & mask];;) {
		uint32_t age = t->next - number;
		/* uncovered: a number that was used again after 2^32 inserts */
		if (age > t->count || age <= last)
			return 0;
		if (x->links[number & mask].name_key == name_key &&
		    has_name(t, &t->entries[number & mask], token, name))
			return age;
		last = age;
		number = x->links[number & mask].next_name;
	}
}

/* Half of a key tells it from the few of its set; to mistake it costs an entry of the table. */
static uint16_t mark_of(uint32_t key)
{
	return (uint16_t)(key >> 16 | 1u);
}

bool index_saw(struct index *x, uint32_t key)
{
	if (!x->seen)
		x->seen = memory_zalloc(INDEX_SEEN * sizeof(*x->seen));
	uint16_t *set = &x->seen[key % (INDEX_SEEN / INDEX_SEEN_SET) * INDEX_SEEN_SET];
	uint16_t mark = mark_of(key);
	for (uint32_t i = 0; i < INDEX_SEEN_SET; i++) {
		if (set[i] == mark) {
			set[i] = 0; /* the caller inserts the field now */
			return true;
		}
	}
	memmove(set + 1, set, (INDEX_SEEN_SET - 1) * sizeof(*set));
	set[0] = mark;
	return false;
}

size_t index_memory(const struct index *x)
{
	return x->slots * (sizeof(*x->links) + (INDEX_PAIR_BUCKETS + 1) * sizeof(*x->pairs)) +
	       (x->seen ? INDEX_SEEN * sizeof(*x->seen) : 0);
}

void index_check(const struct index *x, const struct table *t)
{
	ensure(x->slots == t->slots);
	for (uint32_t age = 1; age <= t->count; age++) {
		const struct table_entry *e = table_at(t, age);
		uint32_t name_key = x->links[(t->next - age) & (x->slots - 1)].name_key;
		struct slice name = table_name(t, e);
		const struct http_field f = {
		    .name = name, .value = table_value(t, e), .token = e->token};
		uint32_t pair = index_find_pair(x, t, e->key, &f);
		uint32_t newest = index_find_name(x, t, name_key, e->token, name);

		ensure(pair >= 1 && pair <= age && newest >= 1 && newest <= age);
	}
}
