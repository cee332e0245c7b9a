/* SPDX-License-Identifier: MIT */
/*
 * Routing by authority, path, method and fields. The most specific route wins: an exact host goes before a
 * wildcard, a longer wildcard before a shorter one, and a route for any host is last. For one host the longest
 * path prefix wins. Of routes with the same prefix those with conditions are tried first, in the order of the
 * file, then the first one without. A request that meets no conditions goes to shorter prefixes, then to less
 * specific hosts. Included by route.h.
 *
 * A lookup costs one hash of the host (and one for each of its labels, if there are wildcards), and the
 * logarithm of the number of paths.
 */
#ifndef PUSHGATE_ROUTE_ROUTER_H
#define PUSHGATE_ROUTE_ROUTER_H

#include "proxy/conf/conf.h"
#include "proxy/relay/relay.h"

struct router;

enum router_answer {
	ROUTER_FOUND,
	ROUTER_NO_HOST, /* no route is for this host: 421 */
	ROUTER_NO_PATH, /* no route of the host is for this path, with this method and these fields: 404 */
};

/* The table of the routes that listeners with this mode use: bytes without pointers, for all processes that have the same
 * routes. Empty: forward mode is not used. The caller frees it. */
struct slice router_table_make(const struct conf *conf, enum conf_listen_mode mode, uint64_t seed);
void router_table_free(struct slice table);

/* Those of all listeners. */
struct router_tables {
	struct slice gateway, forward; /* owned, unless they lie in memory of another owner */
};
struct router_tables router_tables_make(const struct conf *conf, uint64_t seed);
void router_tables_free(struct router_tables *t); /* idempotent */

/* Borrows conf and the table, which is of its routes and aligned for any type. NULL: the table is empty. */
struct router *router_of_table(const struct conf *conf, struct slice table);
/* The next requests are looked up in this table. Borrows it; the one before is needed no more. */
void router_use(struct router *r, struct slice table);
/* The same with a table of its own; NULL: forward mode is not used. */
struct router *router_new(const struct conf *conf, enum conf_listen_mode mode, uint64_t seed);
void router_free(struct router *r);
/* Whether a route names the host, or a wildcard above it; not those for any host. host: as http_host_read writes it. */
bool router_has_host(const struct router *r, struct slice host);
/* request: its authority as the client sent it. The path's query is ignored; "*" (OPTIONS) and none (CONNECT) count as "/".
 * prefix: gets the path prefix by which the route was found, lent until the next router_use; may be NULL. effort: the work
 * that this request may still cause; NULL: as much as one request may cause in all. When it is used up, a route whose
 * conditions have patterns does not match. */
enum router_answer router_find(const struct router *r, const struct request_facts *request,
    const struct conf_route **route, struct slice *prefix, struct effort *effort);

#endif
