/* SPDX-License-Identifier: MIT */
/* The table of the pages of admin listeners, and /livez and /readyz. */
#include "proxy/admin/admin_private.h"

#define TEXT_OK SLICE("ok\n")

/* ---- /readyz ---- */

static bool server_passes(const struct worker_env *env)
{
	const struct conf *c = env->conf;
	const struct health_table *table = env->health_table;
	for (size_t i = 0; i < c->origin_count; i++)
		if (c->origins[i].kind == CONF_ORIGIN_DEMO)
			return true;
	for (size_t i = 0; table && i < table->capacity; i++) {
		size_t origin;
		const struct server_entry *e = health_table_entry(table, i, &origin);
		if (e && server_entry_check(e).state == SERVER_CHECK_PASSES)
			return true;
	}
	return false;
}

/* NULL: clients may come. */
static const char *why_not_ready(const struct admin_env *env)
{
	struct readiness *r = env->readiness;
	if (atomic_load(&r->will_drain))
		return "draining";
	/* A worker of an older generation is asked on connections that were open before. */
	if (!env->accepts(env->context) && atomic_load(&r->accepting) == 0)
		return "no worker accepts";
	if (atomic_load(&r->was_ready))
		return NULL;
	if (env->worker->conf->server.ready_when == CONF_READY_SERVERS &&
	    !server_passes(env->worker))
		return "no server has passed its health check yet";
	atomic_store(&r->was_ready, true);
	return NULL;
}

static void answer_ready(struct admin_request *r)
{
	r->answer->details = why_not_ready(&r->admin->env);
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
};
const size_t admin_page_count = sizeof(admin_pages) / sizeof(admin_pages[0]);
