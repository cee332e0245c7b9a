/* SPDX-License-Identifier: MIT */
/*
 * Claims: a request finds a held response and is answered from it. The claim is the upstream leg of the
 * request's exchange. Cache-Status is RFC 9211, Age RFC 9111 5.1.
 */
#include "proxy/hold/held.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"

#include <stdio.h>

static const struct leg_ops claim_leg_ops;

/* The name of a cause, and of a field as far as it says enough for the log. */
#define FIELD_LOGGED_BYTES 64u
#define CAUSE_TEXT (FIELD_LOGGED_BYTES + 32u)

/* Keeps the first cause for the exchange's line in the access log. */
static void keep_cause(struct exchange *x, enum hold_miss miss, struct slice field)
{
	char text[CAUSE_TEXT];
	if (x->ending.missed)
		return;
	x->ending.missed = hold_miss_name(miss);
	hold_part(x)->miss = (uint8_t)miss;
	if (field.len == 0)
		return;
	struct slice name = slice_sub(field, 0, FIELD_LOGGED_BYTES);
	snprintf(text, sizeof(text), "%s %.*s", hold_miss_name(miss), SLICE_ARG(name));
	x->ending.missed = exchange_keep_text(x, text);
}

static void note_miss(struct hold *hold, const struct held *h, struct exchange *x,
    enum hold_miss miss, struct slice field)
{
	const struct hold_note note = {
	    .outcome = HOLD_MISSED,
	    .push = h ? h->push : NULL,
	    .claimer = x,
	    .miss = miss,
	    .field = miss == HOLD_MISS_VARY ? field : (struct slice){0},
	};
	keep_cause(x, miss, note.field);
	if (h && !h->push->ending.missed)
		hold_pause_missed(hold, h->push, x, miss);
	if (h)
		keep_cause(h->push, miss, note.field);
	hold_note(hold, &note);
}

/* ---- the upstream leg of the claiming exchange ---- */

static struct claim *claim_of(struct leg *leg)
{
	return leg->carrier;
}

static void claim_free(struct claim *c)
{
	struct held *h = c->held;
	uint64_t sent = c->exchange->download.forwarded;
	h->sent = sent > h->sent ? sent : h->sent;
	list_remove(&c->link);
	if (h->push)
		h->push->pushed.claims--;
	if (h->push && list_is_empty(&h->claims)) {
		list_append(&held_hold(h)->unclaimed, &h->unclaimed);
		if (!exchange_has_begun(h->push)) /* push-start-timeout counts again */
			exchange_arm(h->push);
	}
	budget_give(c->budget, CLAIM_BYTES);
	free(c);
}

static void leg_send_body(struct leg *leg, const struct flow *flow)
{
	(void)leg;
	ensure(flow->body.bytes == 0); /* requests with a body are not answered here */
}

static void leg_send_trailers(struct leg *leg, const struct http_head *trailers)
{
	(void)trailers;
	ensure(!leg); /* requests with trailers are not answered here */
}

/* The claiming request was reset. If it was the only claim, the push need not go on. */
static void leg_reset(struct leg *leg, uint32_t code)
{
	struct claim *c = claim_of(leg);
	struct held *h = c->held;
	bool asked_for_it = c->exchange->method == HTTP_METHOD_GET;
	claim_free(c);
	if (asked_for_it && list_is_empty(&h->claims)) {
		h->is_abandoned = true;
		h->abandon_code = code;
	}
	held_mark(h);
}

static void leg_credit(struct leg *leg, size_t n)
{
	struct claim *c = claim_of(leg);
	ensure(n <= c->outstanding);
	c->outstanding -= n;
	held_mark(c->held);
}

