/* SPDX-License-Identifier: MIT */
/*
 * The paths of one host, or of all hosts that have the same routes: a sorted array, in which each prefix knows
 * the longest other one that it begins with. Private to route/.
 */
#ifndef PUSHGATE_ROUTE_ROUTER_PATHS_H
#define PUSHGATE_ROUTE_ROUTER_PATHS_H

#include "proxy/conf/conf.h"

struct router_paths;

/* The routes in the order of the file; no path twice for one route and host. Borrows them. */
struct router_paths *router_paths_new(const struct conf_route *const *routes, size_t count);
void router_paths_free(struct router_paths *p); /* accepts NULL */
/* Whether it was made of exactly these routes. */
bool router_paths_are_of(
    const struct router_paths *p, const struct conf_route *const *routes, size_t count);
/* path: without query. NULL: no route takes the request. */
const struct conf_route *router_paths_find(const struct router_paths *p, struct slice path,
    const struct http_head *request, struct slice *prefix, struct effort *effort);

#endif
