/* SPDX-License-Identifier: MIT */
/*
 * Formats one line per frame: "s5 <- HEADERS len=41 end". Called only if the session is traced. A line has nothing of a frame's payload: fields may be secrets.
 */
#include "proxy/h2/h2_conn.h"

#include <stdio.h>

void h2_trace_frame(const struct h2_conn *c, bool out, const struct h2_frame *frame)
{
	char line[96], unknown[16];
	const struct h2_frame_row *row = h2_frame_row(frame->type);
	snprintf(unknown, sizeof(unknown), "0x%02x", (unsigned)frame->type);
	uint8_t flags = row ? frame->flags & row->flags : 0;
	bool is_block = row && row->flags & H2_END_HEADERS;
	bool ends = frame->type == H2_DATA || frame->type == H2_HEADERS;
	snprintf(line, sizeof(line), "s%u %s %s len=%u%s%s%s%s", frame->stream_id,
	    out ? "->" : "<-", row ? row->name : unknown, frame->length,
	    ends && flags & H2_END_STREAM ? " end" : "", !ends && flags & H2_ACK ? " ack" : "",
	    is_block && !(flags & H2_END_HEADERS) ? " more" : "",
	    flags & H2_PADDED ? " padded" : "");
	c->session.env->trace(c->session.traced, line);
}
