/* SPDX-License-Identifier: MIT */
/*
 * The deadlines of an exchange (deadline.h), and the one timer that watches them. Bytes that move in a
 * flow do not set the timer: an exchange in which bytes move or wait is looked at every
 * LOOK_AGAIN_USEC, one in which nothing does at its deadline.
 */
#include "proxy/relay/deadline.h"

#include "proxy/relay/relay_private.h"

/* ---- clocks ---- */

static usec later(usec a, usec b)
{
	return a > b ? a : b;
}

/* The later of: the origin has the whole request, the origin sent an interim response. */
static usec asked_since(const struct exchange *x)
{
	return later(x->upload.taken.last, x->download.given.last);
}

static usec moved_since(const struct flow *f)
{
	return later(f->given.last, f->taken.last);
}

static usec idle_since(const struct exchange *x)
{
	return later(moved_since(&x->upload), moved_since(&x->download));
}

/* The origin was given the same time, a little later, and ends the call itself. Its answer is of
 * more use to the client than a reset, and may come this much later. */
#define CALL_GRACE_USEC USEC_PER_SEC

static usec called_since(const struct exchange *x)
{
	return x->timing.started + exchange_has_begun(x) * CALL_GRACE_USEC;
}

/* ---- the table ---- */

#define QUEUED PHASE_BIT(EXCHANGE_QUEUED)
#define SENT PHASE_BIT(EXCHANGE_SENT)
#define READY PHASE_BIT(EXCHANGE_READY)
#define ANSWERING PHASE_BIT(EXCHANGE_ANSWERING)
#define LINGERING PHASE_BIT(EXCHANGE_LINGERING)
#define ANY_WAITS (DEADLINE_UPLOAD_WAITS | DEADLINE_DOWNLOAD_WAITS | DEADLINE_ORIGINS_UNREAD)

