/* SPDX-License-Identifier: MIT */
/* Peers that are gone without a word: TCP keep-alive and TCP_USER_TIMEOUT (tcp(7)). */
#include "proxy/net/conn.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

/* Probes without an answer, spread over as long a time as the silence before the first. */
#define PROBES 4

static void set_option(int fd, int level, int name, int value)
{
	/* A socket that is not TCP has no such option. */
	(void)net_sys_setsockopt(fd, level, name, &value, sizeof(value));
}

void net_keepalive(int fd, usec idle, usec patience)
{
	int sec = idle < USEC_PER_SEC ? 1 : (int)(idle / USEC_PER_SEC);
	if (fd < 0 || idle == 0)
		return;
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, sec);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, sec < PROBES ? 1 : sec / PROBES);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
	if (patience == 0)
		return;
	/* For a peer that reads nothing the kernel counts the same time: it is twice the owner's own
	 * patience, so that the owner ends the connection first and says why. */
	idle = (usec)sec * USEC_PER_SEC;
	usec longest = 2 * (idle > patience ? idle : patience);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, (int)(longest / USEC_PER_MSEC));
}

void net_conn_keepalive(struct net_conn *c, usec idle, usec patience)
{
	if (c->is_tcp)
		net_keepalive(c->fd, idle, patience);
}