/* The claiming request has got the whole response. */
static void leg_detach(struct leg *leg)
{
	struct claim *c = claim_of(leg);
	struct held *h = c->held;
	struct exchange *x = c->exchange;
	struct hold *hold = held_hold(h);
	bool is_live = c->is_live;
	ensure(c->is_ended && !x->ending.cause); /* else it has been reset */
	h->is_delivered |= x->method == HTTP_METHOD_GET || c->not_modified;
	h->served++;
	const struct hold_note note = {
	    .outcome = HOLD_CLAIMED,
	    .reason = &policy_reason_CLAIMED,
	    .push = h->push,
	    .claimer = x,
	    .is_live = is_live,
	};
	hold_note(hold, &note);
	if (hold->pauses)
		hold_pause_claimed(hold, h->push);
	claim_free(c);
	held_mark(h);
}

static const struct leg_ops claim_leg_ops = {
    .send_head = leg_sends_no_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promises_nothing,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = leg_detach,
};

/* ---- a claim that fails ---- */

/* Dispatches the request to the origin after all. It was sent nowhere yet, so this is no retry. */
static void send_away(struct claim *c)
{
	struct exchange *x = c->exchange;
	exchange_on_leg_closed(&x->up);
	x->upload.state = FLOW_HEAD;
	claim_free(c);
	exchange_dispatch(x);
}

void held_fail_claims(struct held *h, const struct relay_cause *cause, uint32_t code)
{
	struct hold *hold = held_hold(h);
	list_for_each(&h->claims, c, struct claim, link)
	{
		struct exchange *x = c->exchange;
		if (!c->is_begun) {
			note_miss(hold, NULL, x, HOLD_MISS_LOST, (struct slice){0});
			send_away(c);
			continue;
		}
		claim_free(c);
		exchange_on_up_failed(x, cause, code, NULL);
	}
}

/* ---- answers ---- */

/* The fields that a 304 has (RFC 9110 15.4.5). */
static const uint8_t of_304[HTTP_TOKEN_COUNT] = {
    [HTTP_TOKEN_CACHE_CONTROL] = 1,
    [HTTP_TOKEN_CONTENT_LOCATION] = 1,
    [HTTP_TOKEN_DATE] = 1,
    [HTTP_TOKEN_ETAG] = 1,
    [HTTP_TOKEN_EXPIRES] = 1,
    [HTTP_TOKEN_VARY] = 1,
    [HTTP_TOKEN_AGE] = 1,
    [HTTP_TOKEN_VIA] = 1,
    [HTTP_TOKEN_CACHE_STATUS] = 1,
};

static void make_304(struct http_head *head)
{
	http_head_keep(head, field, of_304[field->token]);
	head->status = 304;
	head->content_length = HTTP_LENGTH_UNKNOWN;
}

/* Our member of Cache-Status goes behind those that the response came with (RFC 9211 2). */
static struct http_head *answer_head(const struct held *h, const struct claim *c)
{
	struct http_head *head = http_head_copy(h->head);
	if (c->not_modified)
		make_304(head);
	if (!c->is_live || c->had_head) {
		http_head_remove(head, HTTP_TOKEN_AGE);
		http_head_add_token(
		    head, HTTP_TOKEN_AGE, arena_printf(&head->arena, "%u", held_age_sec(h)));
	}
	http_head_add_token(head, HTTP_TOKEN_CACHE_STATUS,
	    c->is_live ? SLICE("pushgate; fwd=miss; collapsed; detail=held")
		       : SLICE("pushgate; hit; detail=held"));
	return head;
}

static bool is_given_whole(const struct held *h, const struct claim *c)
{
	return h->is_whole && c->at == h->dropped + h->body.bytes;
}

/* Sends the head. False: the claim is over. */
static bool begin(struct held *h, struct claim *c)
{
	struct exchange *x = c->exchange;
	struct slice field = {0};
	if (!c->is_checked) {
		enum hold_miss miss = held_fits(h, x, c->is_live, &field, &c->not_modified);
		if (miss) {
			/* That it was not for x says nothing of what its own client gets. */
			note_miss(held_hold(h), c->is_foreign ? NULL : h, x, miss, field);
			send_away(c);
			return false;
		}
		c->is_checked = true;
	}
	c->is_begun = true;
	hold_part(x)->answered_by = h->push->id;
	hold_part(x)->joined = c->is_live;
	c->is_ended = c->not_modified || x->method == HTTP_METHOD_HEAD ||
		      (is_given_whole(h, c) && !h->push->download.trailers);
	exchange_on_response(x, answer_head(h, c), c->is_ended);
	return !exchange_is_over(x);
}

