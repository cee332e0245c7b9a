/* SPDX-License-Identifier: MIT */
/* Questions about a configuration: names, routes, trusted peers, its own addresses; see conf.h. */
#include "proxy/conf/conf.h"

/* By the address that it is, not as it is written: IPv4-mapped in IPv6 it leads to the same listener. */
bool conf_is_own_address(const struct conf *conf, const struct net_address *to)
{
	struct address own, ip;
	net_address_ip(to, &ip);
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct net_address *a = &conf->listens[i].address;
		if (net_address_port(a) != net_address_port(to))
			continue;
		net_address_ip(a, &own);
		if (own.family != 0 && memcmp(&own, &ip, sizeof(ip)) == 0)
			return true;
	}
	return false;
}

static bool is_any(const struct net_address *a)
{
	struct address ip;
	const struct address any4 = {.family = 4}, any6 = {.family = 6};
	net_address_ip(a, &ip);
	return memcmp(&ip, &any4, sizeof(ip)) == 0 || memcmp(&ip, &any6, sizeof(ip)) == 0;
}

bool conf_listens_everywhere(const struct conf *conf, uint16_t port)
{
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct net_address *a = &conf->listens[i].address;
		if (net_address_port(a) == port && is_any(a))
			return true;
	}
	return false;
}

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
