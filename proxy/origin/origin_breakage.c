/* SPDX-License-Identifier: MIT */
/*
 * Which request has made an origin end its connection with an error. The GOAWAY says how far the origin came: it has
 * failed at the first request that it did not process, or, if it did process all of them, at the last one that it has
 * not answered. That request is answered alone and not repeated, since it would end the next connection too, with all
 * other requests there. These are repeated as after any other end.
 *
 * The ids of some origins are wrong. A request that was not answered on two connections that ended so is not
 * repeated either.
 */
#include "proxy/origin/origin_private.h"

/* Others are about the connection as a whole: too much of something, a timeout, another version. */
static bool may_be_for_a_request(uint32_t code)
{
	static const uint32_t codes[] = {
	    SESSION_PROTOCOL_ERROR,
	    SESSION_INTERNAL_ERROR,
	    SESSION_FLOW_CONTROL_ERROR,
	    SESSION_STREAM_CLOSED,
	    SESSION_FRAME_SIZE_ERROR,
	    SESSION_COMPRESSION_ERROR,
	};
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		if (codes[i] == code)
			return true;
	return false;
}

static bool is_unanswered(const struct leg *leg)
{
	const struct exchange *x = leg->exchange;
	return x->response.answered_by == ANSWERED_BY_NOBODY && !exchange_is_push(x);
}

static const struct leg *last_unanswered(const struct origin_conn *c)
{
	const struct leg *last = NULL;
	list_for_each(&c->legs, leg, struct leg, link)
	{
		if (is_unanswered(leg))
			last = leg;
	}
	return last;
}

void origin_breakage_came(struct origin_conn *c, const struct session_event *goaway)
{
	if (!may_be_for_a_request(goaway->code))
		return;
	c->breakage.has_come = true;
	c->breakage.blamed = goaway->stream ? goaway->user : last_unanswered(c);
}

const struct relay_cause *origin_breakage_cause(
    const struct origin_conn *c, const struct leg *leg, const struct relay_cause *cause)
{
	bool may_repeat = cause == &relay_cause_UP_UNPROCESSED || cause == &relay_cause_UP_LOST;
	if (!c->breakage.has_come || !may_repeat || !is_unanswered(leg))
		return cause;
	struct origin_attempt *attempt = origin_attempt_of(leg->exchange);
	bool was_before = attempt->has_seen_breakage;
	attempt->has_seen_breakage = true;
	return leg == c->breakage.blamed || was_before ? &relay_cause_UP_ERROR : cause;
}
