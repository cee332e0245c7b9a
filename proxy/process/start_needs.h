/* SPDX-License-Identifier: MIT */
/*
 * What a start needs of the machine beyond a configuration without mistakes: one table, which `run`
 * walks before it opens anything, and `check` walks without opening anything for good. What conf_load
 * asks of the machine itself (certificates, keys, names of hosts) it reports with the mistakes.
 *
 * A finding (conf/findings.h) says "what is wrong; what to do", with the place of the option that asks
 * for it. Its weight decides the consequence:
 *
 *     weight        check               run
 *     NEED_FAULT    a mistake           ends with status 2: it stays so until somebody changes something
 *     NEED_PASSING  a warning           ends with status 1: it may pass, so a service manager tries again
 *     NEED_WARNING  a warning           a warning: it serves
 *     NEED_NOTE     a note              nothing
 */
#ifndef PUSHGATE_PROCESS_START_NEEDS_H
#define PUSHGATE_PROCESS_START_NEEDS_H

#include "proxy/conf/conf.h"
#include "proxy/process/identity.h"
#include "proxy/process/sockets.h"
#include <sys/types.h>

enum need_weight { NEED_NOTE, NEED_WARNING, NEED_PASSING, NEED_FAULT, NEED_WEIGHTS };

struct start_needs {
	const struct conf *conf; /* all pointers are borrowed */
	struct conf_findings *findings;
	bool is_check;
	uint32_t workers;
	const struct sockets *own; /* the listening sockets that this pushgate has; NULL: none */
	const char *own_status;    /* the same for the status socket's path */
	bool keeps_files;          /* a reload: logs and status socket stay as they are */
	size_t count[NEED_WEIGHTS];
	struct identity identity; /* of workers and helpers, once the user is found */
	bool has_identity;
	pid_t running; /* the pushgate that answers on the status-socket; 0 = none */
	int records;   /* a pipe that findings go to instead; -1 = none */
};

/* Walks the table, with conf, findings, is_check and workers set. False: a start cannot succeed. */
bool start_needs_walk(struct start_needs *n);

/* ---- findings (start_needs_report.c) ---- */

void start_needs_report(struct start_needs *n, enum need_weight weight, struct conf_place at,
    const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Takes the findings of another process, which come through this pipe, until it ends. False: it has not by then. */
bool start_needs_pass_on(struct start_needs *n, int records, usec until);
/* Whether this user may make files in the folder of `path`, the value of `key`. False: a fault was reported. */
bool start_needs_can_make(
    struct start_needs *n, struct conf_place at, const char *key, const char *path);
/* The same of a folder that is itself the value of `key`. */
bool start_needs_can_fill(
    struct start_needs *n, struct conf_place at, const char *key, const char *folder);

/* ---- rows of the table: start_needs_memory.c, start_needs_listen.c, start_needs_files.c ---- */

void start_needs_memory(struct start_needs *n);
/* In bytes; UINT64_MAX: no limit. */
struct memory_limits {
	uint64_t process; /* address space of one process */
	uint64_t present; /* how much of that a worker begins with */
	uint64_t group;   /* memory of all processes of the control group */
};
void start_needs_judge_memory(struct start_needs *n, const struct memory_limits *l);
/* The least memory.max of the control group (version 2) that the file `groups` names, and of those around it. */
uint64_t start_needs_group_limit(const char *root, const char *groups);
void start_needs_status_socket(struct start_needs *n);
void start_needs_addresses(struct start_needs *n);
void start_needs_sources(struct start_needs *n);
void start_needs_logs(struct start_needs *n);
void start_needs_manifests(struct start_needs *n);
void start_needs_users(struct start_needs *n);
void start_needs_remembered_file(struct start_needs *n);
void start_needs_acme_dir(struct start_needs *n);

#endif
