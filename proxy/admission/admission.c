/* SPDX-License-Identifier: MIT */
/* Opens and closes the parts of admission/, and gives back what an exchange had; see admission.h. */
#include "proxy/admission/admission_private.h"

#include "proxy/base/rare.h"

/* What older generations have of a client counts. Alone, the quotas need no table. */
static void open_tunnels(struct admission *a)
{
	const struct conf *c = a->env->conf;
	const struct limit_terms terms = {.concurrent = UINT32_MAX};
	const struct limit_memory memory =
	    admission_memory(a, c->request_limit_count + ADMISSION_TUNNELS);
	if (memory.memory)
		a->tunnels = limit_table_in(memory, &terms, c->server.limit_table_keys);
	a->quotas.shared = a->tunnels;
}

void admission_open(struct admission *a)
{
	request_limits_open(a);
	users_open(a);
	tunnel_quotas_init(&a->quotas, a->env->relay);
	open_tunnels(a);
}

void admission_close(struct admission *a)
{
	request_limits_close(a);
	users_close(a);
	tunnel_quotas_fini(&a->quotas);
	limit_table_free(a->tunnels);
}

RARE void admission_give_back(struct admission *a, struct exchange *x)
{
	const struct admission_part *own = admission_part(x);
	if (own->wait)
		users_exchange_ended(a->users, x);
	if (own->open)
		request_limits_ended(x);
	if (own->tunnel)
		WORKER_COUNT(a->env, tunnels_slowed, tunnel_quotas_end(x));
}
