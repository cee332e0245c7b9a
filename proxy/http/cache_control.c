/* SPDX-License-Identifier: MIT */
/*
 * Reads Cache-Control, a list of directives, some with an argument (RFC 9111 5.2). An unreadable
 * directive never permits anything.
 */
#include "proxy/http/cache_control.h"

#include "proxy/base/ascii.h"

enum directive {
	DIRECTIVE_NO_STORE,
	DIRECTIVE_NO_CACHE,
	DIRECTIVE_PRIVATE,
	DIRECTIVE_PUBLIC,
	DIRECTIVE_MUST_REVALIDATE,
	DIRECTIVE_MAX_AGE,
	DIRECTIVE_S_MAXAGE,
	DIRECTIVE_MIN_FRESH,
	DIRECTIVE_COUNT,
};

static const struct slice directive_names[DIRECTIVE_COUNT] = {
    [DIRECTIVE_NO_STORE] = SLICE_INIT("no-store"),
    [DIRECTIVE_NO_CACHE] = SLICE_INIT("no-cache"),
    [DIRECTIVE_PRIVATE] = SLICE_INIT("private"),
    [DIRECTIVE_PUBLIC] = SLICE_INIT("public"),
    [DIRECTIVE_MUST_REVALIDATE] = SLICE_INIT("must-revalidate"),
    [DIRECTIVE_MAX_AGE] = SLICE_INIT("max-age"),
    [DIRECTIVE_S_MAXAGE] = SLICE_INIT("s-maxage"),
    [DIRECTIVE_MIN_FRESH] = SLICE_INIT("min-fresh"),
};

bool http_delta_seconds(struct slice s, uint32_t *sec)
{
	uint64_t value = HTTP_DELTA_MAX_SEC;
	if (s.len == 0 || !ascii_all(s, ASCII_DIGIT))
		return false;
	slice_to_number(s, HTTP_DELTA_MAX_SEC, &value);
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

static void note_directive(struct http_cache_control *cc, enum directive d, struct slice value)
{
	uint32_t sec = 0;
	http_delta_seconds(value, &sec);
	switch (d) {
	case DIRECTIVE_NO_STORE:
		cc->no_store = true;
		break;
	case DIRECTIVE_NO_CACHE:
		cc->no_cache = true; /* also with field names, as RFC 9111 5.2.2.4 allows */
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
	case DIRECTIVE_MAX_AGE:
		cc->has_max_age = true;
		cc->max_age_sec = sec;
		break;
	case DIRECTIVE_S_MAXAGE:
		cc->has_s_maxage = true;
		cc->s_maxage_sec = sec;
		break;
	case DIRECTIVE_MIN_FRESH:
		cc->min_fresh_sec = sec;
		break;
	case DIRECTIVE_COUNT:
		break;
	}
}

/*
 * Returns an argument without its quotes and the spaces inside them. *is_open: its quote has no
 * end.
 */
static struct slice unquoted(struct slice value, bool *is_open)
{
	*is_open = false;
	if (value.len == 0 || value.ptr[0] != '"')
		return value;
	*is_open = value.len == 1 || value.ptr[value.len - 1] != '"';
	return *is_open ? value : slice_trim(slice_sub(value, 1, value.len - 2));
}

/* Of equal directives the first counts (RFC 9111 4.2.1). */
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
			cc->no_store = true; /* the unclosed quote may contain a no-store */
		enum directive d = find_directive(name);
		if (d == DIRECTIVE_COUNT || (*seen & 1u << d))
			continue;
		*seen |= 1u << d;
		note_directive(cc, d, value);
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
