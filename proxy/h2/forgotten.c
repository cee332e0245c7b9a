/* SPDX-License-Identifier: MIT */
/* Remembers the streams that this side has reset (RFC 9113 5.1). conn_send.c sends the PING. */
#include "proxy/h2/forgotten.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"

#include <string.h>

void h2_forgotten_fini(struct h2_forgotten *f)
{
	free(f->ids);
	*f = (struct h2_forgotten){0};
}

bool h2_forgotten_wants_ping(const struct h2_forgotten *f)
{
	/* uncovered: overflow means that some are not confirmed */
	return !f->ping_under_way && (f->count > f->confirmed || f->overflow);
}

void h2_forgotten_pinged(struct h2_forgotten *f)
{
	ensure(!f->ping_under_way);
	f->ping_under_way = true;
	f->sealed = f->count;
	f->overflow_sealed = f->overflow;
	f->overflow = false;
}

void h2_forgotten_ponged(struct h2_forgotten *f)
{
	ensure(f->ping_under_way);
	f->ping_under_way = false;
	f->overflow_sealed = false;
	f->confirmed = f->sealed;
}

/* Drops the oldest confirmed id. False: there is none. */
static bool drop_oldest(struct h2_forgotten *f)
{
	if (f->confirmed == 0)
		return false;
	f->count--;
	f->confirmed--;
	f->sealed--;
	memmove(f->ids, f->ids + 1, f->count * sizeof(*f->ids));
	return true;
}

void h2_forgotten_add(struct h2_forgotten *f, uint32_t id)
{
	if (f->count == LIMIT_REMEMBERED_RESETS && !drop_oldest(f)) {
		f->overflow = true;
		return;
	}
	if (f->count == f->capacity) {
		f->capacity = f->capacity ? f->capacity * 2 : 8;
		f->ids = memory_resize(f->ids, f->capacity, sizeof(*f->ids));
	}
	f->ids[f->count++] = id;
}

bool h2_forgotten_has(const struct h2_forgotten *f, uint32_t id)
{
	if (f->overflow || f->overflow_sealed)
		return true;
	for (uint32_t i = f->count; i-- > 0;)
		if (f->ids[i] == id)
			return true;
	return false;
}
