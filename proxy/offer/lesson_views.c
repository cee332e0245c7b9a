/* SPDX-License-Identifier: MIT */
/*
 * Views that are taught: what the client requests right after the page, by Referer, and whether it requests what was
 * offered. A client has one such view at a time, its latest.
 */
#include "proxy/offer/lesson_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/cache.h"
#include "proxy/http/vary.h"

/* Longer requests teach nothing. */
#define VIEW_REQUEST_BYTES (16u << 10)
/* A view is charged with no more, with the messages that wait for its lesson; further ones are lost. */
#define VIEW_BYTES (32u << 10)
/* As long as what is requested may belong to a page: the window of the memory. */
#define VIEW_USEC (10 * USEC_PER_SEC)
#define URI_BYTES (REMEMBERED_TARGET_BYTES + REMEMBERED_AUTHORITY_BYTES + 16)

/* ---- life ---- */

void lesson_view_free(struct offer_lessons *l, struct lesson_view *v)
{
	if (!v)
		return;
	budget_give(l->env.budget, v->charged);
	http_head_free(v->request);
	free(v);
}

static struct lesson_view **place_of(const struct offer_lessons *l, const struct exchange *x)
{
	struct offer_lessons *writable = (struct offer_lessons *)(uintptr_t)l;
	return &writable->views[(lesson_client_key(l, x) >> 32) % LESSON_VIEWS];
}

void lesson_view_open(struct offer_lessons *l, const struct exchange *x)
{
	struct lesson_view **place = place_of(l, x);
	size_t charged = sizeof(struct lesson_view) + http_head_bytes(x->request);
	if (http_head_bytes(x->request) > VIEW_REQUEST_BYTES ||
	    !budget_take(l->env.budget, charged))
		return;
	lesson_view_free(l, *place);
	*place = memory_zalloc(sizeof(**place));
	(*place)->client = lesson_client_key(l, x);
	(*place)->page_id = x->id;
	(*place)->until = clock_after(x->relay->now, VIEW_USEC);
	(*place)->request = http_head_copy(x->request);
	(*place)->charged = charged;
	(*place)->waiting_end = &(*place)->waiting;
}

/* NULL: another view has taken its place. */
static struct lesson_view *view_of_page(struct offer_lessons *l, const struct exchange *page)
{
	struct lesson_view *v = offer_part(page)->is_drawn ? *place_of(l, page) : NULL;
	return v && v->page_id == page->id ? v : NULL;
}

void lesson_view_close(struct offer_lessons *l, const struct exchange *x)
{
	struct lesson_view *v = view_of_page(l, x);
	if (!v)
		return;
	*place_of(l, x) = NULL;
	lesson_view_free(l, v);
}

/* ---- messages ---- */

/* l->message. A client that has a hint requests resources before the page is answered: what they teach waits for the
 * vote to which it belongs. */
static void send_with_lesson(struct offer_lessons *l, struct lesson_view *v, size_t length)
{
	if (v->is_taught || length == 0) {
		lesson_send(l, length);
		return;
	}
	size_t charged = sizeof(struct lesson_waiting) + length;
	if (v->charged + charged > VIEW_BYTES || !budget_take(l->env.budget, charged))
		return;
	v->charged += charged;
	struct arena *a = &v->request->arena;
	struct lesson_waiting *w = arena_alloc(a, sizeof(*w));
	w->next = NULL;
	w->message = arena_copy(a, slice_of((const char *)l->message, length));
	*v->waiting_end = w;
	v->waiting_end = &w->next;
}

static size_t outcome_message(struct offer_lessons *l, const struct lesson_view *v,
    const struct exchange *x, struct slice target, enum remembered_outcome outcome)
{
	return remembered_outcome_message(
	    l->env.memory, v->request, offer_lesson_client(x), target, outcome, l->message);
}

/* ---- offers ---- */

void offer_lesson_offered(
    struct offer_lessons *l, const struct exchange *page, const struct http_head *promised)
{
	struct lesson_view *v = view_of_page(l, page);
	if (!v || v->offered_count == REMEMBERED_RESOURCES ||
	    !slice_equal(promised->authority, page->request->authority))
		return;
	v->offered[v->offered_count++] = arena_copy(&v->request->arena, promised->path);
	budget_force(l->env.budget, promised->path.len);
	v->charged += promised->path.len;
}

