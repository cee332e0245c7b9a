/* SPDX-License-Identifier: MIT */
/*
 * `pushgate reload` and `pushgate upgrade`: the requests, and the commands that wait for a result. As with a trace
 * (trace_request.h) the request is the name of the command's socket. answer.h has the answer.
 */
#ifndef PUSHGATE_PROCESS_RELOAD_REQUEST_H
#define PUSHGATE_PROCESS_RELOAD_REQUEST_H

#include "proxy/base/slice.h"
#include "proxy/process/process.h"

/* Behind it stands an id that makes the name unique. */
#define RELOAD_REQUEST "pushgate reload "
#define UPGRADE_REQUEST "pushgate upgrade "

bool reload_is_request(struct slice name);
bool upgrade_is_request(struct slice name);

enum {
	RELOAD_ASKERS = 8,
	/* A socket's buffer takes it at once, so that no answer waits for its reader. */
	RELOAD_TEXT_BYTES = 48 << 10,
};

struct reload_askers {
	struct reload_asker {
		int socket;   /* owned; -1: free */
		bool is_next; /* it came after the reload that is under way had begun */
	} all[RELOAD_ASKERS];
	char *text; /* owned: what was said of the reload that is under way */
	size_t length;
	bool is_cut; /* more was said */
};

void reload_askers_init(struct reload_askers *a);
/* Takes socket; refuses it if there are too many. */
void reload_askers_add(struct reload_askers *a, int socket);
/* A reload begins: those that wait now wait for this one. */
void reload_askers_begin(struct reload_askers *a);
/* Adds whole lines to the answer, or one line without its end. */
void reload_askers_tell(struct reload_askers *a, const char *text);
/* The result of the reload that has begun: those that wait for it get the answer. */
void reload_askers_end(struct reload_askers *a, enum process_status status);
/* No reload follows any more: all that still wait get this answer. Idempotent. */
void reload_askers_dismiss(struct reload_askers *a, const char *why);
/* Closes all sockets without an answer, in a forked child and at the end. */
void reload_askers_close(struct reload_askers *a);

#endif
