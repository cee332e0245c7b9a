/* SPDX-License-Identifier: MIT */
/*
 * Which request may be answered from which held response: user, URI, Vary, freshness, conditions (RFC
 * 9111, RFC 9113 8.4). These functions change nothing. What RFC 9111 says about a single response is in
 * http/cache.h and vary.h.
 */
#include "proxy/hold/held.h"

#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/http/authority.h"
#include "proxy/http/cache.h"
#include "proxy/http/cache_control.h"
#include "proxy/http/vary.h"

/* ---- URIs ---- */

#define HOST_HASHED_BYTES 255u

/* The hash is equal for all spellings of one host and port; held_is_for compares exactly. */
uint64_t hold_uri_hash(const struct hold *hold, const struct http_target *uri)
{
	char host[HOST_HASHED_BYTES];
	struct http_authority a;
	uint64_t h = hash_bytes(hold->seed, uri->path.ptr, uri->path.len);
	if (!http_authority_parse(uri->authority, uri->scheme, &a))
		a = (struct http_authority){.host = uri->authority};
	if (a.host.len > 0 && a.host.ptr[a.host.len - 1] == '.')
		a.host.len--;
	struct slice start = slice_sub(a.host, 0, sizeof(host));
	ascii_lower_copy(host, start);
	return hash_bytes(h ^ a.port, host, start.len);
}

uint64_t hold_request_hash(const struct hold *hold, const struct http_head *request)
{
	const struct http_target uri = http_target_of(request);
	return hold_uri_hash(hold, &uri);
}

bool held_is_for(const struct held *h, const struct http_target *uri)
{
	return slice_equal(h->push->request->path, uri->path) &&
	       /* uncovered: another path with the same 64 bits of a hash with a random seed */
	       slice_equal_nocase(h->push->request->scheme, uri->scheme) &&
	       http_authority_same(h->push->request->authority, uri->authority, uri->scheme);
}

/* ---- time ---- */

/* The promised stream is open. RFC 9113 8.4 speaks of promises alone, not of resources that pushgate has requested
 * itself. */
static bool is_open(const struct held *h)
{
	return h->push->pushed.source == POLICY_RELAYED && h->push->up.ops &&
	       !h->push->download.source_ended;
}

static uint64_t resident_sec(const struct held *h)
{
	return (held_now(h) - h->arrived) / USEC_PER_SEC;
}

bool held_is_fresh(const struct held *h)
{
	return resident_sec(h) < h->fresh_sec;
}

uint32_t held_age_sec(const struct held *h)
{
	return h->age_sec +
	       (uint32_t)resident_sec(
		   h); /* cannot wrap: age_sec is at most 2^31, and no worker lives as long */
}

/*
 * pushgate is no browser: s-maxage alone counts for it, wherever the response is held. But max-age and
 * Expires count first for a response that only this client may have.
 */
uint32_t held_good_for_sec(const struct held *h, bool is_shared)
{
	const struct hold *hold = held_hold(h);
	uint64_t now_sec = hold->ops->epoch_sec(hold->context);
	bool as_shared = is_shared || !http_tells_lifetime(h->head, false);
	uint32_t sec = http_freshness_sec(h->head, as_shared, now_sec);
	return sec > 0 ? sec : http_heuristic_sec(h->head, now_sec);
}

/* ---- which responses may be kept ---- */

static bool is_partial(const struct http_head *promised, const struct http_head *response)
{
	return response->status == 206 || response->status == 304 || hold_request_busts(promised) ||
	       http_head_find(promised, HTTP_TOKEN_IF_NONE_MATCH) ||
	       http_head_find(promised, HTTP_TOKEN_IF_MODIFIED_SINCE);
}

const struct policy_reason *held_storable(const struct held *h)
{
	const struct http_head *promised = h->push->request;
	if (is_partial(promised, h->head) || !http_may_store(promised, h->head))
		return &policy_reason_NOT_STORABLE;
	return NULL;
}

bool held_varies_by_all(const struct held *h)
{
	return http_vary_names(h->head, HTTP_TOKEN_NONE);
}

/*
 * Is it worth to be fetched for requests that may come before its end (RFC 9113 8.4)? If it was fresh when it
 * came, if it can be validated, or if it says no-cache, by which an origin marks a response as one for the page
 * that is being loaded. If it is merely stale, only requests that have come by now are answered with it.
 */
static bool is_for_requests_to_come(const struct held *h)
{
	return h->fresh_sec > 0 || http_head_find(h->head, HTTP_TOKEN_ETAG) ||
	       http_head_find(h->head, HTTP_TOKEN_LAST_MODIFIED) ||
	       http_cache_control(h->head).no_cache;
}

