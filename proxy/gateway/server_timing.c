/* SPDX-License-Identifier: MIT */
/* Adds Server-Timing to the responses of a route with server-timing = yes: the verdicts on the pushes of the request, or
 * that a held response has answered it, and the times that the access log has too (access_record.c). And to page loads in a
 * comparison the arm that they are in. */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/rare.h"
#include "proxy/http/server_timing.h"

#include <stdio.h>

static void add_word(char words[HTTP_TIMING_WORDS], const char *word)
{
	size_t n = strlen(words);
	snprintf(words + n, HTTP_TIMING_WORDS - n, "%s%s", n > 0 ? " " : "", word);
}

/* Of a push its own verdict; of a request those on the offers that have come before its response. */
static void name_deeds(const struct exchange *x, bool is_held, char words[HTTP_TIMING_WORDS])
{
	unsigned verdicts =
	    exchange_is_push(x) ? 1u << x->pushed.verdict.action : x->pushes.verdicts;
	words[0] = '\0';
	if (is_held)
		add_word(words, hold_part(x)->joined ? "joined" : "held");
	for (int action = 0; action < POLICY_ACTION_COUNT; action++)
		if (verdicts & 1u << action)
			add_word(words, policy_action_name((enum policy_action)action));
}

static usec unless_zero(usec span)
{
	return span > 0 ? span : USEC_NEVER;
}

RARE void server_timing_add(const struct exchange *x, struct http_head *head)
{
	char words[HTTP_TIMING_WORDS];
	const struct exchange_timing *t = &x->timing;
	struct http_server_timing timing = {
	    words, USEC_NEVER, USEC_NEVER, USEC_NEVER, hold_held_for(x)};
	name_deeds(x, timing.held != USEC_NEVER, words);
	if (timing.held == USEC_NEVER) {
		timing.queue = unless_zero(t->queued);
		timing.connect = unless_zero(t->connecting);
		timing.origin = t->answered - t->sent;
	}
	http_head_add(head, SLICE("server-timing"), http_server_timing(&head->arena, &timing));
}

RARE void server_timing_add_arm(const struct conf_arm *arm, struct http_head *head)
{
	http_head_add(head, SLICE("server-timing"),
	    arena_printf(&head->arena, "pushgate-arm;desc=\"%s\"", arm->text));
}
