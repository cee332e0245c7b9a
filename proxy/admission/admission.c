/* SPDX-License-Identifier: MIT */
/* Opens and closes the parts of admission/, and gives back what an exchange had; see admission.h. */
#include "proxy/admission/admission_private.h"

#include "proxy/base/rare.h"

void admission_open(struct admission *a)
{
	request_limits_open(a);
	users_open(a);
	tunnel_quotas_init(&a->quotas, a->env->relay);
}

void admission_close(struct admission *a)
{
	request_limits_close(a);
	users_close(a);
	tunnel_quotas_fini(&a->quotas);
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
