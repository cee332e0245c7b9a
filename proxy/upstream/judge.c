/* SPDX-License-Identifier: MIT */
/*
 * Whether a request in forward mode may go to the addresses of its destination. A name is refused if one of its
 * addresses is: one that mixes addresses of a private network with others is how a page reaches into that network.
 */
#include "proxy/upstream/private.h"

/* Without this a proxy could be made to talk to itself, or to what it serves as a gateway. */
static bool is_own(const struct conf *conf, const struct net_address *to)
{
	for (size_t i = 0; i < conf->listen_count; i++)
		if (net_address_equal(&conf->listens[i].address, to))
			return true;
	return false;
}

bool destination_is_open_to(const struct destination *d, struct exchange *x)
{
	list_for_each(&d->servers, s, struct server, link)
	{
		if (s->is_leaving)
			continue;
		if (is_own(d->upstream->env->conf, s->address)) {
			exchange_note_failure(x, &relay_cause_OWN_ADDRESS, 0, "own-listener");
			return false;
		}
		const struct access_verdict verdict = offer_may_reach(x, s->address);
		if (verdict.answer != ACCESS_ALLOW) {
			exchange_note_failure(x, &relay_cause_ADDRESS_DENIED, 0, verdict.reason);
			return false;
		}
	}
	return true;
}
