/* SPDX-License-Identifier: MIT */
/*
 * How many wrong passwords a client address may still try (`user-failures`). It pays for each password that is to be
 * hashed, and gets that back unless it was wrong: so never more are on the way than it may fail with.
 */
#ifndef PUSHGATE_GATEWAY_USER_FAILURES_H
#define PUSHGATE_GATEWAY_USER_FAILURES_H

#include "proxy/gateway/limit_table.h"

/* Client addresses that are told apart; when there are more, the one that has failed least is forgotten. */
#define USER_FAILURES_KEYS 65536u

struct user_failures {
	struct limit_terms terms;
	struct limit_table *table; /* owned; NULL: any number may fail */
};

/* per_minute 0: no limit. */
void user_failures_init(struct user_failures *f, uint32_t per_minute);
void user_failures_fini(struct user_failures *f);
/* In how many seconds this client may try another password; 0: now. */
uint32_t user_failures_wait(const struct user_failures *f, uint64_t client, usec now);
void user_failures_take(struct user_failures *f, uint64_t client, usec now);
void user_failures_give(struct user_failures *f, uint64_t client);

#endif
