/* SPDX-License-Identifier: MIT */
/* A walk over the page records of all workers, the newest first, as far as they pass a filter. Private to admin/. */
#ifndef PUSHGATE_ADMIN_PAGE_WALK_H
#define PUSHGATE_ADMIN_PAGE_WALK_H

#include "proxy/waterfall/waterfall.h"
#include <stdio.h>

/* What a page must have; "" and -1: anything. */
struct page_filter {
	char host[128], path[256]; /* parts of its host and its path */
	char client[48];           /* how the text of its client's address begins */
	int verdict;               /* of one of its pushes */
};

/* Of a query: host, path, client, verdict. NULL, or what is wrong with it. */
const char *page_filter_read(struct page_filter *f, struct slice query);
bool page_filter_passes(const struct page_filter *f, const struct page_record *r);

struct page_head; /* the next record of a lane */
struct page_walk {
	const struct waterfall *records; /* borrows */
	struct page_filter filter;
	struct page_head *heads; /* owned; of each worker */
};

void page_walk_init(struct page_walk *w, const struct waterfall *records);
void page_walk_fini(struct page_walk *w);
/* Begins again with the same records, as far as they are still there. */
void page_walk_again(struct page_walk *w);
enum page_walk_step { PAGE_WALK_FOUND, PAGE_WALK_PASSED_BY, PAGE_WALK_ENDS };
/* Looks at one record. FOUND: *r is its copy, and *worker wrote it. */
enum page_walk_step page_walk_next(struct page_walk *w, struct page_record *r, uint32_t *worker);

#endif
