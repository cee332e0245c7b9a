/* SPDX-License-Identifier: MIT */
/*
 * Processes: a master that binds and watches, workers that run one loop each, a logger behind a
 * pipe. The master never reads a peer's bytes.
 */
#ifndef PUSHGATE_PROCESS_PROCESS_H
#define PUSHGATE_PROCESS_PROCESS_H

#include "proxy/conf/conf.h"

/*
 * `pushgate run`: returns the exit status. single: one worker in this very process, logs to their
 * files directly.
 */
int process_run(const char *conf_path, bool single);
/* `pushgate status`: asks the master's unix socket and prints; returns the exit status. */
int process_status(const char *socket_path);

#endif
