/* SPDX-License-Identifier: MIT */
/*
 * `rewrite` of a route, and the way back: what an origin says in its own terms (paths below /TO, its own host),
 * in those of the client. Included by route.h.
 */
#ifndef PUSHGATE_ROUTE_REWRITE_H
#define PUSHGATE_ROUTE_REWRITE_H

#include "proxy/conf/conf.h"
#include "proxy/relay/relay.h"

/* Whether the origin gets another path in place of this one. */
bool route_rewrites(const struct conf_route *route, struct slice path);
/* Whether the path, as the origin would understand it, may be outside of /TO. */
bool route_leaves_rewrite(const struct conf_route *route, struct slice path);
/* The path as the origin gets it: in the arena, or the same path. */
struct slice route_origin_path(const struct conf_route *route, struct slice path, struct arena *a);
/* Whether both routes change the path in the same way, or not at all. */
bool route_rewrites_alike(
    const struct conf_route *a, const struct conf_route *b, struct slice path);
/* The path as clients know it, of one that an origin names. False: it is not below /TO. */
bool route_public_path(
    const struct conf_route *route, struct slice theirs, struct arena *a, struct slice *path);

/* A promise with the request: replaces the scheme, authority and path that the origin knows by the client's. False: its
 * scheme is neither's. *outside: its path is not below /TO, and stays. */
bool route_map_promise(const struct http_head *request, const struct relay_place *p,
    struct http_head *promised, bool *outside);
/* A response to the request, if its path was rewritten: Location, Content-Location, Link, and the Path of Set-Cookie. What
 * points out of /TO or to another host stays. */
void route_map_response(
    const struct http_head *request, const struct relay_place *p, struct http_head *head);
/* Whether a resource that a response names is on the host of the request, and not below /FROM. */
bool route_is_outside(
    const struct http_head *request, const struct relay_place *p, const struct http_target *target);

#endif
