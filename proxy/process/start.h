/* SPDX-License-Identifier: MIT */
/* What `run` has in hand once everything that can go wrong at the start went right. */
#ifndef PUSHGATE_PROCESS_START_H
#define PUSHGATE_PROCESS_START_H

#include "proxy/process/status.h"
#include "proxy/process/worker.h"

struct start {
	struct conf *conf;
	struct identity identity;
	struct sockets sockets;
	struct logs logs;
	int status_fd; /* -1 = none */
	int notify_fd; /* to the service manager; -1 = none */
	uint32_t workers;
	struct observe_counters *slots; /* shared memory: one a worker, the last one the master's */
	uint8_t ticket_key[TICKET_KEY_BYTES];
	usec started;
};

/* The master's own voice: in single mode, before there is a worker. */
void start_observe(const struct start *s, struct observe *o);
void start_announce(const struct start *s, struct observe *o);

/* Both return the exit status. */
int master_run(struct start *s);
int single_run(struct start *s);

#endif
