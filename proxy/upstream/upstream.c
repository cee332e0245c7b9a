/* SPDX-License-Identifier: MIT */
/* All origins of a worker: opens and closes their destinations, and answers origin/. */
#include "proxy/upstream/destination.h"

#include "proxy/base/memory.h"
#include "proxy/upstream/dynamic_destination.h"

#include <stdlib.h>

/* ---- what origin/ asks and tells ---- */

static void on_closed(struct origin_server *s)
{
	if (s->origin->is_dynamic)
		dynamic_destination_conn_ended(s);
	server_check_gone(server_above(s));
}

static void on_changed(struct origin_server *s)
{
	destination_changed(server_above(s)->destination);
}

static void on_connect_failed(struct origin_server *s)
{
	health_report(server_above(s), HEALTH_CONNECT_FAILED);
}

static void on_adopted(struct origin_server *s, struct exchange *push)
{
	destination_give(push, server_above(s));
	if (s->origin->is_dynamic)
		dynamic_destination_adopt(server_above(s)->destination, push);
}

static const struct origin_ops origin_ops = {
    .opened = dynamic_destination_conn_opened,
    .closed = on_closed,
    .changed = on_changed,
    .connect_failed = on_connect_failed,
    .unreached = destination_try_another,
    .may_take = destination_may_take,
    .took = destination_took,
    .adopted = on_adopted,
    .fetched = fetching_began,
    .answered = health_report_answer,
    .failed = health_report_failure,
};

static bool may_reach(
    const struct exchange *parent, const struct request_facts *asked, struct effort *effort)
{
	const struct server *s = given_server(parent);
	return s && destination_is_open_to(s->destination, asked, effort);
}

const struct offer_promiser upstream_promiser = {.covers = origin_covers, .may_reach = may_reach};

/* ---- life ---- */

/* Authorities are read from a file: once for all origins that trust the same. */
static bool shows_the_same(const struct conf_origin *a, const struct conf_origin *b)
{
	const struct net_certificate *one = a->client_certificate, *other = b->client_certificate;
	if (!one || !other)
		return one == other;
	return strcmp(one->chain_file, other->chain_file) == 0 &&
	       strcmp(one->key_file, other->key_file) == 0;
}

static struct net_tls *find_tls(const struct upstream *u, const struct conf_origin *o)
{
	for (size_t i = 0; i < o->index; i++) {
		const struct destination *d = &u->destinations[i];
		const struct conf_origin *other = d->origin.conf;
		bool same_ca = o->tls_ca ? other->tls_ca && strcmp(o->tls_ca, other->tls_ca) == 0
					 : !other->tls_ca;
		if (d->origin.tls && same_ca && o->tls_verify == other->tls_verify &&
		    o->protocols == other->protocols && shows_the_same(o, other))
			return d->origin.tls;
	}
	return NULL;
}

static bool open_tls(struct upstream *u, struct destination *d, char *error, size_t error_size)
{
	const struct conf_origin *o = d->origin.conf;
	if (o->kind != CONF_ORIGIN_TLS)
		return true;
	d->origin.tls = find_tls(u, o);
	if (d->origin.tls)
		return true;
	d->origin.tls = origins_tls_new(&u->origins, o, d->origin.plans[0], error, error_size);
	d->owns_tls = true;
	return d->origin.tls != NULL;
}

bool upstream_open(struct upstream *u, char *error, size_t error_size)
{
	const struct conf *conf = u->env->conf;
	u->origins.ops = &origin_ops;
	origins_open(&u->origins);
	health_open(u);
	u->destinations = memory_zalloc((conf->origin_count + 1) * sizeof(*u->destinations));
	for (size_t i = 0; i < conf->origin_count; i++)
		destination_open(&u->destinations[i], u, &conf->origins[i]);
	orders_open(u);
	for (size_t i = 0; i < conf->origin_count; i++)
		if (!open_tls(u, &u->destinations[i], error, error_size))
			return false;
	return dynamic_destinations_open(u, error, error_size);
}

static size_t destination_count(const struct upstream *u)
{
	return u->destinations ? u->env->conf->origin_count : 0;
}

bool upstream_renew_tls(const struct upstream *u, char *error, size_t error_size)
{
	bool is_good = dynamic_destinations_renew_tls(u->dynamic, error, error_size);
	for (size_t i = 0; i < destination_count(u); i++) {
		const struct destination *d = &u->destinations[i];
		if (d->owns_tls &&
		    !net_tls_renew(d->origin.tls, u->env->conf->sealed, error, error_size))
			is_good = false;
	}
	return is_good;
}

void upstream_close(struct upstream *u)
{
	u->origins.is_closed = true;
	health_close(u);
	orders_close(u);
	for (size_t i = 0; i < destination_count(u); i++)
		destination_close(&u->destinations[i]);
	dynamic_destinations_close(u->dynamic);
}

void upstream_take_over(struct upstream *u)
{
	for (size_t i = 0; i < destination_count(u); i++)
		health_resume(&u->destinations[i]);
}

void upstream_free(struct upstream *u)
{
	for (size_t i = 0; i < destination_count(u); i++)
		destination_free(&u->destinations[i]);
	for (size_t i = 0; i < destination_count(u); i++)
		if (u->destinations[i].owns_tls)
			net_tls_free(u->destinations[i].origin.tls);
	dynamic_destinations_free(u->dynamic);
	free(u->destinations);
	origins_free(&u->origins);
}

/* ---- requests ---- */

void upstream_dispatch(struct upstream *u, struct exchange *x, bool wants_push)
{
	struct upstream_attempt *attempt = attempt_of(x);
	struct destination *configured = &u->destinations[x->place.origin->index];
	attempt->wants_pushes = wants_push;
	if (!exchange_was_retried(x))
		retry_budget_earn(&configured->retry_budget);
	if (!attempt->destination && x->place.origin->kind != CONF_ORIGIN_FORWARD)
		attempt->destination = configured;
	if (!attempt->destination && !dynamic_destination_get(u, x))
		return;
	if (x->upload.source_ended || !gathering_begins(attempt->destination, x))
		destination_dispatch(attempt->destination, x);
}

void upstream_upload_grew(void *context, struct exchange *x)
{
	(void)context;
	if (x->upload_wait == UPLOAD_GATHERS)
		gathering_grew(attempt_of(x)->destination, x);
	else if (x->upload.source_ended)
		origin_upload_is_whole(x);
}

void upstream_undispatch(void *context, struct exchange *x)
{
	(void)context;
	/* Else x->waiting links a push into its client's list, or a tunnel into one of the gateway's. */
	if (exchange_is_queued(x)) {
		origin_note_queued(x);
		if (attempt_of(x)->at.pool) {
			origin_unqueue(x);
			return;
		}
		attempt_of(x)->destination->origin.queued--;
		fetching_waits_not(attempt_of(x)->destination, x);
	}
	list_remove(&x->waiting);
}

uint32_t upstream_retries(const struct exchange *x)
{
	return attempt_of(x)->moves + (x->attempts > 1 ? x->attempts - 1u : 0u);
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
	if (exchange_is_push(x))
		fetching_ended(x);
	destination_exchange_ended(x);
	const struct destination *d = attempt_of(x)->destination;
	if (d && d->origin.is_dynamic)
		dynamic_destination_exchange_ended(x);
}
