/* SPDX-License-Identifier: MIT */
/* When an exchange is done, and whether the rest of a request is still read once its response is complete. */
#include "proxy/relay/relay_private.h"

/* Many clients lose a response whose stream is reset, or whose connection is closed, while they still send their
 * request: the rest of the request is read for upload-linger and dropped. But not a stream of messages, whose client sees
 * the end of the response first; nor from a client that sends nothing more or nothing that can be read; nor while memory is
 * short. */
static bool reads_on(const struct exchange *x)
{
	const struct relay_cause *cause = x->ending.cause;
	if (x->terms.is_streaming) /* a tunnel is one, too */
		return false;
	if (!cause || cause == &relay_cause_UPLOAD_LARGE)
		return true;
	return cause->side != RELAY_CLIENT && cause != &relay_cause_NO_MEMORY &&
	       cause != &relay_cause_MEMORY_SHORT && cause != &relay_cause_MEMORY_STALLED;
}

void exchange_check_done(struct exchange *x)
{
	if (x->download.state != FLOW_DONE)
		return;
	if (x->tunnel.is_asked && x->up.ops && x->upload.state != FLOW_DONE) {
		if (exchange_is_tunnel(x)) /* the client's direction goes on */
			return;
		exchange_reset_leg(&x->up, RELAY_CANCEL); /* nothing will come for the origin */
	}
	if (x->upload.state == FLOW_DONE ||
	    (x->upload.source_ended && x->upload.state == FLOW_ABORTED)) {
		exchange_finish(x, NULL, 0, NULL);
		return;
	}
	if (!x->up.ops && !(x->down.ops && reads_on(x))) {
		bool was_cut_off = exchange_is_tunnel(x) && x->ending.cause;
		exchange_reset_leg(
		    &x->down, was_cut_off ? exchange_code_down(x, x->ending.cause, x->ending.code)
					  : RELAY_NO_ERROR);
		exchange_finish(x, NULL, 0, NULL);
		return;
	}
	if (exchange_is_in(x, PHASE_BIT(EXCHANGE_LINGERING)))
		return;
	exchange_move(x, EXCHANGE_RESPONSE_ENDED);
	x->timing.lingers_since = x->relay->now;
	exchange_arm(x);
}
