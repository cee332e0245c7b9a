/* SPDX-License-Identifier: MIT */
/*
 * Makes, finds and forgets places, pages and resources within the memory's bounds. Pages that have told nothing go before
 * all others, so that a client which makes up queries displaces only such pages.
 */
#include "proxy/remembered/remembered_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/field_key.h"

/* ---- life ---- */

struct remembered *remembered_new(
    const struct remembered_options *options, uint64_t seed, struct budget *parent)
{
	struct remembered *m = memory_new(struct remembered);
	struct remembered_options *o = &m->options;
	*o = *options;
	o->pages = o->pages ? o->pages : 1000;
	o->clients = o->clients ? o->clients : 3;
	o->clients = o->clients < VOTES ? o->clients : VOTES;
	o->bytes = o->bytes ? o->bytes : (size_t)32 << 20;
	o->age_usec = o->age_usec ? o->age_usec : 14 * USEC_PER_DAY;
	o->window_usec = o->window_usec ? o->window_usec : 10 * USEC_PER_SEC;
	m->seed = seed;
	budget_init(&m->budget, parent, o->bytes);
	map_init(&m->places);
	list_init(&m->established);
	list_init(&m->candidates);
	list_init(&m->changes);
	list_init(&m->gone);
	return m;
}

void remembered_clear(struct remembered *m)
{
	/* No copy is told of pages that all go. */
	list_for_each(&m->changes, c, struct remembered_page, by_change) c->changed_at = 0;
	list_for_each(&m->candidates, p, struct remembered_page, by_use) page_free(m, p);
	list_for_each(&m->established, p, struct remembered_page, by_use) page_free(m, p);
	gone_clear(m);
	ensure(m->page_count == 0 && m->established_count == 0 && m->resource_count == 0 &&
	       m->places.count == 0);
}

void remembered_free(struct remembered *m)
{
	if (!m)
		return;
	remembered_clear(m);
	budget_give(m->budget.parent, m->slots_charged);
	map_fini(&m->places);
	budget_fini(&m->budget);
	free(m);
}

/* ---- room ---- */

/* Frees the page that is worth least, except `kept`. */
static bool drop_page(
    struct remembered *m, const struct remembered_page *kept, bool candidates_only)
{
	struct list *lists[] = {&m->candidates, &m->established};
	for (size_t i = 0; i < (candidates_only ? 1 : 2); i++)
		list_for_each(lists[i], p, struct remembered_page, by_use)
		{
			if (p == kept)
				continue;
			page_free(m, p);
			return true;
		}
	return false;
}

static bool take(struct remembered *m, const struct remembered_page *kept, size_t bytes)
{
	if (budget_take(&m->budget, bytes))
		return true;
	if (drop_page(m, kept, true) && budget_take(&m->budget, bytes))
		return true;
	m->refused++;
	return false;
}

/* ---- places ---- */

static uint64_t name_hash(const struct remembered *m, const struct place_name *name)
{
	uint64_t hash =
	    hash_bytes(m->seed + name->is_https, name->authority.ptr, name->authority.len);
	return hash_bytes(hash, name->path.ptr, name->path.len);
}

struct remembered_place *place_find(const struct remembered *m, const struct place_name *name)
{
	for (struct map_node *n = map_find(&m->places, name_hash(m, name)); n; n = map_next(n)) {
		struct remembered_place *l = container_of(n, struct remembered_place, node);
		if (l->is_https == name->is_https && slice_equal(place_path(l), name->path) &&
		    slice_equal(place_authority(l), name->authority))
			return l;
	}
	return NULL;
}

bool place_has_rules(const struct remembered_place *l, struct slice vary, struct slice rule)
{
	return slice_equal(slice_of(l->vary, l->vary_len), vary) &&
	       slice_equal(slice_of(l->rule, l->rule_len), rule);
}

static size_t place_bytes(const struct remembered_place *l)
{
	return sizeof(*l) + l->authority_len + l->path_len;
}

/* A new place has no page: page_new follows, or frees it. */
struct remembered_place *place_get(
    struct remembered *m, const struct place_name *name, struct slice vary, struct slice rule)
{
	struct remembered_place *l = place_find(m, name);
	if (l)
		return l;
	size_t text = name->authority.len + name->path.len;
	if (!take(m, NULL, sizeof(*l) + text))
		return NULL;
	l = memory_zalloc(sizeof(*l) + text);
	list_init(&l->pages);
	l->is_https = name->is_https;
	l->authority_len = (uint8_t)name->authority.len;
	l->path_len = (uint16_t)name->path.len;
	memcpy(l->name, name->authority.ptr, name->authority.len);
	memcpy(l->name + name->authority.len, name->path.ptr, name->path.len);
	l->vary_len = (uint16_t)vary.len;
	if (vary.len > 0)
		memcpy(l->vary, vary.ptr, vary.len);
	l->rule_len = (uint16_t)rule.len;
	memcpy(l->rule, rule.ptr, rule.len);
	map_insert(&m->places, &l->node, name_hash(m, name));
	/* The map never shrinks: its slots are charged to the parent alone, as the memory's own limit is for
	 * what can be forgotten. */
	budget_adjust(
	    m->budget.parent, &m->slots_charged, (m->places.mask + 1) * sizeof(*m->places.slots));
	return l;
}

