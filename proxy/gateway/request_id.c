/* SPDX-License-Identifier: MIT */
/* Gives a request its id (X-Request-Id): one of its own, or that of a trusted program in front. */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/ascii.h"
#include "proxy/limits.h"

#define ID_BYTES 16u

/* It goes into fields and logs of other programs: none of these bytes means anything there. */
static bool is_plain(struct slice id)
{
	for (size_t i = 0; i < id.len; i++)
		if (!ascii_is(id.ptr[i], ASCII_ALNUM) && !strchr("-._~:+/=@", id.ptr[i]))
			return false;
	return id.len > 0 && id.len <= LIMIT_REQUEST_ID_BYTES;
}

/* The id that came; empty: there is none, or none that can be kept. */
static struct slice id_that_came(const struct exchange *x)
{
	const struct conf_listen *l = x->facts.listener;
	uint32_t count;
	const struct http_field *f =
	    http_head_find_last(x->request, HTTP_TOKEN_X_REQUEST_ID, &count);
	bool may_stay = l->request_id == CONF_REQUEST_ID_KEEP && f && count == 1 &&
			conf_listen_trusts(l, &x->facts.peer) && is_plain(f->value);
	return may_stay ? f->value : SLICE("");
}

void gateway_give_id(struct gateway *g, struct exchange *x)
{
	struct slice id = id_that_came(x);
	if (id.len == 0) {
		const uint64_t numbers[] = {
		    unique_next(&g->request_ids), unique_next(&g->request_ids)};
		_Static_assert(sizeof(numbers) == ID_BYTES, "all of it is written");
		char *text = arena_bytes(exchange_arena(x), 2 * ID_BYTES + 1);
		id = http_trace_id_write((const uint8_t *)numbers, ID_BYTES, text);
	}
	x->facts.request_id = id;
}
