/* SPDX-License-Identifier: MIT */
/* Destinations: how they begin and end. */
#include "proxy/upstream/destination.h"

#include "proxy/base/ensure.h"

static void add_configured(struct destination *d)
{
	for (size_t i = 0; i < d->line_count; i++) {
		const struct conf_origin_server *line = &d->lines[i];
		if (conf_server_is_name(line))
			d->name_count++;
		else
			server_new(d, line, &line->address, line->weight);
	}
}

void destination_init(struct destination *d, struct upstream *upstream,
    const struct conf_origin *origin, bool is_dynamic)
{
	*d = (struct destination){.upstream = upstream, .is_stale = true};
	origin_init(&d->origin, &upstream->origins, origin);
	d->origin.is_dynamic = is_dynamic;
	list_init(&d->nameless);
	list_init(&d->servers);
	wheel_node_init(&d->change_timer, destination_give_out_again);
}

void destination_begin(struct destination *d)
{
	d->balance =
	    balance_of_origin(d->origin.conf, d->upstream->env->seed + d->origin.conf->index);
	add_configured(d);
	destination_watch_names(d);
}

void destination_open(
    struct destination *d, struct upstream *upstream, const struct conf_origin *origin)
{
	destination_init(d, upstream, origin, false);
	for (unsigned push = 0; push < 2; push++)
		d->origin.plans[push] =
		    session_plans_for_origin(upstream->env->protocols, origin, push == 1);
	if (origin->kind != CONF_ORIGIN_FORWARD) {
		d->lines = origin->servers;
		d->line_count = origin->server_count;
	}
	destination_begin(d);
}

void destination_close(struct destination *d)
{
	destination_unwatch_names(d);
	wheel_forget(worker_wheel(d->upstream->env), &d->change_timer);
	list_for_each(&d->servers, s, struct server, link) origin_server_close(&s->at);
}

void destination_free(struct destination *d)
{
	ensure(d->origin.queued == 0);
	list_for_each(&d->servers, s, struct server, link) server_free(s);
	if (!d->origin.is_dynamic) {
		session_plans_free(d->origin.plans[0]);
		session_plans_free(d->origin.plans[1]);
	}
	balance_free(d->balance);
	free(d->members);
	free(d->names);
}