static void place_remove(struct remembered *m, struct remembered_place *l)
{
	map_remove(&m->places, &l->node);
	budget_give(&m->budget, place_bytes(l));
	free(l);
}

void place_free(struct remembered *m, struct remembered_place *l)
{
	if (l->page_count == 0) {
		place_remove(m, l);
		return;
	}
	/* The last page takes the place with it. */
	for (uint32_t left = l->page_count; left > 0; left--)
		page_free(m, list_first(&l->pages, struct remembered_page, of_place));
}

/* ---- pages ---- */

struct remembered_page *page_find(
    const struct remembered_place *l, struct slice query, struct slice variant)
{
	list_for_each(&l->pages, p, struct remembered_page,
	    of_place) if (slice_equal(page_query(p), query) &&
			  slice_equal(page_variant(p), variant)) return p;
	return NULL;
}

struct remembered_page *page_of_request(const struct remembered *m, const struct http_head *request)
{
	struct place_name name;
	struct text query, variant;
	if (request->method_token != HTTP_METHOD_GET ||
	    !place_name_set(&name, request->scheme, request->authority, request->path))
		return NULL;
	const struct remembered_place *l = place_find(m, &name);
	struct slice whole = slice_from(request->path, slice_find(request->path, '?') + 1);
	if (!l || !query_choose(m, slice_of(l->rule, l->rule_len), whole, &query) ||
	    !variant_of(slice_of(l->vary, l->vary_len), request, &variant))
		return NULL;
	return page_find(l, text_slice(&query), text_slice(&variant));
}

static size_t page_bytes(const struct remembered_page *p)
{
	return sizeof(*p) + p->query_len + p->variant_len;
}

/* An established variant is not displaced by one that may have been made up. */
static bool has_room_for_variant(struct remembered *m, struct remembered_place *l)
{
	if (l->page_count < REMEMBERED_VARIANTS)
		return true;
	list_for_each(&l->pages, p, struct remembered_page, of_place)
	{
		if (p->is_established)
			continue;
		page_free(m, p);
		return true;
	}
	return false;
}

struct remembered_page *page_new(struct remembered *m, struct remembered_place *l,
    struct slice query, struct slice variant, usec now)
{
	size_t text = query.len + variant.len;
	/* So that the place stays while others go. */
	bool has_room = has_room_for_variant(m, l);
	l->page_count++;
	while (has_room && m->page_count >= m->options.pages)
		has_room = drop_page(m, NULL, false);
	has_room = has_room && take(m, NULL, sizeof(struct remembered_page) + text);
	l->page_count--;
	if (!has_room) {
		if (l->page_count == 0)
			place_remove(m, l);
		return NULL;
	}
	struct remembered_page *p = memory_zalloc(sizeof(*p) + text);
	p->place = l;
	p->since = p->viewed = now;
	p->query_len = (uint8_t)query.len;
	p->variant_len = (uint8_t)variant.len;
	if (query.len > 0)
		memcpy(p->name, query.ptr, query.len);
	if (variant.len > 0)
		memcpy(p->name + query.len, variant.ptr, variant.len);
	list_init(&p->by_use);
	list_init(&p->of_place);
	list_init(&p->by_change);
	list_append(&m->candidates, &p->by_use);
	list_append(&l->pages, &p->of_place);
	l->page_count++;
	m->page_count++;
	return p;
}

static size_t resource_bytes(const struct remembered_resource *r)
{
	return sizeof(*r) + r->target_len + r->as_len + r->attributes_len + r->link_len;
}

static void resource_free(struct remembered *m, struct remembered_page *p, int i)
{
	struct remembered_resource *r = p->resources[i];
	budget_give(&m->budget, resource_bytes(r));
	free(r);
	p->resources[i] = NULL;
	p->taken &= ~(UINT64_C(1) << i);
	/* The next resource at this index must not inherit the outcomes. */
	for (uint32_t v = 0; v < p->vote_count; v++) {
		p->votes[v].offered &= ~(UINT64_C(1) << i);
		p->votes[v].used &= ~(UINT64_C(1) << i);
	}
	m->resource_count--;
}

void page_free(struct remembered *m, struct remembered_page *p)
{
	struct remembered_place *l = p->place;
	if (p->changed_at)
		gone_note(m, p);
	for (int i = 0; i < REMEMBERED_RESOURCES; i++)
		if (p->taken >> i & 1)
			resource_free(m, p, i);
	list_remove(&p->by_use);
	list_remove(&p->of_place);
	list_remove(&p->by_change);
	m->page_count--;
	m->established_count -= p->is_established;
	budget_give(&m->budget, page_bytes(p));
	free(p);
	if (--l->page_count == 0)
		place_remove(m, l);
}

void page_touch(struct remembered *m, struct remembered_page *p, usec now)
{
	p->viewed = now;
	list_remove(&p->by_use);
	list_append(p->is_established ? &m->established : &m->candidates, &p->by_use);
}

