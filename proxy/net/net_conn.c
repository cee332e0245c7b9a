/* SPDX-License-Identifier: MIT */
/*
 * Connections: made, connected, aborted and freed, and their queries. Reading, sending, closing and
 * TLS have their own files. Nothing here calls the owner from within a call of the owner's: a failure
 * that is known at once is reported in the next loop pass.
 */
#include "proxy/net/net_conn.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>

/* Unsent bytes that the kernel may buffer for a connection (TCP_NOTSENT_LOWAT): few, so that a more
 * urgent stream can still go first; enough that the socket does not run empty between loop passes. */
#define NOTSENT_LOWAT_BYTES 65536

static bool is_tcp(const struct net_address *a)
{
	return a->any.sa_family == AF_INET || a->any.sa_family == AF_INET6;
}

static void conn_event(struct ev_loop *ev, ev_io *io, int events)
{
	(void)ev;
	struct net_conn *c = io->data;
	if (events & EV_ERROR) { /* the kernel refused to watch the socket; libev has stopped */
		net_conn_end(c, NET_END_ERROR, "the kernel refused to watch the socket");
		return;
	}
	if (c->phase == NET_PHASE_CONNECTING) {
		net_conn_recheck(c);
		return;
	}
	if ((events & EV_WRITE) && c->unsent && net_conn_drain(c))
		net_conn_arm(c);
	if (events & EV_READ)
		net_conn_readable(c);
}

