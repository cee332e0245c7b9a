/* SPDX-License-Identifier: MIT */
/*
 * The assembly buffer for data that must be complete before it can be parsed: field blocks (RFC
 * 9113 4.3), and small frames that came in several reads. One buffer is enough, because no other
 * frame may come between the frames of a field block. It is allocated only while it is needed.
 */
#ifndef PUSHGATE_H2_BLOCK_H
#define PUSHGATE_H2_BLOCK_H

#include "proxy/base/budget.h"
#include "proxy/base/clock.h"
#include "proxy/base/slice.h"

/* A frame of the smallest legal maximum size is accepted even if the budget is used up. */
#define H2_BLOCK_BASE 16384u

struct h2_block {
	uint8_t *data; /* [0, length): fragments; then `partial` bytes of the unfinished frame */
	uint32_t length, partial, capacity;
	size_t charged;
	bool is_open;           /* between HEADERS or PUSH_PROMISE and END_HEADERS */
	uint8_t type, flags;    /* of the first frame */
	bool depends_on_itself; /* RFC 7540 5.3.1 */
	uint32_t stream_id, promised_id;
	uint32_t continuations;
	usec deadline; /* USEC_NEVER while closed */
};

void h2_block_init(struct h2_block *b);
void h2_block_fini(struct h2_block *b, struct budget *budget);
/* Makes room for `bytes` bytes behind length + partial. False: the budget refuses. */
bool h2_block_reserve(struct h2_block *b, struct budget *budget, uint32_t bytes);
/* Adds bytes of a frame's unfinished payload. */
void h2_block_gather(struct h2_block *b, const uint8_t *bytes, uint32_t n);

#endif