const struct deadline_row exchange_deadlines[DEADLINE_COUNT] = {
    [DEADLINE_LINGER] =
	{
	    .phases = LINGERING,
	    .limit = RELAY_TIMEOUT_LINGER,
	    .start = offsetof(struct exchange, timing.lingers_since),
	    .cause = &relay_cause_UPLOAD_LINGER,
	},
    [DEADLINE_CLIENT_TAKES] =
	{
	    .phases = EXCHANGE_BEGUN_PHASES,
	    .limit = RELAY_TIMEOUT_TAKE_DOWN,
	    .pace = offsetof(struct exchange, download.taken),
	    .rate = RELAY_CLIENT,
	    .needs = DEADLINE_DOWNLOAD_WAITS,
	    .cause = &relay_cause_DOWN_STALLED,
	},
    [DEADLINE_PUSH_HEAD] =
	{
	    .phases = QUEUED | SENT,
	    .needs = DEADLINE_PUSH,
	    .limit = RELAY_TIMEOUT_PUSH_START,
	    .start = offsetof(struct exchange, timing.waits_since),
	    .stands_still = DEADLINE_ORIGINS_UNREAD,
	    .cause = &relay_cause_HEAD_LATE,
	},
    [DEADLINE_PUSH_START] =
	{
	    .phases = READY,
	    .needs = DEADLINE_PUSH,
	    .limit = RELAY_TIMEOUT_PUSH_START,
	    .start = offsetof(struct exchange, timing.waits_since),
	    .cause = &relay_cause_PUSH_START_LATE,
	},
    [DEADLINE_CALL_TIMEOUT] =
	{
	    .phases = QUEUED | SENT | ANSWERING,
	    .needs = DEADLINE_REQUEST | DEADLINE_CALL_LIMITED,
	    .limit = RELAY_TIMEOUT_CALL,
	    .since = called_since,
	    .cause = &relay_cause_CALL_LATE,
	},
    [DEADLINE_REQUEST_TIMEOUT] =
	{
	    .phases = QUEUED | SENT | ANSWERING,
	    .needs = DEADLINE_REQUEST | DEADLINE_REQUEST_LIMITED,
	    .limit = RELAY_TIMEOUT_REQUEST,
	    .start = offsetof(struct exchange, timing.started),
	    .cause = &relay_cause_REQUEST_DEADLINE,
	},
    [DEADLINE_QUEUE] =
	{
	    .phases = QUEUED,
	    .limit = RELAY_TIMEOUT_QUEUE,
	    .start = offsetof(struct exchange, timing.waits_since),
	    .cause = &relay_cause_QUEUE_LATE,
	},
    [DEADLINE_CLIENT_SENDS] =
	{
	    .phases = QUEUED | SENT | ANSWERING,
	    .needs = DEADLINE_REQUEST | DEADLINE_UPLOAD_OPEN | DEADLINE_UPLOAD_OWED,
	    .not_of_partner = DEADLINE_UPLOAD_OWED,
	    .limit = RELAY_TIMEOUT_BODY_UP,
	    .pace = offsetof(struct exchange, upload.given),
	    .rate = RELAY_CLIENT,
	    .stands_still = DEADLINE_UPLOAD_WAITS,
	    .has_partner = true,
	    .partner = DEADLINE_ORIGIN_SENDS,
	    .cause = &relay_cause_UPLOAD_LATE,
	},
    [DEADLINE_ORIGIN_SENDS] =
	{
	    .phases = ANSWERING,
	    .needs = DEADLINE_DOWNLOAD_OPEN | DEADLINE_DOWNLOAD_OWED,
	    .not_of_partner = DEADLINE_DOWNLOAD_OWED,
	    .limit = RELAY_TIMEOUT_BODY_DOWN,
	    .pace = offsetof(struct exchange, download.given),
	    .rate = RELAY_ORIGIN,
	    .rate_needs_length = true,
	    .stands_still = DEADLINE_DOWNLOAD_WAITS | DEADLINE_ORIGINS_UNREAD,
	    .has_partner = true,
	    .partner = DEADLINE_CLIENT_SENDS,
	    .cause = &relay_cause_BODY_LATE,
	},
    [DEADLINE_ORIGIN_TAKES] =
	{
	    .phases = SENT | ANSWERING | LINGERING,
	    .needs = DEADLINE_REQUEST | DEADLINE_UPLOAD_WAITS,
	    .limit = RELAY_TIMEOUT_TAKE_UP,
	    .pace = offsetof(struct exchange, upload.taken),
	    .rate = RELAY_ORIGIN,
	    .stands_still = DEADLINE_ORIGINS_UNREAD, /* nor is its WINDOW_UPDATE read */
	    .cause = &relay_cause_UP_STALLED,
	},
    [DEADLINE_STREAM_IDLE] =
	{
	    .phases = SENT | ANSWERING,
	    .needs = DEADLINE_STREAM,
	    .limit = RELAY_TIMEOUT_IDLE,
	    .since = idle_since,
	    .stands_still = ANY_WAITS,
	    .cause = &relay_cause_STREAM_IDLE,
	},
    [DEADLINE_TUNNEL_IDLE] =
	{
	    .phases = ANSWERING,
	    .needs = DEADLINE_TUNNEL,
	    .limit = RELAY_TIMEOUT_IDLE,
	    .since = idle_since,
	    .stands_still = ANY_WAITS,
	    .cause = &relay_cause_TUNNEL_IDLE,
	},
    [DEADLINE_TUNNEL_HALF_IDLE] =
	{
	    .phases = ANSWERING,
	    .needs = DEADLINE_TUNNEL_HALF,
	    .limit = RELAY_TIMEOUT_TUNNEL_HALF,
	    .since = idle_since,
	    .stands_still = ANY_WAITS,
	    .cause = &relay_cause_TUNNEL_HALF,
	},
    [DEADLINE_TUNNEL_AGE] =
	{
	    .phases = ANSWERING,
	    .needs = DEADLINE_TUNNEL,
	    .limit = RELAY_TIMEOUT_TUNNEL_AGE,
	    .start = offsetof(struct exchange, tunnel.opened),
	    .cause = &relay_cause_TUNNEL_AGE,
	},
    [DEADLINE_TUNNEL_HELLO] =
	{
	    .phases = ANSWERING,
	    .needs = DEADLINE_HELLO,
	    .limit = RELAY_TIMEOUT_TUNNEL_HELLO,
	    .start = offsetof(struct exchange, tunnel.opened),
	    .cause = &relay_cause_TUNNEL_HELLO_LATE,
	},
    [DEADLINE_HEAD] =
	{
	    .phases = SENT,
	    .needs = DEADLINE_REQUEST | DEADLINE_UPLOAD_ENDED,
	    .limit = RELAY_TIMEOUT_RESPONSE,
	    .since = asked_since,
	    .stands_still = DEADLINE_UPLOAD_WAITS | DEADLINE_ORIGINS_UNREAD,
	    .cause = &relay_cause_HEAD_LATE,
	},
};

/* ---- the nearest of them ---- */

/* The client has not ended its body, whose rest is still wanted. */
static unsigned open_upload_facts(const struct exchange *x)
{
	bool is_announced = x->request->content_length != HTTP_LENGTH_UNKNOWN;
	bool is_waited_for = !x->terms.is_streaming && x->phase != EXCHANGE_ANSWERING;
	return DEADLINE_UPLOAD_OPEN |
	       (is_announced || is_waited_for ? DEADLINE_UPLOAD_OWED : DEADLINE_STREAM);
}

