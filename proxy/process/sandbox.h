/* SPDX-License-Identifier: MIT */
/*
 * The sandbox of system calls (seccomp(2)): once a process has everything open that it serves with,
 * it gives up all calls but those in one table. Another one kills it, and the master says so. What
 * a process is not set up to do is not in its part of the table: without manifests no worker can
 * open a file.
 */
#ifndef PUSHGATE_PROCESS_SANDBOX_H
#define PUSHGATE_PROCESS_SANDBOX_H

#include "proxy/conf/conf.h"

/* What a process does, to be combined. */
enum sandbox_part {
	SANDBOX_WORKER = 1 << 0,    /* serves clients over TCP */
	SANDBOX_LOGGER = 1 << 1,    /* copies lines into files that others opened */
	SANDBOX_UNIX = 1 << 2,      /* a worker: connects to unix sockets */
	SANDBOX_DEMO = 1 << 3,      /* a worker: has the demo origin in it */
	SANDBOX_READS = 1 << 4,     /* a worker: reads manifests when they change */
	SANDBOX_SAVES = 1 << 5,     /* a worker: writes the learned-file */
	SANDBOX_SINGLE = 1 << 6,    /* a worker: does the master's work too */
	SANDBOX_COMPILERS = 1 << 7, /* has a sanitizer or gcov in it, which call what they like */
#ifdef PUSHGATE_INSTRUMENTED
	SANDBOX_BUILD = SANDBOX_COMPILERS,
#else
	SANDBOX_BUILD = 0,
#endif
};

/* Can the kernel do what the mode asks for? False with a message that says what to do. */
bool sandbox_is_possible(enum conf_sandbox mode, char *error, size_t error_size);
/* Of this process, for good; with CONF_SANDBOX_OFF nothing. False with a message. */
bool sandbox_enter(unsigned parts, enum conf_sandbox mode, char *error, size_t error_size);

#endif
