/* SPDX-License-Identifier: MIT */
/*
 * URL references as browsers read them (URL standard), for http_target_resolve, which reads RFC 3986:
 * what the two read differently is escaped as browsers do it, or refused.
 */
#ifndef PUSHGATE_MARKUP_REFERENCE_H
#define PUSHGATE_MARKUP_REFERENCE_H

#include "proxy/http/link.h"

/* Without spaces and control characters at both ends (URL standard 4.4). */
struct slice markup_trim(struct slice s);
/*
 * Resolves into the arena, or to what the base and the reference lend. Base NULL: only a reference with a scheme can be resolved. False: it names
 * nothing that can be requested, the page itself, or something that is not certain.
 */
bool markup_reference_resolve(struct arena *a, const struct http_target *page,
    const struct http_target *base, struct slice reference, struct http_target *out);

#endif
