/* SPDX-License-Identifier: MIT */
/*
 * Requests that pushgate makes: the promised request for a push that no origin promised (RFC 9113
 * 8.4), and the Link value of a hint (RFC 8297) for the same resource.
 */
#ifndef PUSHGATE_HTTP_PROMISE_H
#define PUSHGATE_HTTP_PROMISE_H

#include "proxy/http/head.h"
#include "proxy/http/link.h"

/* A resource: its URI and the known parameters; empty slices = unknown. */
struct http_resource {
	struct http_target target;
	struct slice as, type, crossorigin, fetchpriority, media;
	struct slice
	    parameters;    /* others of its link, as they are to be sent: "integrity=x; type=y" */
	struct slice link; /* what http_hint_make makes of it, if that is known */
	uint32_t link_key; /* of a Link field with that value (field_key.h); 0: unknown */
	bool has_crossorigin; /* the parameter is present, possibly without a value */
	bool is_module;
	bool is_preconnect; /* a connection alone */
};

/*
 * Makes the GET request that the client would send after the parent: with accept-encoding,
 * accept-language and user-agent of the parent (they select the variant), and accept as browsers
 * send it for this `as`; the parent's cookies only with_cookie. Never with authorization, range,
 * conditions, expect, priority or sec-fetch-*. The head is validated and owned by the caller. NULL
 * if the resource does not give a well-formed request.
 */
struct http_head *http_promise_make(
    const struct http_head *parent, const struct http_resource *resource, bool with_cookie);

/*
 * Makes "</a.css>; rel=preload; as=style" for a Link field, in the arena. The target is a path if
 * it has the parent's origin, or parent is NULL, else absolute.
 */
struct slice http_hint_make(
    struct arena *a, const struct http_head *parent, const struct http_resource *resource);

#endif
