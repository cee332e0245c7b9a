/* SPDX-License-Identifier: MIT */
/*
 * Accepting clients. On a listener with proxy-protocol the PROXY header comes first: until then a socket is an arrival,
 * and no connection yet. Only the header is taken off the socket: the bytes behind it stay there for TLS or for HTTP. An
 * arrival has a deadline of its own, and becomes a client connection with the claimed peer, or is closed.
 */
#include "proxy/client/client_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"

#include <errno.h>

struct client_arrival {
	struct client_listener *listener;
	struct list link; /* in clients->arrivals */
	struct net_watch *watch;
	struct wheel_node timer;
	struct address tcp; /* the TCP peer */
	uint16_t port;
	bool is_leaving; /* the gateway drains: its connection takes one more request */
	int fd;
	uint32_t length;
	uint8_t bytes[LIMIT_PROXY_HEADER_BYTES];
};

static void log_tcp_peer(
    const struct client_listener *l, const struct address *tcp, const char *what, const char *more)
{
	char text[64];
	struct worker_env *env = l->clients->env;
	observe_log_fault(env->observe, OBSERVE_INFO, what, env->relay->now,
	    "%s: TCP peer %s: %s%s%s", l->conf->name, address_format(tcp, text, sizeof(text)), what,
	    more ? ": " : "", more ? more : "");
}

/* Its descriptor lives on, or has been closed. */
static void arrival_free(struct client_arrival *a)
{
	struct client_listener *l = a->listener;
	struct worker_env *env = l->clients->env;
	net_watch_free(a->watch);
	wheel_forget(worker_wheel(env), &a->timer);
	list_remove(&a->link);
	l->connections--;
	budget_give(&env->budget, sizeof(*a));
	free(a);
	worker_schedule_drain_check(env);
}

static void abandon(struct client_arrival *a)
{
	int fd = a->fd;
	arrival_free(a); /* nothing watches the descriptor any more */
	net_refuse(fd);
}

static void refuse(struct client_arrival *a, const char *fault)
{
	WORKER_COUNT(a->listener->clients->env, proxy_headers_bad, 1);
	log_tcp_peer(a->listener, &a->tcp, "PROXY header refused", fault);
	abandon(a);
}

static void arrival_expired(struct wheel_node *timer, usec now)
{
	struct client_arrival *a = container_of(timer, struct client_arrival, timer);
	(void)now;
	worker_now(a->listener->clients->env);
	WORKER_COUNT(a->listener->clients->env, proxy_headers_late, 1);
	log_tcp_peer(a->listener, &a->tcp, "no PROXY header in time", NULL);
	abandon(a);
}

/* Counts and charges a new connection. Returns NULL, or the log text of the limit that refuses it. */
static const char *admit(
    struct client_listener *l, const struct address *from, struct client_address **counted)
{
	struct worker_env *env = l->clients->env;
	if (l->connections >= l->conf->max_connections) {
		WORKER_COUNT(env, connections_refused, 1);
		return "connection refused (max-connections)";
	}
	if (!client_address_attach(l, from, counted))
		return "connection refused (max-connections-per-client)";
	if (budget_take(&env->budget, connection_bytes(l->tls)))
		return NULL;
	client_address_detach(l, *counted);
	WORKER_COUNT(env, connections_refused_memory, 1);
	return "connection refused (memory)";
}

/* Makes a connection of an accepted socket. NULL: a limit refuses it. Takes fd and the ends. */
static struct client_conn *begin(struct client_listener *l, int fd, const struct client_peer *peer)
{
	struct client_address *counted;
	const char *refusal = admit(l, &peer->address, &counted);
	if (!refusal)
		return client_conn_new(l, fd, peer, counted);
	client_log(l, &peer->address, refusal, NULL);
	net_refuse(fd);
	peer_ends_release(peer->ends);
	return NULL;
}

/* For origins that are told of its ends, which are those of the socket. */
static RARE void note_ends(const struct client_listener *l, int fd, struct client_peer *peer)
{
	struct peer_header h = {.is_local = true, .from_port = peer->port};
	if (!l->clients->tells_ends || peer->ends)
		return;
	h.to_port = net_own_address(fd, &h.to);
	peer->ends = peer_ends_new(&h, &peer->address, 0);
}

