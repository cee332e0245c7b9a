/* SPDX-License-Identifier: MIT */
/*
 * Compares the certificates of the listeners with the hosts of the routes. In forward mode they have nothing in common:
 * the certificate is for the proxy's own name, the hosts are those of others.
 */
#include "proxy/conf/load.h"
#include <inttypes.h>

static bool certificate_covers_route(
    const struct conf_loader *l, const struct net_tls *tls, size_t i)
{
	return conf_any(r, l->conf->routes, l->conf->route_count,
	    !r->is_forward &&
		conf_any(h, r->hosts, r->host_count, net_tls_certificate_covers(tls, i, *h)));
}

static bool takes_any_host(const struct conf_route *route)
{
	return route->host_count == 0 ||
	       slice_is_among(SLICE("*"), route->hosts, route->host_count);
}

/*
 * The first certificate is for clients that name no host: it should be one of those that are served.
 * A route for any host serves it too.
 */
static void check_default(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_listen *listen = s->object;

	if (conf_any(r, l->conf->routes, l->conf->route_count, !r->is_forward && takes_any_host(r)))
		return;
	for (size_t i = 1; i < listen->certificate_count; i++) {
		if (certificate_covers_route(l, s->tls, 0) ||
		    !certificate_covers_route(l, s->tls, i))
			continue;
		conf_warning(l, s->file, s->chains[0].line,
		    "the first certificate is the default, for clients that name no host (SNI) or "
		    "an unknown one, and it covers no host of a route; put that of line %" PRIu32
		    " first",
		    s->chains[i].line);
		return;
	}
}

static bool is_covered(const struct conf_loader *l, struct slice host)
{
	conf_for_each_section (l, s, CONF_SECTION_LISTEN) {
		const struct conf_listen *listen = s->object;
		if (conf_listen_is_forward(listen))
			continue;
		for (size_t i = 0; s->tls && i < listen->certificate_count; i++)
			if (net_tls_certificate_covers(s->tls, i, host))
				return true;
	}
	return false;
}

/* Of a long list, which has probably the wrong file, only the first hosts are named. */
#define HOSTS_NAMED 10u

static void check_hosts_of(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_route *route = s->object;
	uint32_t line = conf_option_line(s, "host host-file");
	size_t found = 0;

	if (line == 0)
		return; /* hosts of [routes] are named there */
	for (size_t h = 0; h < route->host_count; h++) {
		struct slice host = route->hosts[h];
		if (slice_equal(host, SLICE("*")) || is_covered(l, host) || ++found > HOSTS_NAMED)
			continue;
		conf_warning(l, s->file, line,
		    "no certificate covers %.*s, so that clients refuse it over TLS; add one that "
		    "has this name to [listen NAME]",
		    SLICE_ARG(host));
	}
	if (found > HOSTS_NAMED)
		conf_warning(l, s->file, line,
		    "nor does one cover %zu more hosts of %s; add one that has them",
		    found - HOSTS_NAMED, conf_section_title(l, s));
}

void conf_check_covered_hosts(struct conf_loader *l)
{
	bool has_tls = false;

	conf_for_each_section (l, s, CONF_SECTION_LISTEN) {
		const struct conf_listen *listen = s->object;
		if (conf_listen_is_forward(listen))
			continue;
		/* Something in front ends TLS for all hosts. */
		if (listen->certificate_count == 0 && listen->trusted_count > 0)
			return;
		if (s->tls)
			check_default(l, s);
		has_tls = has_tls || s->tls;
	}
	conf_for_each_section (l, s, CONF_SECTION_ROUTES) {
		if (has_tls)
			check_hosts_of(l, s);
	}
	conf_for_each_section (l, s, CONF_SECTION_ROUTE) {
		if (has_tls && !((const struct conf_route *)s->object)->is_forward)
			check_hosts_of(l, s);
	}
}
