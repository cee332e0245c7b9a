/* SPDX-License-Identifier: MIT */
/* Reads the options and the URL of `pushgate fetch` (RFC 3986 3; http and https only). */
#include "proxy/base/ascii.h"
#include "proxy/base/memory.h"
#include "proxy/http/authority.h"
#include "proxy/http/token.h"
#include "proxy/tool/fetch.h"
#include <errno.h>
#include <getopt.h>
#include <math.h>

#define BODY_BYTES_MAX (64u << 20)

static const char help_text[] =
    "usage: pushgate fetch [options] URL\n"
    "\n"
    "Gets an http (h2c) or https (h2) URL over HTTP/2 and shows when the response and its pushes\n"
    "arrived.\n"
    "\n"
    "      --no-push            announce ENABLE_PUSH=0\n"
    "  -k, --insecure           do not verify the server's certificate\n"
    "      --cacert FILE        trust these certificates (PEM) instead of the system's\n"
    "  -H, --header 'N: VALUE'  add a field\n"
    "  -X, --request METHOD     use METHOD (default: GET, or POST with -d)\n"
    "  -d, --data DATA|@FILE    send a body\n"
    "  -o, --output FILE        write the response's body to FILE (-: standard output)\n"
    "      --compare            get the page twice, the second time without pushes: what was "
    "pushed\n"
    "                           is requested as the page names it\n"
    "      --json               print the table as JSON; times are in microseconds\n"
    "      --trace              print each frame on a line of standard error\n"
    "      --max-time SECONDS   give up after this time\n"
    "      --connect HOST:PORT  connect to this address instead of the URL's\n"
    "\n"
    "Exit status: 0 a complete 2xx or 3xx response, 2 wrong arguments, 6 unknown host, 7 cannot\n"
    "connect, 22 another status, 23 cannot write, 28 timeout, 60 TLS error, 92 HTTP/2 error.\n";

static struct slice part_until(struct slice s, const char *stops)
{
	size_t n = 0;
	while (n < s.len && !strchr(stops, s.ptr[n]))
		n++;
	return slice_sub(s, 0, n);
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

static int usage_error(const char *what, const char *word)
{
	fprintf(stderr, "pushgate fetch: %s%s%s; see `pushgate fetch --help`\n", what,
	    word ? " " : "", word ? word : "");
	return FETCH_USAGE;
}

static int add_header(struct fetch_request *r, char *text)
{
	char *colon = strchr(text + (*text == ':'), ':');
	if (!colon || colon == text)
		return usage_error("a header must look like 'Name: value', not", text);
	if (r->header_count == FETCH_HEADERS_MAX)
		return usage_error("too many headers", NULL);
	for (char *p = text; p < colon; p++)
		*p = ascii_lower(*p);
	struct fetch_header *h = &r->headers[r->header_count++];
	h->name = slice_of(text, (size_t)(colon - text));
	h->value = slice_trim(slice_of_string(colon + 1));
	return FETCH_OK;
}

static int read_body(struct fetch_request *r, const char *text)
{
	r->has_body = true;
	r->body = slice_of_string(text);
	if (text[0] != '@')
		return FETCH_OK;
	FILE *f = strcmp(text, "@-") == 0 ? stdin : fopen(text + 1, "rb");
	if (!f) {
		fprintf(stderr, "pushgate fetch: cannot read %s: %s\n", text + 1, strerror(errno));
		return FETCH_USAGE;
	}
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
	return is_whole ? FETCH_OK
			: usage_error("the body is too large or cannot be read:", text + 1);
}

static int set_max_time(struct fetch_request *r, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);
	if (*end || end == text || !isfinite(seconds) || seconds <= 0 || seconds > 1e6)
		return usage_error("--max-time takes seconds, not", text);
	r->max_time = (usec)(seconds * 1e6) + 1;
	return FETCH_OK;
}

