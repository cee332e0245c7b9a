/* SPDX-License-Identifier: MIT */
/*
 * Finds one cookie in a request's Cookie fields, and cuts it out. Pairs are separated by semicolons; their syntax
 * is not checked.
 */
#include "proxy/http/cookie.h"

/* Whether the pair is a cookie of this name. */
static bool is_named(struct slice pair, struct slice name)
{
	return slice_starts_with(pair, name) && pair.len > name.len && pair.ptr[name.len] == '=';
}

/*
 * Returns the field's value without the cookies of this name; it is never longer, and the other
 * cookies are unchanged. *found: the value of the last cookie removed.
 */
static struct slice without(
    struct arena *arena, struct slice value, struct slice name, struct slice *found)
{
	char *kept = arena_bytes(arena, value.len);
	size_t n = 0;
	while (value.len > 0) {
		struct slice part = slice_cut(&value, ';'), pair = slice_trim(part);
		if (is_named(pair, name)) {
			*found = slice_from(pair, name.len + 1);
			continue;
		}
		if (pair.len == 0)
			continue;
		if (n > 0)
			kept[n++] = ';';
		memcpy(kept + n, part.ptr, part.len);
		n += part.len;
	}
	return slice_trim(slice_of(kept, n));
}

static bool mentions(struct slice value, struct slice name)
{
	return memmem(value.ptr, value.len, name.ptr, name.len) != NULL;
}

struct slice http_cookie_cut(struct http_head *request, struct slice name)
{
	struct slice last = {0};
	uint32_t kept = 0;
	for (uint32_t i = 0; i < request->count; i++) {
		struct http_field *f = &request->fields[i];
		struct slice found = {0}, rest = {0};
		if (f->token == HTTP_TOKEN_COOKIE && mentions(f->value, name))
			rest = without(&request->arena, f->value, name, &found);
		if (found.ptr) {
			last = found;
			if (rest.len == 0)
				continue;
			f->value = rest;
			f->hash = 0;
		}
		request->fields[kept++] = *f;
	}
	request->count = kept;
	return last;
}

static struct slice find_in(struct slice value, struct slice name)
{
	while (value.len > 0) {
		struct slice pair = slice_trim(slice_cut(&value, ';'));
		if (is_named(pair, name))
			return slice_from(pair, name.len + 1);
	}
	return (struct slice){0};
}

struct slice http_cookie_find(const struct http_head *request, struct slice name)
{
	struct slice found = {0};
	for (uint32_t i = 0; i < request->count && !found.ptr; i++) {
		if (request->fields[i].token == HTTP_TOKEN_COOKIE)
			found = find_in(request->fields[i].value, name);
	}
	return found;
}