void net_conn_arm(struct net_conn *c)
{
	int events = 0;
	switch (c->phase) {
	case NET_PHASE_CONNECTING:
		events = EV_WRITE;
		break;
	case NET_PHASE_HANDSHAKE:
		events = EV_READ;
		break;
	case NET_PHASE_OPEN:
		events = net_conn_can_read(c) ? EV_READ : 0;
		break;
	case NET_PHASE_DRAINING:
	case NET_PHASE_LINGERING:
		events = c->is_eof || c->discarded_bytes > NET_DISCARD_BYTES ? 0 : EV_READ;
		break;
	case NET_PHASE_FAILED:
	case NET_PHASE_DEAD:
		break;
	}
	if (c->unsent && c->phase != NET_PHASE_FAILED && c->phase != NET_PHASE_DEAD)
		events |= EV_WRITE;
	struct ev_loop *ev = c->loop->ev;
	if (ev_is_active(&c->io) && (c->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(ev, &c->io);
	if (events) {
		ev_io_set(&c->io, c->fd, events);
		ev_io_start(ev, &c->io);
	}
}

static struct net_conn *conn_new(
    struct net_loop *l, struct net_tls *tls, const struct net_conn_ops *ops, void *owner)
{
	struct net_conn *c = memory_new(struct net_conn);
	c->loop = l;
	c->ops = ops;
	c->owner = owner;
	c->layer.tls = tls ? net_tls_hold(tls) : NULL;
	c->fd = -1;
	c->batch_bytes = NET_BATCH_BYTES;
	list_init(&c->dirty);
	list_init(&c->recheck);
	list_init(&c->owner_link);
	list_append(&l->live, &c->owner_link);
	ev_init(&c->io, conn_event);
	c->io.data = c;
	return c;
}

void net_conn_set_option(const struct net_conn *c, int level, int name, int value)
{
	(void)net_sys_setsockopt(c->fd, level, name, &value, sizeof(value));
}

struct net_conn *net_conn_new(
    struct net_loop *l, int fd, struct net_tls *tls, const struct net_conn_ops *ops, void *owner)
{
	struct net_conn *c = conn_new(l, tls, ops, owner);
	c->fd = fd;
	struct net_address peer;
	(void)net_conn_peer(c, &peer); /* if the peer is gone, the first read reports it */
	c->is_tcp = is_tcp(&peer);
	if (c->is_tcp) {
		net_conn_set_option(c, IPPROTO_TCP, TCP_NODELAY, 1);
		net_conn_set_option(c, IPPROTO_TCP, TCP_NOTSENT_LOWAT, NOTSENT_LOWAT_BYTES);
	}
	if (tls) {
		ensure(tls->is_server);
		c->phase = NET_PHASE_HANDSHAKE;
		net_conn_tls_start(c);
	} else {
		c->phase = NET_PHASE_OPEN;
	}
	net_conn_arm(c);
	return c;
}

/* A trailing dot is not part of SNI (RFC 6066 3), nor of the names in certificates. */
static void set_server_name(struct net_conn *c, const char *name)
{
	c->layer.server_name = name ? memory_strdup(name) : NULL;
	size_t length = name ? strlen(name) : 0;
	if (length > 1 && name[length - 1] == '.')
		c->layer.server_name[length - 1] = '\0';
}

/* The port is chosen by connect(2), not by bind(2): connections to different servers may share it. False with errno. */
static bool bind_to(
    const struct net_conn *c, const struct net_source *from, const struct net_address *to)
{
	const struct net_address *own = to->any.sa_family == AF_INET6 ? &from->ipv6 : &from->ipv4;
	if (!c->is_tcp || !net_source_is_given(from))
		return true;
	errno = EADDRNOTAVAIL;
	if (own->length == 0)
		return false;
	net_conn_set_option(c, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
	return net_sys_bind(c->fd, &own->any, own->length) == 0;
}

/* False with errno. */
static bool open_socket(
    struct net_conn *c, const struct net_source *from, const struct net_address *to)
{
	c->fd = net_sys_socket(to->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || !from || bind_to(c, from, to))
		return c->fd >= 0;
	int error = errno;
	net_sys_close(c->fd);
	c->fd = -1;
	errno = error;
	return false;
}

struct net_conn *net_connect(struct net_loop *l, const struct net_address *to, struct net_tls *tls,
    const char *server_name, const struct net_conn_ops *ops, void *owner)
{
	return net_connect_from(l, NULL, to, tls, server_name, ops, owner);
}

struct net_conn *net_connect_from(struct net_loop *l, const struct net_source *from,
    const struct net_address *to, struct net_tls *tls, const char *server_name,
    const struct net_conn_ops *ops, void *owner)
{
	struct net_conn *c = conn_new(l, tls, ops, owner);
	ensure(!tls || !tls->is_server);
	c->phase = NET_PHASE_CONNECTING;
	c->is_tcp = is_tcp(to);
	set_server_name(c, server_name);
	if (!open_socket(c, from, to)) {
		c->connect_errno = errno;
		net_conn_schedule_recheck(c);
		return c;
	}
	if (c->is_tcp)
		net_conn_set_option(c, IPPROTO_TCP, TCP_NODELAY, 1);
	int r = net_sys_connect(c->fd, &to->any, to->length);
	/* An interrupted connect continues asynchronously (POSIX). */
	if (r == 0 || (errno != EINPROGRESS && errno != EINTR)) {
		c->connect_errno = r == 0 ? 0 : errno;
		net_conn_schedule_recheck(c);
		return c;
	}
	net_conn_arm(c);
	return c;
}

/* The handshake begins in the next loop pass (net_conn_readable). */
void net_conn_start_tls(struct net_conn *c, struct net_tls *tls, const char *server_name)
{
	ensure(c->phase == NET_PHASE_OPEN && !c->outer.ssl && !c->unsent && !c->postponed &&
	       !tls->is_server);
	c->outer = c->layer;
	c->layer = (struct net_layer){.tls = net_tls_hold(tls)};
	set_server_name(c, server_name);
	c->phase = NET_PHASE_HANDSHAKE;
	c->handshake_began = c->loop->now;
	list_remove(&c->dirty);
	list_remove(&c->recheck);
	net_conn_arm(c);
	net_conn_schedule_recheck(c);
}

void net_conn_opened(struct net_conn *c)
{
	c->phase = NET_PHASE_OPEN;
	c->write_progress = c->loop->now;
	if (c->wants_flush)
		net_conn_queue(c);
	net_conn_arm(c);
	if (c->ops->opened)
		c->ops->opened(c->owner);
}

/* The call that has failed with this error. */
static const char *failed_call(const struct net_conn *c, int error)
{
	if (c->fd >= 0)
		return "connect";
	return error == EADDRNOTAVAIL ? "source address" : "socket";
}

static void connect_done(struct net_conn *c)
{
	if (!net_conn_has_turn(c)) /* the owner may have requests for it, or a handshake begins */
		return;
	int error = c->connect_errno;
	socklen_t size = sizeof(error);
	if (error == 0 && net_sys_getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0)
		error = errno;
	if (error) {
		bool has_route = error != ENETUNREACH && error != EHOSTUNREACH && error != ENETDOWN;
		net_conn_end_errno(c, has_route ? NET_END_CONNECT : NET_END_NO_ROUTE,
		    failed_call(c, error), error);
		return;
	}
	/* What the socket does not take at once leaves before the handshake or the first fill all the same. */
	if (c->unsent && !net_conn_drain(c) && c->phase != NET_PHASE_CONNECTING)
		return;
	if (c->layer.tls) {
		c->phase = NET_PHASE_HANDSHAKE;
		c->handshake_began = c->loop->now;
		net_conn_tls_start(c);
		net_conn_arm(c);
		net_conn_tls_readable(c);
	} else {
		net_conn_opened(c);
	}
}

void net_conn_schedule_recheck(struct net_conn *c)
{
	if (!list_is_linked(&c->recheck))
		list_append(&c->loop->recheck, &c->recheck);
	net_loop_run_again(c->loop);
}

void net_conn_recheck(struct net_conn *c)
{
	if (c->phase == NET_PHASE_CONNECTING)
		connect_done(c);
	else
		net_conn_readable(c);
}

void net_conn_end(struct net_conn *c, enum net_end end, const char *text)
{
	if (c->phase == NET_PHASE_DEAD)
		return;
	bool is_failure = end != NET_END_EOF && end != NET_END_TRUNCATED;
	if (!is_failure)
		c->is_eof = true;
	else
		c->phase = c->ops ? NET_PHASE_FAILED : c->phase;
	if (!c->ops) {
		if (is_failure)
			net_conn_die(c);
		return;
	}
	if (is_failure) {
		net_unsent_drop(c);
		list_remove(&c->dirty);
		list_remove(&c->recheck);
	}
	net_conn_arm(c);
	if (c->has_ended)
		return;
	c->has_ended = true;
	c->ops->ended(c->owner, end, text);
}

void net_conn_end_errno(struct net_conn *c, enum net_end end, const char *what, int error)
{
	char text[128];
	const char *reason = strerrordesc_np(error);
	snprintf(text, sizeof(text), "%s: %s", what, reason ? reason : "unknown error");
	net_conn_end(c, end, text);
}

void net_conn_forbid_fin(struct net_conn *c)
{
	/*
	 * Disconnects, which sends a RST. SO_LINGER would do it too, but the sandbox forbids that: a descriptor that
	 * lingers makes another process wait that gets it in a message and closes it.
	 */
	const struct sockaddr none = {.sa_family = AF_UNSPEC};
	/* Over TLS too: many clients overlook a missing close_notify. A unix socket has no RST. */
	if (c->is_tcp && c->fd >= 0)
		(void)net_sys_connect(c->fd, &none, sizeof(none));
}

void net_conn_die(struct net_conn *c)
{
	ensure(c->phase != NET_PHASE_DEAD);
	if (c->unsent) /* a FIN would say that these bytes were the last */
		net_conn_forbid_fin(c);
	ev_io_stop(c->loop->ev, &c->io);
	c->phase = NET_PHASE_DEAD;
	c->ops = NULL;
	net_conn_drop_postponed(c);
	net_unsent_drop(c);
	list_remove(&c->dirty);
	list_remove(&c->recheck);
	list_remove(&c->owner_link);
	list_append(&c->loop->dead, &c->owner_link);
	if (c->fd >= 0)
		net_sys_close(c->fd);
	c->fd = -1;
}

static void free_layer(struct net_layer *layer)
{
	SSL_free(layer->ssl);
	net_tls_free(layer->tls);
	free(layer->server_name);
}

void net_conn_reap(struct net_loop *l)
{
	struct net_conn *c;
	while ((c = list_first(&l->dead, struct net_conn, owner_link))) {
		list_remove(&c->owner_link);
		free(c->pending_input);
		free_layer(&c->layer);
		free_layer(&c->outer);
		free(c);
	}
}

void net_conn_dirty(struct net_conn *c)
{
	if (c->phase == NET_PHASE_OPEN && list_is_linked(&c->dirty))
		return; /* most calls */
	switch (c->phase) {
	case NET_PHASE_CONNECTING:
	case NET_PHASE_HANDSHAKE:
		c->wants_flush = true;
		return;
	case NET_PHASE_OPEN:
		/* A blocked connection is filled when the socket is writable again. */
		if (!c->unsent && c->sending == NET_SENDING_OPEN)
			net_conn_queue(c);
		return;
	case NET_PHASE_FAILED:
	case NET_PHASE_DRAINING:
	case NET_PHASE_LINGERING:
	case NET_PHASE_DEAD:
		return;
	}
}

void net_conn_set_budget(struct net_conn *c, struct budget *budget)
{
	net_unsent_charge(c, budget);
}

bool net_conn_is_blocked(const struct net_conn *c)
{
	return c->unsent != NULL;
}

usec net_conn_blocked_since(const struct net_conn *c)
{
	return c->unsent ? c->blocked_since : USEC_NEVER;
}

bool net_conn_is_open(const struct net_conn *c)
{
	return c->phase == NET_PHASE_OPEN && !c->has_ended;
}

bool net_conn_is_lost(const struct net_conn *c)
{
	int error = 0;
	socklen_t size = sizeof(error);
	if (c->phase == NET_PHASE_FAILED || c->phase == NET_PHASE_DEAD ||
	    c->sending == NET_SENDING_BROKEN)
		return true;
	return net_sys_getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error != 0;
}

bool net_conn_peer(const struct net_conn *c, struct net_address *peer)
{
	return net_peer_of(c->fd, peer);
}
