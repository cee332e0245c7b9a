/* SPDX-License-Identifier: MIT */
/*
 * Files that a configuration names and that have changed while it has not. Certificates, keys and authorities go to the
 * workers that run: their clients notice nothing. Lists and bodies are part of the loaded configuration, and so need
 * another generation.
 */
#include "proxy/base/sealed.h"
#include "proxy/process/master.h"

enum renewal_change renewal_compare(const struct conf *now, const struct conf *next)
{
	if (next->digest != now->digest)
		return RENEWAL_OF_CONFIGURATION;
	if (next->lists_digest != now->lists_digest)
		return RENEWAL_OF_LISTS;
	if (sealed_digest(next->sealed, 0) != sealed_digest(now->sealed, 0))
		return RENEWAL_OF_CERTIFICATES;
	return RENEWAL_OF_NOTHING;
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
