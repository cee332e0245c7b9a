/* SPDX-License-Identifier: MIT */
/*
 * A client of ACME (RFC 8555) and ARI (RFC 9773) without I/O and without a clock: says which request comes next, takes
 * the answer, and says how it went. Its owner sends requests, sets up challenges, waits, and keeps files.
 *
 * A task fetches one certificate, or asks when a certificate should be renewed:
 *
 *             ┌──────────────────── acme_task_waited ────────────────────┐
 *             ↓                                                          │
 *   begin → REQUEST ── acme_task_request, then acme_task_take ──┬──→ WAITING
 *             ↑                                                 ├──→ DONE
 *             └─────────────── the next step ───────────────────┼──→ FAILED
 *                                                               └──→ REQUEST
 *
 * The steps are rows of a table (task.c). The directory, a nonce and the account come before the first step that needs
 * them. An order that fails is given up as a whole; the owner begins another one later. All addresses that an authority
 * names must have the scheme and the authority of its directory.
 */
#ifndef PUSHGATE_ACME_ACME_H
#define PUSHGATE_ACME_ACME_H

#include "proxy/base/clock.h"
#include "proxy/net/net.h"

/* ---- the certificate authority, and our account there ---- */

enum acme_url {
	ACME_URL_NONCE,
	ACME_URL_ACCOUNT,
	ACME_URL_ORDER,
	ACME_URL_RENEWAL, /* NULL: the authority does not say when to renew */
	ACME_URLS
};

struct acme_ca {
	/* Borrowed: the address of the directory, an address of mail or NULL, and the key of the account. */
	const char *directory, *email;
	const struct net_key *key;
	char *urls[ACME_URLS]; /* owned; NULL before the directory was read */
	char *account;         /* owned: its address; NULL: not known yet */
	char *nonce;           /* owned: for the next signed request; NULL: there is none */
};

void acme_ca_init(
    struct acme_ca *ca, const char *directory, const char *email, const struct net_key *key);
void acme_ca_fini(struct acme_ca *ca);

/* ---- signatures (jws.c) ---- */

/* RFC 7638: of a public key; base64url of SHA-256, and a NUL behind it. */
enum { ACME_THUMBPRINT_BYTES = 43 };
void acme_thumbprint(const struct net_key *key, char out[ACME_THUMBPRINT_BYTES + 1]);

struct acme_signing {
	const struct net_key *key;
	const char *account; /* NULL: the signature has the public key instead */
	const char *nonce, *url;
	const char *payload; /* JSON; "" = POST-as-GET (RFC 8555 6.3) */
};
/* RFC 7515 7.2.2, flattened JSON. The text is the caller's to free. */
char *acme_sign(const struct acme_signing *s);

/* ---- tasks (task.c) ---- */

/* Names in one certificate: as many as Let's Encrypt takes. */
enum { ACME_NAMES_MOST = 100 };
/* Of an answer: a chain, or an order for so many names. */
enum { ACME_ANSWER_BYTES = 1 << 17 };
enum { ACME_PROBLEM_BYTES = 400 };

enum acme_state { ACME_REQUEST, ACME_WAITING, ACME_DONE, ACME_FAILED };

enum acme_step {
	ACME_STEP_DIRECTORY,
	ACME_STEP_NONCE,
	ACME_STEP_ACCOUNT,
	ACME_STEP_ORDER,
	ACME_STEP_AUTHORIZATION,
	ACME_STEP_CHALLENGE,
	ACME_STEP_FINALIZATION,
	ACME_STEP_ORDER_STATE,
	ACME_STEP_CERTIFICATE,
	ACME_STEP_WINDOW,
	ACME_STEPS
};

/* Types of challenges (RFC 8555 8.3, RFC 8737). */
#define ACME_CHALLENGE_HTTP "http-01"
#define ACME_CHALLENGE_TLS "tls-alpn-01"

