/* SPDX-License-Identifier: MIT */
/*
 * Titles of processes in ps(1), top(1) and pgrep(1) -f: "pushgate: worker 0". The title is written over
 * the arguments and, if it is longer, over the environment, which is moved away before.
 */
#ifndef PUSHGATE_PROCESS_TITLE_H
#define PUSHGATE_PROCESS_TITLE_H

#include <stddef.h>

struct title {
	char *at; /* the memory of the arguments and the environment; NULL = there is no title */
	size_t room;
};

/*
 * Finds the memory; without /proc there is none. Call it once, before a pointer to an argument or to a
 * variable of the environment is kept.
 */
void title_init(struct title *t);
void title_set(const struct title *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
