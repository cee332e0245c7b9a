/* SPDX-License-Identifier: MIT */
/*
 * After which steps the invariants are walked: after each where tests run and inputs are replayed. Under a fuzzer after
 * one of some steps, and at the end: the walks would be most of its time, and what breaks once mostly stays broken.
 */
#ifndef PUSHGATE_TESTS_SELDOM_H
#define PUSHGATE_TESTS_SELDOM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef PUSHGATE_FUZZ
#define SELDOM_STEPS 16u
#else
#define SELDOM_STEPS 1u
#endif

/* Counts a step. True: the invariants are walked after this one. */
static inline bool seldom(uint32_t *steps)
{
	return ++*steps % SELDOM_STEPS == 0;
}

#endif
