/* SPDX-License-Identifier: MIT */
/*
 * The system call sandbox (seccomp(2)). A process that has opened all descriptors gives up all system calls
 * but those in one table; any other call kills it, and the master logs that. A process gets only the parts of
 * the table that its tasks need: no worker of a master can open a file.
 */
#ifndef PUSHGATE_PROCESS_SANDBOX_H
#define PUSHGATE_PROCESS_SANDBOX_H

#include "proxy/conf/conf.h"

/* The tasks of a process: flags, to be combined. */
enum sandbox_part {
	SANDBOX_WORKER = 1 << 0,     /* serves clients over TCP */
	SANDBOX_LOGGER = 1 << 1,     /* copies lines into files that the master opened */
	SANDBOX_UNIX = 1 << 2,       /* a worker: connects to unix sockets */
	SANDBOX_DEMO = 1 << 3,       /* a worker: has the demo origin in it */
	SANDBOX_READS = 1 << 4,      /* reads manifests and texts when they change */
	SANDBOX_SAVES = 1 << 5,      /* writes the remembered-file */
	SANDBOX_SINGLE = 1 << 6,     /* a worker: does the master's work too */
	SANDBOX_FILES = 1 << 7,      /* reads and writes files for the workers */
	SANDBOX_MAPS = 1 << 8,       /* a worker: maps contents of the files process */
	SANDBOX_NAMES = 1 << 10,     /* a worker, the tracer: asks resolvers for names */
	SANDBOX_PASSWORDS = 1 << 11, /* checks passwords for the workers */
	SANDBOX_TRACER = 1 << 12,    /* posts spans of the workers */
	SANDBOX_ACME = 1 << 13,      /* gets certificates from an authority */
	SANDBOX_ENDS = 1 << 14,      /* a worker: asks where its clients came to */
	SANDBOX_SOURCES = 1 << 15,   /* a worker: connects from configured addresses */
	SANDBOX_COMPILERS = 1 << 9,  /* is built with a sanitizer or gcov, which make calls */
#ifdef PUSHGATE_INSTRUMENTED
	SANDBOX_BUILD = SANDBOX_COMPILERS,
#else
	SANDBOX_BUILD = 0,
#endif
};

/* Whether the kernel supports the mode. False with a message. */
bool sandbox_is_possible(enum conf_sandbox mode, char *error, size_t error_size);
/* Confines this process permanently; does nothing with CONF_SANDBOX_OFF. False with a message. */
bool sandbox_enter(unsigned parts, enum conf_sandbox mode, char *error, size_t error_size);

#endif
