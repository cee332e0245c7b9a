/* SPDX-License-Identifier: MIT */
/*
 * Reading. Connections read into the loop's chunk and have no read buffer of their own. A loop pass
 * reads at most LIMIT_READ_PER_PASS_BYTES from each socket that has its turn (turn.c); the poll is
 * level-triggered, so the next pass reads more. When the pool has no free chunk, the bytes wait in the socket.
 */
#include "proxy/limits.h"
#include "proxy/net/net_conn.h"
#include <errno.h>

/* The interval between tries to get a chunk. */
#define CHUNK_RETRY_USEC (10 * USEC_PER_MSEC)

void net_conn_pause_reading(struct net_conn *c, enum net_pause reason)
{
	unsigned before = c->pauses;
	c->pauses = (uint8_t)(before | reason);
	if (before == 0 && c->phase == NET_PHASE_OPEN)
		net_conn_arm(c);
}

void net_conn_resume_reading(struct net_conn *c, enum net_pause reason)
{
	unsigned before = c->pauses;
	c->pauses = (uint8_t)(before & ~(unsigned)reason);
	if (before == 0 || !net_conn_can_read(c))
		return;
	net_conn_arm(c);
	/* Bytes that were read from the socket already cause no event. */
	if (c->postponed || c->pending_input || c->has_close_notify || net_bio_has_input(c))
		net_conn_schedule_recheck(c);
}

bool net_conn_is_paused(const struct net_conn *c)
{
	return c->pauses != 0;
}

void net_conn_deliver(struct net_conn *c, size_t length)
{
	struct chunk *chunk = c->loop->read_chunk;
	c->loop->worked_bytes += length;
	c->ops->received(c->owner, chunk, 0, length);
}

void net_conn_wait_for_chunk(struct net_conn *c)
{
	struct net_loop *l = c->loop;
	net_conn_pause_reading(c, NET_PAUSE_CHUNK);
	list_remove(&c->recheck);
	list_append(&l->waiting_for_chunk, &c->recheck);
	if (l->chunk_retry.deadline == USEC_NEVER)
		net_timer_set(&l->chunk_retry, l->now + CHUNK_RETRY_USEC);
}

void net_chunk_retry_expired(void *loop)
{
	struct net_loop *l = loop;
	struct net_conn *c;
	while ((c = list_first(&l->waiting_for_chunk, struct net_conn, recheck))) {
		list_remove(&c->recheck);
		net_conn_resume_reading(c, NET_PAUSE_CHUNK);
	}
}

/* A failed send has taken the socket's error, so a reset looks like a FIN here. It was one if the send
 * failed with EPIPE: then the FIN had come before the reset. */
static void peer_ended(struct net_conn *c)
{
	if (c->send_errno == ECONNRESET)
		net_conn_end_errno(c, NET_END_ERROR, "write", c->send_errno);
	else
		net_conn_end(c, NET_END_EOF, "closed by the peer");
}

static void read_plain(struct net_conn *c)
{
	struct net_loop *l = c->loop;
	size_t budget = LIMIT_READ_PER_PASS_BYTES;
	while (budget > 0 && net_conn_reads_on(c)) {
		struct chunk *chunk = net_loop_read_chunk(l);
		if (!chunk) {
			net_conn_wait_for_chunk(c);
			return;
		}
		size_t size = chunk->capacity < budget ? chunk->capacity : budget;
		ssize_t n = net_sys_recv(c->fd, chunk->data, size, 0);
		if (n > 0) {
			budget -= (size_t)n;
			net_conn_deliver(c, (size_t)n);
			/* A short read means that the socket is empty: wait for the next event. */
			if ((size_t)n < size)
				return;
		} else if (n == 0) {
			peer_ended(c);
			return;
		} else if (errno != EINTR) {
			if (errno != EAGAIN && errno != EWOULDBLOCK)
				net_conn_end_errno(c, NET_END_ERROR, "read", errno);
			return;
		}
	}
}

void net_conn_readable(struct net_conn *c)
{
	switch (c->phase) {
	case NET_PHASE_HANDSHAKE:
		if (!net_conn_has_turn(c))
			break;
		if (!c->layer.ssl)
			net_conn_tls_start(c);
		net_conn_tls_readable(c);
		break;
	case NET_PHASE_OPEN:
		if (!net_conn_can_read(c) || !net_conn_has_turn(c) ||
		    !net_conn_deliver_postponed(c))
			break;
		if (c->layer.ssl)
			net_conn_tls_readable(c);
		else
			read_plain(c);
		break;
	case NET_PHASE_DRAINING:
	case NET_PHASE_LINGERING:
		net_conn_discard(c);
		break;
	case NET_PHASE_CONNECTING:
	case NET_PHASE_FAILED:
	case NET_PHASE_DEAD:
		break;
	}
}
