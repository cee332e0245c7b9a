/* SPDX-License-Identifier: MIT */
/*
 * Resolves URI references against a request (RFC 3986 5.2). liburiparser, which only this file
 * uses, parses and resolves; this file adds the requirements of HTTP (RFC 9110 4.2). Nothing else
 * is normalized: percent-encoding stays as the origin wrote it.
 *
 * The library allocates a node for each path segment and recurses over the text.
 * LIMIT_REFERENCE_BYTES bounds both, for the reference and for the base's path. The nodes are in an
 * arena that is freed when the call returns.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/http/authority.h"
#include "proxy/http/link.h"
#include "proxy/limits.h"

#include <stdalign.h>
#include <uriparser/Uri.h>

/* Enough for the nodes of two URIs of usual depth. */
#define SCRATCH_BYTES 4096u

/* The library's allocator, on an arena. The library makes calloc and realloc of the two functions. */

static void *scratch_malloc(UriMemoryManager *memory, size_t bytes)
{
	return bytes > SIZE_MAX / 4 ? NULL : arena_alloc(memory->userData, bytes);
}

static void scratch_free(UriMemoryManager *memory, void *p)
{
	(void)memory; /* the arena frees all blocks at once */
	(void)p;
}

static struct slice range(UriTextRangeA r)
{
	return r.first ? slice_of(r.first, (size_t)(r.afterLast - r.first)) : SLICE("");
}

static bool parse(UriMemoryManager *memory, struct slice text, UriUriA *uri)
{
	const char *first = text.len > 0 ? text.ptr : "";
	return uriParseSingleUriExMmA(uri, first, first + text.len, NULL, memory) == URI_SUCCESS;
}

/* The text between "//" and the path, with the brackets of an IPv6 literal. */
static struct slice authority_of(const UriUriA *uri)
{
	bool is_literal = uri->hostData.ip6 || uri->hostData.ipFuture.first;
	const char *first = uri->hostText.first - is_literal;
	const char *end =
	    uri->portText.first ? uri->portText.afterLast : uri->hostText.afterLast + is_literal;
	return slice_of(first, (size_t)(end - first));
}

/* The :authority of a request for an absolute or network-path reference. */
static bool foreign_authority(struct arena *a, const struct http_head *base, const UriUriA *ref,
    struct slice scheme, struct slice *out)
{
	struct http_authority own, named, standard;
	struct slice text = authority_of(ref);
	if (ref->userInfo.first || !http_authority_parse(text, scheme, &named))
		return false;
	if (slice_equal_nocase(scheme, base->scheme) &&
	    http_authority_parse(base->authority, scheme, &own) &&
	    http_authority_equal(&own, &named)) {
		*out = arena_copy(a, base->authority);
		return true;
	}
	char *host = arena_bytes(a, named.host.len);
	ascii_lower_copy(host, named.host);
	*out = slice_of(host, named.host.len);
	ensure(http_authority_parse(*out, scheme, &standard));
	if (named.port != standard.port)
		*out = arena_printf(a, "%.*s:%u", SLICE_ARG(*out), (unsigned)named.port);
	return true;
}

/*
 * Joins the result's path and query. The library puts a "." before a path that begins with empty
 * segments, so that it is not read as an authority. It is removed here, since the result has an
 * authority.
 */
static struct slice joined(struct arena *a, const UriUriA *uri)
{
	const UriPathSegmentA *head = uri->pathHead;
	struct slice query = range(uri->query);
	size_t length = uri->query.first ? 1 + query.len : 0;
	if (head && slice_equal(range(head->text), SLICE(".")))
		head = head->next;
	for (const UriPathSegmentA *s = head; s; s = s->next)
		length += 1 + range(s->text).len;
	if (!head)
		length++;
	char *path = arena_bytes(a, length), *at = path;
	if (!head)
		*at++ = '/';
	for (const UriPathSegmentA *s = head; s; s = s->next) {
		struct slice text = range(s->text);
		*at++ = '/';
		memcpy(at, text.ptr, text.len);
		at += text.len;
	}
	if (uri->query.first) {
		*at++ = '?';
		memcpy(at, query.ptr, query.len);
		at += query.len;
	}
	ensure(at == path + length);
	return slice_of(path, length);
}

/*
 * The base's path if the reference is relative to it, else empty. A base may have bytes that are
 * invalid in a URI (browsers send "|" unencoded); then only references that need the path fail.
 */
