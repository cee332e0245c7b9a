/* SPDX-License-Identifier: MIT */
/*
 * Feeding the learned table: which page was asked for, what the same client asked for next, and
 * what became of what was offered. The table belongs to the worker; the first worker keeps it in a
 * file over restarts, where an operator also reads what is proposed.
 */
#include "proxy/hop/private.h"

#include <stdlib.h>

/* The file is written anew so often. */
#define SAVE_USEC (60 * USEC_PER_SEC)

static void say(struct hop *hop, FILE *errors, char **said)
{
	fclose(errors);
	if (*said && **said)
		observe_log(hop->env.observe, OBSERVE_WARN, "learned: %.*s",
		    (int)strcspn(*said, "\n"), *said);
	free(*said);
	*said = NULL;
}

static void save(struct hop *hop)
{
	char *said = NULL;
	size_t length = 0;
	FILE *errors = open_memstream(&said, &length);
	if (!errors)
		return;
	source_learned_save(
	    hop->learned, hop->env.conf->server.learned_file, hop->relay.now, errors);
	say(hop, errors, &said);
}

static void save_expired(struct wheel_node *node, usec now)
{
	struct hop *hop = container_of(node, struct hop, learned_timer);
	save(hop);
	wheel_set(&hop->relay.wheel, node, now + SAVE_USEC);
}

static bool is_asked_for(const struct conf *conf)
{
	for (size_t i = 0; i < conf->preload_count; i++)
		if (conf->preloads[i].learned != CONF_LEARNED_OFF)
			return true;
	return false;
}

void learned_open(struct hop *hop)
{
	const char *file = hop->env.conf->server.learned_file;
	char *said = NULL;
	size_t length = 0;
	wheel_node_init(&hop->learned_timer, save_expired);
	if (!is_asked_for(hop->env.conf))
		return;
	const struct source_learned_options defaults = {0};
	hop->learned = source_learned_new(&defaults, hop->env.seed, &hop->budget);
	hop->facts.learned = hop->learned;
	FILE *errors = file ? open_memstream(&said, &length) : NULL;
	if (!errors)
		return;
	source_learned_load(hop->learned, file, hop->relay.now, errors);
	say(hop, errors, &said);
	if (hop->env.observe->worker == 0)
		wheel_set(&hop->relay.wheel, &hop->learned_timer, hop->relay.now + SAVE_USEC);
}

void learned_close(struct hop *hop)
{
	wheel_forget(&hop->relay.wheel, &hop->learned_timer);
	if (!hop->learned)
		return;
	if (hop->env.conf->server.learned_file && hop->env.observe->worker == 0)
		save(hop);
	source_learned_free(hop->learned);
	hop->learned = NULL;
}

/* An IPv4 address or an IPv6 /64: what one client is, whatever its connections. */
static struct slice client_of(const struct exchange *x)
{
	return slice_of(x->context.client.bytes, x->context.client.family == 4   ? 4
						 : x->context.client.family == 6 ? 8
										 : 0);
}

static struct source_request request_of(const struct exchange *x)
{
	const struct http_field *referer = http_head_find(x->request, HTTP_TOKEN_REFERER);
	return (struct source_request){
	    .authority = x->authority,
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

void learned_view(struct hop *hop, const struct exchange *x)
{
	if (!hop->learned || x->context.came_through)
		return;
	struct source_request r = request_of(x);
	if (r.is_navigation)
		source_learned_view(hop->learned, &r, hop->relay.now);
}

void learned_offered(struct hop *hop, const struct exchange *page, struct slice path)
{
	if (!hop->learned)
		return;
	const struct source_request view = request_of(page);
	source_learned_outcome(hop->learned, &view, path, SOURCE_OFFERED, hop->relay.now);
}

/* A request of the client's own, answered; or a push from the table, over. */
void learned_ended(struct hop *hop, const struct exchange *x, enum observe_outcome outcome)
{
	if (!hop->learned || x->context.came_through)
		return;
	struct source_request r = request_of(x);
	if (x->pushed.state == PUSH_NONE) {
		if (!r.is_navigation && x->response.status != 0)
			source_learned_request(hop->learned, &r, hop->relay.now);
		return;
	}
	const struct exchange *page = x->pushed.parent;
	if (x->pushed.source != POLICY_LEARNED || !page)
		return;
	const struct source_request view = request_of(page);
	bool is_taken = x->pushed.state == PUSH_DONE || x->pushed.state == PUSH_CLAIMED;
	enum source_outcome came = SOURCE_OFFERED;
	if (x->pushed.verdict.reason == &policy_reason_STATUS)
		came = SOURCE_GONE;
	else if (outcome == OBSERVE_CLIENT_RESET)
		came = SOURCE_REFUSED;
	else if (is_taken)
		came = SOURCE_TAKEN;
	if (came != SOURCE_OFFERED) /* that was told when it was */
		source_learned_outcome(hop->learned, &view, x->request->path, came, hop->relay.now);
}
