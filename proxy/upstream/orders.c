/* SPDX-License-Identifier: MIT */
/*
 * Obeys the orders for single servers (observe/server_orders.h). A worker looks several times a second whether there is
 * another one, so a request costs nothing more.
 */
#include "proxy/upstream/destination.h"

/* How often a worker looks. */
#define ORDERS_USEC (250 * USEC_PER_MSEC)

static size_t row_of(const struct server *s)
{
	const struct destination *d = s->destination;
	return d->first_row + (size_t)(s->at.conf - d->lines);
}

static struct server_orders_row order_of(const struct server *s)
{
	const struct server_orders *all = s->destination->upstream->env->server_orders;
	/* A server that a request has named has no line of the configuration. */
	if (!all || s->destination->origin.is_dynamic)
		return (struct server_orders_row){0};
	return server_orders_get(all, row_of(s));
}

/* Requests that wait for it are given to others first: else they would open connections to it again. */
static void take_down(struct server *s)
{
	destination_give_out_again(
	    &s->destination->change_timer, s->destination->upstream->env->relay->now);
	origin_server_lose(&s->at, "taken down by command");
}

static void obey(struct server *s, enum server_order order)
{
	struct destination *d = s->destination;
	bool was_in_use = s->order == SERVER_READY;
	s->order = (uint8_t)order;
	d->ordered_count += was_in_use;
	d->ordered_count -= order == SERVER_READY;
	s->at.is_ordered_out = order != SERVER_READY;
	s->at.takes_any = false; /* destination_changed lets those that are in use */
	if (order == SERVER_READY && health_state(s) == SERVER_UP)
		s->member.joined = d->upstream->env->relay->now;
	destination_changed(d);
	if (order == SERVER_DRAIN)
		origin_server_retire(&s->at);
	else if (order == SERVER_TAKEN_DOWN)
		take_down(s);
}

void orders_obey(struct destination *d)
{
	list_for_each(&d->servers, s, struct server, link)
	{
		struct server_orders_row row = order_of(s);
		uint32_t weight = row.weight ? row.weight : s->weight;
		if (s->member.weight != weight) {
			s->member.weight = weight;
			destination_changed(d);
		}
		if (s->order != row.order && !s->at.is_leaving && !s->at.conf->is_down)
			obey(s, row.order);
	}
}

/* ---- from time to time ---- */

static void obey_all(struct upstream *u)
{
	for (size_t i = 0; i < u->env->conf->origin_count; i++)
		orders_obey(&u->destinations[i]);
}

/* For `status`: who drains a server wants to know when it has. */
static void tell_open(const struct destination *d)
{
	const struct worker_env *env = d->upstream->env;
	for (size_t line = 0; line < d->line_count; line++) {
		uint32_t open = 0;
		if (server_orders_get(env->server_orders, d->first_row + line).order ==
		    SERVER_READY)
			continue;
		list_for_each(&d->servers, s, struct server, link)
		{
			if (s->at.conf == &d->lines[line])
				open += s->member.outstanding;
		}
		server_orders_tell_open(
		    env->server_orders, env->observe->worker, d->first_row + line, open);
	}
}

static void look(struct wheel_node *timer, usec now)
{
	struct upstream *u = container_of(timer, struct upstream, orders_timer);
	struct server_orders *all = u->env->server_orders;
	uint32_t version = atomic_load(all->version);
	if (version != u->orders_seen)
		obey_all(u);
	u->orders_seen = version;
	for (size_t i = 0; version > 0 && i < u->env->conf->origin_count; i++)
		tell_open(&u->destinations[i]);
	/* Also the first time: this one is not down any more. The numbers are there before the command is answered. */
	server_orders_obeyed(all, u->env->observe->worker, version);
	wheel_set(worker_wheel(u->env), timer, now + ORDERS_USEC);
}

void orders_open(struct upstream *u)
{
	wheel_node_init(&u->orders_timer, look);
	if (u->env->server_orders)
		look(&u->orders_timer, u->env->relay->now);
}

void orders_close(struct upstream *u)
{
	if (u->orders_timer.expired) /* else the start has failed before it was opened */
		wheel_forget(worker_wheel(u->env), &u->orders_timer);
}
