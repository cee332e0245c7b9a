/* SPDX-License-Identifier: MIT */
/* The bytes that wait in a flow, and its clocks: how the clocks begin, and how the bytes are dropped. */
#include "proxy/relay/relay_private.h"

void flow_drop_trailers(struct exchange *x, struct flow *f)
{
	if (!f->trailers)
		return;
	http_head_free(f->trailers);
	f->trailers = NULL;
	exchange_charge(x);
}

void flow_begin(struct flow *f, usec now)
{
	pace_begin(&f->given, now);
	pace_begin(&f->taken, now);
	f->filled = now;
}

void exchange_drop_body(struct exchange *x, struct flow *f)
{
	if (f == &x->download && x->payer.buffered)
		*x->payer.buffered -= f->body.bytes;
	if (f->body.bytes > 0)
		body_clear(&f->body, flow_budget(x, f));
	flow_drop_trailers(x, f);
}

void exchange_discard_upload(struct exchange *x)
{
	size_t bytes = x->upload.body.bytes + x->upload.owed;
	x->upload.state = FLOW_ABORTED;
	x->upload.owed = 0;
	exchange_drop_body(x, &x->upload);
	if (bytes > 0 && x->down.ops && !x->upload.source_ended)
		x->down.ops->credit(&x->down, bytes);
}
