/* SPDX-License-Identifier: MIT */
/*
 * Results: the user of credentials that were right, or that the credentials were wrong. Credentials are kept as a keyed
 * hash (MAC) alone. Each worker keeps 10,000 right ones, each until it was not used for `users-cache-time`, and as many
 * wrong ones, each for 30 seconds; when there are more, the one that would end first goes.
 */
#ifndef PUSHGATE_ADMISSION_USER_RESULTS_H
#define PUSHGATE_ADMISSION_USER_RESULTS_H

#include "proxy/base/map.h"
#include "proxy/net/net.h"
#include "proxy/relay/relay.h"

#define USER_MAC_BYTES NET_HMAC_BYTES
/* Of each kind. */
#define USER_RESULTS_MOST 10000u
#define USER_WRONG_USEC (30 * USEC_PER_SEC)

struct user_result_list {
	struct list list; /* the one that ends first is first */
	size_t count;
	usec kept_usec;
};

struct user_results {
	struct map by_mac; /* by its beginning */
	struct user_result_list right, wrong;
};

void user_results_init(struct user_results *u, usec right_usec);
void user_results_fini(struct user_results *u);
/*
 * False: nothing is known of these credentials. *user: theirs, lent until the next call; NULL: they are wrong. Right ones
 * stay known while they are used: as long as the file of users has not changed, they are right.
 */
bool user_results_find(struct user_results *u, const uint8_t mac[USER_MAC_BYTES], usec now,
    struct exchange_user **user);
/* user NULL: they are wrong. Takes a reference of its own. Not if the credentials are known already. */
void user_results_add(struct user_results *u, const uint8_t mac[USER_MAC_BYTES], uint32_t access,
    struct exchange_user *user, usec now);
/* Forgets the results of this section; UINT32_MAX: of all. */
void user_results_forget(struct user_results *u, uint32_t access);

#endif
