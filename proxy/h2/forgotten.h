/* SPDX-License-Identifier: MIT */
/*
 * Remembers the streams that this side has reset (RFC 9113 5.1), so that frames still in transit on
 * them are tolerated. After each reset a PING is sent. Its answer shows that the peer has read the
 * RST_STREAM; but the peer's application may still send data that it had already queued. So the
 * answer only confirms the ids: confirmed ids are dropped, oldest first, when room is needed. The
 * store is bounded. If it is full of unconfirmed ids, every unknown closed stream counts as reset
 * by this side until a later PING is answered: a lost id never causes an error.
 */
#ifndef PUSHGATE_H2_FORGOTTEN_H
#define PUSHGATE_H2_FORGOTTEN_H

#include <stdbool.h>
#include <stdint.h>

/* Initialize with zeroes: empty. */
struct h2_forgotten {
	/*
	 * Oldest first: [0, confirmed) are confirmed, [confirmed, sealed) wait for the PING in
	 * transit, the others for the next PING.
	 */
	uint32_t *ids;
	uint32_t count, capacity, confirmed, sealed;
	bool ping_under_way;
	bool overflow_sealed,
	    overflow; /* ids were dropped unconfirmed: before, after the PING in transit */
};

void h2_forgotten_fini(struct h2_forgotten *f);
/* True: send a PING now, then call h2_forgotten_pinged. */
bool h2_forgotten_wants_ping(const struct h2_forgotten *f);
void h2_forgotten_pinged(struct h2_forgotten *f);
void h2_forgotten_ponged(struct h2_forgotten *f);
void h2_forgotten_add(struct h2_forgotten *f, uint32_t id);
/* Whether this side may recently have reset a closed stream. */
bool h2_forgotten_has(const struct h2_forgotten *f, uint32_t id);

#endif