/* The header is whole: what it says counts from now on. */
static void become_connection(struct client_arrival *a, const struct peer_header *h)
{
	struct client_listener *l = a->listener;
	struct client_peer peer = {.address = a->tcp, .port = a->port};
	if (!h->is_local) {
		peer.address = h->from;
		peer.port = h->from_port;
		peer.ends = peer_ends_new(h, &a->tcp, l->conf->proxy_protocol.https_port);
	}
	int fd = a->fd;
	bool is_leaving = a->is_leaving;
	arrival_free(a);
	note_ends(l, fd, &peer);
	struct client_conn *c = begin(l, fd, &peer);
	if (c && is_leaving)
		client_conn_shutdown(c);
}

static void arrival_readable(void *arrival)
{
	struct client_arrival *a = arrival;
	struct peer_header header;
	const char *fault = NULL;
	size_t length = 0;
	worker_now(a->listener->clients->env);
	ssize_t n = net_peek(a->fd, a->bytes + a->length, sizeof(a->bytes) - a->length);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* a balancer that only looks whether somebody listens sends nothing */
		if (a->length > 0)
			refuse(a, "the connection ended within it");
		else
			abandon(a);
		return;
	}
	enum peer_reading reading =
	    peer_header_read(slice_of(a->bytes, a->length + (size_t)n), &header, &length, &fault);
	if (reading == PEER_READING_BAD) {
		refuse(a, fault);
		return;
	}
	if (reading == PEER_READING_MORE)
		length = a->length + (size_t)n;
	ensure(length > a->length && length <= a->length + (size_t)n);
	if (!net_take(a->fd, a->bytes + a->length, length - a->length)) {
		abandon(a);
		return;
	}
	a->length = (uint32_t)length;
	if (reading == PEER_READING_DONE)
		become_connection(a, &header);
}

static void arrive(struct client_listener *l, int fd, const struct client_peer *peer)
{
	struct clients *clients = l->clients;
	struct worker_env *env = clients->env;
	const char *refusal = NULL;
	if (!conf_listen_trusts(l->conf, &peer->address)) {
		WORKER_COUNT(env, connections_refused_untrusted, 1);
		refusal = "connection refused (proxy-protocol is for trusted peers alone)";
	} else if (l->connections >= l->conf->max_connections) {
		WORKER_COUNT(env, connections_refused, 1);
		refusal = "connection refused (max-connections)";
	} else if (!budget_take(&env->budget, sizeof(struct client_arrival))) {
		WORKER_COUNT(env, connections_refused_memory, 1);
		refusal = "connection refused (memory)";
	}
	if (refusal) {
		log_tcp_peer(l, &peer->address, refusal, NULL);
		net_refuse(fd);
		return;
	}
	struct client_arrival *a = memory_new(struct client_arrival);
	a->listener = l;
	a->tcp = peer->address;
	a->port = peer->port;
	a->fd = fd;
	l->connections++;
	list_append(&clients->arrivals, &a->link);
	wheel_node_init(&a->timer, arrival_expired);
	wheel_set(worker_wheel(env), &a->timer,
	    clock_after(env->relay->now, l->conf->proxy_protocol.timeout));
	a->watch = net_watch_new(env->loop, fd, arrival_readable, a);
}

void client_accept(struct client_listener *l, int fd, const struct net_address *at)
{
	struct client_peer peer = {.port = net_address_port(at)};
	worker_now(l->clients->env);
	net_address_ip(at, &peer.address);
	if (l->conf->proxy_protocol.is_required) {
		arrive(l, fd, &peer);
		return;
	}
	note_ends(l, fd, &peer);
	begin(l, fd, &peer);
}

void client_arrivals_shutdown(struct clients *c)
{
	list_for_each(&c->arrivals, a, struct client_arrival, link) a->is_leaving = true;
}

void client_arrivals_abort(struct clients *c)
{
	list_for_each(&c->arrivals, a, struct client_arrival, link) abandon(a);
}