/* Interim responses go to the same user and the same route alone: they may be private. They are
 * freed when the final head has come. */
static void feed_interims(const struct held *h, struct exchange *x)
{
	if (!h->interims || !held_is_by(h, x))
		return;
	for (struct http_head *i = h->interims; i; i = i->next)
		exchange_on_response(x, http_head_copy(i), false);
}

/* Set-Cookie is for one user. In the head it decides who may have the response; in trailers it comes
 * too late for that, and has no meaning there (RFC 9110 6.5.1). */
static struct http_head *answer_trailers(const struct held *h)
{
	struct http_head *trailers = http_head_copy(h->push->download.trailers);
	http_head_remove(trailers, HTTP_TOKEN_SET_COOKIE);
	return trailers;
}

static void feed(struct held *h, struct claim *c)
{
	struct exchange *x = c->exchange;
	if (!c->is_foreign)
		feed_interims(h, x);
	if (!h->is_admitted || (!c->is_begun && (!h->push || !begin(h, c))))
		return;
	while (!c->is_ended && c->outstanding < CLAIM_WINDOW_BYTES) {
		struct piece p = body_next(&h->body, &c->mark, CLAIM_WINDOW_BYTES - c->outstanding);
		if (p.length == 0)
			break;
		c->at += p.length;
		c->outstanding += p.length;
		c->is_ended = is_given_whole(h, c) && !h->push->download.trailers;
		exchange_on_download(x, p, c->is_ended);
		if (exchange_is_over(x))
			return;
	}
	if (c->is_ended || !is_given_whole(h, c))
		return;
	c->is_ended = true;
	if (h->push->download.trailers)
		exchange_on_download_trailers(x, answer_trailers(h));
	else
		exchange_on_download(x, (struct piece){0}, true);
}

void held_feed(struct held *h)
{
	list_for_each(&h->claims, c, struct claim, link) feed(h, c);
}

void held_trim(struct held *h)
{
	uint64_t least = UINT64_MAX;
	if (!h->is_outgrown || list_is_empty(&h->claims))
		return;
	list_for_each(&h->claims, c, struct claim, link) least = c->at < least ? c->at : least;
	size_t n = (size_t)(least - h->dropped);
	body_take(&h->body, n, h->store->budget);
	h->store->bytes -= n;
	h->dropped = least;
	list_for_each(&h->claims, c, struct claim, link) c->mark =
	    body_seek(&h->body, (size_t)(c->at - least));
}

RARE void hold_tell_miss(const struct exchange *x, struct http_head *response)
{
	enum hold_miss miss = (enum hold_miss)hold_part(x)->miss;
	http_head_add_token(response, HTTP_TOKEN_CACHE_STATUS, hold_miss_status(miss));
}

usec hold_held_for(const struct exchange *x)
{
	if (x->up.ops != &claim_leg_ops)
		return USEC_NEVER;
	const struct claim *c = x->up.carrier;
	return held_now(c->held) - c->held->created;
}

/* ---- a request looks for an answer ---- */

struct search {
	struct held *held;
	/* It fits if its head, which has not come, says that it is the same for all users. */
	struct held *perhaps;
	enum hold_miss miss; /* why `missed` does not fit */
	struct slice field;
	const struct held *missed;
	bool is_checked, not_modified;
};

static enum hold_miss consider(
    const struct held *h, const struct exchange *x, struct search *s, struct slice *field)
{
	bool not_modified = false;
	enum hold_miss miss = held_lets(h, x);
	if (miss == HOLD_FITS && h->is_admitted)
		miss = held_fits(h, x, false, field, &not_modified);
	s->is_checked = h->is_admitted;
	s->not_modified = not_modified;
	return miss;
}

