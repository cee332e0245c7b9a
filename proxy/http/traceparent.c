/* SPDX-License-Identifier: MIT */
/* See traceparent.h. */
#include "proxy/http/traceparent.h"

/* In lower case alone (Trace Context 3.2.2.3). */
static int value_of(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static bool read_bytes(const char *text, uint8_t *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int high = value_of(text[2 * i]), low = value_of(text[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static bool is_zero(const uint8_t *bytes, size_t count)
{
	uint8_t any = 0;
	for (size_t i = 0; i < count; i++)
		any |= bytes[i];
	return any == 0;
}

bool http_traceparent_parse(struct slice value, struct http_traceparent *p)
{
	uint8_t version, flags;
	const char *t = value.ptr;
	if (value.len < HTTP_TRACEPARENT_BYTES || t[2] != '-' || t[35] != '-' || t[52] != '-')
		return false;
	if (!read_bytes(t, &version, 1) || !read_bytes(t + 3, p->trace_id, sizeof(p->trace_id)) ||
	    !read_bytes(t + 36, p->span_id, sizeof(p->span_id)) || !read_bytes(t + 53, &flags, 1))
		return false;
	/* Later versions may add parts behind a dash; 255 is no version. */
	bool is_longer = value.len > HTTP_TRACEPARENT_BYTES;
	if (version == 0xff || (is_longer && (version == 0 || t[HTTP_TRACEPARENT_BYTES] != '-')))
		return false;
	p->flags = flags & (HTTP_TRACE_SAMPLED | HTTP_TRACE_RANDOM);
	return !is_zero(p->trace_id, sizeof(p->trace_id)) &&
	       !is_zero(p->span_id, sizeof(p->span_id));
}

bool http_traceparent_find(const struct http_head *request, struct http_traceparent *p)
{
	uint32_t count = 0;
	const struct http_field *f = http_head_find_last(request, HTTP_TOKEN_TRACEPARENT, &count);
	return f && count == 1 && http_traceparent_parse(f->value, p);
}

#define VECTOR __attribute__((vector_size(16)))

/* The digits of eight bytes at once: requests that nobody records have ids too. */
static inline void write_digits(const uint8_t bytes[8], char text[16])
{
	uint64_t eight;
	memcpy(&eight, bytes, sizeof(eight));
	uint8_t VECTOR all = (uint8_t VECTOR)(uint64_t VECTOR){eight, 0};
	int8_t VECTOR digits = (int8_t VECTOR)__builtin_shufflevector(
	    all >> 4, all & 15, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
	digits += '0';
	digits += (digits > '9') & ('a' - '9' - 1);
	memcpy(text, &digits, 16);
}

struct slice http_trace_id_write(const uint8_t *id, size_t bytes, char *text)
{
	for (size_t i = 0; i < bytes; i += 8)
		write_digits(id + i, text + 2 * i);
	return slice_of(text, 2 * bytes);
}

void http_traceparent_write(const struct http_traceparent *p, char text[HTTP_TRACEPARENT_BYTES])
{
	memcpy(text, "00-", 3);
	write_digits(p->trace_id, text + 3);
	write_digits(p->trace_id + 8, text + 19);
	text[35] = '-';
	write_digits(p->span_id, text + 36);
	memcpy(text + 52, "-0", 2);
	text[54] = (char)('0' + p->flags);
}

void http_traceparent_alter(char text[HTTP_TRACEPARENT_BYTES], const uint8_t id[HTTP_SPAN_ID_BYTES])
{
	write_digits(id, text + 19);
	memcpy(text + 36, text + 19, 16);
}
