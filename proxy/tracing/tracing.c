/* SPDX-License-Identifier: MIT */
/* Which trace a request belongs to, and whether it is recorded. */
#include "proxy/tracing/tracing_private.h"

#include "proxy/base/memory.h"
#include "proxy/base/rare.h"

#include <endian.h>

/* tracing-ratio counts in these. */
#define RATIO_WHOLE 10000u

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

/* Of a new trace and its first span. One number is enough for both: no other trace and no other span of this worker has
 * it, and other workers have another first half. */
static inline void begin_ids(const struct tracing *t, uint64_t number, struct http_traceparent *ids)
{
	const uint64_t bytes = htobe64(number);
	memcpy(ids->trace_id, &t->first_half, sizeof(t->first_half));
	memcpy(ids->trace_id + sizeof(t->first_half), &bytes, sizeof(bytes));
	memcpy(ids->span_id, &bytes, sizeof(bytes));
	ids->flags = HTTP_TRACE_RANDOM;
}

/* By the last 56 bits of the trace id, which are random (Trace Context, level 2): programs that choose by the same bits
 * choose the same traces. */
#define RANDOM_END (UINT64_C(1) << 56)

static inline bool is_chosen(const struct tracing *t, uint64_t number)
{
	return number % RANDOM_END < t->chosen_end;
}

/* ---- the worker's ---- */

struct tracing *tracing_new(const struct worker_env *env, struct budget *budget)
{
	struct tracing *t = memory_new(struct tracing);
	t->env = env;
	t->budget = budget;
	t->numbers = unique_new();
	t->first_half = hash_random_seed();
	t->chosen_end = env->conf->server.tracing.ratio * (RANDOM_END / RATIO_WHOLE + 1);
	struct http_traceparent any;
	begin_ids(t, next_id(t), &any);
	http_traceparent_write(&any, t->unrecorded_text);
	t->unrecorded = tracing_field(t->unrecorded_text);
	return t;
}

void tracing_free(struct tracing *t)
{
	free(t);
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

static RARE void record_root(
    struct tracing *t, struct exchange *x, const struct http_traceparent *theirs)
{
	struct tracing_part *part = tracing_part(x);
	part->way = TRACING_BEGUN;
	part->ids.flags |= HTTP_TRACE_SAMPLED;
	record(t, x, SPAN_SERVER, NULL, false);
	if (part->record && theirs)
		span_link(&part->record->span, theirs);
}

/* A client that is not followed cannot choose what is recorded: its request begins a trace of its own, with a link to the
 * client's span. */
static inline void begin_trace(
    struct tracing *t, struct exchange *x, const struct http_traceparent *theirs)
{
	struct tracing_part *part = tracing_part(x);
	const uint64_t number = next_id(t);
	begin_ids(t, number, &part->ids);
	part->way = TRACING_UNRECORDED;
	if (is_chosen(t, number))
		record_root(t, x, theirs);
}

/* The request has fields of a trace. */
static RARE void begin_behind(struct tracing *t, struct exchange *x)
{
	struct tracing_part *part = tracing_part(x);
	struct http_traceparent parent;
	bool has_parent = http_traceparent_find(x->request, &parent);
	if (!has_parent || !follows(t, x)) {
		begin_trace(t, x, has_parent ? &parent : NULL);
		return;
	}
	part->ids = parent;
	part->way = parent.flags & HTTP_TRACE_SAMPLED ? TRACING_FOLLOWED : TRACING_PASSED;
	if (part->way == TRACING_PASSED)
		return;
	tracing_make_span_id(t, part->ids.span_id);
	record(t, x, SPAN_SERVER, &parent, true);
}

void tracing_begin(struct tracing *t, struct exchange *x)
{
	if (x->facts.listener->mode != CONF_MODE_GATEWAY)
		return;
	if (x->request->noted & HTTP_NOTED_TRACE)
		begin_behind(t, x);
	else
		begin_trace(t, x, NULL);
}

void tracing_begin_push(struct tracing *t, struct exchange *push)
{
	const struct tracing_part *page = tracing_part(push->pushed.parent);
	struct tracing_part *part = tracing_part(push);
	if (page->way == TRACING_NONE)
		return;
	*part = *page;
	part->record = NULL;
	if (page->way == TRACING_PASSED)
		part->way = TRACING_FOLLOWED; /* no field came with it that could pass */
	if (!page->record)
		return; /* a request of ours for it has the parent that the page's has */
	struct http_traceparent parent;
	memcpy(parent.span_id, page->ids.span_id, HTTP_SPAN_ID_BYTES);
	tracing_make_span_id(t, part->ids.span_id);
	record(t, push, SPAN_INTERNAL, &parent, false);
}
