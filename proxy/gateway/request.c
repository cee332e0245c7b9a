/* SPDX-License-Identifier: MIT */
/* Handles a new request: refuses it, answers it from a held response, or sends it to its origin. */
#include "proxy/gateway/private.h"

/* The operator has probably forgotten the line that says where TLS ends. */
static void log_untrusted_scheme(struct gateway *g, const struct exchange *x)
{
	static const char what[] = "untrusted scheme";
	char text[64];
	const struct conf_listen *l = x->context.listen;
	const char *client = address_format(&x->context.client, text, sizeof(text));
	observe_log_fault(g->env.observe, OBSERVE_WARN, what, g->relay.now,
	    "%s: client %s: %s, answered 421; if TLS ends there, add trusted = %s to [listen %s]",
	    l->name, client, l->certificate_count > 0 ? "http over TLS" : "https in cleartext",
	    x->context.client.family == 0 ? "unix" : client, l->name);
}

void gateway_request(void *context, struct exchange *x)
{
	struct gateway *g = context;
	const char *detail = NULL;
	const struct relay_cause *refusal = offer_route(&g->offers, x, &detail);
	if (refusal) {
		if (refusal == &relay_cause_UNTRUSTED_SCHEME)
			log_untrusted_scheme(g, x);
		exchange_refuse(x, refusal, detail);
		return;
	}
	if (x->context.call_timeout > 0)
		client_bound_call(x);
	/* A page that is answered from a held response wants its resources too. */
	if (g->env.conf->preload_count > 0) {
		struct client_facts facts;
		learned_view(g, x);
		offer_on_request(&g->offers, client_facts(x, &facts), x);
	}
	if (exchange_is_over(x) || (hold_may_answer(&g->hold) && hold_claim(&g->hold, x)))
		return;
	exchange_dispatch(x);
}
