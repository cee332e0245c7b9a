/* SPDX-License-Identifier: MIT */
/*
 * The status socket: each connection gets the text and is closed, but for those of `pushgate trace`
 * (process/trace_request.h). Nothing is read from it, so it needs no protocol and keeps no state.
 */
#ifndef PUSHGATE_PROCESS_STATUS_H
#define PUSHGATE_PROCESS_STATUS_H

#include "proxy/conf/conf.h"
#include "proxy/observe/observe.h"
#include "proxy/process/totals.h"
#include <sys/types.h>

/* A worker or a helper in the text; workers of older generations have a name. */
struct status_process {
	const char *name; /* NULL: a worker */
	const char *note; /* its name in the notes for a reader; NULL: they leave it out */
	pid_t pid;        /* 0 = down */
	uint32_t starts;
	usec up;
};

/* Results of a reload. */
#define STATUS_RELOAD_DONE                                                                         \
	"done" /* another generation has taken over, or the workers have the changed files */
#define STATUS_RELOAD_SAME "same"       /* nothing has changed, so nothing was done */
#define STATUS_RELOAD_REFUSED "refused" /* what serves has stayed as it was */

struct status_reload {
	usec at;             /* its end, in time since 1970; 0: there was none */
	uint32_t generation; /* that serves since then */
	const char *result;
	char cause[400]; /* the first line of what was wrong; "" */
};

/* Of a generation. */
struct status_orders {
	const struct conf *conf;
	const struct server_orders *orders;
};

struct status {
	usec up;
	const struct status_reload *last_reload; /* NULL: this process does not reload */
	usec drains_in; /* drain-delay; 0: it drains, or was not told to end */
	const struct observe_counters *slots;    /* the workers' */
	const struct observe_counters *own_slot; /* the master's; NULL: it has none */
	const struct totals
	    *others; /* of all generations but the one that all else is of; NULL: none */
	const struct status_process *processes; /* the workers, then the helpers */
	uint32_t process_count, worker_count;
	const struct server_orders *orders;       /* NULL: none can be given */
	const struct status_orders *other_orders; /* of generations that end what they have */
	uint32_t other_orders_count;
	const struct health_table *health_table; /* NULL: no server is checked or may be ejected */
	/* Names the rules whose counters are printed, and where push is off; NULL: neither. */
	const struct conf *conf;
	/* A request of `pushgate trace` came, with its name; takes socket. */
	void (*trace)(void *context, struct slice name, int socket);
	/* A request of `pushgate reload` came; takes socket. NULL: this process does not reload. */
	void (*reload)(void *context, int socket);
	/* A request of `pushgate server` came, with its name; takes socket. NULL: this process takes no orders. */
	void (*server)(void *context, struct slice name, int socket);
	/* A request of `pushgate upgrade` came; takes socket. NULL: no other program takes over. */
	void (*upgrade)(void *context, int socket);
	void *trace_context; /* of all four */
};

/* The address of the status socket. Returns NULL, or the error as text. */
const char *status_address(const char *path, struct net_address *at);
/* A listening socket, -1 with a message. Replaces a socket file on which no process listens. */
int status_listen(const char *path, char *error, size_t error_size);
/*
 * Answers waiting connections. False: the system has no descriptor for the next one. Since that
 * connection keeps waiting, the caller stops watching the listener for STATUS_PAUSE_USEC.
 */
bool status_serve(int listener, const struct status *s);
#define STATUS_PAUSE_USEC (500 * USEC_PER_MSEC)
void status_close(int listener, const char *path); /* accepts -1 */
/* For the commands: connects, with a name of its own unless that is empty. Reads time out. -1 with *error. */
int status_connect(const char *path, struct slice name, const char **error);
/* How the text begins and ends: a reader sees by it that this is a status, and that it is whole. */
#define STATUS_BEGIN "# pushgate "
#define STATUS_END "# EOF\n"
/* status_text.c: prints comment lines ("# …") about the processes and where push is off, then the sums of the
 * counters. */
void status_print(const struct status *s, FILE *out);
/* status_orders.c: what was ordered for servers, as comment lines; samples for monitoring. */
void status_order_notes(const struct status *s, FILE *out);
void status_orders_print(const struct status *s, FILE *out);
/* status_servers.c: the servers that get no requests, as comment lines; samples for monitoring. */
void status_server_notes(const struct status *s, FILE *out);
void status_servers_print(const struct status *s, FILE *out);
/* status_json.c: the text that status_print prints as JSON (docs/COUNTERS.md has the shape). */
void status_json(const char *text, FILE *out);
/* Writes each counter that is not 0 as a line to the error log. */
void status_log(const struct status *s, struct observe *o);

#endif
