/* SPDX-License-Identifier: MIT */
/* Reads the options and the URL of `pushgate fetch` (RFC 3986 3; http and https only). */
#include "proxy/base/memory.h"
#include "proxy/http/authority.h"
#include "proxy/http/token.h"
#include "proxy/tool/fetch.h"
#include "proxy/tool/tool.h"
#include <errno.h>

#define BODY_BYTES_MAX (64u << 20)

/* Of the rest of a string. */
static struct slice part_until(struct slice s, const char *stops)
{
	return slice_sub(s, 0, strcspn(s.ptr, stops));
}

static char *host_without_brackets(struct slice host)
{
	if (host.len > 2 && host.ptr[0] == '[')
		host = slice_sub(host, 1, host.len - 2);
	char *copy = memory_alloc(host.len + 1);
	memcpy(copy, host.ptr, host.len);
	copy[host.len] = '\0';
	return copy;
}

static bool is_printable(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((unsigned char)s.ptr[i] <= ' ' || (unsigned char)s.ptr[i] >= 0x7f)
			return false;
	return true;
}

const char *fetch_parse_url(struct fetch_request *r, const char *url)
{
	struct slice rest = slice_of_string(url);
	struct slice scheme = part_until(rest, ":");
	r->url = url;
	r->is_https = slice_equal_nocase(scheme, SLICE("https"));
	if (!r->is_https && !slice_equal_nocase(scheme, SLICE("http")))
		return "the URL must begin with http:// or https://";
	rest = slice_from(rest, scheme.len);
	if (!slice_starts_with(rest, SLICE("://")))
		return "the URL must begin with http:// or https://";
	if (!is_printable(rest))
		return "the URL has a byte that must be percent-encoded";
	rest = slice_from(rest, 3);
	r->authority = part_until(rest, "/?#");
	struct http_authority authority;
	struct slice name = r->is_https ? SLICE("https") : SLICE("http");
	if (r->authority.len == 0)
		return "the URL has no host";
	if (slice_find(r->authority, '@') < r->authority.len)
		return "the URL has a user name; credentials go into -H 'authorization: …'";
	if (!http_authority_parse(r->authority, name, &authority))
		return "the URL's host or port is malformed";
	r->host = host_without_brackets(authority.host);
	r->port = authority.port;
	struct slice path = part_until(slice_from(rest, r->authority.len), "#");
	if (path.len > 0 && path.ptr[0] == '/') {
		r->path = path;
		return NULL;
	}
	/* "http://host" and "http://host?query". */
	r->text = memory_alloc(path.len + 1);
	r->text[0] = '/';
	memcpy(r->text + 1, path.ptr, path.len);
	r->path = slice_of(r->text, path.len + 1);
	return NULL;
}

static const char *read_body(void *into, char *text)
{
	struct fetch_request *r = into;
	r->has_body = true;
	r->body = slice_of_string(text);
	if (text[0] != '@')
		return NULL;
	FILE *f = strcmp(text, "@-") == 0 ? stdin : fopen(text + 1, "rb");
	if (!f)
		return strerror(errno);
	size_t size = 0, capacity = 65536;
	r->body_file = memory_resize(r->body_file, capacity, 1);
	for (size_t n; (n = fread(r->body_file + size, 1, capacity - size, f)) > 0;) {
		size += n;
		if (size == capacity && capacity < BODY_BYTES_MAX)
			r->body_file = memory_resize(r->body_file, capacity *= 2, 1);
	}
	bool is_whole = feof(f) && !ferror(f);
	if (f != stdin)
		fclose(f);
	r->body = slice_of(r->body_file, size);
	return is_whole ? NULL : "the body is too large or cannot be read";
}

static const char *set_max_time(void *into, char *text)
{
	struct fetch_request *r = into;
	double seconds;
	if (!tool_read_number(text, &seconds))
		return "write seconds, more than 0 and at most 1000000";
	r->max_time = (usec)(seconds * 1e6) + 1;
	return NULL;
}

static const char *set_connect(void *into, char *text)
{
	struct fetch_request *r = into;
	struct http_authority a;
	if (!http_authority_parse(slice_of_string(text), SLICE(""), &a) || !a.port_given)
		return "write HOST:PORT";
	free(r->connect_host);
	r->connect_host = host_without_brackets(a.host);
	r->connect_port = a.port;
	return NULL;
}

