/* SPDX-License-Identifier: MIT */
/* See reserve.h. There is one reserve: a failing allocation has no other way to find it. */
#include "proxy/base/reserve.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
	void *space; /* NULL: none, or it was given back */
	void (*scarce)(void *context);
	void *context;
} reserve;

void reserve_open(void (*scarce)(void *context), void *context)
{
	reserve.scarce = scarce;
	reserve.context = context;
	(void)reserve_refill();
}

static void give_back(void)
{
	if (reserve.space)
		munmap(reserve.space, RESERVE_BYTES);
	reserve.space = NULL;
}

void reserve_close(void)
{
	give_back();
	reserve.scarce = NULL;
}

bool reserve_refill(void)
{
	if (reserve.space)
		return true;
	/* Writable, so that it counts where the system promises no more memory than it has. */
	void *space =
	    mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	reserve.space = space == MAP_FAILED ? NULL : space;
	return reserve.space != NULL;
}

void reserve_note_refusal(void)
{
	if (reserve.scarce)
		reserve.scarce(reserve.context);
}

bool reserve_give_way(void)
{
	bool had = reserve.space != NULL;
	give_back();
	reserve_note_refusal();
	return had;
}

_Noreturn void reserve_is_used_up(void)
{
	static const char text[] = "pushgate: out of memory: the system gives no more; allow the "
				   "process more (ulimit -v, LimitAS= of systemd) "
				   "or set a lower memory\n";
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(EXIT_FAILURE);
}
