/* SPDX-License-Identifier: MIT */
/* Destinations and their servers: how they begin and end. */
#include "proxy/upstream/destination.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

/* ---- servers ---- */

/* An address that is not the line's own, and the text, lie behind the server: there may be thousands. */
static struct server *server_alloc(
    const struct conf_origin_server *conf, const struct net_address *address, const char *text)
{
	size_t copied = address == &conf->address ? 0 : sizeof(*address);
	size_t text_size = strlen(text) + 1;
	struct server *s = memory_zalloc(sizeof(*s) + copied + text_size);
	char *behind = (char *)(s + 1);
	s->at.conf = conf;
	s->at.address = address;
	if (copied > 0)
		s->at.address = memcpy(behind, address, copied);
	s->at.text = memcpy(behind + copied, text, text_size);
	return s;
}

struct server *server_new(struct destination *d, const struct conf_origin_server *conf,
    const struct net_address *address, uint32_t weight)
{
	char text[NET_ADDRESS_TEXT] = "demo";
	if (address->length > 0)
		net_address_format(address, text, sizeof(text));
	struct server *s = server_alloc(conf, address, text);
	s->destination = d;
	s->weight = weight;
	s->at.origin = &d->origin;
	s->member = (struct balance_member){
	    .key = balance_member_key(
		d->origin.conf, slice_of_string(address->length > 0 ? text : conf->text)),
	    .id = ++d->upstream->last_server_id,
	    .weight = weight,
	    .is_backup = conf->is_backup,
	    .is_usable = true,
	};
	list_init(&s->deferred.link);
	list_append(&d->servers, &s->link);
	d->server_count++;
	d->down_count += conf->is_down;
	origin_server_init(&s->at);
	health_init(s);
	return s;
}

static void server_free(struct server *s)
{
	ensure(s->at.connections == 0);
	health_fini(s);
	origin_server_free_pools(&s->at);
	list_remove(&s->link);
	s->destination->server_count--;
	s->destination->leaving_count -= s->at.is_leaving;
	s->destination->ordered_count -= s->order != SERVER_READY;
	free(s);
}

/* ---- a server that leaves ---- */

static void free_later(struct deferred_free *deferred)
{
	server_free(container_of(deferred, struct server, deferred));
}

void server_check_gone(struct server *s)
{
	if (!s->at.is_leaving || s->at.connections > 0 || s->member.outstanding > 0 ||
	    list_is_linked(&s->deferred.link))
		return;
	worker_free_later(s->destination->upstream->env, &s->deferred, free_later);
}

void server_leave(struct server *s)
{
	s->at.is_leaving = true;
	s->destination->leaving_count++;
	s->destination->ordered_count -= s->order != SERVER_READY;
	s->order = SERVER_READY;
	s->at.is_ordered_out = false;
	health_fini(s);
	origin_server_retire(&s->at);
	destination_changed(s->destination);
	server_check_gone(s);
}

bool server_is_gone(const struct server *s)
{
	return list_is_linked(&s->deferred.link);
}

void server_return(struct server *s)
{
	s->at.is_leaving = false;
	s->destination->leaving_count--;
	health_init(s);
}

/* ---- destinations ---- */

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
	health_resume(d);
	destination_watch_names(d);
}

void destination_open(
    struct destination *d, struct upstream *upstream, const struct conf_origin *origin)
{
	destination_init(d, upstream, origin, false);
	for (size_t i = 0; i < origin->index; i++)
		d->first_row += upstream->env->conf->origins[i].server_count;
	d->retry_budget.at = upstream->env->relay->now;
	for (unsigned push = 0; push < 2; push++)
		d->origin.plans[push] =
		    protocols_plans_for_origin(upstream->env->protocols, origin, push == 1);
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
		protocols_plans_free(d->origin.plans[0]);
		protocols_plans_free(d->origin.plans[1]);
	}
	balance_free(d->balance);
	free(d->members);
	free(d->names);
}
