/* SPDX-License-Identifier: MIT */
/*
 * What a process does when the system refuses memory (RLIMIT_AS, or no overcommit). It keeps some address space that
 * it does not use. At a refusal it gives that back and tries again, so that what is under way can be ended in order,
 * and tells its owner, who is to use less. A second refusal without the reserve is the end (memory.h).
 */
#ifndef PUSHGATE_BASE_RESERVE_H
#define PUSHGATE_BASE_RESERVE_H

#include <stdbool.h>
#include <stddef.h>

/* What one loop pass may still allocate while load is shed. No page of it is ever used. */
#define RESERVE_BYTES ((size_t)4 << 20)

/*
 * Makes the reserve of the process. scarce: called at each refusal, from within an allocation: it may note numbers,
 * and allocates and frees nothing.
 */
void reserve_open(void (*scarce)(void *context), void *context);
void reserve_close(void);
/* Makes the reserve again. True: it is there. */
bool reserve_refill(void);
/* A refusal that was harmless: the reserve stays. */
void reserve_note_refusal(void);
/* A refusal. True: memory has become free, try again. */
bool reserve_give_way(void);
/* There is no memory and no reserve: says so on standard error, and ends the process. */
_Noreturn void reserve_is_used_up(void);

#endif
