/* SPDX-License-Identifier: MIT */
/*
 * The tables of limits (admission/limit_table.h) in memory that the workers of several generations share: worker 0 of
 * each, worker 1, and so on. So no reload gives a client its burst once more. The master makes the memory and looks at
 * nothing in it.
 */
#ifndef PUSHGATE_PROCESS_LIMIT_MEMORIES_H
#define PUSHGATE_PROCESS_LIMIT_MEMORIES_H

#include "proxy/admission/admission.h"

/* Of one table of one worker. */
struct limit_shared {
	uint32_t generations; /* that use it */
	size_t bytes;
	void *memory; /* NULL: in this child it is unmapped */
	bool is_kept; /* a child's mark */
};

struct limit_memories {
	struct admission_table *tables; /* owned */
	size_t count;
	uint32_t workers, lane;
	struct limit_shared *
	    *all;        /* owned, `count` for each worker; NULL: not needed, or no memory for it */
	void **memories; /* owned: the same as admission.memories has it */
};

/* False: there was not memory for all. The workers then have tables of their own. */
bool limit_memories_open(struct limit_memories *l, const struct conf *conf, uint32_t workers);
void limit_memories_close(struct limit_memories *l);
/* Uses the memory of `from` where the tables are the same. */
void limit_memories_take(struct limit_memories *l, const struct limit_memories *from);
/* Those of one table of one worker, for another process. */
struct limit_buckets {
	uint32_t worker;
	uint64_t identity; /* struct admission_table */
	struct slice bytes;
};
/* Of number n. False: there are not so many. */
bool limit_memories_at(const struct limit_memories *l, size_t n, struct limit_buckets *buckets);
/* A sealed memory file of them, or -1. */
int limit_memories_save(const struct limit_buckets *buckets);
/* Copies such a file into the table of that worker, if there is one that is the same. It is new: nothing is open there. */
void limit_memories_fill(struct limit_memories *l, uint32_t worker, uint64_t identity, int fd);
/* Of this worker; lent as long as l is. */
void *const *limit_memories_of(const struct limit_memories *l, uint32_t worker);
/* The worker has ended: it has nothing open any more. */
void limit_memories_clear(const struct limit_memories *l, uint32_t worker);
/* In a child: marks what this worker needs; then unmaps what l has and what is not marked. */
void limit_memories_mark(const struct limit_memories *l, uint32_t worker);
void limit_memories_leave(const struct limit_memories *l);

#endif
