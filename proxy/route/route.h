/* SPDX-License-Identifier: MIT */
/*
 * Which route takes a request, who may ask for it, and what its origin gets. From struct request_facts and the
 * configuration alone: these files know no exchange, no connection and no socket. The data plane and `pushgate
 * explain` call the same functions, so that explain shows what would happen.
 *
 *   route.c            what a request must be, which route takes it, and what that makes of it
 *   router.c           host, path and conditions to route; router_paths.c the paths of one host
 *   scheme.c           the scheme of a request, and which clients may choose it
 *   client_address.c   the client of a request from a proxy
 *   forward.c          requests in forward mode
 *   access.c           who may ask for what, and which addresses may be reached; access_judge.c the rules
 *   rewrite.c          the paths of a route with rewrite; map_urls.c those in a request's fields
 *   map_back.c         what an origin says, in the client's terms
 *   redirect.c         where a route with redirect leads
 *   local_file.c       which file a route with files answers with
 *   origin_request.c   the request as its origin gets it; field_rules.c a route's changes of fields; placeholders.c
 *                      what {client} and the like stand for in these
 *   forwarding….c      Forwarded and the like
 *   proxy_fields.c     what is between a client and its forward proxy; fields that origins may take for others
 *   trailers.c         trailers
 *   client_certs.c     certificates of clients: which host they are for, and the fields that tell of them
 */
#ifndef PUSHGATE_ROUTE_ROUTE_H
#define PUSHGATE_ROUTE_ROUTE_H

#include "proxy/conf/conf.h"
#include "proxy/http/file_set.h"
#include "proxy/http/host.h"
#include "proxy/http/via.h"
#include "proxy/relay/relay.h"
#include "proxy/route/access.h"
#include "proxy/route/router.h"

/* The environment that all requests of a worker share. Borrows. */
struct route_env {
	const struct router *router;
	const struct router
	    *forward_router; /* of listeners in forward mode; NULL: there are none */
	struct slice pseudonym;
	struct http_via via;
	/* The forwarding fields made lately. NULL = they are made anew for each request. */
	struct forwarding_table *forwarding;
};

/* ---- a request that has come ---- */

/* Whether the request has the field that client-address of the listener names. */
bool route_has_client_field(const struct conf_listen *l, const struct http_head *request);
/* Whether another proxy sent the request (Via, Forwarded, X-Forwarded-For, the field of client-address): its connection
 * may carry the requests of many users. */
static inline bool route_came_through(const struct conf_listen *l, const struct http_head *request)
{
	return (request->noted & HTTP_NOTED_PROXY) ||
	       (l && conf_listen_names_clients(l) && route_has_client_field(l, request));
}

/* Sets the client of a request whose head and peer are known: the address that a trusted peer names in the field of
 * client-address. If there is none, the client stays as it was set, to the peer. */
void route_find_named_client(struct request_facts *f);
static inline void route_find_client(struct request_facts *f)
{
	if (f->listener && conf_listen_names_clients(f->listener))
		route_find_named_client(f);
}
/* Whether http and https URIs with this scheme may be asked for: it is that of the connection, or `trusted` names the
 * peer (conf_listen_trusts). Looks at the listener, the peer and its claim. */
bool route_may_use_scheme(const struct request_facts *f, struct slice scheme);
/* A request in HTTP/1 whose target has no scheme, from a `trusted` peer: sets the scheme that the peer
 * says. Before anybody else reads the request. */
void route_adopt_scheme(
    const struct conf_listen *l, const struct address *peer, struct http_head *head);
/* The cause with which a request is refused because of its scheme; NULL: it may be served. */
const struct relay_cause *route_check_scheme(const struct request_facts *f, const char **detail);
/* Whether the authority is of a host whose clients the listener asks for other certificates than it has asked this one. */
bool route_is_for_other_clients(const struct request_facts *f, const struct http_head *request);
/* Whether what is remembered of the request, or held for it, may be used for other clients. Nothing that somebody with a
 * certificate has got is for others. */
static inline bool route_shares(const struct request_facts *f)
{
	return conf_listen_shares(f->listener) && !f->certificate;
}
/* Tells the origin of the certificate that the client has shown (RFC 9440). In forward mode it was for us alone. */
void route_set_client_cert(
    const struct request_facts *f, const struct conf_route *route, struct http_head *head);
/* The router of a listener. */
static inline const struct router *route_router(
    const struct route_env *env, const struct conf_listen *l)
{
	return conf_listen_is_forward(l) ? env->forward_router : env->router;
}
/* What a request must be, whatever may be asked for by whom: the first step. Returns the cause with which
 * pushgate refuses it, or NULL. In forward mode reads its target: into the arena of its head. */
const struct relay_cause *route_admit(
    const struct route_env *env, struct request_facts *f, struct arena *a, const char **detail);
const struct relay_cause *route_admit_forward(
    struct request_facts *f, struct arena *a, const char **detail);
/* False: it names nothing that can be reached. */
bool route_read_target(const struct http_head *request, struct request_target *target);
/* The same, of a request in forward mode, which is read once, into the arena: several steps ask. NULL: it names
 * nothing. */
const struct request_target *route_target_of(struct request_facts *f, struct arena *a);
/* Finds the route and the origin of a request, and returns NULL. Or returns the cause with which pushgate answers it
 * itself, ADMIN_PAGE for whatever an admin listener is asked; *detail is for the response and the log. */
