/* SPDX-License-Identifier: MIT */
/*
 * The PROXY protocol: which version a header has, and version 1, a line of text. Nothing is guessed: bytes that cannot
 * begin a header of either version are refused as soon as they differ from both.
 */
#include "proxy/peer/peer_private.h"

/* With CR LF; proxy-protocol.txt 2.1. */
#define LINE_BYTES 107u

static enum peer_reading bad(const char **fault, const char *text)
{
	*fault = text;
	return PEER_READING_BAD;
}

/* Whether the bytes are the begin of the text, or begin with it. */
static bool may_be(struct slice bytes, struct slice text)
{
	size_t n = bytes.len < text.len ? bytes.len : text.len;
	return memcmp(bytes.ptr, text.ptr, n) == 0;
}

/* A decimal without leading zeros. */
static bool read_port(struct slice text, uint16_t *port)
{
	uint64_t n;
	if ((text.len > 1 && text.ptr[0] == '0') || !slice_to_number(text, UINT16_MAX, &n))
		return false;
	*port = (uint16_t)n;
	return true;
}

/* An IPv4-mapped address stands in a line TCP6. */
static bool read_address(struct slice text, bool is_v6, struct address *a)
{
	bool has_colon = slice_find(text, ':') < text.len;
	return has_colon == is_v6 && address_parse(text, a);
}

/* line: behind "PROXY ", without CR LF. */
static bool read_line(struct slice line, struct peer_header *h)
{
	struct slice family = slice_cut(&line, ' ');
	/* All behind UNKNOWN is ignored (2.1). */
	h->is_local = slice_equal(family, SLICE("UNKNOWN"));
	bool is_v6 = slice_equal(family, SLICE("TCP6"));
	if (h->is_local)
		return true;
	if (!is_v6 && !slice_equal(family, SLICE("TCP4")))
		return false;
	struct slice from = slice_cut(&line, ' '), to = slice_cut(&line, ' '),
		     from_port = slice_cut(&line, ' ');
	return read_address(from, is_v6, &h->from) && read_address(to, is_v6, &h->to) &&
	       read_port(from_port, &h->from_port) && read_port(line, &h->to_port);
}

static enum peer_reading read_v1(
    struct slice bytes, struct peer_header *h, size_t *length, const char **fault)
{
	const struct slice begin = SLICE("PROXY ");
	struct slice line = slice_sub(bytes, 0, LINE_BYTES);
	size_t at = slice_find(line, '\n');
	if (at == line.len)
		return bytes.len < LINE_BYTES ? PEER_READING_MORE
					      : bad(fault, "its line is longer than 107 bytes");
	*length = at + 1;
	line = slice_sub(line, 0, at);
	if (line.len <= begin.len || line.ptr[line.len - 1] != '\r')
		return bad(fault, "its line does not end with CR LF");
	line = slice_sub(line, begin.len, line.len - begin.len - 1);
	return read_line(line, h) ? PEER_READING_DONE
				  : bad(fault, "its line has no addresses and ports");
}

enum peer_reading peer_header_read(
    struct slice bytes, struct peer_header *h, size_t *length, const char **fault)
{
	*h = (struct peer_header){0};
	if (bytes.len == 0)
		return PEER_READING_MORE;
	if (may_be(bytes, PEER_SIGNATURE))
		return peer_header_read_v2(bytes, h, length, fault);
	if (may_be(bytes, SLICE("PROXY ")))
		return read_v1(bytes, h, length, fault);
	return bad(fault, "the connection does not begin with one");
}
