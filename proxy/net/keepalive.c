/* SPDX-License-Identifier: MIT */
/* Peers that are gone without a word: TCP keep-alive and TCP_USER_TIMEOUT (tcp(7)). A connection does not
 * inherit them from its listening socket: the kernel accepts connections before a worker has begun. */
#include "proxy/net/net_conn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* Probes without an answer, spread over as long a time as the silence before the first. */
#define PROBES 4

static void set_option(struct net_conn *c, int level, int name, int value)
{
	/* A socket that does not support the option works without it. */
	(void)net_sys_setsockopt(c->fd, level, name, &value, sizeof(value));
}

void net_conn_keepalive(struct net_conn *c, usec idle, usec patience)
{
	int sec = idle < USEC_PER_SEC ? 1 : (int)(idle / USEC_PER_SEC);
	if (!c->is_tcp || c->fd < 0 || idle == 0)
		return;
	set_option(c, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(c, IPPROTO_TCP, TCP_KEEPIDLE, sec);
	set_option(c, IPPROTO_TCP, TCP_KEEPINTVL, sec < PROBES ? 1 : sec / PROBES);
	set_option(c, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	if (patience == 0)
		return;
	/* For a peer that reads nothing the kernel counts the same time: it is twice the owner's own
	 * patience, so that the owner ends the connection first and says why. */
	idle = (usec)sec * USEC_PER_SEC;
	usec longest = 2 * (idle > patience ? idle : patience);
	set_option(c, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)(longest / USEC_PER_MSEC));
}
