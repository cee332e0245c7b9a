/* SPDX-License-Identifier: MIT */
/*
 * Counts the faults of clients by the fault's row and logs them; the error log limits the number of
 * lines per second. Also counts responses by status class.
 */
#include "proxy/client/client_private.h"

void client_log(const struct client_listener *l, const struct address *client, const char *what,
    const char *more)
{
	char text[64];
	struct worker_env *env = l->clients->env;
	observe_log_fault(env->observe, OBSERVE_INFO, what, env->relay->now,
	    "%s: client %s: %s%s%s", l->conf->name, address_format(client, text, sizeof(text)),
	    what, more ? ": " : "", more ? more : "");
}

void client_count_fault(void *context, const struct session_fault *fault, size_t index)
{
	const struct clients *clients = context;
	struct observe_counters *counters = clients->env->observe->counters;
	counters->faults[OBSERVE_CLIENT][index]++;
	counters->guard_down += session_fault_is_flood(fault);
	counters->streams_refused_memory += strcmp(fault->name, "no-memory-for-stream") == 0;
}

void client_count_status(struct clients *clients, uint16_t status)
{
	struct observe_counters *c = clients->env->observe->counters;
	uint64_t *const counters[] = {&c->responses_1xx, &c->responses_2xx, &c->responses_3xx,
	    &c->responses_4xx, &c->responses_5xx};
	if (status >= 100 && status < 600)
		++*counters[status / 100 - 1];
}

void client_refuse_protocol(struct client_conn *c, const char *what)
{
	WORKER_COUNT(c->clients->env, not_http2, 1);
	client_log_fault(c, what, NULL);
	c->is_closing = true;
	net_conn_dirty(c->net);
}
