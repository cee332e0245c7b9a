/* SPDX-License-Identifier: MIT */
/* Reads the messages of workers, which may be malformed, and makes JSON of them: see otlp.h. */
#include "proxy/tracing/otlp.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/tracing/span.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

/* Of Span.flags: whether the parent is of another program is known, and it is. */
#define HAS_IS_REMOTE 0x100
#define IS_REMOTE 0x200
#define STATUS_ERROR 2

/* ---- values ---- */

/* Numbers that JSON may not carry whole. */
static json_t *wide(uint64_t n)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, n);
	return json_string(text);
}

static json_t *time_of(usec at)
{
	return wide(at * 1000);
}

static json_t *id_of(const uint8_t *id, size_t bytes)
{
	char text[2 * HTTP_TRACE_ID_BYTES];
	struct slice hex = http_trace_id_write(id, bytes, text);
	return json_stringn(hex.ptr, hex.len);
}

static bool is_zero(const uint8_t id[HTTP_SPAN_ID_BYTES])
{
	static const uint8_t none[HTTP_SPAN_ID_BYTES];
	return memcmp(id, none, sizeof(none)) == 0;
}

/* Takes value. False: it is NULL, for a text that is no UTF-8. */
static bool add_attribute(json_t *list, const char *key, const char *type, json_t *value)
{
	json_t *o = json_pack("{s:s, s:{s:o}}", "key", key, "value", type, value);
	return value && json_array_append_new(list, o) == 0;
}

/* ---- items ---- */

/* A span that is being read. */
struct reading {
	json_t *span;
	json_t *attributes, *events, *links; /* borrowed: of the span */
	json_t *details;                     /* of the last event; NULL: there was none */
};

static bool read_number(struct slice value, uint64_t *n)
{
	if (value.len != sizeof(*n))
		return false;
	memcpy(n, value.ptr, sizeof(*n));
	return true;
}

static bool read_text(json_t *list, unsigned name, struct slice value)
{
	return list && name < SPAN_ATTRIBUTE_COUNT &&
	       add_attribute(list, span_attribute_name(name), "stringValue",
		   json_stringn(value.ptr, value.len));
}

static bool read_count(json_t *list, unsigned name, struct slice value)
{
	uint64_t n;
	return list && name < SPAN_ATTRIBUTE_COUNT && read_number(value, &n) &&
	       add_attribute(list, span_attribute_name(name), "intValue",
		   wide(n > INT64_MAX ? INT64_MAX : n));
}

static bool read_event(struct reading *r, unsigned name, struct slice value)
{
	uint64_t at;
	if (name >= SPAN_EVENT_COUNT || !read_number(value, &at))
		return false;
	json_t *event = json_pack("{s:o, s:s, s:[]}", "timeUnixNano", time_of(at), "name",
	    span_event_name(name), "attributes");
	r->details = json_object_get(event, "attributes");
	return json_array_append_new(r->events, event) == 0;
}

static bool read_link(const struct reading *r, struct slice value)
{
	struct http_traceparent to;
	if (value.len != sizeof(to))
		return false;
	memcpy(&to, value.ptr, sizeof(to));
	json_t *link = json_pack("{s:o, s:o}", "traceId", id_of(to.trace_id, sizeof(to.trace_id)),
	    "spanId", id_of(to.span_id, sizeof(to.span_id)));
	return json_array_append_new(r->links, link) == 0;
}

static bool read_item(struct reading *r, const struct span_item *item, struct slice value)
{
	switch (item->kind) {
	case SPAN_NAME:
		return json_object_set_new(r->span, "name", json_stringn(value.ptr, value.len)) ==
		       0;
	case SPAN_TEXT:
		return read_text(r->attributes, item->name, value);
	case SPAN_NUMBER:
		return read_count(r->attributes, item->name, value);
	case SPAN_EVENT:
		return read_event(r, item->name, value);
	case SPAN_EVENT_TEXT:
		return read_text(r->details, item->name, value);
	case SPAN_EVENT_NUMBER:
		return read_count(r->details, item->name, value);
	case SPAN_LINK:
		return read_link(r, value);
	}
	return false;
}

