/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as what the tracing of others sends. The first byte chooses: a field traceparent, which is written again as
 * it was read; or the message of a worker, of which either nothing becomes, or JSON.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/http/traceparent.h"
#include "proxy/tracing/otlp.h"

#include <jansson.h>
#include <stdlib.h>

static void read_field(struct slice value)
{
	struct http_traceparent p, again;
	char text[HTTP_TRACEPARENT_BYTES];
	if (!http_traceparent_parse(value, &p))
		return;
	http_traceparent_write(&p, text);
	ensure(http_traceparent_parse(slice_of(text, sizeof(text)), &again));
	ensure(memcmp(p.trace_id, again.trace_id, sizeof(p.trace_id)) == 0);
	ensure(memcmp(p.span_id, again.span_id, sizeof(p.span_id)) == 0);
	ensure(p.flags == again.flags);
	/* All but version and flags is as it came. */
	ensure(memcmp(text + 3, value.ptr + 3, 49) == 0);
}

static void read_message(struct slice message)
{
	char *text = otlp_span(message);
	if (!text)
		return;
	json_t *span = json_loads(text, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	ensure(json_is_object(span) && json_is_array(json_object_get(span, "attributes")));
	json_decref(span);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct slice rest = slice_of(data + 1, size - 1);
	if (data[0] & 1)
		read_field(rest);
	else
		read_message(rest);
	return 0;
}
