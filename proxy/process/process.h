/* SPDX-License-Identifier: MIT */
/*
 * The processes: a master that binds sockets and watches its children, workers that run one loop
 * each, and helpers: a logger behind a pipe, a process for files and one for passwords. The master
 * never reads a peer's bytes.
 */
#ifndef PUSHGATE_PROCESS_PROCESS_H
#define PUSHGATE_PROCESS_PROCESS_H

#include "proxy/conf/conf.h"

struct command;

/*
 * Exit statuses, in the sense of bash and systemd. etc/pushgate.service starts pushgate again after 1,
 * which may pass by itself, and not after 2, which stays so until somebody changes something.
 */
enum process_status { PROCESS_DONE = 0, PROCESS_FAILED = 1, PROCESS_BAD_CONF = 2 };

/*
 * `pushgate check`: reports what is wrong with the configuration and what a start would lack, and
 * changes nothing. as_user: as if that user started pushgate; NULL: as this one. strict: a warning
 * is as bad as a mistake. as_json: prints one JSON object (docs/CHECK.md) on standard output, and no
 * lines. Returns the exit status.
 */
int process_check(const char *conf_path, const char *as_user, bool strict, bool as_json);
/* `pushgate run`; single: one worker, in this process, without a logger. Returns the exit status. */
int process_run(const char *conf_path, bool single);
/*
 * `pushgate status`: reads the text from the master's unix socket and prints it: in Prometheus' text
 * format, at a terminal without the lines for programs, or as JSON. Returns the exit status.
 */
int process_status(const char *socket_path, bool as_json);
/* The same text, which the caller frees. NULL: no pushgate answers, and *error says why. */
char *process_status_ask(const char *socket_path, const char **error);
char *process_status_text(const char *socket_path); /* the same without a reason */
/*
 * `pushgate reload`: has the running pushgate read its configuration again, waits until that is used or refused, and
 * prints why it is refused. Returns the exit status, as for a start.
 */
int process_reload(const char *socket_path);
/* The same by SIGHUP to this process, without waiting for the result. */
int process_reload_signal(const char *pid_text);
/* `pushgate server`: gives an order for one server of an origin, and waits until the workers obey. */
extern const struct command process_server_command;
/* `pushgate upgrade`: has the running pushgate start its program's file again and hand over to it, and waits until that
 * serves or has failed. */
extern const struct command process_upgrade_command;
/* The configuration at `path`, which must set a status-socket. The caller frees. NULL: it said why. */
struct conf *process_load_status_socket(const char *command, const char *path);
/*
 * `pushgate trace`: has the running pushgate trace these clients, and prints the lines for so many
 * seconds (at most LIMIT_TRACE_SECONDS), or until the process is ended. Returns the exit status.
 */
int process_trace(const char *socket_path, const struct cidr *from, uint32_t seconds);

#endif
