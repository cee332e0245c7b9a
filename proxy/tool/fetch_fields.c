/* SPDX-License-Identifier: MIT */
/*
 * What of the command line cannot be sent is said before anything is sent: what RFC 9113 8.2 and 8.3
 * forbid, in HTTP/1.1 too, where the fields of one connection are made by the codec. `host` sets the
 * authority, as curl does.
 */
#include "proxy/base/ascii.h"
#include "proxy/http/authority.h"
#include "proxy/http/head.h"
#include "proxy/tool/fetch.h"
#include <stdarg.h>

static const struct {
	struct slice name;
	const char *instead;
} pseudo_fields[] = {
    {SLICE_INIT(":method"), "-X sets the method"},
    {SLICE_INIT(":scheme"), "the URL sets the scheme"},
    {SLICE_INIT(":authority"), "the URL or -H 'host: NAME' sets the host"},
    {SLICE_INIT(":path"), "the URL sets the path"},
};

static bool refuse(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns false, for its callers to return. */
static bool refuse(char *text, size_t size, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(text, size, format, args);
	va_end(args);
	return false;
}

static bool check_name(const struct fetch_request *r, struct slice name, char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(pseudo_fields) / sizeof(pseudo_fields[0]); i++)
		if (slice_equal(name, pseudo_fields[i].name))
			return refuse(text, size, "-H cannot set %.*s: %s", SLICE_ARG(name),
			    pseudo_fields[i].instead);
	static const struct slice of_http1[] = {SLICE_INIT("connection"), SLICE_INIT("keep-alive"),
	    SLICE_INIT("proxy-connection"), SLICE_INIT("transfer-encoding"), SLICE_INIT("upgrade")};
	if (slice_is_among(name, of_http1, sizeof(of_http1) / sizeof(of_http1[0])))
		return refuse(text, size, "-H cannot set %.*s: %s", SLICE_ARG(name),
		    r->http1 ? "this field is for one connection alone; fetch sets what it "
			       "needs itself"
			     : "only HTTP/1.1 has this field; HTTP/2 does not need it");
	return true;
}

static bool set_host(struct fetch_request *r, struct slice value, char *text, size_t size)
{
	struct http_authority authority;
	struct slice scheme = r->is_https ? SLICE("https") : SLICE("http");
	if (value.len == 0 || !http_authority_parse(value, scheme, &authority))
		return refuse(
		    text, size, "-H host: '%.*s' is not HOST or HOST:PORT", SLICE_ARG(value));
	if (r->has_host)
		return refuse(text, size, "-H host is given twice");
	r->has_host = true;
	r->authority = value;
	return true;
}

static bool check_length(const struct fetch_request *r, struct slice value, char *text, size_t size)
{
	uint64_t length;
	if (slice_to_number(value, UINT64_MAX, &length) && length == r->body.len)
		return true;
	return refuse(text, size, "-H content-length says '%.*s', but the body has %zu bytes",
	    SLICE_ARG(value), r->body.len);
}

/* The same check as for the fields of a peer: names are tokens, values have no control bytes, … */
static bool check_field(
    struct http_head_pool *heads, const struct tool_field *h, char *text, size_t size)
{
	struct http_head *head = http_head_new(heads);
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_METHOD, SLICE("GET"));
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_SCHEME, SLICE("http"));
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_AUTHORITY, SLICE("host"));
	http_head_add_token(head, HTTP_TOKEN_PSEUDO_PATH, SLICE("/"));
	http_head_add(head, h->name, h->value);
	const char *wrong = http_head_validate(head, HTTP_REQUEST);
	http_head_free(head);
	if (!wrong)
		return true;
	return refuse(text, size, "-H '%.*s' cannot be sent: %s", SLICE_ARG(h->name), wrong);
}

static bool check_header(struct fetch_request *r, struct http_head_pool *heads,
    const struct tool_field *h, char *text, size_t size)
{
	if (slice_equal(h->name, SLICE("host")))
		return set_host(r, h->value, text, size);
	if (slice_equal(h->name, SLICE("content-length")))
		return check_length(r, h->value, text, size);
	return check_name(r, h->name, text, size) && check_field(heads, h, text, size);
}

static bool check_method(const char *method, char *text, size_t size)
{
	if (strcmp(method, "CONNECT") == 0)
		return refuse(text, size, "-X CONNECT: fetch opens no tunnels");
	if (!ascii_is_token(slice_of_string(method)))
		return refuse(
		    text, size, "-X '%s' is not a method: write one word, such as GET", method);
	return true;
}

bool fetch_check(struct fetch_request *r, char *text, size_t size)
{
	struct http_head_pool *heads = http_head_pool_new(1);
	bool is_good = check_method(r->method, text, size);
	size_t kept = 0;
	for (size_t i = 0; i < r->headers.count && is_good; i++) {
		const struct tool_field h = r->headers.list[i];
		is_good = check_header(r, heads, &h, text, size);
		/* Made by fetch itself: :authority and the body's length. */
		if (!slice_equal(h.name, SLICE("host")) &&
		    !slice_equal(h.name, SLICE("content-length")))
			r->headers.list[kept++] = h;
	}
	r->headers.count = kept;
	http_head_pool_free(heads);
	return is_good;
}
