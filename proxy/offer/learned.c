/* SPDX-License-Identifier: MIT */
/*
 * Finds the page view that a request begins or belongs to. The rules are in learned.h; learned_count.c
 * counts a view when it is over.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/offer/learned_table.h"

/* ---- life ---- */

void learned_set_defaults(struct offer_learned_options *o)
{
	o->pages = o->pages ? o->pages : 1000;
	o->clients = o->clients ? o->clients : 4096;
	o->views = o->views ? o->views : 4096;
	o->bytes = o->bytes ? o->bytes : (size_t)32 << 20;
	o->window_usec = o->window_usec ? o->window_usec : 10 * USEC_PER_SEC;
	o->half_life_usec = o->half_life_usec ? o->half_life_usec : 7 * 86400 * USEC_PER_SEC;
	o->hits = o->hits ? o->hits : 3;
	o->support = o->support ? o->support : 3;
	o->confidence = o->confidence ? o->confidence : 3500;
	if (o->support > OFFER_LEARNED_SUPPORTERS)
		o->support = OFFER_LEARNED_SUPPORTERS;
}

struct offer_learned *offer_learned_new(
    const struct offer_learned_options *options, uint64_t seed, struct budget *parent)
{
	struct offer_learned *t = memory_new(struct offer_learned);
	t->options = *options;
	learned_set_defaults(&t->options);
	t->seed = seed;
	budget_init(&t->budget, parent, t->options.bytes);
	map_init(&t->pages);
	map_init(&t->clients);
	list_init(&t->established);
	list_init(&t->candidates);
	list_init(&t->clients_by_use);
	list_init(&t->views);
	return t;
}

void offer_learned_clear(struct offer_learned *t)
{
	list_for_each(&t->clients_by_use, c, struct learned_client, by_use)
	    learned_client_free(t, c);
	list_for_each(&t->candidates, p, struct learned_page, by_use) learned_page_free(t, p);
	list_for_each(&t->established, p, struct learned_page, by_use) learned_page_free(t, p);
	ensure(t->view_count == 0 && t->resource_count == 0 && t->established_count == 0);
}

void offer_learned_free(struct offer_learned *t)
{
	if (!t)
		return;
	offer_learned_clear(t);
	budget_give(t->budget.parent, t->slots_charged);
	map_fini(&t->pages);
	map_fini(&t->clients);
	budget_fini(&t->budget);
	free(t);
}

/* ---- views ---- */

void offer_learned_tick(struct offer_learned *t, usec now)
{
	struct learned_view *v;
	while ((v = list_first(&t->views, struct learned_view, by_time)) &&
	       now >= clock_after(v->begun, t->options.window_usec))
		learned_view_count(t, v, now);
}

static struct learned_view *open_view(const struct learned_client *c, const struct learned_page *p)
{
	list_for_each(&c->views, v, struct learned_view, of_client) if (v->page == p) return v;
	return NULL;
}

static void make_room_for_view(struct offer_learned *t, struct learned_client *c, usec now)
{
	if (c->view_count >= CLIENT_VIEWS)
		learned_view_count(
		    t, container_of(c->views.prev, struct learned_view, of_client), now);
	if (t->view_count >= t->options.views)
		learned_view_count(t, list_first(&t->views, struct learned_view, by_time), now);
}

void offer_learned_on_navigation(
    struct offer_learned *t, const struct offer_learned_request *request, usec now)
{
	struct learned_name name;
	offer_learned_tick(t, now);
	if (!request->is_navigation || !request->is_get || request->has_credentials ||
	    request->client.len == 0 ||
	    !learned_name_set(&name, request->authority, request->path, true))
		return;
	struct learned_client *c = learned_client_get(t, learned_client_key(t, request->client));
	if (!c)
		return;
	/* Before a page is looked up: counting a view may free a page. */
	make_room_for_view(t, c, now);
	struct learned_page *p = learned_page_get(t, &name, now);
	/* A page that is loaded twice at the same time is one view. */
	if (!p || open_view(c, p))
		return;
	struct learned_view *v = learned_view_new(t, c, p, now);
	if (!v)
		return;
	v->counts = learned_page_has_vote(t, p, c->node.hash, now);
	v->is_unanswered = request->is_unanswered;
}

void offer_learned_on_page(
    struct offer_learned *t, const struct offer_learned_request *request, usec now)
{
	struct learned_name name;
	offer_learned_tick(t, now);
	if (!learned_name_set(&name, request->authority, request->path, true))
		return;
	const struct learned_client *c =
	    learned_client_find(t, learned_client_key(t, request->client));
	const struct learned_page *p = learned_page_find(t, &name);
	struct learned_view *v = c && p ? open_view(c, p) : NULL;
	if (v && !request->has_credentials)
		v->is_unanswered = false;
}

/* ---- to which view a request belongs ---- */

/* Splits "scheme://authority/path?query#fragment". */
static bool split_referer(struct slice referer, struct slice *authority, struct slice *path)
{
	size_t colon = slice_find(referer, ':');
	struct slice rest = slice_from(referer, colon);
	if (!slice_starts_with(rest, SLICE("://")))
		return false;
	rest = slice_from(rest, 3);
	rest.len = slice_find(rest, '#');
	*authority = slice_sub(rest, 0, slice_find(rest, '/'));
	*path = slice_from(rest, authority->len);
	if (path->len == 0)
		*path = SLICE("/");
	return true;
}

