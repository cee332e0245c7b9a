/* SPDX-License-Identifier: MIT */
/* Implements names.h: the resolvers, the hosts file, and the questions that watches share. */
#include "proxy/names/names.h"
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/names/names_private.h"
#include <ares.h>
#include <stdio.h>

static void set_resolvers(struct names *n, const struct net_address *list, size_t count)
{
	n->resolver_count = count < LIMIT_RESOLVERS ? count : LIMIT_RESOLVERS;
	if (n->resolver_count > 0) /* else there may be no list */
		memcpy(n->resolvers, list, n->resolver_count * sizeof(*list));
	n->best_resolver = 0;
}

struct names *names_new(
    struct net_loop *loop, const struct names_options *o, char *error, size_t error_size)
{
	int status = ares_library_init(ARES_LIB_INIT_ALL);
	if (status != ARES_SUCCESS) { /* uncovered[2]: it has nothing to do on this system */
		snprintf(error, error_size, "c-ares cannot begin: %s", ares_strerror(status));
		return NULL;
	}
	struct names *n = memory_new(struct names);
	n->loop = loop;
	n->min_ttl = o->min_ttl;
	n->asked_min_ttl = o->asked_min_ttl;
	n->max_ttl = o->max_ttl;
	n->negative_ttl = o->negative_ttl;
	n->timeout = o->timeout;
	n->seed = hash_random_seed();
	n->hosts = hosts_new((struct slice){0});
	map_init(&n->questions);
	list_init(&n->retrying);
	list_init(&n->waiting);
	list_init(&n->watches);
	list_init(&n->due);
	net_timer_init(&n->ask, loop, name_query_ask_some, n);
	net_timer_init(&n->look, loop, name_watch_look_at_some, n);
	n->has_own_resolvers = o->resolver_count > 0;
	set_resolvers(n, o->resolvers, o->resolver_count);
	names_set_resolv_conf(n, (struct slice){0});
	return n;
}

void names_free(struct names *n)
{
	if (!n)
		return;
	ensure(list_is_empty(&n->watches));
	map_fini(&n->questions);
	net_timer_fini(&n->ask);
	net_timer_fini(&n->look);
	hosts_free(n->hosts);
	free(n);
	ares_library_cleanup();
}

void names_set_hosts(struct names *n, struct slice text)
{
	hosts_free(n->hosts);
	n->hosts = hosts_new(text);
	map_for_each(&n->questions, q, struct name_question, node) name_question_reread(q);
}

void names_set_resolv_conf(struct names *n, struct slice text)
{
	struct net_address list[LIMIT_RESOLVERS];
	if (n->has_own_resolvers)
		return;
	set_resolvers(n, list, resolv_conf_read(text, list, LIMIT_RESOLVERS));
	map_for_each(&n->questions, q, struct name_question, node) name_question_retry(q);
}
