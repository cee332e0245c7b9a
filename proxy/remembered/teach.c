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

/* The validator of the response, as a hash. */
static uint64_t version_of(const struct remembered *m, const struct http_head *response)
{
	const struct http_field *f = http_head_find(response, HTTP_TOKEN_ETAG);
	if (!f)
		f = http_head_find(response, HTTP_TOKEN_LAST_MODIFIED);
	uint64_t hash = f ? hash_bytes(m->seed, f->value.ptr, f->value.len) : 0;
	return f && hash == 0 ? 1 : hash;
}

static uint64_t item_hash(const struct remembered *m, const struct remembered_item *item)
{
	uint64_t hash = m->seed + (uint64_t)item->rel * 4 + (uint64_t)item->crossorigin;
	hash = hash_bytes(hash, item->target.ptr, item->target.len);
	hash = hash_bytes(hash, item->as.ptr, item->as.len);
	return hash_bytes(hash, item->attributes.ptr, item->attributes.len);
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
	uint64_t told = page_told(m, p, now) & named_by(newest);
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
    const struct remembered_item *items, size_t count, struct lesson_inputs *in, usec now)
{
	for (size_t i = 0; i < count; i++) {
		const struct remembered_item *item = &items[i];
		if (!item_is_good(item, v->is_guarded) ||
		    (in && lesson_is_reflected(in, item->target)))
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

/* Of the page's own items alone, whatever room they have found. */
static uint64_t set_of(const struct remembered *m, const struct remembered_lesson *lesson)
{
	uint64_t set = 1, hashes[REMEMBERED_LESSON_ITEMS];
	for (size_t i = 0; i < lesson->count; i++) {
		hashes[i] = item_hash(m, &lesson->items[i]);
		bool is_first = true;
		for (size_t j = 0; j < i && is_first; j++)
			is_first = hashes[j] != hashes[i];
		set += is_first ? hashes[i] : 0;
	}
	return set;
}

/* The place of the lesson, with its rules. Rules that differ are taken when the next client has them too. */
static enum remembered_answer place_of_lesson(struct remembered *m, const struct place_name *name,
    const struct text *vary, const struct text *rule, uint64_t client,
    struct remembered_place **out)
{
	struct remembered_place *l = place_find(m, name);
	if (l && (!slice_equal(slice_of(l->vary, l->vary_len), text_slice(vary)) ||
		     !slice_equal(slice_of(l->rule, l->rule_len), text_slice(rule)))) {
		uint64_t rules =
		    hash_bytes(hash_bytes(m->seed, vary->bytes, vary->len), rule->bytes, rule->len);
		bool is_second = l->other_rules == rules && l->other_client != client;
		l->other_rules = rules;
		l->other_client = client;
		if (!is_second)
			return REMEMBERED_OTHER_VARIANT;
		place_free(m, l);
	} else if (l) {
		l->other_rules = 0;
	}
	*out = place_get(m, name, text_slice(vary), text_slice(rule));
	return *out ? REMEMBERED_TAUGHT : REMEMBERED_NO_ROOM;
}

static enum remembered_answer page_of_lesson(struct remembered *m,
    const struct remembered_lesson *lesson, const struct text *rule, const struct text *vary,
    struct remembered_page **out, usec now)
{
	const struct http_head *request = lesson->request;
	struct place_name name;
	struct text query, variant;
	struct remembered_place *l;
	struct slice whole = slice_from(request->path, slice_find(request->path, '?') + 1);
	if (!place_name_set(&name, request->scheme, request->authority, request->path) ||
	    !query_choose(m, text_slice(rule), whole, &query))
		return REMEMBERED_TOO_LONG;
	if (!variant_of(text_slice(vary), request, &variant))
		return REMEMBERED_TOO_VARIED;
	enum remembered_answer answer =
	    place_of_lesson(m, &name, vary, rule, client_key(m, lesson->client), &l);
	if (answer != REMEMBERED_TAUGHT)
		return answer;
	*out = page_find(l, text_slice(&query), text_slice(&variant));
	if (!*out)
		*out = page_new(m, l, text_slice(&query), text_slice(&variant), now);
	return *out ? REMEMBERED_TAUGHT : REMEMBERED_NO_ROOM;
}

enum remembered_answer remembered_teach(
    struct remembered *m, const struct remembered_lesson *lesson, usec now)
{
	struct lesson_inputs in;
	struct text rule, vary;
	enum lesson_class class;
	struct remembered_page *p;
	now += EPOCH;
	pages_expire(m, now);
	enum remembered_answer answer = lesson_class(lesson, &class);
	if (answer != REMEMBERED_TAUGHT)
		return answer;
	query_rule_read(lesson->response, &rule);
	if (!vary_read(lesson->response, &vary))
		return REMEMBERED_TOO_VARIED;
	if (!lesson_inputs_read(&in, m, text_slice(&rule), lesson->request))
		return REMEMBERED_TOO_LONG;
	answer = page_of_lesson(m, lesson, &rule, &vary, &p, now);
	if (answer != REMEMBERED_TAUGHT)
		return answer;
	page_touch(m, p, now);
	p->views++;
	standing_keep(m, p, now);
	struct remembered_vote *v = new_vote(p, &(struct remembered_vote){
						    .client = client_key(m, lesson->client),
						    .cookie = in.cookie,
						    .input = in.input,
						    .version = version_of(m, lesson->response),
						    .set = set_of(m, lesson),
						    .at = now,
						    .is_guarded = class == LESSON_GUARDED,
						});
	/* What the client's last lesson named alone makes room. */
	resources_sweep(m, p);
	name_items(m, p, v, lesson->items, lesson->count, &in, now);
	take_new_version(m, p, now);
	standing_settle(m, p, now);
	resources_sweep(m, p);
	if (page_told(m, p, now))
		page_establish(m, p);
	m->taught++;
	return REMEMBERED_TAUGHT;
}

/* ---- what belongs to a view afterwards ---- */

/* "scheme://authority/path?query" */
static bool place_of_uri(struct slice uri, struct place_name *name)
{
	size_t colon = slice_find(uri, ':');
	struct slice scheme = slice_sub(uri, 0, colon), rest = slice_from(uri, colon);
	if (!slice_starts_with(rest, SLICE("://")))
		return false;
	slice_skip(&rest, 3);
	struct slice authority = slice_sub(rest, 0, slice_find(rest, '/'));
	struct slice path = slice_from(rest, authority.len);
	return place_name_set(name, scheme, authority, path.len > 0 ? path : SLICE("/"));
}

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

void remembered_add(struct remembered *m, struct slice page, struct slice client,
    const struct remembered_item *items, size_t count, usec now)
{
	struct place_name name;
	struct remembered_vote *v = NULL;
	now += EPOCH;
	pages_expire(m, now);
	const struct remembered_place *l = place_of_uri(page, &name) ? place_find(m, &name) : NULL;
	struct remembered_page *p = l ? page_of_view(l, client_key(m, client), &v) : NULL;
	if (!p || now - v->at > m->options.window_usec || count > REMEMBERED_LESSON_ITEMS)
		return;
	for (size_t i = 0; i < count; i++)
		if (items[i].source != REMEMBERED_STYLE && items[i].source != REMEMBERED_ASKED)
			return;
	name_items(m, p, v, items, count, NULL, now);
	if (page_told(m, p, now))
		page_establish(m, p);
}
