/* SPDX-License-Identifier: MIT */
/*
 * Messages to the owner of the memory, and what it does with them. Each is read whole and checked before anything is
 * changed.
 */
#include "proxy/remembered/message.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/http/link.h"
#include <string.h>

/* ---- writing ---- */

void teaching_put(struct teaching_writer *w, const void *bytes, size_t length)
{
	w->is_full |= length > w->capacity - w->length;
	if (w->is_full || length == 0)
		return;
	memcpy(w->bytes + w->length, bytes, length);
	w->length += length;
}

void teaching_put_text(struct teaching_writer *w, struct teaching_head *head,
    enum teaching_text text, struct slice bytes)
{
	ensure(bytes.len <= UINT16_MAX);
	head->lengths[text] = (uint16_t)bytes.len;
	teaching_put(w, bytes.ptr, bytes.len);
}

size_t teaching_item_bytes(const struct remembered_item *item)
{
	return sizeof(struct teaching_item) + item->target.len + item->as.len +
	       item->attributes.len;
}

/* The item is good: its texts are no longer than their lengths can say. */
void teaching_put_item(struct teaching_writer *w, const struct remembered_item *item)
{
	const struct teaching_item head = {
	    .target_len = (uint16_t)item->target.len,
	    .as_len = (uint8_t)item->as.len,
	    .attributes_len = (uint8_t)item->attributes.len,
	    .source = (uint8_t)item->source,
	    .rel = (uint8_t)item->rel,
	    .crossorigin = (uint8_t)item->crossorigin,
	};
	teaching_put(w, &head, sizeof(head));
	teaching_put(w, item->target.ptr, item->target.len);
	teaching_put(w, item->as.ptr, item->as.len);
	teaching_put(w, item->attributes.ptr, item->attributes.len);
}

size_t teaching_finish(struct teaching_writer *w, const struct teaching_head *head)
{
	if (w->is_full)
		return 0;
	memcpy(w->bytes, head, sizeof(*head));
	return w->length;
}

size_t remembered_add_message(const struct remembered *copy, struct slice page, struct slice client,
    const struct remembered_item *items, size_t count, uint8_t buffer[REMEMBERED_MESSAGE_BYTES])
{
	struct place_name name;
	struct teaching_head head = {.kind = TEACHING_ADDITION, .client = client_key(copy, client)};
	struct teaching_writer w = {.bytes = buffer, .capacity = REMEMBERED_MESSAGE_BYTES};
	struct http_target uri;
	if (count > REMEMBERED_LESSON_ITEMS || !http_target_cut(page, &uri) ||
	    !place_name_set(
		&name, uri.scheme, uri.authority, uri.path.len > 0 ? uri.path : SLICE("/")))
		return 0;
	head.is_https = name.is_https;
	teaching_put(&w, &head, sizeof(head));
	teaching_put_text(&w, &head, TEACHING_AUTHORITY, name.authority);
	teaching_put_text(&w, &head, TEACHING_PATH, name.path);
	size_t items_at = w.length;
	for (size_t i = 0; i < count; i++) {
		if (items[i].source != REMEMBERED_STYLE && items[i].source != REMEMBERED_ASKED)
			return 0;
		if (item_is_good(&items[i], false))
			teaching_put_item(&w, &items[i]);
	}
	return w.length > items_at ? teaching_finish(&w, &head) : 0;
}

size_t remembered_outcome_message(const struct remembered *copy, const struct http_head *request,
    struct slice client, struct slice target, enum remembered_outcome outcome,
    uint8_t buffer[REMEMBERED_MESSAGE_BYTES])
{
	const struct remembered_page *p = page_of_request(copy, request);
	struct teaching_head head = {.kind = TEACHING_OUTCOME,
	    .outcome = (uint8_t)outcome,
	    .client = client_key(copy, client)};
	struct teaching_writer w = {.bytes = buffer, .capacity = REMEMBERED_MESSAGE_BYTES};
	if (!p || target.len == 0 || target.len > REMEMBERED_TARGET_BYTES)
		return 0;
	const struct remembered_place *l = p->place;
	head.is_https = l->is_https;
	teaching_put(&w, &head, sizeof(head));
	teaching_put_text(&w, &head, TEACHING_AUTHORITY, place_authority(l));
	teaching_put_text(&w, &head, TEACHING_PATH, place_path(l));
	teaching_put_text(&w, &head, TEACHING_VARY, slice_of(l->vary, l->vary_len));
	teaching_put_text(&w, &head, TEACHING_RULE, slice_of(l->rule, l->rule_len));
	teaching_put_text(&w, &head, TEACHING_QUERY, page_query(p));
	teaching_put_text(&w, &head, TEACHING_VARIANT, page_variant(p));
	teaching_put_text(&w, &head, TEACHING_TARGET, target);
	return teaching_finish(&w, &head);
}

