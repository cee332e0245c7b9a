/* SPDX-License-Identifier: MIT */
/* UDP sockets with one peer each, and the kernel's route to an address. */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/loop.h"
#include "proxy/net/sys.h"
#include <errno.h>

struct net_datagram {
	int fd;
	struct net_watch *watch;
	void (*received)(void *context, struct slice bytes, int error);
	void *context;
};

/* One datagram in a loop pass: a flood of them delays no connection. */
static void on_readable(void *context)
{
	struct net_datagram *d = context;
	uint8_t bytes[NET_DATAGRAM_BYTES];
	ssize_t n = net_sys_recv(d->fd, bytes, sizeof(bytes), 0);
	if (n >= 0)
		d->received(d->context, slice_of(bytes, (size_t)n), 0);
	else if (errno != EAGAIN && errno != EINTR)
		d->received(d->context, (struct slice){0}, errno);
}

/* Connected, so that the kernel drops datagrams from elsewhere, and reports ICMP errors. */
static int open_socket(const struct net_address *peer)
{
	int fd = net_sys_socket(peer->any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (net_sys_connect(fd, &peer->any, peer->length) == 0)
		return fd;
	net_sys_close(fd);
	return -1;
}

struct net_datagram *net_datagram_new(struct net_loop *l, const struct net_address *peer,
    void (*received)(void *context, struct slice bytes, int error), void *context)
{
	int fd = open_socket(peer);
	if (fd < 0)
		return NULL;
	struct net_datagram *d = memory_new(struct net_datagram);
	*d = (struct net_datagram){.fd = fd, .received = received, .context = context};
	d->watch = net_watch_new(l, fd, on_readable, d);
	return d;
}

void net_datagram_free(struct net_datagram *d)
{
	if (!d)
		return;
	net_watch_free(d->watch);
	net_sys_close(d->fd);
	free(d);
}

bool net_datagram_send(struct net_datagram *d, struct slice bytes)
{
	return net_sys_send(d->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL) == (ssize_t)bytes.len;
}

bool net_route_source(const struct net_address *to, struct address *source)
{
	struct net_address from = {.length = NET_ADDRESS_BYTES};
	int fd = open_socket(to);
	if (fd < 0)
		return false;
	bool is_known = getsockname(fd, &from.any, &from.length) == 0;
	net_sys_close(fd);
	net_address_ip(&from, source);
	return is_known && source->family != 0;
}
