/* SPDX-License-Identifier: MIT */
/*
 * `pushgate reload`: the request, and the commands that wait for a result. As with a trace (trace_request.h) the request
 * is the name of the command's socket. The answer is text for its user, and a last line with its exit status.
 */
#ifndef PUSHGATE_PROCESS_RELOAD_REQUEST_H
#define PUSHGATE_PROCESS_RELOAD_REQUEST_H

#include "proxy/base/slice.h"
#include "proxy/process/process.h"

/* Behind it stands an id that makes the name unique. */
#define RELOAD_REQUEST "pushgate reload "
/* The last line: the exit status stands behind it. */
#define RELOAD_STATUS "reload: status "

bool reload_is_request(struct slice name);

enum { RELOAD_ASKERS = 8 };

struct reload_askers {
	struct reload_asker {
		int socket;   /* owned; -1: free */
		bool is_next; /* it came after the reload that is under way had begun */
	} all[RELOAD_ASKERS];
};

void reload_askers_init(struct reload_askers *a);
/* Takes socket; refuses it if there are too many. */
void reload_askers_add(struct reload_askers *a, int socket);
/* A reload begins: those that wait now wait for this one. */
void reload_askers_begin(struct reload_askers *a);
void reload_askers_tell(const struct reload_askers *a, const char *text);
/* The result of the reload that has begun. */
void reload_askers_end(struct reload_askers *a, enum process_status status);
/* Closes all sockets, for the end and for a forked child. */
void reload_askers_close(struct reload_askers *a);

#endif
