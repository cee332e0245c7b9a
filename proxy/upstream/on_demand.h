/* SPDX-License-Identifier: MIT */
/*
 * Destinations that requests name themselves (forward mode): made when the first request for them comes, shared by
 * all that follow, and evicted when nobody uses them. Private to upstream/.
 *
 *   on_demand ─┬─ templates: for each [origin] with server = forward:, how http, https and CONNECT are spoken
 *              │               the same for each of its upstream proxies, and how that one itself is spoken to
 *              └─ demands, by origin, template, host and port ─── destination
 *
 * A demand is in use while an exchange has its destination. After that it stays for a while, and as long as its
 * connections are open, unless another one needs its place.
 */
#ifndef PUSHGATE_UPSTREAM_ON_DEMAND_H
#define PUSHGATE_UPSTREAM_ON_DEMAND_H

#include "proxy/base/map.h"
#include "proxy/upstream/destination.h"

struct on_demand;

/* NULL: no origin is forward:. Returns false and writes a message when a CA file cannot be read. */
bool on_demand_open(struct upstream *u, char *error, size_t error_size);
void on_demand_close(struct on_demand *o); /* every connection at once; accepts NULL, as the next */
void on_demand_free(struct on_demand *o);
/* The destination of x, in forward mode; it is that of its attempt from now on. NULL: x has failed. */
struct destination *on_demand_get(struct upstream *u, struct exchange *x);
/* A push that came on a connection to d uses it too. */
void on_demand_adopt(struct destination *d, struct exchange *push);
void on_demand_exchange_ended(struct exchange *x);
/* A connection to one of its destinations. */
void on_demand_conn_opened(struct on_demand *o);
void on_demand_conn_ended(struct on_demand *o);

/* How long a connection to the destination may be idle; 0: no limit. */
usec on_demand_idle_timeout(const struct destination *d);

#endif
