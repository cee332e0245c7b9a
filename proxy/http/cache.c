/* SPDX-License-Identifier: MIT */
/*
 * What RFC 9111 says about one response, from its head and its request's. In doubt a response is
 * stale or not stored: what cannot be read is never taken as leave. Heuristic freshness (4.2.2) is
 * not used.
 */
#include "proxy/http/cache.h"

#include "proxy/http/date.h"

/* What a delta-seconds counts as that is too large (RFC 9111 1.2.2). */
#define DELTA_MAX_SEC UINT32_C(2147483648)
/*
 * Names compared in Vary; each costs a walk over both heads. A response that names more is
 * nobody's.
 */
#define VARY_NAMES_MAX 64u

enum directive {
	DIRECTIVE_NO_STORE,
	DIRECTIVE_NO_CACHE,
	DIRECTIVE_PRIVATE,
	DIRECTIVE_PUBLIC,
	DIRECTIVE_MUST_REVALIDATE,
	DIRECTIVE_PROXY_REVALIDATE,
	DIRECTIVE_IMMUTABLE,
	DIRECTIVE_MAX_AGE,
	DIRECTIVE_S_MAXAGE,
	DIRECTIVE_ONLY_IF_CACHED,
	DIRECTIVE_MAX_STALE,
	DIRECTIVE_MIN_FRESH,
	DIRECTIVE_COUNT,
};

static const struct slice directive_names[DIRECTIVE_COUNT] = {
    [DIRECTIVE_NO_STORE] = SLICE_INIT("no-store"),
    [DIRECTIVE_NO_CACHE] = SLICE_INIT("no-cache"),
    [DIRECTIVE_PRIVATE] = SLICE_INIT("private"),
    [DIRECTIVE_PUBLIC] = SLICE_INIT("public"),
    [DIRECTIVE_MUST_REVALIDATE] = SLICE_INIT("must-revalidate"),
    [DIRECTIVE_PROXY_REVALIDATE] = SLICE_INIT("proxy-revalidate"),
    [DIRECTIVE_IMMUTABLE] = SLICE_INIT("immutable"),
    [DIRECTIVE_MAX_AGE] = SLICE_INIT("max-age"),
    [DIRECTIVE_S_MAXAGE] = SLICE_INIT("s-maxage"),
    [DIRECTIVE_ONLY_IF_CACHED] = SLICE_INIT("only-if-cached"),
    [DIRECTIVE_MAX_STALE] = SLICE_INIT("max-stale"),
    [DIRECTIVE_MIN_FRESH] = SLICE_INIT("min-fresh"),
};

static bool is_number(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] < '0' || s.ptr[i] > '9')
			return false;
	}
	return s.len > 0;
}

/* False: no delta-seconds. */
static bool delta_seconds(struct slice s, uint32_t *sec)
{
	uint64_t value = DELTA_MAX_SEC;
	if (!is_number(s))
		return false;
	slice_to_number(s, DELTA_MAX_SEC, &value);
	*sec = (uint32_t)value;
	return true;
}

static enum directive find_directive(struct slice name)
{
	unsigned d = 0;
	while (d < DIRECTIVE_COUNT && !slice_equal_nocase(name, directive_names[d]))
		d++;
	return (enum directive)d;
}

static void note_directive(
    struct http_cache_control *cc, enum directive d, bool has_value, struct slice value)
{
	uint32_t sec = 0;
	delta_seconds(value, &sec);
	switch (d) {
	case DIRECTIVE_NO_STORE:
		cc->no_store = true;
		break;
	case DIRECTIVE_NO_CACHE:
		cc->no_cache = true; /* with field names too: RFC 9111 5.2.2.4 allows it */
		break;
	case DIRECTIVE_PRIVATE:
		cc->is_private = true;
		break;
	case DIRECTIVE_PUBLIC:
		cc->is_public = true;
		break;
	case DIRECTIVE_MUST_REVALIDATE:
		cc->must_revalidate = true;
		break;
	case DIRECTIVE_PROXY_REVALIDATE:
		cc->proxy_revalidate = true;
		break;
	case DIRECTIVE_IMMUTABLE:
		cc->immutable = true;
		break;
	case DIRECTIVE_MAX_AGE:
		cc->has_max_age = true;
		cc->max_age_sec = sec;
		break;
	case DIRECTIVE_S_MAXAGE:
		cc->has_s_maxage = true;
		cc->s_maxage_sec = sec;
		break;
	case DIRECTIVE_ONLY_IF_CACHED:
		cc->only_if_cached = true;
		break;
	case DIRECTIVE_MAX_STALE:
		cc->has_max_stale = true;
		cc->max_stale_sec = has_value ? sec : UINT32_MAX;
		break;
	case DIRECTIVE_MIN_FRESH:
		cc->min_fresh_sec = sec;
		break;
	case DIRECTIVE_COUNT:
		break;
	}
}

