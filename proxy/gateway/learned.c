/* SPDX-License-Identifier: MIT */
/*
 * Feeding the learned table: which page was asked for, what the same client asked for next, and
 * what became of what was offered. The table belongs to the worker; the first worker keeps it in a
 * file over restarts, where an operator also reads what is proposed.
 */
#include "proxy/gateway/private.h"

#include <stdlib.h>

/* The file is written anew so often. */
#define SAVE_USEC (60 * USEC_PER_SEC)

static void say(struct gateway *g, FILE *errors, char **said)
{
	fclose(errors);
	if (*said && **said)
		observe_log(g->env.observe, OBSERVE_WARN, "learned: %.*s",
		    (int)strcspn(*said, "\n"), *said);
	free(*said);
	*said = NULL;
}

static void save(struct gateway *g)
{
	char *said = NULL;
	size_t length = 0;
	FILE *errors = open_memstream(&said, &length);
	if (!errors)
		return;
	offer_learned_save(g->learned, g->env.conf->server.learned_file, g->relay.now, errors);
	say(g, errors, &said);
}

static void save_expired(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, learned_timer);
	save(g);
	wheel_set(&g->relay.wheel, node, now + SAVE_USEC);
}

static bool is_asked_for(const struct conf *conf)
{
	for (size_t i = 0; i < conf->preload_count; i++)
		if (conf->preloads[i].learned != CONF_LEARNED_OFF)
			return true;
	return false;
}

void learned_open(struct gateway *g)
{
	const char *file = g->env.conf->server.learned_file;
	char *said = NULL;
	size_t length = 0;
	wheel_node_init(&g->learned_timer, save_expired);
	if (!is_asked_for(g->env.conf))
		return;
	const struct offer_learned_options defaults = {0};
	g->learned = offer_learned_new(&defaults, g->env.seed, &g->env.budget);
	g->offers.learned = g->learned;
	FILE *errors = file ? open_memstream(&said, &length) : NULL;
	if (!errors)
		return;
	offer_learned_load(g->learned, file, g->relay.now, errors);
	say(g, errors, &said);
	if (g->env.observe->worker == 0)
		wheel_set(&g->relay.wheel, &g->learned_timer, g->relay.now + SAVE_USEC);
}

void learned_close(struct gateway *g)
{
	wheel_forget(&g->relay.wheel, &g->learned_timer);
	if (!g->learned)
		return;
	if (g->env.conf->server.learned_file && g->env.observe->worker == 0)
		save(g);
	offer_learned_free(g->learned);
	g->learned = NULL;
}

/* An IPv4 address or an IPv6 /64: what one client is, whatever its connections. */
static struct slice client_of(const struct exchange *x)
{
	return slice_of(x->context.client.bytes, x->context.client.family == 4   ? 4
						 : x->context.client.family == 6 ? 8
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
	    .has_credentials = http_head_find(x->request, HTTP_TOKEN_AUTHORIZATION) ||
			       http_head_find(x->request, HTTP_TOKEN_COOKIE),
	    .status = x->response.status,
	};
}

void learned_view(struct gateway *g, const struct exchange *x)
{
	if (!g->learned || x->context.came_through)
		return;
	struct offer_learned_request r = request_of(x);
	if (r.is_navigation)
		offer_learned_on_navigation(g->learned, &r, g->relay.now);
}

void learned_offered(struct gateway *g, const struct exchange *page, struct slice path)
{
	if (!g->learned)
		return;
	const struct offer_learned_request view = request_of(page);
	offer_learned_on_outcome(g->learned, &view, path, OFFER_LEARNED_OFFERED, g->relay.now);
}

/* A request of the client's own, answered; or a push from the table, over. */
void learned_ended(struct gateway *g, const struct exchange *x, enum observe_outcome outcome)
{
	if (!g->learned || x->context.came_through)
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
	bool is_taken = x->pushed.state == PUSH_DONE || x->pushed.state == PUSH_CLAIMED;
	enum offer_learned_outcome came = OFFER_LEARNED_OFFERED;
	if (x->pushed.verdict.reason == &policy_reason_STATUS)
		came = OFFER_LEARNED_GONE;
	else if (outcome == OBSERVE_CLIENT_RESET)
		came = OFFER_LEARNED_REFUSED;
	else if (is_taken)
		came = OFFER_LEARNED_TAKEN;
	if (came != OFFER_LEARNED_OFFERED) /* that was told when it was */
		offer_learned_on_outcome(g->learned, &view, x->request->path, came, g->relay.now);
}
