/* SPDX-License-Identifier: MIT */
/*
 * Makes, finds and forgets pages, resources, clients and views, within the table's bounds. What one
 * client alone has asked for is forgotten before what several clients asked for.
 */
#include "proxy/offer/learned_table.h"

#include "policy/policy.h"
#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include <math.h>

bool learned_name_set(
    struct learned_name *name, struct slice authority, struct slice path, bool is_page)
{
	if (is_page)
		path.len = slice_find(path, '?');
	if (authority.len == 0 || authority.len > sizeof(name->bytes) || path.len == 0 ||
	    path.len > OFFER_LEARNED_PATH_BYTES || path.ptr[0] != '/' ||
	    !ascii_is_visible(authority) || !ascii_is_visible(path) ||
	    slice_find(path, '#') != path.len)
		return false;
	ascii_lower_copy(name->bytes, authority);
	name->authority = slice_of(name->bytes, authority.len);
	name->path = path;
	return true;
}

/* Some servers end the path at a semicolon, or where an escaped character stands, and run what is before it. */
bool learned_is_asset(struct slice path)
{
	static const char unsafe[] = {'?', ';', '%', '\\'};
	const unsigned assets = 1u << POLICY_TYPE_STYLE | 1u << POLICY_TYPE_SCRIPT |
				1u << POLICY_TYPE_IMAGE | 1u << POLICY_TYPE_FONT;
	for (size_t i = 0; i < sizeof(unsafe); i++)
		if (slice_find(path, unsafe[i]) < path.len)
			return false;
	return assets >> policy_type_of_path(path) & 1;
}

/* ---- pages ---- */

static uint64_t name_hash(const struct offer_learned *t, const struct learned_name *name)
{
	uint64_t hash = hash_bytes(t->seed, name->authority.ptr, name->authority.len);
	return hash_bytes(hash, name->path.ptr, name->path.len);
}

struct learned_page *learned_page_find(
    const struct offer_learned *t, const struct learned_name *name)
{
	for (struct map_node *n = map_find(&t->pages, name_hash(t, name)); n; n = map_next(n)) {
		struct learned_page *p = container_of(n, struct learned_page, node);
		if (slice_equal(page_path(p), name->path) &&
		    slice_equal(page_authority(p), name->authority))
			return p;
	}
	return NULL;
}

static size_t slot_bytes(const struct map *m)
{
	return m->slots ? (m->mask + 1) * sizeof(*m->slots) : 0;
}

/* The maps grow up to a bound and never shrink. Their slots are charged to the parent budget alone, as the
 * table's own limit is for what can be forgotten. */
static void charge_slots(struct offer_learned *t)
{
	budget_adjust(
	    t->budget.parent, &t->slots_charged, slot_bytes(&t->pages) + slot_bytes(&t->clients));
}

static size_t page_bytes(const struct learned_page *p)
{
	return sizeof(*p) + p->authority_len + p->path_len;
}

void learned_page_free(struct offer_learned *t, struct learned_page *p)
{
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++)
		if (p->used >> i & 1)
			learned_resource_remove(t, p, i);
	list_for_each(&p->views, v, struct learned_view, of_page) learned_view_free(t, v);
	map_remove(&t->pages, &p->node);
	list_remove(&p->by_use);
	t->established_count -= p->is_established;
	budget_give(&t->budget, page_bytes(p));
	free(p);
}

/* Frees a candidate if there is one: a client that requests random paths displaces only such paths. */
static bool drop_page(struct offer_learned *t)
{
	struct learned_page *p = list_first(&t->candidates, struct learned_page, by_use);
	if (!p)
		p = list_first(&t->established, struct learned_page, by_use);
	if (p)
		learned_page_free(t, p);
	return p != NULL;
}

static bool take(struct offer_learned *t, size_t bytes)
{
	if (budget_take(&t->budget, bytes))
		return true;
	/* Only a candidate page without open views is freed for something new. */
	struct learned_page *p = list_first(&t->candidates, struct learned_page, by_use);
	if (p && list_is_empty(&p->views)) {
		learned_page_free(t, p);
		if (budget_take(&t->budget, bytes))
			return true;
	}
	t->refused++;
	return false;
}

/* At most seven eighths of the pages are established, so that candidates have room. */
static uint32_t most_established(const struct offer_learned *t)
{
	return t->options.pages - (t->options.pages + 7) / 8;
}

