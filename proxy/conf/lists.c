/* SPDX-License-Identifier: MIT */
/*
 * What a configuration has of lists, bodies and passwords, in the form in which requests need it. The text of the
 * configuration says how many there are and in which order, so that those of another load of the same text can take
 * their places while it is in use.
 */
#include "proxy/conf/conf.h"

static void visit_rules(
    struct conf_access *a, void (*visit)(void *context, struct slice *bytes), void *context)
{
	for (size_t i = 0; i < a->rule_count; i++) {
		struct http_host_set *hosts = &a->rules[i].hosts;
		visit(context, &hosts->bytes);
		if (!http_host_set_is_empty(hosts))
			a->host_seed = http_host_set_seed(hosts);
	}
}

void conf_visit_lists(
    const struct conf *c, void (*visit)(void *context, struct slice *bytes), void *context)
{
	for (size_t i = 0; i < c->access_count; i++)
		visit_rules(&c->accesses[i], visit, context);
	for (size_t i = 0; i < c->error_body_count; i++)
		visit(context, &c->error_bodies[i].body);
	for (size_t i = 0; i < c->route_count; i++)
		visit(context, &c->routes[i].answer.body);
	for (size_t i = 0; i < c->route_count; i++)
		visit(context, &c->routes[i].folder.files);
	for (size_t i = 0; i < c->origin_count; i++) {
		const struct conf_chain *chain = &c->origins[i].chain;
		for (size_t k = 0; k < chain->proxy_count; k++)
			visit(context, &chain->proxies[k].authorization);
	}
}

bool conf_lists_may_change(const struct conf *now, const struct conf *next)
{
	for (size_t i = 0; i < now->route_count; i++)
		if (now->routes[i].rewrite.is_given != next->routes[i].rewrite.is_given)
			return false;
	/* Tunnels are judged again when another generation takes over. */
	if (next->server.access_recheck && now->rules_digest != next->rules_digest)
		return false;
	return now->secrets_digest == next->secrets_digest;
}
