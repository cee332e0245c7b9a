/* SPDX-License-Identifier: MIT */
/* See latest_validators.h. The table has SETS sets of WAYS entries. Each key belongs to one set, in
 * which a new key replaces the one that was learned longest ago. */
#include "proxy/client/latest_validators.h"

#include "policy/diary.h"
#include "proxy/base/memory.h"
#include "proxy/http/cache.h"
#include "proxy/http/cache_control.h"
#include <string.h>

#define SETS 2048u
#define WAYS 4u

struct latest_validator {
	uint64_t key; /* hash of the resource and its coding; 0: the entry is free */
	uint32_t validator;
};

void latest_validators_fini(struct latest_validators *l)
{
	free(l->entries);
}

uint32_t latest_validator_of(const struct http_head *response)
{
	const struct http_field *etag = http_head_find(response, HTTP_TOKEN_ETAG);
	if (etag)
		return policy_diary_etag(etag->value);
	const struct http_field *modified = http_head_find(response, HTTP_TOKEN_LAST_MODIFIED);
	return modified ? policy_diary_modified(modified->value) : 0;
}

uint32_t latest_validators_coding(const struct http_head *request, const struct http_head *parent)
{
	const struct http_field *f = http_head_find(request, HTTP_TOKEN_ACCEPT_ENCODING);
	if (!f && parent)
		f = http_head_find(parent, HTTP_TOKEN_ACCEPT_ENCODING);
	if (!f)
		return 0;
	return (uint32_t)policy_diary_key(f->value, (struct slice){0}, (struct slice){0});
}

static uint64_t variant_of(uint64_t key, uint32_t coding)
{
	return key ^ coding;
}

static bool varies_by_coding_alone(const struct http_head *response)
{
	for (uint32_t i = 0; i < response->count; i++) {
		struct slice rest = response->fields[i].value, name;
		if (response->fields[i].token != HTTP_TOKEN_VARY)
			continue;
		while (slice_next_member(&rest, &name))
			if (!slice_equal_nocase(name, SLICE("accept-encoding")))
				return false;
	}
	return true;
}

/* The set of this key: its WAYS entries, the one learned last in front. */
static struct latest_validator *set_of(const struct latest_validators *l, uint64_t variant)
{
	return &l->entries[variant % SETS * WAYS];
}

/* The place of this key in its set; WAYS: it is not there. */
static unsigned place_in(const struct latest_validator *set, uint64_t variant)
{
	unsigned i = 0;
	while (i < WAYS && set[i].key != variant)
		i++;
	return i;
}

/* Puts the entry in front, in place of the one at i, or of the oldest. */
static void put(struct latest_validator *set, unsigned i, struct latest_validator entry)
{
	unsigned last = i < WAYS ? i : WAYS - 1;
	memmove(set + 1, set, last * sizeof(*set));
	set[0] = entry;
}

bool latest_validators_learn(struct latest_validators *l, uint64_t key, uint32_t coding,
    uint32_t validator, const struct http_head *request, const struct http_head *response)
{
	uint64_t variant = variant_of(key, coding);
	if (!l->entries && validator == 0)
		return false;
	if (!l->entries)
		l->entries = memory_zalloc((size_t)SETS * WAYS * sizeof(*l->entries));
	struct latest_validator *set = set_of(l, variant);
	unsigned at = place_in(set, variant);
	bool is_mine = at < WAYS;
	if (is_mine && set[at].validator == validator) {
		put(set, at, set[at]);
		return validator != 0;
	}
	if (validator == 0) {
		/* A client that stores nothing says nothing of the response. */
		if (is_mine && !http_cache_control(request).no_store)
			set[at].validator = 0;
		return false;
	}
	if (varies_by_coding_alone(response) && http_may_store_shared(request, response)) {
		put(set, at, (struct latest_validator){variant, validator});
		return true;
	}
	/* This client's version is its own and differs from the one that was common to all. */
	if (is_mine)
		set[at] = (struct latest_validator){0};
	return false;
}

bool latest_validators_find(
    const struct latest_validators *l, uint64_t key, uint32_t coding, uint32_t *validator)
{
	uint64_t variant = variant_of(key, coding);
	if (!l->entries)
		return false;
	const struct latest_validator *set = set_of(l, variant);
	unsigned at = place_in(set, variant);
	if (at == WAYS)
		return false;
	*validator = set[at].validator;
	return true;
}
