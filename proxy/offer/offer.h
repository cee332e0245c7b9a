/* SPDX-License-Identifier: MIT */
/*
 * Everything between a request and the policy: the route of a request, the offers that pushgate makes
 * itself, and the facts about each offer that the policy decides by.
 *
 * No connection and no socket in here. The data plane and `pushgate explain` call the same
 * functions, so that explain shows what would happen.
 *
 *   route.c            what a request must be, and which route takes it
 *   router.c           host, path and conditions to route; router_paths.c the paths of one host
 *   split.c            the origin of a route with several
 *   rewrite.c          the paths of a route with rewrite; map_back.c what its origin says of them
 *   redirect.c         where a route with redirect leads
 *   access.c           who may ask for what, and which addresses may be reached
 *   forward.c          requests in forward mode; forward_promise.c what their origins may promise
 *   context.c          facts about a request and about an offer
 *   scheme.c           the scheme of a request, and which clients may choose it
 *   own_offers.c       offers from `add`, manifests and the learned table
 *   links.c            offers from Link fields; what is taken out of them
 *   origin_request.c   the request as its origin gets it; fields.c a route's changes of fields
 *   forwarding….c      Forwarded and the like; proxy_fields.c what is between a client and its forward proxy
 *   spellings.c        fields that origins may take for others; trailers.c trailers
 *   manifest….c        manifest files
 *   learned….c         the learned table; learned_table.h is private
 *   json.c             reads JSON files for both; json.h is private
 */
#ifndef PUSHGATE_OFFER_OFFER_H
#define PUSHGATE_OFFER_OFFER_H

#include "proxy/conf/conf.h"
#include "proxy/http/host.h"
#include "proxy/http/via.h"
#include "proxy/offer/access.h"
#include "proxy/offer/learned.h"
#include "proxy/offer/manifests.h"
#include "proxy/offer/rewrite.h"
#include "proxy/offer/router.h"
#include "proxy/relay/relay.h"

/* Call once in a process, before it reads the first manifest or learned file: seeds the hash tables of
 * the JSON library, which would open /dev/urandom later, when the sandbox forbids it. */
void offer_seed(uint64_t seed);

/* What is known of the connection on which the parent's origin promises, in forward mode. */
struct offer_promiser {
	/* Whether the origin's certificate, which was verified, is valid for the host. */
	bool (*covers)(const struct exchange *parent, struct slice host);
	/* Whether a request for what is promised may go to the address of that connection. */
	bool (*may_reach)(const struct exchange *parent, const struct request_facts *asked,
	    struct effort *effort);
};

/* What all requests of a worker share. Borrows. */
struct offer_env {
	const struct conf *conf;
	const struct router *router;
	const struct router
	    *forward_router; /* of listeners in forward mode; NULL: there are none */
	struct slice pseudonym;
	struct http_via via;
	const struct manifests *manifests;     /* NULL = no manifest files are open */
	const struct offer_learned *learned;   /* NULL = no section uses the learned table */
	const struct offer_promiser *promiser; /* NULL = there are no connections, as in explain */
	/* What origins were told of clients lately. NULL = it is made anew for each request. */
	struct forwarding_table *forwarding;
};

/* seed: of the worker (http/field_key.h). */
struct forwarding_table *forwarding_table_new(uint64_t seed);
void forwarding_table_free(struct forwarding_table *t); /* accepts NULL */

/*
 * The state of one client connection at the moment of a decision. The caller fills it in: client/ from a
 * live connection, explain from its options.
 */
struct client_facts {
	struct address address; /* of the client */
	/* Whether the certificate of the listener is valid for a host name. NULL = for every name. */
	bool (*covers)(const void *listener, struct slice host);
	const void *listener; /* for covers */
	bool push_enabled;    /* its SETTINGS_ENABLE_PUSH */
	bool accepts_streams; /* its SETTINGS_MAX_CONCURRENT_STREAMS is not 0 */
	bool is_going_away;   /* GOAWAY was sent or received */
	bool takes_interim;   /* its version of HTTP has interim responses, such as 103 */
	bool is_half_closed;  /* it sends nothing any more: it gets no 103 and no promise */
	bool
	    hints_expected; /* it reads them; else pushgate makes one only by a rule for all clients */
	usec rtt_usec;      /* round-trip time; 0 = not measured */
	uint32_t open_pushes;   /* promised pushes that are not over */
	uint64_t waiting_bytes; /* bytes not sent yet: bodies of pushes, all heads and promises */
};

