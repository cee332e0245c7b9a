/* SPDX-License-Identifier: MIT */
/*
 * The queue of frames that are ready to send: one contiguous buffer. It grows, and is freed when
 * the connection is idle. Its bytes above a small base are charged to the budget.
 */
#ifndef PUSHGATE_H2_OUT_H
#define PUSHGATE_H2_OUT_H

#include "proxy/base/budget.h"
#include "proxy/base/slice.h"

/* Not charged, because every connection needs this much. */
#define H2_OUT_BASE 4096u
/* Enough for a few frames: most connections have few requests at a time. */
#define H2_OUT_SMALL 512u

struct h2_out {
	uint8_t *data;
	size_t start, end, capacity;
	size_t provoked; /* the bytes among them that the peer provoked */
	size_t charged;
	size_t usual; /* how many were taken at once last time: so many will probably come again */
	struct budget *budget; /* borrows */
};

void h2_out_init(struct h2_out *o, struct budget *budget);
void h2_out_fini(struct h2_out *o);
/* Returns room for n bytes at the end; valid until the next call. */
uint8_t *h2_out_reserve(struct h2_out *o, size_t n);
static inline void h2_out_commit(struct h2_out *o, size_t n)
{
	o->end += n;
}
static inline size_t h2_out_length(const struct h2_out *o)
{
	return o->end - o->start;
}
/* The n bytes at the start have been sent. They stay valid until the next call. */
void h2_out_taken(struct h2_out *o, size_t n);
/* Frees the buffer if nothing is queued, and the connection is idle or the buffer is large. */
void h2_out_trim(struct h2_out *o, bool is_idle);

#endif
