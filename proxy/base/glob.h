/* SPDX-License-Identifier: MIT */
/*
 * Globs: `*` matches any run of bytes (also `/` and none), `?` any one byte, `\` makes the next
 * byte literal. Nothing else is special. Linear in pattern × text, no recursion.
 */
#ifndef PUSHGATE_BASE_GLOB_H
#define PUSHGATE_BASE_GLOB_H

#include "proxy/base/slice.h"

bool glob_match(struct slice pattern, struct slice text);
/* Ignores the case of ASCII letters (hosts, user-agents). */
bool glob_match_nocase(struct slice pattern, struct slice text);

#endif
