/* SPDX-License-Identifier: MIT */
/*
 * What RFC 9111 says of any two heads: what may be stored for all may be stored, nothing grows
 * fresher by itself, and a request is answered by what was stored for its like.
 *
 * Input: a request's lines, an empty line, another request's, an empty line, and a response's.
 */
#include "tests/fuzz/head_text.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/http/cache.h"
#include "proxy/http/cache_control.h"
#include "proxy/http/vary.h"

#define NOW UINT64_C(1795262400)
#define FRESH_MOST UINT32_C(2147483648)

static struct http_head *read_head(
    struct http_head_pool *pool, struct input *in, enum http_head_kind kind)
{
	struct http_head *head = head_text(pool, in);
	head->kind = kind;
	if (http_head_validate(head, kind) == NULL)
		return head;
	http_head_free(head);
	return NULL;
}

/* has_star: also for what is no name, and so may mean any field. */
static uint32_t vary_names(const struct http_head *response, bool *has_star)
{
	uint32_t names = 0;
	struct slice rest, name;
	for (uint32_t i = 0; i < response->count; i++) {
		rest = response->fields[i].value;
		if (response->fields[i].token != HTTP_TOKEN_VARY)
			continue;
		for (; slice_next_member(&rest, &name); names++)
			*has_star = *has_star || slice_equal(name, SLICE("*")) || !ascii_is_token(name);
	}
	return names;
}

static void check_vary(
    const struct http_head *response, const struct http_head *a, const struct http_head *b)
{
	struct slice field;
	bool has_star = false;
	uint32_t names = vary_names(response, &has_star);
	ensure(http_vary_matches(response, a, a, &field) == (!has_star && names <= 64));
	bool there = http_vary_matches(response, a, b, &field);
	ensure(there == http_vary_matches(response, b, a, &field));
	if (!there)
		ensure(field.len > 0);
}

static void check_response(const struct http_head *request, const struct http_head *response)
{
	bool may_store = http_may_store(request, response);
	ensure(may_store || !http_may_store_shared(request, response));
	struct http_cache_control cc = http_cache_control(response);
	if (cc.no_store)
		ensure(!may_store);
	uint32_t fresh = http_freshness_sec(response, false, NOW);
	ensure(fresh <= FRESH_MOST && (!cc.no_cache || fresh == 0));
	if (cc.has_max_age)
		ensure(fresh <= cc.max_age_sec);
	uint32_t shared = http_freshness_sec(response, true, NOW);
	ensure(cc.has_s_maxage ? shared <= cc.s_maxage_sec : shared == fresh);
	ensure(http_freshness_sec(response, false, NOW + 10) <= fresh);
	(void)http_age_sec(response);
	(void)http_etag_matches(request, response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct http_head_pool *pool = http_head_pool_new(4);
	struct http_head *a = read_head(pool, &in, HTTP_REQUEST);
	struct http_head *b = read_head(pool, &in, HTTP_REQUEST);
	struct http_head *response = read_head(pool, &in, HTTP_RESPONSE);
	if (a && response)
		check_response(a, response);
	if (a && b && response)
		check_vary(response, a, b);
	http_head_free(a);
	http_head_free(b);
	http_head_free(response);
	http_head_pool_free(pool);
	return 0;
}
