/* SPDX-License-Identifier: MIT */
/*
 * Passive health of one server: counts what came of its requests, and says when the server is to be ejected
 * and for how long. Pure: no clock but the time that it is given, and no timer.
 *
 *              failures in a row, or too large a share of them
 *   in use ──────────────────────────────────────────────────> ejected
 *      ^  ^                                                  ^   │ its time is over
 *      │  └────── an answer ────── on trial ── a failure ────┘   │
 *      │                              ^──────────────────────────┘
 *      └─ half of the ejected time is forgotten each time that it works as long as it was ejected
 */
#ifndef PUSHGATE_UPSTREAM_EJECTION_H
#define PUSHGATE_UPSTREAM_EJECTION_H

#include "proxy/conf/conf.h"
#include "proxy/observe/observe.h"

/* The result of a request, or of a connect. */
enum health_result {
	HEALTH_ANSWERED, /* with a status that is no failure */
	HEALTH_FAILED, /* a status of failure-status, or no response in time, or the connection was lost */
	HEALTH_CONNECT_FAILED, /* also TLS and a timeout */
};

/* The share of failures counts over this time, from this many requests on. */
#define EJECTION_WINDOW_USEC (10 * USEC_PER_SEC)
#define EJECTION_WINDOW_REQUESTS 20u
/* So many failed connects in a row eject: connects are few, since requests go elsewhere after one. */
#define EJECTION_CONNECTS 2u

struct ejection {
	uint32_t failures, failed_connects; /* in a row */
	uint32_t answers_in_window, failures_in_window;
	usec window_began;
	usec until;       /* 0: it is not ejected */
	usec length;      /* of the last time; 0: there was none, or it is forgotten */
	usec returned;    /* from the last time */
	bool is_on_trial; /* it has returned, and answered nothing yet */
};

/* Counts a result. Returns why the server should be ejected, or SERVER_STAYS. While it is ejected nothing counts. */
enum server_verdict ejection_count(
    struct ejection *e, const struct conf_eject *rules, enum health_result result, usec now);
/* Begins the time that ejection_count asked for: sets `until`. */
void ejection_begin(struct ejection *e, const struct conf_eject *rules, usec now);
/* As it was before a reload: an ejection of this length ends then, or has ended. */
void ejection_resume(struct ejection *e, usec until, usec length, usec now);
/* The time is over. */
void ejection_end(struct ejection *e, usec now);

#endif
