/* SPDX-License-Identifier: MIT */
/*
 * The paths of one host, or of all hosts that have the same routes: a sorted array, in which each prefix knows
 * the longest other one that it begins with. One run of bytes without pointers (router_table.h). Private to route/.
 */
#ifndef PUSHGATE_ROUTE_ROUTER_PATHS_H
#define PUSHGATE_ROUTE_ROUTER_PATHS_H

#include "proxy/conf/conf.h"
#include "proxy/relay/relay.h"

struct router_paths;

/* The routes in the order of the file, of an array that begins with `first`; no path twice for one route and host. The
 * caller frees (free(3)). */
struct router_paths *router_paths_new(
    const struct conf_route *const *routes, size_t count, const struct conf_route *first);
size_t router_paths_bytes(const struct router_paths *p);
/* routes: the array. path: without query. NULL: no route takes the request. prefix: lies in the paths. */
const struct conf_route *router_paths_find(const struct router_paths *p,
    const struct conf_route *routes, struct slice path, const struct request_facts *request,
    struct slice *prefix, struct effort *effort);

#endif
