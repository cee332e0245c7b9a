/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of `pushgate explain`. The verdicts come from the data plane's own relay,
 * policy and facts; only the client and the origin are simulated. Private to tool/.
 */
#ifndef PUSHGATE_TOOL_EXPLAIN_H
#define PUSHGATE_TOOL_EXPLAIN_H

#include "policy/diary.h"
#include "proxy/hold/hold.h"
#include "proxy/offer/offer.h"
#include "proxy/route/route.h"
#include "proxy/tool/tool_options.h"
#include <stdio.h>

/* ---- a simulated request (explain_scene.c) ---- */

/* One offer and its verdict. All pointers are lent for the call. */
struct explain_offer {
	const struct policy_offer *offer; /* its facts; complete if was_decided */
	struct policy_verdict verdict;
	/*
	 * "does not come", "is not read": the gateway will not see this offer, and the verdict is
	 * why. NULL: it will.
	 */
	const char *absence;
	bool was_decided;  /* by the policy; false: refused before, such as a link with nopush */
	struct slice hint; /* the Link value that the client gets, or empty */
};

/* Who asks. References; NULL: nobody, none. */
struct explain_visitor {
	struct exchange_user *user;
	struct client_certificate *certificate;
};

struct explain_scene {
	/* Set by the caller. */
	const struct conf *conf;
	const struct conf_listen *listen; /* NULL: no section matches */
	struct client_facts client;
	struct address peer; /* of the connection; a field of it may name another client */
	const struct manifests *manifests; /* NULL: no manifests */
	/* Lets the caller change the facts before the decision; may be NULL. */
	void (*correct)(void *context, struct policy_offer *offer);
	/* Called with each verdict. */
	void (*decided)(void *context, const struct explain_offer *offer);
	void *context;
	FILE *
	    access; /* where the decision of [access NAME] is told; NULL: the request is not judged */
	const struct router_tables *tables; /* of conf; NULL: the scene makes its own */
	/* For the caller to read: the request goes to the origin with ENABLE_PUSH=1; the gateway does
	 * not read the links of the final response, since it drops all of them in any case. */
	bool wants_pushes, ignores_links;
	/* For the caller's own calls of the relay: NULL before the first request, and the pool of its heads. */
	struct exchange *x;
	struct relay relay;
	struct http_head_pool *heads;
	/* Private. */
	struct explain_visitor who;
	struct router *router, *forward_router;
	struct route_env routes;
	struct offer_env base;
	struct hold hold;
	struct hold_store held;
	struct policy_diary diary; /* only what this request brought */
	struct budget budget;
	struct chunk_pool *chunks;
	struct policy_offer *deciding; /* the facts of the offer that is being decided */
};

/* Call after the caller's members have been set. */
void explain_scene_init(struct explain_scene *s);
void explain_scene_fini(struct explain_scene *s);
/* The user of the requests that follow; empty or NULL: nobody. */
void explain_set_user(struct explain_scene *s, const char *name);
/* The certificate that the client of the requests that follow shows where it is asked for one. Takes the reference; NULL:
 * none. */
void explain_set_certificate(struct explain_scene *s, struct client_certificate *certificate);

/*
 * The client sends a request (takes the validated head). NULL: it has a route, and s->x is its
 * exchange. Otherwise the reason why the gateway answers it itself.
 */
const struct relay_cause *explain_ask(
    struct explain_scene *s, struct http_head *request, const char **detail);
/* Sends the request to the origin, after the offers that come with it, and the hints that need not wait. */
void explain_dispatch(struct explain_scene *s);
/* The origin sends a promise (takes the validated head). */
void explain_promise(struct explain_scene *s, struct http_head *promised);
/* Ends all exchanges and drops all held responses, as if the client had opened a new connection. */
void explain_end(struct explain_scene *s);

/* ---- the command line (explain_options.c) ---- */

enum { EXPLAIN_PROMISES_MAX = 256, EXPLAIN_CERTS_MAX = 16 };

enum explain_kind { EXPLAIN_PUSH, EXPLAIN_CHROME, EXPLAIN_CURL, EXPLAIN_HTTP1 };

/* Of a worker that explains what it would do itself: it opens no file and asks no other process. Borrowed. */
struct explain_served {
	const struct router_tables *tables;
	const struct manifests *manifests;
	const struct remembered *remembered; /* NULL: nothing remembers */
};

