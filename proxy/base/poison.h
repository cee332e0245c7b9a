/* SPDX-License-Identifier: MIT */
/*
 * Memory that has been taken and yet belongs to nobody: what an arena has not given out, objects
 * that a pool keeps. AddressSanitizer sees no end of a piece and no end of a life in there unless it
 * is told; in other builds these do nothing.
 */
#ifndef PUSHGATE_BASE_POISON_H
#define PUSHGATE_BASE_POISON_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define POISON_IS_SEEN
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define POISON_IS_SEEN
#endif

#ifdef POISON_IS_SEEN
#include <sanitizer/asan_interface.h>
#endif

/* From now on nobody may touch these bytes. */
static inline void poison(const void *p, size_t bytes)
{
#ifdef POISON_IS_SEEN
	__asan_poison_memory_region(p, bytes);
#else
	(void)p, (void)bytes;
#endif
}

/* They have an owner again. */
static inline void unpoison(const void *p, size_t bytes)
{
#ifdef POISON_IS_SEEN
	__asan_unpoison_memory_region(p, bytes);
#else
	(void)p, (void)bytes;
#endif
}

/* For tests: is touching this byte a fault that is seen? */
static inline bool poison_is_at(const void *p)
{
#ifdef POISON_IS_SEEN
	return __asan_address_is_poisoned(p);
#else
	(void)p;
	return false;
#endif
}

#endif
