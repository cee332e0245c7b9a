/* SPDX-License-Identifier: MIT */
/*
 * The status socket: whoever connects gets the text and the end. Nothing is read from it, so it
 * needs no protocol and keeps no state.
 */
#ifndef PUSHGATE_PROCESS_STATUS_H
#define PUSHGATE_PROCESS_STATUS_H

#include "proxy/observe/observe.h"
#include <sys/types.h>

/* One worker in the text. */
struct status_worker {
	pid_t pid; /* 0 = down */
	uint32_t starts;
	usec up;
};

struct status {
	usec up;
	bool is_draining;
	const struct observe_counters *slots; /* of the workers, and behind them the master's */
	const struct status_worker *workers;
	uint32_t worker_count;
	const struct policy_rules *rules; /* whose counters are among them; NULL: none */
};

/* A listening socket, -1 with a message. An old file that nobody answers on is replaced. */
int status_listen(const char *path, char *error, size_t error_size);
/* Answers those who wait. False: the system has no socket to give; whoever watches the listener
 * leaves it alone for STATUS_PAUSE_USEC, since they wait on. */
bool status_serve(int listener, const struct status *s);
#define STATUS_PAUSE_USEC (500 * USEC_PER_MSEC)
void status_close(int listener, const char *path); /* -1 is fine */
/* Comments ("# …") about the processes, then the counters' sum. */
void status_print(const struct status *s, FILE *out);
/* The counters that are not 0, a line each, to the error log. */
void status_log(const struct status *s, struct observe *o);

#endif
