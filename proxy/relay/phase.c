/* SPDX-License-Identifier: MIT */
/* The phases of an exchange as a table; see phase.h for the diagram. */
#include "proxy/relay/relay_private.h"

#include <stdio.h>

const uint8_t exchange_transitions[EXCHANGE_PHASE_COUNT][EXCHANGE_EVENT_COUNT] = {
    [EXCHANGE_NEW][EXCHANGE_DISPATCH] = EXCHANGE_QUEUED,
    [EXCHANGE_NEW][EXCHANGE_CONNECT] = EXCHANGE_SENT,
    [EXCHANGE_NEW][EXCHANGE_REFUSE] = EXCHANGE_REFUSED,
    [EXCHANGE_NEW][EXCHANGE_FINISH] = EXCHANGE_OVER,

    [EXCHANGE_QUEUED][EXCHANGE_DISPATCH] = EXCHANGE_QUEUED, /* a retry */
    [EXCHANGE_QUEUED][EXCHANGE_CONNECT] = EXCHANGE_SENT,
    [EXCHANGE_QUEUED][EXCHANGE_REFUSE] = EXCHANGE_REFUSED,
    [EXCHANGE_QUEUED][EXCHANGE_FINISH] = EXCHANGE_OVER,

    /* a retry; or the held response that the request had joined is not for it */
    [EXCHANGE_SENT][EXCHANGE_DISPATCH] = EXCHANGE_QUEUED,
    [EXCHANGE_SENT][EXCHANGE_HEAD_WAITS] = EXCHANGE_READY,
    [EXCHANGE_SENT][EXCHANGE_HEAD_SENT] = EXCHANGE_ANSWERING,
    [EXCHANGE_SENT][EXCHANGE_REFUSE] = EXCHANGE_REFUSED,
    [EXCHANGE_SENT][EXCHANGE_FINISH] = EXCHANGE_OVER,

    [EXCHANGE_READY][EXCHANGE_HEAD_WAITS] = EXCHANGE_READY, /* it was told to start too early */
    [EXCHANGE_READY][EXCHANGE_HEAD_SENT] = EXCHANGE_ANSWERING,
    [EXCHANGE_READY][EXCHANGE_FINISH] = EXCHANGE_OVER,

    [EXCHANGE_ANSWERING][EXCHANGE_CUT] = EXCHANGE_CUT_SHORT,
    [EXCHANGE_ANSWERING][EXCHANGE_RESPONSE_ENDED] = EXCHANGE_LINGERING,
    [EXCHANGE_ANSWERING][EXCHANGE_FINISH] = EXCHANGE_OVER,

    [EXCHANGE_CUT_SHORT][EXCHANGE_FINISH] = EXCHANGE_OVER,
    [EXCHANGE_LINGERING][EXCHANGE_FINISH] = EXCHANGE_OVER,
    [EXCHANGE_REFUSED][EXCHANGE_RESPONSE_ENDED] = EXCHANGE_LINGERING,
    [EXCHANGE_REFUSED][EXCHANGE_FINISH] = EXCHANGE_OVER,
};

const char *exchange_phase_name(enum exchange_phase phase)
{
	static const char *const names[EXCHANGE_PHASE_COUNT] = {
	    [EXCHANGE_NEW] = "new",
	    [EXCHANGE_QUEUED] = "queued",
	    [EXCHANGE_SENT] = "sent",
	    [EXCHANGE_READY] = "ready",
	    [EXCHANGE_ANSWERING] = "answering",
	    [EXCHANGE_CUT_SHORT] = "cut-short",
	    [EXCHANGE_LINGERING] = "lingering",
	    [EXCHANGE_REFUSED] = "refused",
	    [EXCHANGE_OVER] = "over",
	};
	return names[phase];
}

const char *exchange_event_name(enum exchange_event event)
{
	static const char *const names[EXCHANGE_EVENT_COUNT] = {
	    [EXCHANGE_DISPATCH] = "dispatch",
	    [EXCHANGE_CONNECT] = "connect",
	    [EXCHANGE_HEAD_WAITS] = "head-waits",
	    [EXCHANGE_HEAD_SENT] = "head-sent",
	    [EXCHANGE_CUT] = "cut",
	    [EXCHANGE_RESPONSE_ENDED] = "response-ended",
	    [EXCHANGE_REFUSE] = "refuse",
	    [EXCHANGE_FINISH] = "finish",
	};
	return names[event];
}

_Noreturn void exchange_move_failed(const struct exchange *x, enum exchange_event event)
{
	char what[128];
	snprintf(what, sizeof(what), "exchange x%llu: %s in phase %s", (unsigned long long)x->id,
	    exchange_event_name(event), exchange_phase_name(x->phase));
	ensure_failed(what, __FILE__, __LINE__, "exchange_move");
}
