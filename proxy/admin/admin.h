/* SPDX-License-Identifier: MIT */
/*
 * The pages of listeners with mode = admin, in one worker. Here are the rules for clients that may ask (visitor.c), the
 * table of pages (pages.c), and answers whose bytes are made while they are sent (struct admin_producer). These listeners
 * have no routes, and no other listener serves the pages.
 *
 * A page is a row of the table in pages.c, and a function that fills in the answer. A long or endless body comes from a
 * producer: the answer is then an exchange whose upstream leg is that producer (output.c).
 */
#ifndef PUSHGATE_ADMIN_ADMIN_H
#define PUSHGATE_ADMIN_ADMIN_H

#include "proxy/admin/ledger.h"
#include "proxy/admin/status.h"
#include "proxy/http/via.h"
#include "proxy/worker_env.h"

struct admin;
struct waterfall;

/* What a visitor wants explained: as struct tool_question, which the room above has. */
struct admin_question {
	const char *url, *promise, *client, *address, *cert; /* "": not given */
};

/* What the pages need of the data plane. Everything is borrowed. */
struct admin_env {
	struct worker_env *worker;
	struct readiness *readiness;         /* NULL: this worker has one of its own */
	const struct ledger_view *view;      /* NULL: this worker sees itself alone */
	struct connection_lane *connections; /* a lane of each worker; NULL: there are none */
	uint32_t connection_lanes;
	const struct waterfall *pages; /* page records of all workers; NULL: none are made */
	/* Whether the host of a request to an admin listener is a name of ours: of a route, or of the listener's
	 * certificate. */
	bool (*has_host)(void *context, const struct exchange *x, struct slice host);
	/* Whether this worker accepts clients. */
	bool (*accepts)(void *context);
	/* Prints what would be decided, and why. Returns NULL, or what is wrong with the question. May be NULL itself: no
	 * question is answered. */
	const char *(*explain)(void *context, const struct admin_question *q, FILE *out);
	void *context;
};

struct admin *admin_new(const struct admin_env *env);
void admin_free(struct admin *a); /* after all exchanges */

/* Answers a request to an admin listener, or refuses it. */
void admin_request(struct admin *a, struct exchange *x);
/* Of relay_ops: the answer to x, whose listener is an admin listener, is about to be made. */
void admin_own_answer(struct admin *a, struct exchange *x, struct http_own_answer *answer);

/* Call it once in each loop pass, before connections are written: makes the next bytes of outputs. */
void admin_run(struct admin *a);
/* When the next loop pass must run even without an event; USEC_NEVER: no producer has anything to say. */
usec admin_due(const struct admin *a);
/* The worker drains: endless answers end now, so that their clients connect to another worker. */
void admin_drain(struct admin *a);

/* ---- for pages ---- */

/* A request for a page. Everything is borrowed until the function of the page returns. */
struct admin_request {
	struct admin *admin;
	struct exchange *exchange;
	struct slice below; /* of a page that is_folder: the path behind its own */
	struct slice query; /* without the "?"; as sent */
	/* To be filled in. It begins as 200, text/plain, without a body; it is never stored by caches, and no other site
	 * can read it. details: why it fails, for a client and the log. */
	struct http_own_answer *answer;
};

/* The answer is 503, and the client may come back in a second. why: a constant. */
void admin_put_off(struct admin_request *r, const char *why);

/* How a producer goes on. */
enum admin_step {
	ADMIN_GOES_ON, /* there is more: it is asked again when the client has taken what is there */
	ADMIN_SLEEPS,  /* there is nothing more until admin_output_wake, or admin_output_wake_at */
	ADMIN_ENDS,    /* this was the end */
	ADMIN_FAILS,   /* the answer is cut off: its client sees that it is not whole */
};

/* A producer should write no more than this at a time, and take no longer than a millisecond. */
#define ADMIN_STEP_BYTES 16384u

struct admin_output;

/* Makes the body of one answer. It may not end an exchange, nor free its output. Its context has LIMIT_ADMIN_CONTEXT_BYTES
 * at most; a producer that keeps more charges the rest to the worker's budget by itself. */
struct admin_producer {
	/* Writes the next bytes of the body. Called once in a loop pass at most, and only while the client takes them. */
	enum admin_step (*produce)(void *context, struct admin_output *output, FILE *out);
	/* The answer is complete, or its client has left. Frees context. */
	void (*free)(void *context);
	/* Its body has no end of its own: it ends when the worker drains. It should say something now and then: that a
	 * client of HTTP/1.1 has left shows when it is written to. */
	bool is_endless;
};

/*
 * The body of the answer comes from this producer, which the output borrows; takes context, and frees it at once if the
 * request is one of HEAD. False: there are LIMIT_ADMIN_OUTPUTS or LIMIT_ADMIN_ENDLESS_OUTPUTS already, or memory is short;
 * context is freed, and the answer is 503.
 */
bool admin_answer_with(
    struct admin_request *r, const struct admin_producer *producer, void *context);
/* Asks a producer that sleeps again, soon or at that time (of the loop's clock). */
void admin_output_wake(struct admin_output *o);
void admin_output_wake_at(struct admin_output *o, usec at);

#endif
