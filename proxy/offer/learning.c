/* SPDX-License-Identifier: MIT */
/*
 * Learning: tells the learned table which page a client got, which resources it requested next, and whether it used the
 * resources that were offered.
 */
#include "proxy/offer/offer.h"

#include "proxy/http/cache.h"
#include "proxy/http/vary.h"
#include "proxy/route/route.h"

/* Identifies a client on all of its connections: its IPv4 address or its IPv6 /64. */
static struct slice client_of(const struct exchange *x)
{
	return slice_of(x->facts.client.bytes, x->facts.client.family == 4   ? 4
					       : x->facts.client.family == 6 ? 8
									     : 0);
}

static struct offer_learned_request request_of(const struct exchange *x)
{
	const struct http_field *referer = http_head_find(x->request, HTTP_TOKEN_REFERER);
	return (struct offer_learned_request){
	    .authority = x->request->authority,
	    .path = x->request->path,
	    .referer = referer ? referer->value : (struct slice){0},
	    .client = client_of(x),
	    .is_get = x->method == HTTP_METHOD_GET,
	    .is_navigation = policy_navigation_of(x->request) == POLICY_NAVIGATION_YES,
	    .has_credentials = x->facts.user ||
			       http_head_find(x->request, HTTP_TOKEN_AUTHORIZATION) ||
			       http_head_find(x->request, HTTP_TOKEN_COOKIE),
	    .status = x->response.status,
	    .is_unfit = x->response.is_unfit_to_learn,
	};
}

static bool learns_from(const struct offer_learned *t, const struct exchange *x)
{
	return t && !x->facts.came_through && x->request->authority.len > 0 &&
	       route_shares(&x->facts);
}

/* The content types of what is learned: how each begins, without regard to case. */
static const struct {
	enum policy_type type;
	struct slice begins;
} content_types[] = {
    {POLICY_TYPE_DOCUMENT, SLICE_INIT("text/html")},
    {POLICY_TYPE_DOCUMENT, SLICE_INIT("application/xhtml+xml")},
    {POLICY_TYPE_STYLE, SLICE_INIT("text/css")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("text/javascript")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("application/javascript")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("application/x-javascript")},
    {POLICY_TYPE_IMAGE, SLICE_INIT("image/")},
    {POLICY_TYPE_FONT, SLICE_INIT("font/")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/font-")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/x-font-")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/vnd.ms-fontobject")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/octet-stream")},
};

/* Without content-type the path alone tells the type. */
static bool is_of_type(const struct http_head *response, enum policy_type type)
{
	const struct http_field *f = http_head_find(response, HTTP_TOKEN_CONTENT_TYPE);
	bool is_of_it = !f;
	for (size_t i = 0; f && i < sizeof(content_types) / sizeof(content_types[0]); i++)
		is_of_it = is_of_it || (content_types[i].type == type &&
					   slice_equal_nocase(
					       slice_sub(f->value, 0, content_types[i].begins.len),
					       content_types[i].begins));
	return is_of_it;
}

/* What a server that ignores the end of a path says of itself: /logout.php/x.css is a page, or sets a cookie. */
static bool is_fit(const struct exchange *x, const struct http_head *response)
{
	return is_of_type(response, policy_type_of_path(x->request->path)) &&
	       http_may_store_shared(x->request, response) &&
	       !http_head_find(response, HTTP_TOKEN_SET_COOKIE) &&
	       !http_vary_names(response, HTTP_TOKEN_COOKIE) &&
	       !http_vary_names(response, HTTP_TOKEN_NONE);
}

bool offer_learn_view(struct offer_learned *t, const struct exchange *x)
{
	if (!learns_from(t, x))
		return false;
	struct offer_learned_request r = request_of(x);
	r.is_unanswered = true;
	if (r.is_navigation)
		offer_learned_on_navigation(t, &r, x->relay->now);
	return r.is_navigation;
}

void offer_learn_answer(
    struct offer_learned *t, struct exchange *x, const struct http_head *response)
{
	if (exchange_is_push(x) || !learns_from(t, x))
		return;
	struct offer_learned_request r = request_of(x);
	if (!r.is_navigation)
		x->response.is_unfit_to_learn = !is_fit(x, response);
	else if ((response->status == 200 || response->status == 304) &&
		 is_of_type(response, POLICY_TYPE_DOCUMENT))
		offer_learned_on_page(t, &r, x->relay->now);
}

void offer_learn_offer(struct offer_learned *t, const struct exchange *page, struct slice path)
{
	if (!t)
		return;
	const struct offer_learned_request view = request_of(page);
	offer_learned_on_outcome(t, &view, path, OFFER_LEARNED_OFFERED, page->relay->now);
}

void offer_learn_end(struct offer_learned *t, const struct exchange *x, bool was_reset)
{
	if (!learns_from(t, x))
		return;
	struct offer_learned_request r = request_of(x);
	if (!exchange_is_push(x)) {
		if (!r.is_navigation && x->response.status != 0)
			offer_learned_on_request(t, &r, x->relay->now);
		return;
	}
	const struct exchange *page = x->pushed.parent;
	if (x->pushed.source != POLICY_LEARNED || !page)
		return;
	const struct offer_learned_request view = request_of(page);
	bool is_used = x->pushed.state == PUSH_DONE || x->pushed.state == PUSH_CLAIMED;
	enum offer_learned_outcome result = OFFER_LEARNED_OFFERED;
	if (x->pushed.verdict.reason == &policy_reason_STATUS)
		result = OFFER_LEARNED_GONE;
	else if (was_reset)
		result = OFFER_LEARNED_REFUSED;
	else if (is_used)
		result = OFFER_LEARNED_TAKEN;
	if (result != OFFER_LEARNED_OFFERED) /* offer_learn_offer has recorded the offer itself */
		offer_learned_on_outcome(t, &view, x->request->path, result, x->relay->now);
}
