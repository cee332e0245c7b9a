/* SPDX-License-Identifier: MIT */
/* Writes spans: see span.h. */
#include "proxy/tracing/span.h"

#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/base/utf8.h"

#define SPAN_BYTES_FIRST 1024u

static const struct {
	const char *name;
	uint16_t most;
} attributes[] = {
#define ATTRIBUTE_ROW(symbol, name_, most_) {name_, most_},
    SPAN_ATTRIBUTES(ATTRIBUTE_ROW)
#undef ATTRIBUTE_ROW
};

static const char *const events[] = {
#define EVENT_ROW(symbol, name) name,
    SPAN_EVENTS(EVENT_ROW)
#undef EVENT_ROW
};

/* Of a span's name: a method and a route. */
#define NAME_BYTES_MOST 96u

const char *span_attribute_name(enum span_attribute a)
{
	return attributes[a].name;
}

const char *span_event_name(enum span_event e)
{
	return events[e];
}

/* ---- the message ---- */

bool span_begin(struct span *s, struct budget *budget, const struct span_head *head)
{
	*s = (struct span){.budget = budget, .capacity = SPAN_BYTES_FIRST, .length = sizeof(*head)};
	if (!budget_take(budget, s->capacity))
		return false;
	s->bytes = memory_alloc(s->capacity);
	memcpy(s->bytes, head, sizeof(*head));
	return true;
}

void span_fini(struct span *s)
{
	if (!s->bytes)
		return;
	budget_give(s->budget, s->capacity);
	free(s->bytes);
	s->bytes = NULL;
}

static RARE bool make_room(struct span *s, size_t bytes)
{
	uint32_t capacity = s->capacity;
	if (s->length + bytes > SPAN_BYTES_MOST)
		return false;
	while (capacity < s->length + bytes)
		capacity *= 2;
	if (!budget_take(s->budget, capacity - s->capacity))
		return false;
	s->bytes = memory_resize(s->bytes, capacity, 1);
	s->capacity = capacity;
	return true;
}

static bool add(
    struct span *s, enum span_item_kind kind, unsigned name, const void *bytes, size_t n)
{
	const struct span_item item = {(uint8_t)kind, (uint8_t)name, (uint16_t)n};
	if (s->capacity - s->length < sizeof(item) + n && !make_room(s, sizeof(item) + n))
		return false;
	memcpy(s->bytes + s->length, &item, sizeof(item));
	memcpy(s->bytes + s->length + sizeof(item), bytes, n);
	s->length += (uint32_t)(sizeof(item) + n);
	return true;
}

/* The longest text of a row, made UTF-8: a byte that is none becomes three. */
#define TEXT_BYTES_MOST (1536u * 3u)

/* JSON has no bytes: those that are no UTF-8 become U+FFFD. Returns the length, at most 3 * text.len. */
static size_t make_utf8(struct slice text, char *out)
{
	size_t n = 0;
	for (size_t i = 0; i < text.len;) {
		const uint8_t *p = (const uint8_t *)text.ptr + i;
		size_t length = *p < 0x80 ? 1 : utf8_length(p, text.len - i);
		memcpy(out + n, length > 0 ? (const char *)p : "\xef\xbf\xbd",
		    length > 0 ? length : 3);
		n += length > 0 ? length : 3;
		i += length > 0 ? length : 1;
	}
	return n;
}

/* Eight bytes at once. */
static bool is_ascii(struct slice text)
{
	uint64_t any = 0, eight;
	size_t i = 0;
	for (; i + sizeof(eight) <= text.len; i += sizeof(eight)) {
		memcpy(&eight, text.ptr + i, sizeof(eight));
		any |= eight;
	}
	for (; i < text.len; i++)
		any |= (uint8_t)text.ptr[i];
	return (any & UINT64_C(0x8080808080808080)) == 0;
}

static RARE bool add_bytes(
    struct span *s, enum span_item_kind kind, unsigned name, struct slice text)
{
	char utf8[TEXT_BYTES_MOST];
	return add(s, kind, name, utf8, make_utf8(text, utf8));
}

static bool add_text(
    struct span *s, enum span_item_kind kind, unsigned name, struct slice text, size_t most)
{
	const struct slice kept = slice_sub(text, 0, most);
	if (is_ascii(kept)) /* nearly all are */
		return add(s, kind, name, kept.ptr, kept.len);
	return add_bytes(s, kind, name, kept);
}

void span_name(struct span *s, struct slice first, struct slice second)
{
	char name[NAME_BYTES_MOST];
	size_t n = 0;
	const struct slice parts[] = {first, SLICE(" "), second};
	if (second.len == 0) {
		(void)add_text(s, SPAN_NAME, 0, first, sizeof(name));
		return;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		const struct slice part = slice_sub(parts[i], 0, sizeof(name) - n);
		memcpy(name + n, part.ptr, part.len);
		n += part.len;
	}
	(void)add_text(s, SPAN_NAME, 0, slice_of(name, n), sizeof(name));
}

void span_text(struct span *s, enum span_attribute a, struct slice text)
{
	if (text.len > 0)
		(void)add_text(s, SPAN_TEXT, a, text, attributes[a].most);
}

void span_number(struct span *s, enum span_attribute a, uint64_t n)
{
	(void)add(s, SPAN_NUMBER, a, &n, sizeof(n));
}

void span_link(struct span *s, const struct http_traceparent *to)
{
	(void)add(s, SPAN_LINK, 0, to, sizeof(*to));
}

static bool add_detail(struct span *s, const struct span_detail *d)
{
	if (d->text.ptr)
		return d->text.len == 0 ||
		       add_text(s, SPAN_EVENT_TEXT, d->name, d->text, attributes[d->name].most);
	return add(s, SPAN_EVENT_NUMBER, d->name, &d->number, sizeof(d->number));
}

void span_event(
    struct span *s, enum span_event event, usec at, const struct span_detail *details, size_t count)
{
	uint32_t before = s->length;
	/* The attributes of the end need room, too. */
	bool fits = s->length < SPAN_BYTES_MOST / 2 && add(s, SPAN_EVENT, event, &at, sizeof(at));
	for (size_t i = 0; fits && i < count; i++)
		fits = add_detail(s, &details[i]);
	if (fits)
		return;
	s->length = before;
	span_head_of(s)->left_out++;
}
