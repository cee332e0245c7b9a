/* SPDX-License-Identifier: MIT */
/*
 * How many connections that carry one request at a time a busy pool uses. Each connection in use costs
 * system calls and cache; 32 of them to an origin that answers within a millisecond carry 32,000
 * requests a second, and 96 more make each request dearer and none earlier. While requests wait
 * although the queue moves fast, the pool uses a few connections, and tries twice as many now and
 * then: it keeps them if the queue moves faster with them. A queue that moves slowly has no such bound.
 */
#include "proxy/upstream/private.h"

/* Measured over this time, in which some request always waited. */
#define WINDOW_USEC ((usec)30000)
/* Faster than this, the origin's response time is not what the requests wait for. */
#define FAST_PER_SECOND 8000u
#define FEW_CONNECTIONS 32u
/* Twice as many are worth it if they make the queue faster by a tenth. */
#define GAIN_PERCENT 110u
#define PROBE_EVERY_USEC (10 * USEC_PER_SEC)

static void measure_again(struct pool *p, usec now)
{
	p->pace.since = now;
	p->pace.sent = 0;
	if (p->pace.bound > 0)
		wheel_set(worker_wheel(p->upstream->env), &p->pace.timer, now + WINDOW_USEC);
}

static void probe(struct pool *p, uint64_t per_second)
{
	p->pace.per_second = (uint32_t)per_second;
	p->pace.bound *= 2;
	p->pace.is_probing = true;
}

static void judge(struct pool *p, uint64_t per_second, usec now)
{
	struct pool_pace *pace = &p->pace;
	if (per_second < FAST_PER_SECOND) {
		pace->bound = 0;
		pace->is_probing = false;
	} else if (pace->bound == 0) {
		pace->bound = FEW_CONNECTIONS;
	} else if (pace->is_probing &&
		   per_second * 100 < (uint64_t)pace->per_second * GAIN_PERCENT) {
		pace->bound /= 2;
		pace->is_probing = false;
		pace->probe_after = now + PROBE_EVERY_USEC;
	} else if (pace->bound >= p->origin->max_http1_connections) {
		pace->is_probing = false;
	} else if (pace->is_probing || now >= pace->probe_after) {
		probe(p, per_second);
	}
}

void pool_pace_update(struct pool *p)
{
	usec now = p->upstream->env->relay->now, spent = now - p->pace.since;
	if (p->pace.since == 0 || spent < WINDOW_USEC)
		return;
	judge(p, p->pace.sent * (uint64_t)USEC_PER_SEC / (uint64_t)spent, now);
	measure_again(p, now);
}

static void may_judge(struct wheel_node *node, usec now)
{
	struct pool *p = container_of(node, struct pool, pace.timer);
	(void)now;
	worker_now(p->upstream->env);
	if (pool_is_waiting(p))
		pool_serve(p);
}

void pool_pace_init(struct pool *p)
{
	wheel_node_init(&p->pace.timer, may_judge);
}

void pool_pace_fini(struct pool *p)
{
	wheel_forget(worker_wheel(p->upstream->env), &p->pace.timer);
}

void pool_pace_queue_began(struct pool *p)
{
	measure_again(p, p->upstream->env->relay->now);
}

void pool_pace_queue_ended(struct pool *p)
{
	p->pace.since = 0;
}

/* A retry asks for a connection that has carried nothing: it is never held up here. */
bool pool_pace_allows(const struct pool *p, const struct exchange *x)
{
	uint32_t busy = p->count - p->connecting - p->usable_count;
	return p->pace.bound == 0 || busy < p->pace.bound || exchange_was_retried(x);
}

uint32_t pool_pace_bound(const struct pool *p, uint32_t most)
{
	return p->pace.bound == 0 || p->pace.bound > most ? most : p->pace.bound;
}
