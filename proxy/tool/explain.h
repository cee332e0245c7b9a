/* SPDX-License-Identifier: MIT */
/*
 * What the files of `pushgate explain` share. The verdicts come from the relay, the policy and the
 * facts that the data plane uses, with a client and an origin that are only said to be there.
 * Private to tool/.
 */
#ifndef PUSHGATE_TOOL_EXPLAIN_H
#define PUSHGATE_TOOL_EXPLAIN_H

#include "policy/diary.h"
#include "proxy/offer/offer.h"
#include <stdio.h>

/* ---- a request that is only thought of (explain_scene.c) ---- */

/* One offer and its verdict. Everything is lent for the call. */
struct explain_offer {
	const struct policy_offer *offer; /* its facts, complete where `was_decided` */
	struct policy_verdict verdict;
	bool was_decided;  /* by the policy; else it was refused before: a link that is no offer */
	struct slice hint; /* the Link value that the client gets, else empty */
};

struct explain_scene {
	/* The caller's. */
	const struct conf *conf;
	const struct conf_listen *listen; /* NULL: none fits */
	struct client_facts client;
	const struct manifests *manifests; /* NULL: they offer nothing */
	/* May correct facts that the caller knows better; may be NULL. */
	void (*correct)(void *context, struct policy_offer *offer);
	void (*settled)(void *context, const struct explain_offer *offer);
	void *context;
	/* Yours to read: is the origin asked over a connection with ENABLE_PUSH=1? */
	bool wants_pushes;
	/* Private. */
	struct router *router;
	struct offer_env base;
	struct relay relay;
	struct hold hold;
	struct hold_store held;
	struct policy_diary diary; /* what came with this very request alone */
	struct budget budget;
	struct chunk_pool *chunks, *small;
	struct http_head_pool *heads;
	struct exchange *x;
	struct policy_offer *deciding; /* the facts of the offer under way */
};

/* The caller's members have been set. */
void explain_scene_init(struct explain_scene *s);
void explain_scene_fini(struct explain_scene *s);
struct http_head *explain_head(struct explain_scene *s); /* empty, yours */

/* The client asks (takes the validated head). NULL: it has a route, and s->x is its exchange; else
 * why it is answered here. */
const struct relay_cause *explain_ask(
    struct explain_scene *s, struct http_head *request, const char **detail);
/* And off it goes, with what is offered with a request or without. */
void explain_dispatch(struct explain_scene *s, bool with_offers);
/* What follows comes later than what was before: hints that need not wait have left. */
void explain_pass(struct explain_scene *s);
/* The origin promises (takes the validated head). */
void explain_promise(struct explain_scene *s, struct http_head *promised);
/* The origin answers (takes the validated head). */
void explain_answer(struct explain_scene *s, struct http_head *response);
/* All that is under way ends, and what was held is forgotten: as good as a new connection. */
void explain_end(struct explain_scene *s);

/* ---- the command line (explain_options.c) ---- */

enum { EXPLAIN_FIELDS_MAX = 64, EXPLAIN_PROMISES_MAX = 256 };

struct explain_field {
	struct slice name, value; /* name in lower case */
};

enum explain_kind { EXPLAIN_PUSH, EXPLAIN_CHROME, EXPLAIN_CURL, EXPLAIN_HTTP1 };

struct explain_options {
	const char *conf, *url, *log, *listen;
	enum explain_kind kind;
	struct address address;
	usec rtt_usec;
	struct explain_field fields[EXPLAIN_FIELDS_MAX], response_fields[EXPLAIN_FIELDS_MAX];
	size_t field_count, response_field_count;
	const char *promises[EXPLAIN_PROMISES_MAX];
	size_t promise_count;
	uint16_t status;
};

enum { EXPLAIN_OK = 0, EXPLAIN_DIFFERS = 1, EXPLAIN_USAGE = 2 };

/* EXPLAIN_OK, or the status to end with (-1: help was printed). Changes the words of argv. */
int explain_parse(struct explain_options *o, int argc, char **argv);

/* ---- what is printed ---- */

/* explain_request.c, explain_log.c: the exit status. */
int explain_url(const struct explain_options *o, const struct conf *conf, FILE *out, FILE *errors);
int explain_log(const struct conf *conf, FILE *log, FILE *out);
/* explain_show.c */
void explain_show(
    FILE *out, unsigned number, const struct policy_rules *rules, const struct explain_offer *e);
/* Bytes that a terminal would obey become '?'. */
void explain_print(FILE *out, struct slice text);

#endif
