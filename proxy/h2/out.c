/* SPDX-License-Identifier: MIT */
/* The control output queue: a byte queue. conn_send.c writes the frames. */
#include "proxy/h2/out.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

void h2_out_init(struct h2_out *o, struct budget *budget)
{
	*o = (struct h2_out){.budget = budget};
}

static void set_capacity(struct h2_out *o, size_t capacity)
{
	size_t charge = capacity > H2_OUT_BASE ? capacity - H2_OUT_BASE : 0;
	budget_adjust(o->budget, &o->charged, charge);
	o->capacity = capacity;
}

void h2_out_fini(struct h2_out *o)
{
	set_capacity(o, 0);
	free(o->data);
	o->data = NULL;
	o->start = o->end = o->provoked = 0;
}

/* Of two sizes alone, so that malloc finds one that fits. */
static size_t first_capacity(const struct h2_out *o, size_t n)
{
	return o->usual + n > H2_OUT_SMALL ? H2_OUT_BASE : H2_OUT_SMALL;
}

uint8_t *h2_out_reserve(struct h2_out *o, size_t n)
{
	if (o->capacity - o->end >= n)
		return o->data + o->end;
	if (o->start > 0) {
		memmove(o->data, o->data + o->start, h2_out_length(o));
		o->end -= o->start;
		o->start = 0;
	}
	if (o->capacity - o->end < n) {
		size_t capacity = o->capacity ? o->capacity : first_capacity(o, n);
		while (capacity - o->end < n)
			capacity *= 2;
		o->data = memory_resize(o->data, capacity, 1);
		set_capacity(o, capacity);
	}
	return o->data + o->end;
}

void h2_out_taken(struct h2_out *o, size_t n)
{
	ensure(n <= h2_out_length(o));
	o->start += n;
	if (o->provoked > h2_out_length(o))
		o->provoked = h2_out_length(o);
	if (o->start < o->end)
		return;
	o->usual = n;
	o->start = o->end = 0;
}

void h2_out_trim(struct h2_out *o, bool is_idle)
{
	bool is_large = o->capacity > 4 * H2_OUT_BASE; /* after a burst */
	if (o->capacity > 0 && (is_idle || is_large) && o->start == o->end)
		h2_out_fini(o);
}
