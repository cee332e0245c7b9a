/* SPDX-License-Identifier: MIT */
/*
 * Page records (waterfall/waterfall.h): a page is a request that offers came with, or that a browser makes to navigate.
 * Its record begins with the first offer, or when the page is over; pushes may end after their page. What became of a
 * push is told as the access log tells it.
 */
#include "proxy/gateway/gateway_private.h"

#define TEXT(record, member, text) waterfall_text(record, member, sizeof(member), text)

void page_records_open(struct gateway *g, const struct waterfall *w)
{
	if (w)
		g->pages = waterfall_lane_new(w, g->env.observe->worker);
}

static struct slice slice_or_empty(const char *text)
{
	return text ? slice_of_string(text) : SLICE("");
}

/* ---- pages ---- */

static void fill_request(struct page_record *r, const struct exchange *x)
{
	const struct observe_request q = access_record_request(x);
	const struct observe_client c = access_record_client(x);
	r->connection = c.connection;
	TEXT(r, r->request.method, q.method);
	TEXT(r, r->request.scheme, q.scheme);
	TEXT(r, r->request.authority, q.authority);
	waterfall_path(r, r->request.path, sizeof(r->request.path), q.path);
	TEXT(r, r->request.user_agent, q.user_agent);
	TEXT(r, r->request.protocol, slice_or_empty(c.protocol));
	r->request.client = c.address;
	TEXT(r, r->place.listen, slice_or_empty(c.listen));
	TEXT(r, r->place.route, slice_or_empty(x->place.route ? x->place.route->name : NULL));
	TEXT(r, r->place.origin, slice_or_empty(x->place.origin ? x->place.origin->name : NULL));
}

static struct page_record *begin(struct gateway *g, const struct exchange *x)
{
	usec started = x->timing.started;
	struct page_record *r =
	    waterfall_begin(g->pages, x->id, started, clock_wall() - (g->relay.now - started));
	fill_request(r, x);
	return r;
}

static bool is_recorded(const struct exchange *x)
{
	return x->facts.listener && conf_listen_records(x->facts.listener);
}

/* Without Sec-Fetch-Mode: what a browser accepts when it navigates. */
static bool is_navigation(const struct exchange *x)
{
	const struct http_field *accept;
	switch (policy_navigation_of(x->request)) {
	case POLICY_NAVIGATION_YES:
		return true;
	case POLICY_NAVIGATION_NO:
		return false;
	case POLICY_NAVIGATION_UNKNOWN:
		break;
	}
	accept = http_head_find(x->request, HTTP_TOKEN_ACCEPT);
	return accept && slice_starts_with(accept->value, SLICE("text/html"));
}

/* µs since the page's start. then 0: it has not happened. */
static usec since(const struct page_record *r, usec then)
{
	return then >= r->started ? then - r->started : USEC_NEVER;
}

static void page_ended(struct gateway *g, const struct exchange *x, enum observe_outcome outcome)
{
	/* The policy has a part of a request from its first offer on. */
	bool has_offers = x->pushes.request != NULL;
	if (!is_recorded(x) || (!has_offers && !is_navigation(x)))
		return;
	struct page_record *r = has_offers ? waterfall_change(g->pages, x->id) : begin(g, x);
	if (!r)
		return;
	const struct observe_ending ending = access_record_ending(x, outcome);
	struct page_result *result = &r->result;
	TEXT(r, r->place.server, slice_or_empty(access_record_origin(x).address));
	TEXT(r, result->detail, slice_or_empty(ending.detail));
	result->at[PAGE_SENT] = since(r, x->timing.sent);
	result->at[PAGE_ANSWERED] = since(r, x->timing.answered);
	result->at[PAGE_HEAD] = since(r, x->timing.first_byte);
	result->at[PAGE_END] = since(r, g->relay.now);
	result->bytes = access_record_bytes(x);
	result->status = access_record_status(x);
	result->outcome = (uint8_t)outcome;
	result->is_over = true;
	waterfall_done(g->pages, r, true);
}

/* ---- offers and pushes ---- */

/* The record of the page that an offer came with. A pushed response has offers too, which all are refused: they are its
 * page's. */
static struct page_record *record_of_parent(struct gateway *g, const struct exchange *parent)
{
	if (!is_recorded(parent))
		return NULL;
	uint64_t page = exchange_is_push(parent) ? parent->pushed.parent_id : parent->id;
	struct page_record *r = waterfall_change(g->pages, page);
	return r || exchange_is_push(parent) || exchange_is_over(parent) ? r : begin(g, parent);
}

static uint16_t place_of(const struct policy_reason *reason)
{
	return reason ? (uint16_t)(policy_reason_position(reason) + 1) : 0;
}

static void fill_verdict(struct page_push *p, const struct policy_verdict *v)
{
	p->verdict = (uint8_t)v->action;
	p->reason = place_of(v->reason);
	p->rule = v->rule && v->rule->index < UINT16_MAX ? (uint16_t)(v->rule->index + 1) : 0;
}

