/* SPDX-License-Identifier: MIT */
/*
 * access-recheck at a reload: gives each worker of older generations a socket to a worker of the running one, which
 * judges its tunnels (recheck.h). The master reads nothing of what they say.
 */
#include "proxy/process/master.h"
#include <sys/socket.h>
#include <unistd.h>

/* A worker that does not read its messages is told later. */
#define AGAIN_USEC (100 * USEC_PER_MSEC)

static bool connect_judge(const struct control *older, const struct control *judge)
{
	static const struct message ask = {.kind = MESSAGE_RECHECK},
				    answer = {.kind = MESSAGE_JUDGE};
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	/* If one message is not sent, the other worker sees the end of its socket. */
	bool is_sent = control_tell(judge, &answer, pair[1]) && control_tell(older, &ask, pair[0]);
	close(pair[0]);
	close(pair[1]);
	return is_sent;
}

/* Returns when to call it again. */
static usec run_worker(const struct generation *g, uint32_t index)
{
	const struct generation *running = g->master->running;
	struct worker_slot *slot = &g->workers[index];
	const struct child *judge = &running->workers[index % running->outfit.workers].child;
	bool has_judge =
	    slot->judge_generation == running->number && slot->judge_starts == judge->starts;
	/* When a worker becomes READY, this is called. */
	if (slot->child.control.socket < 0 || !judge->control.is_ready || has_judge)
		return USEC_NEVER;
	if (!connect_judge(&slot->child.control, &judge->control))
		return g->master->now + AGAIN_USEC;
	slot->judge_generation = running->number;
	slot->judge_starts = judge->starts;
	return USEC_NEVER;
}

/* The running configuration judges nothing: neither does one of before any more. */
static usec dismiss_judge(const struct generation *g, uint32_t index)
{
	static const struct message end = {.kind = MESSAGE_RECHECK};
	struct worker_slot *slot = &g->workers[index];
	if (slot->judge_generation == 0 || slot->child.control.socket < 0)
		return USEC_NEVER;
	if (!control_tell(&slot->child.control, &end, -1))
		return g->master->now + AGAIN_USEC;
	slot->judge_generation = 0;
	return USEC_NEVER;
}

usec generation_run_recheck(const struct generation *g)
{
	usec next = USEC_NEVER;
	if (!g->is_superseded || g->phase != GENERATION_DRAINING || g == g->master->running)
		return USEC_NEVER;
	bool rechecks = g->master->running->outfit.conf->server.access_recheck;
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		next = clock_earlier(next, rechecks ? run_worker(g, i) : dismiss_judge(g, i));
	return next;
}
