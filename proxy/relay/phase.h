/* SPDX-License-Identifier: MIT */
/*
 * The phases of an exchange as a table: phase × event → the next phase. Only exchange_move applies the table; a pair
 * that is not in it is our own bug (ensure).
 *
 *      new ---DISPATCH--> queued ---CONNECT--> sent ---HEAD_WAITS--> ready  (pushes alone)
 *       |  `--------------- | ----- CONNECT ---^ | `--HEAD_SENT--.     | HEAD_SENT
 *       |                   |                    |               v     v
 *     REFUSE              REFUSE               REFUSE           answering
 *       |                   |                    |               |     |
 *       `----------.        v        .-----------'              CUT    RESPONSE_ENDED
 *                  `---> refused <---'                           |     |
 *                                                                v     v
 *                                                        cut short     lingering
 *
 *   CONNECT from new: a promised stream is there from the start, and so is a held response.
 *   DISPATCH from queued, and from sent back to queued: a retry, or a request that had joined a held
 *     response which is not for it after all.
 *   RESPONSE_ENDED leads from refused to lingering too: the rest of the request is read and dropped.
 *   HEAD_WAITS in ready: the push was told to start, and there still is no room.
 *   FINISH: from every phase to over. Nothing leaves over.
 */
#ifndef PUSHGATE_RELAY_PHASE_H
#define PUSHGATE_RELAY_PHASE_H

#include <stdint.h>

enum exchange_phase {
	EXCHANGE_NEW,    /* made, not dispatched yet */
	EXCHANGE_QUEUED, /* dispatched, waits for an upstream leg */
	EXCHANGE_SENT,   /* has an upstream leg; the final response head has not come */
	EXCHANGE_READY,  /* a push: its final head waits for the client's MAX_CONCURRENT_STREAMS */
	EXCHANGE_ANSWERING, /* the final head went downstream, the response has not ended */
	/* The origin reset the stream with NO_ERROR in the middle of the response: what came goes
	 * downstream, and a reset behind it. */
	EXCHANGE_CUT_SHORT,
	EXCHANGE_LINGERING, /* the response has ended, ours or the origin's, and the request body has not */
	EXCHANGE_REFUSED, /* an answer of our own goes downstream */
	EXCHANGE_OVER,    /* no legs any more; freed at the end of the loop pass */
	EXCHANGE_PHASE_COUNT
};

enum exchange_event {
	EXCHANGE_DISPATCH, /* the owner is asked for an upstream leg */
	EXCHANGE_CONNECT,  /* the upstream leg is there */
	EXCHANGE_HEAD_WAITS,
	EXCHANGE_HEAD_SENT,      /* the final head of the origin's response, downstream */
	EXCHANGE_CUT,            /* NO_ERROR in the middle of the response, and bytes of it wait */
	EXCHANGE_RESPONSE_ENDED, /* and the request has not */
	EXCHANGE_REFUSE,
	EXCHANGE_FINISH,
	EXCHANGE_EVENT_COUNT
};

/* The next phase; EXCHANGE_NEW, which no event leads to: the event must not happen in this phase. */
extern const uint8_t exchange_transitions[EXCHANGE_PHASE_COUNT][EXCHANGE_EVENT_COUNT];

const char *exchange_phase_name(enum exchange_phase phase); /* "cut-short" */
const char *exchange_event_name(enum exchange_event event); /* "head-sent" */

/* Phases as bits of a mask. */
#define PHASE_BIT(phase) (1u << (phase))
/* The final head, or that of an answer of our own, has been sent downstream. */
#define EXCHANGE_BEGUN_PHASES                                                                      \
	(PHASE_BIT(EXCHANGE_ANSWERING) | PHASE_BIT(EXCHANGE_CUT_SHORT) |                           \
	    PHASE_BIT(EXCHANGE_LINGERING) | PHASE_BIT(EXCHANGE_REFUSED))

#endif