void learned_page_establish(struct offer_learned *t, struct learned_page *p)
{
	if (p->is_established)
		return;
	if (t->established_count >= most_established(t)) {
		struct learned_page *oldest =
		    list_first(&t->established, struct learned_page, by_use);
		if (!oldest)
			return;
		learned_page_free(t, oldest);
	}
	p->is_established = true;
	t->established_count++;
	list_remove(&p->by_use);
	list_append(&t->established, &p->by_use);
}

struct learned_page *learned_page_get(
    struct offer_learned *t, const struct learned_name *name, usec now)
{
	struct learned_page *p = learned_page_find(t, name);
	if (p) {
		list_remove(&p->by_use);
		list_append(p->is_established ? &t->established : &t->candidates, &p->by_use);
		return p;
	}
	if (t->pages.count >= t->options.pages)
		drop_page(t);
	size_t text = name->authority.len + name->path.len;
	if (!take(t, sizeof(*p) + text))
		return NULL;
	p = memory_zalloc(sizeof(*p) + text);
	p->authority_len = name->authority.len;
	p->path_len = name->path.len;
	memcpy(p->name, name->authority.ptr, name->authority.len);
	memcpy(p->name + p->authority_len, name->path.ptr, name->path.len);
	p->decayed_at = now;
	list_init(&p->views);
	list_init(&p->by_use);
	list_append(&t->candidates, &p->by_use);
	map_insert(&t->pages, &p->node, name_hash(t, name));
	charge_slots(t);
	return p;
}

double learned_page_fade(const struct offer_learned *t, const struct learned_page *p, usec now)
{
	if (now <= p->decayed_at)
		return 1;
	return exp2(-(double)(now - p->decayed_at) / (double)t->options.half_life_usec);
}

void learned_page_decay(const struct offer_learned *t, struct learned_page *p, usec now)
{
	double fade = learned_page_fade(t, p, now);
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
		if (!(p->used >> i & 1))
			continue;
		p->resources[i]->numbers.hits *= fade;
		p->resources[i]->numbers.views *= fade;
	}
	if (now > p->decayed_at)
		p->decayed_at = now;
}

/* ---- resources ---- */

int learned_resource_find(const struct learned_page *p, struct slice path)
{
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++)
		if (p->used >> i & 1 && slice_equal(resource_path(p->resources[i]), path))
			return i;
	return -1;
}

void learned_resource_remove(struct offer_learned *t, struct learned_page *p, int i)
{
	struct learned_resource *r = p->resources[i];
	uint64_t bit = UINT64_C(1) << i;
	/* The next resource at this index must not inherit the bits of the open views. */
	list_for_each(&p->views, v, struct learned_view, of_page)
	{
		v->asked &= ~bit;
		v->taken &= ~bit;
		v->excused &= ~bit;
	}
	p->used &= ~bit;
	p->resources[i] = NULL;
	t->resource_count--;
	budget_give(&t->budget, sizeof(*r) + r->path_len);
	free(r->path);
	free(r);
}

uint32_t learned_resource_clients(
    const struct offer_learned *t, const struct learned_resource *r, usec now)
{
	uint32_t count = 0;
	for (int i = 0; i < OFFER_LEARNED_SUPPORTERS; i++) {
		const struct learned_vote *s = &r->supporters[i];
		if (s->at &&
		    (now < s->at || (now - s->at) / SUPPORT_LIVES < t->options.half_life_usec))
			count++;
	}
	return count > r->numbers.clients ? count : r->numbers.clients;
}

struct offer_learned_numbers learned_numbers_of(
    const struct offer_learned *t, const struct learned_resource *r, double fade, usec now)
{
	struct offer_learned_numbers numbers = r->numbers;
	numbers.hits *= fade;
	numbers.views *= fade;
	numbers.clients = learned_resource_clients(t, r, now);
	return numbers;
}

uint32_t learned_resource_confidence(const struct learned_resource *r)
{
	return r->numbers.views > 0 ? (uint32_t)(r->numbers.hits / r->numbers.views * 10000 + 0.5)
				    : 0;
}

/*
 * Hits are rounded, as even those of the last minutes have decayed a little. A proposed resource stays
 * proposed until it is clearly below the limits, so that a single view does not switch it on and off.
 */
bool learned_resource_has_hits(
    const struct offer_learned *t, const struct learned_resource *r, double fade)
{
	return r->numbers.hits * fade + (r->stands ? 1.5 : 0.5) >= t->options.hits;
}

