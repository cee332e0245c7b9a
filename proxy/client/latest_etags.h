/* SPDX-License-Identifier: MIT */
/*
 * The ETags that resources had last, by anybody's response: a client that has the one before has an
 * old version. One place a key, the newer wins; what is lost here costs nothing but the news. Each
 * coding of a resource has an ETag of its own (RFC 9110 8.8.3.3). No response is kept.
 */
#ifndef PUSHGATE_CLIENT_LATEST_ETAGS_H
#define PUSHGATE_CLIENT_LATEST_ETAGS_H

#include "proxy/http/head.h"

struct latest_etags {
	struct latest_etag *entries; /* owned; NULL until there is one */
};

/* All zero is a fresh one. */
void latest_etags_fini(struct latest_etags *e);

/* The response's, as a diary has it (policy_diary_etag); 0: none. */
uint32_t latest_etag_of(const struct http_head *response);

/*
 * The resource with this key (policy_diary_key) was answered with this ETag; 0 is not looked at.
 * What only some users may see, or what varies by more than its coding, says nothing of others and
 * is left out.
 */
void latest_etags_learn(struct latest_etags *e, uint64_t key, uint32_t etag,
    const struct http_head *request, const struct http_head *response);

/*
 * The one that the resource had before the present one; 0: none is known. The coding is that which
 * the promised request asks for, or its parent where it does not say.
 */
uint32_t latest_etags_former(const struct latest_etags *e, uint64_t key,
    const struct http_head *promised, const struct http_head *parent);

#endif
