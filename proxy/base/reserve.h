/* SPDX-License-Identifier: MIT */
/*
 * Address space that a process keeps unused for the case that the system refuses memory (RLIMIT_AS, or no overcommit).
 * A refusal gives it back, so that present work can end in order, and tells the owner to use less. A refusal without
 * the reserve ends the process (memory.h).
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
/* Tells the owner of a refusal that was harmless: the reserve stays. */
void reserve_note_refusal(void);
/* Tells the owner of a refusal. True: memory has become free, try again. */
bool reserve_give_way(void);
/* There is no memory and no reserve: says so on standard error, and ends the process. */
_Noreturn void reserve_is_used_up(void);

#endif