/* In an open tunnel no side owes any bytes. Until it is open, the origin owes its answer, and the client's bytes wait
 * for nothing else. */
static unsigned tunnel_facts(const struct exchange *x, unsigned facts)
{
	if (tunnel_is_unchecked(x)) /* the bytes wait for more of them */
		facts = (facts & ~(unsigned)DEADLINE_UPLOAD_WAITS) | DEADLINE_HELLO;
	if (exchange_is_tunnel(x))
		return (facts & ~(unsigned)DEADLINE_STREAM) | DEADLINE_TUNNEL |
		       (x->tunnel.ended > 0 ? DEADLINE_TUNNEL_HALF : 0u);
	if (x->upload.state == FLOW_ABORTED) /* refused: an answer like any other */
		return facts;
	unsigned of_upload =
	    DEADLINE_UPLOAD_WAITS | DEADLINE_UPLOAD_OPEN | DEADLINE_UPLOAD_OWED | DEADLINE_STREAM;
	return (facts & ~of_upload) | DEADLINE_UPLOAD_ENDED;
}

/* Almost without branches: it runs several times for each request. */
static unsigned facts_of(const struct exchange *x)
{
	const struct flow *up = &x->upload, *down = &x->download;
	bool down_is_open = !down->source_ended;
	bool down_is_owed = x->response.length != HTTP_LENGTH_UNKNOWN; /* before it begins, too */
	/* While a body is gathered, its bytes wait for nothing but the client. */
	bool up_waits = (up->body.bytes > 0) & (x->upload_wait != UPLOAD_GATHERS);
	bool is_unclaimed = x->pushed.claims == 0;
	bool is_unread = x->relay->unread_since != USEC_NEVER;
	bool is_unanswered_call = x->terms.is_call & (x->phase == EXCHANGE_SENT);
	bool is_stream =
	    (down_is_open & !down_is_owed) | x->pushes.is_subscription | is_unanswered_call;
	unsigned facts = (unsigned)!exchange_is_push(x) * DEADLINE_REQUEST |
			 ((unsigned)exchange_is_push(x) & is_unclaimed) * DEADLINE_PUSH |
			 (unsigned)up_waits * DEADLINE_UPLOAD_WAITS |
			 (unsigned)(down->body.bytes > 0) * DEADLINE_DOWNLOAD_WAITS |
			 (unsigned)up->source_ended * DEADLINE_UPLOAD_ENDED |
			 (unsigned)down_is_open * DEADLINE_DOWNLOAD_OPEN |
			 (unsigned)down_is_owed * DEADLINE_DOWNLOAD_OWED |
			 (unsigned)is_stream * DEADLINE_STREAM |
			 (unsigned)is_unread * DEADLINE_ORIGINS_UNREAD |
			 (unsigned)(x->terms.call_timeout > 0) * DEADLINE_CALL_LIMITED |
			 (unsigned)(x->terms.request_timeout > 0) * DEADLINE_REQUEST_LIMITED;
	if (!up->source_ended && up->state != FLOW_ABORTED)
		facts |= open_upload_facts(x);
	return x->tunnel.is_asked ? tunnel_facts(x, facts) : facts;
}

void deadlines_init(struct relay *r)
{
	_Static_assert(DEADLINE_COUNT <= 16, "a bit each");
	for (unsigned phase = 0; phase < EXCHANGE_PHASE_COUNT; phase++) {
		r->deadline_rows[phase] = 0;
		for (unsigned i = 0; i < DEADLINE_COUNT; i++)
			if (exchange_deadlines[i].phases & PHASE_BIT(phase))
				r->deadline_rows[phase] |= (uint16_t)(1u << i);
	}
}

static bool holds(const struct deadline_row *row, unsigned needs, unsigned facts)
{
	return (facts & needs) == needs && !(facts & row->stands_still);
}

static uint32_t rate_of(const struct deadline_row *row, const struct exchange *x)
{
	bool is_any_enough = row->rate_needs_length && x->response.length == HTTP_LENGTH_UNKNOWN;
	return is_any_enough ? 0 : x->relay->ops->min_rate(x->relay->context, x, row->rate);
}

static struct pace *pace_of(const struct deadline_row *row, struct exchange *x)
{
	return (struct pace *)(void *)((char *)x + row->pace);
}

