/* SPDX-License-Identifier: MIT */
/* What the relay asks of its owner, the data plane. Included by exchange.h. */
#ifndef PUSHGATE_RELAY_RELAY_OPS_H
#define PUSHGATE_RELAY_RELAY_OPS_H

#include "policy/policy.h"
#include "proxy/http/head.h"
#include "proxy/relay/cause.h"
#include "proxy/relay/leg.h"
#include "proxy/relay/request_facts.h"

struct exchange;
struct http_own_answer;

/* How a request failed that can be sent again. Everything is borrowed. */
struct relay_failure {
	enum relay_retry why;
	uint16_t status;                 /* RELAY_IF_STATUS: of the answer; else 0 */
	uint32_t code;                   /* as it came */
	const struct relay_cause *cause; /* RELAY_IF_STATUS: NULL */
	const char *detail;              /* may be NULL */
};

/* What becomes of the first bytes of a tunnel: more of them are waited for, the tunnel goes on or ends. */
enum relay_look { RELAY_LOOKS_AGAIN, RELAY_LETS_PASS, RELAY_REFUSES };

/* What the relay asks of its owner. */
struct relay_ops {
	/* Finds an upstream leg: now or later calls exchange_on_connected or exchange_on_up_failed. */
	void (*dispatch)(void *context, struct exchange *x);
	/* A request has failed and can be sent again: whether it is. Counts the retry. NULL: once, if no server has
	 * processed it (RELAY_AGAIN). */
	bool (*retries)(void *context, struct exchange *x, const struct relay_failure *failure);
	/* More of the body of a queued request has come, or its end; called while upload_wait says that
	 * this counts. May be NULL. */
	void (*upload_grew)(void *context, struct exchange *x);
	/* Takes the exchange out of the queue that its member `waiting` is linked in. */
	void (*undispatch)(void *context, struct exchange *x);
	/* Of a tunnel that is_rated: whether its sources get no credit now, but later from exchange_give_credit. */
	bool (*tunnel_waits)(void *context, struct exchange *x);
	/* Of an open tunnel that is_checked: whether the bytes that the client has sent may go to the origin. *detail: a text
	 * for the log, for the case that they may not. NULL if no tunnel is checked. */
	enum relay_look (*tunnel_look)(void *context, struct exchange *x, const char **detail);
	/* Fills in the facts that the relay does not have (offer/offer.h), and in *place, which has the
	 * parent's route and origin, where an offer of pushgate's own would be requested. hold_refusal is
	 * policy_reason_NO_HOLD before. May change the scheme and authority of the promised head to those of the
	 * client. */
	void (*offer_facts)(void *context, struct exchange *parent, struct http_head *promised,
	    struct policy_offer *offer, struct relay_place *place);
	/* Whether the client may have the resource already, or the rules of its listener may refuse it: false only if neither
	 * is so for certain. May be NULL: then each offer is decided by itself. */
	bool (*offer_is_special)(
	    void *context, const struct exchange *parent, const struct http_head *promised);
	/* An offer was dropped, or is only hinted at: for log and counters. Everything is borrowed. */
	void (*offer_decided)(void *context, struct exchange *parent,
	    const struct policy_offer *offer, struct policy_verdict verdict);
	/* The verdict that the shadow rules would have given; called before offer_decided or
	 * push_promised. May be NULL. */
	void (*offer_shadowed)(
	    void *context, struct exchange *parent, const struct policy_verdict *verdict);
	/* The verdict is to hold the push: fills in the downstream leg that keeps its response (hold/). Returns NULL, or
	 * why that cannot be done; then nothing has changed. May be NULL if offer_facts leaves hold_refusal as it is. */
	const struct policy_reason *(*hold)(
	    struct exchange *parent, struct exchange *push, struct leg *down);
	/* The push has been promised downstream, or is held (pushed.state says which). */
	void (*push_promised)(void *context, struct exchange *push);
	/* A final response head goes downstream: `overlay` is the origin's, to be changed for the client.
	 * Called once more when a push that had to wait begins. */
	void (*response_head)(void *context, struct exchange *x, struct http_head *overlay);
	/* The same for an interim response of the origin's. False: the client must not get it. */
	bool (*interim_head)(void *context, struct exchange *x, struct http_head *overlay);
	/* More of the response's body has come, and x->onlooker is set. The bytes are lent, and go on whatever it does. May be
	 * NULL if the owner sets none. */
	void (*body_passes)(void *context, struct exchange *x, struct slice bytes);
	/* Trailers of the request, or of the response, have come for the other side: to be changed. May be NULL. */
	void (*trailers)(
	    void *context, const struct exchange *x, struct http_head *head, bool is_request);
	/* An answer of pushgate's own is about to be made: fills in what the owner's configuration has
	 * for it, all but the details. Lent until the answer is made. May be NULL. */
	void (*own_answer)(void *context, struct exchange *x, struct http_own_answer *answer);
	/* The exchange is over: log and count. It has no legs any more; all else is still there. */
	void (*ended)(void *context, struct exchange *x);
	/* The current time as the value of a Date field; may be NULL. Borrowed until the next call. */
	struct slice (*date)(void *context);
	/* A limit of this exchange; 0 = no limit now, and the clock starts anew. */
	usec (*time_limit)(void *context, const struct exchange *x, enum relay_timeout what);
	/* The least bytes a second at which this side must send and take; 0 = any byte is enough. */
	uint32_t (*min_rate)(void *context, const struct exchange *x, enum relay_side side);
};

#endif
