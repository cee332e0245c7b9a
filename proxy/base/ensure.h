/* SPDX-License-Identifier: MIT */
/*
 * ensure(): an invariant of ours, checked in release too. A false one is our own bug, never a
 * peer's fault: it prints where, lets the registered dumpers describe the live objects to
 * standard error (only write(2) is used), and aborts. The master starts the worker again.
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
 * length. It runs in the crash, so it may allocate nothing and must distrust what it reads.
 * One dumper at a time: the worker registers itself; NULL takes it back.
 */
void ensure_set_dumper(
    size_t (*dump)(const void *object, char *buffer, size_t size), const void *object);

#endif