/*
 * An argument without its quotes and the spaces in them. *is_open: it begins a quote that never
 * ends.
 */
static struct slice unquoted(struct slice value, bool *is_open)
{
	*is_open = false;
	if (value.len == 0 || value.ptr[0] != '"')
		return value;
	*is_open = value.len == 1 || value.ptr[value.len - 1] != '"';
	return *is_open ? value : slice_trim(slice_sub(value, 1, value.len - 2));
}

/* The first of equal directives counts (RFC 9111 4.2.1). */
static void read_directives(struct http_cache_control *cc, struct slice list, unsigned *seen)
{
	struct slice member;
	bool is_open;
	while (slice_next_member(&list, &member)) {
		size_t equals = slice_find(member, '=');
		struct slice name = slice_trim(slice_sub(member, 0, equals));
		struct slice value = slice_trim(slice_from(member, equals + 1));
		value = unquoted(value, &is_open);
		if (is_open)
			cc->no_store = true; /* the quote may have swallowed just that */
		enum directive d = find_directive(name);
		if (d == DIRECTIVE_COUNT || (*seen & 1u << d))
			continue;
		*seen |= 1u << d;
		note_directive(cc, d, equals < member.len, value);
	}
}

struct http_cache_control http_cache_control(const struct http_head *head)
{
	struct http_cache_control cc = {0};
	unsigned seen = 0;
	struct slice member;
	bool is_request = head->kind == HTTP_REQUEST || head->kind == HTTP_PROMISE;
	for (uint32_t i = 0; i < head->count; i++) {
		if (head->fields[i].token == HTTP_TOKEN_CACHE_CONTROL)
			read_directives(&cc, head->fields[i].value, &seen);
	}
	if (!is_request || http_head_find(head, HTTP_TOKEN_CACHE_CONTROL))
		return cc;
	for (uint32_t i = 0; i < head->count; i++) {
		struct slice list = head->fields[i].value;
		if (head->fields[i].token != HTTP_TOKEN_PRAGMA)
			continue;
		while (slice_next_member(&list, &member))
			cc.no_cache |= slice_equal_nocase(member, SLICE("no-cache"));
	}
	return cc;
}

/* Complete responses whose meaning we know (RFC 9110 15): not parts, not 304, not RFC 6585's. */
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

/* RFC 9110 15.1: may be stored even when nothing says for how long. */
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

bool http_may_store_shared(const struct http_head *request, const struct http_head *response)
{
	struct http_cache_control cc = http_cache_control(response);
	if (!may_store(request, response, &cc) || cc.is_private)
		return false;
	if (http_head_find(request, HTTP_TOKEN_AUTHORIZATION) && !cc.is_public &&
	    !cc.must_revalidate && !cc.has_s_maxage)
		return false; /* RFC 9111 3.5 */
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
		delta_seconds(member, &sec); /* what is no number is ignored (5.1) */
	return sec;
}

/* False: nothing says (RFC 9111 4.2.1). */
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

uint32_t http_freshness_sec(const struct http_head *response, bool shared, uint64_t now_sec)
{
	struct http_cache_control cc = http_cache_control(response);
	const struct http_field *date = http_head_find(response, HTTP_TOKEN_DATE);
	uint64_t date_sec = now_sec, lifetime_sec = 0, age_sec = http_age_sec(response);
	if (cc.no_cache)
		return 0;
	if (date && !http_date_parse(date->value, now_sec, &date_sec))
		date_sec = now_sec;
	if (!lifetime(response, &cc, shared, date_sec, now_sec, &lifetime_sec))
		return 0;
	if (now_sec > date_sec && now_sec - date_sec > age_sec)
		age_sec = now_sec - date_sec; /* 4.2.3: the apparent age */
	if (lifetime_sec <= age_sec)
		return 0;
	lifetime_sec -= age_sec;
	return lifetime_sec > DELTA_MAX_SEC ? DELTA_MAX_SEC : (uint32_t)lifetime_sec;
}

