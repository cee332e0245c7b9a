/* SPDX-License-Identifier: MIT */
/* See sums.h. */
#include "proxy/admin/sums.h"

bool sums_begin(struct sums *s, const struct admin_env *env, bool has_series)
{
	const struct worker_env *worker = env->worker;
	*s = (struct sums){.alone = {.slots = worker->observe->counters,
			       .worker_count = 1,
			       .health_table = worker->health_table,
			       .conf = worker->conf}};
	if (!env->view) {
		s->all = status_sum(&s->alone);
		return true;
	}
	s->ledger =
	    ledger_status_new(env->view, worker->health_table, has_series, net_now(worker->loop));
	if (s->ledger)
		s->all = ledger_status_sum(s->ledger);
	return s->ledger != NULL;
}

bool sums_add_up(struct sums *s)
{
	return s->ledger && ledger_status_add_up(s->ledger);
}

bool sums_take(struct sums *s, const struct admin_env *env)
{
	if (!sums_begin(s, env, false))
		return false;
	while (sums_add_up(s))
		;
	return true;
}

const struct status *sums_status(const struct sums *s)
{
	return s->ledger ? ledger_status_of(s->ledger) : &s->alone;
}

void sums_fini(struct sums *s)
{
	if (!s->ledger)
		totals_free(s->all);
	ledger_status_free(s->ledger);
}
