/* SPDX-License-Identifier: MIT */
/* What becomes of a request: refused here, answered from a held response, or sent to its origin. */
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
	/* :authority says it all, and must stay the only one to say it (RFC 9113 8.3.1). */
	http_head_remove(x->request, HTTP_TOKEN_HOST);
	if (!list_is_empty(&g->hold.used) && hold_claim(&g->hold, x))
		return;
	if (g->env.conf->preload_count > 0) {
		struct client_facts room;
		learned_view(g, x);
		offer_on_request(&g->offers, client_facts(x, &room), x);
	}
	if (!exchange_is_over(x))
		exchange_dispatch(x);
}
