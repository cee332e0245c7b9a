/* SPDX-License-Identifier: MIT */
/*
 * Updates the learned table: which page a client got, which resources it requested next, and
 * whether it used what was offered. Each worker has its own table; the first worker hands its table
 * over to be saved, a few pages in a loop pass, for restarts and for the operator to read.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/memory.h"
#include "proxy/http/cache.h"
#include "proxy/http/vary.h"
#include <stdlib.h>

/* How often the table is saved. */
#define SAVE_USEC (60 * USEC_PER_SEC)
/* Pages in one loop pass (16 of the largest are 1 MiB), and the time between two of these. */
#define PAGES_AT_ONCE 16u
#define STEP_USEC (20 * USEC_PER_MSEC)
/* While the queue is full. */
#define LATER_USEC (200 * USEC_PER_MSEC)

/* Hands over the next page, or the end of the table. */
static enum gateway_handover save_next(struct gateway *g, bool may_wait)
{
	struct learned_saving *s = &g->saving;
	if (s->page_length == 0)
		s->page_length = offer_learned_export(g->learned, s->round, s->page, g->relay.now);
	bool is_end = s->page_length == 0;
	enum gateway_handover answer =
	    s->save_page(s->context, slice_of(s->page, s->page_length), may_wait);
	if (answer == GATEWAY_TAKEN) {
		s->page_length = 0;
		s->is_under_way = !is_end;
	}
	return answer;
}

static void begin_round(struct gateway *g)
{
	struct learned_saving *s = &g->saving;
	s->round = s->round == UINT32_MAX ? 1 : s->round + 1;
	s->page_length = 0;
	s->is_under_way = true;
}

static void give_up(struct gateway *g)
{
	g->saving.is_under_way = false;
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
			begin_round(g);
	}
	wheel_set(&g->relay.wheel, node, save_some(g, now));
}

/* At the end of the worker: all pages at once, waiting for the queue if need be. */
static void save_all(struct gateway *g)
{
	struct learned_saving *s = &g->saving;
	enum gateway_handover answer = GATEWAY_TAKEN;
	while (s->is_under_way && answer == GATEWAY_TAKEN)
		answer = save_next(g, true);
	if (answer == GATEWAY_TAKEN)
		begin_round(g);
	while (s->is_under_way && answer == GATEWAY_TAKEN)
		answer = save_next(g, true);
	if (answer != GATEWAY_TAKEN)
		give_up(g);
}

/* ---- what `status` says ---- */

/* Often enough for somebody who tries it. */
#define SHOW_USEC (2 * USEC_PER_SEC)

/* Writes what is being learned, as long as views are open; the next view begins it again. */
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

static bool uses_learned(const struct conf *conf)
{
	for (size_t i = 0; i < conf->preload_count; i++)
		if (conf->preloads[i].learned != CONF_LEARNED_OFF)
			return true;
	return false;
}

void learned_open(struct gateway *g, const struct gateway_env *env)
{
	wheel_node_init(&g->saving.timer, save_expired);
	wheel_node_init(&g->learned_shown, show_expired);
	if (!uses_learned(g->env.conf))
		return;
	const struct offer_learned_options defaults = {0};
	g->learned = offer_learned_new(&defaults, g->env.seed, &g->env.budget);
	g->offers.learned = g->learned;
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
	if (g->saving.page)
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
	const char *mistake = offer_learned_import(g->learned, pages, g->relay.now);
	if (mistake)
		offer_learned_clear(g->learned);
	show_soon(g);
	return mistake;
}

/* Identifies a client on all of its connections: its IPv4 address or its IPv6 /64. */
static struct slice client_of(const struct exchange *x)
{
	return slice_of(x->facts.client.bytes, x->facts.client.family == 4   ? 4
					       : x->facts.client.family == 6 ? 8
									     : 0);
}

static struct offer_learned_request request_of(const struct exchange *x)
{
	const struct http_field *referer = http_head_find(x->request, HTTP_TOKEN_REFERER);
	return (struct offer_learned_request){
	    .authority = x->request->authority,
	    .path = x->request->path,
	    .referer = referer ? referer->value : (struct slice){0},
	    .client = client_of(x),
	    .is_get = x->method == HTTP_METHOD_GET,
	    .is_navigation = policy_navigation_of(x->request) == POLICY_NAVIGATION_YES,
	    .has_credentials = x->facts.user ||
			       http_head_find(x->request, HTTP_TOKEN_AUTHORIZATION) ||
			       http_head_find(x->request, HTTP_TOKEN_COOKIE),
	    .status = x->response.status,
	    .is_unfit = x->response.is_unfit_to_learn,
	};
}

