/* SPDX-License-Identifier: MIT */
/*
 * What the client of one connection has, as far as the connection tells: kept for as long as it
 * lasts, or over connections by a cookie.
 */
#ifndef PUSHGATE_HOP_MEMORY_H
#define PUSHGATE_HOP_MEMORY_H

#include "policy/cookie.h"
#include "proxy/observe/observe.h"
#include "proxy/relay/relay.h"

struct down;
struct hop;

struct memory {
	struct policy_diary diary;        /* most 0: nothing is remembered */
	struct policy_cookie_set *cookie; /* owned; what the client carries; NULL: nothing yet */
	uint64_t cookie_text;             /* of the cookie that was looked at last, a hash */
	bool is_awake;                    /* something was offered here, or may be at any time */
};

void memory_setup(struct hop *hop);
void memory_init(struct down *d);
void memory_fini(struct down *d);
/* A request came, on a connection whose memory is awake. Cuts the diary's cookie out of it. */
void memory_request(struct down *d, struct exchange *x);
/* The final response's head goes to the client of x, whose memory is not NULL. */
void memory_response(struct exchange *x, struct http_head *head);
/* Does the client have what is offered with the parent? Wakes the memory. */
enum policy_known memory_knows(const struct exchange *parent, const struct http_head *promised);
void memory_promised(struct exchange *push);
void memory_hinted(const struct exchange *parent, const struct http_head *promised);
void memory_ended(struct exchange *push, enum observe_outcome outcome);

#endif
