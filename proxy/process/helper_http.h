/* SPDX-License-Identifier: MIT */
/*
 * One request of a helper to a server outside, over HTTP/1.1: a connection of its own, with the sessions of the data
 * plane. And the addresses of that server, which may have a name (helper_names.c).
 */
#ifndef PUSHGATE_PROCESS_HELPER_HTTP_H
#define PUSHGATE_PROCESS_HELPER_HTTP_H

#include "proxy/names/names.h"
#include "proxy/protocols/protocols.h"

struct helper_http_request {
	const char *method; /* a constant: GET, HEAD or POST */
	const char *authority, *path;
	const char *content_type; /* of a POST */
	struct slice body;
	struct net_tls *tls;  /* NULL: cleartext */
	const char *tls_name; /* of the certificate */
};

struct helper_http_result {
	unsigned status; /* 0: no response came, and `why` says it */
	const char *why;
	bool was_sent;                /* else the server has not seen the request */
	uint32_t retry_after;         /* seconds, as the response says; 0: it does not */
	const struct http_head *head; /* of the response */
	struct slice body;
};

struct helper_http {
	struct net_loop *loop; /* borrowed, as all that the owner sets: up to the limit */
	size_t
	    body_most; /* of a response; 0: its head is enough, and the connection is closed then */
	/* All of the result is lent until it returns; another request may be begun in it. */
	void (*done)(void *context, const struct helper_http_result *r);
	void *context;
	usec limit;                   /* how long a request may take, from the connect on */
	struct http_head_pool *heads; /* owned, from here on */
	struct session_plan *plans;
	struct session_env env;
	struct budget budget;
	struct net_conn *net; /* NULL: none is under way */
	struct session *session;
	struct helper_http_request request; /* borrowed; its body: what has not left yet */
	struct net_timer timer;
	struct helper_http_result result;
	struct http_head *head; /* of the response; NULL: none yet */
	char *body;
	size_t body_length;
	char why[128];
	bool is_sent, is_done;
};

void helper_http_init(struct helper_http *c);
void helper_http_fini(struct helper_http *c);
/* None is under way. The request's texts are lent until `done`. */
void helper_http_begin(
    struct helper_http *c, const struct net_address *to, const struct helper_http_request *r);
/* Ends it without calling `done`. */
void helper_http_abort(struct helper_http *c);

/* ---- the server's addresses (helper_names.c) ---- */

#define HELPER_ADDRESSES 8u

struct files_text;

struct helper_names {
	struct names *names; /* owned; NULL: the server has an address */
	struct name_watch *watch;
	struct files_text *texts; /* the hosts file and resolv.conf */
	struct net_timer timer;   /* looks whether they have changed */
	const struct conf *conf;
	const struct conf_origin_server *server;
	struct net_address addresses[HELPER_ADDRESSES];
	uint32_t count, next;
	const char *error; /* why there are none */
	/* The addresses are known, or have changed; NULL: no one is told. */
	void (*changed)(void *context);
	void *context;
};

/* Before the sandbox closes. False with a message. */
bool helper_names_open(struct helper_names *n, struct net_loop *loop, const struct conf *conf,
    const struct conf_origin_server *server, char *error, size_t error_size);
void helper_names_close(struct helper_names *n);
/* In the sandbox. */
void helper_names_begin(struct helper_names *n);
/* The address to use now; NULL: none is known. */
const struct net_address *helper_names_current(const struct helper_names *n);
/* The one after that is used from now on. */
void helper_names_next(struct helper_names *n);

#endif