struct explain_options {
	const struct explain_served *served; /* NULL: the command runs, and reads what it needs */
	const char *conf, *url, *log, *listen, *user;
	enum explain_kind kind;
	struct address address;
	bool has_kind, has_address; /* --client named one */
	usec rtt_usec;
	struct tool_fields fields, response_fields;
	const char *promises[EXPLAIN_PROMISES_MAX];
	size_t promise_count;
	const char *certs[EXPLAIN_CERTS_MAX]; /* files and names */
	size_t cert_count;
	uint16_t status;
};

enum { EXPLAIN_OK = 0, EXPLAIN_DIFFERS = 1, EXPLAIN_USAGE = 2 };

/* RFC 5737 3: an address reserved for documentation. */
#define EXPLAIN_ADDRESS SLICE("192.0.2.1")
/* A kind or an address, each once. NULL, or what to write instead. */
const char *explain_set_client(struct explain_options *o, const char *text);
/* EXPLAIN_OK, or as command_parse. Changes the words of argv. */
int explain_parse(struct explain_options *o, int argc, char **argv);

/* ---- output ---- */

/* explain_request.c, explain_log.c. Both return the exit status. */
int explain_url(const struct explain_options *o, const struct conf *conf, FILE *out, FILE *errors);
int explain_log(const struct conf *conf, FILE *log, FILE *out, FILE *errors);
/* explain_access.c: the cause with which the request is denied; NULL: it is not, or the listener has no rules. */
const struct relay_cause *explain_access(FILE *out, struct exchange *x, const char **detail);
/* explain_reach.c: the cause with which an address of the destination is refused in forward mode; after it has a route.
 * NULL: none is, or none is known. */
const struct relay_cause *explain_reach(
    FILE *out, const struct conf *conf, struct exchange *x, const char **detail);
/* The upstream proxy that the request goes through, if there is one; after it has a route. */
void explain_upstream_proxy(FILE *out, struct exchange *x);
/*
 * explain_certificate.c: the certificate that the options describe, with one reference, or NULL. *wrong: the word of them
 * that is wrong, and *why; NULL: none.
 */
struct client_certificate *explain_certificate(
    const struct explain_options *o, const char **wrong, const char **why);
/* A NAME of a certificate as the option --cert has it, and no file. */
bool explain_is_cert_name(const char *text);
/* The listener's certificates, and what it asks clients for; NULL: it has none, or errors tells why they are unreadable. */
struct net_tls *explain_tls(const struct conf *conf, const struct conf_listen *l, FILE *errors);
/* The line client-ca by which the listener asks this client for a certificate; NULL: it does not ask. */
const struct net_client_ca *explain_client_ca(
    const struct conf_listen *l, const struct http_head *request);
/* What the listener asks of this client. False: its handshake fails. tls: of the listener, with its lines client-ca;
 * NULL: no file is verified. */
bool explain_handshake(FILE *out, const struct explain_scene *s, const struct explain_options *o,
    const struct net_tls *tls, const struct http_head *request);
/* "HOST:PORT" of "CONNECT HOST:PORT"; empty: it is a URL. */
struct slice explain_connect(const char *text);
/* A CONNECT that has a route. */
void explain_tunnel(FILE *out, struct exchange *x);
/* explain_fields.c: what the route writes into fields; after the request has a route */
void explain_fields(FILE *out, struct exchange *x);
/* explain_remembered.c: what is remembered of the page. served: NULL: the command runs */
void explain_remembered(
    FILE *out, const struct explain_scene *s, const struct explain_served *served);
/* explain_show.c */
void explain_show(
    FILE *out, unsigned number, const struct policy_rules *rules, const struct explain_offer *e);
/* explain_words.c: a version that the listener does not speak (false: it does); an interim response that
 * the client does not get; an origin that is asked without pushes; an answer of our own */
bool explain_unspoken(FILE *out, const struct conf_listen *listen, enum http_version version);
void explain_interim(FILE *out, const struct explain_scene *s, uint16_t status);
void explain_arm(FILE *out, const struct exchange *x);    /* after the gateway's own offers */
bool explain_is_without_pushes(const struct exchange *x); /* by its protocol */
void explain_no_pushes(FILE *out, const struct exchange *x, bool has_promises);
void explain_refusal(
    FILE *out, const struct exchange *x, const struct relay_cause *cause, const char *detail);
/*
 * Prints text with '?' for each byte that is not printable ASCII, so that it cannot control the
 * terminal.
 */
void explain_print(FILE *out, struct slice text);
void explain_print_string(FILE *out, const char *text);

#endif
