/* SPDX-License-Identifier: MIT */
/*
 * Whether a request in forward mode may go to the addresses of its destination. A name is refused if one of its
 * addresses is: one that mixes addresses of a private network with others is how a page reaches into that network.
 */
#include "proxy/upstream/private.h"

void destination_note_refused(struct exchange *x, const struct net_address *to)
{
	char text[NET_ADDRESS_TEXT];
	net_address_format(to, text, sizeof(text));
	x->context.refused_address = arena_printf(exchange_arena(x), "%s", text).ptr;
}

/* Without this a proxy could be made to talk to itself, or to what it serves as a gateway. */
static bool is_own(const struct destination *d, struct exchange *x, const struct net_address *to)
{
	if (!conf_is_own_address(d->upstream->env->conf, to))
		return false;
	destination_note_refused(x, to);
	exchange_note_failure(x, &relay_cause_OWN_ADDRESS, 0, "own-listener");
	return true;
}

static bool may_reach(struct exchange *x, const struct net_address *to)
{
	const struct access_verdict verdict = offer_may_reach(x, to);
	const struct relay_cause *refusal = offer_access_cause(x->context.listen, &verdict);
	if (!refusal)
		return true;
	x->context.denial = (uint8_t)(1 + verdict.why);
	if (to)
		destination_note_refused(x, to);
	exchange_note_failure(x, refusal, 0, verdict.reason);
	return false;
}

/* The operator has chosen the proxy, so its address is not judged. A name is looked up there: only a destination that
 * is written as an address has one here. */
static bool is_open_through_proxy(const struct destination *d, struct exchange *x)
{
	struct offer_target target;
	struct net_address to;
	if (!offer_read_target(x->request, &target) || !target.is_address)
		return may_reach(x, NULL);
	net_address_set_ip(&to, &target.address, target.port);
	return !is_own(d, x, &to) && may_reach(x, &to);
}

bool origin_conn_is_own(const struct origin_conn *c)
{
	const struct conf *conf = c->upstream->env->conf;
	struct net_address peer;
	if (!net_conn_peer(c->net, &peer))
		return false;
	return conf_is_own_address(conf, &peer) ||
	       (conf_listens_everywhere(conf, net_address_port(&peer)) &&
		   net_conn_is_to_itself(c->net));
}

bool destination_is_open_to(const struct destination *d, struct exchange *x)
{
	if (d->origin->proxy)
		return is_open_through_proxy(d, x);
	list_for_each(&d->servers, s, struct server, link)
	{
		if (s->is_leaving)
			continue;
		if (is_own(d, x, s->address) || !may_reach(x, s->address))
			return false;
	}
	return true;
}

bool upstream_is_open_to(const struct exchange *push, const struct exchange *x)
{
	const struct destination *d = push->context.destination;
	const struct server *s = push->context.server;
	struct exchange asked = {.relay = x->relay,
	    .request = x->request,
	    .method = x->method,
	    .context = x->context,
	    .effort_since = USEC_NEVER};
	if (!d)
		return true;
	return s && !d->origin->proxy ? may_reach(&asked, s->address)
				      : destination_is_open_to(d, &asked);
}
