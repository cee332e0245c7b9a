/* SPDX-License-Identifier: MIT */
/*
 * Globs: `*` matches any run of bytes (also `/` and none), `?` any one byte, `\` makes the next byte literal. Nothing
 * else is special. No recursion and no backtracking: a match reads each byte of the text once for every 64 bytes of the
 * longest piece between two stars, and the ends before and behind them once.
 */
#ifndef PUSHGATE_BASE_GLOB_H
#define PUSHGATE_BASE_GLOB_H

#include "proxy/base/effort.h"
#include "proxy/base/slice.h"

bool glob_match(struct slice pattern, struct slice text);
/* Ignores the case of ASCII letters (hosts, user-agents). */
bool glob_match_nocase(struct slice pattern, struct slice text);

/*
 * Either of them, for as long as `e` lasts: the bytes of the text that are searched count, and the ends of a pattern do
 * not. False with e->is_used_up: the text may match.
 */
bool glob_match_within(struct slice pattern, struct slice text, bool nocase, struct effort *e);

#endif
