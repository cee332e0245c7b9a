/* SPDX-License-Identifier: MIT */
/* Questions about a configuration: names, routes, trusted peers; see conf.h. */
#include "proxy/conf/conf.h"

bool conf_has_names(const struct conf *c)
{
	for (size_t i = 0; i < c->origin_count; i++) {
		const struct conf_origin *o = &c->origins[i];
		if (o->kind == CONF_ORIGIN_FORWARD)
			return true;
		for (size_t k = 0; k < o->server_count; k++)
			if (conf_server_is_name(&o->servers[k]))
				return true;
	}
	return false;
}

bool conf_route_uses(const struct conf_route *r, const struct conf_origin *o)
{
	for (size_t i = 0; i < r->side_count; i++)
		if (r->sides[i].origin == o)
			return true;
	return false;
}

bool conf_listen_trusts(const struct conf_listen *l, const struct address *peer)
{
	for (size_t i = 0; i < l->trusted_count; i++) {
		const struct cidr *t = &l->trusted[i];
		bool is_unix = t->base.family == 0 && peer->family == 0;
		if (is_unix || cidr_contains(t, peer))
			return true;
	}
	return false;
}