/* NULL: the record has no room. */
static struct page_push *add_push(struct gateway *g, struct page_record *r,
    const struct http_head *head, const struct policy_verdict *v)
{
	struct page_push *p = waterfall_add_push(r);
	if (!p)
		return NULL;
	usec now = since(r, g->relay.now);
	waterfall_path(r, p->path, sizeof(p->path), head->path);
	if (!slice_equal(head->authority, slice_of_string(r->request.authority)))
		TEXT(r, p->authority, head->authority);
	fill_verdict(p, v);
	p->at[PAGE_PUSH_DECIDED] = now;
	if (v->action == POLICY_HINT || v->action == POLICY_HINT_HOLD)
		p->at[PAGE_PUSH_HINT] = now;
	return p;
}

void page_record_decided(struct gateway *g, const struct exchange *parent,
    const struct policy_offer *offer, const struct policy_verdict *verdict)
{
	struct page_record *r = record_of_parent(g, parent);
	if (!r)
		return;
	struct page_push *p = add_push(g, r, offer->promised, verdict);
	if (p) {
		p->source = (uint8_t)offer->source;
		p->outcome = verdict->action == POLICY_DROP ? OBSERVE_REFUSED : OBSERVE_COMPLETE;
	}
	waterfall_done(g->pages, r, r->result.is_over);
}

void page_record_made(struct gateway *g, const struct exchange *push)
{
	struct page_record *r = record_of_parent(g, push->pushed.parent);
	if (!r)
		return;
	struct page_push *p = add_push(g, r, push->request, &push->pushed.verdict);
	if (p) {
		p->exchange = push->id;
		p->source = (uint8_t)push->pushed.source;
		p->at[push->pushed.was_promised ? PAGE_PUSH_PROMISE : PAGE_PUSH_HOLD] =
		    p->at[PAGE_PUSH_DECIDED];
	}
	waterfall_done(g->pages, r, r->result.is_over);
}

void page_record_held(struct gateway *g, const struct hold_note *note)
{
	if (note->outcome != HOLD_CLAIMED || !note->push)
		return;
	struct page_record *r = waterfall_change(g->pages, note->push->pushed.parent_id);
	if (!r)
		return;
	struct page_push *p = waterfall_find_push(r, note->push->id);
	if (p && p->at[PAGE_PUSH_CLAIM] == USEC_NEVER) {
		p->at[PAGE_PUSH_CLAIM] = since(r, note->claimer->timing.started);
		p->use = PAGE_USED;
	}
	waterfall_done(g->pages, r, r->result.is_over);
}

static enum page_use use_of(const struct exchange *push, enum observe_outcome outcome)
{
	if (push->pushed.was_promised && outcome == OBSERVE_COMPLETE)
		return PAGE_USED;
	if (push->pushed.was_promised)
		return outcome == OBSERVE_CLIENT_RESET ? PAGE_WASTED : PAGE_USE_UNKNOWN;
	if (push->pushed.state == PUSH_CLAIMED)
		return PAGE_USED;
	/* Withdrawn: the client was told nothing of it, or has the hint. */
	enum policy_action action = push->pushed.verdict.action;
	return action == POLICY_DROP || action == POLICY_HINT ? PAGE_USE_UNKNOWN : PAGE_WASTED;
}

static void push_ended(struct gateway *g, const struct exchange *push, enum observe_outcome outcome)
{
	const struct exchange_timing *t = &push->timing;
	struct page_record *r = waterfall_change(g->pages, push->pushed.parent_id);
	if (!r)
		return;
	struct page_push *p = waterfall_find_push(r, push->id);
	if (p) {
		bool was_promised = push->pushed.was_promised;
		if (push->pushed.end_reason) { /* else the verdict is that of before */
			fill_verdict(p, &push->pushed.verdict);
			p->end_reason = place_of(push->pushed.end_reason);
		}
		p->at[PAGE_PUSH_HEAD] = since(r, t->answered);
		p->at[PAGE_PUSH_SENT] = was_promised ? since(r, t->first_byte) : USEC_NEVER;
		p->at[PAGE_PUSH_COMPLETE] = since(r, t->completed);
		p->at[PAGE_PUSH_END] = since(r, g->relay.now);
		p->bytes = was_promised ? push->download.forwarded : push->download.received;
		p->use = (uint8_t)use_of(push, outcome);
		p->wasted_bytes = hold_part(push)->wasted_bytes;
		if (was_promised && p->use == PAGE_WASTED)
			p->wasted_bytes = push->download.forwarded;
		p->status = access_record_status(push);
		p->outcome = (uint8_t)outcome;
		TEXT(r, p->missed, slice_or_empty(push->ending.missed));
	}
	waterfall_done(g->pages, r, r->result.is_over);
}

void page_record_ended(struct gateway *g, const struct exchange *x, enum observe_outcome outcome)
{
	if (exchange_is_push(x))
		push_ended(g, x, outcome);
	else
		page_ended(g, x, outcome);
}
