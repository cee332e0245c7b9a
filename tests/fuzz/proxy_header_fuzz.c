/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the begin of a connection with a PROXY header; the first byte chooses how many of them come first. What
 * is accepted is accepted in pieces too, with the same result and no byte more; each part of it wants more.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/peer/peer.h"

#include <stdlib.h>

/* Of bytes in memory of their own, so that a sanitizer sees a read behind their end. */
static enum peer_reading read_part(
    struct slice bytes, size_t count, struct peer_header *h, size_t *length)
{
	const char *fault = NULL;
	char *part = malloc(count + 1);
	ensure(part != NULL);
	memcpy(part, bytes.ptr, count);
	enum peer_reading r = peer_header_read(slice_of(part, count), h, length, &fault);
	ensure((r == PEER_READING_BAD) == (fault != NULL));
	if (r == PEER_READING_DONE) {
		const struct address tcp = {.family = 4};
		ensure(*length > 0 && *length <= count);
		struct peer_ends *c = peer_ends_new(h, &tcp, 443);
		ensure(h->id.len <= 128 && c->id.len <= 256 && c->id.len >= h->id.len);
		peer_ends_release(c);
	}
	free(part);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct peer_header h, again;
	size_t length = 0, same = 0, ignored = 0;
	if (size < 2)
		return 0;
	struct slice bytes = slice_of(data + 1, size - 1);
	bytes = slice_sub(bytes, 0, LIMIT_PROXY_HEADER_BYTES + 64);
	enum peer_reading whole = read_part(bytes, bytes.len, &h, &length);
	if (whole == PEER_READING_MORE)
		ensure(bytes.len < LIMIT_PROXY_HEADER_BYTES);
	size_t first = bytes.len * data[0] / 256;
	enum peer_reading part = read_part(bytes, first, &again, &same);
	ensure(part == PEER_READING_MORE || part == whole);
	if (whole != PEER_READING_DONE)
		return 0;
	ensure(read_part(bytes, length - 1, &again, &ignored) == PEER_READING_MORE);
	ensure(read_part(bytes, length, &again, &same) == PEER_READING_DONE && same == length);
	ensure(again.is_local == h.is_local && again.is_tls == h.is_tls);
	ensure(memcmp(&again.from, &h.from, sizeof(h.from)) == 0 && again.from_port == h.from_port);
	return 0;
}
