/* SPDX-License-Identifier: MIT */
/*
 * What the master answers on the status socket to a command that has asked for something (reload_request.h,
 * server_request.h): text for its user, and a last line with its exit status.
 */
#ifndef PUSHGATE_PROCESS_ANSWER_H
#define PUSHGATE_PROCESS_ANSWER_H

#include "proxy/base/slice.h"
#include "proxy/process/process.h"

/* The last line: the exit status stands behind it. */
#define ANSWER_STATUS "pushgate: status "

/* Never waits. A command that has ended by now gets nothing. */
void answer_send(int socket, const char *text, size_t length, enum process_status status);
/* The command that waits there has ended. */
bool answer_is_unwanted(int socket);

/* For `pushgate COMMAND`: asks by this name, waits, and prints the text. Returns the exit status. refused: what it means
 * if the process at the socket does not know such requests. */
int answer_ask(
    const char *command, const char *socket_path, struct slice name, const char *refused);

#endif
