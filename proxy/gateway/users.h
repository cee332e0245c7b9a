/* SPDX-License-Identifier: MIT */
/*
 * Who the user of a request is: the credentials of Authorization (gateway) or Proxy-Authorization (forward mode),
 * looked up in the users of the listener's [access NAME]. Passwords are hashed in another process; what it says is
 * kept for a short time, under a keyed hash of the credentials.
 */
#ifndef PUSHGATE_GATEWAY_USERS_H
#define PUSHGATE_GATEWAY_USERS_H

#include <stdbool.h>

struct exchange;
struct gateway;

enum user_answer {
	USER_NONE,    /* no credentials */
	USER_KNOWN,   /* x->facts.user is set */
	USER_WRONG,   /* unknown name, wrong password, another scheme than Basic */
	USER_WAITS,   /* gateway_identified will be called, unless x ends before */
	USER_BUSY,    /* too many wait: 503 */
	USER_LIMITED, /* this client has failed too often: 429, retry_after is set */
};

enum user_answer users_identify(struct gateway *g, struct exchange *x);
/* x is over: it waits no more. */
void users_exchange_ended(struct gateway *g, struct exchange *x);

/* request.c: the answer for a request that has waited. */
void gateway_identified(struct gateway *g, struct exchange *x, enum user_answer answer);

#endif
