/* SPDX-License-Identifier: MIT */
/* The counters of all workers and generations, added up for one answer. Private to admin/. */
#ifndef PUSHGATE_ADMIN_SUMS_H
#define PUSHGATE_ADMIN_SUMS_H

#include "proxy/admin/admin.h"

/* The master writes the ledger for a fraction of a millisecond: a reader tries again so soon. If the master was stopped
 * meanwhile, the answer fails after so many times. */
#define SUMS_BUSY_USEC USEC_PER_MSEC
#define SUMS_BUSY_TRIES 1000u

struct sums {
	struct ledger_status *ledger; /* owned; NULL: there is no ledger */
	struct status alone;          /* then: of this worker */
	struct totals *all;           /* owned by the ledger's status, else by this */
};

/* The counters, to be added up part by part. has_series: with all histograms. False: the master is writing; try again. */
bool sums_begin(struct sums *s, const struct admin_env *env, bool has_series);
/* Adds up a part. False: that was the last. */
bool sums_add_up(struct sums *s);
/* The counters without histograms, added up. False: as above; sums_fini even then. */
bool sums_take(struct sums *s, const struct admin_env *env);
const struct status *sums_status(const struct sums *s);
void sums_fini(struct sums *s); /* accepts zeroes */

#endif
