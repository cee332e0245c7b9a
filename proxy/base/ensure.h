/* SPDX-License-Identifier: MIT */
/*
 * ensure(): an invariant of the program, checked in release builds too. A broken one is a bug in
 * this program, never a peer's fault. It prints where, lets the registered dumper describe the live
 * objects on standard error (using only write(2)), and aborts. The master restarts the worker.
 */
#ifndef PUSHGATE_BASE_ENSURE_H
#define PUSHGATE_BASE_ENSURE_H

#include <stddef.h>

#define ensure(condition)                                                                          \
	(__builtin_expect(!!(condition), 1)                                                        \
		? (void)0                                                                          \
		: ensure_failed(#condition, __FILE__, __LINE__, __func__))

_Noreturn void ensure_failed(
    const char *condition, const char *file, int line, const char *function);

/*
 * A dumper writes a description of `object` into buffer (at most size bytes) and returns its
 * length. It runs during a crash, so it must not allocate and must not trust what it reads. There
 * is one dumper: the worker registers itself; NULL removes it.
 */
void ensure_set_dumper(
    size_t (*dump)(const void *object, char *buffer, size_t size), const void *object);

#endif
