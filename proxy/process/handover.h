/* SPDX-License-Identifier: MIT */
/*
 * A binary upgrade: a pushgate that runs gives what outlives its configuration to a process of another program, which
 * takes its place. They speak through a pair of sockets (SOCK_SEQPACKET). A message is a text of words with tabs between
 * them, some come with a descriptor:
 *
 *     new → old   hello VERSION PID   the old one closes the socket if it has another version
 *     new → old   next                asks for one thing more, until the end
 *     old → new   socket NTH LISTENING KIND ASKED AT        with the listening socket
 *     old → new   status PATH                               with the status socket
 *     old → new   tickets             with a memory file: the keys of tickets
 *     old → new   suffix NUMBER       of the name in Via
 *     old → new   counters            with a memory file: totals_write
 *     old → new   was-ready YES       1: /readyz has said 200 once
 *     old → new   orders              with a memory file: server_orders_list_write
 *     old → new   health              with a memory file: hand_on_health_write
 *     old → new   remembered          with a memory file, if there is one: the memory of pages
 *     old → new   limit-seed NUMBER   of the keys in tables of limits
 *     old → new   limits WORKER IDENTITY    with a memory file: a table of limits
 *     old → new   end
 *     new → old   ready               the new one accepts clients; the old one drains
 *     old → new   health              once more
 *     old → new   counters            now and then while the old one drains
 *     new → old   reopen              the same time: logs were moved (SIGUSR1)
 *
 * upgrade.c has the times and the processes.
 */
#ifndef PUSHGATE_PROCESS_HANDOVER_H
#define PUSHGATE_PROCESS_HANDOVER_H

#include "proxy/admin/admin.h"
#include "proxy/process/start.h"

/* Of the environment: the descriptor of the socket to the old one. */
#define HANDOVER_VARIABLE "PUSHGATE_UPGRADE"
/* Of the messages. Raise it when one changes its meaning; words that only one side knows need no other version. */
#define HANDOVER_VERSION "1"

/* ---- the old one ---- */

enum handover_heard {
	HANDOVER_NOTHING, /* nothing is there yet */
	HANDOVER_HELLO,
	HANDOVER_NEXT,
	HANDOVER_READY,
	HANDOVER_REOPEN,
	HANDOVER_OTHER_VERSION,
	HANDOVER_BROKEN, /* it says what it may not */
	HANDOVER_GONE,   /* it has closed the socket */
};
/* Reads a message; never waits. *from: the process that has said HELLO. */
enum handover_heard handover_hear(int socket, pid_t *from);
/* Sends thing number `at` of those that the start has, and the generation that runs. False: it was not sent. */
bool handover_give(int socket, const struct start *s, const struct outfit *running,
    struct totals *counters, size_t at);
bool handover_give_health(int socket, const struct outfit *running);
bool handover_give_counters(int socket, struct totals *counters);

/* ---- the new one ---- */

/* The socket to the old one, if it has started this process; else -1. Call it once. */
int handover_find(void);
/* Takes what the old one has, and puts it into the start, whose tables of limits are there. Waits for it. False with a
 * message. */
bool handover_take(struct start *s, int socket, char *error, size_t error_size);
void handover_say_ready(int socket);
/* The old one has ended: this one does not end with its parent. */
void handover_stand_alone(void);
/* The logs were moved: the old one opens its own again, too. */
void handover_say_reopen(int socket);
/* Takes counters and health that have come. False: the old one is gone. */
bool handover_take_news(struct predecessor *p);

#endif