/* The deadline of a row that holds. */
static usec deadline_of(const struct deadline_row *row, struct exchange *x)
{
	usec limit = x->relay->ops->time_limit(x->relay->context, x, row->limit);
	if (row->pace == 0) {
		const void *start = (const char *)x + row->start;
		return clock_after(row->since ? row->since(x) : *(const usec *)start, limit);
	}
	struct pace *p = pace_of(row, x);
	if (limit == 0) { /* the peer is not to blame now: its time begins anew */
		pace_pardon(p, x->relay->now);
		return USEC_NEVER;
	}
	return pace_deadline(p, limit, rate_of(row, x));
}

/*
 * In a dialogue both bodies are under way, as in a call that streams messages: which side sends
 * next, only the two know. While one of them sends, the other's silence is not a timeout: only the
 * later of the two deadlines holds. If that is the deadline of a side that owes nothing, it only
 * puts off the other's.
 */
static usec put_off_by_partner(
    const struct deadline_row *row, struct exchange *x, unsigned facts, usec at)
{
	const struct deadline_row *other = &exchange_deadlines[row->partner];
	unsigned both = DEADLINE_UPLOAD_OPEN | DEADLINE_DOWNLOAD_OPEN;
	if (x->phase != EXCHANGE_ANSWERING || (facts & both) != both)
		return at;
	unsigned needs = other->needs & ~(unsigned)other->not_of_partner;
	usec others = holds(other, needs, facts) ? deadline_of(other, x) : USEC_NEVER;
	if (at >= others)
		return at;
	if (others != USEC_NEVER)
		pace_put_off(pace_of(row, x),
		    x->relay->ops->time_limit(x->relay->context, x, row->limit), others);
	return holds(other, other->needs, facts) ? USEC_NEVER : others;
}

/* Rows for which few requests have a limit: the others do not pay for them. */
#define SELDOM_LIMITED (DEADLINE_CALL_LIMITED | DEADLINE_REQUEST_LIMITED)
#define SELDOM_ROWS (1u << DEADLINE_CALL_TIMEOUT | 1u << DEADLINE_REQUEST_TIMEOUT)

struct exchange_deadline exchange_deadline(struct exchange *x)
{
	struct exchange_deadline nearest = {.at = USEC_NEVER};
	unsigned facts = facts_of(x);
	unsigned rows = x->relay->deadline_rows[x->phase];
	if (!(facts & SELDOM_LIMITED))
		rows &= ~SELDOM_ROWS;
	for (unsigned left = rows; left; left &= left - 1) {
		const struct deadline_row *row = &exchange_deadlines[__builtin_ctz(left)];
		if (!holds(row, row->needs, facts))
			continue;
		usec at = deadline_of(row, x);
		if (row->has_partner && at < nearest.at)
			at = put_off_by_partner(row, x, facts, at);
		if (at < nearest.at)
			nearest = (struct exchange_deadline){at, row->cause};
	}
	return nearest;
}

/* ---- the timer ---- */

void exchange_arm(struct exchange *x)
{
	usec soon = x->relay->now + LOOK_AGAIN_USEC;
	wheel_set(&x->relay->wheel, &x->timing.timer, clock_earlier(exchange_deadline(x).at, soon));
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

void exchange_look_again(struct exchange *x, usec at)
{
	usec now = x->relay->now;
	usec next = is_active(x) ? clock_earlier(at, now + LOOK_AGAIN_USEC) : at;
	x->timing.looked = now;
	wheel_set(&x->relay->wheel, &x->timing.timer, next);
}

/* ---- origins are not read ---- */

void relay_pause_origins(struct relay *r)
{
	if (r->unread_since == USEC_NEVER)
		r->unread_since = r->now;
}

static void excuse(struct pace *p, usec from, usec now)
{
	pace_excuse(p, from > p->since ? from : p->since, now);
}

/* Origins have not been read since `from`: that time does not count as their silence. */
static void excuse_origin(struct exchange *x, usec from, usec now)
{
	usec *since = &x->timing.waits_since;
	if (exchange_is_push(x) && exchange_is_in(x, QUEUED | SENT))
		*since += now - (from > *since ? from : *since);
	excuse(&x->upload.taken, from, now);
	if (x->download.body.bytes == 0) /* else the clock has stood still since `filled` */
		excuse(&x->download.given, from, now);
	exchange_look_soon(x); /* not before what waits in the sockets was read */
}

void relay_resume_origins(struct relay *r)
{
	usec from = r->unread_since;
	if (from == USEC_NEVER)
		return;
	r->unread_usec += r->now - from;
	r->unread_since = USEC_NEVER;
	list_for_each(&r->live, x, struct exchange, link) excuse_origin(x, from, r->now);
}
