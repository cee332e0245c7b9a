/* SPDX-License-Identifier: MIT */
/*
 * Link fields (RFC 8288, Preload) of an origin's responses: each link with rel=preload or modulepreload is
 * an offer, where a [preload] section says link = yes. A link of a 103 (RFC 8297) is a hint as well; what a
 * rule drops is taken out of it. Links of other relations, such as preconnect, pass untouched.
 */
#include "proxy/offer/offer.h"

#include "proxy/base/ascii.h"
#include "proxy/http/link.h"
#include "proxy/limits.h"
#include "proxy/route/route.h"

/* ---- one link ---- */

/* Logs a link that makes no offer as a dropped one, with its reason. */
static void skip_link(
    struct exchange *x, const struct http_link *link, const struct policy_reason *reason)
{
	struct policy_offer offer = {
	    .source = POLICY_LINK, .parent = x->request, .client = x->facts.client, .as = link->as};
	/* A shallow copy, read only: a real one for each link would be costly. */
	struct http_head named = *x->request;
	named.path = link->target;
	offer.promised = &named;
	const struct policy_verdict dropped = {.action = POLICY_DROP, .reason = reason};
	x->relay->ops->offer_decided(x->relay->context, x, &offer, dropped);
}

/* The resource of a link, resolved into the arena. NULL: it is an offer; else why it is none. */
static const struct policy_reason *read_link(struct arena *a, const struct exchange *x,
    const struct http_link *link, struct http_resource *resource)
{
	*resource = (struct http_resource){
	    .as = link->as,
	    .type = link->type,
	    .crossorigin = link->crossorigin,
	    .has_crossorigin = link->has_crossorigin,
	    .fetchpriority = link->fetchpriority,
	    .is_module = link->is_module,
	};
	if (link->has_anchor)
		return &policy_reason_LINK_ANCHOR;
	if (!http_target_resolve(a, x->request, link->target, &resource->target))
		return &policy_reason_LINK_TARGET;
	if (route_is_outside(x->request, &x->place, &resource->target))
		return &policy_reason_OUTSIDE_PREFIX;
	if (offer_place(x, &resource->target) == RELAY_OFFER_PLAIN &&
	    slice_equal(resource->target.path, x->request->path))
		return &policy_reason_LINK_SELF;
	return link->nopush ? &policy_reason_LINK_NOPUSH : NULL;
}

static bool is_for_us_alone(const struct http_link *link, void *context)
{
	(void)context;
	return link->is_preload && link->push_only;
}

static enum relay_offer_flags flags_of(
    const struct exchange *x, const struct http_link *link, const struct http_target *target)
{
	return offer_place(x, target) | (link->push_only ? RELAY_OFFER_UNSEEN : 0);
}

/* ---- final responses ---- */

/* Links of errors and redirects do not name the page's resources. */
static bool speaks_of_resources(const struct http_head *head)
{
	return head->status / 100 == 2 || head->status == 304;
}

bool offer_has_links(const struct exchange *x, const struct http_head *head)
{
	return x->pushes.takes_links && speaks_of_resources(head) &&
	       http_head_find(head, HTTP_TOKEN_LINK);
}

static void offer_link(struct exchange *x, struct arena *a, const struct http_link *link)
{
	struct http_resource resource;
	const struct policy_reason *reason = read_link(a, x, link, &resource);
	if (reason)
		skip_link(x, link, reason);
	else
		exchange_offer(x, POLICY_LINK, &resource, flags_of(x, link, &resource.target));
}

void offer_links(struct exchange *x, struct http_head *head)
{
	uint32_t seen = 0;
	for (uint32_t i = 0; i < head->count && seen < LIMIT_LINKS_PER_RESPONSE; i++) {
		if (head->fields[i].token != HTTP_TOKEN_LINK)
			continue;
		struct slice rest = head->fields[i].value;
		struct http_link link;
		while (seen < LIMIT_LINKS_PER_RESPONSE && !exchange_is_over(x) &&
		       http_link_next(&rest, &link)) {
			if (!link.is_preload)
				continue;
			seen++;
			offer_link(x, &head->arena, &link);
		}
	}
	offer_hide_links(head); /* also those past the limit */
}

void offer_hide_links(struct http_head *head)
{
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *field = &head->fields[i];
		if (field->token != HTTP_TOKEN_LINK || !http_link_may_be_push_only(field->value))
			continue;
		http_link_filter(head, is_for_us_alone, NULL);
		return;
	}
}

/* ---- 103 responses ---- */

struct early {
	struct exchange *x;
	struct arena *arena;
	uint32_t seen;
};

/* What is hinted already is taken out, and so is what is for pushgate alone. The link of another page
 * (anchor) hints nothing for this one. */
static bool drop_link(struct early *e, const struct http_link *link)
{
	struct exchange *x = e->x;
	struct http_resource resource;
	const struct policy_reason *reason = read_link(e->arena, x, link, &resource);
	bool is_hint = (!reason || reason == &policy_reason_LINK_NOPUSH) && !link->push_only;
	if (is_hint && exchange_was_hinted(x, &resource.target))
		return true;
	if (x->pushes.takes_links) {
		if (reason)
			skip_link(x, link, reason);
		else if (!exchange_offer_early(x, &resource, flags_of(x, link, &resource.target)))
			return true;
		if (link->push_only)
			return true;
	}
	if (is_hint)
		exchange_note_hinted(x, &resource.target);
	return false;
}

static bool drops(const struct http_link *link, void *context)
{
	struct early *e = context;
	if (!link->is_preload || exchange_is_over(e->x))
		return false;
	if (e->seen++ >= LIMIT_LINKS_PER_RESPONSE)
		return e->x->pushes.takes_links && link->push_only;
	return drop_link(e, link);
}

bool offer_on_interim(const struct offer_env *env, const struct client_facts *client,
    struct exchange *x, struct http_head *head)
{
	if (head->status == 100)
		return true;
	bool is_withheld = offer_interim_refusal(env, client, x, head->status) != NULL;
	/* Where nothing can be hinted or dropped, the 103 need not be read. */
	bool is_read = x->pushes.takes_links || policy_hints(&env->conf->policy);
	if (head->status != 103 || exchange_is_push(x) || !is_read)
		return !is_withheld;
	struct early e = {.x = x, .arena = &head->arena};
	bool is_empty =
	    http_link_filter(head, drops, &e) > 0 && !http_head_find(head, HTTP_TOKEN_LINK);
	return !is_withheld && !is_empty;
}
