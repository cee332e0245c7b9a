/* SPDX-License-Identifier: MIT */
/*
 * Spans as a collector takes them: the JSON form of OTLP 1 (https://opentelemetry.io/docs/specs/otlp/), in which ids are
 * hexadecimal, enumerations are numbers, and numbers of 64 bits are strings. Of one request to the collector:
 *
 *     otlp_begin, then the spans with a comma between them, then OTLP_END
 */
#ifndef PUSHGATE_TRACING_OTLP_H
#define PUSHGATE_TRACING_OTLP_H

#include "proxy/base/slice.h"

/* What all spans of a pushgate have in common. */
struct otlp_resource {
	const char *service, *version, *host;
};

/* The text is the caller's to free. */
char *otlp_begin(const struct otlp_resource *r);
#define OTLP_END "]}]}]}"
/* Makes an object of a message (span.h), which is the caller's to free. NULL: the message is malformed. */
char *otlp_span(struct slice message);

#endif