static bool must_wait_and_see(const struct held *h, const struct exchange *x)
{
	return !h->is_admitted && !held_is_by(h, x);
}

/* Finds the newest held response that fits. A map's chain has the newest first. */
static void look(struct hold_store *store, const struct exchange *x, struct search *s)
{
	const struct http_target uri = http_target_of(x->request);
	struct map_node *n = map_find(&store->by_uri, hold_uri_hash(store->hold, &uri));
	for (; n; n = map_next(n)) {
		struct held *h = container_of(n, struct held, node);
		struct slice field = {0};
		if (!held_is_for(h, &uri) || !hold_is_same_at_origin(store->hold, h->push, x))
			continue;
		enum hold_miss miss = consider(h, x, s, &field);
		if (miss == HOLD_FITS && !must_wait_and_see(h, x)) {
			s->held = h;
			return;
		}
		if (miss == HOLD_FITS && !s->perhaps) {
			s->perhaps = h;
		} else if (miss != HOLD_FITS && !s->missed) {
			s->missed = h;
			s->miss = miss;
			s->field = field;
		}
	}
}

/* The store of another client may be gone before the claim is: that client does not pay for it. */
static struct budget *payer_of(const struct held *h, const struct exchange *x)
{
	const struct hold_store *own = hold_part(x)->store;
	if (h->store->is_shared || h->store == own)
		return h->store->budget;
	return own ? own->budget : held_hold(h)->shared.budget;
}

static bool claim(struct held *h, struct exchange *x, const struct search *s)
{
	struct budget *payer = payer_of(h, x);
	if (!budget_take(payer, CLAIM_BYTES))
		return false;
	struct claim *c = memory_new(struct claim);
	c->held = h;
	c->budget = payer;
	c->exchange = x;
	c->is_live = !h->is_whole;
	c->is_foreign = !h->store->is_shared && h->store != hold_part(x)->store;
	c->had_head = c->is_checked = s->is_checked;
	c->not_modified = s->not_modified;
	list_append(&h->claims, &c->link);
	h->push->pushed.claims++;
	list_remove(&h->unclaimed);
	h->is_abandoned = false;
	if (h->store->is_shared) { /* the last one to be asked for is evicted last */
		list_remove(&h->entry);
		list_append(&h->store->entries, &h->entry);
	}
	const struct leg leg = {.ops = &claim_leg_ops, .carrier = c};
	exchange_on_connected(x, &leg);
	held_mark(h);
	return true;
}

/* Nothing held fits: tells why, if anything was held for the URI of x, or had been. */
static void report_miss(struct hold *hold, struct exchange *x, const struct search *s)
{
	enum hold_miss gone = HOLD_FITS;
	if (s->missed) {
		note_miss(hold, s->missed, x, s->miss, s->field);
		return;
	}
	bool is_asked = x->method == HTTP_METHOD_GET || x->method == HTTP_METHOD_HEAD;
	if (hold_part(x)->store && is_asked)
		gone = hold_gone_take(hold_part(x)->store, x);
	if (gone)
		note_miss(hold, NULL, x, gone, SLICE("*"));
}

bool hold_claim(struct hold *hold, struct exchange *x)
{
	struct search s = {0};
	struct hold_store *own = hold_part(x)->store;
	if (own)
		look(own, x, &s);
	if (!s.held && hold->shares && !(own && own->is_secluded))
		look(&hold->shared, x, &s);
	if (!s.held && !s.perhaps && !s.missed)
		s.perhaps = hold_find_to_join(hold, own, x);
	if (!s.held && s.perhaps) {
		s.held = s.perhaps;
		s.is_checked = false;
	}
	if (s.held && claim(s.held, x, &s))
		return true;
	if (s.held)
		note_miss(hold, s.held, x, HOLD_MISS_BUDGET, (struct slice){0});
	else
		report_miss(hold, x, &s);
	return false;
}
