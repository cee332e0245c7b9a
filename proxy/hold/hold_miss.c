/* SPDX-License-Identifier: MIT */
/* The texts of the table of misses. */
#include "proxy/hold/hold_miss.h"

#include "proxy/base/ensure.h"

static const struct {
	const char *name, *advice;
	struct slice status;
} rows[HOLD_MISS_COUNT] = {[HOLD_FITS] = {"fits", "None needed.", {0}},
#define HOLD_MISS_ROW(symbol, name, reason, sentence, advice)                                      \
	[HOLD_MISS_##symbol] = {name, advice, SLICE_INIT("pushgate; fwd=" reason "; detail=" name)},
    HOLD_MISSES(HOLD_MISS_ROW)
#undef HOLD_MISS_ROW
};

const char *hold_miss_name(enum hold_miss miss)
{
	return (unsigned)miss < HOLD_MISS_COUNT ? rows[miss].name : "?";
}

const char *hold_miss_advice(enum hold_miss miss)
{
	return (unsigned)miss < HOLD_MISS_COUNT ? rows[miss].advice : "?";
}

struct slice hold_miss_status(enum hold_miss miss)
{
	ensure(miss != HOLD_FITS && (unsigned)miss < HOLD_MISS_COUNT);
	return rows[miss].status;
}
