/* SPDX-License-Identifier: MIT */
/*
 * `pushgate report`: reads access logs and says who takes pushes, what was used and wasted, and which rules are
 * worth keeping. It knows the fields of the log (proxy/log_fields.h) and nothing of what wrote them.
 */
#ifndef PUSHGATE_REPORT_REPORT_H
#define PUSHGATE_REPORT_REPORT_H

#include "proxy/command/command.h"

/* A row of the table of commands. */
extern const struct command report_command;

#endif
