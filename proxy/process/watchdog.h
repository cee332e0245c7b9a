/* SPDX-License-Identifier: MIT */
/*
 * The service manager's watchdog (sd_watchdog_enabled(3)): it ends pushgate unless it hears WATCHDOG=1 in time. The
 * master says that when each worker of the generation that serves has answered its last question; a process without
 * master says it as long as its loop runs.
 */
#ifndef PUSHGATE_PROCESS_WATCHDOG_H
#define PUSHGATE_PROCESS_WATCHDOG_H

#include "proxy/base/clock.h"
#include <stdbool.h>

struct watchdog {
	usec time; /* the manager's patience; 0: it does not watch */
	usec due_at;
};

/* From WATCHDOG_USEC and WATCHDOG_PID. */
void watchdog_init(struct watchdog *w);
/* Whether it is time to ask the workers, or to say WATCHDOG=1. Then due_at is the next time. */
bool watchdog_is_due(struct watchdog *w, usec now);
/* While the master reads a configuration it says nothing, which may take long and is no reason to end it. */
void watchdog_pause(const struct watchdog *w, int notify_fd);
void watchdog_go_on(const struct watchdog *w, int notify_fd);
/* In the process of a program that takes this one's place, before it starts: the manager watches that. */
void watchdog_pass_on(void);

#endif
