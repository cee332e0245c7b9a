/* SPDX-License-Identifier: MIT */
/* The texts of the table of misses. */
#include "proxy/hold/hold_miss.h"

static const struct {
	const char *name, *advice;
} rows[HOLD_MISS_COUNT] = {[HOLD_FITS] = {"fits", "None needed."},
#define HOLD_MISS_ROW(symbol, name, sentence, advice) [HOLD_MISS_##symbol] = {name, advice},
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
