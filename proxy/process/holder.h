/* SPDX-License-Identifier: MIT */
/*
 * Finds the process that has a port or a FIFO open, as far as /proc shows it to this user. For messages
 * alone: the finding may be outdated when it is printed.
 */
#ifndef PUSHGATE_PROCESS_HOLDER_H
#define PUSHGATE_PROCESS_HOLDER_H

#include "proxy/net/net.h"
#include <sys/types.h>

/* A process of another pid namespace, such as a container's. */
#define HOLDER_ELSEWHERE ((pid_t)-1)

struct holder {
	pid_t pid;      /* 0 = not visible to this user */
	char text[160]; /* "nginx (pid 123)", or whose process it is and how to find it */
};

/*
 * A process that listens on this TCP address, or on its port of all addresses; `preferred` (0 = none) if it
 * is one of several. False: none is known.
 */
bool holder_of_port(const struct net_address *at, pid_t preferred, struct holder *h);
/* Names a process. */
void holder_of_pid(pid_t pid, struct holder *h);
/* Whether a process is seen to have this FIFO open for reading. */
bool holder_reads_fifo(dev_t device, ino_t inode);

#endif
