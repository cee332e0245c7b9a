/* SPDX-License-Identifier: MIT */
/*
 * Spares: freed objects of one size, kept for reuse. They were allocated with malloc; a reused
 * object has undefined content. AddressSanitizer reports an access to a kept object as if it had
 * been freed. spares_trim frees those that were not needed: the least number that was left since
 * the last call.
 */
#ifndef PUSHGATE_BASE_SPARES_H
#define PUSHGATE_BASE_SPARES_H

#include "proxy/base/ensure.h"
#include "proxy/base/poison.h"
#include <stdint.h>
#include <stdlib.h>

struct spares {
	void *first;  /* the first bytes of a spare point to the next one */
	size_t bytes; /* of each */
	uint32_t count, most;
	uint32_t least; /* lowest count since spares_trim */
};

/* bytes: the size of an object, at least that of a pointer. */
static inline void spares_init(struct spares *s, size_t bytes, uint32_t most)
{
	ensure(bytes >= sizeof(void *));
	*s = (struct spares){.bytes = bytes, .most = most};
}

/* Returns a spare object, which the caller then owns; NULL if there is none. */
static inline void *spares_take(struct spares *s)
{
	void *object = s->first;
	if (!object)
		return NULL;
	unpoison(object, s->bytes);
	s->first = *(void **)object; /* NOLINT(clang-analyzer-unix.Malloc): see list_remove */
	if (--s->count < s->least)
		s->least = s->count;
	return object;
}

/* Takes the object. False: there are enough spares, and the caller still owns it. */
static inline bool spares_keep(struct spares *s, void *object)
{
	if (s->count >= s->most)
		return false;
	*(void **)object = s->first;
	s->first = object;
	s->count++;
	poison(object, s->bytes);
	return true;
}

/* Takes the object: keeps it as a spare or frees it. */
static inline void spares_keep_or_free(struct spares *s, void *object)
{
	if (!spares_keep(s, object))
		free(object);
}

/* Frees the spares that were not needed since the last call. Returns their bytes. */
static inline size_t spares_trim(struct spares *s)
{
	uint32_t unneeded = s->least;
	for (uint32_t i = 0; i < unneeded; i++)
		free(spares_take(s));
	s->least = s->count;
	return unneeded * s->bytes;
}

static inline void spares_free(struct spares *s)
{
	for (void *object; (object = spares_take(s)) != NULL;)
		free(object);
}

#endif
