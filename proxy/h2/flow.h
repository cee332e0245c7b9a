/* SPDX-License-Identifier: MIT */
/*
 * Flow-control windows (RFC 9113 5.2, 6.9) as small objects of pure arithmetic: no frames, no
 * streams. Both kinds may fall below zero when SETTINGS_INITIAL_WINDOW_SIZE is lowered (6.9.2).
 */
#ifndef PUSHGATE_H2_FLOW_H
#define PUSHGATE_H2_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/* What we may send. */
struct h2_outflow {
	int64_t window;
};

/* By WINDOW_UPDATE or a changed initial size. False (nothing changed): it would exceed 2^31-1. */
bool h2_outflow_shift(struct h2_outflow *f, int64_t by);

/* What the peer may send. window + owed + what the owner has not credited yet == size. */
struct h2_inflow {
	int64_t window; /* the peer may still send this much */
	int64_t owed;   /* credited, not announced yet */
	int64_t size;
};

void h2_inflow_init(struct h2_inflow *f, uint32_t size);
/* DATA came. False: it overruns the window (nothing changed). */
bool h2_inflow_take(struct h2_inflow *f, uint32_t bytes);
/* Credit. Returns the increment to announce now, 0 = not yet (less than half of the size). */
uint32_t h2_inflow_give(struct h2_inflow *f, uint32_t bytes);
/* The size moves without an announcement of its own (SETTINGS). */
void h2_inflow_shift(struct h2_inflow *f, int64_t by);
/* Grows to `size`, if that is more. Returns the increment to announce, with all that is owed. */
uint32_t h2_inflow_grow(struct h2_inflow *f, uint32_t size);

#endif
