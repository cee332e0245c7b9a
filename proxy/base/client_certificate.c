/* SPDX-License-Identifier: MIT */
/* See client_certificate.h. */
#include "proxy/base/client_certificate.h"

#include "proxy/base/glob.h"

static struct slice put(char **at, struct slice text)
{
	struct slice copy = slice_of(*at, text.len);
	if (text.len > 0)
		memcpy(*at, text.ptr, text.len);
	*at += text.len;
	return copy;
}

struct client_certificate *client_certificate_new(
    struct slice names, struct slice leaf, struct slice chain)
{
	struct client_certificate *c =
	    memory_alloc(sizeof(*c) + names.len + leaf.len + chain.len + 1);
	char *at = c->text;
	c->references = 1;
	c->names = put(&at, names);
	c->leaf = put(&at, leaf);
	c->chain = put(&at, chain);
	return c;
}

bool client_certificate_pattern_is_valid(struct slice pattern)
{
	static const struct slice kinds[] = {SLICE_INIT("subject:"), SLICE_INIT("issuer:"),
	    SLICE_INIT("cn:"), SLICE_INIT("dns:"), SLICE_INIT("email:"), SLICE_INIT("uri:"),
	    SLICE_INIT("ip:"), SLICE_INIT("sha256:")};
	bool is_valid = slice_equal(pattern, SLICE("*"));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		is_valid = is_valid ||
			   (slice_starts_with(pattern, kinds[i]) && pattern.len > kinds[i].len);
	return is_valid;
}

static bool has(const struct client_certificate *c, struct slice pattern)
{
	struct slice rest = c->names;
	while (rest.len > 0)
		if (glob_match(pattern, slice_cut(&rest, '\n')))
			return true;
	return false;
}

bool client_certificate_is_among(
    const struct client_certificate *c, const struct slice *patterns, size_t count)
{
	for (size_t i = 0; c && i < count; i++)
		if (slice_equal(patterns[i], SLICE("*")) || has(c, patterns[i]))
			return true;
	return false;
}

struct slice client_certificate_name(const struct client_certificate *c, struct slice kind)
{
	struct slice rest = c ? c->names : SLICE("");
	while (rest.len > 0) {
		struct slice name = slice_cut(&rest, '\n');
		if (slice_starts_with(name, kind))
			return slice_from(name, kind.len);
	}
	return SLICE("");
}
