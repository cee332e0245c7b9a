/* SPDX-License-Identifier: MIT */
/*
 * The memory of pages of this worker: made where a [preload] section remembers, or a route has speculation. It is a copy without votes if another
 * process owns the memory (gateway_env.teach). What exchanges teach goes to the owner (offer/lesson.h).
 */
#include "proxy/gateway/gateway_private.h"

/* Of the worker's memory: the rest is for requests. */
#define MEMORY_SHARE 8u
#define MEMORY_MOST (32u << 20)

void lessons_teach(void *gateway, struct slice message)
{
	struct gateway *g = gateway;
	const struct lessons *l = &g->lessons;
	bool is_taken = l->teach ? l->teach(l->context, message)
				 : !remembered_take(l->memory, message, g->relay.now);
	WORKER_COUNT(&g->env, lessons_taken, is_taken);
	WORKER_COUNT(&g->env, lessons_lost, !is_taken);
}

void lessons_open(struct gateway *g, const struct gateway_env *env)
{
	const struct conf_server *c = &g->env.conf->server;
	if (!conf_remembers(g->env.conf))
		return;
	uint64_t share = c->memory_bytes / MEMORY_SHARE;
	const struct remembered_options options = {.clients = c->remembered.clients,
	    .bytes = share < MEMORY_MOST ? share : MEMORY_MOST,
	    .ignored = c->remembered.ignored,
	    .ignored_count = c->remembered.ignored_count,
	    .field_seed = env->seed};
	g->lessons = (struct lessons){
	    .memory = remembered_new(
		&options, env->teach ? env->remembered_seed : env->seed, &g->env.budget),
	    .teach = env->teach,
	    .context = env->teach_context,
	};
	const struct offer_lessons_env lessons = {.memory = g->lessons.memory,
	    .seed = env->seed,
	    .budget = &g->env.budget,
	    .teach = lessons_teach,
	    .context = g};
	g->lessons.offers = offer_lessons_new(&lessons);
	g->offers.remembered = g->lessons.memory;
	g->offers.lessons = g->lessons.offers;
}

void lessons_close(struct gateway *g)
{
	offer_lessons_free(g->lessons.offers);
	remembered_free(g->lessons.memory);
	g->lessons = (struct lessons){0};
}

struct remembered *gateway_remembered(struct gateway *g)
{
	return g->lessons.memory;
}

void lessons_ended(struct gateway *g, struct exchange *x, enum observe_outcome outcome)
{
	page_reading_ended(x);
	if (exchange_is_push(x))
		offer_lesson_push_ended(g->lessons.offers, x);
	else if (outcome == OBSERVE_COMPLETE)
		offer_lesson_end(g->lessons.offers, x);
	else
		offer_lesson_drop(g->lessons.offers, x);
}
