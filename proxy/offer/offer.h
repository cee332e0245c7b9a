/* SPDX-License-Identifier: MIT */
/*
 * Candidates for pushes: the offers that pushgate makes itself, and the facts about each offer that the policy decides
 * by.
 *
 * No connection and no socket in here. The data plane and `pushgate explain` call the same functions, so that explain
 * shows what would happen.
 *
 *   arms.c             which clients get the offers of a [preload] section with share
 *   context.c          facts about a request and about an offer
 *   forward_promise.c  what an origin may promise in forward mode
 *   own_offers.c       offers from `add`, manifests and the memory of pages
 *   links.c            offers from Link fields; what is taken out of them
 *   manifest….c        manifest files
 *   lesson….c          what pages and requests teach the memory of pages; lesson_private.h is private
 *   json.c             reads JSON files for both; json.h is private
 */
#ifndef PUSHGATE_OFFER_OFFER_H
#define PUSHGATE_OFFER_OFFER_H

#include "proxy/conf/conf.h"
#include "proxy/offer/lesson.h"
#include "proxy/offer/manifest.h"
#include "proxy/relay/relay.h"

struct route_env;

/* Call once in a process, before it reads the first manifest or memory of pages: seeds the hash tables of
 * the JSON library, which would open /dev/urandom later, when the sandbox forbids it. */
void offer_seed(uint64_t seed);

/* Facts about the connection on which the parent's origin promises, in forward mode. */
struct offer_promiser {
	/* Whether the origin's certificate, which was verified, is valid for the host. */
	bool (*covers)(const struct exchange *parent, struct slice host);
	/* Whether a request for what is promised may go to the address of that connection. */
	bool (*may_reach)(const struct exchange *parent, const struct request_facts *asked,
	    struct effort *effort);
};

/* The environment that all requests of a worker share. Borrows. */
struct offer_env {
	const struct conf *conf;
	const struct route_env *route;         /* where an offer would be requested */
	const struct manifests *manifests;     /* NULL = no manifest files are open */
	const struct remembered *remembered;   /* NULL = no section remembers pages */
	struct offer_lessons *lessons;         /* NULL = nothing is taught, as in explain */
	const struct offer_promiser *promiser; /* NULL = there are no connections, as in explain */
};

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
	bool is_going_away;   /* GOAWAY was received; or sent, but for a subscription */
	bool takes_interim;   /* its version of HTTP has interim responses, such as 103 */
	bool is_half_closed;  /* it sends nothing any more: it gets no 103 and no promise */
	bool
	    hints_expected; /* it reads them; else pushgate makes one only by a rule for all clients */
	usec rtt_usec;      /* round-trip time; 0 = not measured */
	uint32_t open_pushes;   /* promised pushes that are not over */
	uint64_t waiting_bytes; /* bytes not sent yet: bodies of pushes, all heads and promises */
};

/* Whether an origin may promise this in forward mode, whatever routes and rules say: a resource of the parent's
 * scheme, host and port; or of https, the same port and a name that its verified certificate is valid for.
 * Rewrites what it promises to the client's terms. */
bool offer_may_promise_forward(
    const struct offer_env *env, const struct exchange *parent, struct http_head *promised);
/* Whether a push for this request could be of use. If so, the request is sent on a connection with
 * ENABLE_PUSH=1. */
bool offer_wants_pushes(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x);
/* Whether the Link fields of the response to x are read: false if every offer in them would certainly be
 * dropped. */
bool offer_reads_links(
    const struct offer_env *env, const struct client_facts *client, const struct exchange *x);
/* Why the client does not get the origin's interim response of this status, which is not 100: a rule says so, or it is
 * a 103, which the client is known to mishandle. NULL: it gets it. */
const struct policy_reason *offer_interim_refusal(const struct offer_env *env,
    const struct client_facts *client, const struct exchange *x, uint16_t status);

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
 * its host. It does what relay_ops.offer_facts asks for (relay_ops.h), except for the rate of promises, which
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
/* The arm of the section's comparison that the client is in. The section has a share. */
const struct conf_arm *offer_arm(const struct conf_preload *p, const struct address *client);
/* takes: whether each [preload] section matches the request. The first of these with a share says which arm the client is
 * in; in the arm off, all with a share are taken out of `takes`. The arm of a page load is noted in x. */
void offer_choose_arm(const struct conf *conf, struct exchange *x, bool is_page, bool *takes);
/* Makes pushgate's own offers for a request that has just arrived: `add`, manifests, memory of pages. */
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
 * the client must not get it (offer_interim_refusal), or no link is left.
 */
bool offer_on_interim(const struct offer_env *env, const struct client_facts *client,
    struct exchange *x, struct http_head *head);

#endif
