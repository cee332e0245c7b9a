/* SPDX-License-Identifier: MIT */
/*
 * Compares two requests in the fields that a response's Vary names (RFC 9111 4.1). Field lines are
 * compared in place, without joining or copying them.
 */
#include "proxy/http/vary.h"

#include "proxy/base/ascii.h"

/*
 * Most names to compare, since each costs a walk over both heads. A response with more never
 * matches.
 */
#define VARY_NAMES_MAX 64u

/* Fields known to be lists: spaces around their commas are ignored. */
static bool is_list(enum http_token token)
{
	return token == HTTP_TOKEN_ACCEPT || token == HTTP_TOKEN_ACCEPT_CHARSET ||
	       token == HTTP_TOKEN_ACCEPT_ENCODING || token == HTTP_TOKEN_ACCEPT_LANGUAGE ||
	       token == HTTP_TOKEN_CACHE_CONTROL || token == HTTP_TOKEN_PRAGMA ||
	       token == HTTP_TOKEN_VIA || token == HTTP_TOKEN_FORWARDED ||
	       token == HTTP_TOKEN_X_FORWARDED_FOR || token == HTTP_TOKEN_TE;
}

/*
 * An iterator over all values of one field name: over list members, or over the bytes of the joined
 * lines.
 */
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
 * The next byte of the lines, joined as a recipient would join them (RFC 9110 5.3; cookies: RFC
 * 9113 8.2.3).
 */
static int next_byte(struct walk *w, struct slice *separator)
{
	for (;;) {
		struct slice *from = separator->len > 0 ? separator : &w->rest;
		if (from->len > 0) {
			int byte = (unsigned char)from->ptr[0];
			*from = slice_from(*from, 1);
			return byte;
		}
		bool is_first = !w->was_found;
		if (!next_line(w))
			return -1;
		if (!is_first)
			*separator = w->token == HTTP_TOKEN_COOKIE ? SLICE("; ") : SLICE(", ");
	}
}

static bool same_bytes(struct walk *a, struct walk *b)
{
	struct slice between_a = {"", 0}, between_b = {"", 0};
	for (;;) {
		int x = next_byte(a, &between_a), y = next_byte(b, &between_b);
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
	return is_list(token) ? same_lists(&a, &b) : same_bytes(&a, &b);
}

/* "*", or malformed, as in "cookie accept": then it may mean any field. */
static bool is_all(struct slice name)
{
	return slice_equal(name, SLICE("*")) || !ascii_is_token(name);
}

static enum http_token token_of(struct slice name)
{
	char lower[64];
	if (name.len > sizeof(lower))
		return HTTP_TOKEN_NONE;
	ascii_lower_copy(lower, name);
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
		if (is_all(name) || ++names > VARY_NAMES_MAX ||
		    !same_values(stored, request, name, token))
			return false;
	}
	return true;
}

bool http_vary_names(const struct http_head *response, enum http_token token)
{
	struct walk vary = {.head = response, .token = HTTP_TOKEN_VARY};
	struct slice name;
	while (next_list_member(&vary, &name))
		if (is_all(name) || (token && token_of(name) == token))
			return true;
	return false;
}
