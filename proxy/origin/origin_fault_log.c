/* SPDX-License-Identifier: MIT */
/*
 * Counts the faults of origins by the fault's row and logs them; the error log limits the number of
 * lines per second.
 */
#include "proxy/origin/origin_private.h"

void origin_log_fault(const struct origin_conn *c, const char *what, const char *more)
{
	const struct worker_env *env = c->origins->env;
	const struct origin_server *s = c->pool->server;
	bool is_theirs = origin_is_of_a_client(s->origin);
	/* A kind of their own, so that they leave room for lines about other origins. */
	observe_log_fault(env->observe, is_theirs ? OBSERVE_INFO : OBSERVE_WARN,
	    is_theirs ? "a client's destination" : what, env->relay->now, "origin %s (%s): %s%s%s",
	    s->origin->conf->name, s->conf->text, what, more ? ": " : "", more ? more : "");
}

void origin_log_cut_response(const struct origin_conn *c)
{
	if (c->end != NET_END_ERROR)
		origin_log_fault(c, "closed the connection before a response was complete", NULL);
}

void origin_count_fault(void *context, const struct session_fault *fault, size_t index)
{
	const struct origins *u = context;
	struct observe_counters *c = u->env->observe->counters;
	c->faults[OBSERVE_ORIGIN][index]++;
	c->guard_up += session_fault_is_flood(fault);
}
