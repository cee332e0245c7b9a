/* SPDX-License-Identifier: MIT */
/* Which trace a request belongs to, and whether it is recorded. */
#include "proxy/tracing/tracing_private.h"

#include "proxy/base/memory.h"

#include <endian.h>

/* tracing-ratio counts in these. */
#define RATIO_WHOLE 10000u

struct tracing *tracing_new(const struct worker_env *env, struct budget *budget)
{
	struct tracing *t = memory_new(struct tracing);
	t->env = env;
	t->budget = budget;
	t->numbers = unique_new();
	return t;
}

void tracing_free(struct tracing *t)
{
	free(t);
}

/* ---- ids ---- */

/* Zeros are no id. */
static inline uint64_t next_id(struct tracing *t)
{
	uint64_t number = unique_next(&t->numbers);
	/* uncovered: one number of 2^64 is 0 */
	return number ? number : unique_next(&t->numbers);
}

void tracing_make_span_id(struct tracing *t, uint8_t id[HTTP_SPAN_ID_BYTES])
{
	const uint64_t number = next_id(t);
	memcpy(id, &number, sizeof(number));
}

/* Of a new trace, with its first span: half of an id that nothing else has is no other span's id. */
static void make_ids(struct tracing *t, struct tracing_part *part)
{
	const uint64_t numbers[] = {next_id(t), unique_next(&t->numbers)};
	memcpy(part->trace_id, numbers, sizeof(numbers));
	memcpy(part->span_id, numbers, sizeof(numbers[0]));
}

/* By the last 56 bits of the trace id, which are random (Trace Context, level 2): programs that choose by the same bits
 * choose the same traces. */
static bool is_chosen(const uint8_t trace_id[HTTP_TRACE_ID_BYTES], uint32_t ratio)
{
	uint64_t last;
	memcpy(&last, trace_id + HTTP_TRACE_ID_BYTES - sizeof(last), sizeof(last));
	uint64_t random = be64toh(last) & ((UINT64_C(1) << 56) - 1);
	return random <
	       (UINT64_C(1) << 56) / RATIO_WHOLE * ratio + (ratio == RATIO_WHOLE) * RATIO_WHOLE;
}

/* ---- requests ---- */

static bool follows(const struct tracing *t, const struct exchange *x)
{
	switch (t->env->conf->server.tracing.parent) {
	case CONF_TRACING_TRUSTED:
		return conf_listen_trusts(x->facts.listener, &x->facts.peer);
	case CONF_TRACING_FOLLOW:
		return true;
	case CONF_TRACING_IGNORE:
		return false;
	}
	return false;
}

static void record(struct tracing *t, struct exchange *x, enum span_kind kind,
    const struct http_traceparent *parent, bool is_remote)
{
	struct tracing_part *part = tracing_part(x);
	struct tracing_record *r = tracing_record_new(t, x, kind);
	if (!r)
		return;
	part->record = r;
	if (!parent)
		return;
	memcpy(span_head_of(&r->span)->parent_id, parent->span_id, HTTP_SPAN_ID_BYTES);
	span_head_of(&r->span)->has_remote_parent = is_remote;
}

/* A client that is not followed cannot choose what is recorded: its request begins a trace of its own, with a link to the
 * client's span. */
static void begin_trace(
    struct tracing *t, struct exchange *x, const struct http_traceparent *theirs)
{
	struct tracing_part *part = tracing_part(x);
	make_ids(t, part);
	part->flags = HTTP_TRACE_RANDOM;
	part->is_restart = true;
	if (!is_chosen(part->trace_id, t->env->conf->server.tracing.ratio))
		return;
	part->flags |= HTTP_TRACE_SAMPLED;
	record(t, x, SPAN_SERVER, NULL, false);
	if (part->record && theirs)
		span_link(&part->record->span, theirs);
}

void tracing_begin(struct tracing *t, struct exchange *x)
{
	struct tracing_part *part = tracing_part(x);
	struct http_traceparent parent;
	if (x->facts.listener->mode != CONF_MODE_GATEWAY)
		return;
	bool has_parent = http_traceparent_of(x->request, &parent);
	bool is_followed = has_parent && follows(t, x);
	part->is_known = true;
	if (is_followed) {
		memcpy(part->trace_id, parent.trace_id, HTTP_TRACE_ID_BYTES);
		memcpy(part->span_id, parent.span_id, HTTP_SPAN_ID_BYTES);
		part->flags = parent.flags;
		if (!(parent.flags & HTTP_TRACE_SAMPLED))
			return; /* the origin gets the field as it came */
	}
	part->is_ours = true;
	if (!is_followed) {
		begin_trace(t, x, has_parent ? &parent : NULL);
		return;
	}
	tracing_make_span_id(t, part->span_id);
	record(t, x, SPAN_SERVER, &parent, true);
}

void tracing_begin_push(struct tracing *t, struct exchange *push)
{
	const struct tracing_part *page = tracing_part(push->pushed.parent);
	struct tracing_part *part = tracing_part(push);
	if (!page->is_known)
		return;
	*part = *page;
	part->record = NULL;
	part->is_ours = true;
	if (!page->record)
		return; /* a request of ours for it has the parent that the page's has */
	struct http_traceparent parent;
	memcpy(parent.span_id, page->span_id, HTTP_SPAN_ID_BYTES);
	tracing_make_span_id(t, part->span_id);
	record(t, push, SPAN_INTERNAL, &parent, false);
}

void tracing_read_ids(const struct exchange *x, struct http_traceparent *ids)
{
	const struct tracing_part *part = tracing_part(x);
	memcpy(ids->trace_id, part->trace_id, HTTP_TRACE_ID_BYTES);
	memcpy(ids->span_id, part->span_id, HTTP_SPAN_ID_BYTES);
	ids->flags = part->flags;
}
