/* SPDX-License-Identifier: MIT */
/* What the kernel knows of a connection: addresses, and statistics from TCP_INFO (tcp(7)). Uses the kernel's struct, which has more members
 * than libc's. */
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

/* What goes to any address of this machine goes by its loopback interface. Linux gives that an MTU of 65536, which is
 * one less for IPv4; no network has it. */
#define LOOPBACK_MTU 65535u

/* An address of this machine need not be the one that the kernel chooses for the other end: 127.0.0.2 is called from 127.0.0.1. */
bool net_conn_is_to_itself(const struct net_conn *c)
{
	struct tcp_info info;
	struct net_address peer, own = {.length = sizeof(own.storage)};
	struct address a, b;
	if (ask(c, &info) && info.tcpi_pmtu >= LOOPBACK_MTU)
		return true;
	if (!net_conn_peer(c, &peer) ||
	    getsockname(c->fd, (struct sockaddr *)&own.storage, &own.length) != 0)
		return false;
	net_address_ip(&peer, &a);
	net_address_ip(&own, &b);
	return a.family != 0 && a.family == b.family &&
	       memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}