static struct learned_view *only_view(const struct learned_client *c, struct slice authority)
{
	struct learned_view *only = NULL;
	list_for_each(&c->views, v, struct learned_view, of_client)
	{
		if (!slice_equal(page_authority(v->page), authority))
			continue;
		if (only)
			return NULL;
		only = v;
	}
	return only;
}

/* The view whose page has the referring style sheet or script. A view that requested it goes before one
 * whose page is only known to have it. NULL: none, or several. */
static struct learned_view *view_of_resource(
    const struct learned_client *c, const struct learned_name *from)
{
	struct learned_view *found[2] = {NULL, NULL};
	uint32_t count[2] = {0, 0};
	list_for_each(&c->views, v, struct learned_view, of_client)
	{
		int i = slice_equal(page_authority(v->page), from->authority)
			    ? learned_resource_find(v->page, from->path)
			    : -1;
		if (i < 0)
			continue;
		bool is_asked = v->asked >> i & 1;
		found[is_asked] = v;
		count[is_asked]++;
	}
	if (count[1] > 0)
		return count[1] == 1 ? found[1] : NULL;
	return count[0] == 1 ? found[0] : NULL;
}

static struct learned_view *view_of_request(
    const struct learned_client *c, const struct learned_name *name, struct slice referer)
{
	struct slice authority, path;
	struct learned_name from;
	if (referer.len == 0)
		return only_view(c, name->authority);
	if (!split_referer(referer, &authority, &path) ||
	    !slice_equal_nocase(authority, name->authority) ||
	    !learned_name_set(&from, authority, path, true))
		return NULL;
	list_for_each(&c->views, v, struct learned_view,
	    of_client) if (slice_equal(page_path(v->page), from.path) &&
			   slice_equal(page_authority(v->page), from.authority)) return v;
	/* Referrer-Policy: origin sends no path: treat it as a request without a Referer. */
	if (path.len == 1)
		return only_view(c, name->authority);
	from.path = path;
	return view_of_resource(c, &from);
}

/* ---- requests ---- */

static void note_asked(struct offer_learned *t, struct learned_view *v, struct slice path, usec now)
{
	int i = learned_resource_find(v->page, path);
	bool may_add = v->counts && !v->is_unanswered && v->added < VIEW_NEW;
	if (i < 0 && may_add && learned_is_asset(path)) {
		i = learned_resource_add(t, v->page, path, now);
		v->added++;
	}
	if (i >= 0)
		v->asked |= UINT64_C(1) << i;
}

void offer_learned_on_request(
    struct offer_learned *t, const struct offer_learned_request *request, usec now)
{
	struct learned_name name;
	offer_learned_tick(t, now);
	if (request->is_navigation || !request->is_get ||
	    (request->status != 200 && request->status != 304) ||
	    !learned_name_set(&name, request->authority, request->path, false))
		return;
	struct learned_client *c = learned_client_find(t, learned_client_key(t, request->client));
	if (!c)
		return;
	struct learned_view *v = view_of_request(c, &name, request->referer);
	struct slice plain = slice_sub(name.path, 0, slice_find(name.path, '?'));
	if (v && !slice_equal(plain, page_path(v->page))) {
		int i = learned_resource_find(v->page, name.path);
		if (request->status == 200 && !request->has_credentials && !request->is_unfit)
			note_asked(t, v, name.path, now);
		else if (i >= 0)
			v->excused |= UINT64_C(1) << i;
	}
	if (!request->has_credentials)
		learned_cache_note(&c->cache, learned_mark(t, name.authority, name.path), now);
}

/* ---- outcomes ---- */

static void note_outcome(struct learned_resource *r, struct learned_view *v, uint64_t bit,
    enum offer_learned_outcome outcome, bool has_credentials)
{
	switch (outcome) {
	case OFFER_LEARNED_OFFERED:
		r->numbers.offered++;
		break;
	case OFFER_LEARNED_TAKEN:
		r->numbers.taken++;
		break;
	case OFFER_LEARNED_REFUSED:
		r->numbers.refused++;
		break;
	case OFFER_LEARNED_GONE:
		r->numbers.hits /= 4;
		r->stands = false;
		break;
	}
	bool is_request = outcome == OFFER_LEARNED_TAKEN && !has_credentials;
	if (v)
		*(is_request ? &v->taken : &v->excused) |= bit;
}

void offer_learned_on_outcome(struct offer_learned *t, const struct offer_learned_request *view,
    struct slice path, enum offer_learned_outcome outcome, usec now)
{
	struct learned_name name;
	offer_learned_tick(t, now);
	struct learned_page *p = learned_name_set(&name, view->authority, view->path, true)
				     ? learned_page_find(t, &name)
				     : NULL;
	int i = p ? learned_resource_find(p, path) : -1;
	if (i < 0)
		return;
	struct learned_client *c = learned_client_find(t, learned_client_key(t, view->client));
	/* The client may have requested the page without credentials too, and have a view of it. */
	note_outcome(p->resources[i], c ? open_view(c, p) : NULL, UINT64_C(1) << i, outcome,
	    view->has_credentials);
	if (c && !view->has_credentials &&
	    (outcome == OFFER_LEARNED_TAKEN || outcome == OFFER_LEARNED_REFUSED))
		learned_cache_note(&c->cache, learned_mark(t, name.authority, path), now);
}
