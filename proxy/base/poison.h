/* SPDX-License-Identifier: MIT */
/*
 * Marks memory that is allocated but not in use: the unused part of an arena, spare objects of a
 * pool. AddressSanitizer then reports every access to it. In other builds these functions do
 * nothing.
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

/* Accessing these bytes is an error from now on. */
static inline void poison(const void *p, size_t bytes)
{
#ifdef POISON_IS_SEEN
	__asan_poison_memory_region(p, bytes);
#else
	(void)p, (void)bytes;
#endif
}

/* The bytes are in use again. */
static inline void unpoison(const void *p, size_t bytes)
{
#ifdef POISON_IS_SEEN
	__asan_unpoison_memory_region(p, bytes);
#else
	(void)p, (void)bytes;
#endif
}

/* For tests: whether AddressSanitizer would report an access to this byte. */
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
