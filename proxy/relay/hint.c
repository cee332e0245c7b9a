/* SPDX-License-Identifier: MIT */
/*
 * 103 Early Hints (RFC 8297). Pushgate's own: one for each request, before its final response. It is sent
 * at the end of the loop pass in which the first hint came, or hint_wait later. If the origin sends a 103
 * before that, the hints are added to it. And a list of what was hinted to a request, by pushgate or by
 * the origin, so that the client gets no hint twice.
 */
#include "proxy/relay/relay_private.h"

#include "proxy/base/ensure.h"
#include "proxy/limits.h"

#define MAY_HINT_PHASES                                                                            \
	(PHASE_BIT(EXCHANGE_NEW) | PHASE_BIT(EXCHANGE_QUEUED) | PHASE_BIT(EXCHANGE_SENT))

bool exchange_may_hint(const struct exchange *x)
{
	return exchange_is_in(x, MAY_HINT_PHASES) && x->down.ops && x->hints.state != HINT_SENT &&
	       x->response.answered_by == ANSWERED_BY_NOBODY && !exchange_is_push(x);
}

/* ---- what was hinted ---- */

static struct exchange_hint *find(const struct exchange *x, const struct http_target *target)
{
	for (uint32_t i = 0; i < x->hints.count; i++)
		if (http_target_equal(&x->hints.list[i].target, target))
			return &x->hints.list[i];
	return NULL;
}

/* Equal to the request's, as nearly all are: then no copy is needed. */
static struct slice keep(struct exchange *x, struct slice text, struct slice of_request)
{
	bool is_same = text.ptr == of_request.ptr && text.len == of_request.len;
	return is_same || slice_equal(text, of_request) ? of_request
							: arena_copy(exchange_arena(x), text);
}

/* NULL: the list is full. */
static struct exchange_hint *append(struct exchange *x, const struct http_target *target)
{
	struct exchange_hints *h = &x->hints;
	if (h->count == LIMIT_HINTS_PER_REQUEST)
		return NULL;
	if (h->count == h->capacity) {
		uint32_t capacity = h->capacity ? 2 * h->capacity : 8;
		struct exchange_hint *list =
		    arena_alloc(exchange_arena(x), capacity * sizeof(*list));
		if (h->count > 0)
			memcpy(list, h->list, h->count * sizeof(*list));
		h->list = list;
		h->capacity = capacity;
	}
	struct exchange_hint *hint = &h->list[h->count++];
	*hint = (struct exchange_hint){
	    .target = {keep(x, target->scheme, x->request->scheme),
		keep(x, target->authority, x->request->authority),
		arena_copy(exchange_arena(x), target->path)},
	};
	return hint;
}

bool exchange_was_hinted(const struct exchange *x, const struct http_target *target)
{
	const struct exchange_hint *hint = find(x, target);
	return hint && hint->link.len == 0;
}

void exchange_note_hinted(struct exchange *x, const struct http_target *target)
{
	struct exchange_hint *hint = find(x, target);
	if (hint)
		hint->link = (struct slice){0}; /* the origin's link is sent in place of ours */
	else
		append(x, target);
	exchange_charge(x);
}

const struct policy_reason *exchange_hint_refusal(
    const struct exchange *x, const struct http_target *target)
{
	if (!exchange_may_hint(x))
		return &policy_reason_HINT_LATE;
	if (find(x, target))
		return &policy_reason_DUPLICATE;
	return x->hints.count == LIMIT_HINTS_PER_REQUEST ? &policy_reason_HINT_CAP : NULL;
}

/* ---- a 103 of pushgate's own ---- */

void exchange_hint(struct exchange *x, const struct http_resource *resource)
{
	struct relay *r = x->relay;
	struct exchange_hint *hint = append(x, &resource->target);
	ensure(hint != NULL); /* exchange_hint_refusal was asked */
	hint->link = resource->link.len > 0
			 ? resource->link
			 : http_hint_make(exchange_arena(x), x->request, resource);
	hint->key = resource->link_key;
	if (x->hints.state == HINT_NONE) {
		x->hints.state = HINT_GATHERING;
		x->hints.due = r->now + r->hint_wait;
		list_append(&r->hinting, &x->hints.link);
	}
	exchange_charge(x);
}

void exchange_hint_under(struct exchange *x, struct slice csp, struct slice referrer)
{
	struct arena *a = exchange_arena(x);
	if (x->hints.state != HINT_GATHERING || (csp.len == 0 && referrer.len == 0))
		return;
	struct exchange_hint_policies *policies = arena_alloc(a, sizeof(*policies));
	*policies = (struct exchange_hint_policies){arena_copy(a, csp), arena_copy(a, referrer)};
	x->hints.policies = policies;
	exchange_charge(x);
}

static void add_policies(const struct exchange_hint_policies *policies, struct http_head *head)
{
	if (policies && policies->csp.len > 0)
		http_head_add(head, SLICE("content-security-policy"), policies->csp);
	if (policies && policies->referrer.len > 0)
		http_head_add(head, SLICE("referrer-policy"), policies->referrer);
}

static void end_hints(struct exchange *x, enum hint_state state)
{
	x->hints.state = state;
	list_remove(&x->hints.link);
}

void exchange_drop_hints(struct exchange *x)
{
	if (x->hints.state == HINT_GATHERING)
		end_hints(x, HINT_NONE);
}

/* Moves the links that wait into the head, which lives no longer than the exchange. False: none waits. */
static bool take_links(struct exchange *x, struct http_head *head)
{
	bool has_any = false;
	for (uint32_t i = 0; i < x->hints.count; i++) {
		struct exchange_hint *hint = &x->hints.list[i];
		if (hint->link.len == 0)
			continue;
		*http_head_add_slot(head) = (struct http_field){
		    .name = http_token_name(HTTP_TOKEN_LINK),
		    .value = hint->link,
		    .token = HTTP_TOKEN_LINK,
		    .hash = hint->key,
		};
		hint->link = (struct slice){0};
		has_any = true;
	}
	return has_any;
}

void exchange_send_hints(struct exchange *x)
{
	if (x->hints.state != HINT_GATHERING)
		return;
	struct http_head *head = http_head_new(x->relay->heads);
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_STATUS, SLICE("103"));
	const char *fault = http_head_validate(head, HTTP_RESPONSE);
	ensure(fault == NULL);
	take_links(x, head);
	add_policies(x->hints.policies, head);
	x->down.ops->send_head(&x->down, head, false);
	http_head_free(head);
	end_hints(x, HINT_SENT);
}

bool exchange_join_hints(struct exchange *x, struct http_head *interim)
{
	if (x->hints.state != HINT_GATHERING || interim->status != 103)
		return false;
	end_hints(x, HINT_SENT);
	return take_links(x, interim);
}

void relay_send_hints(struct relay *r)
{
	list_for_each(&r->hinting, x, struct exchange, hints.link) if (x->hints.due <= r->now)
	    exchange_send_hints(x);
}

usec relay_hints_due(const struct relay *r)
{
	const struct exchange *x = list_first(&r->hinting, struct exchange, hints.link);
	/* the first in the list is due first: all wait equally long */
	return x ? x->hints.due : USEC_NEVER;
}
