/* SPDX-License-Identifier: MIT */
/* The list of protocols, and the choice of one for a connection, by its first bytes or by ALPN. */
#include "proxy/session/session.h"

#include "proxy/base/memory.h"

#include <stdio.h>

const struct session_protocol *const session_protocols[] = {&session_h2, NULL};

/* ---- plans ---- */

static struct session_plan *new_plans(const struct session_protocol *const *protocols)
{
	size_t count = 0;
	while (protocols[count])
		count++;
	struct session_plan *plans = memory_zalloc((count + 1) * sizeof(*plans));
	for (size_t i = 0; i < count; i++)
		plans[i].protocol = protocols[i];
	return plans;
}

struct session_plan *session_plans_for_clients(
    const struct session_protocol *const *protocols, const struct conf_listen *conf)
{
	struct session_plan *plans = new_plans(protocols);
	for (struct session_plan *p = plans; p->protocol; p++)
		p->config = p->protocol->for_clients(conf);
	return plans;
}

struct session_plan *session_plans_for_origin(
    const struct session_protocol *const *protocols, const struct conf_origin *conf, bool push)
{
	struct session_plan *plans = new_plans(protocols);
	for (struct session_plan *p = plans; p->protocol; p++)
		p->config = p->protocol->for_origin(conf, push);
	return plans;
}

void session_plans_free(struct session_plan *plans)
{
	for (struct session_plan *p = plans; p && p->protocol; p++)
		free(p->config);
	free(plans);
}

/* ---- which one ---- */

const struct session_plan *session_match(
    const struct session_plan *plans, const uint8_t *bytes, size_t n, bool *more)
{
	*more = false;
	for (const struct session_plan *p = plans; p->protocol; p++) {
		switch (p->protocol->match(bytes, n)) {
		case SESSION_MATCH_YES:
			return p;
		case SESSION_MATCH_MORE:
			*more = true;
			break;
		case SESSION_MATCH_NO:
			break;
		}
	}
	return NULL;
}

const struct session_plan *session_by_alpn(const struct session_plan *plans, struct slice alpn)
{
	for (const struct session_plan *p = plans; p->protocol; p++)
		if (slice_equal(slice_of_string(p->protocol->alpn), alpn))
			return p;
	return NULL;
}

void session_alpn_list(const struct session_protocol *const *protocols, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; protocols[i] && used < size; i++)
		used += (size_t)snprintf(
		    text + used, size - used, "%s%s", i > 0 ? "," : "", protocols[i]->alpn);
}
