/* SPDX-License-Identifier: MIT */
/* When servers are checked and by which worker, and what the results mean. */
#include "proxy/upstream/health_check.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"

/* How often a worker looks whether another has published something. */
#define HEALTH_TABLE_USEC (250 * USEC_PER_MSEC)
/* A lease lasts so many intervals: one that checks on time never loses it. */
#define LEASE_INTERVALS 3u

static struct worker_env *env_of(const struct health_target *t)
{
	return t->server->destination->upstream->env;
}

static const struct conf_check *rules_of(const struct health_target *t)
{
	return &t->server->destination->origin.conf->check;
}

static struct health_checks *checks_of(const struct health_target *t)
{
	return &t->server->destination->upstream->checks;
}

/* A random share of a time, so that checks of many servers and workers spread. */
static usec draw(const struct health_target *t, usec most)
{
	uint64_t n = ++checks_of(t)->draws;
	return most > 0 ? hash_bytes(env_of(t)->seed, &n, sizeof(n)) % most : 0;
}

/* ---- the health table ---- */

void health_target_read(struct health_target *t)
{
	struct server_entry *e = t->server->health.entry;
	if (e)
		health_set_checked(t->server, server_entry_check(e).state == SERVER_CHECK_FAILS);
}

static void read_health_table(struct wheel_node *timer, usec now)
{
	struct upstream *u = container_of(timer, struct upstream, checks.timer);
	uint32_t version = atomic_load(u->env->health_table->version);
	if (version != u->checks.seen)
		list_for_each(&u->checks.targets, t, struct health_target, link)
		    health_target_read(t);
	u->checks.seen = version;
	wheel_set(worker_wheel(u->env), timer, now + HEALTH_TABLE_USEC);
}

/* ---- results ---- */

static void change(struct health_target *t, enum server_check_state state, unsigned result)
{
	struct worker_env *env = env_of(t);
	struct server *s = t->server;
	const char *name = s->destination->origin.conf->name;
	char text[SERVER_CHECK_TEXT];
	server_check_text(result, text);
	if (state == SERVER_CHECK_FAILS)
		observe_log_fault(env->observe, OBSERVE_WARN, "failing checks", env->relay->now,
		    "origin %s: server %s fails its checks: %s, %u in a row", name, s->at.text,
		    text, t->failed);
	else if (s->health.check_fails)
		observe_log_fault(env->observe, OBSERVE_INFO, "passing checks", env->relay->now,
		    "origin %s: server %s passes its checks: %s, %u in a row", name, s->at.text,
		    text, t->passed);
	if (s->health.entry)
		server_entry_publish(env->health_table, s->health.entry,
		    (struct server_check){state, result, env->relay->now});
	health_set_checked(s, state == SERVER_CHECK_FAILS);
}

static bool passes(const struct conf_check *rules, unsigned result)
{
	return result == SERVER_CHECK_CONNECTED ||
	       (result >= SERVER_CHECK_STATUS && conf_statuses_have(&rules->statuses, result));
}

/* The last published state, and ours, are this one. */
static bool is_known(const struct health_target *t, enum server_check_state state)
{
	const struct server *s = t->server;
	bool is_published = !s->health.entry || server_entry_check(s->health.entry).state == state;
	return is_published && s->health.check_fails == (state == SERVER_CHECK_FAILS);
}

void health_target_done(struct health_target *t, unsigned result)
{
	struct worker_env *env = env_of(t);
	const struct conf_check *rules = rules_of(t);
	bool has_passed = passes(rules, result);
	t->passed = has_passed ? t->passed + 1 : 0;
	t->failed = has_passed ? 0 : t->failed + 1;
	WORKER_COUNT(env, health_checks, 1);
	WORKER_COUNT(env, health_checks_failed, !has_passed);
	/* A server of which nothing is known needs no second check to count as one that works. */
	bool was_failing = t->server->health.check_fails;
	if (t->failed >= rules->fall && !is_known(t, SERVER_CHECK_FAILS))
		change(t, SERVER_CHECK_FAILS, result);
	else if (has_passed && (t->passed >= rules->rise || !was_failing) &&
		 !is_known(t, SERVER_CHECK_PASSES))
		change(t, SERVER_CHECK_PASSES, result);
}

/* ---- times ---- */

static void begin(struct health_target *t)
{
	struct health_checks *c = checks_of(t);
	if (t->probe || list_is_linked(&t->waiting))
		return;
	if (c->running >= LIMIT_HEALTH_CHECKS) {
		list_append(&c->waiting, &t->waiting);
		return;
	}
	if (health_probe_begin(t))
		c->running++;
}

void health_target_free(struct health_target *t)
{
	struct health_checks *c = checks_of(t);
	t->probe = NULL;
	c->running--;
	struct health_target *next = list_first(&c->waiting, struct health_target, waiting);
	if (!next || t->server->destination->upstream->origins.is_closed)
		return;
	list_remove(&next->waiting);
	begin(next);
}

/* False: another worker has the lease, checks the server and publishes the results. */
static bool may_check(struct health_target *t, usec now)
{
	struct server_entry *e = t->server->health.entry;
	uint32_t worker = env_of(t)->observe->worker;
	usec until = now + LEASE_INTERVALS * rules_of(t)->interval;
	if (!e || server_entry_lease(e, worker, now, until))
		return true;
	t->passed = t->failed = 0;
	return false;
}

static void target_expired(struct wheel_node *timer, usec now)
{
	struct health_target *t = container_of(timer, struct health_target, timer);
	struct worker_env *env = env_of(t);
	usec interval = rules_of(t)->interval;
	if (env->is_draining) {
		if (t->server->health.entry)
			server_entry_unlease(t->server->health.entry, env->observe->worker);
		return;
	}
	wheel_set(worker_wheel(env), timer, now + interval - interval / 10 + draw(t, interval / 5));
	if (may_check(t, now))
		begin(t);
}

/* ---- life ---- */

void health_open(struct upstream *u)
{
	list_init(&u->checks.targets);
	list_init(&u->checks.waiting);
	wheel_node_init(&u->checks.timer, read_health_table);
}

void health_close(struct upstream *u)
{
	if (!u->checks.targets.next) /* the start has failed before it was opened */
		return;
	list_for_each(&u->checks.targets, t, struct health_target, link)
	{
		wheel_forget(worker_wheel(u->env), &t->timer);
		list_remove(&t->waiting);
		if (t->probe)
			health_probe_abort(t->probe);
	}
	wheel_forget(worker_wheel(u->env), &u->checks.timer);
}

void health_target_open(struct server *s)
{
	struct health_target *t = memory_new(struct health_target);
	struct upstream *u = s->destination->upstream;
	usec now = u->env->relay->now;
	t->server = s;
	s->health.target = t;
	list_init(&t->waiting);
	list_append(&u->checks.targets, &t->link);
	wheel_node_init(&t->timer, target_expired);
	wheel_set(worker_wheel(u->env), &t->timer, now + draw(t, rules_of(t)->interval / 5));
	health_target_read(t);
	if (s->health.entry && u->checks.timer.deadline == USEC_NEVER)
		wheel_set(worker_wheel(u->env), &u->checks.timer, now + HEALTH_TABLE_USEC);
}

void health_target_close(struct server *s)
{
	struct health_target *t = s->health.target;
	wheel_forget(worker_wheel(env_of(t)), &t->timer);
	list_remove(&t->waiting);
	list_remove(&t->link);
	if (t->probe)
		health_probe_abort(t->probe);
	s->health.target = NULL;
	free(t);
}
