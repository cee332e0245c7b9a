/* SPDX-License-Identifier: MIT */
/* See spelling.h. */
#include "proxy/http/spelling.h"

#include "proxy/base/ascii.h"

/* Longer than every known name. */
#define KNOWN_NAME_BYTES 64u

static char canonical(char c)
{
	return ascii_is(c, ASCII_ALNUM) ? c : '-';
}

bool http_names_alike(struct slice a, struct slice b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (a.ptr[i] != b.ptr[i] && canonical(a.ptr[i]) != canonical(b.ptr[i]))
			return false;
	return true;
}

bool http_name_is_marked(struct slice name)
{
	return !ascii_all(name, ASCII_USUAL_NAME);
}

enum http_token http_token_alike(struct slice name)
{
	char text[KNOWN_NAME_BYTES];
	if (name.len > sizeof(text))
		return HTTP_TOKEN_NONE;
	for (size_t i = 0; i < name.len; i++)
		text[i] = canonical(name.ptr[i]);
	return http_token_find(slice_of(text, name.len));
}

bool http_name_is_forwarding(struct slice name)
{
	const struct slice start = SLICE(HTTP_X_FORWARDED);
	return http_names_alike(slice_sub(name, 0, start.len), start) ||
	       http_names_alike(name, http_token_name(HTTP_TOKEN_X_REAL_IP));
}
