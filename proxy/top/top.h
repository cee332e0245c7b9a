/* SPDX-License-Identifier: MIT */
/*
 * `pushgate top`: the counters of a running pushgate in a terminal, anew each second. It reads the text of `pushgate
 * status` and nothing else, so it sees what a monitor sees.
 */
#ifndef PUSHGATE_TOP_TOP_H
#define PUSHGATE_TOP_TOP_H

#include "proxy/command/command.h"

/* A row of the table of commands. */
extern const struct command top_command;

#endif
