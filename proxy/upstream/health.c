/* SPDX-License-Identifier: MIT */
/* Ejects servers whose requests fail, lets them return, and puts together what is known of a server's health. */
#include "proxy/upstream/health_check.h"

enum server_state health_state(const struct server *s)
{
	if (s->at.conf->is_down || s->order != SERVER_READY)
		return SERVER_DOWN;
	if (s->at.is_leaving)
		return SERVER_LEAVING;
	if (s->health.ejection.until > 0)
		return SERVER_EJECTED;
	return s->health.check_fails ? SERVER_FAILING : SERVER_UP;
}

/* ---- what counts ---- */

void health_report_failure(const struct exchange *x, const struct relay_cause *cause)
{
	struct server *s = given_server(x);
	bool counts = s && s->at.counts_answers && !exchange_is_push(x) && !exchange_is_tunnel(x);
	bool is_whole = x->download.source_ended && x->response.answered_by == ANSWERED_BY_ORIGIN;
	if (counts && !is_whole && cause->is_server_failure)
		health_report(s, HEALTH_FAILED);
}

/* ---- in use or not ---- */

/* A server that is used again begins with little (slow start). */
static void has_changed(struct server *s, usec now)
{
	if (health_state(s) == SERVER_UP)
		s->member.joined = now;
	destination_changed(s->destination);
}

void health_set_checked(struct server *s, bool fails)
{
	if (s->health.check_fails == fails)
		return;
	s->health.check_fails = fails;
	has_changed(s, s->destination->upstream->env->relay->now);
}

/* ---- the health table ---- */

/* Several lines of an origin may lead to one address: for the other workers and for status that is one server. */
static struct server *sharer(const struct server *s)
{
	list_for_each(&s->destination->servers, other, struct server, link)
	{
		if (other != s && other->health.entry && other->member.key == s->member.key)
			return other;
	}
	return NULL;
}

static void join_health_table(struct server *s)
{
	struct worker_env *env = s->destination->upstream->env;
	if (!env->health_table || s->health.entry)
		return;
	const struct server *other = sharer(s);
	s->health.entry = other
			      ? other->health.entry
			      : health_table_join(env->health_table, env->observe->worker,
				    s->member.key, s->destination->origin.conf->index, s->at.text);
}

static void leave_health_table(struct server *s)
{
	struct worker_env *env = s->destination->upstream->env;
	struct server_entry *e = s->health.entry;
	if (!e)
		return;
	if (!sharer(s))
		server_entry_leave(e, env->observe->worker);
	else if (s->health.ejection.until > 0)
		server_entry_return(e, env->observe->worker);
	s->health.entry = NULL;
}

/* The results are not published. */
static void say_that_health_table_is_full(const struct server *s, const char *consequence)
{
	struct worker_env *env = s->destination->upstream->env;
	if (env->health_table && !s->health.entry)
		observe_log_fault(env->observe, OBSERVE_WARN, "the health table is full",
		    env->relay->now, "origin %s: server %s is one too many for status%s",
		    s->destination->origin.conf->name, s->at.text, consequence);
}

/* ---- ejection ---- */

/* At most a share of the servers, so that a defect of all of them, or of what counts as failure, leaves some. */
static bool may_be_ejected(const struct destination *d)
{
	size_t servers = d->server_count - d->leaving_count - d->down_count - d->ordered_count;
	return servers > 1 && (d->ejected_count == 0 || (d->ejected_count + 1) * 100 <=
							    servers * d->origin.conf->eject.most);
}

/* "5 failures in a row". */
static void say_verdict(
    const struct ejection *e, enum server_verdict verdict, char *text, size_t size)
{
	uint32_t all = e->answers_in_window + e->failures_in_window;
	switch (verdict) {
	case SERVER_FAILED_IN_A_ROW:
		snprintf(text, size, "%u failures in a row", e->failures);
		break;
	case SERVER_FAILED_CONNECTS:
		snprintf(text, size, "%u failed connects in a row", e->failed_connects);
		break;
	case SERVER_FAILED_OFTEN:
		snprintf(text, size, "%u of %u requests failed", e->failures_in_window, all);
		break;
	case SERVER_STAYS:
	case SERVER_FAILED_AGAIN:
		snprintf(text, size, "%s", server_verdict_text(verdict));
		break;
	}
}

/* Until the time that the ejection says. */
static void put_out_of_use(struct server *s, enum server_verdict verdict, usec now)
{
	struct worker_env *env = s->destination->upstream->env;
	const struct ejection *e = &s->health.ejection;
	s->destination->ejected_count++;
	if (s->health.entry) {
		server_entry_eject(s->health.entry, env->observe->worker, e->until, verdict);
		server_entry_note_length(s->health.entry, e->length);
	}
	wheel_set(worker_wheel(env), &s->health.timer, e->until);
	has_changed(s, now);
}

