/* SPDX-License-Identifier: MIT */
/*
 * Listening sockets that the service manager has opened (sd_listen_fds(3)): LISTEN_FDS of them from descriptor 3 on, for
 * the process LISTEN_PID, with the names LISTEN_FDNAMES. A socket is for the [listen NAME] of its name and address, or
 * for the one of its address. The manager keeps it open, so no client is refused while pushgate starts. All workers
 * accept from it.
 */
#ifndef PUSHGATE_PROCESS_ACTIVATION_H
#define PUSHGATE_PROCESS_ACTIVATION_H

#include "proxy/process/sockets.h"
#include <stdio.h>

/*
 * Takes those that are there, once, and takes the variables out of the environment. A socket that no section has is
 * closed, with a line in `report`. False, with a line: one cannot be used.
 */
bool activation_take(struct sockets *s, const struct conf *conf, FILE *report);

#endif
