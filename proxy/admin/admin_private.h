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
	struct list outputs;                /* struct admin_output */
	struct list ready;                  /* of these, the ones that admin_run is to ask */
	size_t output_count, endless_count; /* endless: of these outputs */
	bool is_draining;
};

/* ---- pages.c ---- */

/* The answer is JSON, which is UTF-8. */
void admin_json_type(struct admin_request *r);

/* ---- page_answers.c, page_assets.c, events.c, overview.c, rules.c, servers.c, connections.c, config.c: rows of the table ---- */

void admin_page_index(struct admin_request *r);
void admin_page_file(struct admin_request *r);
void admin_page_list(struct admin_request *r);
void admin_page_whole(struct admin_request *r);
void admin_page_har(struct admin_request *r);
void admin_events(struct admin_request *r);
void admin_overview(struct admin_request *r);
void admin_rules(struct admin_request *r);
void admin_servers(struct admin_request *r);
void admin_config(struct admin_request *r);
void admin_explain(struct admin_request *r);
void admin_connections(struct admin_request *r);

/* ready.c. NULL: clients may come. */
const char *admin_why_not_ready(const struct admin_env *env);

/* The tables of the page without scripts. */
void admin_overview_html(struct admin *a, FILE *out);

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
