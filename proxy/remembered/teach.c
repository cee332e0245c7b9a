/* SPDX-License-Identifier: MIT */
/*
 * Lessons: the vote of a client on what a page needs, what belongs to its view afterwards, and when a new version of the
 * page takes the place of the old one.
 *
 * Of each client the last lesson counts. Clients are told apart by address, by cookies, and by what is unusual in their
 * requests: two lessons with the same of any of these are one client's. So what a response has taken from its request
 * needs several requests that differ.
 *
 * A new version: the last two clients got the same set, another than before. It is none if it has the validator of an
 * older vote (then the request made the difference), or if it is a former set (then the page changes to and fro). Such
 * pages keep only what most of the last clients got.
 */
#include "proxy/remembered/remembered_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"

uint64_t client_key(const struct remembered *m, struct slice client)
{
	uint64_t key = hash_bytes(m->seed ^ UINT64_C(0x636c69656e74), client.ptr, client.len);
	return key ? key : 1;
}

/* ---- votes ---- */

static void remove_vote(struct remembered_page *p, uint32_t i)
{
	p->vote_count--;
	memmove(&p->votes[i], &p->votes[i + 1], (p->vote_count - i) * sizeof(p->votes[0]));
}

/* Makes room for the client's vote at the end, and returns it. What has been counted of the client's outcomes stays. */
static struct remembered_vote *new_vote(
    struct remembered_page *p, const struct remembered_vote *made)
{
	uint64_t offered = 0, used = 0;
	for (uint32_t i = p->vote_count; i > 0; i--) {
		const struct remembered_vote *v = &p->votes[i - 1];
		bool is_same = v->client == made->client ||
			       (v->cookie && v->cookie == made->cookie) ||
			       (v->input && v->input == made->input);
		if (!is_same)
			continue;
		offered |= v->offered;
		used |= v->used;
		remove_vote(p, i - 1);
	}
	if (p->vote_count == VOTES)
		remove_vote(p, 0);
	struct remembered_vote *v = &p->votes[p->vote_count++];
	*v = *made;
	v->offered = offered;
	v->used = used;
	return v;
}

static uint64_t named_by(const struct remembered_vote *v)
{
	return v->named[REMEMBERED_LINK] | v->named[REMEMBERED_HEAD];
}

/* ---- versions ---- */

static bool is_former(const struct remembered_page *p, uint64_t set)
{
	for (int i = 0; i < FORMER; i++)
		if (p->former[i] == set)
			return true;
	return false;
}

/* Whether the last two votes are a version that differs from all before them. */
static bool is_new_version(const struct remembered_page *p)
{
	const uint8_t own = 1u << REMEMBERED_LINK | 1u << REMEMBERED_HEAD;
	if (p->vote_count < 2)
		return false;
	const struct remembered_vote *newest = &p->votes[p->vote_count - 1];
	bool differs = false;
	for (uint64_t left = p->standing & ~named_by(newest); left != 0; left &= left - 1)
		differs |= (p->resources[__builtin_ctzll(left)]->sources & own) != 0;
	if (newest[-1].set != newest->set || is_former(p, newest->set))
		return false;
	for (uint32_t i = 0; i + 2 < p->vote_count; i++) {
		const struct remembered_vote *v = &p->votes[i];
		if (v->set == newest->set)
			return false;
		if (v->version && v->version == newest->version)
			return false;
		differs = true;
	}
	return differs;
}

static void take_new_version(struct remembered *m, struct remembered_page *p, usec now)
{
	if (!is_new_version(p))
		return;
	const struct remembered_vote *newest = &p->votes[p->vote_count - 1];
	uint64_t told = page_told(m, p, now), next = 0;
	for (uint64_t left = told; left != 0; left &= left - 1)
		if (p->resources[__builtin_ctzll(left)]->rel == REMEMBERED_NEXT)
			next |= left & -left;
	told &= named_by(newest) | next; /* links may lead on from any version */
	uint8_t sources[REMEMBERED_RESOURCES];
	for (int i = 0; i < REMEMBERED_RESOURCES; i++)
		sources[i] = told >> i & 1 ? resource_sources(p, i) : 0;
	if (p->vote_count > 2) {
		p->former[p->former_at] = p->votes[p->vote_count - 3].set;
		p->former_at = (p->former_at + 1) % FORMER;
	}
	while (p->vote_count > 2)
		remove_vote(p, 0);
	p->standing = told;
	for (int i = 0; i < REMEMBERED_RESOURCES; i++)
		if (told >> i & 1)
			p->resources[i]->sources = sources[i];
}

