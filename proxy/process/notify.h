/* SPDX-License-Identifier: MIT */
/*
 * What a service manager is told (sd_notify(3)): that we serve, and that we end. It names its
 * socket in NOTIFY_SOCKET; started by hand there is none, and nothing is said.
 */
#ifndef PUSHGATE_PROCESS_NOTIFY_H
#define PUSHGATE_PROCESS_NOTIFY_H

#include "proxy/base/clock.h"

/*
 * A descriptor, to be asked for before the sandbox is entered; -1: nobody wants to know, or cannot
 * be reached, which is no reason not to serve.
 */
int notify_open(void);
/* Clients are accepted from now on. */
void notify_ready(int fd);
/* The end has begun, and requests have so long to finish; 0: for ever, but for the manager's own
 * limit. */
void notify_stopping(int fd, usec drain_timeout);

#endif
