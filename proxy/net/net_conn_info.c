/* SPDX-License-Identifier: MIT */
/*
 * The kernel's view of a connection: addresses, and statistics from TCP_INFO (tcp(7)), in the kernel's own struct, which
 * has more members than libc's. And its search for peers that have vanished: keep-alive and TCP_USER_TIMEOUT. A listening
 * socket cannot pass these on, as the kernel accepts connections before a worker has begun.
 */
#include "proxy/net/net_conn.h"
#include <linux/tcp.h>
#include <netinet/in.h>

static bool ask(const struct net_conn *c, struct tcp_info *info)
{
	socklen_t size = sizeof(*info);
	memset(info, 0, sizeof(*info));
	return c->is_tcp && c->fd >= 0 &&
	       net_sys_getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0;
}

uint32_t net_conn_rtt_usec(const struct net_conn *c)
{
	struct tcp_info info;
	return ask(c, &info) ? info.tcpi_rtt : 0;
}

bool net_conn_is_undelivered(const struct net_conn *c)
{
	struct tcp_info info;
	return c->unsent ||
	       (ask(c, &info) && (info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0));
}

uint64_t net_conn_delivered(const struct net_conn *c)
{
	struct tcp_info info;
	return ask(c, &info) ? info.tcpi_bytes_acked : c->sent_bytes;
}

/* Packets to any address of this machine go through its loopback interface. Its MTU is 65536 in Linux, one less for
 * IPv4; no network has that. */
#define LOOPBACK_MTU 65535u

/* Equal addresses do not suffice: the kernel calls 127.0.0.2 from 127.0.0.1. */
bool net_conn_is_to_itself(const struct net_conn *c)
{
	struct tcp_info info;
	struct net_address peer, own = {.length = NET_ADDRESS_BYTES};
	struct address a, b;
	if (ask(c, &info) && info.tcpi_pmtu >= LOOPBACK_MTU)
		return true;
	if (!net_conn_peer(c, &peer) || getsockname(c->fd, &own.any, &own.length) != 0)
		return false;
	net_address_ip(&peer, &a);
	net_address_ip(&own, &b);
	return a.family != 0 && a.family == b.family &&
	       memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

/* ---- peers that have vanished ---- */

/* Probes without an answer, spread over as long a time as the silence before the first. */
#define PROBES 4

void net_conn_keepalive(struct net_conn *c, usec idle, usec patience)
{
	int sec = idle < USEC_PER_SEC ? 1 : (int)(idle / USEC_PER_SEC);
	if (!c->is_tcp || c->fd < 0 || idle == 0)
		return;
	net_conn_set_option(c, SOL_SOCKET, SO_KEEPALIVE, 1);
	net_conn_set_option(c, IPPROTO_TCP, TCP_KEEPIDLE, sec);
	net_conn_set_option(c, IPPROTO_TCP, TCP_KEEPINTVL, sec < PROBES ? 1 : sec / PROBES);
	net_conn_set_option(c, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	if (patience == 0)
		return;
	/* For a peer that reads nothing the kernel counts the same time: it is twice the owner's own
	 * patience, so that the owner ends the connection first and says why. */
	idle = (usec)sec * USEC_PER_SEC;
	usec longest = 2 * (idle > patience ? idle : patience);
	net_conn_set_option(c, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)(longest / USEC_PER_MSEC));
}
