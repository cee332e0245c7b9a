/* SPDX-License-Identifier: MIT */
/*
 * What the files of `pushgate fetch` share: the request, what came of it, and who does what.
 * Private to tool/.
 */
#ifndef PUSHGATE_TOOL_FETCH_H
#define PUSHGATE_TOOL_FETCH_H

#include "proxy/base/clock.h"
#include "proxy/base/slice.h"
#include <stdio.h>

struct fetch_header {
	struct slice name, value; /* name in lower case */
};

#define FETCH_HEADERS_MAX 64

struct fetch_request {
	const char *url;
	bool is_https;
	struct slice authority, path;
	char *host; /* owned; without brackets */
	uint16_t port;
	const char *method;
	struct fetch_header headers[FETCH_HEADERS_MAX];
	size_t header_count;
	bool has_body;
	struct slice body;
	char *body_file; /* owned: what `body` points at when it came from a file */
	bool no_push, insecure, trace;
	const char *cacert, *output;
	char *connect_host; /* owned; NULL = host */
	uint16_t connect_port;
	usec max_time; /* 0 = none */
	char *text;    /* owned: lower-cased names and the path */
};

/* Exit statuses, close to curl's. */
enum {
	FETCH_OK = 0,
	FETCH_USAGE = 2,
	FETCH_RESOLVE = 6,
	FETCH_CONNECT = 7,
	FETCH_STATUS = 22, /* the response is complete and neither 2xx nor 3xx */
	FETCH_WRITE = 23,
	FETCH_TIMEOUT = 28,
	FETCH_TLS = 60,
	FETCH_PROTOCOL = 92, /* the exchange failed in HTTP/2 */
};

/* Reads options. FETCH_OK, or the status to end with (-1: help was printed). */
int fetch_parse(struct fetch_request *r, int argc, char **argv);
/* NULL when fine, else what is wrong with the URL. */
const char *fetch_parse_url(struct fetch_request *r, const char *url);
void fetch_request_fini(struct fetch_request *r);

enum fetch_state {
	FETCH_PROMISED, /* a promise without a response yet; for the main one: sent */
	FETCH_RECEIVING,
	FETCH_COMPLETE,
	FETCH_RESET,   /* by the server, or by us for a fault of its */
	FETCH_REFUSED, /* a promise that we did not accept */
	FETCH_LOST,    /* the connection ended first */
};

#define FETCH_INTERIMS_MAX 8

/* The response, or one push. */
struct fetch_item {
	uint32_t id;
	enum fetch_state state;
	uint16_t status;
	char *path;                     /* owned, fit for a terminal */
	usec promised, first_byte, end; /* since the request; the main one's promised is 0 */
	uint64_t bytes;
	const char *why; /* a code's name or words, borrowed constants; NULL = none */
	struct {
		uint16_t status;
		usec at;
		char *link; /* owned; NULL = none */
	} interims[FETCH_INTERIMS_MAX];
	uint32_t interim_count;
};

struct fetch_result {
	/* The first one is the response itself, the others in the order of their promises. */
	struct fetch_item *items;
	size_t count;
	usec total;
	char protocol[32]; /* "h2, TLSv1.3" */
	char error[512];   /* in words; "" = none */
	int exit_status;
};

/* Does it all; the result is complete whatever happened. */
void fetch_run(const struct fetch_request *r, struct fetch_result *result);
void fetch_result_fini(struct fetch_result *result);

/* The waterfall, `width` columns wide. */
void fetch_show(
    const struct fetch_request *r, const struct fetch_result *result, size_t width, FILE *out);

#endif
