/* SPDX-License-Identifier: MIT */
/* See sums.h. */
#include "proxy/admin/sums.h"

bool sums_take(struct sums *s, const struct admin_env *env)
{
	const struct worker_env *worker = env->worker;
	*s = (struct sums){.alone = {.slots = worker->observe->counters,
			       .worker_count = 1,
			       .health_table = worker->health_table,
			       .conf = worker->conf}};
	if (env->view) {
		s->ledger =
		    ledger_status_new(env->view, worker->health_table, net_now(worker->loop));
		if (!s->ledger)
			return false;
	}
	s->all = status_sum(sums_status(s));
	return true;
}

const struct status *sums_status(const struct sums *s)
{
	return s->ledger ? ledger_status_of(s->ledger) : &s->alone;
}

void sums_fini(struct sums *s)
{
	totals_free(s->all);
	ledger_status_free(s->ledger);
}
