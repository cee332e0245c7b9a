/* SPDX-License-Identifier: MIT */
/*
 * The memory of pages at a reload and at an upgrade. Its owner sends the master whole copies, as sealed memory files of
 * which the master reads nothing. The next generation begins with the last one, and gets one more before it takes over.
 */
#include "proxy/base/descriptor.h"
#include "proxy/process/master.h"
#include <fcntl.h>

/* A copy of the largest memory takes the files process half a second. */
#define PATIENCE_USEC (2 * USEC_PER_SEC)

void generation_begin_remembered(struct generation *g)
{
	int last = g->master->start->remembered;
	if (last >= 0 && conf_remembers(g->outfit.conf))
		files_contents_set(&g->contents, files_memory_object(g->outfit.conf),
		    fcntl(last, F_DUPFD_CLOEXEC, 0));
}

/* False: the files process does not remember, is down, or does not read. */
static bool tell(const struct generation *g, enum message_kind kind, int fd)
{
	const struct message message = {.kind = kind};
	const struct control *control = &g->helpers[HELPER_FILES].control;
	return conf_remembers(g->outfit.conf) && control->is_ready &&
	       control_tell(control, &message, fd);
}

void master_ask_for_remembered(struct master *m)
{
	m->remembered_until = 0;
	if (conf_remembers(m->coming->outfit.conf) && tell(m->running, MESSAGE_HAND_REMEMBERED, -1))
		m->remembered_until = m->now + PATIENCE_USEC;
}

bool master_has_remembered(struct master *m)
{
	if (m->now < m->remembered_until)
		return false;
	if (m->remembered_until > 0)
		observe_log(&m->observe, OBSERVE_WARN,
		    "reload: the newest of what is remembered of pages is not handed on: the files "
		    "process has not told in time");
	m->remembered_until = 0;
	return true;
}

void generation_keep_remembered(struct generation *g)
{
	struct master *m = g->master;
	int copy = g->contents.fds[files_memory_object(g->outfit.conf)];
	if (g != m->running || copy < 0)
		return;
	descriptor_close(&m->start->remembered);
	m->start->remembered = fcntl(copy, F_DUPFD_CLOEXEC, 0);
	if (m->remembered_until == 0 || !m->coming)
		return;
	m->remembered_until = 0;
	generation_begin_remembered(m->coming);
	(void)tell(m->coming, MESSAGE_TAKE_REMEMBERED, copy);
}
