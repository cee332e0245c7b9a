/* SPDX-License-Identifier: MIT */
/*
 * Invalidation (RFC 9111 4.4): when a request may have changed a resource at the origin, all held
 * responses of that URI are closed, in every store. Requests that are being answered from one are
 * finished; no other may claim it.
 */
#include "proxy/hold/held.h"

#include "proxy/http/authority.h"

static void drop_if_for(struct held *h, const struct http_target *uri)
{
	if (!held_is_for(h, uri))
		return;
	held_close(h); /* hold_run ends it later: a caller may be using it now */
	h->end_outcome = HOLD_INVALIDATED;
	held_mark(h);
}

static void drop(struct hold *hold, const struct http_target *uri)
{
	struct map_node *n = map_find(&hold->by_uri, hold_uri_hash(hold, uri));
	if (!n)
		return;
	struct held *first = container_of(n, struct held, first);
	list_for_each(&first->same_uri, h, struct held, same_uri) drop_if_for(h, uri);
	drop_if_for(first, uri);
}

static void drop_named(struct hold *hold, const struct exchange *x,
    const struct http_head *response, enum http_token name)
{
	const struct http_field *f = http_head_find(response, name);
	struct http_target t;
	struct arena scratch;
	if (!f)
		return;
	arena_init(&scratch, NULL, 0);
	bool is_same = http_target_resolve(&scratch, x->request, f->value, &t) &&
		       slice_equal_nocase(t.scheme, x->request->scheme) &&
		       http_authority_same(x->request->authority, t.authority, t.scheme);
	if (is_same)
		drop(hold, &t);
	arena_fini(&scratch);
}

void hold_invalidate(struct hold *hold, const struct exchange *x, const struct http_head *response)
{
	bool changed = exchange_may_change(x) && response->status >= 200 && response->status < 400;
	if (!changed || list_is_empty(&hold->used))
		return;
	const struct http_target uri = http_target_of(x->request);
	drop(hold, &uri);
	drop_named(hold, x, response, HTTP_TOKEN_LOCATION);
	drop_named(hold, x, response, HTTP_TOKEN_CONTENT_LOCATION);
}