static void eject(struct server *s, enum server_verdict verdict, usec now)
{
	struct worker_env *env = s->destination->upstream->env;
	const struct conf_origin *o = s->destination->origin.conf;
	struct ejection *e = &s->health.ejection;
	char why[64];
	say_verdict(e, verdict, why, sizeof(why));
	ejection_begin(e, &o->eject, now);
	observe_log_fault(env->observe, OBSERVE_WARN, "ejections", now,
	    "origin %s: server %s is ejected for %llu s: %s", o->name, s->at.text,
	    (unsigned long long)(e->length / USEC_PER_SEC), why);
	WORKER_COUNT(env, server_ejections, 1);
	join_health_table(s);
	say_that_health_table_is_full(s, "");
	put_out_of_use(s, verdict, now);
}

static void resume_ejection(struct server *s, usec now)
{
	struct ejection *e = &s->health.ejection;
	const struct conf_eject *rules = &s->destination->origin.conf->eject;
	usec most = rules->time_max > rules->time ? rules->time_max : rules->time;
	usec length, until = server_entry_kept(s->health.entry, &length);
	/* Another process may have written there what it should not. */
	if (until > now + most)
		until = now + most;
	if (length > most)
		length = most;
	bool is_over = until <= now;
	if (until == 0 || e->until > 0 || e->length > 0 || !s->at.counts_answers ||
	    (!is_over && !may_be_ejected(s->destination)))
		return;
	ejection_resume(e, until, length, now);
	if (!is_over)
		put_out_of_use(s, (enum server_verdict)atomic_load(&s->health.entry->verdict), now);
}

/* When all servers are there: which share of them may be ejected depends on their number. */
void health_resume(struct destination *d)
{
	list_for_each(&d->servers, s, struct server, link)
	{
		if (s->health.target)
			health_target_read(s->health.target);
		if (s->health.entry && !s->at.is_leaving)
			resume_ejection(s, d->upstream->env->relay->now);
	}
}

static void come_back(struct wheel_node *timer, usec now)
{
	struct server *s = container_of(timer, struct server, health.timer);
	struct worker_env *env = s->destination->upstream->env;
	ejection_end(&s->health.ejection, now);
	s->destination->ejected_count--;
	if (s->order == SERVER_READY) /* else it is not used */
		observe_log_fault(env->observe, OBSERVE_INFO, "returns of servers", now,
		    "origin %s: server %s is used again", s->destination->origin.conf->name,
		    s->at.text);
	if (s->health.entry)
		server_entry_return(s->health.entry, env->observe->worker);
	has_changed(s, now);
}

void health_report(struct server *s, enum health_result result)
{
	/* What an order has done says nothing of the server. */
	if (!s->at.counts_answers || s->order != SERVER_READY)
		return;
	usec now = s->destination->upstream->env->relay->now;
	enum server_verdict verdict =
	    ejection_count(&s->health.ejection, &s->destination->origin.conf->eject, result, now);
	if (verdict != SERVER_STAYS && may_be_ejected(s->destination))
		eject(s, verdict, now);
}

void health_report_answer(struct origin_server *at, unsigned status)
{
	bool is_failure = conf_statuses_have(&at->origin->conf->eject.failure_status, status);
	health_report(server_above(at), is_failure ? HEALTH_FAILED : HEALTH_ANSWERED);
}

/* ---- life ---- */

void health_init(struct server *s)
{
	const struct destination *d = s->destination;
	const struct conf_origin *o = d->origin.conf;
	bool is_checked = o->check.kind != CONF_CHECK_OFF && s->at.address->length > 0;
	s->health = (struct server_health){0};
	s->at.counts_answers = conf_origin_may_eject(o);
	wheel_node_init(&s->health.timer, come_back);
	if (s->at.conf->is_down)
		return;
	if (is_checked || s->at.counts_answers)
		join_health_table(s);
	if (is_checked) {
		say_that_health_table_is_full(s, ", and each worker checks it");
		health_target_open(s);
	}
}

void health_fini(struct server *s)
{
	if (s->health.target)
		health_target_close(s);
	leave_health_table(s);
	if (s->health.ejection.until > 0)
		s->destination->ejected_count--;
	s->health.ejection.until = 0;
	s->at.counts_answers = false;
	wheel_forget(worker_wheel(s->destination->upstream->env), &s->health.timer);
}
