/* SPDX-License-Identifier: MIT */
/*
 * The last two ETags of each resource, learned from the responses to all clients. A client whose
 * diary has the former ETag has an old version, so the resource may be pushed again. A table of
 * fixed size: a new entry replaces the one in its slot; a lost entry only means that a change goes
 * unnoticed. Each content coding of a resource has its own ETag (RFC 9110 8.8.3.3). Responses
 * themselves are not stored.
 */
#ifndef PUSHGATE_CLIENT_LATEST_ETAGS_H
#define PUSHGATE_CLIENT_LATEST_ETAGS_H

#include "proxy/http/head.h"

struct latest_etags {
	struct latest_etag *entries; /* owned; NULL until the first ETag is learned */
};

/* A struct of zeros is an empty table. */
void latest_etags_fini(struct latest_etags *e);

/* The hash of the response's ETag (policy_diary_etag); 0: the response has none. */
uint32_t latest_etag_of(const struct http_head *response);

/*
 * The response for the resource with this key (policy_diary_key) had this ETag; 0 is ignored.
 * Responses that a shared cache may not store, and those that vary by more than Accept-Encoding, are
 * ignored: their ETag says nothing about another client's version.
 */
void latest_etags_learn(struct latest_etags *e, uint64_t key, uint32_t etag,
    const struct http_head *request, const struct http_head *response);

/*
 * The ETag that the resource had before the present one; 0: unknown. The coding is taken from the
 * promised request's Accept-Encoding, or from the parent's if the promise has none.
 */
uint32_t latest_etags_former(const struct latest_etags *e, uint64_t key,
    const struct http_head *promised, const struct http_head *parent);

#endif
