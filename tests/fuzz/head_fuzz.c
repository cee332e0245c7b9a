/* SPDX-License-Identifier: MIT */
/*
 * Any fields as a head: what settles obeys the rules of RFC 9113 8 as they are read here once
 * more, byte by byte; it settles again when it is put together again; and what the relay makes
 * of it is in order.
 *
 * Input: one byte for the kind, with a bit of 64 if :protocol is allowed, then the head's lines.
 */
#include "tests/fuzz/head_text.h"

#include "proxy/base/ensure.h"
#include "proxy/http/authority.h"
#include "proxy/http/cookie.h"
#include "proxy/http/promise.h"
#include "proxy/http/via.h"

#include <stdio.h>

static bool is_tchar(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static void check_field(const struct http_field *f, enum http_head_kind kind)
{
	static const struct slice hop[] = {SLICE_INIT("connection"), SLICE_INIT("keep-alive"),
	    SLICE_INIT("proxy-connection"), SLICE_INIT("transfer-encoding"), SLICE_INIT("upgrade")};
	ensure(f->name.len > 0);
	for (size_t i = 0; i < f->name.len; i++) {
		unsigned char c = (unsigned char)f->name.ptr[i];
		ensure(is_tchar(c) && !(c >= 'A' && c <= 'Z'));
	}
	for (size_t i = 0; i < f->value.len; i++) {
		unsigned char c = (unsigned char)f->value.ptr[i];
		ensure((c >= 0x20 || c == '\t') && c != 0x7f);
	}
	ensure(slice_equal(slice_trim(f->value), f->value));
	for (size_t i = 0; i < sizeof(hop) / sizeof(hop[0]); i++)
		ensure(!slice_equal(f->name, hop[i]));
	ensure(kind != HTTP_TRAILERS || !slice_equal(f->name, SLICE("content-length")));
	ensure(slice_equal(http_token_name(f->token), f->name) || f->token == HTTP_TOKEN_NONE);
	ensure(http_token_find(f->name) == f->token);
}

static void check_request(const struct http_head *h)
{
	struct http_authority a;
	bool is_connect = slice_equal(h->method, SLICE("CONNECT")) && h->protocol.len == 0;
	ensure(h->method.len > 0 && h->status == 0 && !h->opens_tunnel);
	for (size_t i = 0; i < h->protocol.len; i++)
		ensure(is_tchar((unsigned char)h->protocol.ptr[i]) || h->protocol.ptr[i] == '/');
	ensure(h->protocol.len == 0 ||
	       (h->allows_protocol && slice_equal(h->method, SLICE("CONNECT")) &&
		   h->content_length == HTTP_LENGTH_UNKNOWN));
	for (size_t i = 0; i < h->method.len; i++)
		ensure(is_tchar((unsigned char)h->method.ptr[i]));
	ensure((h->scheme.len == 0 && h->path.len == 0) == is_connect);
	for (size_t i = 0; i < h->path.len; i++) {
		unsigned char c = (unsigned char)h->path.ptr[i];
		ensure(c > 0x20 && c != 0x7f && c != '#');
	}
	ensure(is_connect || h->path.ptr[0] == '/' ||
	       (slice_equal(h->path, SLICE("*")) && slice_equal(h->method, SLICE("OPTIONS"))));
	ensure(h->authority.len == 0 || http_authority_parse(h->authority, h->scheme, &a));
	if (h->kind == HTTP_PROMISE)
		ensure(!h->authority_from_host && h->authority.len > 0 &&
		       (h->content_length == 0 || h->content_length == HTTP_LENGTH_UNKNOWN));
}

static void check(const struct http_head *h)
{
	uint32_t lengths = 0, hosts = 0;
	for (uint32_t i = 0; i < h->count; i++) {
		check_field(&h->fields[i], h->kind);
		lengths += h->fields[i].token == HTTP_TOKEN_CONTENT_LENGTH;
		hosts += h->fields[i].token == HTTP_TOKEN_HOST;
	}
	ensure(lengths == (h->content_length != HTTP_LENGTH_UNKNOWN));
	switch (h->kind) {
	case HTTP_REQUEST:
	case HTTP_PROMISE:
		ensure(hosts <= 1);
		check_request(h);
		break;
	case HTTP_RESPONSE:
		ensure(h->status >= 100 && h->status <= 999 && h->status != 101);
		ensure(h->method.len == 0 && h->path.len == 0 && h->authority.len == 0);
		break;
	case HTTP_TRAILERS:
		ensure(h->status == 0 && h->method.len == 0 && h->path.len == 0);
		break;
	}
}

/* As an encoder would send it on. */
static struct http_head *together(struct http_head_pool *pool, const struct http_head *h)
{
	struct http_head *again = http_head_new(pool);
	again->allows_protocol = h->allows_protocol;
	char status[16];
	const struct {
		struct slice name, value;
	} pseudos[] = {{SLICE(":method"), h->method}, {SLICE(":scheme"), h->scheme},
	    {SLICE(":authority"), h->authority_from_host ? SLICE("") : h->authority},
	    {SLICE(":path"), h->path}, {SLICE(":protocol"), h->protocol}};
	for (size_t i = 0; i < sizeof(pseudos) / sizeof(pseudos[0]); i++)
		if (pseudos[i].value.len > 0)
			http_head_add(again, pseudos[i].name, pseudos[i].value);
	snprintf(status, sizeof(status), "%u", h->status);
	if (h->status)
		http_head_add(again, SLICE(":status"), slice_of_string(status));
	for (uint32_t i = 0; i < h->count; i++)
		http_head_add(again, h->fields[i].name, h->fields[i].value);
	return again;
}

static void check_again(struct http_head_pool *pool, const struct http_head *h)
{
	struct http_head *again = together(pool, h);
	ensure(http_head_validate(again, h->kind) == NULL);
	ensure(again->count == h->count && again->content_length == h->content_length);
	ensure(slice_equal(again->authority, h->authority) && slice_equal(again->path, h->path));
	http_head_free(again);
}

/* Our cookie is cut out whole, whatever stands around it: there is none a second time. */
static void check_cookie(const struct http_head *h)
{
	const struct slice name = SLICE("seen");
	struct http_head *copy = http_head_copy(h);
	bool had = http_cookie_cut(copy, name).ptr != NULL;
	check(copy);
	ensure(had || copy->count == h->count);
	uint32_t count = copy->count;
	ensure(http_cookie_cut(copy, name).ptr == NULL && copy->count == count);
	http_head_free(copy);
}

/* What becomes of it on its way through. */
static void use(struct http_head_pool *pool, struct http_head *h)
{
	const struct slice name = SLICE("fuzz-7");
	struct http_head *copy = http_head_copy(h);
	http_head_strip_hop(copy);
	check(copy);
	(void)http_via_has(copy, name);
	copy->version = (uint8_t)(HTTP_VERSION_1_0 + copy->count % 3);
	const struct http_via via = http_via_make(name);
	http_via_add(copy, &via);
	ensure(http_via_has(copy, name));
	check(copy);
	if (h->kind == HTTP_RESPONSE)
		(void)http_response_is_bodyless(copy, HTTP_METHOD_GET);
	if (h->kind == HTTP_REQUEST && h->path.len > 0 && h->authority.len > 0) {
		const struct http_resource resource = {
		    .target = {h->scheme, h->authority, h->path}, .as = SLICE("style")};
		struct http_head *promise = http_promise_make(h, &resource, true);
		if (promise) {
			check(promise);
			check_again(pool, promise);
		}
		http_head_free(promise);
		(void)http_hint_make(&copy->arena, h, &resource);
		check_cookie(h);
	}
	http_head_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	struct http_head_pool *pool = http_head_pool_new(2);
	uint8_t first = input_byte(&in);
	enum http_head_kind kind = (enum http_head_kind)(first % 4);
	struct http_head *h = head_text(pool, &in);
	h->allows_protocol = first & 64;
	if (http_head_validate(h, kind) == NULL) {
		check(h);
		check_again(pool, h);
		use(pool, h);
	}
	http_head_free(h);
	http_head_pool_free(pool);
	return 0;
}
