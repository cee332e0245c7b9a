/* SPDX-License-Identifier: MIT */
/*
 * Files that a configuration names and that have changed while it has not: certificates, keys and authorities; lists,
 * bodies and passwords. They go to the workers that run: their clients notice nothing. What else depends on a changed
 * file needs another generation.
 */
#include "proxy/base/sealed.h"
#include "proxy/process/master.h"

unsigned renewal_compare(const struct conf *now, const struct conf *next)
{
	unsigned change = 0;
	if (next->digest != now->digest)
		return RENEWAL_OF_CONFIGURATION;
	if (next->lists_digest != now->lists_digest)
		change |= conf_lists_may_change(now, next) ? RENEWAL_OF_LISTS : RENEWAL_OF_MORE;
	if (sealed_digest(next->sealed, 0) != sealed_digest(now->sealed, 0))
		change |= RENEWAL_OF_CERTIFICATES;
	return change;
}

void master_watch_files(struct master *m)
{
	struct conf *conf = m->running->outfit.conf;
	if (!file_watch_run(&m->files, conf->named_files, conf->named_file_count, m->now))
		return;
	observe_log(
	    &m->observe, OBSERVE_INFO, "reload: watch-files has seen that files have changed");
	m->reload_is_due = m->reload_is_of_files = true;
}
