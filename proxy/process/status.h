/* SPDX-License-Identifier: MIT */
/*
 * The status socket: each connection gets the text and is closed, but for those of `pushgate trace`
 * (process/trace_request.h). Nothing is read from it, so it needs no protocol and keeps no state.
 */
#ifndef PUSHGATE_PROCESS_STATUS_H
#define PUSHGATE_PROCESS_STATUS_H

#include "proxy/admin/admin.h"

/* What the process does with requests of commands, beside that for the text. */
struct status_ops {
	/* A request of `pushgate trace` came, with its name; takes socket. NULL: this process traces nobody. */
	void (*trace)(void *context, struct slice name, int socket);
	/* A request of `pushgate reload` came; takes socket. NULL: this process does not reload. */
	void (*reload)(void *context, int socket);
	/* A request of `pushgate server` came, with its name; takes socket. NULL: this process takes no orders. */
	void (*server)(void *context, struct slice name, int socket);
	/* A request of `pushgate upgrade` came; takes socket. NULL: no other program takes over. */
	void (*upgrade)(void *context, int socket);
	void *context;
};

/* The address of the status socket. Returns NULL, or the error as text. */
const char *status_address(const char *path, struct net_address *at);
/* A listening socket, -1 with a message. Replaces a socket file on which no process listens. */
int status_listen(const char *path, char *error, size_t error_size);
/*
 * Answers waiting connections. False: the system has no descriptor for the next one. Since that
 * connection keeps waiting, the caller stops watching the listener for STATUS_PAUSE_USEC.
 */
bool status_serve(int listener, const struct status *s, const struct status_ops *ops);
#define STATUS_PAUSE_USEC (500 * USEC_PER_MSEC)
void status_close(int listener, const char *path); /* accepts -1 */
/* For the commands: connects, with a name of its own unless that is empty. Reads time out. -1 with *error. */
int status_connect(const char *path, struct slice name, const char **error);
/* status_json.c: the text that status_print prints as JSON (docs/COUNTERS.md has the shape). */
void status_json(const char *text, FILE *out);

#endif
