/* SPDX-License-Identifier: MIT */
/* Which trace a request belongs to, and whether it is recorded. */
#include "proxy/tracing/tracing_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"

#include <endian.h>

/* tracing-ratio counts in these. */
#define RATIO_WHOLE 10000u

struct tracing *tracing_new(const struct worker_env *env, struct budget *budget)
{
	struct tracing *t = memory_new(struct tracing);
	t->env = env;
	t->budget = budget;
	return t;
}

void tracing_free(struct tracing *t)
{
	free(t);
}

/* ---- ids ---- */

/* Never 0: zeros are no id. */
static uint64_t draw(struct tracing *t)
{
	uint64_t random = 0;
	while (random == 0) {
		if (t->random_left == 0) {
			hash_random(t->random, sizeof(t->random));
			t->random_left = TRACING_RANDOM_WORDS;
		}
		random = t->random[--t->random_left];
	}
	return random;
}

void tracing_make_span_id(struct tracing *t, uint8_t id[HTTP_SPAN_ID_BYTES])
{
	uint64_t random = draw(t);
	memcpy(id, &random, sizeof(random));
}

static void make_trace_id(struct tracing *t, uint8_t id[HTTP_TRACE_ID_BYTES])
{
	const uint64_t random[] = {draw(t), draw(t)};
	memcpy(id, random, sizeof(random));
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
		return conf_listen_trusts(x->facts.listener, &x->facts.client);
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
	make_trace_id(t, part->trace_id);
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
	tracing_make_span_id(t, part->span_id);
	if (is_followed)
		record(t, x, SPAN_SERVER, &parent, true);
	else
		begin_trace(t, x, has_parent ? &parent : NULL);
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
