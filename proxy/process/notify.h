/* SPDX-License-Identifier: MIT */
/*
 * Tells the service manager, whose socket is in NOTIFY_SOCKET, when pushgate is ready, well, and at its end
 * (sd_notify(3)). Without that variable all calls do nothing. A status is one line for people.
 */
#ifndef PUSHGATE_PROCESS_NOTIFY_H
#define PUSHGATE_PROCESS_NOTIFY_H

#include "proxy/base/clock.h"
#include <sys/types.h>

/* Returns a connected socket; call it before the sandbox is entered. -1: there is no manager to be reached. */
int notify_open(void);
/* Pushgate accepts clients now. */
void notify_ready(int fd, const char *status);
/* It reads its configuration again; notify_ready says that it is done with it, and how that went. */
void notify_reloading(int fd);
/* It is well (watchdog.h). */
void notify_alive(int fd);
/* The same, and the manager's patience is another one from now on. */
void notify_watchdog_time(int fd, usec time);
/* Another process serves from now on. */
void notify_main_pid(int fd, pid_t pid);
/* Draining has begun. Requests have drain_timeout to finish; 0: no limit but the manager's own. */
void notify_stopping(int fd, const char *status, usec drain_timeout);

#endif
