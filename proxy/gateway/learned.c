/* SPDX-License-Identifier: MIT */
/*
 * Updates the learned table: which page a client requested, which resources it requested next, and
 * whether it used what was offered. Each worker has its own table; the first worker saves its table
 * to a file, for restarts and for the operator to read.
 */
#include "proxy/gateway/private.h"

#include <stdlib.h>

/* How often the file is written. */
#define SAVE_USEC (60 * USEC_PER_SEC)

/* Logs the first message that was written to `errors`, and closes it. */
static void log_messages(struct gateway *g, FILE *errors, char **messages)
{
	fclose(errors);
	if (*messages && **messages)
		observe_log(g->env.observe, OBSERVE_WARN, "learned: %.*s",
		    (int)strcspn(*messages, "\n"), *messages);
	free(*messages);
	*messages = NULL;
}

static void save(struct gateway *g)
{
	char *messages = NULL;
	size_t length = 0;
	FILE *errors = open_memstream(&messages, &length);
	if (!errors)
		return;
	offer_learned_save(g->learned, g->env.conf->server.learned_file, g->relay.now, errors);
	log_messages(g, errors, &messages);
}

static void save_expired(struct wheel_node *node, usec now)
{
	struct gateway *g = container_of(node, struct gateway, learned_timer);
	save(g);
	wheel_set(&g->relay.wheel, node, now + SAVE_USEC);
}

static bool uses_learned(const struct conf *conf)
{
	for (size_t i = 0; i < conf->preload_count; i++)
		if (conf->preloads[i].learned != CONF_LEARNED_OFF)
			return true;
	return false;
}

void learned_open(struct gateway *g)
{
	const char *file = g->env.conf->server.learned_file;
	char *messages = NULL;
	size_t length = 0;
	wheel_node_init(&g->learned_timer, save_expired);
	if (!uses_learned(g->env.conf))
		return;
	const struct offer_learned_options defaults = {0};
	g->learned = offer_learned_new(&defaults, g->env.seed, &g->env.budget);
	g->offers.learned = g->learned;
	FILE *errors = file ? open_memstream(&messages, &length) : NULL;
	if (!errors)
		return;
	offer_learned_load(g->learned, file, g->relay.now, errors);
	log_messages(g, errors, &messages);
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

/* Identifies a client on all of its connections: its IPv4 address or its IPv6 /64. */
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

/* Records a client's own request that was answered, or the result of a push from the table. */
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
