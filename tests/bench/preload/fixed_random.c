/* SPDX-License-Identifier: MIT */
/*
 * Loaded into the gateway by scripts/cost: what getrandom(2) gives depends on the environment's
 * COST_SEED alone. So the hash tables of the gateway have the same collisions in each run. BoringSSL
 * asks the kernel itself and is not changed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

ssize_t getrandom(void *buffer, size_t length, unsigned flags)
{
	static uint64_t state;
	uint8_t *out = buffer;
	const char *seed = getenv("COST_SEED");
	(void)flags;
	if (state == 0)
		state = (seed ? strtoull(seed, NULL, 10) : 0) * 2 + 1;
	for (size_t i = 0; i < length; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		out[i] = (uint8_t)(state >> 56);
	}
	return (ssize_t)length;
}
