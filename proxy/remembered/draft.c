/* SPDX-License-Identifier: MIT */
/*
 * A lesson in the making. The draft is the message: the name of the page and its rules are there from the beginning, items
 * are added while the page passes. What the client said itself is taken out at the end, once for all items.
 */
#include "proxy/remembered/message.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <string.h>

enum { FIRST_BYTES = 1024 };

struct remembered_draft {
	const struct remembered *copy; /* borrowed */
	struct teaching_head head;
	struct teaching_writer
	    message; /* charged to the parent of the copy's budget, as the draft is */
	size_t rule_at, items_at;
	uint32_t count, hash_count;
	bool is_lost; /* it names too much, or there was no memory */
	/* Of the items that the page names, each once. Last: it is not zeroed. */
	uint64_t hashes[REMEMBERED_LESSON_ITEMS];
};

/* The validator of the response, as a hash. */
static uint64_t version_of(const struct remembered *m, const struct http_head *response)
{
	const struct http_field *f = http_head_find(response, HTTP_TOKEN_ETAG);
	if (!f)
		f = http_head_find(response, HTTP_TOKEN_LAST_MODIFIED);
	uint64_t hash = f ? hash_bytes(m->seed, f->value.ptr, f->value.len) : 0;
	return f && hash == 0 ? 1 : hash;
}

static uint64_t item_hash(const struct remembered *m, const struct remembered_item *item)
{
	uint64_t hash = m->seed + (uint64_t)item->rel * 4 + (uint64_t)item->crossorigin;
	hash = hash_bytes(hash, item->target.ptr, item->target.len);
	hash = hash_bytes(hash, item->as.ptr, item->as.len);
	return hash_bytes(hash, item->attributes.ptr, item->attributes.len);
}

/* ---- room ---- */

static bool grow(struct remembered_draft *d, size_t bytes)
{
	struct teaching_writer *w = &d->message;
	size_t wanted = w->capacity ? w->capacity : FIRST_BYTES;
	while (wanted - w->length < bytes)
		wanted *= 2;
	wanted = wanted < REMEMBERED_MESSAGE_BYTES ? wanted : REMEMBERED_MESSAGE_BYTES;
	if (wanted - w->length < bytes)
		return false;
	if (wanted == w->capacity)
		return true;
	if (!budget_take(d->copy->budget.parent, wanted - w->capacity))
		return false;
	w->bytes = memory_resize(w->bytes, wanted, 1);
	w->capacity = wanted;
	return true;
}

void remembered_draft_free(struct remembered_draft *d)
{
	if (!d)
		return;
	budget_give(d->copy->budget.parent, sizeof(*d) + d->message.capacity);
	free(d->message.bytes);
	free(d);
}

/* ---- the beginning ---- */

/* The texts by which the page is found, in struct teaching_head's order. */
struct texts {
	struct place_name name;
	struct text vary, rule, query, variant;
};

static enum remembered_answer read_texts(
    const struct remembered *m, const struct remembered_lesson *lesson, struct texts *t)
{
	const struct http_head *request = lesson->request;
	struct slice whole = slice_from(request->path, slice_find(request->path, '?') + 1);
	query_rule_read(lesson->response, &t->rule);
	if (!vary_read(lesson->response, &t->vary))
		return REMEMBERED_TOO_VARIED;
	if (!place_name_set(&t->name, request->scheme, request->authority, request->path) ||
	    !query_choose(m, text_slice(&t->rule), whole, &t->query))
		return REMEMBERED_TOO_LONG;
	return variant_of(text_slice(&t->vary), request, &t->variant) ? REMEMBERED_TAUGHT
								      : REMEMBERED_TOO_VARIED;
}

static bool begin(struct remembered_draft *d, const struct texts *t)
{
	const struct slice texts[] = {
	    [TEACHING_AUTHORITY] = t->name.authority,
	    [TEACHING_PATH] = t->name.path,
	    [TEACHING_VARY] = text_slice(&t->vary),
	    [TEACHING_RULE] = text_slice(&t->rule),
	    [TEACHING_QUERY] = text_slice(&t->query),
	    [TEACHING_VARIANT] = text_slice(&t->variant),
	};
	size_t bytes = sizeof(d->head);
	for (size_t i = 0; i <= TEACHING_VARIANT; i++)
		bytes += texts[i].len;
	if (!grow(d, bytes))
		return false;
	teaching_put(&d->message, &d->head, sizeof(d->head));
	for (enum teaching_text i = 0; i <= TEACHING_VARIANT; i++) {
		if (i == TEACHING_RULE)
			d->rule_at = d->message.length;
		teaching_put_text(&d->message, &d->head, i, texts[i]);
	}
	d->items_at = d->message.length;
	return true;
}

