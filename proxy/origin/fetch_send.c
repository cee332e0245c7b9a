/* SPDX-License-Identifier: MIT */
/* Sends the fetches that waited for their share of a server's room, and those that a request has claimed (fetches.c). */
#include "proxy/origin/origin_private.h"

/* A waiting request, fetch or not any more, is given to its pool, or to that without pushes if the server turned out
 * to have none. */
static void send_now(struct origin_server *s, struct exchange *x)
{
	struct pool *p = origin_attempt_of(x)->pool;
	if (s->known.protocol && (s->known.capabilities & SESSION_TAKES_PUSHES) == 0)
		p = origin_server_pool(s, POOL_PLAIN);
	pool_dispatch(p, x);
	if (!exchange_is_queued(x) && !exchange_is_over(x))
		origin_note_queued(x);
}

void fetches_send_due(struct wheel_node *node, usec now)
{
	const struct origin_fetches *f = container_of(node, struct origin_fetches, timer);
	struct origin_server *s = f->server;
	struct exchange *x;
	(void)now;
	worker_now(s->origin->origins->env);
	while (fetches_have_room(s) &&
	       (x = list_first(&f->waiting, struct exchange, waiting)) != NULL) {
		fetch_unqueue(x);
		fetch_begins(s, x);
		send_now(s, x);
	}
}

void origin_fetch_claimed(struct exchange *x, struct http_priority priority)
{
	struct origin_attempt *a = origin_attempt_of(x);
	enum origin_fetch_state state = fetch_state(x);
	if (state != ORIGIN_FETCH_WAITS && state != ORIGIN_FETCH_OPEN)
		return;
	struct origin_server *s = a->server;
	bool is_queued = exchange_is_queued(x);
	if (is_queued)
		origin_unqueue(x);
	if (state == ORIGIN_FETCH_OPEN) {
		s->fetches->open--;
		fetches_look_soon(s);
	}
	a->fetch.state = ORIGIN_FETCH_NONE;
	if (is_queued)
		send_now(s, x);
	else if (x->up.ops && x->timing.answered == 0) /* else it hardly matters any more */
		origin_leg_hurry(&x->up, priority);
}
