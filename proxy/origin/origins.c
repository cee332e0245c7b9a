/* SPDX-License-Identifier: MIT */
/* All connections of a worker to origins, and what is asked about the one of an exchange. */
#include "proxy/origin/origin_private.h"

#include "proxy/base/memory.h"

#include <stdlib.h>

void origins_open(struct origins *all)
{
	all->session_env = (struct session_env){
	    .heads = all->env->heads,
	    .seed = all->env->seed,
	    .fault = origin_count_fault,
	    .context = all,
	    .front = exchange_leg_front,
	    .taken = exchange_on_taken,
	};
	all->push_off_until =
	    memory_zalloc((all->env->conf->route_count + 1) * sizeof(*all->push_off_until));
	all->send_fetches = fetches_send_due;
	list_init(&all->conns);
}

void origins_free(struct origins *all)
{
	free(all->push_off_until);
}

void origins_shutdown(struct origins *all)
{
	list_for_each(&all->conns, c, struct origin_conn, all)
	{
		if (c->is_open)
			origin_conn_terminate(c, SESSION_NO_ERROR, (struct slice){0});
		else
			origin_conn_kill(c, &relay_cause_DRAINED);
	}
}

size_t origins_describe(const struct origins *all, char *buffer, size_t size)
{
	size_t n = 0;
	list_for_each(&all->conns, c, struct origin_conn, all)
	{
		if (c->session && n < size)
			n += session_describe(c->session, buffer + n, size - n);
	}
	return n;
}

struct net_tls *origins_tls_new(const struct origins *all, const struct conf_origin *o,
    const struct session_plan *plans, char *error, size_t error_size)
{
	char alpn[64] = "http/1.1";
	if (plans)
		protocols_alpn_list(plans, false, alpn, sizeof(alpn));
	const struct net_tls_client_options options = {.ca_file = o->tls_ca,
	    .verify = o->tls_verify,
	    .alpn = alpn,
	    .files = all->env->conf->sealed,
	    .key_log = all->env->key_log};
	struct net_tls *tls = net_tls_client_new(&options, error, error_size);
	if (!tls || !o->client_certificate ||
	    net_tls_show_certificate(tls, o->client_certificate, options.files, error, error_size))
		return tls;
	net_tls_free(tls);
	return NULL;
}

/* ---- memory is short ---- */

static void set_paused(struct net_conn *net, bool is_paused)
{
	if (is_paused)
		net_conn_pause_reading(net, NET_PAUSE_MEMORY);
	else
		net_conn_resume_reading(net, NET_PAUSE_MEMORY);
}

void origins_pause_reading(struct origins *all, bool is_paused)
{
	if (is_paused)
		relay_pause_origins(all->env->relay);
	else
		relay_resume_origins(all->env->relay);
	list_for_each(&all->conns, c, struct origin_conn, all)
	{
		if (c->net && !c->asks_proxy)
			set_paused(c->net, is_paused);
		if (c->net && !is_paused)
			origin_conn_read_again(c);
	}
}

/* ---- one exchange's connection ---- */

usec origin_stall_limit(const struct exchange *x)
{
	struct origin_conn *c = origin_conn_of(x);
	if (!c || c->is_full) /* an origin that cannot send may not read either */
		return 0;
	const struct conf_origin *o = c->pool->conf;
	return peer_progress_stream_limit(&c->progress, c->net, c->session, x->up.stream,
	    o->write_timeout, o->limits.min_rate, c->origins->env->relay->now);
}

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
	const uint32_t n = c->origins->env->conf->server.promise_rate;
	const struct rate rate = {n, n};
	return bucket_take(&c->promises.all, &rate, 1, c->origins->env->relay->now);
}
