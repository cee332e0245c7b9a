/* SPDX-License-Identifier: MIT */
/* Handles a new request: refuses it, answers it from a held response, or sends it to its origin. */
#include "proxy/gateway/private.h"

void gateway_request(void *context, struct exchange *x)
{
	struct gateway *g = context;
	const char *detail = NULL;
	const struct relay_cause *refusal = offer_route(&g->offers, x, &detail);
	if (refusal) {
		exchange_refuse(x, refusal, detail);
		return;
	}
	if (hold_may_answer(&g->hold) && hold_claim(&g->hold, x))
		return;
	if (g->env.conf->preload_count > 0) {
		struct client_facts facts;
		learned_view(g, x);
		offer_on_request(&g->offers, client_facts(x, &facts), x);
	}
	if (!exchange_is_over(x))
		exchange_dispatch(x);
}
