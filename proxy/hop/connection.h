/* SPDX-License-Identifier: MIT */
/* What the connections of both sides, to clients and to origins, have in common. */
#ifndef PUSHGATE_HOP_CONNECTION_H
#define PUSHGATE_HOP_CONNECTION_H

#include "proxy/base/clock.h"
#include "proxy/base/list.h"

/* A connection that is over: its transport is gone, the rest of it goes at the end of the loop pass. */
struct corpse {
	struct list link; /* in hop->dead */
	void (*bury)(struct corpse *corpse);
};

/* What a connection costs while idle, its engine included, and what TLS adds: 2,800 bytes of state,
 * and the holes that many handshakes at a time leave in the heap. Charged as a lump from the
 * beginning. */
#define CONNECTION_BYTES 2560u
#define CONNECTION_TLS_BYTES 4608u
static inline size_t connection_bytes(bool has_tls)
{
	return CONNECTION_BYTES + (has_tls ? CONNECTION_TLS_BYTES : 0);
}

/* A connection that is blocked says so to nobody: while it has exchanges it is looked at so often. */
#define LOOK_AT_BLOCKED_USEC USEC_PER_SEC

#endif
