/* SPDX-License-Identifier: MIT */
/*
 * What is told of a page, and what became of it.
 *
 * A resource is told if enough clients got it, and most of the clients of its source: three quarters for what the page or
 * its style sheets name, so that what some clients alone get (an experiment, a logged-in page) is not told; a third for
 * what clients asked for, as many have it in their caches.
 *
 * While fewer clients have voted than must agree, what stands is told.
 */
#include "proxy/remembered/remembered_private.h"

enum { UNUSED_AFTER = 4 };

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

/* Sources that are judged together: the page's own items, those of its style sheets, what was asked for, next pages. */
enum kind { KIND_OWN, KIND_STYLE, KIND_ASKED, KIND_NEXT, KINDS };

static const struct {
	uint8_t sources;
	uint32_t share; /* of the votes, in percent */
} kinds[KINDS] = {
    [KIND_OWN] = {1u << REMEMBERED_LINK | 1u << REMEMBERED_HEAD, 75},
    [KIND_STYLE] = {1u << REMEMBERED_STYLE, 75},
    [KIND_ASKED] = {1u << REMEMBERED_ASKED, 35},
    [KIND_NEXT] = {1u << REMEMBERED_FOLLOWED, 25},
};

static const struct remembered_vote *votes_of(
    const struct remembered_page *p, enum kind kind, uint32_t *count)
{
	*count = kind == KIND_NEXT ? p->followed_count : p->vote_count;
	return kind == KIND_NEXT ? p->followed : p->votes;
}

static uint64_t named(const struct remembered_vote *v, enum kind kind)
{
	uint64_t bits = 0;
	for (int s = 0; s < REMEMBERED_SOURCES; s++)
		if (kinds[kind].sources >> s & 1)
			bits |= v->named[s];
	return bits;
}

/* Anybody may ask for anything: what clients ask for needs as many as a guarded page. */
static uint32_t kind_need(
    const struct remembered *m, const struct remembered_page *p, enum kind kind)
{
	return kind == KIND_ASKED || kind == KIND_NEXT ? m->options.clients : page_need(m, p);
}

/* Votes that say something of this kind: a client whose style sheets or assets are in its cache says nothing of them. */
static bool is_of_kind(
    const struct remembered *m, const struct remembered_vote *v, enum kind kind, usec now)
{
	return is_valid(m, v, now) && (kind == KIND_OWN || named(v, kind) != 0);
}

static uint32_t kind_votes(
    const struct remembered *m, const struct remembered_page *p, enum kind kind, usec now)
{
	uint32_t count = 0, all;
	const struct remembered_vote *votes = votes_of(p, kind, &all);
	for (uint32_t n = 0; n < all; n++)
		count += is_of_kind(m, &votes[n], kind, now);
	return count;
}

/* Whether the votes that name it agree enough, or it stands while there are too few. */
static bool is_told_by(
    const struct remembered *m, const struct remembered_page *p, int i, enum kind kind, usec now)
{
	const struct remembered_resource *r = p->resources[i];
	uint32_t all = kind_votes(m, p, kind, now), need = kind_need(m, p, kind), naming = 0;
	if (all < need)
		return p->standing >> i & 1 && r->sources & kinds[kind].sources &&
		       now - r->seen <= m->options.age_usec;
	uint32_t count;
	const struct remembered_vote *votes = votes_of(p, kind, &count);
	for (uint32_t n = 0; n < count; n++)
		naming += is_of_kind(m, &votes[n], kind, now) && named(&votes[n], kind) >> i & 1;
	return naming >= need && naming * 100 >= kinds[kind].share * all;
}

static bool resource_may_be_guarded(const struct remembered_resource *r)
{
	const struct remembered_item item = {
	    .source = r->rel == REMEMBERED_NEXT ? REMEMBERED_FOLLOWED : REMEMBERED_LINK,
	    .rel = r->rel,
	    .target = resource_target(r)};
	return item_is_good(&item, true);
}

static bool is_told(const struct remembered *m, const struct remembered_page *p, int i, usec now)
{
	if (now < p->resources[i]->barred_until)
		return false;
	/* Named while the page was open. */
	if (is_guarded(p) && !resource_may_be_guarded(p->resources[i]))
		return false;
	for (int kind = 0; kind < KINDS; kind++)
		if (is_told_by(m, p, i, (enum kind)kind, now))
			return true;
	return false;
}

/* The same as is_told, of a page without votes: copies have no others. */
static bool stands(const struct remembered *m, const struct remembered_page *p, int i, usec now)
{
	const struct remembered_resource *r = p->resources[i];
	return now >= r->barred_until && r->sources != 0 && now - r->seen <= m->options.age_usec;
}

uint64_t page_told(const struct remembered *m, const struct remembered_page *p, usec now)
{
	uint64_t told = 0;
	if (p->vote_count == 0 && p->followed_count == 0) {
		for (uint64_t left = p->taken & p->standing; left != 0; left &= left - 1)
			if (stands(m, p, __builtin_ctzll(left), now))
				told |= left & -left;
		return told;
	}
	for (int i = 0; i < REMEMBERED_RESOURCES; i++)
		if (p->taken >> i & 1 && is_told(m, p, i, now))
			told |= UINT64_C(1) << i;
	return told;
}