static struct slice base_path(const struct http_head *base, const UriUriA *ref)
{
	struct slice path = base->path;
	if (ref->hostText.first || ref->absolutePath || path.len == 0 || path.ptr[0] != '/')
		return SLICE("/");
	return slice_sub(path, 0, slice_find(path, '?'));
}

/* RFC 3986 5.2.2: the base's unchanged path, with the reference's query or else the base's. */
static struct slice same_path(struct arena *a, struct slice path, const UriUriA *ref)
{
	if (!ref->query.first)
		return arena_copy(a, path);
	struct slice bare = slice_sub(path, 0, slice_find(path, '?')), query = range(ref->query);
	char *to = arena_bytes(a, bare.len + 1 + query.len);
	memcpy(to, bare.ptr, bare.len);
	to[bare.len] = '?';
	memcpy(to + bare.len + 1, query.ptr, query.len);
	return slice_of(to, bare.len + 1 + query.len);
}

static bool resolve(struct arena *a, struct arena *scratch, const struct http_head *base,
    struct slice reference, struct http_target *out)
{
	UriMemoryManager memory,
	    backend = {.malloc = scratch_malloc, .free = scratch_free, .userData = scratch};
	uriCompleteMemoryManager(&memory, &backend);
	UriUriA ref, root, result;
	struct slice scheme = http_scheme_known(base->scheme);
	if (!parse(&memory, reference, &ref))
		return false;
	if (ref.scheme.first) {
		scheme = http_scheme_known(range(ref.scheme));
		if (!ref.hostText.first)
			return false; /* "http:path": absolute, but without an authority */
	}
	if (scheme.len == 0)
		return false;
	if (ref.hostText.first) {
		if (!foreign_authority(a, base, &ref, scheme, &out->authority))
			return false;
	} else {
		out->authority = arena_copy(a, base->authority);
	}
	out->scheme = scheme;
	if (!ref.hostText.first && !ref.absolutePath && !ref.pathHead) {
		out->path = same_path(a, base->path, &ref);
		return true;
	}
	/* The authority is known already; give the library a placeholder. */
	struct slice path = base_path(base, &ref);
	if (path.len > LIMIT_REFERENCE_BYTES)
		return false;
	struct slice text = arena_printf(scratch, "http://h%.*s", SLICE_ARG(path));
	if (!parse(&memory, text, &root) ||
	    uriAddBaseUriExMmA(&result, &ref, &root, URI_RESOLVE_STRICTLY, &memory) != URI_SUCCESS)
		return false;
	out->path = joined(a, &result);
	return true;
}

/*
 * An absolute path that resolves to itself, as nearly all links are: no segment begins with a dot, and
 * nothing in it must be looked at closely (an escape, a fragment).
 */
static bool is_own_result(struct slice reference)
{
	char before = '\0';
	bool is_path = true;
	for (size_t i = 0; i < reference.len; i++) {
		char c = reference.ptr[i];
		if (c == '/' ? before == '/' && i == 1 : before == '/' && c == '.' && is_path)
			return false;
		if (c == '?')
			is_path = false;
		else if (!ascii_is(c, ASCII_ALNUM | ASCII_HOST_MARK) && c != '/' && c != ':' &&
			 c != '@')
			return false;
		before = c;
	}
	return reference.len > 0 && reference.ptr[0] == '/';
}

bool http_target_cut(struct slice uri, struct http_target *out)
{
	out->scheme = slice_sub(uri, 0, slice_find(uri, ':'));
	struct slice rest = slice_from(uri, out->scheme.len);
	if (!slice_starts_with(rest, SLICE("://")))
		return false;
	slice_skip(&rest, 3);
	out->authority = slice_sub(rest, 0, slice_find(rest, '/'));
	out->path = slice_from(rest, out->authority.len);
	return true;
}

bool http_target_resolve(
    struct arena *a, const struct http_head *base, struct slice reference, struct http_target *out)
{
	alignas(max_align_t) char first[SCRATCH_BYTES];
	struct arena scratch;
	const struct slice scheme = http_scheme_known(base->scheme);
	if (reference.len > LIMIT_REFERENCE_BYTES || base->authority.len == 0 || scheme.len == 0)
		return false;
	if (is_own_result(reference)) {
		*out = (struct http_target){
		    scheme, arena_copy(a, base->authority), arena_copy(a, reference)};
		return true;
	}
	arena_init(&scratch, first, sizeof(first));
	bool is_resolved = resolve(a, &scratch, base, reference, out);
	arena_fini(&scratch);
	return is_resolved;
}