const struct relay_cause *route_find(const struct route_env *env, const struct request_facts *f,
    struct effort *effort, struct request_routing *r, const char **detail);
/* The most bytes that the body of a request with this route may have; 0: no limit. */
uint64_t route_body_limit(const struct request_facts *f, const struct conf_route *route);
/* The origin of the route that has requests of this client; NULL: the route has no origin. Its choice depends on
 * the client's address and on the names of the origins alone. */
const struct conf_origin *route_side(const struct conf_route *route, const struct address *client);
/* Whether a Destination of the request is none that its route, which rewrites, may write to. */
bool route_destination_leaves(const struct http_head *request, const struct conf_route *route);
/* Whether the target of the route's redirect has the host of the request in it. */
bool route_redirect_needs_host(const struct conf_route *route);
/* Whether the request's host may stand in a Location: it is a name or an address. Of other texts browsers make other
 * hosts than servers do. */
bool route_host_is_plain(const struct http_head *request);
/* The file that a route with `files` answers with; FOLDER: it is below the path with "/" behind it. */
enum route_file { ROUTE_FILE_NONE, ROUTE_FILE_FOUND, ROUTE_FILE_FOLDER };
enum route_file route_find_file(
    const struct conf_route *route, const struct http_head *request, struct http_file *file);
/* The Location of a request to a route with redirect, in the arena. */
struct slice route_redirect_target(
    const struct route_env *env, const struct request_facts *f, struct arena *a);

/* ---- rewrite, and the way back: what an origin says in its own terms, in those of the client ---- */

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

/* ---- what its origin gets ---- */

/* seed: of the worker (http/field_key.h). */
struct forwarding_table *forwarding_table_new(uint64_t seed);
void forwarding_table_free(struct forwarding_table *t); /* accepts NULL */

/* The request as its origin gets it: an overlay of the client's request. The caller frees it before
 * that one, and, if env has `forwarding`, before the next call. */
struct http_head *route_origin_request(
    const struct route_env *env, const struct request_facts *f, const struct relay_place *p);
/* Maps Destination, and Referer if the route says so, in the overlay for the origin, whose authority is set. */
void route_map_urls(
    const struct request_facts *f, const struct relay_place *p, struct http_head *head);
/* The value of Max-Forwards (RFC 9110 7.6.2). False: it is no number and must be ignored. */
bool route_max_forwards(struct slice value, uint64_t *left);

/* Makes the forwarding fields (Forwarded, X-Real-IP, all X-Forwarded-…) of a request to an origin what its route
 * wants them to be. */
void route_set_forwarding(const struct route_env *env, const struct request_facts *f,
    const struct conf_route *route, struct http_head *head);
/* Whether that may change them. */
bool route_changes_forwarding(const struct conf_listen *l, const struct conf_route *route);
/* Removes all of them. head: of http_head_overlay or http_head_strip_hop, which have noted them. */
void route_remove_forwarding(struct http_head *head);
/* Removes the fields of a request, or of its trailers, whose names an origin may take for others: for forwarding
 * fields, in forward mode for Proxy-Authorization and the like, and with the route's underscores = drop for any. */
void route_drop_spellings(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *head);

/* Sets the forwarding fields. In forward mode also takes out of a request to an origin what is between the client and
 * us: Proxy-Authorization and the like. */
void route_request_of_proxy(const struct route_env *env, const struct request_facts *f,
    const struct conf_route *route, struct http_head *head);
/* The same for a response. In forward mode a 407 becomes a 502: only we may ask the client for the credentials
 * of its proxy, and a page could else ask for them. */
void route_response_of_proxy(
    const struct route_env *env, const struct conf_listen *l, struct http_head *head);
/* Applies a route's changes to the fields of a request or a response. facts: of the request, for placeholders. */
void route_apply_fields(
    const struct conf_fields *rules, const struct request_facts *f, struct http_head *head);
/* Whether both make the same changes in the same order, and their placeholders say the same of the two clients. */
bool route_fields_alike(const struct conf_fields *a, const struct request_facts *of_a,
    const struct conf_fields *b, const struct request_facts *of_b);
/* A number that is the same for all that are alike; 0: no changes. */
uint64_t route_fields_key(const struct conf_fields *rules, const struct request_facts *facts);
/* Removes what they set or remove: from trailers. */
void route_remove_fields(const struct conf_fields *rules, struct http_head *trailers);

/* Writes a value with placeholders into the arena. False: it is empty, or too long to be sent. */
bool route_write_value(const struct conf_value_parts *v, const struct request_facts *f,
    struct arena *a, struct slice *value);
/* Whether its placeholders say the same of who the two clients are. */
bool route_values_tell_alike(
    const struct conf_value_parts *v, const struct request_facts *a, const struct request_facts *b);
/* The key, changed by what they say of that. */
uint64_t route_values_key(
    uint64_t key, const struct conf_value_parts *v, const struct request_facts *f);

/* Trailers of a request and of its response, without the fields of one hop (http_head_strip_hop): removes the
 * forwarding fields, what the route (NULL: there is none) sets or removes, and credentials that are for pushgate. */
void route_request_trailers(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *trailers);
void route_response_trailers(const struct conf_route *route, struct http_head *trailers);

#endif
