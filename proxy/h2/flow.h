/* SPDX-License-Identifier: MIT */
/*
 * Flow-control windows (RFC 9113 5.2, 6.9): pure arithmetic, without frames or streams. Both kinds
 * may become negative when SETTINGS_INITIAL_WINDOW_SIZE is lowered (6.9.2).
 */
#ifndef PUSHGATE_H2_FLOW_H
#define PUSHGATE_H2_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/* The bytes that this side may send. */
struct h2_outflow {
	int64_t window;
};

/*
 * Changes the window, for WINDOW_UPDATE or a new initial size. False (and no change): it would
 * exceed 2^31-1.
 */
bool h2_outflow_shift(struct h2_outflow *f, int64_t by);

/*
 * The bytes that the peer may send. size == window + owed + bytes that the owner has not credited
 * yet.
 */
struct h2_inflow {
	int64_t window; /* the peer may still send this much */
	int64_t owed;   /* credited, but not announced yet */
	int64_t size;
};

void h2_inflow_init(struct h2_inflow *f, uint32_t size);
/* Receives DATA. False (and no change): it exceeds the window. */
bool h2_inflow_take(struct h2_inflow *f, uint32_t bytes);
/*
 * Credits bytes. Returns the increment to announce now; 0 = none yet (less than half of the size).
 */
uint32_t h2_inflow_give(struct h2_inflow *f, uint32_t bytes);
/* Changes the size without a WINDOW_UPDATE (SETTINGS). */
void h2_inflow_shift(struct h2_inflow *f, int64_t by);
/*
 * Enlarges the window to `size`, if that is more. Returns the increment to announce, with all owed
 * bytes.
 */
uint32_t h2_inflow_grow(struct h2_inflow *f, uint32_t size);

#endif
