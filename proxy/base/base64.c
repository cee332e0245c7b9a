/* SPDX-License-Identifier: MIT */
/* See base64.h. */
#include "proxy/base/base64.h"

#include <stdint.h>

size_t base64_encode(struct slice bytes, char *text)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *in = (const uint8_t *)bytes.ptr;
	char *at = text;
	for (size_t i = 0; i < bytes.len; i += 3) {
		uint32_t bits = (uint32_t)in[i] << 16;
		bits |= i + 1 < bytes.len ? (uint32_t)in[i + 1] << 8 : 0;
		bits |= i + 2 < bytes.len ? in[i + 2] : 0;
		*at++ = digits[bits >> 18];
		*at++ = digits[bits >> 12 & 63];
		*at++ = i + 1 < bytes.len ? digits[bits >> 6 & 63] : '=';
		*at++ = i + 2 < bytes.len ? digits[bits & 63] : '=';
	}
	*at = '\0';
	return (size_t)(at - text);
}
