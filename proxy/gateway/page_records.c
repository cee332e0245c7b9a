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

/* ---- pages ---- */

/* Nearly all pages have one of two schemes, and are asked for with GET: constants need no call of memcpy. */
static void fill_words(struct page_record *r, const struct exchange *x)
{
	struct slice scheme = x->request->scheme;
	if (x->method == HTTP_METHOD_GET)
		memcpy(r->request.method, "GET", sizeof("GET"));
	else
		TEXT(r, r->request.method, access_record_method(x));
	if (slice_equal(scheme, SLICE("https")))
		memcpy(r->request.scheme, "https", sizeof("https"));
	else
		TEXT(r, r->request.scheme, scheme);
}

/* NULL: there are too many. */
static struct page_record *begin(struct gateway *g, const struct exchange *x, bool is_over)
{
	const struct conf *conf = g->env.conf;
	const struct http_head *head = x->request;
	struct page_record *r =
	    waterfall_begin(g->pages, x->id, x->timing.started, g->relay.now, is_over);
	if (!r)
		return NULL;
	const struct http_field *agent = http_head_find(head, HTTP_TOKEN_USER_AGENT);
	fill_words(r, x);
	/* An authority with a user goes to no route. */
	TEXT(
	    r, r->request.authority, x->place.route ? head->authority : access_record_authority(x));
	waterfall_path(r, r->request.path, sizeof(r->request.path), head->path);
	TEXT(r, r->request.user_agent, agent ? agent->value : SLICE(""));
	r->request.version = head->version;
	r->request.client = x->facts.client;
	r->connection = client_part(x)->hop.connection;
	r->place.listen = (uint32_t)conf_listen_number(conf, x->facts.listener);
	r->place.route = (uint32_t)conf_route_number(conf, x->place.route);
	r->place.origin = x->place.origin ? x->place.origin->index + 1 : 0;
	return r;
}

static bool is_recorded(const struct exchange *x)
{
	return x->facts.listener && conf_listen_records(x->facts.listener);
}

/* Without Sec-Fetch-Dest and Sec-Fetch-Mode: what a browser accepts when it navigates. */
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

/* The record of a page that is over. A page without offers has none yet; one that no record was begun for is counted. */
static struct page_record *record_of_page(struct gateway *g, const struct exchange *x)
{
	struct page_record *r = waterfall_change(g->pages, x->id);
	/* The policy has a part of a request from its first offer on. */
	bool has_offers = x->pushes.request != NULL;
	if (r || (!has_offers && !is_navigation(x)))
		return r;
	if (!has_offers)
		r = begin(g, x, true);
	if (!r)
		waterfall_leave_out(g->pages);
	return r;
}

static void page_ended(struct gateway *g, const struct exchange *x, enum observe_outcome outcome)
{
	struct page_record *r = is_recorded(x) ? record_of_page(g, x) : NULL;
	if (!r)
		return;
	const struct origin_hop *hop = &origin_attempt_of(x)->hop;
	struct page_result *result = &r->result;
	if (hop->connection > 0)
		TEXT(r, r->place.server, slice_of_string(hop->address));
	if (x->ending.cause)
		TEXT(r, result->detail, slice_of_string(access_record_ending(x, outcome).detail));
	result->at[PAGE_SENT] = x->timing.sent;
	result->at[PAGE_ANSWERED] = x->timing.answered;
	result->at[PAGE_HEAD] = x->timing.first_byte;
	result->at[PAGE_END] = g->relay.now;
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
	return r || exchange_is_push(parent) || exchange_is_over(parent) ? r
									 : begin(g, parent, false);
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
	usec now = g->relay.now;
	waterfall_path(r, p->path, sizeof(p->path), head->path);
	bool is_foreign = !slice_equal(head->authority, slice_of_string(r->request.authority));
	TEXT(r, p->authority, is_foreign ? head->authority : SLICE(""));
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
	if (p && p->at[PAGE_PUSH_CLAIM] == 0) {
		p->at[PAGE_PUSH_CLAIM] = note->claimer->timing.started;
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
		p->at[PAGE_PUSH_HEAD] = t->answered;
		p->at[PAGE_PUSH_SENT] = was_promised ? t->first_byte : 0;
		p->at[PAGE_PUSH_COMPLETE] = t->completed;
		p->at[PAGE_PUSH_END] = g->relay.now;
		p->bytes = was_promised ? push->download.forwarded : push->download.received;
		p->use = (uint8_t)use_of(push, outcome);
		p->wasted_bytes = hold_part(push)->wasted_bytes;
		if (was_promised && p->use == PAGE_WASTED)
			p->wasted_bytes = push->download.forwarded;
		p->status = access_record_status(push);
		p->outcome = (uint8_t)outcome;
		if (push->ending.missed)
			TEXT(r, p->missed, slice_of_string(push->ending.missed));
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
