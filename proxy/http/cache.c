/* SPDX-License-Identifier: MIT */
/*
 * Applies RFC 9111 to one response, from its head and the request's. In doubt a response is stale
 * or not stored: an unreadable field never permits anything.
 */
#include "proxy/http/cache.h"

#include "proxy/http/cache_control.h"
#include "proxy/http/date.h"
#include "proxy/http/vary.h"

/*
 * Status codes that this program understands (RFC 9110 15), without 206, 304 and those of RFC 6585.
 */
static bool is_understood(uint16_t status)
{
	static const uint16_t known[] = {
	    200, 203, 204, 300, 301, 302, 303, 307, 308, 404, 405, 410, 414, 451, 501};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (status == known[i])
			return true;
	}
	return false;
}

/* RFC 9110 15.1: heuristically cacheable, so it may be stored without explicit freshness. */
static bool is_storable_by_default(uint16_t status)
{
	return is_understood(status) && status != 302 && status != 303 && status != 307;
}

static bool may_store(const struct http_head *request, const struct http_head *response,
    const struct http_cache_control *cc)
{
	bool is_known_method =
	    request->method_token == HTTP_METHOD_GET || request->method_token == HTTP_METHOD_HEAD;
	return is_known_method && is_understood(response->status) && !cc->no_store &&
	       !http_cache_control(request).no_store;
}

bool http_may_store(const struct http_head *request, const struct http_head *response)
{
	struct http_cache_control cc = http_cache_control(response);
	return may_store(request, response, &cc);
}

/* RFC 9111 3.5 */
static bool permits_authorization(const struct http_cache_control *cc)
{
	return cc->is_public || cc->must_revalidate || cc->has_s_maxage;
}

bool http_permits_authorization(const struct http_head *response)
{
	struct http_cache_control cc = http_cache_control(response);
	return permits_authorization(&cc);
}

bool http_may_store_shared(const struct http_head *request, const struct http_head *response)
{
	struct http_cache_control cc = http_cache_control(response);
	if (!may_store(request, response, &cc) || cc.is_private)
		return false;
	if (http_head_find(request, HTTP_TOKEN_AUTHORIZATION) && !permits_authorization(&cc))
		return false;
	return cc.is_public || cc.has_max_age || cc.has_s_maxage ||
	       http_head_find(response, HTTP_TOKEN_EXPIRES) ||
	       is_storable_by_default(response->status);
}

uint32_t http_age_sec(const struct http_head *response)
{
	const struct http_field *field = http_head_find(response, HTTP_TOKEN_AGE);
	struct slice rest, member;
	uint32_t sec = 0;
	if (!field)
		return 0;
	rest = field->value;
	if (slice_next_member(&rest, &member))
		http_delta_seconds(member, &sec); /* ignore an Age that is not a number (5.1) */
	return sec;
}

/* The freshness lifetime (RFC 9111 4.2.1). False: the response does not tell it. */
static bool lifetime(const struct http_head *response, const struct http_cache_control *cc,
    bool shared, uint64_t date_sec, uint64_t now_sec, uint64_t *sec)
{
	const struct http_field *expires = http_head_find(response, HTTP_TOKEN_EXPIRES);
	uint64_t expires_sec = 0;
	if (shared && cc->has_s_maxage) {
		*sec = cc->s_maxage_sec;
		return true;
	}
	if (cc->has_max_age) {
		*sec = cc->max_age_sec;
		return true;
	}
	if (!expires || !http_date_parse(expires->value, now_sec, &expires_sec))
		return false;
	*sec = expires_sec > date_sec ? expires_sec - date_sec : 0;
	return true;
}

static bool read_date(
    const struct http_head *response, enum http_token name, uint64_t now_sec, uint64_t *sec)
{
	const struct http_field *field = http_head_find(response, name);
	return field && http_date_parse(field->value, now_sec, sec);
}

/* When the response was made: its Date, or now without a readable one. */
static uint64_t made_sec(const struct http_head *response, uint64_t now_sec)
{
	uint64_t sec = 0;
	return read_date(response, HTTP_TOKEN_DATE, now_sec, &sec) ? sec : now_sec;
}

/* The seconds of a lifetime that are left when the response arrives: without its age (RFC 9111 4.2.3), which is
 * the greater of Age and of the time since Date. */
static uint32_t left_sec(
    const struct http_head *response, uint64_t lifetime_sec, uint64_t date_sec, uint64_t now_sec)
{
	uint64_t age_sec = http_age_sec(response);
	if (now_sec > date_sec && now_sec - date_sec > age_sec)
		age_sec = now_sec - date_sec;
	if (lifetime_sec <= age_sec)
		return 0;
	lifetime_sec -= age_sec;
	return lifetime_sec > HTTP_DELTA_MAX_SEC ? HTTP_DELTA_MAX_SEC : (uint32_t)lifetime_sec;
}

