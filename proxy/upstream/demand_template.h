/* SPDX-License-Identifier: MIT */
/*
 * How the destinations that requests name are spoken to: for each [origin] with server = forward: the options that all
 * of them share, the protocols, and TLS. Private to upstream/.
 */
#ifndef PUSHGATE_UPSTREAM_DEMAND_TEMPLATE_H
#define PUSHGATE_UPSTREAM_DEMAND_TEMPLATE_H

#include "proxy/offer/offer.h"

struct upstream;

struct demand_template {
	struct conf_origin
	    conf; /* of the [origin], but for what differs; conf.proxy: through an upstream proxy */
	struct session_plan *plans[2]; /* as in struct destination */
	struct net_tls *tls;           /* NULL: cleartext */
	struct net_tls
	    *proxy_tls; /* of conf.proxy, with which a tunnel is opened; NULL: cleartext */
	bool owns_tls;
};

/* All that a worker has. */
struct demand_templates {
	const struct upstream *upstream;
	struct demand_template
	    *direct; /* some for each origin, by its index; those of others are empty */
	struct demand_template **proxied; /* by origin: some for each of its upstream proxies */
};

/* False, with a message: a file of authorities cannot be read. To be closed in either case. */
bool demand_templates_open(
    struct demand_templates *t, const struct upstream *u, char *error, size_t error_size);
void demand_templates_close(struct demand_templates *t);
/* The one for a request. If its destination is an upstream proxy itself, which all hosts share, the target has no host
 * and no port any more. */
const struct demand_template *demand_template_of(
    const struct demand_templates *t, const struct exchange *x, struct offer_target *target);

#endif
