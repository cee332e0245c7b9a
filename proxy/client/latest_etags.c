/* SPDX-License-Identifier: MIT */
/* See latest_etags.h. Each key has one slot in the table; another key with the same slot replaces
 * it. */
#include "proxy/client/latest_etags.h"

#include "policy/diary.h"
#include "proxy/base/memory.h"
#include "proxy/http/cache.h"

#define ETAGS 4096u

struct latest_etag {
	uint64_t key;          /* hash of the resource and its coding */
	uint32_t etag, former; /* 0: none */
};

void latest_etags_fini(struct latest_etags *e)
{
	free(e->entries);
}

uint32_t latest_etag_of(const struct http_head *response)
{
	const struct http_field *f = http_head_find(response, HTTP_TOKEN_ETAG);
	return f ? policy_diary_etag(f->value) : 0;
}

static uint64_t variant_of(uint64_t key, const struct http_head *request)
{
	const struct http_field *f = http_head_find(request, HTTP_TOKEN_ACCEPT_ENCODING);
	return f ? key ^ policy_diary_key(f->value, (struct slice){0}, (struct slice){0}) : key;
}

static bool varies_by_coding_alone(const struct http_head *response)
{
	const struct http_field *f = http_head_find(response, HTTP_TOKEN_VARY);
	return !f || slice_equal_nocase(slice_trim(f->value), SLICE("accept-encoding"));
}

void latest_etags_learn(struct latest_etags *e, uint64_t key, uint32_t etag,
    const struct http_head *request, const struct http_head *response)
{
	if (etag == 0)
		return;
	if (!e->entries)
		e->entries = memory_zalloc(ETAGS * sizeof(*e->entries));
	uint64_t variant = variant_of(key, request);
	struct latest_etag *at = &e->entries[variant % ETAGS];
	bool is_news = at->key != variant || at->etag != etag;
	if (!is_news || !varies_by_coding_alone(response) ||
	    !http_may_store_shared(request, response))
		return;
	*at = (struct latest_etag){variant, etag, at->key == variant ? at->etag : 0};
}

uint32_t latest_etags_former(const struct latest_etags *e, uint64_t key,
    const struct http_head *promised, const struct http_head *parent)
{
	bool says_coding = http_head_find(promised, HTTP_TOKEN_ACCEPT_ENCODING) != NULL;
	uint64_t variant = variant_of(key, says_coding ? promised : parent);
	const struct latest_etag *at = e->entries ? &e->entries[variant % ETAGS] : NULL;
	return at && at->key == variant ? at->former : 0;
}
