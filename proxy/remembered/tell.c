/* SPDX-License-Identifier: MIT */
/*
 * What is told of a page, and what became of it.
 *
 * A resource is told if enough clients got it, and most of the clients of its source: three quarters for what the page or
 * its style sheets name, so that what some clients alone get (an experiment, a logged-in page) is not told; a third for
 * what clients asked for, as many have it in their caches.
 *
 * While the page has fewer votes than that, its standing is told.
 */
#include "proxy/remembered/remembered_private.h"

enum { ALIKE_SHARE = 75, ASKED_SHARE = 35, UNUSED_AFTER = 4 };

static bool is_valid(const struct remembered *m, const struct remembered_vote *v, usec now)
{
	return now - v->at <= m->options.age_usec;
}

static bool is_guarded(const struct remembered_page *p)
{
	for (uint32_t i = 0; i < p->vote_count; i++)
		if (p->votes[i].is_guarded)
			return true;
	return false;
}

uint32_t page_need(const struct remembered *m, const struct remembered_page *p)
{
	return is_guarded(p) ? m->options.clients : OPEN_NEED;
}

uint32_t page_votes(const struct remembered *m, const struct remembered_page *p, usec now)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < p->vote_count; i++)
		count += is_valid(m, &p->votes[i], now);
	return count;
}

/* What a vote names by one of two kinds: the page's own items, those of its style sheets, or what was asked for. */
enum kind { KIND_OWN, KIND_STYLE, KIND_ASKED, KINDS };

static uint64_t named(const struct remembered_vote *v, enum kind kind)
{
	switch (kind) {
	case KIND_OWN:
		return v->named[REMEMBERED_LINK] | v->named[REMEMBERED_HEAD];
	case KIND_STYLE:
		return v->named[REMEMBERED_STYLE];
	case KIND_ASKED:
		return v->named[REMEMBERED_ASKED];
	case KINDS:
		break;
	}
	return 0;
}

/* Whether the votes that name it agree enough. */
static bool is_alike(const struct remembered *m, const struct remembered_page *p, int i,
    enum kind kind, uint32_t need, usec now)
{
	uint32_t all = 0, naming = 0;
	for (uint32_t n = 0; n < p->vote_count; n++) {
		const struct remembered_vote *v = &p->votes[n];
		uint64_t bits = named(v, kind);
		/* A client whose style sheets or assets are in its cache says nothing of them. */
		if (!is_valid(m, v, now) || (kind != KIND_OWN && bits == 0))
			continue;
		all++;
		naming += (uint32_t)(bits >> i & 1);
	}
	uint32_t share = kind == KIND_ASKED ? ASKED_SHARE : ALIKE_SHARE;
	return naming >= need && naming * 100 >= share * all;
}

static bool resource_may_be_guarded(const struct remembered_resource *r)
{
	const struct remembered_item item = {.rel = r->rel, .target = resource_target(r)};
	return item_is_good(&item, true);
}

static bool is_told(const struct remembered *m, const struct remembered_page *p, int i, usec now)
{
	uint32_t need = page_need(m, p);
	if (now < p->resources[i]->barred_until)
		return false;
	/* Named while the page was open. */
	if (is_guarded(p) && !resource_may_be_guarded(p->resources[i]))
		return false;
	if (page_votes(m, p, now) < need)
		return p->standing >> i & 1 && now - p->standing_at <= m->options.age_usec;
	/* Anybody may ask for anything: what clients ask for needs as many as a guarded page. */
	return is_alike(m, p, i, KIND_OWN, need, now) || is_alike(m, p, i, KIND_STYLE, need, now) ||
	       is_alike(m, p, i, KIND_ASKED, m->options.clients, now);
}

uint64_t page_told(const struct remembered *m, const struct remembered_page *p, usec now)
{
	uint64_t told = 0;
	for (int i = 0; i < REMEMBERED_RESOURCES; i++)
		if (p->taken >> i & 1 && is_told(m, p, i, now))
			told |= UINT64_C(1) << i;
	return told;
}

uint8_t resource_sources(const struct remembered_page *p, int i)
{
	unsigned sources = p->standing >> i & 1 ? p->resources[i]->sources : 0;
	for (uint32_t n = 0; n < p->vote_count; n++)
		for (int s = 0; s < REMEMBERED_SOURCES; s++)
			if (p->votes[n].named[s] >> i & 1)
				sources |= 1u << s;
	return (uint8_t)sources;
}

