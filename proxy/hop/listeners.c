/* SPDX-License-Identifier: MIT */
/*
 * The listen sections: what their connections have in common, and the sockets that they come from,
 * siblings' sockets among them for a while.
 */
#include "proxy/hop/private.h"

#include "proxy/base/memory.h"

struct listener_socket {
	struct list link;
	struct net_listener *net;
	struct listener *listener;
};

bool listeners_open(struct hop *h, char *error, size_t error_size)
{
	const struct conf *conf = h->env.conf;
	h->listeners =
	    memory_resize(NULL, conf->listen_count ? conf->listen_count : 1, sizeof(*h->listeners));
	memset(h->listeners, 0, conf->listen_count * sizeof(*h->listeners));
	for (size_t i = 0; i < conf->listen_count; i++) {
		struct listener *l = &h->listeners[i];
		l->hop = h;
		l->conf = &conf->listens[i];
		l->limits = down_limits(l->conf);
		list_init(&l->sockets);
		map_init(&l->clients);
	}
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct conf_listen *c = &conf->listens[i];
		if (c->certificate_count == 0)
			continue;
		const struct net_tls_server_options o = {
		    .certificates = c->certificates,
		    .certificate_count = c->certificate_count,
		    .alpn = "h2",
		    .ticket_key = h->env.ticket_key,
		};
		h->listeners[i].tls = net_tls_server_new(&o, error, error_size);
		if (!h->listeners[i].tls)
			return false;
	}
	return true;
}

void listeners_stop(struct hop *h)
{
	for (size_t i = 0; i < h->env.conf->listen_count; i++)
		list_for_each(&h->listeners[i].sockets, s, struct listener_socket, link)
		{
			net_listener_free(s->net);
			list_remove(&s->link);
			free(s);
		}
}

void listeners_close(struct hop *h)
{
	for (size_t i = 0; i < h->env.conf->listen_count; i++) {
		net_tls_free(h->listeners[i].tls);
		map_fini(&h->listeners[i].clients);
	}
	free(h->listeners);
}

/* ---- listeners ---- */

static void accepted(void *context, int fd, const struct net_address *peer)
{
	struct listener_socket *s = context;
	down_accept(s->listener, fd, peer);
}

static void paused(void *context, int error)
{
	struct listener_socket *s = context;
	struct hop *h = s->listener->hop;
	HOP_COUNT(h, accept_paused, 1);
	observe_log(h->env.observe, OBSERVE_WARN, "%s: accepting pauses: %s",
	    s->listener->conf->name, strerror(error));
}

void hop_listen(struct hop *h, const struct conf_listen *listen, int fd)
{
	struct listener_socket *s = memory_new(struct listener_socket);
	s->listener = &h->listeners[listen - h->env.conf->listens];
	s->net = net_listener_new(h->env.loop, fd, accepted, paused, s);
	list_append(&s->listener->sockets, &s->link);
}
