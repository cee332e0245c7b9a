/* SPDX-License-Identifier: MIT */
/* Flow-control arithmetic (RFC 9113 6.9). conn_data.c and conn_send.c send the WINDOW_UPDATEs. */
#include "proxy/h2/flow.h"
#include "proxy/base/ensure.h"
#include "proxy/h2/frame.h"

bool h2_outflow_shift(struct h2_outflow *f, int64_t by)
{
	if (f->window + by > H2_WINDOW_MAX)
		return false;
	f->window += by;
	return true;
}

void h2_inflow_init(struct h2_inflow *f, uint32_t size)
{
	ensure(size <= H2_WINDOW_MAX);
	*f = (struct h2_inflow){.window = size, .size = size};
}

bool h2_inflow_take(struct h2_inflow *f, uint32_t bytes)
{
	if (bytes > 0 && bytes > f->window)
		return false;
	f->window -= bytes;
	return true;
}

static uint32_t announce(struct h2_inflow *f)
{
	uint32_t increment = (uint32_t)f->owed;
	f->window += f->owed;
	f->owed = 0;
	ensure(f->window <= f->size);
	return increment;
}

uint32_t h2_inflow_give(struct h2_inflow *f, uint32_t bytes)
{
	f->owed += bytes;
	return f->owed > 0 && f->owed * 2 >= f->size ? announce(f) : 0;
}

void h2_inflow_shift(struct h2_inflow *f, int64_t by)
{
	f->window += by;
	f->size += by;
}

uint32_t h2_inflow_grow(struct h2_inflow *f, uint32_t size)
{
	ensure(size <= H2_WINDOW_MAX);
	if (size <= f->size)
		return 0;
	f->owed += size - f->size;
	f->size = size;
	return announce(f);
}
