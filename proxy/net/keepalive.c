/* SPDX-License-Identifier: MIT */
/* Finds peers that have vanished: TCP keep-alive and TCP_USER_TIMEOUT (tcp(7)), set on each connection. The listening
 * socket cannot pass them on: the kernel accepts connections before a worker has begun. */
#include "proxy/net/net_conn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

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
