/* SPDX-License-Identifier: MIT */
/*
 * The upstream proxies of an origin with server = forward:, and what goes past them. Included by conf.h.
 */
#ifndef PUSHGATE_CONF_UPSTREAM_PROXIES_H
#define PUSHGATE_CONF_UPSTREAM_PROXIES_H

#include "proxy/base/cidr.h"

struct conf_origin;
struct conf_origin_server;

/* One line upstream-proxy. */
struct conf_upstream_proxy {
	const char *text; /* https://HOST:PORT, without the user and what is behind it */
	struct conf_origin_server *server;
	bool is_tls;
	struct slice authorization; /* the value of Proxy-Authorization; empty: none. Never shown */
	struct slice *hosts;        /* patterns for http_host_matches; none = any */
	size_t host_count;
	uint32_t index; /* among the lines of the origin */
};

struct conf_chain {
	struct conf_upstream_proxy *proxies; /* the first one whose hosts match is used */
	size_t proxy_count;
	/* Lines no-proxy: these destinations are connected to. */
	struct slice *direct_hosts;
	size_t direct_host_count;
	struct cidr *direct_ranges; /* for destinations that are written as addresses */
	size_t direct_range_count;
};

/*
 * The upstream proxy for a destination; NULL: none, it is connected to. host: as http_host_read gives it. literal:
 * the address that the host is; NULL: it is a name. This machine's own names and addresses (localhost, 127.0.0.0/8,
 * ::1, 0.0.0.0, ::) would mean another machine there: they never go through a proxy.
 */
const struct conf_upstream_proxy *conf_upstream_proxy_for(
    const struct conf_origin *o, struct slice host, const struct address *literal);
/* Whether a host means this machine, wherever it is read. */
bool conf_is_localhost(struct slice host, const struct address *literal);

#endif
