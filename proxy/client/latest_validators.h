/* SPDX-License-Identifier: MIT */
/*
 * The latest validator of each resource, its ETag or else its Last-Modified, learned from the
 * responses to all clients. A client whose diary has another one has an old version, so the resource
 * may be pushed again. A table of fixed size (8,192 entries): a new one replaces an old one; a lost
 * entry only means that its resource may be pushed once more. Each content coding of a resource has its own ETag (RFC
 * 9110 8.8.3.3). Responses themselves are not stored.
 */
#ifndef PUSHGATE_CLIENT_LATEST_VALIDATORS_H
#define PUSHGATE_CLIENT_LATEST_VALIDATORS_H

#include "proxy/http/head.h"

struct latest_validators {
	struct latest_validator *entries; /* owned; NULL until the first validator is learned */
};

/* A struct of zeros is an empty table. */
void latest_validators_fini(struct latest_validators *l);

/* The hash of the response's ETag, else of its Last-Modified (policy/diary.h); 0: it has neither. */
uint32_t latest_validator_of(const struct http_head *response);

/* The codings that the request accepts, as a number; 0: it does not say. parent: counts if a
 * promised request does not say; NULL: none. */
uint32_t latest_validators_coding(const struct http_head *request, const struct http_head *parent);

/*
 * The response for the resource with this key (policy_diary_key) had this validator; 0: no client
 * can go by one. Returns whether the table has this validator now. That of a response which a shared
 * cache may not store, or which varies by more than Accept-Encoding, is not learned: it says nothing
 * about another client's version.
 */
bool latest_validators_learn(struct latest_validators *l, uint64_t key, uint32_t coding,
    uint32_t validator, const struct http_head *request, const struct http_head *response);

/* False: nothing is known. *validator is 0 if the latest response had none to go by. */
bool latest_validators_find(
    const struct latest_validators *l, uint64_t key, uint32_t coding, uint32_t *validator);

#endif
