/* SPDX-License-Identifier: MIT */
/*
 * The memory of pages of this worker: made where a [preload] section remembers. It is a copy without votes if another
 * process owns the memory (gateway_env.teach).
 */
#include "proxy/gateway/gateway_private.h"

/* Of the worker's memory: that is for requests. */
#define MEMORY_SHARE 8u
#define MEMORY_MOST (32u << 20)

void lessons_open(struct gateway *g, const struct gateway_env *env)
{
	const struct conf_server *c = &g->env.conf->server;
	if (!conf_remembers(g->env.conf))
		return;
	uint64_t share = c->memory_bytes / MEMORY_SHARE;
	const struct remembered_options options = {.clients = c->remembered.clients,
	    .bytes = share < MEMORY_MOST ? share : MEMORY_MOST,
	    .ignored = c->remembered.ignored,
	    .ignored_count = c->remembered.ignored_count};
	g->lessons = (struct lessons){
	    .memory = remembered_new(
		&options, env->teach ? env->remembered_seed : env->seed, &g->env.budget),
	    .teach = env->teach,
	    .context = env->teach_context,
	};
}

void lessons_close(struct gateway *g)
{
	remembered_free(g->lessons.memory);
	g->lessons.memory = NULL;
}

struct remembered *gateway_remembered(struct gateway *g)
{
	return g->lessons.memory;
}
