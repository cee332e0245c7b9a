/* SPDX-License-Identifier: MIT */
/* The spans that wait for the collector, as JSON: a ring with bounds in their number and in their bytes. */
#include "proxy/process/tracer.h"

#include "proxy/base/memory.h"

bool tracer_queue_add(struct tracer_queue *q, char *text)
{
	size_t bytes = strlen(text);
	if (q->count == TRACER_SPANS_MOST || q->bytes + bytes > TRACER_BYTES_MOST) {
		free(text);
		return false;
	}
	q->texts[(q->first + q->count++) % TRACER_SPANS_MOST] = text;
	q->bytes += bytes;
	return true;
}

static const char *text_at(const struct tracer_queue *q, uint32_t i)
{
	return q->texts[(q->first + i) % TRACER_SPANS_MOST];
}

char *tracer_queue_join(const struct tracer_queue *q, const char *begin, const char *end,
    size_t *length, uint32_t *spans)
{
	size_t size = strlen(begin) + strlen(end) + 1;
	uint32_t n = 0;
	for (; n < q->count && n < TRACER_BATCH_SPANS; n++) {
		size_t more = strlen(text_at(q, n)) + 1;
		if (n > 0 && size + more > TRACER_BATCH_BYTES)
			break;
		size += more;
	}
	char *all = memory_alloc(size), *at = stpcpy(all, begin);
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			*at++ = ',';
		at = stpcpy(at, text_at(q, i));
	}
	at = stpcpy(at, end);
	*length = (size_t)(at - all);
	*spans = n;
	return all;
}

void tracer_queue_drop(struct tracer_queue *q, uint32_t spans)
{
	for (uint32_t i = 0; i < spans; i++) {
		char *text = q->texts[q->first];
		q->bytes -= strlen(text);
		free(text);
		q->first = (q->first + 1) % TRACER_SPANS_MOST;
	}
	q->count -= spans;
}
