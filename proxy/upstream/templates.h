/* SPDX-License-Identifier: MIT */
/*
 * The protocols, TLS and configuration that dynamic destinations share: for each [origin] with server = forward: those
 * of http, https and CONNECT, and the same through each of its upstream proxies. Private to upstream/.
 */
#ifndef PUSHGATE_UPSTREAM_TEMPLATES_H
#define PUSHGATE_UPSTREAM_TEMPLATES_H

#include "proxy/conf/conf.h"
#include "proxy/upstream/upstream.h"

/* The requests that a connection carries decide which protocols it speaks. */
enum template_kind {
	TEMPLATE_HTTP, /* with an upstream proxy: that one itself, which gets requests for http, and CONNECTs */
	TEMPLATE_HTTPS,
	TEMPLATE_TUNNEL, /* with an upstream proxy: requests for http that upgrade */
	TEMPLATE_KINDS
};

struct template
{
	struct conf_origin conf;
	struct session_plan *plans[2]; /* as in struct origin */
	struct net_tls *tls;           /* NULL: cleartext */
	struct net_tls
	    *proxy_tls; /* of conf.proxy, with which a tunnel is opened; NULL: cleartext */
	bool owns_tls;
};

struct templates;

/* NULL, and a message: a CA file cannot be read. */
struct templates *templates_open(struct upstream *u, char *error, size_t error_size);
void templates_free(struct templates *t); /* accepts NULL */
/* p: through this upstream proxy; NULL: through none. */
const struct template *templates_get(const struct templates *t, const struct conf_origin *origin,
    const struct conf_upstream_proxy *p, enum template_kind kind);

#endif