/* The certificate that an order asks for. All pointers are borrowed until acme_task_fini. */
struct acme_wish {
	const char *const *names;
	size_t count; /* 1 to ACME_NAMES_MOST */
	const struct net_key *key;
	const char *challenge; /* its type: one of the two above */
	const char
	    *replaces; /* the identifier of the certificate before (RFC 9773 5); NULL: none */
};

/* When a certificate should be renewed, in seconds since the Unix epoch (RFC 9773 4.2). */
struct acme_window {
	int64_t start, end;
};

/* An order as the authority has told it. Owned texts; NULL: not known yet. */
struct acme_order {
	char *url, *finalize, *certificate;
	char *authorizations[ACME_NAMES_MOST];
	size_t count, current;
	char *challenge;    /* of the current authorization: its address … */
	char *name, *token; /* … and what the owner sets up before ACME_STEP_CHALLENGE */
};

struct acme_task {
	struct acme_ca *ca; /* borrowed */
	enum acme_state state;
	enum acme_step step; /* what is wanted next; other steps may have to come first */
	enum acme_step asked;
	struct acme_wish wish;
	const char *certificate_id; /* ACME_STEP_WINDOW; borrowed */
	struct acme_order order;
	char *chain;               /* DONE: of an order; PEM */
	struct acme_window window; /* DONE: of a window */
	/* WAITING: so long. DONE, FAILED: not to ask again before; 0: the authority does not say. */
	uint32_t wait_seconds;
	unsigned polls;
	unsigned repeats;      /* of requests at once, since an answer brought the task on */
	bool replaces_nothing; /* the authority knows nothing of wish.replaces */
	char *url;             /* of the request that was asked for last, if it was made */
	char problem[ACME_PROBLEM_BYTES]; /* FAILED: why */
};

struct acme_request {
	const char *method;
	const char *url; /* lent until acme_task_take */
	char *body;      /* NULL: none; the caller's to free */
};

struct acme_answer {
	unsigned status; /* 0: none came, and `why` says it */
	const char *why;
	struct slice body, nonce, location;
	uint32_t retry_after; /* seconds; 0: it does not say */
};

void acme_order_begin(struct acme_task *t, struct acme_ca *ca, const struct acme_wish *wish);
/* certificate_id: of acme_certificate_id. It may have failed at once. */
void acme_window_begin(struct acme_task *t, struct acme_ca *ca, const char *certificate_id);
/* The step that the next request is for. state is ACME_REQUEST. */
enum acme_step acme_task_next(const struct acme_task *t);
void acme_task_request(struct acme_task *t, struct acme_request *r);
void acme_task_take(struct acme_task *t, const struct acme_answer *a);
void acme_task_waited(struct acme_task *t);
void acme_task_fini(struct acme_task *t); /* of a task that has begun, or is zero; idempotent */

/* ---- when to renew (renewal.c) ---- */

enum { ACME_ID_BYTES = 2 * 86 + 2 };
/* RFC 9773 4.1. False: the certificate cannot be named so. */
bool acme_certificate_id(const struct net_issued *c, char id[ACME_ID_BYTES]);
/* RFC 3339. */
bool acme_time_parse(const char *text, int64_t *seconds);
/*
 * When a certificate is to be renewed: somewhere in the window, or without one (NULL) at two thirds of its life; always
 * before it ends. random: any number, by which machines with the same window differ.
 */
int64_t acme_renewal_time(
    const struct net_issued *c, const struct acme_window *window, uint64_t random);
/* The pause after so many failures in a row, 1 or more; as long as the authority has said at least, if that is at most a day. */
uint32_t acme_pause_seconds(unsigned failures, uint32_t retry_after, uint64_t random);
/* When to ask for the window again. */
uint32_t acme_window_seconds(uint32_t retry_after);

/* ---- challenges (challenge.c) ---- */

/* A token is base64url (RFC 8555 8); one of 128 bits has 22 characters. */
enum { ACME_TOKEN_BYTES_MOST = 128 };
bool acme_token_is_good(struct slice token);
/* The token of a path that a challenge may be asked for at (RFC 8555 8.3); empty: it is none. */
struct slice acme_path_token(struct slice path);

#endif
