/* SPDX-License-Identifier: MIT */
/* See memory_owner.h. */
#include "proxy/process/memory_owner.h"

#include "proxy/base/descriptor.h"
#include <errno.h>
#include <string.h>

/* The file is written so often, and changes that time has made are looked for. Counts of offers get into a copy then. */
#define SAVE_USEC (60 * USEC_PER_SEC)
/* What is told has changed: a process that begins soon should have it. */
#define COPY_USEC (10 * USEC_PER_SEC)

bool memory_owner_begin(struct memory_owner *o, int copy, usec now)
{
	char error[512];
	bool is_good = true;
	if (o->memory && copy >= 0)
		is_good = files_memory_map(o->memory, copy, now, error, sizeof(error));
	else if (o->memory && o->path)
		is_good = files_memory_read(o->memory, o->path, now, error, sizeof(error));
	if (!is_good)
		observe_log(o->observe, OBSERVE_WARN, "remembered: %s", error);
	if (!o->memory)
		return true;
	/* Copies get what was read. */
	remembered_look(o->memory, now);
	if (copy >= 0)
		o->copied_changes = remembered_changes(o->memory);
	o->looked_at = o->saved_at = now;
	files_memory_show(o->memory, o->rows, now);
	return is_good;
}

int memory_owner_copy(struct memory_owner *o, usec now)
{
	o->copied_at = now;
	o->copied_taken = remembered_taken(o->memory);
	o->copied_changes = remembered_changes(o->memory);
	int copy = files_memory_copy(o->memory, ++o->round, now);
	if (copy < 0)
		observe_log(
		    o->observe, OBSERVE_ERROR, "cannot make a memory file: %s", strerror(errno));
	return copy;
}

static void save(struct memory_owner *o, int copy, usec now)
{
	char error[512];
	o->saved_at = now;
	if (files_memory_save(o->path, copy, error, sizeof(error)))
		o->saved_taken = o->copied_taken;
	else
		observe_log(o->observe, OBSERVE_WARN, "remembered: %s", error);
}

static bool wants_save(const struct memory_owner *o)
{
	return o->path && remembered_taken(o->memory) != o->saved_taken;
}

/* Nothing was copied yet, or not for so long. */
static bool is_due(usec last, usec pause, usec now)
{
	return last == 0 || now - last >= pause;
}

static bool wants_copy(const struct memory_owner *o, usec now)
{
	if (!o->has_others)
		return false;
	if (remembered_changes(o->memory) != o->copied_changes)
		return is_due(o->copied_at, COPY_USEC, now);
	return remembered_taken(o->memory) != o->copied_taken &&
	       is_due(o->copied_at, SAVE_USEC, now);
}

int memory_owner_tend(struct memory_owner *o, usec now)
{
	if (!o->memory)
		return -1;
	if (is_due(o->looked_at, SAVE_USEC, now)) {
		o->looked_at = now;
		remembered_look(o->memory, now);
	}
	files_memory_show(o->memory, o->rows, now);
	bool saves = wants_save(o) && is_due(o->saved_at, SAVE_USEC, now);
	if (!saves && !wants_copy(o, now))
		return -1;
	int copy = memory_owner_copy(o, now);
	if (saves && copy >= 0)
		save(o, copy, now);
	return copy;
}

void memory_owner_end(struct memory_owner *o, usec now)
{
	if (!o->memory || !wants_save(o))
		return;
	int copy = memory_owner_copy(o, now);
	if (copy >= 0)
		save(o, copy, now);
	descriptor_close(&copy);
}
