/* SPDX-License-Identifier: MIT */
/*
 * From a configuration, a client and a request to what the policy is asked: routing, the facts of
 * each offer, and the offers of our own. No connection, no socket, no clock in here: the data plane
 * and `pushgate explain` both go this way, so that what is explained is what happens.
 */
#ifndef PUSHGATE_OFFER_OFFER_H
#define PUSHGATE_OFFER_OFFER_H

#include "proxy/conf/conf.h"
#include "proxy/offer/manifests.h"
#include "proxy/offer/router.h"
#include "proxy/offer/sources.h"
#include "proxy/relay/relay.h"

/* What all requests of a worker share. Borrows. */
struct offer_env {
	const struct conf *conf;
	const struct router *router;
	struct slice pseudonym;
	const struct manifests *manifests;   /* NULL: none are open */
	const struct offer_learned *learned; /* NULL: nothing is learned */
};

/* A client's connection, as it is at the moment. */
struct client_facts {
	struct address address;
	/* Does the certificate of its listener cover the host name? NULL: every name. */
	bool (*covers)(const void *listener, struct slice host);
	const void *listener;
	bool push_enabled, accepts_streams, is_going_away;
	bool takes_interim;     /* 103 Early Hints can be sent to it */
	usec rtt_usec;          /* 0 = not measured */
	uint32_t open_pushes;   /* promised and not done */
	uint64_t waiting_bytes; /* of pushed responses, and of all heads and promises */
};

/* Did the request come through another proxy? One connection of a proxy is many users. */
bool offer_came_through(const struct http_head *request);
/* NULL: it may go on, and x has its route and origin. Else why we answer ourselves. */
const struct relay_cause *offer_route(
    const struct offer_env *base, struct exchange *x, const char **detail);
/* May what the origin would push for this request be of use? Then it goes over a connection with
 * ENABLE_PUSH=1. */
bool offer_wants_pushes(
    const struct offer_env *base, const struct client_facts *client, const struct exchange *x);

/* What the client and its request say for any offer. */
void offer_request_context(const struct offer_env *base, const struct client_facts *client,
    const struct exchange *x, struct policy_offer *offer);
/*
 * The same and what the relay's offer_facts asks beside it (relay.h), but the rate of promises,
 * which only the origin's connection knows. Client NULL: it is gone.
 */
void offer_context(const struct offer_env *base, const struct client_facts *client,
    const struct exchange *parent, struct http_head *promised, struct policy_offer *offer,
    struct relay_place *place);

/* Offers of our own (offer.c): when a request arrives, and when a response head (any) is about to
 * be sent on. */
void offer_on_request(
    const struct offer_env *base, const struct client_facts *client, struct exchange *x);
void offer_on_response(struct exchange *x, struct http_head *head);

/* A route's changes to the fields of its requests or responses (fields.c). */
void fields_apply(const struct conf_fields *rules, struct http_head *head);

#endif
