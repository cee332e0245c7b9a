/* SPDX-License-Identifier: MIT */
/*
 * Graceful ends: sends the unsent bytes, then close_notify and FIN. After net_conn_finish the owner
 * keeps the connection and goes on reading. After net_conn_close the connection reads and discards
 * for a short while, because closing a socket with unread bytes makes the kernel send a RST that may
 * destroy our last bytes (RFC 9112 9.6); this is bounded in time and bytes.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/net_conn.h"
#include <errno.h>

/* Time for the unsent bytes: at most one batch, which is 16 KiB for a slow peer. */
#define DRAIN_USEC (15 * USEC_PER_SEC)
#define LINGER_USEC USEC_PER_SEC

static void wait_in(struct net_conn *c, struct list *where, usec span)
{
	struct net_loop *l = c->loop;
	c->deadline = l->now + span;
	list_remove(&c->owner_link);
	list_append(where, &c->owner_link);
	if (c->deadline < l->closing.deadline)
		net_timer_set(&l->closing, c->deadline);
}

/* Both lists are in the order of their deadlines. */
static usec expire(struct net_loop *l, struct list *where)
{
	struct net_conn *c;
	while ((c = list_first(where, struct net_conn, owner_link))) {
		if (c->deadline > l->now)
			return c->deadline;
		net_conn_die(c);
	}
	return USEC_NEVER;
}

void net_closing_expired(void *loop)
{
	struct net_loop *l = loop;
	usec draining = expire(l, &l->draining), lingering = expire(l, &l->lingering);
	net_timer_set(&l->closing, draining < lingering ? draining : lingering);
}

bool net_is_closing(const struct net_loop *l)
{
	return !list_is_empty(&l->draining) || !list_is_empty(&l->lingering);
}

bool net_closing_free_descriptor(struct net_loop *l)
{
	struct net_conn *c = list_first(&l->lingering, struct net_conn, owner_link);
	if (!c)
		c = list_first(&l->draining, struct net_conn, owner_link);
	if (c)
		net_conn_die(c);
	return c != NULL;
}

void net_conn_finish(struct net_conn *c)
{
	ensure(c->ops != NULL);
	if (c->sending != NET_SENDING_OPEN || c->phase == NET_PHASE_FAILED)
		return;
	c->sending = NET_SENDING_ENDING;
	if (c->phase == NET_PHASE_OPEN)
		net_conn_queue(c);
	else
		c->wants_flush = true;
}

void net_conn_finish_step(struct net_conn *c)
{
	if (c->phase != NET_PHASE_OPEN || c->unsent)
		return;
	if (c->layer.ssl && !c->has_sent_close_notify)
		net_conn_tls_close_notify(c);
	if (c->phase != NET_PHASE_OPEN || c->unsent)
		return;
	c->sending = NET_SENDING_ENDED;
	if (net_sys_shutdown(c->fd, SHUT_WR) != 0)
		net_conn_end_errno(c, NET_END_ERROR, "shutdown", errno);
}

void net_conn_close_step(struct net_conn *c)
{
	struct net_loop *l = c->loop;
	if (c->unsent) {
		net_conn_arm(c);
		return;
	}
	if (c->layer.ssl && c->phase == NET_PHASE_DRAINING && !c->has_sent_close_notify) {
		net_conn_tls_close_notify(c);
		if (c->phase == NET_PHASE_DEAD || c->unsent)
			return;
	}
	bool has_fin = c->sending == NET_SENDING_ENDED;
	if (c->is_eof || (!has_fin && net_sys_shutdown(c->fd, SHUT_WR) != 0)) {
		net_conn_die(c);
		return;
	}
	c->phase = NET_PHASE_LINGERING;
	c->discarded_bytes = 0;
	wait_in(c, &l->lingering, LINGER_USEC);
	net_conn_arm(c);
}

void net_conn_discard(struct net_conn *c)
{
	struct net_loop *l = c->loop;
	ssize_t n = net_sys_recv(c->fd, l->input.bytes, NET_INPUT_BYTES, 0);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	if (n > 0)
		c->discarded_bytes += (uint32_t)n;
	bool is_lingering = c->phase == NET_PHASE_LINGERING;
	if (n < 0 || (is_lingering && (n == 0 || c->discarded_bytes > NET_DISCARD_BYTES))) {
		net_conn_die(c);
		return;
	}
	/* While our own bytes are unsent, the peer may be silent or end its side. */
	if (n == 0)
		c->is_eof = true;
	net_conn_arm(c);
}

void net_conn_close(struct net_conn *c)
{
	ensure(c->ops != NULL);
	bool has_words = (c->phase == NET_PHASE_OPEN && c->sending != NET_SENDING_BROKEN) ||
			 (c->phase == NET_PHASE_FAILED && c->has_alerted);
	c->ops = NULL;
	net_conn_drop_postponed(c);
	net_unsent_charge(c, &c->loop->closing_budget);
	if (!has_words) {
		net_conn_die(c);
		return;
	}
	if (c->phase == NET_PHASE_OPEN)
		c->phase = NET_PHASE_DRAINING;
	free(c->pending_input);
	c->pending_input = NULL;
	list_remove(&c->recheck);
	wait_in(c, &c->loop->draining, DRAIN_USEC);
	net_conn_arm(c);
	net_conn_queue(c);
}

void net_conn_abort(struct net_conn *c)
{
	ensure(c->ops != NULL);
	net_conn_die(c);
}

void net_conn_reset(struct net_conn *c)
{
	ensure(c->ops != NULL);
	net_conn_forbid_fin(c);
	net_conn_die(c);
}
