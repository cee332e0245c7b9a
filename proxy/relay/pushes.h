/* SPDX-License-Identifier: MIT */
/* The members of an exchange as the parent of pushes; struct pushed_exchange has those of a push. */
#ifndef PUSHGATE_RELAY_PUSHES_H
#define PUSHGATE_RELAY_PUSHES_H

#include "proxy/base/list.h"

struct policy_request;

#include <stdbool.h>
#include <stdint.h>

/* The pushes of an exchange: those that the origin promised on it, and offers of our own with it. */
struct exchange_pushes {
	struct list list; /* of pushed.sibling; those that are not over */
	uint32_t open;    /* how many are in the list */
	uint32_t ever;    /* how many have ever been */
	uint8_t verdicts; /* on all offers so far: a bit for each enum policy_action */
	/* Answers of the policy that are the same for all of them (struct policy_request), in the request's arena;
	 * NULL: none has been decided yet. */
	struct policy_request *request;
	bool is_subscription; /* the client waits for them; set when it is dispatched */
	bool takes_links;     /* Link fields of the response are offers */
	bool is_held_back;    /* a subscription: its origin connection is not read from now */
};

/* The responses of a subscription's pushes that have come, and that the client has not taken: of a push its
 * own part, of the subscription the sums (subscription.c). */
struct push_backlog {
	uint32_t answered; /* the response head came, and the client does not have the end */
	uint32_t begun;    /* the response has begun downstream */
	uint32_t starved;  /* of these: nothing of it waits here, and the origin has not ended it */
	uint64_t bytes;    /* of bodies that wait for the client */
};

#endif