/* Whether another proxy sent the request (Via, Forwarded, X-Forwarded-For): its connection may carry the
 * requests of many users. */
bool offer_came_through(const struct http_head *request);
/* Whether this peer of the listener (NULL: of no known one) may ask for http and https URIs with this
 * scheme: it is that of the connection, or `trusted` names the peer (conf_listen_trusts). */
bool offer_may_use_scheme(
    const struct conf_listen *l, const struct address *peer, struct slice scheme);
/* A request in HTTP/1 whose target has no scheme, from a `trusted` peer: sets the scheme that the peer
 * says. Before anybody else reads the request. */
void offer_adopt_scheme(
    const struct conf_listen *l, const struct address *peer, struct http_head *head);
/* The cause with which a request is refused because of its scheme; NULL: it may be served. */
const struct relay_cause *offer_check_scheme(const struct request_facts *f, const char **detail);
/* The router of a listener. */
static inline const struct router *offer_router(
    const struct offer_env *env, const struct conf_listen *l)
{
	return conf_listen_is_forward(l) ? env->forward_router : env->router;
}
/* What a request must be, whatever may be asked for by whom: the first step. Returns the cause with which
 * pushgate refuses it, or NULL. In forward mode reads its target: into the arena of its head. */
const struct relay_cause *offer_admit(
    const struct offer_env *env, struct request_facts *f, struct arena *a, const char **detail);
const struct relay_cause *offer_admit_forward(
    struct request_facts *f, struct arena *a, const char **detail);
/* Whether an origin may promise this in forward mode, whatever routes and rules say: a resource of the parent's
 * scheme, host and port; or of https, the same port and a name that its verified certificate is valid for.
 * Rewrites what it promises to the client's terms. */
bool offer_may_promise_forward(
    const struct offer_env *env, const struct exchange *parent, struct http_head *promised);
/* False: it names nothing that can be reached. */
bool offer_read_target(const struct http_head *request, struct request_target *target);
/* The same, of a request in forward mode, which is read once, into the arena: several steps ask. NULL: it names
 * nothing. */
const struct request_target *offer_target_of(struct request_facts *f, struct arena *a);
/* Finds the route and the origin of a request, and returns NULL. Or returns the cause with which pushgate answers it
 * itself; *detail is for the response and the log. */
const struct relay_cause *offer_route(const struct offer_env *env, const struct request_facts *f,
    struct effort *effort, struct request_routing *r, const char **detail);
/* The origin of the route that has requests of this client; NULL: the route has no origin. Its choice depends on
 * the client's address and on the names of the origins alone. */
const struct conf_origin *offer_side(const struct conf_route *route, const struct address *client);
/* Maps Destination, and Referer if the route says so, in the overlay for the origin, whose authority is set. */
void offer_map_urls(
    const struct request_facts *f, const struct relay_place *p, struct http_head *head);
/* Whether a Destination of the request is none that its route, which rewrites, may write to. */
bool offer_destination_leaves(const struct http_head *request, const struct conf_route *route);
/* Whether the target of the route's redirect has the host of the request in it. */
bool offer_redirect_needs_host(const struct conf_route *route);
/* Whether the request's host may stand in a Location: it is a name or an address. Of other texts browsers make other
 * hosts than servers do. */
bool offer_host_is_plain(const struct http_head *request);
/* The Location of a request to a route with redirect, in the arena. */
struct slice offer_redirect_target(
    const struct offer_env *env, const struct http_head *request, struct arena *a);
/* Whether a push for this request could be of use. If so, the request is sent on a connection with
 * ENABLE_PUSH=1. */
bool offer_wants_pushes(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x);
/* Whether the Link fields of the response to x are read: false if every offer in them would certainly be
 * dropped. */
bool offer_reads_links(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x);
/* Whether a rule keeps interim responses from the client, except 100 (Continue). */
bool offer_withholds_interim(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x);

/* Whether the request waits for the pushes that come with it, by its route. wants_pushes: of the
 * function above; a client that takes no pushes subscribes to nothing. */
bool offer_is_subscription(const struct exchange *x, bool wants_pushes);

/*
 * Fills in the facts that are the same for all offers of one request: the client's address, its
 * settings, its connection, and what the request's fields say. client NULL: the client connection is
 * closed, nothing is filled in.
 */
void offer_request_context(const struct offer_env *env, const struct client_facts *client,
    const struct exchange *x, struct policy_offer *offer);
