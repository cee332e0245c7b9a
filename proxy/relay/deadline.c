/* SPDX-License-Identifier: MIT */
/*
 * The deadlines of an exchange (deadline.h), and the one timer that watches them. What moves in a
 * flow does not set the timer: an exchange in which bytes move or wait is looked at every
 * LOOK_AGAIN_USEC, one in which nothing does at its deadline.
 */
#include "proxy/relay/deadline.h"

#include "proxy/relay/private.h"

/* ---- clocks ---- */

static usec waits_since(const struct exchange *x)
{
	return x->timing.waits_since;
}

static usec lingers_since(const struct exchange *x)
{
	return x->timing.lingers_since;
}

/* The origin has the whole request, or has sent an interim response. */
static usec asked_since(const struct exchange *x)
{
	usec sent = x->upload.taken.last, interim = x->download.given.last;
	return sent > interim ? sent : interim;
}

static struct pace *upload_given(struct exchange *x)
{
	return &x->upload.given;
}

static struct pace *upload_taken(struct exchange *x)
{
	return &x->upload.taken;
}

static struct pace *download_given(struct exchange *x)
{
	return &x->download.given;
}

static struct pace *download_taken(struct exchange *x)
{
	return &x->download.taken;
}

/* ---- what is owed ---- */

static bool request_is_open(const struct exchange *x)
{
	return !x->upload.source_ended && x->upload.state != FLOW_ABORTED;
}

static bool request_has_ended(const struct exchange *x)
{
	return x->upload.source_ended;
}

static bool response_is_open(const struct exchange *x)
{
	return !x->download.source_ended;
}

/* ---- the table ---- */

#define QUEUED PHASE_BIT(EXCHANGE_QUEUED)
#define SENT PHASE_BIT(EXCHANGE_SENT)
#define READY PHASE_BIT(EXCHANGE_READY)
#define ANSWERING PHASE_BIT(EXCHANGE_ANSWERING)
#define LINGERING PHASE_BIT(EXCHANGE_LINGERING)

const struct deadline_row exchange_deadlines[DEADLINE_COUNT] = {
    [DEADLINE_LINGER] =
	{
	    .phases = LINGERING,
	    .kinds = DEADLINE_BOTH,
	    .limit = RELAY_TIMEOUT_LINGER,
	    .since = lingers_since,
	    .cause = &relay_cause_UPLOAD_LINGER,
	},
    [DEADLINE_CLIENT_TAKES] =
	{
	    .phases = EXCHANGE_BEGUN_PHASES,
	    .kinds = DEADLINE_BOTH,
	    .limit = RELAY_TIMEOUT_TAKE_DOWN,
	    .pace = download_taken,
	    .rate = RELAY_CLIENT,
	    .counts_while_waiting = DEADLINE_DOWNLOAD,
	    .cause = &relay_cause_DOWN_STALLED,
	},
    [DEADLINE_PUSH_HEAD] =
	{
	    .phases = QUEUED | SENT,
	    .kinds = DEADLINE_PUSHES,
	    .limit = RELAY_TIMEOUT_PUSH_START,
	    .since = waits_since,
	    .cause = &relay_cause_HEAD_LATE,
	},
    [DEADLINE_PUSH_START] =
	{
	    .phases = READY,
	    .kinds = DEADLINE_PUSHES,
	    .limit = RELAY_TIMEOUT_PUSH_START,
	    .since = waits_since,
	    .cause = &relay_cause_PUSH_START_LATE,
	},
    [DEADLINE_QUEUE] =
	{
	    .phases = QUEUED,
	    .kinds = DEADLINE_BOTH,
	    .limit = RELAY_TIMEOUT_QUEUE,
	    .since = waits_since,
	    .cause = &relay_cause_QUEUE_LATE,
	},
    [DEADLINE_CLIENT_SENDS] =
	{
	    .phases = QUEUED | SENT | ANSWERING,
	    .kinds = DEADLINE_REQUESTS,
	    .limit = RELAY_TIMEOUT_BODY_UP,
	    .pace = upload_given,
	    .rate = RELAY_CLIENT,
	    .stands_while_waiting = DEADLINE_UPLOAD,
	    .is_owed = request_is_open,
	    .has_partner = true,
	    .partner = DEADLINE_ORIGIN_SENDS,
	    .cause = &relay_cause_UPLOAD_LATE,
	},
    [DEADLINE_ORIGIN_SENDS] =
	{
	    .phases = ANSWERING,
	    .kinds = DEADLINE_BOTH,
	    .limit = RELAY_TIMEOUT_BODY_DOWN,
	    .pace = download_given,
	    .rate = RELAY_ORIGIN,
	    .rate_needs_length = true,
	    .stands_while_waiting = DEADLINE_DOWNLOAD,
	    .is_owed = response_is_open,
	    .has_partner = true,
	    .partner = DEADLINE_CLIENT_SENDS,
	    .cause = &relay_cause_BODY_LATE,
	},
    [DEADLINE_ORIGIN_TAKES] =
	{
	    .phases = SENT | ANSWERING | LINGERING,
	    .kinds = DEADLINE_REQUESTS,
	    .limit = RELAY_TIMEOUT_TAKE_UP,
	    .pace = upload_taken,
	    .rate = RELAY_ORIGIN,
	    .counts_while_waiting = DEADLINE_UPLOAD,
	    .cause = &relay_cause_UP_STALLED,
	},
    [DEADLINE_HEAD] =
	{
	    .phases = SENT,
	    .kinds = DEADLINE_REQUESTS,
	    .limit = RELAY_TIMEOUT_RESPONSE,
	    .since = asked_since,
	    .stands_while_waiting = DEADLINE_UPLOAD,
	    .is_owed = request_has_ended,
	    .cause = &relay_cause_HEAD_LATE,
	},
};

