/* SPDX-License-Identifier: MIT */
/*
 * A helper process does the work that no worker's loop may wait for. It has a socketpair to the master
 * (control.h) and one to each worker, runs as the workers' user in a sandbox of its own, and ends when the master closes
 * its end. helpers.c has the table of the helpers; most are a service, which helper_serve runs:
 *
 *     begin ──→ READY to the master ──→ loop { obey a worker's message | check } ──→ end
 *
 * The workers face the network: a message that is malformed, or that a worker may not send, costs the worker its socket.
 * Nothing waits: a service that cannot send remembers what is due.
 */
#ifndef PUSHGATE_PROCESS_HELPER_H
#define PUSHGATE_PROCESS_HELPER_H

#include "proxy/process/child_message.h"
#include "proxy/process/identity.h"
#include "proxy/process/logs.h"

struct files_contents;

/* The parts of the master's state that a helper gets. All pointers are borrowed. */
struct helper_env {
	const struct conf *conf;
	const struct identity *identity;
	struct logs *logs;
	struct files_contents
	    *contents; /* as they are at the start; the files process has them alone */
	/* The master's slot: those of lost lines are the logger's, those of spans the tracers'. */
	struct observe_counters *counters;
	struct certificate_entry *certificates; /* of each listener; NULL: none has acme */
	/* Of the files process: the lines of the memory of pages, and its seed. */
	struct observe_remembered *remembered_rows;
	uint64_t remembered_seed;
	uint32_t workers;
	int control;   /* its end of the socketpair to the master; the logger has none */
	bool is_first; /* no files process before it has read the files */
	pid_t master;
};

/* Exit status of a service: it cannot be confined, and the error log says why. */
enum { HELPER_CANNOT_START = 3 };

/* How often a service looks whether its files have changed. */
#define HELPER_CHECK_USEC (2 * USEC_PER_SEC)

/* Of all functions but begin, check and obey NULL means that there is nothing to do. */
struct helper_service {
	const char *process;  /* its name in ps(1) */
	uint32_t origin;      /* its name in lines of the error log: OBSERVE_FILES … */
	unsigned sandbox;     /* flags of sandbox_part */
	size_t message_bytes; /* of a worker's longest message */
	unsigned at_once;     /* messages that are obeyed before the master's are looked at */
	bool serves_ended;    /* messages from before a worker's end are obeyed; else dropped */
	/* Confined; before READY. */
	void (*begin)(void *context);
	/* Every HELPER_CHECK_USEC. */
	void (*check)(void *context);
	/* Obeys a worker's message, which is erased afterwards. False: the worker may not send this. */
	bool (*obey)(void *context, uint32_t worker, const void *message, size_t length);
	void (*connected)(void *context, uint32_t worker);
	void (*disconnected)(void *context, uint32_t worker);
	/* Sends what is due, as far as the worker's socket takes it. True: something is left. */
	bool (*send_due)(void *context, uint32_t worker);
	/* Obeys another message of the master than LINK. Takes fd, or -1. */
	void (*told)(void *context, const struct message *m, int fd);
};

/* Private but for env, observe, and links, which a service sends to. */
struct helper_process {
	const struct helper_env *env;
	const struct helper_service *service;
	void *context;
	struct observe_counters counters; /* never read: this process has no slot */
	struct observe observe;
	int *links;         /* by worker; -1: none */
	uint32_t next;      /* the worker that is looked at first */
	struct pollfd *fds; /* the control socket, then the links */
	uint8_t *message;
};

/* Becomes the workers' user, dies with the master by this signal, and enters the sandbox. False with a message. */
bool helper_confine(const struct helper_env *env, int death_signal, unsigned sandbox, char *error,
    size_t error_size);
/* Runs the service until the master closes its end. Returns the exit status. */
int helper_serve(struct helper_process *h, const struct helper_service *service,
    const struct helper_env *env, void *context);
/* Not to be heard any more. */
void helper_disconnect(struct helper_process *h, uint32_t worker);
/*
 * Reads a message of the master. *fd: the helper's end of a link to m->worker, which is one of env->workers; -1: it was
 * another message, or none. False: the master has closed its end.
 */
bool helper_take_link(const struct helper_env *env, struct message *m, int *fd);
void helper_tell_master(
    const struct helper_process *h, enum message_kind kind, size_t object, int fd);

#endif
