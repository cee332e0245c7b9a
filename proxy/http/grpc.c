/* SPDX-License-Identifier: MIT */
/* gRPC's fields; see grpc.h. */
#include "proxy/http/grpc.h"

#include "proxy/base/ascii.h"

#include <string.h>

bool http_is_grpc_call(const struct http_head *request)
{
	const struct slice grpc = SLICE("application/grpc");
	if (request->method_token != HTTP_METHOD_POST)
		return false;
	const struct http_field *f = http_head_find(request, HTTP_TOKEN_CONTENT_TYPE);
	if (!f || f->value.len < grpc.len ||
	    !slice_equal_nocase(slice_sub(f->value, 0, grpc.len), grpc))
		return false;
	return f->value.len == grpc.len || strchr("+; \t", f->value.ptr[grpc.len]) != NULL;
}

/* ---- the deadline ---- */

#define TIMEOUT_DIGITS_MOST 8u

/* In nanoseconds. 0: no unit. */
static uint64_t unit_nsec(char unit)
{
	switch (unit) {
	case 'H':
		return UINT64_C(3600000000000);
	case 'M':
		return UINT64_C(60000000000);
	case 'S':
		return UINT64_C(1000000000);
	case 'm':
		return UINT64_C(1000000);
	case 'u':
		return UINT64_C(1000);
	case 'n':
		return 1;
	default:
		return 0;
	}
}

/* A timeout of 0 is not in the grammar, but some clients send it for a deadline that has passed. */
static usec timeout_of(struct slice value)
{
	uint64_t number;
	if (value.len < 2 || value.len > TIMEOUT_DIGITS_MOST + 1)
		return 0;
	struct slice digits = slice_sub(value, 0, value.len - 1);
	uint64_t unit = unit_nsec(value.ptr[value.len - 1]);
	if (unit == 0 || !ascii_all(digits, ASCII_DIGIT) ||
	    !slice_to_number(digits, UINT32_MAX, &number))
		return 0;
	usec time = unit >= 1000 ? number * (unit / 1000) : (number + 999) / 1000;
	return time > 0 ? time : 1;
}

usec http_grpc_timeout(const struct http_head *request)
{
	const struct http_field *found = NULL;
	for (uint32_t i = 0; i < request->count; i++) {
		const struct http_field *f = &request->fields[i];
		if (!slice_equal(f->name, SLICE("grpc-timeout")))
			continue;
		if (found)
			return 0;
		found = f;
	}
	return found ? timeout_of(found->value) : 0;
}

/* ---- statuses ---- */

struct status_row {
	uint32_t code; /* of HTTP, or of RST_STREAM */
	enum grpc_status status;
};

static enum grpc_status find_status(
    const struct status_row *rows, size_t count, uint32_t code, enum grpc_status otherwise)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].code == code)
			return rows[i].status;
	return otherwise;
}

enum grpc_status http_grpc_status(uint16_t http_status)
{
	static const struct status_row rows[] = {
	    {400, GRPC_INTERNAL},
	    {401, GRPC_UNAUTHENTICATED},
	    {403, GRPC_PERMISSION_DENIED},
	    {404, GRPC_UNIMPLEMENTED},
	    {429, GRPC_UNAVAILABLE},
	    {502, GRPC_UNAVAILABLE},
	    {503, GRPC_UNAVAILABLE},
	    {504, GRPC_UNAVAILABLE},
	};
	return find_status(rows, sizeof(rows) / sizeof(*rows), http_status, GRPC_UNKNOWN);
}

enum grpc_status http_grpc_status_of_reset(uint32_t code)
{
	static const struct status_row rows[] = {
	    {0x7, GRPC_UNAVAILABLE},        /* REFUSED_STREAM */
	    {0x8, GRPC_CANCELLED},          /* CANCEL */
	    {0xb, GRPC_RESOURCE_EXHAUSTED}, /* ENHANCE_YOUR_CALM */
	    {0xc, GRPC_PERMISSION_DENIED},  /* INADEQUATE_SECURITY */
	    {0xd, GRPC_UNKNOWN},            /* HTTP_1_1_REQUIRED */
	};
	return find_status(rows, sizeof(rows) / sizeof(*rows), code, GRPC_INTERNAL);
}

/* Bytes outside of printable ASCII, and '%' itself, as %XX. */
static struct slice percent_encoded(struct arena *a, struct slice s)
{
	static const char digits[] = "0123456789ABCDEF";
	char *p = arena_bytes(a, 3 * s.len), *at = p;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		if (c >= 0x20 && c < 0x7f && c != '%') {
			*at++ = (char)c;
			continue;
		}
		*at++ = '%';
		*at++ = digits[c >> 4];
		*at++ = digits[c & 15];
	}
	return slice_of(p, (size_t)(at - p));
}

void http_grpc_add_status(struct http_head *head, enum grpc_status status, const char *message)
{
	struct arena *a = &head->arena;
	http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, SLICE("application/grpc"));
	http_head_add(head, SLICE("grpc-status"), arena_printf(a, "%u", (unsigned)status));
	if (message && *message)
		http_head_add(
		    head, SLICE("grpc-message"), percent_encoded(a, slice_of_string(message)));
}
