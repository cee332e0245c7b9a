/* SPDX-License-Identifier: MIT */
/*
 * How many connections that carry one request at a time a busy pool uses. Each connection in use costs
 * system calls and cache; 32 of them to an origin that answers within a millisecond carry 32,000
 * requests a second, and 96 more make each request dearer and none earlier. While requests wait
 * although the queue moves fast, the pool tries with few connections, and now and then with twice as
 * many: it keeps the smaller number unless the queue moves slower with it. A queue that moves slowly
 * has no such bound.
 */
#include "proxy/origin/origin_private.h"

/* Measured over this time, in which some request always waited. */
#define WINDOW_USEC ((usec)30000)
/* Faster than this, the origin's response time is not what the requests wait for. */
#define FAST_PER_SECOND 8000u
#define FEW_CONNECTIONS 32u
/* More connections are worth it if they make the queue faster by three tenths. */
#define GAIN_PERCENT 130u
#define TRY_EVERY_USEC (10 * USEC_PER_SEC)

/* Where connections multiplex, and where each is for one exchange, nothing is bounded here. */
static bool applies(const struct pool *p)
{
	return p->kind == POOL_PLAIN && (p->known->capabilities & SESSION_MULTIPLEXES) == 0;
}

/* Those of slow uploads have nothing to do most of the time. */
static uint32_t busy_connections(const struct pool *p)
{
	uint32_t busy = p->count - p->connecting - p->usable_count;
	return busy > p->slow.open ? busy - p->slow.open : 0;
}

static void measure_again(struct pool *p, usec now)
{
	p->pace.since = now;
	p->pace.sent = 0;
	if (p->pace.bound > 0)
		wheel_set(worker_wheel(p->origins->env), &p->pace.timer, now + WINDOW_USEC);
}

static bool is_gain(uint64_t more, uint64_t fewer)
{
	return more * 100 >= fewer * GAIN_PERCENT;
}

static void end_trial(struct pool_pace *pace, uint32_t bound, usec now)
{
	pace->bound = bound;
	pace->trial = POOL_TRIAL_NONE;
	pace->try_after = now + TRY_EVERY_USEC;
}

static void conclude_trial(struct pool_pace *pace, uint64_t per_second, usec now)
{
	if (pace->trial == POOL_TRIAL_FEWER)
		end_trial(pace, is_gain(pace->per_second, per_second) ? 0 : pace->bound, now);
	else if (!is_gain(per_second, pace->per_second))
		end_trial(pace, pace->bound / 2, now);
	else
		pace->trial = POOL_TRIAL_NONE; /* and the next one at once */
}

static void try_bound(
    struct pool_pace *pace, enum pool_trial trial, uint32_t bound, uint64_t per_second)
{
	pace->per_second = per_second;
	pace->bound = bound;
	pace->trial = trial;
	pace->is_settling = true;
}

static void conclude(struct pool *p, uint64_t per_second, usec now)
{
	struct pool_pace *pace = &p->pace;
	if (pace->is_settling) {
		pace->is_settling = false;
		return;
	}
	if (pace->trial != POOL_TRIAL_NONE)
		conclude_trial(pace, per_second, now);
	if (per_second < FAST_PER_SECOND) {
		pace->bound = 0;
		pace->trial = POOL_TRIAL_NONE;
	} else if (pace->trial == POOL_TRIAL_NONE && now >= pace->try_after) {
		if (pace->bound == 0 && busy_connections(p) <= FEW_CONNECTIONS)
			pace->bound = FEW_CONNECTIONS;
		else if (pace->bound == 0)
			try_bound(pace, POOL_TRIAL_FEWER, FEW_CONNECTIONS, per_second);
		else if (pace->bound < p->conf->max_http1_connections)
			try_bound(pace, POOL_TRIAL_MORE, pace->bound * 2, per_second);
	}
}

void pool_pace_update(struct pool *p)
{
	usec now = p->origins->env->relay->now, spent = now - p->pace.since;
	if (!applies(p)) {
		p->pace.bound = 0; /* the origin has changed its protocol */
		return;
	}
	if (p->pace.since == 0 || spent < WINDOW_USEC)
		return;
	conclude(p, p->pace.sent * (uint64_t)USEC_PER_SEC / (uint64_t)spent, now);
	measure_again(p, now);
}

void pool_pace_queue_began(struct pool *p)
{
	measure_again(p, p->origins->env->relay->now);
}

void pool_pace_queue_ended(struct pool *p)
{
	p->pace.since = 0;
}

/* A retry asks for a connection that has carried nothing: it is never held up here. */
bool pool_pace_allows(const struct pool *p, const struct exchange *x)
{
	return p->pace.bound == 0 || busy_connections(p) < p->pace.bound || exchange_was_retried(x);
}

uint32_t pool_pace_bound(const struct pool *p, const struct exchange *first, uint32_t most)
{
	uint32_t bound = p->pace.bound > 0 ? p->pace.bound + p->slow.open : 0;
	if (bound == 0 || bound >= most)
		return most;
	if (first && exchange_was_retried(first) && p->connecting == 0 && p->count >= bound)
		return p->count < most ? p->count + 1 : most;
	return bound;
}
