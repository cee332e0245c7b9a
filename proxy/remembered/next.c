/* SPDX-License-Identifier: MIT */
/*
 * Next pages: where clients go from a page. They have votes of their own, since clients stay on a page for longer than it
 * takes eight others to view it. What one client has followed within half an hour is one vote; a client has one, and
 * remembered-clients must have followed the same link.
 */
#include "proxy/remembered/message.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/http/link.h"
#include <string.h>

enum {
	FOLLOWED_NEW = 2, /* next pages that one vote may add */
	FOLLOWED_USEC = 30 * 60 * USEC_PER_SEC,
};

/* ---- the message ---- */

static bool is_follow(const struct remembered_lesson *lesson)
{
	enum lesson_class class;
	return lesson_class(lesson, &class) == REMEMBERED_TAUGHT &&
	       slice_find(lesson->request->path, '?') == lesson->request->path.len;
}

/* The part of the Referer behind the authority of the request; empty: it is of another site, or the same page. */
static struct slice referring_path(const struct http_head *request)
{
	const struct http_field *f = http_head_find(request, HTTP_TOKEN_REFERER);
	struct http_target from;
	if (!f || !http_target_cut(f->value, &from))
		return SLICE("");
	struct slice path = slice_sub(from.path, 0, slice_find(from.path, '?'));
	bool is_own = slice_equal(from.scheme, request->scheme) &&
		      slice_equal_nocase(from.authority, request->authority) &&
		      !slice_equal(path, request->path);
	return is_own ? from.path : SLICE("");
}

/* Whether the path has a word of the client's cookies: /users/alice. *cookie: their hash. */
static bool is_of_cookies(
    const struct remembered *copy, const struct http_head *request, uint64_t *cookie)
{
	struct lesson_inputs in;
	struct http_head *cookies = http_head_new_like(request);
	for (uint32_t i = 0; i < request->count; i++)
		if (request->fields[i].token == HTTP_TOKEN_COOKIE)
			*http_head_add_slot(cookies) = request->fields[i];
	bool is_read = lesson_inputs_read(&in, copy, SLICE("=*"), cookies);
	http_head_free(cookies);
	*cookie = in.cookie;
	return !is_read || lesson_is_reflected(&in, request->path);
}

size_t remembered_next_message(const struct remembered *copy,
    const struct remembered_lesson *lesson, uint8_t buffer[REMEMBERED_NEXT_BYTES])
{
	const struct http_head *request = lesson->request;
	const struct remembered_item item = {
	    .source = REMEMBERED_FOLLOWED, .rel = REMEMBERED_NEXT, .target = request->path};
	struct teaching_head head = {
	    .kind = TEACHING_NEXT, .client = client_key(copy, lesson->client)};
	struct teaching_writer w = {.bytes = buffer, .capacity = REMEMBERED_NEXT_BYTES};
	struct slice page = referring_path(request);
	struct slice query = slice_from(page, slice_find(page, '?') + 1);
	struct place_name name;
	if (page.len == 0 || query.len > REMEMBERED_TEXT_BYTES || !ascii_is_visible(query) ||
	    !is_follow(lesson) || !item_is_good(&item, true) ||
	    !place_name_set(&name, request->scheme, request->authority, page) ||
	    is_of_cookies(copy, request, &head.cookie))
		return 0;
	head.is_https = name.is_https;
	teaching_put(&w, &head, sizeof(head));
	teaching_put_text(&w, &head, TEACHING_AUTHORITY, name.authority);
	teaching_put_text(&w, &head, TEACHING_PATH, name.path);
	teaching_put_text(&w, &head, TEACHING_QUERY, query);
	teaching_put_item(&w, &item);
	return teaching_finish(&w, &head);
}

/* ---- votes ---- */

/* The variant that the client has viewed last; without variants the page itself. */
static struct remembered_page *page_followed(
    const struct remembered_place *l, struct slice query, uint64_t client)
{
	struct remembered_page *only = NULL, *viewed = NULL;
	uint32_t count = 0;
	usec at = 0;
	list_for_each(&l->pages, p, struct remembered_page, of_place)
	{
		if (!slice_equal(page_query(p), query))
			continue;
		only = p;
		count++;
		for (uint32_t i = 0; i < p->vote_count; i++)
			if (p->votes[i].client == client && p->votes[i].at > at) {
				viewed = p;
				at = viewed->votes[i].at;
			}
	}
	return viewed || count != 1 ? viewed : only;
}

/* A page of which no lesson has told how it varies is made for all. */
static struct remembered_page *page_to_follow(struct remembered *m, const struct place_name *name,
    struct slice query, uint64_t client, usec now)
{
	struct text chosen;
	struct remembered_place *l = place_find(m, name);
	if (!query_choose(m, l ? slice_of(l->rule, l->rule_len) : SLICE("=*"), query, &chosen))
		return NULL;
	struct remembered_page *p = l ? page_followed(l, text_slice(&chosen), client) : NULL;
	if (p || (l && l->vary_len > 0))
		return p;
	if (!l)
		l = place_get(m, name, SLICE(""), SLICE("=*"));
	return l ? page_new(m, l, text_slice(&chosen), SLICE(""), now) : NULL;
}

static void remove_followed(struct remembered_page *p, uint32_t i)
{
	p->followed_count--;
	memmove(
	    &p->followed[i], &p->followed[i + 1], (p->followed_count - i) * sizeof(p->followed[0]));
}

/* The client's vote, as the newest. */
static struct remembered_vote *followed_vote(
    struct remembered_page *p, uint64_t client, uint64_t cookie, usec now)
{
	struct remembered_vote vote = {.client = client, .cookie = cookie, .at = now};
	for (uint32_t i = p->followed_count; i > 0; i--) {
		const struct remembered_vote *v = &p->followed[i - 1];
		if (v->client != client && !(cookie && v->cookie == cookie))
			continue;
		if (now - v->at <= FOLLOWED_USEC) {
			vote.named[REMEMBERED_FOLLOWED] |= v->named[REMEMBERED_FOLLOWED];
			vote.added += v->added;
		}
		remove_followed(p, i - 1);
	}
	if (p->followed_count == VOTES)
		remove_followed(p, 0);
	p->followed[p->followed_count] = vote;
	return &p->followed[p->followed_count++];
}

void next_take(struct remembered *m, const struct place_name *name, struct slice query,
    const struct teaching_head *head, const struct remembered_item *item, usec now)
{
	struct remembered_page *p = page_to_follow(m, name, query, head->client, now);
	if (!p)
		return;
	page_touch(m, p, now);
	standing_keep(m, p, now);
	struct remembered_vote *v = followed_vote(p, head->client, head->cookie, now);
	int at = resource_find(p, item);
	if (at < 0 && v->added < FOLLOWED_NEW) {
		resources_sweep(m, p);
		at = resource_add(m, p, item, now);
		v->added += at >= 0;
	}
	if (at >= 0) {
		v->named[REMEMBERED_FOLLOWED] |= UINT64_C(1) << at;
		p->resources[at]->seen = now;
	}
	standing_settle(m, p, now);
	resources_sweep(m, p);
	if (page_told(m, p, now))
		page_establish(m, p);
	page_note_change(m, p, now);
}

void remembered_follow(struct remembered *m, const struct remembered_lesson *lesson, usec now)
{
	uint8_t message[REMEMBERED_NEXT_BYTES];
	size_t length = remembered_next_message(m, lesson, message);
	if (length > 0)
		ensure(!remembered_take(m, slice_of(message, length), now));
}
