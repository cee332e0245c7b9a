/* SPDX-License-Identifier: MIT */
/*
 * Whether clients may be sent to this pushgate, in shared memory that outlives generations: the master, or the only
 * process, writes what workers cannot see, and workers answer /readyz by it. Included by observe.h. All of it is
 * atomic words, and zeroed memory says that nothing is known yet.
 */
#ifndef PUSHGATE_OBSERVE_READINESS_H
#define PUSHGATE_OBSERVE_READINESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct readiness {
	/* Written by the master. */
	_Atomic bool will_drain;    /* told to end: it drains, or will after drain-delay */
	_Atomic uint32_t accepting; /* workers that accept clients */
	/* Written by workers: /readyz has said 200 once, and does not look at servers again. */
	_Atomic bool was_ready;
};

#endif
