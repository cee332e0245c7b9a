/* SPDX-License-Identifier: MIT */
/*
 * Routing by authority and path. The most specific route wins: an exact host before a wildcard, a
 * longer wildcard before a shorter one, any host last; within a host the longest path prefix;
 * between equals the first in the file.
 */
#ifndef PUSHGATE_OFFER_ROUTER_H
#define PUSHGATE_OFFER_ROUTER_H

#include "proxy/conf/conf.h"

struct router;

enum router_answer {
	ROUTER_FOUND,
	ROUTER_NO_HOST, /* no route speaks of this host: 421 */
	ROUTER_NO_PATH, /* routes for the host, none for the path: 404 */
};

struct router *router_new(const struct conf *conf, uint64_t seed); /* borrows conf */
void router_free(struct router *r);
/* authority as sent; the path's query is ignored; "*" (OPTIONS) counts as "/". */
enum router_answer router_find(const struct router *r, struct slice authority, struct slice path,
    const struct conf_route **route);

#endif
