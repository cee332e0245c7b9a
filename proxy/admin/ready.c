/* SPDX-License-Identifier: MIT */
/* Whether clients may come: what /readyz and the overview say. */
#include "proxy/admin/admin_private.h"

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
const char *admin_why_not_ready(const struct admin_env *env)
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
