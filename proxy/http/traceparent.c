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

/* Both digits of each byte: requests that nobody records have ids too. */
#define ROW(high)                                                                                  \
	high "0" high "1" high "2" high "3" high "4" high "5" high "6" high "7" high "8" high      \
	     "9" high "a" high "b" high "c" high "d" high "e" high "f"
static const char pairs[] = ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7")
    ROW("8") ROW("9") ROW("a") ROW("b") ROW("c") ROW("d") ROW("e") ROW("f");

struct slice http_trace_id_write(const uint8_t *id, size_t bytes, char *text)
{
	for (size_t i = 0; i < bytes; i++)
		memcpy(text + 2 * i, pairs + 2 * id[i], 2);
	return slice_of(text, 2 * bytes);
}

void http_traceparent_write(const struct http_traceparent *p, char text[HTTP_TRACEPARENT_BYTES])
{
	memcpy(text, "00-", 3);
	http_trace_id_write(p->trace_id, sizeof(p->trace_id), text + 3);
	text[35] = '-';
	http_trace_id_write(p->span_id, sizeof(p->span_id), text + 36);
	text[52] = '-';
	http_trace_id_write(&p->flags, 1, text + 53);
}
