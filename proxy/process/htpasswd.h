/* SPDX-License-Identifier: MIT */
/*
 * A file of users, as htpasswd(1) writes it: lines NAME:HASH. The hashes are those of crypt(5) that are slow to
 * guess at: yescrypt ($y$), bcrypt ($2a$, $2b$, $2y$), SHA-512 ($6$) and SHA-256 ($5$). Their cost is bounded,
 * since one process checks all passwords, one after the other. No I/O and no clock.
 */
#ifndef PUSHGATE_PROCESS_HTPASSWD_H
#define PUSHGATE_PROCESS_HTPASSWD_H

#include "proxy/base/slice.h"
#include <stdint.h>

enum {
	HTPASSWD_FILE_BYTES = 8 << 20,
	HTPASSWD_USERS = 100000,
	/* Of a name, and of a password: longer ones are wrong. */
	HTPASSWD_TEXT_BYTES = 255,
	HTPASSWD_BCRYPT_COST = 15,
	HTPASSWD_SHA_ROUNDS = 1000000,
};

struct htpasswd;

struct htpasswd_mistake {
	uint32_t line; /* 0: of the whole file */
	char text[200];
};

/* NULL: *m has the first mistake. A file without users is good. */
struct htpasswd *htpasswd_parse(struct slice text, struct htpasswd_mistake *m);
void htpasswd_free(struct htpasswd *h);
uint32_t htpasswd_count(const struct htpasswd *h);
bool htpasswd_has(const struct htpasswd *h, struct slice name);
/*
 * Hashes the password, which is slow by design. An unknown name costs as much time as one of the known names, always the
 * same one, so that the time does not tell which names exist.
 */
bool htpasswd_is_right(const struct htpasswd *h, struct slice name, struct slice password);

#endif