static bool read_items(struct reading *r, struct slice rest)
{
	while (rest.len > 0) {
		struct span_item item;
		if (rest.len < sizeof(item))
			return false;
		memcpy(&item, rest.ptr, sizeof(item));
		rest = slice_from(rest, sizeof(item));
		if (rest.len < item.length || !read_item(r, &item, slice_sub(rest, 0, item.length)))
			return false;
		rest = slice_from(rest, item.length);
	}
	return true;
}

/* ---- spans ---- */

static json_t *object_of(const struct span_head *h)
{
	uint32_t flags = HTTP_TRACE_SAMPLED | HAS_IS_REMOTE;
	flags |= h->has_remote_parent ? IS_REMOTE : 0;
	json_t *span = json_pack("{s:o, s:o, s:i, s:s, s:i, s:o, s:o, s:[], s:[], s:[]}", "traceId",
	    id_of(h->trace_id, sizeof(h->trace_id)), "spanId",
	    id_of(h->span_id, sizeof(h->span_id)), "flags", (int)flags, "name", "", "kind",
	    (int)h->kind, "startTimeUnixNano", time_of(h->begin), "endTimeUnixNano",
	    time_of(h->end), "attributes", "events", "links");
	ensure(span != NULL);
	if (!is_zero(h->parent_id))
		json_object_set_new(
		    span, "parentSpanId", id_of(h->parent_id, sizeof(h->parent_id)));
	if (h->left_out > 0)
		json_object_set_new(span, "droppedEventsCount", json_integer(h->left_out));
	if (h->is_error)
		json_object_set_new(span, "status", json_pack("{s:i}", "code", STATUS_ERROR));
	return span;
}

/* Of a message that another process has made, each byte may be anything. */
static bool is_good(const struct span_head *h, const uint8_t *bools)
{
	return h->kind >= SPAN_INTERNAL && h->kind <= SPAN_CLIENT && bools[0] <= 1 &&
	       bools[1] <= 1 && h->begin <= UINT64_MAX / 1000 && h->end <= UINT64_MAX / 1000 &&
	       !is_zero(h->span_id);
}

char *otlp_span(struct slice message)
{
	struct span_head head;
	uint8_t bools[2];
	if (message.len < sizeof(head))
		return NULL;
	bools[0] = (uint8_t)message.ptr[offsetof(struct span_head, is_error)];
	bools[1] = (uint8_t)message.ptr[offsetof(struct span_head, has_remote_parent)];
	memcpy(&head, message.ptr, sizeof(head));
	if (!is_good(&head, bools))
		return NULL;
	json_t *span = object_of(&head);
	struct reading r = {.span = span,
	    .attributes = json_object_get(span, "attributes"),
	    .events = json_object_get(span, "events"),
	    .links = json_object_get(span, "links")};
	char *text = NULL;
	if (read_items(&r, slice_from(message, sizeof(head))))
		text = json_dumps(span, JSON_COMPACT);
	json_decref(span);
	return text;
}

char *otlp_begin(const struct otlp_resource *r)
{
	json_t *attributes = json_array();
	bool is_good =
	    add_attribute(attributes, "service.name", "stringValue", json_string(r->service)) &&
	    add_attribute(attributes, "service.version", "stringValue", json_string(r->version));
	/* The name of the machine may be no UTF-8. */
	(void)add_attribute(attributes, "host.name", "stringValue", json_string(r->host));
	ensure(is_good);
	char *list = json_dumps(attributes, JSON_COMPACT);
	static const char form[] =
	    "{\"resourceSpans\":[{\"resource\":{\"attributes\":%s},\"scopeSpans\":"
	    "[{\"scope\":{\"name\":\"pushgate\",\"version\":\"%s\"},\"spans\":[";
	size_t size = sizeof(form) + strlen(list) + strlen(r->version);
	char *text = memory_alloc(size);
	snprintf(text, size, form, list, r->version);
	json_decref(attributes);
	free(list);
	return text;
}