/* At most seven eighths of the pages are established, so that candidates have room. */
void page_establish(struct remembered *m, struct remembered_page *p)
{
	if (p->is_established)
		return;
	uint32_t most = m->options.pages - (m->options.pages + 7) / 8;
	struct remembered_page *oldest =
	    list_first(&m->established, struct remembered_page, by_use);
	if (m->established_count >= most) {
		if (!oldest)
			return;
		page_free(m, oldest);
	}
	p->is_established = true;
	m->established_count++;
	list_remove(&p->by_use);
	list_append(&m->established, &p->by_use);
}

void pages_expire(struct remembered *m, usec now)
{
	struct list *lists[] = {&m->candidates, &m->established};
	for (size_t i = 0; i < 2; i++) {
		struct remembered_page *p;
		while ((p = list_first(lists[i], struct remembered_page, by_use)) &&
		       now > p->viewed + m->options.age_usec)
			page_free(m, p);
	}
}

/* ---- resources ---- */

struct http_resource remembered_resource(const struct remembered_item *item)
{
	struct http_resource resource = {
	    .as = item->as,
	    .parameters = item->attributes,
	    .has_crossorigin = item->crossorigin != REMEMBERED_NO_CORS,
	    .is_module = item->rel == REMEMBERED_MODULEPRELOAD,
	    .is_preconnect = item->rel == REMEMBERED_PRECONNECT,
	};
	if (item->crossorigin == REMEMBERED_CREDENTIALS)
		resource.crossorigin = SLICE("use-credentials");
	if (target_is_path(item->target))
		resource.target.path = item->target;
	return resource;
}

static bool is_item(const struct remembered_resource *r, const struct remembered_item *item)
{
	return r->rel == item->rel && r->crossorigin == item->crossorigin &&
	       slice_equal(resource_target(r), item->target) &&
	       slice_equal(resource_as(r), item->as) &&
	       slice_equal(resource_attributes(r), item->attributes);
}

int resource_find(const struct remembered_page *p, const struct remembered_item *item)
{
	for (int i = 0; i < REMEMBERED_RESOURCES; i++)
		if (p->taken >> i & 1 && is_item(p->resources[i], item))
			return i;
	return -1;
}

static void put(struct remembered_resource *r, size_t at, struct slice s)
{
	if (s.len > 0)
		memcpy(r->text + at, s.ptr, s.len);
}

/* The Link field of a hint is the same for each request, if the target is a path. Empty: it is made when it is needed. */
static struct slice link_of(
    const struct remembered *m, struct arena *a, const struct remembered_item *item)
{
	const struct http_resource resource = remembered_resource(item);
	bool is_made = m->options.field_seed != 0 && resource.target.path.len > 0 &&
		       (item->rel == REMEMBERED_PRELOAD || item->rel == REMEMBERED_MODULEPRELOAD);
	return is_made ? http_hint_make(a, NULL, &resource) : SLICE("");
}

static struct remembered_resource *resource_new(struct remembered *m,
    const struct remembered_page *p, const struct remembered_item *item, struct slice link)
{
	size_t text = item->target.len + item->as.len + item->attributes.len + link.len;
	if (!take(m, p, sizeof(struct remembered_resource) + text))
		return NULL;
	struct remembered_resource *r = memory_zalloc(sizeof(*r) + text);
	r->rel = item->rel;
	r->crossorigin = item->crossorigin;
	r->target_len = (uint16_t)item->target.len;
	r->as_len = (uint16_t)item->as.len;
	r->attributes_len = (uint16_t)item->attributes.len;
	r->link_len = (uint16_t)link.len;
	put(r, 0, item->target);
	put(r, item->target.len, item->as);
	put(r, item->target.len + item->as.len, item->attributes);
	put(r, text - link.len, link);
	if (link.len > 0)
		r->link_key = http_field_key(
		    m->options.field_seed, HTTP_TOKEN_LINK, http_token_name(HTTP_TOKEN_LINK), link);
	return r;
}

int resource_add(
    struct remembered *m, struct remembered_page *p, const struct remembered_item *item, usec now)
{
	struct arena arena;
	char first[1024];
	if (p->taken == UINT64_MAX)
		return -1;
	arena_init(&arena, first, sizeof(first));
	struct remembered_resource *r = resource_new(m, p, item, link_of(m, &arena, item));
	arena_fini(&arena);
	if (!r)
		return -1;
	int i = __builtin_ctzll(~p->taken);
	r->since = r->seen = now;
	p->resources[i] = r;
	p->taken |= UINT64_C(1) << i;
	m->resource_count++;
	return i;
}

void resources_sweep(struct remembered *m, struct remembered_page *p)
{
	uint64_t kept = p->standing;
	for (uint32_t v = 0; v < p->vote_count; v++)
		for (int s = 0; s < REMEMBERED_SOURCES; s++)
			kept |= p->votes[v].named[s];
	for (uint32_t v = 0; v < p->followed_count; v++)
		kept |= p->followed[v].named[REMEMBERED_FOLLOWED];
	for (int i = 0; i < REMEMBERED_RESOURCES; i++)
		if (p->taken >> i & 1 && !(kept >> i & 1))
			resource_free(m, p, i);
}