/* ---- reading ---- */

/* Slices are lent by the message. */
struct teaching {
	struct teaching_head head;
	struct slice texts[TEACHING_TEXTS], items;
	size_t count;
	struct place_name name;
};

static struct slice cut(struct slice *rest, size_t length, bool *is_good)
{
	*is_good &= length <= rest->len;
	if (!*is_good)
		return SLICE("");
	struct slice s = slice_sub(*rest, 0, length);
	slice_skip(rest, length);
	return s;
}

bool teaching_cut_item(struct slice *rest, struct remembered_item *item)
{
	struct teaching_item head;
	bool is_good = true;
	struct slice bytes = cut(rest, sizeof(head), &is_good);
	if (is_good) {
		memcpy(&head, bytes.ptr, sizeof(head));
		*item = (struct remembered_item){.source = (enum remembered_source)head.source,
		    .rel = (enum remembered_rel)head.rel,
		    .crossorigin = (enum remembered_crossorigin)head.crossorigin};
		item->target = cut(rest, head.target_len, &is_good);
		item->as = cut(rest, head.as_len, &is_good);
		item->attributes = cut(rest, head.attributes_len, &is_good);
	}
	if (!is_good)
		slice_skip(rest, rest->len);
	return is_good;
}

/* The sources of what a message of each kind names. */
static const uint8_t kind_sources[] = {
    [TEACHING_LESSON] = 1u << REMEMBERED_LINK | 1u << REMEMBERED_HEAD,
    [TEACHING_ADDITION] = 1u << REMEMBERED_STYLE | 1u << REMEMBERED_ASKED,
    [TEACHING_NEXT] = 1u << REMEMBERED_FOLLOWED,
};

static bool read_items(struct teaching *t)
{
	uint8_t sources = t->head.kind < sizeof(kind_sources) ? kind_sources[t->head.kind] : 0;
	struct remembered_item item;
	for (struct slice rest = t->items; rest.len > 0; t->count++)
		if (!teaching_cut_item(&rest, &item) || !item_is_good(&item, false) ||
		    t->count == REMEMBERED_LESSON_ITEMS || !(sources >> item.source & 1))
			return false;
	return true;
}

static bool read(struct slice message, struct teaching *t)
{
	bool is_good = true;
	struct slice bytes = cut(&message, sizeof(t->head), &is_good);
	if (!is_good)
		return false;
	*t = (struct teaching){0};
	memcpy(&t->head, bytes.ptr, sizeof(t->head));
	for (size_t i = 0; i < TEACHING_TEXTS; i++)
		t->texts[i] = cut(&message, t->head.lengths[i], &is_good);
	t->items = message;
	return is_good && t->head.is_https <= 1 && t->head.is_guarded <= 1 && t->head.client != 0 &&
	       slice_find(t->texts[TEACHING_PATH], '?') == t->texts[TEACHING_PATH].len &&
	       place_name_set(&t->name, t->head.is_https ? SLICE("https") : SLICE("http"),
		   t->texts[TEACHING_AUTHORITY], t->texts[TEACHING_PATH]) &&
	       read_items(t);
}

static bool is_query(struct slice query)
{
	return text_is_storable(query) && ascii_is_visible(query);
}

static bool has_page(const struct teaching *t)
{
	return vary_is_good(t->texts[TEACHING_VARY]) &&
	       query_rule_is_good(t->texts[TEACHING_RULE]) && is_query(t->texts[TEACHING_QUERY]) &&
	       text_is_storable(t->texts[TEACHING_VARIANT]);
}

static bool has_target(const struct teaching *t)
{
	size_t length = t->texts[TEACHING_TARGET].len;
	return length > 0 && length <= REMEMBERED_TARGET_BYTES;
}

/* ---- lessons ---- */

