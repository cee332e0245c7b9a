/* SPDX-License-Identifier: MIT */
/*
 * What leaves on one connection in one send: the engine's control frames, then DATA frames in the
 * order of its scheduler, their payload straight from the bodies of the exchanges.
 */
#include "proxy/hop/private.h"

#include "proxy/base/ensure.h"

/* Larger frames would make a client wait longer before it can act on a more urgent one. */
#define FRAME_BYTES_MAX 16384u
/* What is left of a batch would make a frame that is hardly more than its header: rather a longer
 * batch. */
#define FRAME_BYTES_LEAST 4096u

static void put_payload(struct leg *leg, struct net_out *out, const struct h2_data_frame *frame)
{
	const struct flow *f = exchange_flow_to(leg);
	uint32_t left = frame->length;
	do {
		struct piece p = body_front(&f->body, left);
		ensure(p.length > 0 || left == 0);
		if (p.length > 0)
			net_out_piece(out, p);
		left -= p.length;
		exchange_on_taken(leg, p.length, left == 0 && frame->end);
	} while (left > 0);
}

bool out_fill(struct h2_conn *h2, struct net_out *out)
{
	bool any = false;
	size_t room;
	while ((room = net_out_room(out)) > 0) {
		struct slice control = h2_control(h2);
		if (control.len > 0) {
			net_out_copy(out, control.ptr, control.len);
			h2_control_taken(h2, control.len);
			any = true;
			continue;
		}
		uint32_t most = room < FRAME_BYTES_MAX ? (uint32_t)room : FRAME_BYTES_MAX;
		if (most < FRAME_BYTES_LEAST)
			most = FRAME_BYTES_LEAST;
		struct h2_data_frame frame;
		if (!h2_next_data(h2, most, &frame))
			break;
		net_out_copy(out, frame.header, sizeof(frame.header));
		put_payload(frame.user, out, &frame);
		any = true;
	}
	return any;
}
