/* SPDX-License-Identifier: MIT */
/* All client connections of a worker: opens the [listen] sections, and ends all connections. */
#include "proxy/client/client_private.h"

#include "proxy/base/memory.h"

static bool asks_for_rtt(const struct policy_rules *policy)
{
	for (size_t i = 0; i < policy->count; i++)
		if (policy->rules[i].rtt_compare != POLICY_COMPARE_NONE)
			return true;
	return false;
}

static bool open_tls(struct client_listener *l, char *error, size_t error_size)
{
	char alpn[64];
	const struct conf_listen *conf = l->conf;
	if (conf->certificate_count == 0)
		return true;
	protocols_alpn_list(l->plans, true, alpn, sizeof(alpn));
	const struct net_tls_server_options o = {
	    .certificates = conf->certificates,
	    .certificate_count = conf->certificate_count,
	    .alpn = alpn,
	    .tickets = l->clients->env->tickets,
	    .files = l->clients->env->conf->sealed,
	    .ticket_file = l->clients->env->conf->server.ticket_file,
	    .parameters = &conf->tls,
	    .key_log = l->clients->env->key_log,
	    .challenge = l->clients->env->acme_challenge,
	};
	l->tls = net_tls_server_new(&o, error, error_size);
	return l->tls && (!conf->client_auth || net_tls_ask_clients(l->tls, &conf->client_auth->net,
						    o.files, error, error_size));
}

/* How long an old ticket key may stay in memory when no client comes. */
#define TICKETS_CHECK_USEC (60 * USEC_PER_SEC)

static void advance_tickets(struct wheel_node *node, usec now)
{
	struct clients *c = container_of(node, struct clients, tickets_timer);
	bool has_tls = false;
	for (size_t i = 0; i < c->env->conf->listen_count; i++) {
		if (!c->listeners[i].tls)
			continue;
		net_tls_advance_tickets(c->listeners[i].tls);
		has_tls = true;
	}
	if (has_tls)
		wheel_set(worker_wheel(c->env), node, now + TICKETS_CHECK_USEC);
}

bool clients_open(struct clients *c, char *error, size_t error_size)
{
	const struct conf *conf = c->env->conf;
	list_init(&c->conns);
	list_init(&c->arrivals);
	list_init(&c->idle);
	wheel_node_init(&c->tickets_timer, advance_tickets);
	client_traces_open(c);
	c->measures_rtt = asks_for_rtt(&conf->policy);
	c->tells_ends = conf_tells_ends(conf);
	c->session_env = (struct session_env){
	    .heads = c->env->heads,
	    .seed = c->env->seed,
	    .fault = client_count_fault,
	    .context = c,
	    .trace = client_trace_frame,
	    .front = exchange_leg_front,
	    .taken = exchange_on_taken,
	};
	client_diaries_open(c);
	c->listeners = memory_zalloc((conf->listen_count + 1) * sizeof(*c->listeners));
	for (size_t i = 0; i < conf->listen_count; i++) {
		struct client_listener *l = &c->listeners[i];
		l->clients = c;
		l->conf = &conf->listens[i];
		l->plans = protocols_plans_for_clients(c->env->protocols, l->conf);
		map_init(&l->addresses);
	}
	for (size_t i = 0; i < conf->listen_count; i++)
		if (!open_tls(&c->listeners[i], error, error_size))
			return false;
	advance_tickets(&c->tickets_timer, c->env->relay->now);
	return true;
}

void clients_renew_tls(const struct clients *c)
{
	for (size_t i = 0; i < c->env->conf->listen_count; i++)
		if (c->listeners[i].tls)
			net_tls_renew_begin(c->listeners[i].tls, c->env->conf->sealed);
}

bool clients_renew_tls_step(const struct clients *c, usec until, char *error, size_t error_size)
{
	for (size_t i = 0; i < c->env->conf->listen_count; i++) {
		struct net_tls *tls = c->listeners[i].tls;
		if (tls && net_tls_renew_step(tls, until, error, error_size))
			return true;
	}
	return false;
}

void clients_close(struct clients *c)
{
	wheel_forget(worker_wheel(c->env), &c->tickets_timer);
	client_traces_close(c);
	for (size_t i = 0; c->listeners && i < c->env->conf->listen_count; i++) {
		net_tls_free(c->listeners[i].tls);
		protocols_plans_free(c->listeners[i].plans);
		map_fini(&c->listeners[i].addresses);
	}
	free(c->listeners);
	latest_validators_fini(&c->validators);
}

struct client_listener *clients_listener(struct clients *c, const struct conf_listen *conf)
{
	return &c->listeners[conf - c->env->conf->listens];
}

void clients_shutdown(struct clients *clients)
{
	client_arrivals_shutdown(clients);
	list_for_each(&clients->conns, c, struct client_conn, link) client_conn_shutdown(c);
}

void clients_abort(struct clients *clients)
{
	client_arrivals_abort(clients);
	list_for_each(&clients->conns, c, struct client_conn, link) client_conn_abort(c, NULL);
}

bool clients_are_gone(const struct clients *clients)
{
	return list_is_empty(&clients->conns) && list_is_empty(&clients->arrivals);
}

size_t clients_describe(const struct clients *clients, char *buffer, size_t size)
{
	size_t n = 0;
	list_for_each(&clients->conns, c, struct client_conn, link) if (c->session && n < size) n +=
	    session_describe(c->session, buffer + n, size - n);
	return n;
}
