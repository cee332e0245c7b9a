/* SPDX-License-Identifier: MIT */
/*
 * access-recheck: a socket between a worker of an older generation, which has tunnels, and a worker of the running one,
 * which has the newest access rules. The master makes the socket when a generation has taken over, and another one when
 * the judging worker has died. It reads nothing of what the two say.
 *
 *     older worker ──question──→ worker     what the rules look at in one tunnel
 *     older worker ←──answer──── worker     whether the tunnel is to end, and why
 *
 * Neither end believes the other. The worker that judges takes questions of one socket in a loop pass, for a fraction of
 * a millisecond, and the older one takes one answer.
 */
#ifndef PUSHGATE_PROCESS_RECHECK_H
#define PUSHGATE_PROCESS_RECHECK_H

#include "proxy/gateway/gateway.h"
#include "proxy/process/helper_link.h"

/* ---- the messages ---- */

enum recheck_text {
	RECHECK_LISTENER,
	RECHECK_USER,
	RECHECK_SCHEME,
	RECHECK_AUTHORITY,
	RECHECK_PATH,
	RECHECK_CERT,
	RECHECK_TEXTS
};

struct recheck_question {
	uint64_t id;           /* the older worker's: it comes back with the answer */
	struct net_address to; /* length 0: not known */
	struct address client;
	uint8_t is_forward, is_connect;
	uint16_t
	    bytes[RECHECK_TEXTS]; /* of the texts, which follow the message, one behind the other */
};

struct recheck_answer {
	uint64_t id;
	char reason[24]; /* with a NUL; empty: the tunnel goes on */
};

/* ---- the end of the worker with tunnels (recheck_link.c) ---- */

struct recheck_link {
	struct gateway *gateway; /* borrowed, as is observe */
	struct observe *observe;
	struct helper_link link;
};

void recheck_link_init(struct recheck_link *l);
/* Nothing is asked about any more. */
void recheck_link_close(struct recheck_link *l);

/* ---- the end of the worker that judges (recheck_judge.c) ---- */

struct recheck_judge {
	struct gateway *gateway; /* borrowed, as are observe and loop */
	struct observe *observe;
	struct net_loop *loop;
	struct list askers;               /* the sockets of older workers */
	usec judged_at;                   /* the loop pass in which one was read */
	const struct recheck_asker *next; /* it had to wait in that pass; NULL: none */
	uint8_t *message; /* owned: room for a question; NULL until there is a socket */
};

void recheck_judge_init(struct recheck_judge *j);
/* Takes the socket. */
void recheck_judge_add(struct recheck_judge *j, int socket);
void recheck_judge_close(struct recheck_judge *j);

#endif
