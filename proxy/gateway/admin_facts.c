/* SPDX-License-Identifier: MIT */
/* What the pages of admin listeners need to know of the data plane. */
#include "proxy/gateway/gateway_private.h"

static bool has_host(void *context, const struct exchange *x, struct slice host)
{
	const struct gateway *g = context;
	struct client_facts facts;
	if (router_has_host(g->router, host))
		return true;
	const struct client_facts *client = client_facts(x, &facts);
	return x->facts.listener->certificate_count > 0 && client->covers(client->listener, host);
}

static bool accepts(void *context)
{
	const struct gateway *g = context;
	return !list_is_empty(&g->sockets);
}

static const char *explain(void *context, const struct admin_question *q, FILE *out)
{
	const struct gateway *g = context;
	return g->explain(g->explain_context, q, g->manifests, out);
}

struct admin_env admin_facts(struct gateway *g, const struct gateway_env *env)
{
	g->explain = env->explain;
	g->explain_context = env->explain_context;
	return (struct admin_env){.worker = &g->env,
	    .readiness = env->readiness,
	    .view = env->view,
	    .pages = env->pages,
	    .connections = env->connections,
	    .connection_lanes = env->connection_lanes,
	    .has_host = has_host,
	    .accepts = accepts,
	    .explain = env->explain ? explain : NULL,
	    .context = g};
}