/* Behind the lesson: the owner counts outcomes with the vote. Uses go first, so that no offer is the fourth that is not
 * used while its use is under way. */
void lesson_view_taught(struct offer_lessons *l, const struct exchange *x)
{
	struct lesson_view *v = view_of_page(l, x);
	if (!v)
		return;
	v->is_taught = true;
	for (const struct lesson_waiting *w = v->waiting; w; w = w->next)
		l->env.teach(l->env.context, w->message);
	for (uint32_t i = 0; i < v->offered_count; i++)
		lesson_send(l, outcome_message(l, v, x, v->offered[i], REMEMBERED_OFFERED));
}

/* ---- requests after the page ---- */

static uint64_t path_key(const struct offer_lessons *l, struct slice path)
{
	return hash_bytes(l->env.seed, path.ptr, path.len);
}

/* The path of a Referer of the request's own site. Empty: it is none. */
static struct slice referring_path(const struct exchange *x)
{
	const struct http_field *f = http_head_find(x->request, HTTP_TOKEN_REFERER);
	struct http_target from;
	bool is_own = f && http_target_cut(f->value, &from) &&
		      slice_equal(from.scheme, x->request->scheme) &&
		      slice_equal(from.authority, x->request->authority);
	return is_own ? from.path : SLICE("");
}

/* Style sheets and scripts that were requested after the page request others. */
static bool has_requested(
    const struct offer_lessons *l, const struct lesson_view *v, struct slice path)
{
	uint64_t key = path_key(l, path);
	for (uint32_t i = 0; i < v->asked_count; i++)
		if (v->asked[i] == key)
			return true;
	return false;
}

/* Of a resource that was requested after the page, or pushed with it. */
static struct lesson_view *view_of_request(const struct offer_lessons *l, const struct exchange *x)
{
	struct lesson_view *v = *place_of(l, x);
	if (!v || v->client != lesson_client_key(l, x) || x->relay->now > v->until ||
	    !slice_equal(v->request->authority, x->request->authority) ||
	    !slice_equal(v->request->scheme, x->request->scheme))
		return NULL;
	if (exchange_is_push(x))
		return v->page_id == x->pushed.parent_id ? v : NULL;
	struct slice from = referring_path(x);
	if (from.len == 0 || (!slice_equal(from, v->request->path) && !has_requested(l, v, from)))
		return NULL;
	return v;
}

/* The view of a push exists only if its page may teach. */
static bool may_add(const struct exchange *x)
{
	return exchange_is_push(x) || offer_lesson_may_teach(x);
}

bool offer_lesson_has_view(const struct offer_lessons *l, const struct exchange *x)
{
	return may_add(x) && offer_part(x)->level == 0 && view_of_request(l, x);
}

static void add(struct offer_lessons *l, struct lesson_view *v, const struct exchange *x,
    const struct remembered_item *items, size_t count)
{
	char uri[URI_BYTES];
	const struct http_head *r = v->request;
	int n = snprintf(uri, sizeof(uri), "%.*s://%.*s%.*s", SLICE_ARG(r->scheme),
	    SLICE_ARG(r->authority), SLICE_ARG(r->path));
	if (n > 0 && (size_t)n < sizeof(uri))
		send_with_lesson(l, v,
		    remembered_add_message(l->env.memory, slice_of(uri, (size_t)n),
			offer_lesson_client(x), items, count, l->message));
}

void offer_lesson_add_later(struct offer_lessons *l, const struct exchange *x,
    const struct remembered_item *items, size_t count)
{
	struct lesson_view *v = may_add(x) ? view_of_request(l, x) : NULL;
	if (v)
		add(l, v, x, items, count);
}

/* The content types of what is remembered: how each begins, without regard to case. */
static const struct {
	enum policy_type type;
	struct slice begins;
} content_types[] = {
    {POLICY_TYPE_STYLE, SLICE_INIT("text/css")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("text/javascript")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("application/javascript")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("application/x-javascript")},
    {POLICY_TYPE_IMAGE, SLICE_INIT("image/")},
    {POLICY_TYPE_FONT, SLICE_INIT("font/")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/font-")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/x-font-")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/vnd.ms-fontobject")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/octet-stream")},
};

