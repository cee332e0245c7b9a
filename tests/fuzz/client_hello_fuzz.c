/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the first ones of a TLS client; the first byte chooses how many of them come first, the second how long
 * the records are into which a ClientHello that is whole is divided again. Its name is the same then, and more bytes
 * change no result.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/net/net.h"

#include <stdlib.h>

#define RECORD_HEADER_BYTES 5u

/* Of bytes in memory of their own, so that a sanitizer sees a read behind their end. */
static enum net_hello read_part(struct slice bytes, size_t count, char name[NET_HELLO_NAME_BYTES])
{
	char *part = malloc(count + 1);
	ensure(part != NULL);
	memcpy(part, bytes.ptr, count);
	memset(name, 'x', NET_HELLO_NAME_BYTES);
	enum net_hello r = net_read_hello(slice_of(part, count), name);
	size_t length = strnlen(name, NET_HELLO_NAME_BYTES);
	ensure(length < NET_HELLO_NAME_BYTES);
	for (size_t i = 0; i < length; i++)
		ensure(name[i] < 'A' || name[i] > 'Z');
	free(part);
	return r;
}

/* Divides what the records have into records of `size` bytes. Returns false if that would be too long. */
static bool divide(struct slice bytes, size_t size, char out[NET_HELLO_BYTES], size_t *length)
{
	size_t in_record = 0;
	for (*length = 0; bytes.len > RECORD_HEADER_BYTES;) {
		const uint8_t *b = (const uint8_t *)bytes.ptr;
		struct slice part = slice_sub(bytes, RECORD_HEADER_BYTES, (size_t)b[3] << 8 | b[4]);
		bytes = slice_from(bytes, RECORD_HEADER_BYTES + part.len);
		for (size_t i = 0; i < part.len; i++, in_record = (in_record + 1) % size) {
			if (*length + RECORD_HEADER_BYTES + 1 > NET_HELLO_BYTES)
				return false;
			if (in_record == 0) {
				const char header[] = {22, 3, 1, (char)(size >> 8), (char)size};
				memcpy(out + *length, header, sizeof(header));
				*length += sizeof(header);
			}
			out[(*length)++] = part.ptr[i];
		}
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[NET_HELLO_NAME_BYTES], again[NET_HELLO_NAME_BYTES], divided[NET_HELLO_BYTES];
	size_t length;
	if (size < 3)
		return 0;
	struct slice bytes = slice_of((const char *)data + 2, size - 2);
	bytes = slice_sub(bytes, 0, NET_HELLO_BYTES + 64);
	enum net_hello whole = read_part(bytes, bytes.len, name);
	enum net_hello first = read_part(bytes, bytes.len * data[0] / 256, again);
	ensure(first == NET_HELLO_MORE || first == whole);
	ensure(first != NET_HELLO_WHOLE || strcmp(name, again) == 0);
	if (whole != NET_HELLO_WHOLE || !divide(bytes, data[1] + 1u, divided, &length))
		return 0;
	ensure(read_part(slice_of(divided, length), length, again) == NET_HELLO_WHOLE);
	ensure(strcmp(name, again) == 0);
	return 0;
}
