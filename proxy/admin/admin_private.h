/* SPDX-License-Identifier: MIT */
/* Private to admin/: what its files share. */
#ifndef PUSHGATE_ADMIN_ADMIN_PRIVATE_H
#define PUSHGATE_ADMIN_ADMIN_PRIVATE_H

#include "proxy/admin/admin.h"

/* A row of the table of pages. */
struct admin_page {
	struct slice path;
	struct slice methods; /* as in Allow */
	bool is_folder;       /* it answers for all paths below its own, which ends with "/" */
	void (*answer)(struct admin_request *r);
};

struct admin {
	struct admin_env env;
	struct readiness own_readiness; /* of a worker without a shared one */
	const struct admin_page *pages; /* admin_pages; others in tests */
	size_t page_count;
	struct list outputs; /* struct admin_output */
	struct list ready;   /* of these, the ones that admin_run is to ask */
	size_t output_count;
	bool is_draining;
};

/* ---- pages.c ---- */

extern const struct admin_page admin_pages[];
extern const size_t admin_page_count;

/* ---- metrics.c ---- */

void admin_answer_metrics(struct admin_request *r); /* a page */

/* ---- visitor.c ---- */

/* Why the request is refused (403), NULL: it is not. It must come from a client that may ask, and by no other site's page
 * that a browser shows. */
const char *admin_refuses(const struct admin *a, const struct exchange *x);

/* ---- output.c ---- */

/* The worker drains: wakes the endless ones, which then end. */
void admin_outputs_end(struct admin *a);

#endif
