/* SPDX-License-Identifier: MIT */
/*
 * Two engines of ours, a client and a server, whose owners do what the input says: nothing that
 * one may say is a fault to the other, no byte is lost, every stream ends on both sides. See
 * tests/support/pair.h; input: what is drawn from, byte by byte.
 */
#include "tests/fuzz/input.h"
#include "tests/support/pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pair_totals totals = {0};
	if (size > 0)
		pair_run(1, slice_of(data, size), &totals);
	return 0;
}