struct remembered_draft *remembered_draft_new(struct remembered *copy,
    const struct remembered_lesson *lesson, enum remembered_answer *answer, usec now)
{
	struct texts texts;
	enum lesson_class class;
	*answer = lesson_class(lesson, &class);
	if (*answer == REMEMBERED_TAUGHT)
		*answer = read_texts(copy, lesson, &texts);
	if (*answer != REMEMBERED_TAUGHT)
		return NULL;
	struct remembered_page *p = page_of_request(copy, lesson->request);
	if (p)
		page_touch(copy, p, now + EPOCH);
	if (!budget_take(copy->budget.parent, sizeof(struct remembered_draft))) {
		*answer = REMEMBERED_NO_ROOM;
		return NULL;
	}
	struct remembered_draft *d = memory_alloc(sizeof(*d));
	memset(d, 0, offsetof(struct remembered_draft, hashes));
	d->copy = copy;
	d->head = (struct teaching_head){
	    .kind = TEACHING_LESSON,
	    .is_https = texts.name.is_https,
	    .is_guarded = class == LESSON_GUARDED,
	    .client = client_key(copy, lesson->client),
	    .version = version_of(copy, lesson->response),
	    .set = 1,
	};
	if (!begin(d, &texts)) {
		remembered_draft_free(d);
		*answer = REMEMBERED_NO_ROOM;
		return NULL;
	}
	for (size_t i = 0; i < lesson->count; i++)
		remembered_draft_add(d, &lesson->items[i]);
	return d;
}

/* ---- items ---- */

/* The set is that of all items, whether they can be remembered or not. */
static void add_to_set(struct remembered_draft *d, uint64_t hash)
{
	for (uint32_t i = 0; i < d->hash_count; i++)
		if (d->hashes[i] == hash)
			return;
	d->hashes[d->hash_count++] = hash;
	d->head.set += hash;
}

void remembered_draft_add(struct remembered_draft *d, const struct remembered_item *item)
{
	bool is_own = item->source == REMEMBERED_LINK || item->source == REMEMBERED_HEAD;
	d->is_lost |= d->count == REMEMBERED_LESSON_ITEMS;
	if (d->is_lost || !is_own)
		return;
	d->count++;
	/* A value that differs each time makes no new version. */
	if (!remembered_rel_is_field(item->rel))
		add_to_set(d, item_hash(d->copy, item));
	if (!item_is_good(item, d->head.is_guarded))
		return;
	if (grow(d, teaching_item_bytes(item)))
		teaching_put_item(&d->message, item);
	else
		d->is_lost = true;
}

/* ---- the end ---- */

/* Removes the items that have a word of the request in them. */
static void remove_reflected(struct remembered_draft *d, struct lesson_inputs *in)
{
	struct teaching_writer *w = &d->message;
	struct slice rest = slice_of(w->bytes + d->items_at, w->length - d->items_at);
	struct remembered_item item;
	uint8_t *to = w->bytes + d->items_at;
	while (rest.len > 0) {
		const char *from = rest.ptr;
		if (!teaching_cut_item(&rest, &item) || lesson_is_reflected(in, item.target))
			continue;
		memmove(to, from, (size_t)(rest.ptr - from));
		to += rest.ptr - from;
	}
	w->length = (size_t)(to - w->bytes);
}

struct slice remembered_draft_end(struct remembered_draft *d, const struct http_head *request)
{
	struct lesson_inputs in;
	const struct slice rule =
	    slice_of(d->message.bytes + d->rule_at, d->head.lengths[TEACHING_RULE]);
	if (d->is_lost || !lesson_inputs_read(&in, d->copy, rule, request))
		return SLICE("");
	remove_reflected(d, &in);
	d->head.cookie = in.cookie;
	d->head.input = in.input;
	memcpy(d->message.bytes, &d->head, sizeof(d->head));
	return slice_of(d->message.bytes, d->message.length);
}
