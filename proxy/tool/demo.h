/* SPDX-License-Identifier: MIT */
/* The site that the files of the demo origin share. Private to tool/. */
#ifndef PUSHGATE_TOOL_DEMO_H
#define PUSHGATE_TOOL_DEMO_H

#include "proxy/base/slice.h"

struct demo_asset {
	struct slice path, type, body, etag;
};

/*
 * Indexes: the page, the assets promised with it (DEMO_FIRST_PUSHED up to DEMO_LATE), and the asset
 * that /slow promises later.
 */
enum { DEMO_PAGE = 0, DEMO_FIRST_PUSHED = 1, DEMO_LATE = 9, DEMO_ASSETS = 10 };
extern const struct demo_asset demo_assets[DEMO_ASSETS];

/* The parts of the body of /slow, sent one after the other. */
#define DEMO_SLOW_PARTS 2
extern const struct slice demo_slow_parts[DEMO_SLOW_PARTS];

#endif