bool held_is_useless(const struct held *h)
{
	if (held_varies_by_all(h))
		return true;
	return !held_is_fresh(h) && (!is_open(h) || !is_for_requests_to_come(h));
}

enum hold_miss held_useless_cause(const struct held *h)
{
	return held_varies_by_all(h) ? HOLD_MISS_VARY : HOLD_MISS_NOT_FRESH;
}

/* Did the client's request have Authorization, or did a rule of the route give it to the origin? */
bool hold_is_authorized(const struct hold *hold, const struct exchange *x)
{
	if (http_head_find(x->request, HTTP_TOKEN_AUTHORIZATION))
		return true;
	struct http_head *sent =
	    hold->ops->origin_request ? hold->ops->origin_request(hold->context, x) : NULL;
	bool is_authorized = sent && http_head_find(sent, HTTP_TOKEN_AUTHORIZATION);
	http_head_free(sent);
	return is_authorized;
}

/*
 * Stricter than RFC 9111 3 and 3.5. The response may depend on the parent's Authorization, even if the
 * promise does not repeat it; and Set-Cookie is for one user.
 */
bool held_may_be_shared(const struct held *h)
{
	struct hold *hold = held_hold(h);
	const struct http_cache_control cc = http_cache_control(h->head);
	bool is_said_to_be = cc.is_public || cc.has_s_maxage || cc.must_revalidate;
	return http_may_store_shared(h->push->request, h->head) &&
	       http_freshness_sec(h->head, true, hold->ops->epoch_sec(hold->context)) > 0 &&
	       !http_head_find(h->head, HTTP_TOKEN_SET_COOKIE) &&
	       (is_said_to_be || (!h->parent_was_authorized && !hold_is_authorized(hold, h->push)));
}

bool held_ignores_cookies(const struct held *h)
{
	const struct hold *hold = held_hold(h);
	return http_is_same_for_all(h->head, hold->ops->epoch_sec(hold->context)) &&
	       (http_permits_authorization(h->head) ||
		   (!h->parent_was_authorized && !hold_is_authorized(hold, h->push)));
}

/* A field that a route sets counts as Authorization does, whatever its name is. */
bool held_ignores_routes(const struct held *h)
{
	const struct hold *hold = held_hold(h);
	return http_is_same_for_all(h->head, hold->ops->epoch_sec(hold->context)) &&
	       http_permits_authorization(h->head);
}

/* The origin's answer to the parent, or to our own request, is one to the fields that the route gave it. */
static bool has_changes_of(const struct held *h, const struct exchange *x)
{
	const struct hold *hold = held_hold(h);
	return !hold->ops->same_changes || hold->ops->same_changes(hold->context, h->push, x);
}

/* The fields that the origin got with x. A request that the origin promised has its own fields already. */
static struct http_head *changed_request(const struct hold *hold, const struct exchange *x)
{
	bool is_origins = exchange_is_push(x) && x->pushed.source == POLICY_RELAYED;
	return is_origins || !hold->ops->origin_request
		   ? NULL
		   : hold->ops->origin_request(hold->context, x);
}

/*
 * Does the response fit the request of x by its Vary? A response varies by what the origin was sent
 * (RFC 9111 4.1): a field that a route sets, adds or removes is compared as the origin got it.
 */
static bool vary_matches(const struct held *h, const struct exchange *x, struct slice *field)
{
	if (!http_head_find(h->head, HTTP_TOKEN_VARY))
		return true;
	struct http_head *stored = changed_request(held_hold(h), h->push);
	struct http_head *asked = changed_request(held_hold(h), x);
	bool is_match = http_vary_matches(
	    h->head, stored ? stored : h->push->request, asked ? asked : x->request, field);
	http_head_free(stored);
	http_head_free(asked);
	return is_match;
}

static bool is_same_user(const struct held *h, const struct credentials *c)
{
	return c->authorization == h->credentials.authorization &&
	       (h->is_same_for_all || c->cookie == h->credentials.cookie);
}

bool hold_has(
    const struct hold_store *s, const struct credentials *credentials, const struct exchange *push)
{
	const struct http_target uri = http_target_of(push->request);
	struct map_node *n = map_find(&s->by_uri, hold_uri_hash(s->hold, &uri));
	for (; n; n = map_next(n)) {
		const struct held *h = container_of(n, struct held, node);
		struct slice field;
		if ((!s->is_shared && !is_same_user(h, credentials)) || !held_is_for(h, &uri) ||
		    h->push->place.origin != push->place.origin ||
		    (!h->is_for_all_routes && !has_changes_of(h, push)))
			continue;
		if (!h->is_admitted)
			return true;
		if ((is_open(h) || held_is_fresh(h)) && vary_matches(h, push, &field))
			return true;
	}
	return false;
}

