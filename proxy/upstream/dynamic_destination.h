/* SPDX-License-Identifier: MIT */
/*
 * Destinations that requests name themselves (forward mode): made when the first request for them comes, shared by
 * all that follow, and evicted when unused. Private to upstream/.
 *
 *   dynamic ─┬─ templates: for each [origin] with server = forward:, how http, https and CONNECT are spoken
 *            │               the same for each of its upstream proxies, and how that one itself is spoken to
 *            └─ all, by origin, template, host and port ─── destination
 *
 * One is in use while an exchange has its destination. After that it stays for a while, and as long as its
 * connections are open, unless another one needs its place.
 */
#ifndef PUSHGATE_UPSTREAM_DYNAMIC_DESTINATION_H
#define PUSHGATE_UPSTREAM_DYNAMIC_DESTINATION_H

#include "proxy/base/map.h"
#include "proxy/upstream/destination.h"

struct dynamic_destinations;

/* NULL: no origin is forward:. Returns false and writes a message when a CA file cannot be read. */
bool dynamic_destinations_open(struct upstream *u, char *error, size_t error_size);
void dynamic_destinations_close(
    struct dynamic_destinations *o); /* every connection at once; accepts NULL, as the next */
void dynamic_destinations_free(struct dynamic_destinations *o);
/* upstream_renew_tls, of these; accepts NULL. */
bool dynamic_destinations_renew_tls(
    const struct dynamic_destinations *o, char *error, size_t error_size);
/* The destination of x, in forward mode; it is that of its attempt from now on. NULL: x has failed. */
struct destination *dynamic_destination_get(struct upstream *u, struct exchange *x);
/* A push that came on a connection to d uses it too. */
void dynamic_destination_adopt(struct destination *d, struct exchange *push);
void dynamic_destination_exchange_ended(struct exchange *x);
/* A connection to one of its destinations. */
void dynamic_destination_conn_opened(struct origin_server *s);
void dynamic_destination_conn_ended(struct origin_server *s);

/* ---- templates.c: the protocols, TLS and configuration that these destinations share ---- */

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
bool templates_renew_tls(const struct templates *t, char *error, size_t error_size);
void templates_free(struct templates *t); /* accepts NULL */
/* p: through this upstream proxy; NULL: through none. */
const struct template *templates_get(const struct templates *t, const struct conf_origin *origin,
    const struct conf_upstream_proxy *p, enum template_kind kind);

#endif