/* Without content-type the path alone tells the type. */
static bool is_of_type(const struct http_head *response, enum policy_type type)
{
	const struct http_field *f = http_head_find(response, HTTP_TOKEN_CONTENT_TYPE);
	for (size_t i = 0; f && i < sizeof(content_types) / sizeof(content_types[0]); i++)
		if (content_types[i].type == type &&
		    slice_equal_nocase(slice_sub(f->value, 0, content_types[i].begins.len),
			content_types[i].begins))
			return true;
	return !f;
}

/* What a server that ignores the end of a path says of itself: /logout.php/x.css is a page, or sets a cookie. */
bool offer_lesson_is_for_all(const struct exchange *x, const struct http_head *response)
{
	const struct http_head *r = x->request;
	return response->status == 200 && !x->facts.user &&
	       !http_head_find(r, HTTP_TOKEN_AUTHORIZATION) &&
	       !http_head_find(r, HTTP_TOKEN_COOKIE) && http_may_store_shared(r, response) &&
	       !http_head_find(response, HTTP_TOKEN_SET_COOKIE) &&
	       !http_vary_names(response, HTTP_TOKEN_COOKIE) &&
	       !http_vary_names(response, HTTP_TOKEN_NONE);
}

/* Fonts, modules and what has crossorigin: a hint without it would load another copy. */
static enum remembered_crossorigin mode_of(const struct exchange *x, enum policy_type type)
{
	const struct http_field *f = http_head_find(x->request, HTTP_TOKEN_SEC_FETCH_MODE);
	bool is_cors = f ? slice_equal_nocase(f->value, SLICE("cors")) : type == POLICY_TYPE_FONT;
	return is_cors ? REMEMBERED_ANONYMOUS : REMEMBERED_NO_CORS;
}

/* A server that is in trouble (5xx), or refuses this client, says nothing of the resource. */
static bool tells_gone(uint16_t status)
{
	return status == 404 || status == 410;
}

static void note_offered(struct offer_lessons *l, struct lesson_view *v, const struct exchange *x,
    const struct http_head *response, enum policy_type type)
{
	uint32_t i = 0;
	while (i < v->offered_count && !slice_equal(v->offered[i], x->request->path))
		i++;
	if (i == v->offered_count || v->used >> i & 1)
		return;
	v->used |= UINT64_C(1) << i;
	bool is_gone =
	    tells_gone(response->status) ||
	    (response->status == 200 && type != POLICY_TYPE_UNKNOWN && !is_of_type(response, type));
	size_t length =
	    outcome_message(l, v, x, x->request->path, is_gone ? REMEMBERED_GONE : REMEMBERED_USED);
	if (is_gone) /* whoever asked for it */
		lesson_send(l, length);
	else
		send_with_lesson(l, v, length);
}

void lesson_view_asked(
    struct offer_lessons *l, const struct exchange *x, const struct http_head *response)
{
	struct lesson_view *v = view_of_request(l, x);
	if (!v)
		return;
	enum policy_type type = policy_type_of_path(x->request->path);
	note_offered(l, v, x, response, type);
	if (v->asked_count == REMEMBERED_RESOURCES || !is_of_type(response, type) ||
	    !offer_lesson_is_for_all(x, response))
		return;
	if (!has_requested(l, v, x->request->path))
		v->asked[v->asked_count++] = path_key(l, x->request->path);
	const struct remembered_item item = {.source = REMEMBERED_ASKED,
	    .rel = REMEMBERED_PRELOAD,
	    .crossorigin = mode_of(x, type),
	    .target = x->request->path,
	    .as = slice_of_string(policy_type_as(type))};
	add(l, v, x, &item, 1);
}

void offer_lesson_push_ended(struct offer_lessons *l, const struct exchange *push)
{
	const struct exchange *page = push->pushed.parent;
	bool is_gone = tells_gone(push->response.status);
	if (push->pushed.source != POLICY_REMEMBERED || !page || !is_gone)
		return;
	lesson_send(
	    l, remembered_outcome_message(l->env.memory, page->request, offer_lesson_client(page),
		   push->request->path, REMEMBERED_GONE, l->message));
}
