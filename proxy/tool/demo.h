/* SPDX-License-Identifier: MIT */
/* What the files of the demo origin share. Private to tool/. */
#ifndef PUSHGATE_TOOL_DEMO_H
#define PUSHGATE_TOOL_DEMO_H

#include "proxy/base/slice.h"

struct demo_asset {
	struct slice path, type, body, etag;
};

/*
 * The page, what is promised with it (all between the first and DEMO_LATE), and one that comes
 * late.
 */
enum { DEMO_PAGE = 0, DEMO_FIRST_PUSHED = 1, DEMO_LATE = 9, DEMO_ASSETS = 10 };
extern const struct demo_asset demo_assets[DEMO_ASSETS];

/* /slow says these one after the other. */
#define DEMO_SLOW_PARTS 2
extern const struct slice demo_slow_parts[DEMO_SLOW_PARTS];

#endif
