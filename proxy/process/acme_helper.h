/* SPDX-License-Identifier: MIT */
/*
 * The ACME process: a helper that gets certificates for listeners with acme, and renews them. It alone speaks to the
 * authority, through a loop of its own (net/) with the names, the connections and the HTTP of the data plane; what it says
 * is proxy/acme/'s.
 *
 *     authority ←─ requests ─ ACME process ── what answers challenges ──→ workers
 *                                 └── a file in acme-dir, and a message ──→ master, which gives it to workers (renewal.c)
 *
 *   IDLE ── a certificate or a question is due ──→ ASKING ←──→ WAITING
 *     ↑                                               │  (the authority wants time)
 *     └───────────── done, or failed: later ──────────┘
 *
 * It has one task at a time. A task that ends with the process is lost, and another process begins anew; what is in
 * acme-dir is whole at any moment. In single mode there is no such process, and the certificates stay as they are.
 */
#ifndef PUSHGATE_PROCESS_ACME_HELPER_H
#define PUSHGATE_PROCESS_ACME_HELPER_H

#include "proxy/acme/acme.h"
#include "proxy/process/helper.h"
#include "proxy/process/helper_http.h"
#include "proxy/process/helper_link.h"

bool acme_helper_is_needed(const struct conf *conf);

/* ---- a worker's end (acme_link.c) ---- */

struct acme_link_message {
	char thumbprint[ACME_THUMBPRINT_BYTES + 1]; /* of the account's key; "": not known yet */
	struct net_challenge challenge;             /* of the task, if it is one over TLS */
};

struct acme_link {
	struct observe *observe; /* borrowed */
	struct helper_link link;
	/* The last one, which stays when the process dies. gateway_env has its parts. */
	struct acme_link_message message;
};

void acme_link_init(struct acme_link *l);

/* ---- files (acme_files.c) ---- */

/*
 * Gateways may share acme-dir: one at a time makes the account, and one at a time orders. The lock ends with the
 * descriptor, which the caller closes; at the latest with the process. -1 with errno; EAGAIN: another one has the lock, and
 * `waits` is false.
 */
enum acme_lock { ACME_LOCK_ACCOUNT, ACME_LOCK_ORDER };
int acme_lock_take(const char *dir, enum acme_lock which, bool waits);

/* Replaces DIR/NAME.pem by these parts in one step: a crash leaves the old file or the new one. 0 or errno. */
int acme_file_write(const char *path, const struct slice *parts, size_t count);
/* The text of a file with a NUL behind it, which the caller erases and frees; NULL with errno. */
char *acme_file_read(const char *path, size_t *length);

/* ---- the process (acme_process.c) ---- */

/* Runs the process until the master closes its end. Returns the exit status. */
int acme_helper_run(const struct helper_env *env);

#endif