static bool learns_from(const struct gateway *g, const struct exchange *x)
{
	return g->learned && !x->facts.came_through && x->request->authority.len > 0 &&
	       conf_listen_shares(x->facts.listener);
}

/* The content types of what is learned: how each begins, without regard to case. */
static const struct {
	enum policy_type type;
	struct slice begins;
} content_types[] = {
    {POLICY_TYPE_DOCUMENT, SLICE_INIT("text/html")},
    {POLICY_TYPE_DOCUMENT, SLICE_INIT("application/xhtml+xml")},
    {POLICY_TYPE_STYLE, SLICE_INIT("text/css")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("text/javascript")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("application/javascript")},
    {POLICY_TYPE_SCRIPT, SLICE_INIT("application/x-javascript")},
    {POLICY_TYPE_IMAGE, SLICE_INIT("image/")},
    {POLICY_TYPE_FONT, SLICE_INIT("font/")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/font-")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/x-font-")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/vnd.ms-fontobject")},
    {POLICY_TYPE_FONT, SLICE_INIT("application/octet-stream")},
};

/* Without content-type the path alone tells the type. */
static bool is_of_type(const struct http_head *response, enum policy_type type)
{
	const struct http_field *f = http_head_find(response, HTTP_TOKEN_CONTENT_TYPE);
	bool is_of_it = !f;
	for (size_t i = 0; f && i < sizeof(content_types) / sizeof(content_types[0]); i++)
		is_of_it = is_of_it || (content_types[i].type == type &&
					   slice_equal_nocase(
					       slice_sub(f->value, 0, content_types[i].begins.len),
					       content_types[i].begins));
	return is_of_it;
}

/* What a server that ignores the end of a path says of itself: /logout.php/x.css is a page, or sets a cookie. */
static bool is_fit(const struct exchange *x, const struct http_head *response)
{
	return is_of_type(response, policy_type_of_path(x->request->path)) &&
	       http_may_store_shared(x->request, response) &&
	       !http_head_find(response, HTTP_TOKEN_SET_COOKIE) &&
	       !http_vary_names(response, HTTP_TOKEN_COOKIE) &&
	       !http_vary_names(response, HTTP_TOKEN_NONE);
}

void learned_view(struct gateway *g, const struct exchange *x)
{
	if (!learns_from(g, x))
		return;
	struct offer_learned_request r = request_of(x);
	r.is_unanswered = true;
	if (!r.is_navigation)
		return;
	offer_learned_on_navigation(g->learned, &r, g->relay.now);
	show_soon(g);
}

void learned_answered(struct gateway *g, struct exchange *x, const struct http_head *response)
{
	if (exchange_is_push(x) || !learns_from(g, x))
		return;
	struct offer_learned_request r = request_of(x);
	if (!r.is_navigation)
		x->response.is_unfit_to_learn = !is_fit(x, response);
	else if ((response->status == 200 || response->status == 304) &&
		 is_of_type(response, POLICY_TYPE_DOCUMENT))
		offer_learned_on_page(g->learned, &r, g->relay.now);
}

void learned_offered(struct gateway *g, const struct exchange *page, struct slice path)
{
	if (!g->learned)
		return;
	const struct offer_learned_request view = request_of(page);
	offer_learned_on_outcome(g->learned, &view, path, OFFER_LEARNED_OFFERED, g->relay.now);
}

/* Records a client's own request that was answered, or the result of a push from the table. */
void learned_ended(struct gateway *g, const struct exchange *x, enum observe_outcome outcome)
{
	if (!learns_from(g, x))
		return;
	struct offer_learned_request r = request_of(x);
	if (!exchange_is_push(x)) {
		if (!r.is_navigation && x->response.status != 0)
			offer_learned_on_request(g->learned, &r, g->relay.now);
		return;
	}
	const struct exchange *page = x->pushed.parent;
	if (x->pushed.source != POLICY_LEARNED || !page)
		return;
	const struct offer_learned_request view = request_of(page);
	bool is_used = x->pushed.state == PUSH_DONE || x->pushed.state == PUSH_CLAIMED;
	enum offer_learned_outcome result = OFFER_LEARNED_OFFERED;
	if (x->pushed.verdict.reason == &policy_reason_STATUS)
		result = OFFER_LEARNED_GONE;
	else if (outcome == OBSERVE_CLIENT_RESET)
		result = OFFER_LEARNED_REFUSED;
	else if (is_used)
		result = OFFER_LEARNED_TAKEN;
	if (result != OFFER_LEARNED_OFFERED) /* learned_offered has recorded the offer itself */
		offer_learned_on_outcome(g->learned, &view, x->request->path, result, g->relay.now);
}