static const char *set_proxy(void *into, char *text)
{
	struct fetch_request *r = into;
	struct fetch_request proxy = {.url = NULL};
	const char *wrong = fetch_parse_url(&proxy, text);
	if (!wrong && !slice_equal(proxy.path, SLICE("/")))
		wrong = "write http://HOST:PORT or https://HOST:PORT";
	if (!wrong) {
		free(r->connect_host);
		r->connect_host = proxy.host;
		r->connect_port = proxy.port;
		r->has_proxy = true;
		r->proxy_is_https = proxy.is_https;
		proxy.host = NULL;
	}
	fetch_request_fini(&proxy);
	return wrong;
}

static const char *set_url(void *into, char *text)
{
	return fetch_parse_url(into, text);
}

#define AT(member) offsetof(struct fetch_request, member)
static const struct command_option options[] = {
    {.name = "http1.1",
	.at = AT(http1),
	.sentence = "use HTTP/1.1, with TLS (ALPN http/1.1) or without; it has no pushes"},
    {.name = "no-push", .at = AT(no_push), .sentence = "announce ENABLE_PUSH=0"},
    {.letter = 'k',
	.name = "insecure",
	.at = AT(insecure),
	.sentence = "do not verify the server's certificate"},
    {.name = "cacert",
	FILE_NAME(cacert),
	.sentence = "trust these certificates (PEM) instead of the system's"},
    {.letter = 'H',
	.name = "header",
	SET_EACH("'N: VALUE'", tool_add_field),
	.at = AT(headers),
	.sentence = "add a field; may be repeated"},
    {.letter = 'X',
	.name = "request",
	TEXT("METHOD", method),
	.sentence = "use METHOD (default: GET, or POST with -d)"},
    {.letter = 'd',
	.name = "data",
	.value = "DATA",
	.rules = COMMAND_MAY_BE_EMPTY,
	.set = read_body,
	.sentence = "send a body; @FILE: the contents of FILE (@-: standard input)"},
    {.letter = 'o',
	.name = "output",
	FILE_NAME(output),
	.sentence = "write the response's body to FILE (-: standard output)"},
    {.name = "compare",
	.at = AT(compare),
	.sentence = "get the page twice, the second time without pushes: what was pushed is "
		    "requested as the page names it"},
    {.name = "json",
	.at = AT(json),
	.sentence = "print the table as JSON; times are in microseconds"},
    {.name = "trace",
	.at = AT(trace),
	.sentence = "print each frame, or each head of HTTP/1.1, on a line of standard error"},
    {.name = "max-time", SET("SECONDS", set_max_time), .sentence = "give up after this time"},
    {.name = "connect",
	SET("HOST:PORT", set_connect),
	.sentence = "connect to this address instead of the URL's"},
    {.name = "proxy",
	SET("URL", set_proxy),
	.sentence = "ask this forward proxy, http://HOST:PORT (h2c) or https://HOST:PORT (h2), "
		    "without a tunnel, so that it sees the pushes"},
    {.value = "URL",
	.rules = COMMAND_REQUIRED,
	.set = set_url,
	.sentence = "http (h2c; --http1.1: HTTP/1.1) or https (h2 or HTTP/1.1, by ALPN)"},
};

const struct command tool_fetch_command = {
    .name = "fetch",
    .sentence = "get a URL and show what was pushed with it",
    .text = "Gets a URL and shows when the response and its pushes arrived.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .statuses =
	"0 means a complete 2xx or 3xx response. The others are like curl's: 6 unknown host, 7 "
	"cannot connect, 22 another status, 23 cannot write, 28 timeout, 60 TLS error, 92 HTTP "
	"error.",
    .run = tool_fetch,
};

int fetch_parse(struct fetch_request *r, int argc, char **argv)
{
	*r = (struct fetch_request){.url = NULL};
	int status = command_parse(&tool_fetch_command, argc, argv, r);
	if (status == COMMAND_PARSED && r->compare &&
	    (r->http1 || r->no_push || r->has_body || r->method || r->output))
		return command_usage_error(&tool_fetch_command,
		    "--compare gets a page twice, with pushes and without: not with --http1.1, "
		    "--no-push, -d, -X or -o");
	if (status == COMMAND_PARSED && r->has_proxy && r->http1)
		return command_usage_error(&tool_fetch_command,
		    "--proxy asks over HTTP/2: not with --http1.1 (curl -x does that)");
	if (!r->method)
		r->method = r->has_body ? "POST" : "GET";
	return status;
}

void fetch_request_fini(struct fetch_request *r)
{
	free(r->host);
	free(r->connect_host);
	free(r->body_file);
	free(r->text);
}
