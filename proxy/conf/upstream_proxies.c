/* SPDX-License-Identifier: MIT */
/* See upstream_proxies.h. */
#include "proxy/conf/conf.h"
#include "proxy/http/authority.h"

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