bool learned_resource_is_proposed(
    const struct offer_learned *t, const struct learned_resource *r, double fade, usec now)
{
	uint32_t confidence = t->options.confidence;
	return learned_resource_has_hits(t, r, fade) &&
	       learned_resource_confidence(r) >=
		   (r->stands ? confidence - confidence / 5 : confidence) &&
	       learned_resource_clients(t, r, now) >= t->options.support;
}

/* Returns a free index, else removes the resource with the smallest share of hits among those with too few
 * clients or little confidence. -1: there is none. */
static int place_for_resource(struct offer_learned *t, struct learned_page *p, usec now)
{
	int worst = -1;
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
		if (!(p->used >> i & 1))
			return i;
		const struct learned_resource *r = p->resources[i];
		bool is_weak = learned_resource_clients(t, r, now) < t->options.support ||
			       learned_resource_confidence(r) < t->options.confidence / 4;
		if (is_weak && (worst < 0 || r->numbers.hits / (r->numbers.views + 1) <
						 p->resources[worst]->numbers.hits /
						     (p->resources[worst]->numbers.views + 1)))
			worst = i;
	}
	if (worst >= 0)
		learned_resource_remove(t, p, worst);
	return worst;
}

int learned_resource_add(
    struct offer_learned *t, struct learned_page *p, struct slice path, usec now)
{
	int i = place_for_resource(t, p, now);
	if (i < 0 || !take(t, sizeof(struct learned_resource) + path.len))
		return -1;
	struct learned_resource *r = memory_new(struct learned_resource);
	r->path = memory_alloc(path.len);
	memcpy(r->path, path.ptr, path.len);
	r->path_len = path.len;
	p->resources[i] = r;
	p->used |= UINT64_C(1) << i;
	t->resource_count++;
	return i;
}

/* ---- clients and views ---- */

uint64_t learned_client_key(const struct offer_learned *t, struct slice client)
{
	return hash_bytes(t->seed ^ UINT64_C(0x636c69656e74), client.ptr, client.len);
}

struct learned_client *learned_client_find(const struct offer_learned *t, uint64_t key)
{
	struct map_node *n = map_find(&t->clients, key);
	return n ? container_of(n, struct learned_client, node) : NULL;
}

void learned_client_free(struct offer_learned *t, struct learned_client *c)
{
	list_for_each(&c->views, v, struct learned_view, of_client) learned_view_free(t, v);
	map_remove(&t->clients, &c->node);
	list_remove(&c->by_use);
	budget_give(&t->budget, sizeof(*c));
	free(c);
}

struct learned_client *learned_client_get(struct offer_learned *t, uint64_t key)
{
	struct learned_client *c = learned_client_find(t, key);
	if (c) {
		list_remove(&c->by_use);
		list_append(&t->clients_by_use, &c->by_use);
		return c;
	}
	struct learned_client *oldest =
	    list_first(&t->clients_by_use, struct learned_client, by_use);
	if (oldest && t->clients.count >= t->options.clients)
		learned_client_free(t, oldest);
	if (!take(t, sizeof(*c)))
		return NULL;
	c = memory_new(struct learned_client);
	list_init(&c->views);
	list_init(&c->by_use);
	list_append(&t->clients_by_use, &c->by_use);
	map_insert(&t->clients, &c->node, key);
	charge_slots(t);
	return c;
}

struct learned_view *learned_view_new(
    struct offer_learned *t, struct learned_client *c, struct learned_page *p, usec now)
{
	/* Not `take`, which may free a candidate page: p may be one. */
	if (!budget_take(&t->budget, sizeof(struct learned_view))) {
		t->refused++;
		return NULL;
	}
	struct learned_view *v = memory_new(struct learned_view);
	*v = (struct learned_view){.client = c, .page = p, .begun = now};
	list_init(&v->by_time);
	list_init(&v->of_client);
	list_init(&v->of_page);
	list_append(&t->views, &v->by_time);
	list_prepend(&c->views, &v->of_client);
	list_append(&p->views, &v->of_page);
	c->view_count++;
	t->view_count++;
	return v;
}

void learned_view_free(struct offer_learned *t, struct learned_view *v)
{
	list_remove(&v->by_time);
	list_remove(&v->of_client);
	list_remove(&v->of_page);
	v->client->view_count--;
	t->view_count--;
	budget_give(&t->budget, sizeof(*v));
	free(v);
}
