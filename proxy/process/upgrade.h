/* SPDX-License-Identifier: MIT */
/*
 * A binary upgrade, in the master that is replaced. It starts the program's file again, and gives the new process what
 * outlives a configuration (handover.h). The new one reads the configuration and brings up its workers, which do not
 * accept yet. When all of them are READY it lets them accept and says so, and the old master drains. If the new one ends
 * before that, is of another version or takes too long, the old one goes on as if nothing had been.
 *
 *   NONE ──begins──→ UNDER_WAY ──ready──→ OVER: this process drains
 *     └──────────────────┴── it fails ──→ NONE
 */
#ifndef PUSHGATE_PROCESS_UPGRADE_H
#define PUSHGATE_PROCESS_UPGRADE_H

#include "proxy/process/handover.h"
#include "proxy/process/reload_request.h"

/* The new one must be ready by then. */
#define UPGRADE_USEC (60 * USEC_PER_SEC)

enum upgrade_phase { UPGRADE_NONE, UPGRADE_UNDER_WAY, UPGRADE_OVER };

struct upgrade {
	const struct start *start; /* borrowed, as is observe */
	struct observe *observe;
	struct reload_askers askers; /* the commands that wait for it */
	bool is_due;
	enum upgrade_phase phase;
	/* Between both stands a keeper, which is the new one's parent while that comes up, and ends when it serves: the new one
	 * is a child of the service manager then, and not of a process that is about to end. */
	pid_t keeper;    /* 0: there is none */
	int keeper_hold; /* a byte there lets the keeper end */
	pid_t pid;       /* of the new one, as it says; 0: it has said nothing yet */
	int socket;      /* to it; -1: none */
	bool has_greeted;
	size_t given;     /* things that it has got */
	usec deadline;    /* of what is under way */
	usec counters_at; /* when it gets counters again */
};

void upgrade_init(struct upgrade *u, const struct start *start, struct observe *observe);
/* Ends what is under way, and tells the commands. */
void upgrade_fini(struct upgrade *u);
/* Begins if that is due and the master may; watches the time. Returns when to call it again. */
usec upgrade_run(struct upgrade *u, bool may_begin, usec now);
/* Reads a message. The caller acts on NEXT (upgrade_give) and READY (upgrade_end), then on REOPEN, and on GONE: the new one
 * has ended, or drains. */
enum handover_heard upgrade_read(struct upgrade *u, usec now);
void upgrade_give(struct upgrade *u, const struct outfit *running, struct totals *counters);
/* The new one serves. */
void upgrade_end(struct upgrade *u, const struct outfit *running, usec now);
/* Whether it gets counters now. */
bool upgrade_wants_counters(struct upgrade *u, usec now);
/* Whether the process was the keeper, which ends as the new one does; then its death has been seen to. */
bool upgrade_died(struct upgrade *u, pid_t pid, int status);

#endif
