/* SPDX-License-Identifier: MIT */
/*
 * Open connections of all workers, in shared memory, for the pages of admin listeners. A lane for each worker, which
 * alone writes it: at most once a second, and only while some reader has lately asked. It has the newest connections of each
 * side; more are counted. Included by observe.h.
 */
#ifndef PUSHGATE_OBSERVE_CONNECTION_TABLE_H
#define PUSHGATE_OBSERVE_CONNECTION_TABLE_H

#include "proxy/base/clock.h"
#include "proxy/base/hop_settings.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Of each side, in each worker: a page for people has no more. */
#define CONNECTION_ROWS 128u

struct connection_row {
	uint64_t id; /* as in the access log: connection or origin_connection */
	usec opened; /* on the monotonic clock, as all times here */
	uint32_t is_origin;
	uint32_t open; /* its requests and pushes */
	struct hop_settings ours, theirs;
	char peer[64], name[48], protocol[16]; /* name: of the listener or the origin */
};

struct connection_list {
	usec written; /* 0: never */
	uint32_t count, left_out;
	struct connection_row rows[2 * CONNECTION_ROWS];
};

struct connection_lane {
	_Atomic uint64_t wanted_until; /* a reader asks for it */
	_Atomic uint32_t version;      /* odd: it is being written */
	struct connection_list list;
};

/* ---- the worker ---- */

bool connection_lane_is_wanted(const struct connection_lane *l, usec now);
/* The list, to be written; connection_lane_done ends that. */
struct connection_list *connection_lane_begin(struct connection_lane *l);
void connection_lane_done(struct connection_lane *l, usec now);
/* Fills in a text of a row. */
void connection_text(char *to, size_t size, const char *text);

/* ---- a reader ---- */

void connection_lane_want(struct connection_lane *l, usec until);
/* Copies it; all texts end. False: it is being written. */
bool connection_lane_read(const struct connection_lane *l, struct connection_list *copy);

#endif