uint32_t resource_votes(
    const struct remembered *m, const struct remembered_page *p, int i, usec now)
{
	uint32_t count = 0;
	for (uint32_t n = 0; n < p->vote_count; n++) {
		const struct remembered_vote *v = &p->votes[n];
		uint64_t bits = named(v, KIND_OWN) | named(v, KIND_STYLE) | named(v, KIND_ASKED);
		count += is_valid(m, v, now) && bits >> i & 1;
	}
	return count;
}

/* ---- for an offer ---- */

static struct remembered_told told_of(const struct remembered_page *p, int i, usec now)
{
	const struct remembered_resource *r = p->resources[i];
	struct remembered_told t = {
	    .item = {.rel = r->rel,
		.crossorigin = r->crossorigin,
		.target = resource_target(r),
		.as = resource_as(r),
		.attributes = resource_attributes(r)},
	    .sources = resource_sources(p, i),
	    .offered = r->offered,
	    .used = r->used,
	    .failed = r->failed,
	    .known_usec = now - r->since,
	    .seen_usec = now - r->seen,
	};
	t.item.source = (enum remembered_source)(t.sources ? __builtin_ctz(t.sources) : 0);
	return t;
}

/* The place of a source's strength, then that of the page's order. */
static void insert(struct remembered_told *told, size_t *count, const struct remembered_told *t)
{
	for (size_t i = 0; i < *count; i++)
		if (slice_equal(told[i].item.target, t->item.target)) {
			if (t->item.source >= told[i].item.source)
				return;
			memmove(&told[i], &told[i + 1], (--*count - i) * sizeof(*told));
			break;
		}
	size_t at = (*count)++;
	for (; at > 0 && told[at - 1].item.source > t->item.source; at--)
		told[at] = told[at - 1];
	told[at] = *t;
}

size_t remembered_find(const struct remembered *m, const struct http_head *request,
    struct remembered_told told[REMEMBERED_RESOURCES], usec now)
{
	const struct remembered_page *p = page_of_request(m, request);
	size_t count = 0;
	now += EPOCH;
	if (!p || now - p->viewed > m->options.age_usec)
		return 0;
	for (uint64_t left = page_told(m, p, now); left != 0; left &= left - 1) {
		struct remembered_told t = told_of(p, __builtin_ctzll(left), now);
		insert(told, &count, &t);
	}
	return count;
}

/* ---- outcomes ---- */

static void count_outcome(struct remembered_page *p, struct remembered_vote *v, int i,
    enum remembered_outcome outcome, usec now)
{
	struct remembered_resource *r = p->resources[i];
	uint64_t bit = UINT64_C(1) << i;
	uint64_t *counted = outcome == REMEMBERED_OFFERED ? &v->offered : &v->used;
	if (*counted & bit)
		return;
	*counted |= bit;
	*(outcome == REMEMBERED_OFFERED ? &r->offered : &r->used) += 1;
	uint32_t offered = 0, used = 0;
	for (uint32_t n = 0; n < p->vote_count; n++) {
		offered += &p->votes[n] != v && p->votes[n].offered & bit;
		used += (p->votes[n].used & bit) != 0;
	}
	/* The newest offer may still be used. */
	if (outcome != REMEMBERED_OFFERED || offered < UNUSED_AFTER || used > 0)
		return;
	r->barred_until = now + USEC_PER_DAY;
	r->is_unused = true;
	for (uint32_t n = 0; n < p->vote_count; n++)
		p->votes[n].offered &= ~bit;
}

static void note_gone(struct remembered_resource *r, usec now)
{
	r->failed++;
	r->is_unused = false;
	r->barred_until = now + (r->failed > 1 ? USEC_PER_DAY : USEC_PER_HOUR);
}

void remembered_on_outcome(struct remembered *m, const struct http_head *request,
    struct slice client, struct slice target, enum remembered_outcome outcome, usec now)
{
	struct remembered_page *p = page_of_request(m, request);
	struct remembered_vote *v = NULL;
	uint64_t key = client_key(m, client);
	now += EPOCH;
	if (p && outcome == REMEMBERED_USED)
		page_touch(m, p, now);
	for (uint32_t n = 0; p && n < p->vote_count; n++)
		if (p->votes[n].client == key)
			v = &p->votes[n];
	for (int i = 0; p && i < REMEMBERED_RESOURCES; i++) {
		if (!(p->taken >> i & 1) || !slice_equal(resource_target(p->resources[i]), target))
			continue;
		if (outcome == REMEMBERED_GONE)
			note_gone(p->resources[i], now);
		else if (v)
			count_outcome(p, v, i, outcome, now);
	}
}
