/* SPDX-License-Identifier: MIT */
/*
 * The password process: it reads the files of users that [access NAME] sections name (`users`), and says whether a
 * password is right. To hash one takes a tenth of a second or more, which no worker's loop may wait for, and no worker
 * sees a hash.
 *
 *     worker ──question──→ password process     a section's index, a name and a password
 *     worker ←──answer──── password process     right or wrong
 *     worker ←──changed─── password process     the users of this section have changed
 *
 * It takes one question of each worker in turn. A worker has at most LIMIT_PASSWORDS_ASKED questions on the way
 * (admission/users.c), and orders those of its clients. In single mode the loop itself hashes, and waits meanwhile.
 */
#ifndef PUSHGATE_PROCESS_PASSWORDS_H
#define PUSHGATE_PROCESS_PASSWORDS_H

#include "proxy/admission/admission.h"
#include "proxy/base/watched_file.h"
#include "proxy/gateway/gateway.h"
#include "proxy/process/helper_link.h"
#include "proxy/process/htpasswd.h"

/* Whether some [access NAME] section has `users`. */
bool passwords_are_needed(const struct conf *conf);

/* ---- the files (passwords.c) ---- */

struct passwords_file {
	struct watched_file file; /* without a path: the section has no users */
	struct htpasswd *users;   /* NULL: nothing was read, and no user is known */
};

/* A password that was right, known by a keyed hash, so that several workers have it hashed once. */
struct passwords_known {
	uint8_t mac[NET_HMAC_BYTES];
	uint32_t access;
	usec until; /* 0: nothing is known here */
};
/* Each has one place, where it displaces another one. */
#define PASSWORDS_KNOWN 4096u

struct passwords {
	size_t count;
	struct passwords_file *files; /* by conf_access.index */
	uint8_t key[NET_HMAC_BYTES];
	struct passwords_known *known;
	usec known_usec; /* users-cache-time */
};

void passwords_open(struct passwords *p, const struct conf *conf); /* reads nothing yet */
void passwords_close(struct passwords *p);
/* Reads a section's file if it has changed. line: for the error log. At the start there are no users. */
enum watched_change passwords_check(struct passwords *p, size_t access, char line[512]);
/* Checks all files, and logs. changed: the users of this section have changed. */
void passwords_check_all(struct passwords *p, struct observe *o,
    void (*changed)(void *context, uint32_t access), void *context);
/* Slow, unless the password was right a short time ago: htpasswd_is_right. */
bool passwords_are_right(
    const struct passwords *p, size_t access, struct slice name, struct slice password, usec now);

/* ---- the messages ---- */

struct passwords_question {
	uint64_t id; /* the worker's: it comes back with the answer */
	uint32_t access;
	uint16_t name_bytes, password_bytes; /* which follow the message, one behind the other */
};

enum passwords_kind { PASSWORDS_WRONG, PASSWORDS_RIGHT, PASSWORDS_CHANGED };

struct passwords_answer {
	uint64_t id;
	uint32_t kind; /* enum passwords_kind */
	uint32_t access;
};

/* ---- a worker's end (passwords_link.c) ---- */

struct passwords_link {
	struct users *users; /* borrowed, as is observe */
	struct observe *observe;
	struct helper_link link;
};

void passwords_link_init(struct passwords_link *l);
/* gateway_env.ask_password, with a struct passwords_link. */
bool passwords_link_ask(void *context, const struct password_question *q);

/* ---- the password process (passwords_process.c) ---- */

struct helper_env;

/* Runs the process until the master closes its end. Returns the exit status. */
int passwords_run(const struct helper_env *env);

#endif
