/* SPDX-License-Identifier: MIT */
/* The table of the pages of admin listeners, and /livez and /readyz. */
#include "proxy/admin/admin_private.h"

#define TEXT_OK SLICE("ok\n")

/* ---- /readyz ---- */

static void answer_ready(struct admin_request *r)
{
	r->answer->details = admin_why_not_ready(&r->admin->env);
	if (r->answer->details)
		r->answer->status = 503;
	else
		r->answer->body = TEXT_OK;
}

/* ---- /livez ---- */

static void answer_live(struct admin_request *r)
{
	r->answer->body = TEXT_OK;
}

/* ---- the table ---- */

#define GET SLICE_INIT("GET, HEAD")

const struct admin_page admin_pages[] = {
    {SLICE_INIT("/livez"), GET, false, answer_live},
    {SLICE_INIT("/metrics"), GET, false, admin_answer_metrics},
    {SLICE_INIT("/readyz"), GET, false, answer_ready},
    {SLICE_INIT("/"), GET, false, admin_page_index},
    {SLICE_INIT("/page.css"), GET, false, admin_page_file},
    {SLICE_INIT("/page.js"), GET, false, admin_page_file},
    {SLICE_INIT("/icon.svg"), GET, false, admin_page_file},
    {SLICE_INIT("/events"), GET, false, admin_events},
    {SLICE_INIT("/api/pages"), GET, false, admin_page_list},
    {SLICE_INIT("/api/pages/"), GET, true, admin_page_whole},
    {SLICE_INIT("/api/har"), GET, false, admin_page_har},
    {SLICE_INIT("/api/overview"), GET, false, admin_overview},
    {SLICE_INIT("/api/rules"), GET, false, admin_rules},
    {SLICE_INIT("/api/servers"), GET, false, admin_servers},
    {SLICE_INIT("/api/connections"), GET, false, admin_connections},
    {SLICE_INIT("/api/explain"), GET, false, admin_explain},
    {SLICE_INIT("/api/config"), GET, false, admin_config},
};
const size_t admin_page_count = sizeof(admin_pages) / sizeof(admin_pages[0]);
