/* SPDX-License-Identifier: MIT */
/*
 * Spares: objects of one size that have served and are kept for whoever wants the next one. They
 * come from malloc, and come back with undefined content. Whoever touches one that is kept is caught
 * under AddressSanitizer, as if it had been freed. How many are worth keeping shows in how few
 * were ever left.
 */
#ifndef PUSHGATE_BASE_SPARES_H
#define PUSHGATE_BASE_SPARES_H

#include "proxy/base/ensure.h"
#include "proxy/base/poison.h"
#include <stdint.h>
#include <stdlib.h>

struct spares {
	void *first;  /* the next one stands in its first bytes */
	size_t bytes; /* of each */
	uint32_t count, most;
	uint32_t least; /* that there were since spares_trim */
};

/* bytes: of each, at least a pointer's. */
static inline void spares_init(struct spares *s, size_t bytes, uint32_t most)
{
	ensure(bytes >= sizeof(void *));
	*s = (struct spares){.bytes = bytes, .most = most};
}

/* Yours; NULL when there is none. */
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

/* Takes it, unless there are enough: false, and it is still yours. */
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

/* Takes it for good. */
static inline void spares_keep_or_free(struct spares *s, void *object)
{
	if (!spares_keep(s, object))
		free(object);
}

/* Frees those that nobody needed since the last time. Returns their bytes. */
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
