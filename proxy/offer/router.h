/* SPDX-License-Identifier: MIT */
/*
 * Routing by authority and path. The most specific route wins: an exact host goes before a wildcard, a
 * longer wildcard before a shorter one, and a route for any host is last. For one host the longest path
 * prefix wins; of equal routes, the first in the file. Included by offer.h.
 */
#ifndef PUSHGATE_OFFER_ROUTER_H
#define PUSHGATE_OFFER_ROUTER_H

#include "proxy/conf/conf.h"

struct router;

enum router_answer {
	ROUTER_FOUND,
	ROUTER_NO_HOST, /* no route is for this host: 421 */
	ROUTER_NO_PATH, /* no route of the host is for this path: 404 */
};

struct router *router_new(const struct conf *conf, uint64_t seed); /* borrows conf */
void router_free(struct router *r);
/* authority: as the client sent it. The path's query is ignored; "*" (OPTIONS) counts as "/". */
enum router_answer router_find(const struct router *r, struct slice authority, struct slice path,
    const struct conf_route **route);

#endif
