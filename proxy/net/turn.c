/* SPDX-License-Identifier: MIT */
/*
 * Turns: how the connections share a loop pass. The first ready connection always has its turn; later ones have it
 * until the pass has taken NET_PASS_USEC. The others, and bytes that an owner has postponed, come first in the next
 * pass, in the order in which they were put off. So a pass ends soon, however much work the connections make.
 */
#include "proxy/net/net_conn.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"

/* Bytes that were read and postponed by the owner. */
struct net_postponed {
	struct budget *budget; /* borrows: pays for it; may be NULL */
	size_t length;
	uint8_t data[];
};

static size_t charge_of(size_t length)
{
	return sizeof(struct net_postponed) + length;
}

/* The clock is read after so much work, which is that of some usual requests. */
#define LOOK_BYTES 16384u

/* Once true in a loop pass, it stays true. */
static bool is_over_time(struct net_loop *l)
{
	if (l->worked_bytes < LOOK_BYTES)
		return false;
	if (clock_monotonic() - l->now >= NET_PASS_USEC)
		return true;
	l->worked_bytes = 0;
	return false;
}

void net_worked(struct net_loop *l, size_t bytes)
{
	l->worked_bytes += bytes;
}

static RARE bool takes_too_long(struct net_loop *l)
{
	return l->turns_pass == l->pass && is_over_time(l);
}

bool net_turns_are_over(struct net_loop *l)
{
	return l->worked_bytes >= LOOK_BYTES && takes_too_long(l);
}

static RARE bool put_off(struct net_conn *c)
{
	net_conn_schedule_recheck(c);
	return false;
}

bool net_conn_has_turn(struct net_conn *c)
{
	struct net_loop *l = c->loop;
	if (list_is_linked(&c->recheck))
		return false;
	if (net_turns_are_over(l))
		return put_off(c);
	l->turns_pass = l->pass;
	/* A handshake, and the requests that wait for a new connection, may take long. */
	if (c->phase != NET_PHASE_OPEN)
		l->worked_bytes += LOOK_BYTES;
	return true;
}

static RARE bool keep(struct net_conn *c, const uint8_t *bytes, size_t length)
{
	if (!is_over_time(c->loop) || (c->budget && !budget_take(c->budget, charge_of(length))))
		return false;
	ensure(!c->postponed && length > 0);
	struct net_postponed *p = memory_alloc(charge_of(length));
	p->budget = c->budget;
	p->length = length;
	memcpy(p->data, bytes, length);
	c->postponed = p;
	net_conn_schedule_recheck(c);
	return true;
}

bool net_conn_postpone(struct net_conn *c, const struct chunk *chunk, size_t offset, size_t length)
{
	return c->loop->worked_bytes >= LOOK_BYTES && keep(c, chunk->data + offset, length);
}

void net_conn_drop_postponed(struct net_conn *c)
{
	struct net_postponed *p = c->postponed;
	if (!p)
		return;
	if (p->budget)
		budget_give(p->budget, charge_of(p->length));
	free(p);
	c->postponed = NULL;
}

bool net_conn_deliver_postponed(struct net_conn *c)
{
	struct net_postponed *p = c->postponed;
	if (!p)
		return true;
	struct chunk *chunk = net_loop_read_chunk(c->loop);
	if (!chunk) {
		net_conn_wait_for_chunk(c);
		return false;
	}
	size_t length = p->length;
	memcpy(chunk->data, p->data, length);
	net_conn_drop_postponed(c);
	net_conn_deliver(c, length);
	return net_conn_reads_on(c) && net_conn_has_turn(c);
}
