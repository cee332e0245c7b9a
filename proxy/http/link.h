/* SPDX-License-Identifier: MIT */
/*
 * Link fields (RFC 8288 3), and URI references (RFC 3986 5) resolved against a request. Slices
 * point into the field's value; only resolving and filtering allocate.
 */
#ifndef PUSHGATE_HTTP_LINK_H
#define PUSHGATE_HTTP_LINK_H

#include "proxy/base/arena.h"
#include "proxy/http/head.h"

struct http_link {
	struct slice value;  /* the whole link-value, "<…>; rel=preload" */
	struct slice target; /* the URI reference, without the brackets */
	/* Parameters (the first of each name counts, RFC 8288 3.3); quoted ones without the quotes,
	 * backslashes left as they are. Empty when absent. */
	struct slice rel, as, type, crossorigin, fetchpriority;
	bool is_preload;      /* rel has the token preload or modulepreload, in any case */
	bool is_module;       /* modulepreload */
	bool has_crossorigin; /* with or without a value: without one it means "anonymous" */
	bool has_anchor, nopush, push_only; /* anchor, nopush, x-http2-push-only */
};

/*
 * Cuts the next link-value off a Link field's value. False: none left. A malformed value is skipped
 * up to the next comma outside quotes and brackets.
 */
bool http_link_next(struct slice *rest, struct http_link *link);

/*
 * Whether a Link field's value has the text x-http2-push-only, in any case: a cheap look at the bytes.
 * False: no link-value has that parameter.
 */
bool http_link_may_be_push_only(struct slice value);

/* A resolved reference: the scheme, authority and path of a request for it. */
struct http_target {
	struct slice scheme; /* "http" or "https" */
	/*
	 * The base's own bytes if it is the same authority; else in lower case, without a default
	 * port.
	 */
	struct slice authority;
	/* With query, without fragment; dot segments removed, percent-encoding kept. */
	struct slice path;
};

/* What the request is for. */
static inline struct http_target http_target_of(const struct http_head *request)
{
	return (struct http_target){request->scheme, request->authority, request->path};
}
/* Byte for byte. */
static inline bool http_target_equal(const struct http_target *a, const struct http_target *b)
{
	return slice_equal(a->path, b->path) && slice_equal(a->authority, b->authority) &&
	       slice_equal(a->scheme, b->scheme);
}

/* The parts of "scheme://authority/path?query" as they are written, unchecked; the path may be empty. False: the first ':'
 * of the URI does not begin "://". */
bool http_target_cut(struct slice uri, struct http_target *out);

/*
 * Resolves a reference against the URI of a request (RFC 3986 5.2, strictly), into the arena. A
 * reference without a path keeps the base's path byte for byte, and without a query its query too.
 * False: the reference is invalid, longer than LIMIT_REFERENCE_BYTES, has no http(s) authority, or
 * has userinfo; or it is relative to a path that is longer than that or invalid.
 */
bool http_target_resolve(
    struct arena *a, const struct http_head *base, struct slice reference, struct http_target *out);

/*
 * Replaces the targets of all Link fields of the head by what `map` returns: the target itself, where it stays.
 * Malformed values stay. Anchors are not looked at.
 */
void http_link_map(
    struct http_head *head, struct slice (*map)(struct slice target, void *context), void *context);

/*
 * Removes the link-values for which `drop` returns true from all Link fields of the head, and
 * fields that become empty. Malformed values stay. Calls `drop` once for each link-value. Returns
 * how many were removed.
 */
uint32_t http_link_filter(struct http_head *head,
    bool (*drop)(const struct http_link *link, void *context), void *context);

#endif