/*
 * What is told stands when the votes go that named it: clients with full caches vote and say nothing of it, and several
 * clients may turn out to be one.
 */
void standing_keep(const struct remembered *m, struct remembered_page *p, usec now)
{
	for (uint64_t left = page_told(m, p, now); left != 0; left &= left - 1) {
		int i = __builtin_ctzll(left);
		unsigned sources = 0;
		for (int kind = 0; kind < KINDS; kind++)
			if (is_told_by(m, p, i, (enum kind)kind, now))
				sources |= resource_sources(p, i) & kinds[kind].sources;
		p->resources[i]->sources = (uint8_t)sources;
		p->standing |= UINT64_C(1) << i;
	}
}

/* Nothing stands beside enough votes, nor for longer than a vote. */
void standing_settle(const struct remembered *m, struct remembered_page *p, usec now)
{
	unsigned decided = 0;
	for (int kind = 0; kind < KINDS; kind++)
		if (kind_votes(m, p, (enum kind)kind, now) >= kind_need(m, p, (enum kind)kind))
			decided |= kinds[kind].sources;
	for (uint64_t left = p->standing; left != 0; left &= left - 1) {
		struct remembered_resource *r = p->resources[__builtin_ctzll(left)];
		r->sources &= (uint8_t)~decided;
		if (r->sources == 0 || now - r->seen > m->options.age_usec)
			p->standing &= ~(left & -left);
	}
}

uint8_t resource_sources(const struct remembered_page *p, int i)
{
	unsigned sources = p->standing >> i & 1 ? p->resources[i]->sources : 0;
	for (uint32_t n = 0; n < p->vote_count; n++)
		for (int s = 0; s < REMEMBERED_SOURCES; s++)
			if (p->votes[n].named[s] >> i & 1)
				sources |= 1u << s;
	for (uint32_t n = 0; n < p->followed_count; n++)
		if (p->followed[n].named[REMEMBERED_FOLLOWED] >> i & 1)
			sources |= 1u << REMEMBERED_FOLLOWED;
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
	for (uint32_t n = 0; n < p->followed_count; n++)
		count += is_valid(m, &p->followed[n], now) &&
			 p->followed[n].named[REMEMBERED_FOLLOWED] >> i & 1;
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
	    .link = resource_link(r),
	    .link_key = r->link_key,
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

static void note_field(struct remembered_fields *fields, const struct remembered_resource *r)
{
	if (r->rel == REMEMBERED_CSP)
		fields->csp = resource_target(r);
	else
		fields->referrer_policy = resource_target(r);
}

/* fields: NULL, if next pages are wanted. */
static size_t find(const struct remembered *m, const struct http_head *request,
    struct remembered_told told[REMEMBERED_RESOURCES], struct remembered_fields *fields, usec now)
{
	const struct remembered_page *p = page_of_request(m, request);
	size_t count = 0;
	now += EPOCH;
	if (!p || now > p->viewed + m->options.age_usec)
		return 0;
	for (uint64_t left = page_told(m, p, now); left != 0; left &= left - 1) {
		int i = __builtin_ctzll(left);
		enum remembered_rel rel = p->resources[i]->rel;
		if (remembered_rel_is_field(rel)) {
			if (fields)
				note_field(fields, p->resources[i]);
		} else if ((rel == REMEMBERED_NEXT) == !fields) {
			struct remembered_told t = told_of(p, i, now);
			insert(told, &count, &t);
		}
	}
	return count;
}

size_t remembered_find(const struct remembered *m, const struct http_head *request,
    struct remembered_told told[REMEMBERED_RESOURCES], struct remembered_fields *fields, usec now)
{
	*fields = (struct remembered_fields){0};
	return find(m, request, told, fields, now);
}

size_t remembered_next(const struct remembered *m, const struct http_head *request,
    struct remembered_told told[REMEMBERED_RESOURCES], usec now)
{
	return find(m, request, told, NULL, now);
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

void outcome_take(struct remembered *m, struct remembered_page *p, uint64_t client,
    struct slice target, enum remembered_outcome outcome, usec now)
{
	struct remembered_vote *v = NULL;
	if (outcome == REMEMBERED_USED)
		page_touch(m, p, now);
	for (uint32_t n = 0; n < p->vote_count; n++)
		if (p->votes[n].client == client)
			v = &p->votes[n];
	for (int i = 0; i < REMEMBERED_RESOURCES; i++) {
		if (!(p->taken >> i & 1) || !slice_equal(resource_target(p->resources[i]), target))
			continue;
		if (outcome == REMEMBERED_GONE)
			note_gone(p->resources[i], now);
		else if (v)
			count_outcome(p, v, i, outcome, now);
	}
	page_note_change(m, p, now);
}
