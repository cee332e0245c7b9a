/* SPDX-License-Identifier: MIT */
/* Whether a request that one server has failed can be given to another. */
#include "proxy/upstream/destination.h"
#include "proxy/upstream/private.h"

static bool was_tried(const struct exchange *x, const struct server *s)
{
	for (unsigned i = 0; i < x->context.tried_count; i++)
		if (x->context.tried[i] == s->member.id)
			return true;
	return s == x->context.server;
}

bool upstream_has_other_server(const struct exchange *x)
{
	const struct server *last = x->context.server;
	if (!last)
		return false;
	list_for_each(&last->destination->servers, s, struct server, link)
	{
		if (!s->is_leaving && !s->conf->is_down && !was_tried(x, s))
			return true;
	}
	return false;
}
