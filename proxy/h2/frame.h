/* SPDX-License-Identifier: MIT */
/*
 * The frame types as a table (RFC 9113 6, RFC 9218 7.1) and the 9-byte frame header (RFC 9113 4.1).
 * state.c has the rules that depend on a stream's state.
 */
#ifndef PUSHGATE_H2_FRAME_H
#define PUSHGATE_H2_FRAME_H

#include "proxy/h2/h2_fault.h"

#define H2_FRAME_HEADER_LEN 9u
/* RFC 9113 4.1: the reserved bit of a stream id is ignored. */
#define H2_ID_MASK 0x7fffffffu
#define H2_ID_MAX 0x7fffffffu
/* RFC 9113 6.9.1. */
#define H2_WINDOW_MAX 0x7fffffff
#define H2_DEFAULT_WINDOW 65535

struct h2_frame {
	uint32_t length, stream_id;
	uint8_t type, flags;
};

enum h2_stream_rule { H2_STREAM_ANY, H2_STREAM_ZERO, H2_STREAM_NONZERO };

/* The roles that may send a frame: bits of 1 << enum h2_role. */
enum { H2_BY_SERVER = 1 << H2_SERVER, H2_BY_CLIENT = 1 << H2_CLIENT, H2_BY_BOTH = 3 };

/* How a handler gets the payload. */
enum h2_payload {
	H2_PAYLOAD_WHOLE, /* in one call, when complete */
	/* a call at the frame header (payload NULL), then runs of bytes */
	H2_PAYLOAD_STREAMED,
};

struct h2_frame_row {
	const char *name, *section;
	uint32_t length_min, length_max;
	uint32_t length_unit; /* the length must be a multiple of it */
	enum h2_fault_id length_fault;
	enum h2_stream_rule stream_rule;
	enum h2_fault_id stream_fault; /* if stream_rule is broken */
	uint8_t flags;                 /* the defined ones; others are ignored */
	uint8_t senders;
	enum h2_fault_id sender_fault;
	enum h2_payload payload;
	bool in_block; /* allowed between HEADERS and END_HEADERS */
};

/* The known types, by number; a row without a name is unknown. */
#define H2_FRAME_ROWS 17u
extern const struct h2_frame_row h2_frame_rows[H2_FRAME_ROWS];

/* NULL: an unknown type, to be ignored (RFC 9113 5.5). */
static inline const struct h2_frame_row *h2_frame_row(uint8_t type)
{
	return type < H2_FRAME_ROWS && h2_frame_rows[type].name ? &h2_frame_rows[type] : NULL;
}

/* Checks a frame header that a peer of this role sent. NULL or the fault. */
const struct session_fault *h2_frame_verify(const struct h2_frame *frame, enum h2_role sender);

static inline uint32_t h2_read32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static inline void h2_write32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static inline struct h2_frame h2_frame_parse(const uint8_t header[H2_FRAME_HEADER_LEN])
{
	return (struct h2_frame){
	    .length = (uint32_t)header[0] << 16 | (uint32_t)header[1] << 8 | header[2],
	    .stream_id = h2_read32(header + 5) & H2_ID_MASK,
	    .type = header[3],
	    .flags = header[4],
	};
}

static inline void h2_frame_write(uint8_t header[H2_FRAME_HEADER_LEN], struct h2_frame frame)
{
	header[0] = (uint8_t)(frame.length >> 16);
	header[1] = (uint8_t)(frame.length >> 8);
	header[2] = (uint8_t)frame.length;
	header[3] = frame.type;
	header[4] = frame.flags;
	h2_write32(header + 5, frame.stream_id);
}

#endif