/* Fields of which we know that they are lists: there the spaces around commas mean nothing. */
static bool is_list(enum http_token token)
{
	return token == HTTP_TOKEN_ACCEPT || token == HTTP_TOKEN_ACCEPT_CHARSET ||
	       token == HTTP_TOKEN_ACCEPT_ENCODING || token == HTTP_TOKEN_ACCEPT_LANGUAGE ||
	       token == HTTP_TOKEN_CACHE_CONTROL || token == HTTP_TOKEN_PRAGMA ||
	       token == HTTP_TOKEN_VIA || token == HTTP_TOKEN_FORWARDED ||
	       token == HTTP_TOKEN_X_FORWARDED_FOR || token == HTTP_TOKEN_TE;
}

/* Walks all values of one field name: members of a list, or octets of the lines joined. */
struct walk {
	const struct http_head *head;
	struct slice name;
	enum http_token token;
	uint32_t next; /* index of the first field not begun */
	bool was_found;
	struct slice rest;
};

static bool next_line(struct walk *w)
{
	while (w->next < w->head->count) {
		const struct http_field *field = &w->head->fields[w->next++];
		if (field->token == w->token &&
		    (w->token || slice_equal_nocase(field->name, w->name))) {
			w->was_found = true;
			w->rest = slice_trim(field->value);
			return true;
		}
	}
	return false;
}

static bool next_list_member(struct walk *w, struct slice *member)
{
	do {
		if (slice_next_member(&w->rest, member))
			return true;
	} while (next_line(w));
	return false;
}

static bool same_lists(struct walk *a, struct walk *b)
{
	struct slice x, y;
	for (;;) {
		bool has_x = next_list_member(a, &x), has_y = next_list_member(b, &y);
		if (!has_x || !has_y)
			return has_x == has_y && a->was_found == b->was_found;
		if (!slice_equal(x, y))
			return false;
	}
}

/*
 * The next octet of the lines joined as a recipient would (RFC 9110 5.3; cookies: RFC 9113 8.2.3).
 */
static int next_octet(struct walk *w, struct slice *separator)
{
	for (;;) {
		struct slice *from = separator->len > 0 ? separator : &w->rest;
		if (from->len > 0) {
			int octet = (unsigned char)from->ptr[0];
			*from = slice_from(*from, 1);
			return octet;
		}
		bool is_first = !w->was_found;
		if (!next_line(w))
			return -1;
		if (!is_first)
			*separator = w->token == HTTP_TOKEN_COOKIE ? SLICE("; ") : SLICE(", ");
	}
}

static bool same_octets(struct walk *a, struct walk *b)
{
	struct slice between_a = {"", 0}, between_b = {"", 0};
	for (;;) {
		int x = next_octet(a, &between_a), y = next_octet(b, &between_b);
		if (x != y)
			return false;
		if (x < 0)
			return a->was_found == b->was_found;
	}
}

static bool same_values(const struct http_head *stored, const struct http_head *request,
    struct slice name, enum http_token token)
{
	struct walk a = {.head = stored, .name = name, .token = token};
	struct walk b = {.head = request, .name = name, .token = token};
	return is_list(token) ? same_lists(&a, &b) : same_octets(&a, &b);
}

static enum http_token token_of(struct slice name)
{
	char lower[64];
	if (name.len > sizeof(lower))
		return HTTP_TOKEN_NONE;
	for (size_t i = 0; i < name.len; i++) {
		lower[i] = name.ptr[i];
		if (lower[i] >= 'A' && lower[i] <= 'Z')
			lower[i] = (char)(lower[i] | 0x20);
	}
	return http_token_find(slice_of(lower, name.len));
}

bool http_vary_matches(const struct http_head *response, const struct http_head *stored,
    const struct http_head *request, struct slice *field)
{
	struct walk vary = {.head = response, .token = HTTP_TOKEN_VARY};
	uint32_t names = 0;
	struct slice name;
	while (next_list_member(&vary, &name)) {
		enum http_token token = token_of(name);
		*field = token ? http_token_name(token) : name;
		if (slice_equal(name, SLICE("*")) || ++names > VARY_NAMES_MAX ||
		    !same_values(stored, request, name, token))
			return false;
	}
	return true;
}

/* Cuts an entity-tag off, its opaque part without the quotes. Backslashes mean nothing in it. */
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

/* A list that stops making sense names nothing more. */
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

bool http_etag_matches(const struct http_head *request, const struct http_head *response)
{
	const struct http_field *etag = http_head_find(response, HTTP_TOKEN_ETAG);
	struct slice rest, opaque;
	if (!etag)
		return false;
	rest = slice_trim(etag->value);
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