/* ---- which request may have it ---- */

enum hold_miss hold_request_busts(const struct http_head *request)
{
	const struct http_cache_control cc = http_cache_control(request);
	if (cc.no_cache || cc.no_store || (cc.has_max_age && cc.max_age_sec == 0))
		return HOLD_MISS_REVALIDATION;
	for (uint32_t i = 0; i < request->count; i++) {
		switch (request->fields[i].token) {
		case HTTP_TOKEN_RANGE:
		case HTTP_TOKEN_IF_RANGE:
			return HOLD_MISS_RANGE;
		case HTTP_TOKEN_IF_MATCH:
		case HTTP_TOKEN_IF_UNMODIFIED_SINCE:
			return HOLD_MISS_REVALIDATION;
		case HTTP_TOKEN_EXPECT:
			return HOLD_MISS_METHOD;
		}
	}
	return HOLD_FITS;
}

bool hold_is_same_at_origin(
    const struct hold *hold, const struct exchange *push, const struct exchange *x)
{
	return push->place.origin == x->place.origin &&
	       (!hold->ops->same_at_origin || hold->ops->same_at_origin(hold->context, push, x));
}

static bool has_cookies_of(const struct held *h, const struct http_head *request)
{
	return credentials_of(&held_hold(h)->key, request).cookie == h->credentials.cookie;
}

bool held_is_by(const struct held *h, const struct exchange *x)
{
	return has_cookies_of(h, x->request) && has_changes_of(h, x);
}

enum hold_miss held_lets(const struct held *h, const struct exchange *x)
{
	bool is_asked = (x->method == HTTP_METHOD_GET || x->method == HTTP_METHOD_HEAD) &&
			x->upload.source_ended && x->upload.received == 0 && !x->upload.trailers;
	if (!is_asked)
		return HOLD_MISS_METHOD;
	if (!h->store->is_shared) {
		if (x->facts.came_through || !h->for_one_user)
			return HOLD_MISS_OUTSIDE;
		if (credentials_of(&held_hold(h)->key, x->request).authorization !=
		    h->credentials.authorization)
			return HOLD_MISS_AUTHORIZATION;
	}
	return hold_request_busts(x->request);
}

/* RFC 9110 13.2.2: If-Modified-Since is ignored when there is If-None-Match. Dates are compared for
 * equality: Last-Modified of an older version may be any date before. */
static enum hold_miss conditions(
    const struct held *h, const struct http_head *request, bool *not_modified)
{
	const struct http_field *since = http_head_find(request, HTTP_TOKEN_IF_MODIFIED_SINCE);
	if (http_head_find(request, HTTP_TOKEN_IF_NONE_MATCH)) {
		*not_modified = http_etag_matches(request, h->head);
	} else if (since) {
		const struct http_field *modified =
		    http_head_find(h->head, HTTP_TOKEN_LAST_MODIFIED);
		*not_modified = modified && slice_equal(modified->value, since->value);
	} else {
		return HOLD_FITS;
	}
	/* Conditions are evaluated only for a response that would be a 200. */
	return *not_modified && h->head->status == 200 ? HOLD_FITS : HOLD_MISS_REVALIDATION;
}

enum hold_miss held_fits(const struct held *h, const struct exchange *x, bool joined,
    struct slice *field, bool *not_modified)
{
	const struct http_cache_control cc = http_cache_control(x->request);
	*not_modified = false;
	if (!h->store->is_shared &&
	    h->store != hold_part(x)->store) /* it turned out not to be for all */
		return HOLD_MISS_OUTSIDE;
	if (!vary_matches(h, x, field))
		return HOLD_MISS_VARY;
	if (!h->is_for_all_routes && !has_changes_of(h, x))
		return HOLD_MISS_ROUTE;
	if (!h->store->is_shared && !h->is_same_for_all && !has_cookies_of(h, x->request))
		return HOLD_MISS_COOKIE;
	/* While the promised stream is open the response counts as validated (RFC 9113 8.4), for
	 * its own client. */
	bool is_valid = joined || (!h->store->is_shared && is_open(h));
	if (!is_valid && !held_is_fresh(h))
		return HOLD_MISS_NOT_FRESH;
	uint64_t left = held_is_fresh(h) ? h->fresh_sec - resident_sec(h) : 0;
	if ((cc.has_max_age && held_age_sec(h) > cc.max_age_sec) || cc.min_fresh_sec > left)
		return HOLD_MISS_REVALIDATION;
	return conditions(h, x->request, not_modified);
}
