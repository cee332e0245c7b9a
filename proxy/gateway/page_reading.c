/* SPDX-License-Identifier: MIT */
/*
 * Reads pages and their stylesheets while they pass, for the memory of pages: what the <head> of a page names goes into its
 * lesson, what a stylesheet names is added later. A stylesheet that is held passes nowhere: it is read when it is whole.
 *
 * The response is neither changed nor delayed. Each piece is looked at once, and decoded, if it is encoded, as far as it is
 * read. The reading ends with the head, at a bound, or when the worker has no memory for it.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/ascii.h"
#include "proxy/base/heap.h"
#include "proxy/decode/decode.h"
#include "proxy/limits.h"
#include "proxy/markup/markup.h"

/* What a stylesheet names is sent when it has so much. */
#define LATER_MOST 8u

/* On the heap, and charged to the worker's memory, from the head of the response to the end of what is read. */
struct page_reading {
	struct gateway *gateway;
	struct exchange *exchange;
	struct markup_head *head; /* one of the two */
	struct markup_css *css;
	struct decode *decode; /* NULL: the body is not encoded */
	enum markup_state state;
	size_t charge;
	struct http_target target; /* of the page, or of the stylesheet; in the request */
	struct arena arena;        /* of `later` */
	uint32_t later_count;
	struct remembered_item later[LATER_MOST];
};

static void send_later(struct page_reading *r)
{
	if (r->later_count > 0)
		offer_lesson_add_later(
		    r->gateway->lessons.offers, r->exchange, r->later, r->later_count);
	r->later_count = 0;
	arena_reset(&r->arena);
}

static void add(struct page_reading *r, const struct remembered_item *item)
{
	if (r->head) {
		offer_lesson_add(r->exchange, item);
		return;
	}
	struct remembered_item *kept = &r->later[r->later_count++];
	*kept = *item;
	kept->target = arena_copy(&r->arena, item->target);
	kept->as = arena_copy(&r->arena, item->as);
	kept->attributes = arena_copy(&r->arena, item->attributes);
	if (r->later_count == LATER_MOST)
		send_later(r);
}

static void found(const struct markup_resource *resource, void *context)
{
	struct page_reading *r = context;
	const struct exchange *x = r->exchange;
	struct remembered_item items[PAGE_ITEMS_MOST];
	char first[2048];
	struct arena a;
	arena_init(&a, first, sizeof(first));
	/* A path below another route of the host is not this origin's to name, as in Link fields. */
	size_t count =
	    route_is_outside(x->request, &x->place, &resource->target)
		? 0
		: page_items_of(&a, &r->target, resource,
		      offer_part(x)->takes_all_scripts ? CONF_SCRIPTS_ALL : CONF_SCRIPTS_BLOCKING,
		      items);
	for (size_t i = 0; i < count; i++)
		add(r, &items[i]);
	arena_fini(&a);
}

static void free_reading(struct exchange *x)
{
	struct page_reading *r = x->onlooker;
	x->onlooker = NULL;
	budget_give(&r->gateway->env.budget, r->charge);
	decode_free(r->decode);
	markup_head_free(r->head);
	markup_css_free(r->css);
	arena_fini(&r->arena);
	free(r);
}

/* is_whole: all that is to be read has come. */
static void end(struct exchange *x, bool is_whole)
{
	struct page_reading *r = x->onlooker;
	struct gateway *g = r->gateway;
	bool is_page = r->head != NULL;
	WORKER_COUNT(&g->env, page_readings, is_whole);
	WORKER_COUNT(&g->env, page_readings_given_up, !is_whole);
	if (!is_page && is_whole)
		send_later(r);
	free_reading(x);
	if (is_page && is_whole)
		offer_lesson_end(g->lessons.offers, x);
	else if (is_page)
		offer_lesson_drop(g->lessons.offers, x);
}

static bool read_text(struct slice bytes, void *context)
{
	struct page_reading *r = context;
	r->state = r->head ? markup_head_read(r->head, bytes) : markup_css_read(r->css, bytes);
	return r->state == MARKUP_READS;
}

/* Memory that decoding needs is there already: it is charged if there is room for it. */
static bool charge(struct page_reading *r)
{
	size_t now = MARKUP_READER_BYTES + sizeof(*r) + (r->decode ? decode_memory(r->decode) : 0);
	if (now > r->charge && !budget_take(&r->gateway->env.budget, now - r->charge))
		return false;
	if (now < r->charge)
		budget_give(&r->gateway->env.budget, r->charge - now);
	r->charge = now;
	return true;
}

