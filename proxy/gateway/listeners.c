/* SPDX-License-Identifier: MIT */
/*
 * Listening sockets, each for one [listen] section. A worker may have several for one section: it
 * also accepts from the sockets of a worker that died until that is replaced.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/memory.h"

struct listener_socket {
	struct list link; /* in gateway->sockets */
	struct net_listener *net;
	struct gateway *gateway;
	struct client_listener *listener;
	const char *name; /* of the section */
};

static void accepted(void *context, int fd, const struct net_address *peer)
{
	struct listener_socket *s = context;
	client_accept(s->listener, fd, peer);
}

static void paused(void *context, int error)
{
	struct listener_socket *s = context;
	struct worker_env *env = &s->gateway->env;
	WORKER_COUNT(env, accept_paused, 1);
	observe_log(
	    env->observe, OBSERVE_WARN, "%s: accepting pauses: %s", s->name, strerror(error));
}

void gateway_listen(struct gateway *g, const struct conf_listen *listen, int fd)
{
	struct listener_socket *s = memory_new(struct listener_socket);
	s->gateway = g;
	s->listener = clients_listener(&g->clients, listen);
	s->name = listen->name;
	s->net = net_listener_new(g->env.loop, fd, accepted, paused, s);
	list_append(&g->sockets, &s->link);
}

void gateway_empty(struct gateway *g, size_t section)
{
	if (section >= g->env.conf->listen_count)
		return;
	const struct client_listener *of =
	    clients_listener(&g->clients, &g->env.conf->listens[section]);
	worker_now(&g->env);
	list_for_each(&g->sockets, s, struct listener_socket, link)
	{
		if (s->listener == of)
			net_listener_empty(s->net);
	}
}

void listeners_stop(struct gateway *g)
{
	list_for_each(&g->sockets, s, struct listener_socket, link)
	{
		net_listener_free(s->net);
		list_remove(&s->link);
		free(s);
	}
}
