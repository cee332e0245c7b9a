/* SPDX-License-Identifier: MIT */
/* All origins of a worker: opens and closes their destinations, and walks over the pools of all. */
#include "proxy/upstream/upstream_private.h"

#include "proxy/base/memory.h"
#include "proxy/upstream/on_demand.h"

#include <stdlib.h>

/* Authorities are read from a file: once for all origins that trust the same. */
static struct net_tls *find_tls(const struct upstream *u, const struct conf_origin *o)
{
	for (size_t i = 0; i < o->index; i++) {
		const struct destination *d = &u->destinations[i];
		const struct conf_origin *other = d->origin;
		bool same_ca = o->tls_ca ? other->tls_ca && strcmp(o->tls_ca, other->tls_ca) == 0
					 : !other->tls_ca;
		if (d->tls && same_ca && o->tls_verify == other->tls_verify &&
		    o->protocols == other->protocols)
			return d->tls;
	}
	return NULL;
}

static bool open_tls(struct upstream *u, struct destination *d, char *error, size_t error_size)
{
	const struct conf_origin *o = d->origin;
	char alpn[64];
	if (o->kind != CONF_ORIGIN_TLS)
		return true;
	d->tls = find_tls(u, o);
	if (d->tls)
		return true;
	session_alpn_list(d->plans[0], false, alpn, sizeof(alpn));
	const struct net_tls_client_options options = {.ca_file = o->tls_ca,
	    .verify = o->tls_verify,
	    .alpn = alpn,
	    .files = u->env->conf->sealed};
	d->tls = net_tls_client_new(&options, error, error_size);
	d->owns_tls = true;
	return d->tls != NULL;
}

bool upstream_open(struct upstream *u, char *error, size_t error_size)
{
	const struct conf *conf = u->env->conf;
	u->session_env = (struct session_env){
	    .heads = u->env->heads,
	    .seed = u->env->seed,
	    .fault = origin_count_fault,
	    .context = u,
	    .front = exchange_leg_front,
	    .taken = exchange_leg_taken,
	};
	health_open(u);
	u->push_off_until = memory_zalloc((conf->route_count + 1) * sizeof(*u->push_off_until));
	u->destinations = memory_zalloc((conf->origin_count + 1) * sizeof(*u->destinations));
	list_init(&u->destinations_open);
	for (size_t i = 0; i < conf->origin_count; i++)
		destination_open(&u->destinations[i], u, &conf->origins[i]);
	for (size_t i = 0; i < conf->origin_count; i++)
		if (!open_tls(u, &u->destinations[i], error, error_size))
			return false;
	return on_demand_open(u, error, error_size);
}

static size_t destination_count(const struct upstream *u)
{
	return u->destinations ? u->env->conf->origin_count : 0;
}

void upstream_close(struct upstream *u)
{
	u->is_closed = true;
	health_close(u);
	for (size_t i = 0; i < destination_count(u); i++)
		destination_close(&u->destinations[i]);
	on_demand_close(u->on_demand);
}

void upstream_free(struct upstream *u)
{
	for (size_t i = 0; i < destination_count(u); i++)
		destination_free(&u->destinations[i]);
	for (size_t i = 0; i < destination_count(u); i++)
		if (u->destinations[i].owns_tls)
			net_tls_free(u->destinations[i].tls);
	on_demand_free(u->on_demand);
	free(u->destinations);
	free(u->push_off_until);
}

static struct destination *next_destination(const struct upstream *u, struct destination *d)
{
	const struct list *next = d ? d->link.next : u->destinations_open.next;
	return !next || next == &u->destinations_open
		   ? NULL
		   : container_of((struct list *)(uintptr_t)next, struct destination, link);
}

static struct server *next_server(const struct destination *d, struct server *s)
{
	struct list *next = s ? s->link.next : d->servers.next;
	return next == &d->servers ? NULL : container_of(next, struct server, link);
}

struct pool *upstream_next_pool(const struct upstream *u, struct pool_place *at)
{
	if (!at->destination)
		at->destination = next_destination(u, NULL);
	while (at->destination) {
		if (!at->server)
			at->server = next_server(at->destination, NULL);
		while (at->server) {
			while (at->kind < POOL_KINDS) {
				struct pool *p = at->server->pools[at->kind++];
				if (p)
					return p;
			}
			at->kind = 0;
			at->server = next_server(at->destination, at->server);
		}
		at->destination = next_destination(u, at->destination);
	}
	return NULL;
}

