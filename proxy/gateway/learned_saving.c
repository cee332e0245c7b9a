/* SPDX-License-Identifier: MIT */
/*
 * The learned table of a worker (offer/learned.h): the first worker hands its table over to be saved, a few pages in a
 * loop pass, for restarts and for the operator to read. At a reload each worker hands its own over to the next generation.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/memory.h"
#include <stdlib.h>

/* How often the table is saved. */
#define SAVE_USEC (60 * USEC_PER_SEC)
/* Pages in one loop pass (16 of the largest are 1 MiB), and the time between two of these. */
#define PAGES_AT_ONCE 16u
#define STEP_USEC (20 * USEC_PER_MSEC)
/* While the queue is full. */
#define LATER_USEC (200 * USEC_PER_MSEC)

static void begin_round(struct learned_saving *s)
{
	s->round = s->round == UINT32_MAX ? 1 : s->round + 1;
	s->page_length = 0;
	s->is_under_way = true;
}

/* What was asked for meanwhile begins. */
static void end_round(struct learned_saving *s)
{
	s->is_under_way = false;
	if (s->is_handing)
		s->hand_page = NULL;
	s->is_handing = s->hand_page != NULL;
	if (s->is_handing)
		begin_round(s);
}

/* Hands over the next page, or the end of the table. */
static enum gateway_handover save_next(struct gateway *g, bool may_wait)
{
	struct learned_saving *s = &g->saving;
	if (s->page_length == 0)
		s->page_length = offer_learned_export(g->learned, s->round, s->page, g->relay.now);
	bool is_end = s->page_length == 0;
	struct slice page = slice_of(s->page, s->page_length);
	enum gateway_handover answer = s->is_handing ? s->hand_page(s->hand_context, page, may_wait)
						     : s->save_page(s->context, page, may_wait);
	if (answer == GATEWAY_TAKEN) {
		s->page_length = 0;
		if (is_end)
			end_round(s);
	}
	return answer;
}

static void give_up(struct gateway *g)
{
	end_round(&g->saving);
	WORKER_COUNT(&g->env, learned_saves_dropped, 1);
}

/* Returns when the next step is due. */
static usec save_some(struct gateway *g, usec now)
{
	struct learned_saving *s = &g->saving;
	net_note(g->env.loop, "copied a part of the learned table");
	for (unsigned left = PAGES_AT_ONCE; left > 0 && s->is_under_way; left--) {
		switch (save_next(g, false)) {
		case GATEWAY_TAKEN:
			break;
		case GATEWAY_LATER:
			return now + LATER_USEC;
		case GATEWAY_LOST:
			give_up(g);
			break;
		}
	}
	return s->is_under_way ? now + STEP_USEC : s->next_begin;
}

static void save_expired(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, saving.timer);
	struct learned_saving *s = &g->saving;
	if (now >= s->next_begin) {
		s->next_begin = now + SAVE_USEC;
		/* The older copy goes on: of two, the newer is dropped. */
		if (s->is_under_way)
			WORKER_COUNT(&g->env, learned_saves_dropped, 1);
		else
			begin_round(s);
	}
	wheel_set(&g->relay.wheel, node, save_some(g, now));
}

/* At the end of the worker: all pages at once, waiting for the queue if need be. */
static void save_all(struct gateway *g)
{
	struct learned_saving *s = &g->saving;
	enum gateway_handover answer = GATEWAY_TAKEN;
	/* Nothing is handed on any more. */
	if (s->is_handing)
		s->is_under_way = false;
	s->hand_page = NULL;
	s->is_handing = false;
	while (s->is_under_way && answer == GATEWAY_TAKEN)
		answer = save_next(g, true);
	if (answer == GATEWAY_TAKEN)
		begin_round(s);
	while (s->is_under_way && answer == GATEWAY_TAKEN)
		answer = save_next(g, true);
	if (answer != GATEWAY_TAKEN)
		give_up(g);
}

