/* SPDX-License-Identifier: MIT */
/*
 * Whether a request in forward mode may go to the addresses of its destination. A name is refused if one of its
 * addresses is: one that mixes addresses of a private network with others is how a page reaches into that network.
 */
#include "proxy/upstream/destination.h"

#include "proxy/admission/admission.h"
#include "proxy/limits.h"

void destination_note_refused(struct exchange *x, const struct net_address *to)
{
	char text[NET_ADDRESS_TEXT];
	net_address_format(to, text, sizeof(text));
	attempt_of(x)->refused_address = exchange_keep_text(x, text);
}

/* Why a request may not go somewhere. */
struct refusal {
	const struct relay_cause *cause;
	const char *detail; /* constant */
	uint8_t denial;     /* of admission_part */
	bool has_address;   /* `to` is the address that it is refused for */
	struct net_address to;
};

/* Without this a proxy could be made to talk to itself, or to what it serves as a gateway. */
static bool is_own(
    const struct destination *d, const struct net_address *to, struct refusal *refusal)
{
	if (!conf_is_own_address(d->upstream->env->conf, to))
		return false;
	*refusal = (struct refusal){&relay_cause_OWN_ADDRESS, "own-listener", 0, true, *to};
	return true;
}

/* to NULL: a name that an upstream proxy looks up. */
static bool may_reach(const struct request_facts *f, const struct net_address *to,
    struct effort *effort, struct refusal *refusal)
{
	const struct access_verdict verdict = access_may_reach(f, to, effort);
	const struct relay_cause *cause = access_cause(f->listener, &verdict);
	if (!cause)
		return true;
	*refusal = (struct refusal){.cause = cause,
	    .detail = verdict.reason,
	    .denial = (uint8_t)(1 + verdict.why),
	    .has_address = to != NULL};
	if (to)
		refusal->to = *to;
	return false;
}

/* The operator has chosen the proxy, so its address is not judged. A name is looked up there: only a destination that
 * is written as an address has one here. */
static bool is_open_through_proxy(const struct destination *d, const struct request_facts *f,
    struct effort *effort, struct refusal *refusal)
{
	struct request_target target;
	struct net_address to;
	if (!route_read_target(f->head, &target) || !target.is_address)
		return may_reach(f, NULL, effort, refusal);
	net_address_set_ip(&to, &target.address, target.port);
	return !is_own(d, &to, refusal) && may_reach(f, &to, effort, refusal);
}

static bool is_open(const struct destination *d, const struct request_facts *f,
    struct effort *effort, struct refusal *refusal)
{
	if (d->origin.conf->proxy)
		return is_open_through_proxy(d, f, effort, refusal);
	list_for_each(&d->servers, s, struct server, link)
	{
		if (s->at.is_leaving)
			continue;
		if (is_own(d, s->at.address, refusal) ||
		    !may_reach(f, s->at.address, effort, refusal))
			return false;
	}
	return true;
}

bool destination_is_open_to(
    const struct destination *d, const struct request_facts *f, struct effort *effort)
{
	struct refusal refusal;
	return is_open(d, f, effort, &refusal);
}

bool destination_admits(const struct destination *d, struct exchange *x)
{
	struct refusal refusal;
	if (is_open(d, &x->facts, exchange_effort(x), &refusal))
		return true;
	if (refusal.denial > 0)
		admission_part(x)->denial = refusal.denial;
	if (refusal.has_address)
		destination_note_refused(x, &refusal.to);
	attempt_note_failure(x, refusal.cause, 0, refusal.detail);
	return false;
}

const struct net_address *upstream_reached(const struct exchange *x)
{
	const struct destination *d = attempt_of(x)->destination;
	const struct server *s = given_server(x);
	return d && s && d->origin.is_dynamic && !d->origin.conf->proxy ? s->at.address : NULL;
}

bool upstream_is_open_to(const struct exchange *push, const struct request_facts *f)
{
	const struct destination *d = attempt_of(push)->destination;
	const struct server *s = given_server(push);
	struct effort effort = effort_of(LIMIT_EFFORT_OF_REQUEST);
	struct refusal refusal;
	if (!d || !d->origin.is_dynamic)
		return true;
	return s && !d->origin.conf->proxy ? may_reach(f, s->at.address, &effort, &refusal)
					   : is_open(d, f, &effort, &refusal);
}
