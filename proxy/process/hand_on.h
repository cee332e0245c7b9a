/* SPDX-License-Identifier: MIT */
/*
 * What a generation knows goes to the next one, at a reload and at an upgrade: by the names of origins, routes and
 * servers, since their numbers may be others there. What cannot be handed on begins anew, and the error log says so.
 */
#ifndef PUSHGATE_PROCESS_HAND_ON_H
#define PUSHGATE_PROCESS_HAND_ON_H

#include "proxy/process/outfit.h"

#include <stdio.h>

/* The health of servers; before the new workers start, and again when their generation takes over. Of an origin that is
 * checked or spoken to in another way, the checks begin anew. Returns the number of servers for which there is no room. */
size_t hand_on_health(struct outfit *to, const struct outfit *from, usec now);
/* The same to another program: a line for each server. Lines and words that the reader does not know are passed over. */
void hand_on_health_write(const struct outfit *from, usec now, FILE *out);
size_t hand_on_health_read(struct outfit *to, struct slice text, usec now);

/* The tables of limits, before the new workers start. False: there is no memory for all of them. */
bool hand_on_limits(struct outfit *to, const struct outfit *from);

#endif