/*
 * Fills in all facts about one offer: those of offer_request_context, whether a hint or a hold is
 * possible, whether the origin may promise this resource, and whether the listener's certificate covers
 * its host. It does what relay_ops.offer_facts asks for (relay.h), except for the rate of promises, which
 * only the origin connection knows.
 *
 * promised: the request for the resource. What an origin promised is rewritten to the client's scheme
 * and authority. place: where pushgate requests a resource that it offers itself; only set for these.
 */
void offer_context(const struct offer_env *env, const struct client_facts *client,
    struct exchange *parent, struct http_head *promised, struct policy_offer *offer,
    struct relay_place *place);

/* Whether the target has another scheme or authority than the request. */
enum relay_offer_flags offer_place(const struct exchange *x, const struct http_target *target);
/* Makes pushgate's own offers for a request that has just arrived: `add`, manifests, learned table. */
void offer_on_request(
    const struct offer_env *env, const struct client_facts *client, struct exchange *x);
/* Whether the final response has Link fields that may be offers. */
bool offer_has_links(const struct exchange *x, const struct http_head *head);
/* Makes an offer of each link of a final response that is about to be sent to the client. Removes the
 * links that are for pushgate alone. */
void offer_links(struct exchange *x, struct http_head *head);
/* Removes those links without reading the others. */
void offer_hide_links(struct http_head *head);
/*
 * The origin's interim response is about to be sent to the client. Makes an offer of each link of a 103,
 * and takes out of it what a rule drops, what was hinted before, and what is for pushgate alone. False:
 * the client must not get it, since a rule says so or no link is left.
 */
bool offer_on_interim(const struct offer_env *env, const struct client_facts *client,
    struct exchange *x, struct http_head *head);

/* The request as its origin gets it: an overlay of the client's request. The caller frees it before
 * that one, and, if env has `forwarding`, before the next call. */
struct http_head *offer_origin_request(
    const struct offer_env *env, const struct request_facts *f, const struct relay_place *p);
/* The value of Max-Forwards (RFC 9110 7.6.2). False: it is no number and must be ignored. */
bool offer_max_forwards(struct slice value, uint64_t *left);

/* Makes the forwarding fields (Forwarded, X-Real-IP, all X-Forwarded-…) of a request to an origin what its route
 * wants them to be. */
void offer_set_forwarding(const struct offer_env *env, const struct request_facts *f,
    const struct conf_route *route, struct http_head *head);
/* Whether that may change them. */
bool offer_changes_forwarding(const struct conf_listen *l, const struct conf_route *route);
/* Removes all of them. head: of http_head_overlay or http_head_strip_hop, which have noted them. */
void offer_remove_forwarding(struct http_head *head);
/* Removes the fields of a request, or of its trailers, whose names an origin may take for others: for forwarding
 * fields, in forward mode for Proxy-Authorization and the like, and with the route's underscores = drop for any. */
void offer_drop_spellings(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *head);

/* Sets the forwarding fields. In forward mode also takes out of a request to an origin what is between the client and
 * us: Proxy-Authorization and the like. */
void offer_request_of_proxy(const struct offer_env *env, const struct request_facts *f,
    const struct conf_route *route, struct http_head *head);
/* The same for a response. In forward mode a 407 becomes a 502: only we may ask the client for the credentials
 * of its proxy, and a page could else ask for them. */
void offer_response_of_proxy(
    const struct offer_env *env, const struct conf_listen *l, struct http_head *head);
/* Applies a route's changes to the fields of a request or a response. */
void offer_apply_fields(const struct conf_fields *rules, struct http_head *head);
/* Whether both make the same changes in the same order. */
bool offer_fields_alike(const struct conf_fields *a, const struct conf_fields *b);
/* A number that is the same for all that are alike; 0: no changes. */
uint64_t offer_fields_key(const struct conf_fields *rules);
/* Removes what they set or remove: from trailers. */
void offer_remove_fields(const struct conf_fields *rules, struct http_head *trailers);

/* Trailers of a request and of its response, without the fields of one hop (http_head_strip_hop): removes the
 * forwarding fields, what the route (NULL: there is none) sets or removes, and credentials that are for pushgate. */
void offer_request_trailers(
    const struct conf_listen *l, const struct conf_route *route, struct http_head *trailers);
void offer_response_trailers(const struct conf_route *route, struct http_head *trailers);

#endif
