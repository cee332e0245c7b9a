/* SPDX-License-Identifier: MIT */
/*
 * The memory of streams that we have reset (RFC 9113 5.1): what was under way for them is
 * tolerated. When a PING that was sent after the RST_STREAM has come back, the peer's reader has
 * certainly seen it; its application may still send what it had decided to send. So the answer only
 * confirms the ids: they go, oldest first, when room is needed. Bounded; when there is no room and
 * none confirmed, every unknown closed stream counts as reset by us until a PING sent after that is
 * back: forgotten state never makes an error.
 */
#ifndef PUSHGATE_H2_FORGOTTEN_H
#define PUSHGATE_H2_FORGOTTEN_H

#include <stdbool.h>
#include <stdint.h>

struct h2_forgotten {
	/* Oldest first: [0, confirmed), [confirmed, sealed) wait for the PING under way, the others
	 * for the next. */
	uint32_t *ids;
	uint32_t count, capacity, confirmed, sealed;
	bool ping_under_way;
	bool overflow_sealed, overflow; /* ids were lost before, after that PING */
};

void h2_forgotten_init(struct h2_forgotten *f);
void h2_forgotten_fini(struct h2_forgotten *f);
/* True: a PING should be sent now, and h2_forgotten_pinged be told. */
bool h2_forgotten_wants_ping(const struct h2_forgotten *f);
void h2_forgotten_pinged(struct h2_forgotten *f);
void h2_forgotten_ponged(struct h2_forgotten *f);
void h2_forgotten_add(struct h2_forgotten *f, uint32_t id);
/* For a closed stream: might we have reset it a moment ago? */
bool h2_forgotten_has(const struct h2_forgotten *f, uint32_t id);

#endif