uint32_t http_freshness_sec(const struct http_head *response, bool shared, uint64_t now_sec)
{
	struct http_cache_control cc = http_cache_control(response);
	uint64_t date_sec = made_sec(response, now_sec), lifetime_sec = 0;
	if (cc.no_cache || !lifetime(response, &cc, shared, date_sec, now_sec, &lifetime_sec))
		return 0;
	return left_sec(response, lifetime_sec, date_sec, now_sec);
}

static bool tells_lifetime(
    const struct http_head *response, const struct http_cache_control *cc, bool shared)
{
	return cc->has_max_age || (shared && cc->has_s_maxage) ||
	       http_head_find(response, HTTP_TOKEN_EXPIRES);
}

bool http_may_reuse(const struct http_head *request, const struct http_head *response,
    uint64_t now_sec, uint32_t *fresh_sec)
{
	struct http_cache_control cc = http_cache_control(response);
	uint64_t date_sec = made_sec(response, now_sec), lifetime_sec = 0;
	*fresh_sec = 0;
	if (cc.no_store || cc.no_cache || http_cache_control(request).no_store)
		return false;
	if (!tells_lifetime(response, &cc, false))
		return true;
	if (!lifetime(response, &cc, false, date_sec, now_sec, &lifetime_sec) || lifetime_sec == 0)
		return false;
	*fresh_sec = left_sec(response, lifetime_sec, date_sec, now_sec);
	return true;
}

bool http_tells_lifetime(const struct http_head *response, bool shared)
{
	struct http_cache_control cc = http_cache_control(response);
	return tells_lifetime(response, &cc, shared);
}

uint32_t http_heuristic_sec(const struct http_head *response, uint64_t now_sec)
{
	struct http_cache_control cc = http_cache_control(response);
	uint64_t date_sec = made_sec(response, now_sec), modified_sec = 0;
	bool is_dated = read_date(response, HTTP_TOKEN_LAST_MODIFIED, now_sec, &modified_sec);
	if (cc.no_cache || tells_lifetime(response, &cc, true) ||
	    !(cc.is_public || is_storable_by_default(response->status)) ||
	    (!is_dated && !http_head_find(response, HTTP_TOKEN_ETAG)))
		return 0;
	uint64_t unchanged_sec = is_dated && modified_sec < date_sec ? date_sec - modified_sec : 0;
	uint32_t sec = left_sec(response, unchanged_sec / 10, date_sec, now_sec);
	return sec > HTTP_HEURISTIC_LEAST_SEC ? sec : HTTP_HEURISTIC_LEAST_SEC;
}

bool http_is_same_for_all(const struct http_head *response, uint64_t now_sec)
{
	struct http_cache_control cc = http_cache_control(response);
	uint64_t sec = 0;
	if (cc.is_private || cc.no_store || http_head_find(response, HTTP_TOKEN_SET_COOKIE) ||
	    http_vary_names(response, HTTP_TOKEN_COOKIE))
		return false;
	return cc.is_public ||
	       (!cc.no_cache &&
		   lifetime(response, &cc, true, made_sec(response, now_sec), now_sec, &sec) &&
		   sec > 0);
}

/*
 * Cuts off an entity-tag; *opaque is its opaque part without quotes. Backslashes are ordinary
 * characters.
 */
static bool read_etag(struct slice *s, struct slice *opaque)
{
	if (slice_starts_with(*s, SLICE("W/")))
		*s = slice_from(*s, 2);
	if (s->len == 0 || s->ptr[0] != '"')
		return false;
	struct slice rest = slice_from(*s, 1);
	size_t length = slice_find(rest, '"');
	if (length == rest.len)
		return false;
	*opaque = slice_sub(rest, 0, length);
	*s = slice_trim(slice_from(rest, length + 1));
	return true;
}

/* Whether the list has the tag. Stops at the first malformed member. */
static bool list_has(struct slice list, struct slice wanted)
{
	struct slice opaque;
	size_t skip = 0;
	for (;;) {
		while (skip < list.len &&
		       (list.ptr[skip] == ',' || list.ptr[skip] == ' ' || list.ptr[skip] == '\t'))
			skip++;
		list = slice_from(list, skip);
		if (list.len == 0 || !read_etag(&list, &opaque))
			return false;
		if (slice_equal(opaque, wanted))
			return true;
		if (list.len > 0 && list.ptr[0] != ',')
			return false;
		skip = 0;
	}
}

bool http_etag_is_named(const struct http_head *request, struct slice etag)
{
	struct slice rest = slice_trim(etag), opaque;
	if (!read_etag(&rest, &opaque) || rest.len > 0)
		return false;
	for (uint32_t i = 0; i < request->count; i++) {
		struct slice list = slice_trim(request->fields[i].value);
		if (request->fields[i].token != HTTP_TOKEN_IF_NONE_MATCH)
			continue;
		if (slice_equal(list, SLICE("*")) || list_has(list, opaque))
			return true;
	}
	return false;
}

bool http_etag_matches(const struct http_head *request, const struct http_head *response)
{
	const struct http_field *etag = http_head_find(response, HTTP_TOKEN_ETAG);
	return etag && http_etag_is_named(request, etag->value);
}
