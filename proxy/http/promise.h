/* SPDX-License-Identifier: MIT */
/*
 * Requests of our own making: the promised request for a push that no origin asked for (RFC 9113
 * 8.4), and the Link value for a hint (RFC 8297) about the same resource.
 */
#ifndef PUSHGATE_HTTP_PROMISE_H
#define PUSHGATE_HTTP_PROMISE_H

#include "proxy/http/head.h"
#include "proxy/http/link.h"

/* What is known about a resource beside its URI; empty slices where nothing is. */
struct http_resource {
	struct http_target target;
	struct slice as, type, crossorigin, fetchpriority;
	bool has_crossorigin; /* the parameter was there, maybe without a value */
	bool is_module;
};

/*
 * GET for the resource, as the client would have asked after the parent: accept-encoding,
 * accept-language and user-agent of the parent (they select the variant), accept as browsers send
 * it for that `as`; the parent's cookies only with_cookie. Never authorization, range, conditions,
 * expect, priority or sec-fetch-*. Settled; yours. NULL when the resource makes no well-formed
 * request.
 */
struct http_head *http_promise_make(
    const struct http_head *parent, const struct http_resource *resource, bool with_cookie);

/* "</a.css>; rel=preload; as=style" for a Link field, in the arena. The target is given relative to
 * the parent's origin when it is the same, else absolute. */
struct slice http_hint_make(
    struct arena *a, const struct http_head *parent, const struct http_resource *resource);

#endif
