/* SPDX-License-Identifier: MIT */
/*
 * Questions about a configuration: names, routes, trusted peers, upstream proxies, and the addresses of this pushgate
 * itself; see conf.h and upstream_proxies.h.
 */
#include "proxy/conf/load.h"
#include "proxy/http/authority.h"

bool conf_has_names(const struct conf *c)
{
	return conf_any(o, c->origins, c->origin_count,
	    o->kind == CONF_ORIGIN_FORWARD ||
		conf_any(s, o->servers, o->server_count, conf_server_is_name(s)));
}

bool conf_remembers(const struct conf *c)
{
	return conf_any(p, c->preloads, c->preload_count, p->remembered != CONF_REMEMBERED_OFF) ||
	       conf_any(r, c->routes, c->route_count, r->speculation.kind != SPECULATION_OFF);
}

bool conf_has_admin(const struct conf *c)
{
	return conf_any(l, c->listens, c->listen_count, l->mode == CONF_MODE_ADMIN);
}

bool conf_tells_ends(const struct conf *c)
{
	return conf_any(o, c->origins, c->origin_count, o->is_private);
}

bool conf_acme_is_over_tls(const struct conf *c)
{
	if (c->server.acme.challenge != CONF_ACME_AUTO)
		return c->server.acme.challenge == CONF_ACME_TLS;
	return !conf_any(l, c->listens, c->listen_count,
	    l->mode == CONF_MODE_GATEWAY && l->certificate_count == 0);
}

bool conf_acme_has_name(const struct conf *c)
{
	return c->server.acme.server && conf_server_is_name(c->server.acme.server);
}

bool conf_tracing_has_name(const struct conf *c)
{
	const struct conf_origin_server *collector = c->server.tracing.collector;
	return collector && conf_server_is_name(collector);
}

uint32_t conf_page_records(const struct conf *c)
{
	bool are_shown = conf_has_admin(c);
	bool are_made = conf_any(l, c->listens, c->listen_count, conf_listen_records(l));
	return are_shown && are_made ? c->server.page_records : 0;
}

bool conf_route_uses(const struct conf_route *r, const struct conf_origin *o)
{
	return conf_any(side, r->sides, r->side_count, side->origin == o);
}

bool conf_listen_trusts(const struct conf_listen *l, const struct address *peer)
{
	return conf_any(t, l->trusted, l->trusted_count,
	    (t->base.family == 0 && peer->family == 0) || cidr_contains(t, peer));
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
	return conf_any(b, blocks, sizeof blocks / sizeof *blocks, cidr_contains(b, a));
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
	return conf_any(pattern, patterns, count, http_host_matches(*pattern, host));
}

static bool is_direct(const struct conf_chain *chain, struct slice host, const struct address *a)
{
	return conf_is_localhost(host, a) ||
	       (a && conf_any(range, chain->direct_ranges, chain->direct_range_count,
			 cidr_contains(range, a))) ||
	       any_matches(chain->direct_hosts, chain->direct_host_count, host);
}

const struct conf_upstream_proxy *conf_upstream_proxy_for(
    const struct conf_origin *o, struct slice host, const struct address *literal)
{
	const struct conf_chain *chain = &o->chain;
	if (chain->proxy_count == 0 || is_direct(chain, host, literal))
		return NULL;
	return conf_first(p, chain->proxies, chain->proxy_count,
	    p->host_count == 0 || any_matches(p->hosts, p->host_count, host));
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

/* Whether the listener has an IP address with this port, which is written to `ip`. */
static bool listens_on(const struct conf_listen *l, uint16_t port, struct address *ip)
{
	if (net_address_port(&l->address) != port)
		return false;
	net_address_ip(&l->address, ip);
	return ip->family != 0;
}

/* By the address that it is, not as it is written: IPv4-mapped in IPv6 it leads to the same listener. */
bool conf_is_own_address(const struct conf *conf, const struct net_address *to)
{
	struct address own, ip;
	net_address_ip(to, &ip);
	return conf_any(l, conf->listens, conf->listen_count,
	    listens_on(l, net_address_port(to), &own) && memcmp(&own, &ip, sizeof ip) == 0);
}

bool conf_listens_everywhere(const struct conf *conf, uint16_t port)
{
	struct address own;
	return conf_any(
	    l, conf->listens, conf->listen_count, listens_on(l, port, &own) && is_any(&own));
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
			conf_warning(l, s->file, p ? p->line : s->line,
			    "server %s is the address of [listen %s], so that its requests would "
			    "come back; name the server of the application",
			    o->servers[i].text, listen->name);
			break;
		}
}
