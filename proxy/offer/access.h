/* SPDX-License-Identifier: MIT */
/*
 * Who may ask for what, and which addresses may be reached for it: the rules of the listener's [access NAME]
 * section. Included by offer.h.
 *
 * A request is judged twice. First when it has come, before a name is looked up: the rules that name no address
 * decide. In forward mode it is judged again by each address that its destination has, before it is given to a
 * connection to one of them. That holds for connections that are open already too.
 */
#ifndef PUSHGATE_OFFER_ACCESS_H
#define PUSHGATE_OFFER_ACCESS_H

#include "proxy/conf/conf.h"
#include "proxy/relay/relay.h"

enum access_answer { ACCESS_ALLOW, ACCESS_DENY, ACCESS_ASK };

struct access_verdict {
	enum access_answer answer;
	/* Why not: a constant code for the log and for Proxy-Status, such as "address-not-global". */
	const char *reason;
	/* The rule that has decided; NULL: none has, or it was built in. */
	const struct conf_access_rule *rule;
};

/* The first judgement. ACCESS_ALLOW: it may go on, if in forward mode its address may be reached. */
struct access_verdict offer_may_ask(const struct exchange *x);
/* The second: whether x may go to this address and port. For forward mode. */
struct access_verdict offer_may_reach(const struct exchange *x, const struct net_address *to);
/* Whether some rule needs to know the user: else credentials are not looked at. */
bool offer_asks_for_users(const struct conf_listen *l);

#endif