void upstream_shutdown(struct upstream *u)
{
	upstream_for_each_pool(u, p) pool_shutdown(p);
}

bool upstream_is_empty(const struct upstream *u)
{
	upstream_for_each_pool(u, p) if (!list_is_empty(&p->conns)) return false;
	return true;
}

/* ---- requests ---- */

static struct destination *destination_of(const struct upstream *u, const struct exchange *x)
{
	return attempt_of(x)->destination ? attempt_of(x)->destination
					  : &u->destinations[x->place.origin->index];
}

void upstream_dispatch(struct upstream *u, struct exchange *x, bool wants_push)
{
	attempt_of(x)->wants_pushes = wants_push;
	bool is_forward = x->place.origin->kind == CONF_ORIGIN_FORWARD;
	if (is_forward && !attempt_of(x)->destination && !on_demand_get(u, x))
		return;
	struct destination *d = destination_of(u, x);
	if (x->upload.source_ended || !gathering_begins(d, x))
		destination_dispatch(d, x);
}

void upstream_upload_grew(struct upstream *u, struct exchange *x)
{
	if (x->context.upload_wait == UPLOAD_GATHERS)
		gathering_grew(destination_of(u, x), x);
	else if (x->upload.source_ended)
		pool_slow_is_whole(x);
}

void upstream_undispatch(struct upstream *u, struct exchange *x)
{
	if (exchange_is_queued(x))
		destination_undispatch(destination_of(u, x), x);
	else /* x->waiting links a push into its client's list */
		list_remove(&x->waiting);
}

void upstream_note_failure(struct exchange *x, const struct relay_failure *failure)
{
	if (failure->why == RELAY_IF_LATE)
		health_report_failure(x, failure->cause);
	if (failure->why == RELAY_IF_LATE || failure->why == RELAY_IF_LOST)
		attempt_note_failure(x, failure->cause, failure->code, failure->detail);
}

const struct upstream_hop *upstream_hop_of(const struct exchange *x)
{
	return &attempt_of(x)->hop;
}

const char *upstream_refused_address(const struct exchange *x)
{
	return attempt_of(x)->refused_address;
}

void upstream_exchange_ended(struct exchange *x)
{
	/* All other failures are reported where they come to light. */
	if (x->ending.cause && x->ending.cause->is_timeout)
		health_report_failure(x, x->ending.cause);
	destination_exchange_ended(x);
	if (attempt_of(x)->destination)
		on_demand_exchange_ended(x);
}

/* ---- one exchange's origin ---- */

bool origin_is_stuck(const struct exchange *x, usec since)
{
	const struct origin_conn *c = origin_conn_of(x);
	if (!c)
		return false;
	usec blocked = net_conn_blocked_since(c->net);
	return session_stream_window(c->session, x->up.stream) == 0 ||
	       (blocked != USEC_NEVER && blocked <= since);
}

bool origin_may_promise_more(const struct exchange *parent)
{
	struct origin_conn *c = parent->up.carrier;
	const uint32_t n = c->upstream->env->conf->server.promise_rate;
	const struct rate rate = {n, n};
	return bucket_take(&c->promises, &rate, 1, c->upstream->env->relay->now);
}

/* ---- memory is short ---- */

static void set_paused(struct net_conn *net, bool is_paused)
{
	if (is_paused)
		net_conn_pause_reading(net, NET_PAUSE_MEMORY);
	else
		net_conn_resume_reading(net, NET_PAUSE_MEMORY);
}

void upstream_pause_reading(struct upstream *u, bool is_paused)
{
	if (is_paused)
		relay_pause_origins(u->env->relay);
	else
		relay_resume_origins(u->env->relay);
	upstream_for_each_pool(u, p)
	{
		list_for_each(&p->conns, c, struct origin_conn, link)
		{
			if (c->net && !c->asks_proxy)
				set_paused(c->net, is_paused);
			if (c->net && !is_paused)
				origin_conn_read_again(c);
		}
	}
}

size_t upstream_describe(const struct upstream *u, char *buffer, size_t size)
{
	size_t n = 0;
	upstream_for_each_pool(u, p)
	    list_for_each(&p->conns, c, struct origin_conn, link) if (c->session && n < size) n +=
	    session_describe(c->session, buffer + n, size - n);
	return n;
}