/* ---- the nearest of them ---- */

static bool has_bytes(const struct exchange *x, enum deadline_flow flow)
{
	switch (flow) {
	case DEADLINE_NO_FLOW:
		return false;
	case DEADLINE_UPLOAD:
		return x->upload.body.bytes > 0;
	case DEADLINE_DOWNLOAD:
		return x->download.body.bytes > 0;
	}
	return false;
}

static uint32_t rate_of(const struct deadline_row *row, const struct exchange *x)
{
	bool is_any_enough = row->rate_needs_length && x->response.length == HTTP_LENGTH_UNKNOWN;
	return is_any_enough ? 0 : x->relay->ops->min_rate(x->relay->context, x, row->rate);
}

static bool holds(const struct deadline_row *row, const struct exchange *x)
{
	return !has_bytes(x, row->stands_while_waiting) &&
	       (!row->counts_while_waiting || has_bytes(x, row->counts_while_waiting)) &&
	       (!row->is_owed || row->is_owed(x));
}

static usec deadline_of(const struct deadline_row *row, struct exchange *x)
{
	if (!holds(row, x))
		return USEC_NEVER;
	usec limit = x->relay->ops->time_limit(x->relay->context, x, row->limit);
	if (row->since)
		return clock_after(row->since(x), limit);
	struct pace *p = row->pace(x);
	if (limit == 0) { /* the peer is not to blame now: its time begins anew */
		pace_pardon(p, x->relay->now);
		return USEC_NEVER;
	}
	return pace_deadline(p, limit, rate_of(row, x));
}

/* Both bodies are under way, as in a call that streams messages: which side sends next, only the
 * two know. While one of them sends, the other's silence is not a timeout. */
static bool is_dialogue(const struct exchange *x)
{
	return x->phase == EXCHANGE_ANSWERING && response_is_open(x) && request_is_open(x);
}

/* Only the later of the two holds; of equals the first row. */
static bool yields_to_partner(const struct deadline_row *row, struct exchange *x, usec at)
{
	const struct deadline_row *other = &exchange_deadlines[row->partner];
	usec others = deadline_of(other, x);
	return at < others || (at == others && other < row);
}

struct exchange_deadline exchange_deadline(struct exchange *x)
{
	struct exchange_deadline nearest = {.at = USEC_NEVER};
	unsigned phase = PHASE_BIT(x->phase);
	unsigned kind = exchange_is_push(x) ? DEADLINE_PUSHES : DEADLINE_REQUESTS;
	for (const struct deadline_row *row = exchange_deadlines;
	     row < exchange_deadlines + DEADLINE_COUNT; row++) {
		if (!(row->phases & phase) || !(row->kinds & kind))
			continue;
		usec at = deadline_of(row, x);
		if (at >= nearest.at)
			continue;
		if (row->has_partner && is_dialogue(x) && yields_to_partner(row, x, at))
			continue;
		nearest = (struct exchange_deadline){at, row->cause};
	}
	return nearest;
}

/* ---- the timer ---- */

static usec earlier(usec a, usec b)
{
	return a < b ? a : b;
}

void exchange_arm(struct exchange *x)
{
	usec soon = x->relay->now + LOOK_AGAIN_USEC;
	wheel_set(&x->relay->wheel, &x->timing.timer, earlier(exchange_deadline(x).at, soon));
}

void exchange_look_soon(struct exchange *x)
{
	wheel_set(&x->relay->wheel, &x->timing.timer, x->relay->now + LOOK_AGAIN_USEC);
}

static bool has_moved_since(const struct flow *f, usec since)
{
	return f->given.last >= since || f->taken.last >= since;
}

/* The limit for bytes that wait may change with the other streams of the connection. */
static bool is_active(const struct exchange *x)
{
	return x->upload.body.bytes > 0 || x->download.body.bytes > 0 ||
	       has_moved_since(&x->upload, x->timing.looked) ||
	       has_moved_since(&x->download, x->timing.looked);
}

void exchange_look(struct wheel_node *node, usec now)
{
	struct exchange *x = container_of(node, struct exchange, timing.timer);
	struct exchange_deadline d = exchange_deadline(x);
	if (d.at <= now) {
		exchange_abort(x, d.cause, NULL);
		return;
	}
	usec next = is_active(x) ? earlier(d.at, now + LOOK_AGAIN_USEC) : d.at;
	x->timing.looked = now;
	wheel_set(&x->relay->wheel, node, next);
}