/* ---- lessons ---- */

static void name_items(struct remembered *m, struct remembered_page *p, struct remembered_vote *v,
    const struct remembered_item *items, size_t count, usec now)
{
	for (size_t i = 0; i < count; i++) {
		const struct remembered_item *item = &items[i];
		if (!item_is_good(item, v->is_guarded))
			continue;
		int at = resource_find(p, item);
		if (at < 0 && v->added < LESSON_NEW) {
			at = resource_add(m, p, item, now);
			v->added += at >= 0;
		}
		if (at < 0)
			continue;
		v->named[item->source] |= UINT64_C(1) << at;
		p->resources[at]->seen = now;
	}
}

/* The place of the lesson, with its rules. Rules that differ are taken when the next client has them too. */
static enum remembered_answer place_of_lesson(struct remembered *m, const struct page_name *name,
    uint64_t client, struct remembered_place **out)
{
	struct remembered_place *l = place_find(m, name->place);
	if (l && !place_has_rules(l, name->vary, name->rule)) {
		uint64_t rules = hash_bytes(hash_bytes(m->seed, name->vary.ptr, name->vary.len),
		    name->rule.ptr, name->rule.len);
		bool is_second = l->other_rules == rules && l->other_client != client;
		l->other_rules = rules;
		l->other_client = client;
		if (!is_second)
			return REMEMBERED_OTHER_VARIANT;
		place_free(m, l);
	} else if (l) {
		l->other_rules = 0;
	}
	*out = place_get(m, name->place, name->vary, name->rule);
	return *out ? REMEMBERED_TAUGHT : REMEMBERED_NO_ROOM;
}

static enum remembered_answer page_of_lesson(struct remembered *m, const struct page_name *name,
    uint64_t client, struct remembered_page **out, usec now)
{
	struct remembered_place *l;
	enum remembered_answer answer = place_of_lesson(m, name, client, &l);
	if (answer != REMEMBERED_TAUGHT)
		return answer;
	*out = page_find(l, name->query, name->variant);
	if (!*out)
		*out = page_new(m, l, name->query, name->variant, now);
	return *out ? REMEMBERED_TAUGHT : REMEMBERED_NO_ROOM;
}

enum remembered_answer lesson_take(struct remembered *m, const struct page_name *name,
    const struct remembered_vote *vote, const struct remembered_item *items, size_t count, usec now)
{
	struct remembered_page *p;
	enum remembered_answer answer = page_of_lesson(m, name, vote->client, &p, now);
	if (answer != REMEMBERED_TAUGHT)
		return answer;
	page_touch(m, p, now);
	p->views++;
	standing_keep(m, p, now);
	struct remembered_vote *v = new_vote(p, vote);
	/* What the client's last lesson named alone makes room. */
	resources_sweep(m, p);
	name_items(m, p, v, items, count, now);
	take_new_version(m, p, now);
	standing_settle(m, p, now);
	resources_sweep(m, p);
	if (page_told(m, p, now))
		page_establish(m, p);
	page_note_change(m, p, now);
	m->taught++;
	return REMEMBERED_TAUGHT;
}

/* ---- what belongs to a view afterwards ---- */

/* The newest view that the client has of any variant. */
static struct remembered_page *page_of_view(
    const struct remembered_place *l, uint64_t client, struct remembered_vote **out)
{
	struct remembered_page *found = NULL;
	list_for_each(&l->pages, p, struct remembered_page, of_place)
	{
		for (uint32_t i = 0; i < p->vote_count; i++) {
			struct remembered_vote *v = &p->votes[i];
			if (v->client != client || (found && v->at <= (*out)->at))
				continue;
			found = p;
			*out = v;
		}
	}
	return found;
}

void lesson_take_addition(struct remembered *m, const struct place_name *name, uint64_t client,
    const struct remembered_item *items, size_t count, usec now)
{
	struct remembered_vote *v = NULL;
	const struct remembered_place *l = place_find(m, name);
	struct remembered_page *p = l ? page_of_view(l, client, &v) : NULL;
	if (!p || now - v->at > m->options.window_usec)
		return;
	name_items(m, p, v, items, count, now);
	if (page_told(m, p, now))
		page_establish(m, p);
	page_note_change(m, p, now);
}
