/* SPDX-License-Identifier: MIT */
/* What a worker asks about a request that may be an authority's (RFC 8555 8.3). */
#include "proxy/acme/acme_private.h"
#include "proxy/base/ascii.h"

/* RFC 8555 8.3: a token has 128 bits at least. Whatever is shorter is an application's file. */
enum { TOKEN_BYTES_LEAST = 22 };

bool acme_text_is_base64url(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!ascii_is(text.ptr[i], ASCII_ALNUM) && text.ptr[i] != '-' && text.ptr[i] != '_')
			return false;
	return text.len > 0;
}

bool acme_token_is_good(struct slice token)
{
	return token.len <= ACME_TOKEN_BYTES_MOST && acme_text_is_base64url(token);
}

struct slice acme_path_token(struct slice path)
{
	static const struct slice folder = SLICE_INIT("/.well-known/acme-challenge/");
	struct slice token = slice_from(path, folder.len);
	bool is_one = slice_starts_with(path, folder) && token.len >= TOKEN_BYTES_LEAST &&
		      acme_token_is_good(token);
	return is_one ? token : (struct slice){0};
}
