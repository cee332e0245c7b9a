/* SPDX-License-Identifier: MIT */
/*
 * Counts the loop passes that took long, and logs the longest, at most one line a minute. A busy
 * machine can cause one too, so it is no warning: the time is that of a clock on the wall, not that of
 * the processor.
 */
#include "proxy/gateway/gateway_private.h"

#define LOG_INTERVAL_USEC (60 * USEC_PER_SEC)

void long_pass_report(void *context, usec took, const char *note)
{
	struct gateway *g = context;
	struct long_pass *l = &g->long_pass;
	usec now = net_now(g->env.loop);
	WORKER_COUNT(&g->env, loop_passes_over_5ms, 1);
	l->unlogged++;
	if (took > l->longest) {
		l->longest = took;
		l->note = note;
	}
	if (now < l->next_log)
		return;
	observe_log(g->env.observe, OBSERVE_INFO,
	    "a loop pass took %llu ms%s%s; since the last such line %u took longer than 5 ms, this "
	    "one longest",
	    (unsigned long long)(l->longest / USEC_PER_MSEC), l->note ? ": it " : "",
	    l->note ? l->note : "", l->unlogged);
	*l = (struct long_pass){.next_log = now + LOG_INTERVAL_USEC};
}
