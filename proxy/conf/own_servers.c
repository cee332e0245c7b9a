/* SPDX-License-Identifier: MIT */
/*
 * The addresses of this pushgate itself: a request that is sent to one would come back, and be refused as a loop. Warns
 * of servers and proxies that have one.
 */
#include "proxy/conf/load.h"

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