static int set_connect(struct fetch_request *r, const char *text)
{
	struct http_authority a;
	if (!http_authority_parse(slice_of_string(text), SLICE(""), &a) || !a.port_given)
		return usage_error("--connect takes HOST:PORT, not", text);
	free(r->connect_host);
	r->connect_host = host_without_brackets(a.host);
	r->connect_port = a.port;
	return FETCH_OK;
}

enum {
	OPTION_NO_PUSH = 256,
	OPTION_COMPARE,
	OPTION_JSON,
	OPTION_CACERT,
	OPTION_TRACE,
	OPTION_MAX_TIME,
	OPTION_CONNECT,
	OPTION_HELP
};

static int set_option(struct fetch_request *r, int option, char **argv)
{
	switch (option) {
	case OPTION_NO_PUSH:
		r->no_push = true;
		return FETCH_OK;
	case OPTION_COMPARE:
		r->compare = true;
		return FETCH_OK;
	case OPTION_JSON:
		r->json = true;
		return FETCH_OK;
	case OPTION_CACERT:
		r->cacert = optarg;
		return FETCH_OK;
	case OPTION_TRACE:
		r->trace = true;
		return FETCH_OK;
	case OPTION_MAX_TIME:
		return set_max_time(r, optarg);
	case OPTION_CONNECT:
		return set_connect(r, optarg);
	case OPTION_HELP:
		fputs(help_text, stdout);
		return -1;
	case 'k':
		r->insecure = true;
		return FETCH_OK;
	case 'H':
		return add_header(r, optarg);
	case 'X':
		r->method = optarg;
		return FETCH_OK;
	case 'd':
		return read_body(r, optarg);
	case 'o':
		r->output = optarg;
		return FETCH_OK;
	case ':':
		return usage_error("a value is missing after", argv[optind - 1]);
	}
	return usage_error("unknown option", argv[optind - 1]);
}

int fetch_parse(struct fetch_request *r, int argc, char **argv)
{
	static const struct option longs[] = {
	    {"no-push", no_argument, NULL, OPTION_NO_PUSH},
	    {"compare", no_argument, NULL, OPTION_COMPARE},
	    {"json", no_argument, NULL, OPTION_JSON},
	    {"insecure", no_argument, NULL, 'k'},
	    {"cacert", required_argument, NULL, OPTION_CACERT},
	    {"header", required_argument, NULL, 'H'},
	    {"request", required_argument, NULL, 'X'},
	    {"data", required_argument, NULL, 'd'},
	    {"output", required_argument, NULL, 'o'},
	    {"trace", no_argument, NULL, OPTION_TRACE},
	    {"max-time", required_argument, NULL, OPTION_MAX_TIME},
	    {"connect", required_argument, NULL, OPTION_CONNECT},
	    {"help", no_argument, NULL, OPTION_HELP},
	    {NULL, 0, NULL, 0},
	};
	*r = (struct fetch_request){.url = NULL};
	opterr = 0;
	optind = 1;
	for (int option; (option = getopt_long(argc, argv, ":kH:X:d:o:", longs, NULL)) != -1;) {
		int status = set_option(r, option, argv);
		if (status != FETCH_OK)
			return status;
	}
	if (optind + 1 != argc)
		return usage_error(optind < argc ? "one URL at a time:" : "a URL is missing",
		    optind < argc ? argv[optind + 1] : NULL);
	const char *wrong = fetch_parse_url(r, argv[optind]);
	if (wrong)
		return usage_error(wrong, NULL);
	if (r->compare && (r->no_push || r->has_body || r->method || r->output))
		return usage_error(
		    "--compare gets a page twice: not with --no-push, -d, -X or -o", NULL);
	if (!r->method)
		r->method = r->has_body ? "POST" : "GET";
	return FETCH_OK;
}

void fetch_request_fini(struct fetch_request *r)
{
	free(r->host);
	free(r->connect_host);
	free(r->body_file);
	free(r->text);
}
