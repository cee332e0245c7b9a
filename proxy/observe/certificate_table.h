/* SPDX-License-Identifier: MIT */
/*
 * How far the ACME process is with the certificate of each listener, in shared memory: that process alone writes it,
 * `pushgate status` and /metrics read it. Included by observe.h.
 *
 * An entry for each listener of the configuration, by its index; those without acme stay empty. A reader never waits: it
 * leaves out an entry that is just being written.
 */
#ifndef PUSHGATE_OBSERVE_CERTIFICATE_TABLE_H
#define PUSHGATE_OBSERVE_CERTIFICATE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What clients get. */
enum certificate_state {
	CERTIFICATE_UNKNOWN, /* the process has not looked yet */
	CERTIFICATE_MISSING, /* one that nobody else has signed */
	CERTIFICATE_LACKING, /* one that lacks a host of the routes */
	CERTIFICATE_GOOD,
};
const char *certificate_state_text(enum certificate_state state); /* "missing" */

#define CERTIFICATE_WHY_BYTES 400u
struct certificate_report {
	enum certificate_state state;
	uint32_t open;     /* orders: 0 or 1 */
	uint32_t failures; /* orders in a row that have brought nothing */
	int64_t next_at;   /* when the next one begins, in seconds since the Unix epoch */
	char why
	    [CERTIFICATE_WHY_BYTES]; /* the last one that failed did; "": none has since the last success */
};

struct certificate_entry {
	_Atomic uint32_t version; /* odd: the report is being written */
	struct certificate_report report;
};

void certificate_entry_write(struct certificate_entry *e, const struct certificate_report *r);
/* False: nothing is known, or it is being written, perhaps by a process that has died meanwhile. */
bool certificate_entry_read(const struct certificate_entry *e, struct certificate_report *r);

#endif
