/* SPDX-License-Identifier: MIT */
/* The counters of all workers, added up for one answer. Private to admin/. */
#ifndef PUSHGATE_ADMIN_SUMS_H
#define PUSHGATE_ADMIN_SUMS_H

#include "proxy/admin/admin.h"

struct sums {
	struct ledger_status *ledger; /* owned; NULL: there is no ledger */
	struct status alone;          /* then: of this worker */
	struct totals *all;           /* owned */
};

/* False: the master is writing; try again. sums_fini even then. */
bool sums_take(struct sums *s, const struct admin_env *env);
const struct status *sums_status(const struct sums *s);
void sums_fini(struct sums *s);

#endif
