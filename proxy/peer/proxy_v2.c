/* SPDX-License-Identifier: MIT */
/*
 * The PROXY protocol, version 2 (proxy-protocol.txt 2.2): a fixed head, the addresses, and values with type and
 * length. Values of unknown types are skipped.
 */
#include "proxy/base/crc32c.h"
#include "proxy/peer/peer_private.h"

#define ID_MOST 128u /* PP2_TYPE_UNIQUE_ID */

enum { COMMAND_LOCAL = 0, COMMAND_PROXY = 1 };
enum { FAMILY_UNSPEC = 0, FAMILY_IPV4 = 1, FAMILY_IPV6 = 2, FAMILY_UNIX = 3, FAMILY_COUNT };
enum {
	TYPE_ALPN = 0x01,
	TYPE_AUTHORITY = 0x02,
	TYPE_CRC32C = 0x03,
	TYPE_ID = 0x05,
	TYPE_TLS = 0x20
};
enum { CLIENT_TLS = 0x01 };

/* Of both addresses and both ports. */
static const size_t address_bytes[FAMILY_COUNT] = {
    [FAMILY_IPV4] = 12, [FAMILY_IPV6] = 36, [FAMILY_UNIX] = 216};

static uint8_t byte_at(struct slice s, size_t i)
{
	return (uint8_t)s.ptr[i];
}

static uint16_t number_at(struct slice s, size_t i)
{
	return (uint16_t)(byte_at(s, i) << 8 | byte_at(s, i + 1));
}

static uint32_t long_at(struct slice s, size_t i)
{
	return (uint32_t)number_at(s, i) << 16 | number_at(s, i + 2);
}

static void read_addresses(struct slice block, unsigned family, struct peer_header *h)
{
	size_t bytes = family == FAMILY_IPV4 ? 4 : 16;
	if (family == FAMILY_UNSPEC)
		h->is_local = true;
	if (family ==
	    FAMILY_UNIX) /* of another machine, or of another program: no socket of ours */
		h->from.family = h->to.family = ADDRESS_UNKNOWN;
	if (family != FAMILY_IPV4 && family != FAMILY_IPV6)
		return;
	address_of_bytes(&h->from, block.ptr, bytes);
	address_of_bytes(&h->to, block.ptr + bytes, bytes);
	h->from_port = number_at(block, 2 * bytes);
	h->to_port = number_at(block, 2 * bytes + 2);
}

/* ---- values ---- */

/* Takes the first value off. False: it is longer than what there is. */
static bool next_value(struct slice *rest, uint8_t *type, struct slice *value)
{
	if (rest->len < 3 || number_at(*rest, 1) > rest->len - 3)
		return false;
	*type = byte_at(*rest, 0);
	*value = slice_sub(*rest, 3, number_at(*rest, 1));
	slice_skip(rest, 3 + value->len);
	return true;
}

/* Flags, four bytes of the verification, and values of its own. */
static const char *read_tls(struct slice value, struct peer_header *h)
{
	uint8_t type;
	struct slice inner;
	if (value.len < 5)
		return "its PP2_TYPE_SSL is too short";
	h->is_tls = (byte_at(value, 0) & CLIENT_TLS) != 0;
	slice_skip(&value, 5);
	while (value.len > 0)
		if (!next_value(&value, &type, &inner))
			return "a value in its PP2_TYPE_SSL is cut off";
	return NULL;
}

/* The sum is that of the header with zeros in place of the sum. */
static const char *check_sum(struct slice header, struct slice value)
{
	if (value.len != 4)
		return "its checksum has not 4 bytes";
	size_t before = (size_t)(value.ptr - header.ptr);
	uint32_t sum = crc32c(0, slice_sub(header, 0, before));
	sum = crc32c(sum, SLICE("\0\0\0\0"));
	sum = crc32c(sum, slice_from(header, before + 4));
	return sum == long_at(value, 0) ? NULL : "its checksum is wrong";
}

static const char *read_value(
    struct slice header, uint8_t type, struct slice value, struct peer_header *h)
{
	switch (type) {
	case TYPE_ALPN:
		h->alpn = value;
		return NULL;
	case TYPE_AUTHORITY:
		h->authority = value;
		return NULL;
	case TYPE_ID:
		h->id = value;
		return value.len <= ID_MOST ? NULL
					    : "its PP2_TYPE_UNIQUE_ID is longer than 128 bytes";
	case TYPE_CRC32C:
		return check_sum(header, value);
	case TYPE_TLS:
		return read_tls(value, h);
	default: /* NOOP, NETNS, and types that we do not know */
		return NULL;
	}
}

/* header: all of it; values: those at its end. */
static const char *read_values(struct slice header, struct slice values, struct peer_header *h)
{
	uint8_t type;
	struct slice value;
	while (values.len > 0) {
		if (!next_value(&values, &type, &value))
			return "a value in it is cut off";
		const char *fault = read_value(header, type, value, h);
		if (fault)
			return fault;
	}
	return NULL;
}

/* ---- the header ---- */

static const char *check_head(struct slice bytes)
{
	if (byte_at(bytes, 12) >> 4 != 2)
		return "its version is not 2";
	if ((byte_at(bytes, 12) & 15) > COMMAND_PROXY)
		return "its command is neither LOCAL nor PROXY";
	/* With LOCAL the family is ignored. */
	bool is_local = (byte_at(bytes, 12) & 15) == COMMAND_LOCAL;
	if (!is_local && (byte_at(bytes, 13) >> 4 >= FAMILY_COUNT || (byte_at(bytes, 13) & 15) > 2))
		return "its address family or transport is unknown";
	if (number_at(bytes, 14) > LIMIT_PROXY_HEADER_BYTES - PEER_HEAD_BYTES)
		return "it is too long";
	return NULL;
}

static const char *read_rest(struct slice header, struct peer_header *h)
{
	unsigned family = byte_at(header, 13) >> 4;
	struct slice block = slice_from(header, PEER_HEAD_BYTES);
	/* The block behind LOCAL is discarded, whatever it holds. */
	h->is_local = (byte_at(header, 12) & 15) == COMMAND_LOCAL;
	if (h->is_local)
		return NULL;
	if (block.len < address_bytes[family])
		return "it is too short for its addresses";
	read_addresses(block, family, h);
	return read_values(header, slice_from(block, address_bytes[family]), h);
}

enum peer_reading peer_header_read_v2(
    struct slice bytes, struct peer_header *h, size_t *length, const char **fault)
{
	if (bytes.len < PEER_HEAD_BYTES)
		return PEER_READING_MORE;
	*fault = check_head(bytes);
	if (*fault)
		return PEER_READING_BAD;
	*length = PEER_HEAD_BYTES + number_at(bytes, 14);
	if (bytes.len < *length)
		return PEER_READING_MORE;
	*fault = read_rest(slice_sub(bytes, 0, *length), h);
	return *fault ? PEER_READING_BAD : PEER_READING_DONE;
}