static enum remembered_answer take_lesson(
    struct remembered *m, const struct teaching *t, const struct remembered_item *items, usec now)
{
	const struct page_name name = {.place = &t->name,
	    .vary = t->texts[TEACHING_VARY],
	    .rule = t->texts[TEACHING_RULE],
	    .query = t->texts[TEACHING_QUERY],
	    .variant = t->texts[TEACHING_VARIANT]};
	const struct remembered_vote vote = {.client = t->head.client,
	    .cookie = t->head.cookie,
	    .input = t->head.input,
	    .version = t->head.version,
	    .set = t->head.set,
	    .at = now,
	    .is_guarded = t->head.is_guarded};
	return lesson_take(m, &name, &vote, items, t->count, now);
}

/* ---- outcomes ---- */

static void take_outcome(struct remembered *m, const struct teaching *t, usec now)
{
	const struct remembered_place *l = place_find(m, &t->name);
	if (!l || !place_has_rules(l, t->texts[TEACHING_VARY], t->texts[TEACHING_RULE]))
		return;
	struct remembered_page *p =
	    page_find(l, t->texts[TEACHING_QUERY], t->texts[TEACHING_VARIANT]);
	if (p)
		outcome_take(m, p, t->head.client, t->texts[TEACHING_TARGET],
		    (enum remembered_outcome)t->head.outcome, now);
}

/* ---- all ---- */

const char *teaching_take(
    struct remembered *m, struct slice message, enum remembered_answer *answer, usec now)
{
	struct teaching t;
	struct remembered_item items[REMEMBERED_LESSON_ITEMS];
	if (!read(message, &t))
		return "the message is malformed";
	struct slice rest = t.items;
	for (size_t i = 0; i < t.count; i++)
		(void)teaching_cut_item(&rest, &items[i]);
	pages_expire(m, now);
	m->taken++;
	switch (t.head.kind) {
	case TEACHING_LESSON:
		if (!has_page(&t) || t.texts[TEACHING_TARGET].len > 0)
			return "a lesson names no page";
		*answer = take_lesson(m, &t, items, now);
		return NULL;
	case TEACHING_ADDITION:
		lesson_take_addition(m, &t.name, t.head.client, items, t.count, now);
		return NULL;
	case TEACHING_OUTCOME:
		if (!has_page(&t) || !has_target(&t) || t.count > 0 ||
		    t.head.outcome > REMEMBERED_GONE)
			return "an outcome names no page, or no resource";
		take_outcome(m, &t, now);
		return NULL;
	case TEACHING_NEXT:
		if (!is_query(t.texts[TEACHING_QUERY]) || t.count != 1)
			return "a client has gone to no page, or from none";
		next_take(m, &t.name, t.texts[TEACHING_QUERY], &t.head, &items[0], now);
		return NULL;
	}
	return "the message is of no kind that there is";
}

uint64_t remembered_taken(const struct remembered *m)
{
	return m->taken;
}

const char *remembered_take(struct remembered *m, struct slice message, usec now)
{
	enum remembered_answer answer;
	return teaching_take(m, message, &answer, now + EPOCH);
}

/* ---- the owner itself ---- */

enum remembered_answer remembered_teach(
    struct remembered *m, const struct remembered_lesson *lesson, usec now)
{
	enum remembered_answer answer;
	pages_expire(m, now + EPOCH);
	struct remembered_draft *d = remembered_draft_new(m, lesson, &answer, now);
	if (!d)
		return answer;
	struct slice message = remembered_draft_end(d, lesson->request);
	answer = REMEMBERED_TOO_LONG;
	if (message.len > 0)
		ensure(!teaching_take(m, message, &answer, now + EPOCH));
	remembered_draft_free(d);
	return answer;
}

void remembered_add(struct remembered *m, struct slice page, struct slice client,
    const struct remembered_item *items, size_t count, usec now)
{
	uint8_t *message = memory_alloc(REMEMBERED_MESSAGE_BYTES);
	size_t length = remembered_add_message(m, page, client, items, count, message);
	if (length > 0)
		ensure(!remembered_take(m, slice_of(message, length), now));
	free(message);
}

void remembered_on_outcome(struct remembered *m, const struct http_head *request,
    struct slice client, struct slice target, enum remembered_outcome outcome, usec now)
{
	uint8_t *message = memory_alloc(REMEMBERED_MESSAGE_BYTES);
	size_t length = remembered_outcome_message(m, request, client, target, outcome, message);
	if (length > 0)
		ensure(!remembered_take(m, slice_of(message, length), now));
	free(message);
}