/* ---- for `status` ---- */

/* How often the pages that `status` shows are written. */
#define SHOW_USEC (2 * USEC_PER_SEC)

/* Writes the pages that are being learned, as long as views are open; the next view begins it again. */
static void show_expired(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, learned_shown);
	struct observe_learned *rows = g->env.observe->counters->learned;
	char lines[OFFER_LEARNED_LINES][OFFER_LEARNED_LINE];
	_Static_assert((int)OFFER_LEARNED_LINES == (int)OBSERVE_LEARNED_PAGES &&
			   (int)OFFER_LEARNED_LINE == (int)OBSERVE_LEARNED_TEXT,
	    "each line has a row");
	net_note(g->env.loop, "told what is being learned");
	offer_learned_tick(g->learned, now);
	size_t count = offer_learned_lines(g->learned, lines, now);
	for (size_t i = 0; i < OFFER_LEARNED_LINES; i++)
		observe_learned_write(&rows[i], i < count ? lines[i] : "");
	if (offer_learned_has_views(g->learned))
		wheel_set(&g->relay.wheel, node, clock_after(now, SHOW_USEC));
}

static void show_soon(struct gateway *g)
{
	bool is_set = list_is_linked(&g->learned_shown.link);
	if (g->env.conf->server.status_socket && !is_set)
		wheel_set(&g->relay.wheel, &g->learned_shown, clock_after(g->relay.now, SHOW_USEC));
}

void learned_open(struct gateway *g, const struct gateway_env *env)
{
	wheel_node_init(&g->saving.timer, save_expired);
	wheel_node_init(&g->learned_shown, show_expired);
	if (!conf_learns(g->env.conf))
		return;
	const struct offer_learned_options defaults = {0};
	g->learned = offer_learned_new(&defaults, g->env.seed, &g->env.budget);
	g->offers.learned = g->learned;
	g->saving.next_begin = USEC_NEVER;
	if (!env->save_page)
		return;
	g->saving.save_page = env->save_page;
	g->saving.context = env->save_context;
	g->saving.page = memory_alloc(OFFER_LEARNED_PAGE_BYTES);
	g->saving.next_begin = g->relay.now + SAVE_USEC;
	wheel_set(&g->relay.wheel, &g->saving.timer, g->saving.next_begin);
}

void learned_close(struct gateway *g)
{
	wheel_forget(&g->relay.wheel, &g->saving.timer);
	wheel_forget(&g->relay.wheel, &g->learned_shown);
	if (!g->learned)
		return;
	if (g->saving.save_page)
		save_all(g);
	free(g->saving.page);
	offer_learned_free(g->learned);
	g->learned = NULL;
}

const char *gateway_load_learned(struct gateway *g, struct slice pages)
{
	if (!g->learned)
		return NULL;
	offer_learned_clear(g->learned);
	return gateway_add_learned(g, pages);
}

const char *gateway_add_learned(struct gateway *g, struct slice pages)
{
	if (!g->learned)
		return NULL;
	const char *mistake = offer_learned_import(g->learned, pages, g->relay.now);
	if (mistake)
		offer_learned_clear(g->learned);
	show_soon(g);
	return mistake;
}

void gateway_hand_learned(struct gateway *g,
    enum gateway_handover (*hand_page)(void *context, struct slice page, bool may_wait),
    void *context)
{
	struct learned_saving *s = &g->saving;
	if (!g->learned)
		return;
	if (!s->page)
		s->page = memory_alloc(OFFER_LEARNED_PAGE_BYTES);
	s->hand_page = hand_page;
	s->hand_context = context;
	/* A table has one copy at a time. */
	if (!s->is_under_way)
		end_round(s);
	wheel_set(&g->relay.wheel, &s->timer, worker_now(&g->env));
	gateway_set_timer(g);
}

void learned_view(struct gateway *g, const struct exchange *x)
{
	if (offer_learn_view(g->learned, x))
		show_soon(g);
}
