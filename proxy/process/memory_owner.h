/* SPDX-License-Identifier: MIT */
/*
 * Keeps the memory of pages for the process that owns it: when it is copied for processes that begin later, when it is
 * written into its file, and what `status` shows. The files process owns it; in single mode the only process does.
 */
#ifndef PUSHGATE_PROCESS_MEMORY_OWNER_H
#define PUSHGATE_PROCESS_MEMORY_OWNER_H

#include "proxy/process/files_memory.h"

struct memory_owner {
	struct remembered
	    *memory; /* borrowed; NULL: no [preload NAME] section remembers, and nothing happens */
	const char *path;                /* of its file; NULL: none */
	struct observe *observe;         /* borrowed */
	struct observe_remembered *rows; /* shared memory */
	bool has_others;                 /* copies are made for other processes too */
	uint32_t round;
	usec looked_at, copied_at, saved_at;
	/* What these had: remembered_taken, remembered_changes. */
	uint64_t copied_taken, copied_changes, saved_taken;
};

/* Begins with the copy, or (-1) with the file. False: it could not be used, which is logged. */
bool memory_owner_begin(struct memory_owner *o, int copy, usec now);
/* Every few seconds. Returns a new copy, or -1. The caller closes it. */
int memory_owner_tend(struct memory_owner *o, usec now);
/* A copy of what is there now. */
int memory_owner_copy(struct memory_owner *o, usec now);
/* Writes what has been taken since the file was written. */
void memory_owner_end(struct memory_owner *o, usec now);

#endif
