/* SPDX-License-Identifier: MIT */
/* What a worker asks about a request that may be an authority's (RFC 8555 8.3). */
#include "proxy/acme/acme.h"
#include "proxy/base/ascii.h"

bool acme_token_is_good(struct slice token)
{
	for (size_t i = 0; i < token.len; i++)
		if (!ascii_is(token.ptr[i], ASCII_ALNUM) && token.ptr[i] != '-' &&
		    token.ptr[i] != '_')
			return false;
	return token.len > 0 && token.len <= ACME_TOKEN_BYTES_MOST;
}

struct slice acme_path_token(struct slice path)
{
	static const struct slice folder = SLICE_INIT("/.well-known/acme-challenge/");
	struct slice token = slice_from(path, folder.len);
	bool is_one = slice_starts_with(path, folder) && acme_token_is_good(token);
	return is_one ? token : (struct slice){0};
}