void page_reading_pass(void *gateway, struct exchange *x, struct slice bytes)
{
	(void)gateway;
	struct page_reading *r = x->onlooker;
	bool is_good = true;
	if (r->decode) {
		enum decode_state state = decode_read(r->decode, bytes);
		is_good =
		    state == DECODE_READS || state == DECODE_ENDED || r->state != MARKUP_READS;
		if (state == DECODE_ENDED && r->state == MARKUP_READS)
			r->state = MARKUP_ENDED;
	} else {
		read_text(bytes, r);
	}
	if (!is_good || r->state == MARKUP_TOO_MANY || !charge(r))
		end(x, false);
	else if (r->state != MARKUP_READS)
		end(x, true);
}

void page_reading_ended(struct exchange *x)
{
	const struct page_reading *r = x->onlooker;
	if (r)
		end(x, x->ending.cause == NULL && !r->decode);
}

/* ---- what is read ---- */

/* Encodings in which bytes below 128 are ASCII, whatever is before them. */
static bool is_ascii_compatible(struct slice type)
{
	static const struct slice begins[] = {SLICE_INIT("utf-8"), SLICE_INIT("us-ascii"),
	    SLICE_INIT("iso-8859-"), SLICE_INIT("windows-125")};
	struct slice parameter;
	while (slice_next_parameter(&type, &parameter)) {
		struct slice name = slice_trim(slice_cut(&parameter, '='));
		if (!slice_equal_nocase(name, SLICE("charset")))
			continue;
		parameter = slice_trim(parameter);
		if (slice_peek(parameter) == '"')
			slice_skip(&parameter, 1);
		for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
			if (slice_equal_nocase(slice_sub(parameter, 0, begins[i].len), begins[i]))
				return true;
		return false;
	}
	return true;
}

static bool is_of_type(const struct http_head *response, struct slice type)
{
	const struct http_field *f = http_head_find(response, HTTP_TOKEN_CONTENT_TYPE);
	return f && slice_equal_nocase(http_head_media_type(response), type) &&
	       is_ascii_compatible(f->value);
}

static bool is_fit_style(const struct exchange *x, const struct http_head *response)
{
	return x->method == HTTP_METHOD_GET && is_of_type(response, SLICE("text/css")) &&
	       offer_lesson_is_for_all(x, response);
}

/* False: there is no memory, or it cannot be decoded. */
static bool begin(
    struct gateway *g, struct exchange *x, const struct http_head *response, bool is_page)
{
	const struct http_field *coding = http_head_find(response, HTTP_TOKEN_CONTENT_ENCODING);
	struct page_reading *r = heap_zalloc(sizeof(*r));
	if (!r)
		return false;
	const struct markup_sink sink = {found, r};
	r->gateway = g;
	r->exchange = x;
	r->target = http_target_of(x->request);
	arena_init(&r->arena, NULL, 0);
	x->onlooker = r;
	if (is_page)
		r->head = markup_head_new(&r->target, sink);
	else
		r->css = markup_css_new(&r->target, sink);
	bool is_encoded = coding && !slice_equal_nocase(coding->value, SLICE("identity"));
	if (is_encoded)
		r->decode = decode_new(
		    coding->value, LIMIT_MARKUP_BYTES, (struct decode_sink){read_text, r});
	if ((r->head || r->css) && (r->decode || !is_encoded) && charge(r))
		return true;
	free_reading(x);
	return false;
}

void page_reading_begin(struct gateway *g, struct exchange *x, const struct http_head *response)
{
	struct offer_lessons *lessons = g->lessons.offers;
	if (offer_lesson_is_open(x)) {
		if (!is_of_type(response, SLICE("text/html")))
			offer_lesson_end(lessons, x); /* with what its Link fields name */
		else if (!begin(g, x, response, true))
			/* It would vote against what others have read. */
			offer_lesson_drop(lessons, x);
	} else if (is_fit_style(x, response) && offer_lesson_has_view(lessons, x)) {
		begin(g, x, response, false);
	}
}

void page_reading_held(
    void *gateway, struct exchange *push, const struct http_head *response, const struct body *body)
{
	struct gateway *g = gateway;
	const struct offer_lessons *lessons = g->lessons.offers;
	struct body_mark mark = {0};
	if (!lessons || !is_fit_style(push, response) || !offer_lesson_has_view(lessons, push) ||
	    !begin(g, push, response, false))
		return;
	struct piece p = body_next(body, &mark, SIZE_MAX);
	for (; p.length > 0 && push->onlooker; p = body_next(body, &mark, SIZE_MAX))
		page_reading_pass(g, push, piece_slice(p));
	page_reading_ended(push);
}
