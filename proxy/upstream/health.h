/* SPDX-License-Identifier: MIT */
/*
 * Whether a server may get requests, as far as what came of the earlier ones says (passive: each worker's own
 * view), and what the checks say (active: one worker's, shared by all; health_check.h). Included by private.h.
 */
#ifndef PUSHGATE_UPSTREAM_HEALTH_H
#define PUSHGATE_UPSTREAM_HEALTH_H

#include "proxy/base/clock.h"
#include "proxy/base/wheel.h"
#include <stdbool.h>
#include <stdint.h>

struct destination;
struct server;

/* What came of a request, or of a connect. */
enum health_result {
	HEALTH_ANSWERED, /* with a status that is no failure */
	HEALTH_FAILED, /* a status of failure-status, or no response in time, or the connection was lost */
	HEALTH_CONNECT_FAILED, /* also TLS and a timeout */
};

enum server_state {
	SERVER_UP,
	SERVER_DOWN,    /* by configuration */
	SERVER_EJECTED, /* passively, for a time */
	SERVER_FAILING, /* its checks */
	SERVER_LEAVING, /* its name has it no more */
};
const char *server_state_name(enum server_state state); /* "up" */

struct server_health {
	uint32_t failures; /* in a row */
	uint32_t answers_in_window, failures_in_window;
	usec window_began;
	uint32_t ejections;      /* that make the next one longer */
	usec ejected_until;      /* 0: it is not */
	struct wheel_node timer; /* its return */
	bool check_fails;
};

void health_init(struct server *s);
void health_fini(struct server *s);
/* May eject the server: then destination_changed follows. */
void health_report(struct server *s, enum health_result result);
enum server_state health_state(const struct server *s);

#endif
