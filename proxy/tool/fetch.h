/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of `pushgate fetch`: the request, the result, and the functions of each file.
 * Private to tool/.
 */
#ifndef PUSHGATE_TOOL_FETCH_H
#define PUSHGATE_TOOL_FETCH_H

#include "proxy/base/clock.h"
#include "proxy/base/slice.h"
#include "proxy/tool/tool_options.h"
#include <stdio.h>

struct fetch_request {
	const char *url;
	bool is_https;
	struct slice authority, path;
	char *host; /* owned; without brackets */
	uint16_t port;
	const char *method;
	struct tool_fields headers;
	bool has_host; /* -H host has set the authority */
	bool has_body;
	struct slice body;
	char *body_file; /* owned: the memory of `body` if it came from a file */
	bool no_push, http1, insecure, trace, json, compare;
	/* Paths to get with the page, lent: see fetch_get_asset. */
	const char *const *assets;
	size_t asset_count;
	const char *cacert, *output;
	char *connect_host; /* owned; NULL = host */
	uint16_t connect_port;
	/* That is a forward proxy: it is spoken to, and its certificate is verified, instead of the URL's. */
	bool has_proxy, proxy_is_https;
	usec max_time; /* 0 = none */
	char *text;    /* owned: the path, if the URL has none */
};

/* Exit statuses, close to curl's. */
enum {
	FETCH_OK = 0,
	FETCH_USAGE = 2,
	FETCH_RESOLVE = 6,
	FETCH_CONNECT = 7,
	FETCH_STATUS = 22, /* the response is complete, but neither 2xx nor 3xx */
	FETCH_WRITE = 23,
	FETCH_TIMEOUT = 28,
	FETCH_TLS = 60,
	FETCH_PROTOCOL = 92, /* the exchange failed in HTTP */
};

/* Reads the arguments. FETCH_OK, or as command_parse. */
int fetch_parse(struct fetch_request *r, int argc, char **argv);
/* NULL on success, else what is wrong with the URL. */
const char *fetch_parse_url(struct fetch_request *r, const char *url);
/* Takes -H host as the authority. False: the request cannot be sent, and `text` says why. */
bool fetch_check(struct fetch_request *r, char *text, size_t size);
void fetch_request_fini(struct fetch_request *r);

enum fetch_state {
	FETCH_STARTED, /* requested or promised, no response yet */
	FETCH_RECEIVING,
	FETCH_COMPLETE,
	FETCH_RESET,   /* by the server, or by fetch after a fault of the server */
	FETCH_REFUSED, /* a promise that fetch did not accept */
	FETCH_LOST,    /* the connection ended first */
};
/* "complete", "reset", "refused" or "lost". A response that had not ended when fetch gave up is lost. */
const char *fetch_state_name(enum fetch_state state);

#define FETCH_INTERIMS_MAX 8

/* The response to the request, one push, or the response to a request for one of the assets. */
struct fetch_item {
	uint32_t id; /* of the stream; in HTTP/1.1 a request's number on the connection */
	bool is_push;
	enum fetch_state state;
	uint16_t status;
	char *path; /* owned, printable ASCII */
	/* Since the first request: when this one was sent or promised, and so on. */
	usec start, first_byte, end;
	uint64_t bytes;
	const char *why; /* a code's name or a text, constant; NULL = none */
	struct {
		uint16_t status;
		usec at;
		char *link; /* owned; NULL = none */
	} interims[FETCH_INTERIMS_MAX];
	uint32_t interim_count;
};

struct fetch_result {
	/*
	 * The first is the response to the request; the others are pushes and assets, in the order
	 * of their promises and requests.
	 */
	struct fetch_item *items;
	size_t count;
	usec total;
	char protocol[32];  /* "h2, TLSv1.3" */
	bool has_no_pushes; /* the version in use has none */
	char error[512];    /* message; "" = none */
	int exit_status;
};

/* Sends the request and receives everything. Fills the whole result, on errors too. */
void fetch_run(const struct fetch_request *r, struct fetch_result *result);
void fetch_result_fini(struct fetch_result *result);

/* Prints the waterfall table, `width` columns wide. `span`: what the time axis spans at least. */
void fetch_show(const struct fetch_request *r, const struct fetch_result *result, usec span,
    size_t width, FILE *out);
/* One JSON object for each result; `runs` of them (one, or two of --compare). */
void fetch_show_json(
    const struct fetch_request *r, const struct fetch_result *results, size_t runs, FILE *out);

/*
 * --compare: gets the page with pushes, then without, where it requests what was pushed. Fills both
 * results and returns how many runs there were: 1 if the first one failed or nothing was pushed.
 */
size_t fetch_compare(const struct fetch_request *r, struct fetch_result results[2]);
/* Prints both tables and what the pushes gained. */
void fetch_show_comparison(const struct fetch_request *r, const struct fetch_result *results,
    size_t runs, size_t width, FILE *out);

#endif
