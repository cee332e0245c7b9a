/* SPDX-License-Identifier: MIT */
/*
 * When the ledger is written (admin/ledger.h): at once when a process has begun or ended, and each second while /metrics is
 * asked for. To look at what all processes use takes time that grows with their descriptors, so it gets a hundredth of the
 * time at most.
 */
#ifndef PUSHGATE_PROCESS_LEDGER_PACE_H
#define PUSHGATE_PROCESS_LEDGER_PACE_H

#include "proxy/base/clock.h"
#include <stdbool.h>

struct ledger_pace {
	usec at; /* look again then; 0: at once */
	usec asked_until;
	uint64_t scrapes; /* when it was looked at last */
};

/* scrapes: a count that grows with each question for /metrics. True: write it now, if `at` has come. */
bool ledger_pace_wants(struct ledger_pace *p, uint64_t scrapes, usec now);
/* It was written, if that was wanted, and that took so long. Returns when to look again. */
usec ledger_pace_next(struct ledger_pace *p, usec now, usec took);

#endif
