/* SPDX-License-Identifier: MIT */
/* See file_watch.h. */
#include "proxy/process/file_watch.h"

bool file_watch_run(struct file_watch *w, struct watched_file *files, size_t count, usec now)
{
	bool has_changed = false;
	if (now < w->look_at)
		return false;
	w->look_at = now + FILE_WATCH_USEC;
	for (size_t i = 0; i < count; i++)
		if (watched_file_has_changed(&files[i]))
			has_changed = true;
	uint32_t before = w->changes;
	w->changes = has_changed ? before + 1 : 0;
	if (before == 0 || (has_changed && before < FILE_WATCH_RESTLESS))
		return false;
	w->changes = 0;
	return true;
}
