/* SPDX-License-Identifier: MIT */
/*
 * Questions about a configuration: names, routes, trusted peers, upstream proxies, and the addresses of this pushgate
 * itself; see conf.h and upstream_proxies.h.
 */
#include "proxy/conf/load.h"
#include "proxy/http/authority.h"

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

/* ---- upstream proxies ---- */

/* Loopback, and the addresses 0.0.0.0 and ::, which a connection takes for loopback. */
static bool is_this_machine(const struct address *a)
{
	static const struct cidr blocks[] = {
	    {{{127}, 4}, 8},
	    {{{0}, 4}, 32},
	    {{{[15] = 1}, 6}, 128},
	    {{{0}, 6}, 128},
	};
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
		if (cidr_contains(&blocks[i], a))
			return true;
	return false;
}

bool conf_is_localhost(struct slice host, const struct address *literal)
{
	/* RFC 6761 6.3 */
	return literal ? is_this_machine(literal)
		       : http_host_matches(SLICE("localhost"), host) ||
			     http_host_matches(SLICE("*.localhost"), host);
}

static bool any_matches(const struct slice *patterns, size_t count, struct slice host)
{
	for (size_t i = 0; i < count; i++)
		if (http_host_matches(patterns[i], host))
			return true;
	return false;
}

static bool is_direct(const struct conf_chain *chain, struct slice host, const struct address *a)
{
	for (size_t i = 0; a && i < chain->direct_range_count; i++)
		if (cidr_contains(&chain->direct_ranges[i], a))
			return true;
	return conf_is_localhost(host, a) ||
	       any_matches(chain->direct_hosts, chain->direct_host_count, host);
}

const struct conf_upstream_proxy *conf_upstream_proxy_for(
    const struct conf_origin *o, struct slice host, const struct address *literal)
{
	const struct conf_chain *chain = &o->chain;
	if (chain->proxy_count == 0 || is_direct(chain, host, literal))
		return NULL;
	for (size_t i = 0; i < chain->proxy_count; i++) {
		const struct conf_upstream_proxy *p = &chain->proxies[i];
		if (p->host_count == 0 || any_matches(p->hosts, p->host_count, host))
			return p;
	}
	return NULL;
}

/* ---- own addresses: a request that is sent to one comes back, and is refused as a loop ---- */

static bool is_any(const struct address *ip)
{
	static const uint8_t zero[sizeof ip->bytes];
	return memcmp(ip->bytes, zero, sizeof zero) == 0;
}

bool conf_is_listener(const struct conf_listen *listen, const struct conf_origin_server *s)
{
	struct address at, to;
	if (listen->address.length == 0)
		return false;
	if (!s->host) /* a unix socket, or the demo site */
		return s->address.length > 0 && net_address_equal(&listen->address, &s->address);
	if (s->port == 0 || net_address_port(&listen->address) != s->port)
		return false;
	net_address_ip(&listen->address, &at);
	net_address_ip(&s->address, &to);
	bool is_local =
	    conf_is_localhost(slice_of_string(s->host), s->address.length > 0 ? &to : NULL);
	if (is_any(&at) && at.family != 0)
		return is_local;
	if (s->address.length == 0)
		return is_local && conf_is_localhost(SLICE(""), &at);
	return net_address_equal(&listen->address, &s->address);
}

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

bool conf_listens_everywhere(const struct conf *conf, uint16_t port)
{
	struct address own;
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct net_address *a = &conf->listens[i].address;
		net_address_ip(a, &own);
		if (net_address_port(a) == port && own.family != 0 && is_any(&own))
			return true;
	}
	return false;
}

void conf_check_own_servers(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_origin *o = s->object;
	const struct conf_option_place *p;
	for (size_t i = 0; i < o->server_count; i++)
		for (size_t k = 0; k < l->conf->listen_count; k++) {
			const struct conf_listen *listen = &l->conf->listens[k];
			if (!conf_is_listener(listen, &o->servers[i]))
				continue;
			p = conf_nth_option(s, "server", i);
			conf_warning(l, s->file, p ? p->at.line : s->line,
			    "server %s is the address of [listen %s], so that its requests would "
			    "come back; name the server of the application",
			    o->servers[i].text, listen->name);
			break;
		}
}
