/* SPDX-License-Identifier: MIT */
/*
 * Counts a view that is over: a hit, a miss or neither for each resource of its page. A client counts
 * once for a page in each half-life, so that no client alone changes the proposals. Also keeps what a client probably
 * has in its cache.
 */
#include "proxy/base/hash.h"
#include "proxy/offer/learned_table.h"

/* ---- what a client probably has in its cache: the resources that it got last, and when ---- */

/* Of two resources with the same hash of 32 bits, a hit or a miss may not be counted. */
uint32_t learned_mark(const struct offer_learned *t, struct slice authority, struct slice path)
{
	uint64_t hash = hash_bytes(t->seed, authority.ptr, authority.len);
	uint32_t mark = (uint32_t)(hash_bytes(~hash, path.ptr, path.len) >> 16);
	return mark ? mark : 1;
}

uint32_t learned_cache_sec(usec at)
{
	return (uint32_t)(at / USEC_PER_SEC);
}

bool learned_cache_has(const struct learned_cache *cache, uint32_t mark, uint32_t before)
{
	for (int i = 0; i < CACHE_MARKS; i++)
		if (cache->marks[i] == mark)
			return cache->since[i] < before;
	return false;
}

void learned_cache_note(struct learned_cache *cache, uint32_t mark, usec now)
{
	if (learned_cache_has(cache, mark, UINT32_MAX))
		return;
	cache->marks[cache->at] = mark;
	cache->since[cache->at] = learned_cache_sec(now);
	cache->at = (cache->at + 1) % CACHE_MARKS;
}

void learned_cache_forget(struct learned_cache *cache, uint32_t before)
{
	for (int i = 0; i < CACHE_MARKS; i++)
		if (cache->since[i] < before)
			cache->marks[i] = 0;
}

/* ---- whether it has been emptied ---- */

/*
 * If a client requests again most of the resources that it should have, its cache has been emptied.
 * Then forgets what it got before this view, and before other tabs that were opened at the same time.
 */
static void check_cache(const struct offer_learned *t, const struct learned_view *v)
{
	const struct learned_page *p = v->page;
	struct learned_client *c = v->client;
	uint32_t begun = learned_cache_sec(v->begun);
	uint32_t tabs = learned_cache_sec(t->options.window_usec);
	int again = 0, spared = 0;
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
		const struct learned_resource *r = p->resources[i];
		/* A resource without enough views for a confidence counts as needed. */
		bool is_needed = r && (r->numbers.views < 1 ||
					  learned_resource_confidence(r) >= t->options.confidence);
		if (!is_needed || v->excused >> i & 1 ||
		    !learned_cache_has(
			&c->cache, learned_mark(t, page_authority(p), resource_path(r)), begun))
			continue;
		if (v->asked >> i & 1)
			again++;
		else
			spared++;
	}
	if (again > spared && begun > tabs)
		learned_cache_forget(&c->cache, begun - tabs);
}

/* ---- counting ---- */

bool learned_page_has_vote(
    const struct offer_learned *t, const struct learned_page *p, uint64_t client, usec now)
{
	for (int i = 0; i < OFFER_LEARNED_VOTERS; i++)
		if (p->voters[i].at && p->voters[i].client == client &&
		    (now < p->voters[i].at || now - p->voters[i].at < t->options.half_life_usec))
			return false;
	return true;
}

uint32_t learned_page_voters(const struct learned_page *p)
{
	uint32_t count = 0;
	for (int i = 0; i < OFFER_LEARNED_VOTERS; i++) {
		bool is_first = p->voters[i].at != 0;
		for (int j = 0; j < i && is_first; j++)
			is_first = p->voters[j].client != p->voters[i].client;
		count += is_first;
	}
	return count;
}

static void note_vote(struct offer_learned *t, struct learned_page *p, uint64_t client, usec now)
{
	p->voters[p->voter_at] = (struct learned_vote){client, now};
	p->voter_at = (p->voter_at + 1) % OFFER_LEARNED_VOTERS;
	if (!p->is_established && learned_page_voters(p) >= t->options.support)
		learned_page_establish(t, p);
}

/* Notes that the client requested the resource; replaces the oldest note. */
static void note_supporter(struct learned_resource *r, uint64_t client, usec now)
{
	struct learned_vote *place = &r->supporters[0];
	for (int i = 0; i < OFFER_LEARNED_SUPPORTERS; i++) {
		struct learned_vote *s = &r->supporters[i];
		if (s->at && s->client == client) {
			s->at = now;
			return;
		}
		if (s->at < place->at)
			place = s;
	}
	*place = (struct learned_vote){client, now};
}

static void count_resource(struct offer_learned *t, const struct learned_view *v, int i, usec now)
{
	struct learned_resource *r = v->page->resources[i];
	uint64_t bit = UINT64_C(1) << i;
	uint32_t mark = learned_mark(t, page_authority(v->page), resource_path(r));
	bool is_taken = v->taken & bit, is_hit = v->asked & bit || is_taken;
	/* A client that has the resource counts neither way: a missing request is no miss, and a request
	 * means that the resource cannot be cached. */
	uint32_t before = is_hit ? learned_cache_sec(v->begun) : UINT32_MAX;
	if (!is_taken &&
	    ((!is_hit && v->excused & bit) || learned_cache_has(&v->client->cache, mark, before)))
		return;
	if (learned_resource_is_proposed(t, r, 1, now)) {
		r->numbers.proposed++;
		r->numbers.came_true += is_hit;
		/* Other clients request it here, so this one probably cached it before this process began:
		 * count one miss, not one for each view. */
		if (!is_hit)
			learned_cache_note(&v->client->cache, mark, now);
	}
	r->numbers.views += 1;
	if (is_hit) {
		r->numbers.hits += 1;
		note_supporter(r, v->client->node.hash, now);
	}
	if (r->numbers.views > WEIGHT_MOST) {
		r->numbers.hits *= WEIGHT_MOST / r->numbers.views;
		r->numbers.views = WEIGHT_MOST;
	}
	r->stands = learned_resource_is_proposed(t, r, 1, now);
}

void learned_view_count(struct offer_learned *t, struct learned_view *v, usec now)
{
	struct learned_page *p = v->page;
	check_cache(t, v);
	if (v->is_unanswered)
		t->unanswered++;
	else if (!(v->asked | v->taken))
		t->silent++;
	else if (!v->counts)
		t->repeated++;
	else {
		t->counted++;
		p->loads++;
		learned_page_decay(t, p, now);
		for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++)
			if (p->used >> i & 1)
				count_resource(t, v, i, now);
		note_vote(t, p, v->client->node.hash, now);
	}
	learned_view_free(t, v);
}
