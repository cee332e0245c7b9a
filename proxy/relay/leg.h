/* SPDX-License-Identifier: MIT */
/* The two sides of an exchange (legs), and the bodies that go from one to the other (flows). */
#ifndef PUSHGATE_RELAY_LEG_H
#define PUSHGATE_RELAY_LEG_H

#include "proxy/base/budget.h"
#include "proxy/base/list.h"
#include "proxy/base/pace.h"
#include "proxy/http/head.h"
#include "proxy/relay/body_queue.h"

struct exchange;
struct flow;
struct leg;
struct session_stream; /* the data plane's handle of a stream */

/* ---- legs ---- */

/*
 * What the exchange asks of a leg. None of these may call back into the exchange: a leg that cannot do
 * what it is asked reports that later, as an event.
 */
struct leg_ops {
	/* Down: sends a response head, interim or final. False for a final one: a push must wait
	 * for the client's MAX_CONCURRENT_STREAMS, and the leg calls exchange_on_start when there
	 * is room. False for an interim one: it was left out. */
	bool (*send_head)(struct leg *leg, const struct http_head *head, bool end);
	/* The flow towards this leg has changed: it has flow->body.bytes bytes, and its end when
	 * flow_may_end(). The leg looks with body_front and takes with exchange_on_taken. */
	void (*send_body)(struct leg *leg, const struct flow *flow);
	/* After all body bytes were taken. Ends this side. */
	void (*send_trailers)(struct leg *leg, const struct http_head *trailers);
	/* Down: a PUSH_PROMISE on this leg, child->down becomes the promised stream's leg. False:
	 * not possible. */
	bool (*promise)(struct leg *leg, const struct http_head *request, struct exchange *child);
	/* Sends RST_STREAM. The exchange then forgets the leg. */
	void (*reset)(struct leg *leg, uint32_t code);
	/* The sink has taken n bytes that came from this leg: give the source credit for them. */
	void (*credit)(struct leg *leg, size_t n);
	/* Both sides of the stream have ended: cut the links. The exchange then forgets the leg. */
	void (*detach)(struct leg *leg);
	/* Up: the response has begun, and will not be used. Reads it to its end where that costs less than
	 * to reset it. end: nothing of it is still to come. The exchange then forgets the leg. May be NULL in
	 * legs whose requests are not sent again. */
	void (*discard)(struct leg *leg, bool end);
	/* Up, of a subscription: whether the connection that this leg has for itself is left unread.
	 * May be NULL in legs that subscriptions do not get. */
	void (*hold_back)(struct leg *leg, bool is_held_back);
};

/* Of an upstream leg, whose request goes when the leg is made, and on which only the origin promises: never called. */
bool leg_sends_no_head(struct leg *leg, const struct http_head *head, bool end);
bool leg_promises_nothing(struct leg *leg, const struct http_head *request, struct exchange *child);

struct leg {
	const struct leg_ops *ops; /* NULL: no leg (not connected yet, or gone) */
	struct exchange *exchange; /* the one that it is embedded in */
	void *carrier; /* the owner's object behind the leg: a connection, a held response */
	struct session_stream *stream;
	/* borrows: is charged for the bytes that are kept for this side. NULL: down, the worker's;
	 * up, the one that the exchange is charged to */
	struct budget *budget;
	struct list link; /* in the carrier's list */
};

/* ---- flows ---- */

enum flow_state { FLOW_HEAD, FLOW_BODY, FLOW_TRAILERS, FLOW_DONE, FLOW_ABORTED };

/* One direction. `state` is how far the sink is; the source may be further. */
struct flow {
	enum flow_state state;
	bool source_ended; /* the last byte (and trailers) came */
	bool trailers_sent;
	struct body body;             /* came and not taken yet */
	struct http_head *trailers;   /* came and not sent yet; owned */
	uint64_t received, forwarded; /* bytes */
	size_t
	    owed; /* bytes that were taken, and whose credit is kept back while memory is short */
	/* How fast the source sends and the sink takes. The source's clock stands still while bytes
	 * wait here, which they do since `filled`. */
	struct pace given, taken;
	usec filled;
	struct leg *source, *sink;
};

/* Whether the sink's stream ends behind the bytes that wait in the flow. */
static inline bool flow_may_end(const struct flow *f)
{
	return f->source_ended && f->trailers == NULL;
}

#endif
