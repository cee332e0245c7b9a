/* SPDX-License-Identifier: MIT */
/*
 * The server name of a ClientHello (RFC 8446 4.1.2, RFC 6066 3) in bytes that pass, for a TLS that ends elsewhere. What
 * two servers could read in different ways is no ClientHello here: a second extension for the name, a second name, bytes
 * behind a list.
 */
#include "proxy/net/net.h"

#include "proxy/base/ascii.h"
#include <openssl/bytestring.h>
#include <openssl/ssl.h>

#define RECORD_HEADER_BYTES 5u
#define MESSAGE_HEADER_BYTES 4u

/* Joins the records' parts of the first message (RFC 8446 5.1): it may be split anywhere. */
static enum net_hello join_records(
    struct slice bytes, uint8_t message[NET_HELLO_BYTES], size_t *length)
{
	const uint8_t *b = (const uint8_t *)bytes.ptr;
	size_t at = 0, whole = 0;
	for (*length = 0; at < bytes.len;) {
		size_t left = bytes.len - at;
		if (b[at] != SSL3_RT_HANDSHAKE || (left > 1 && b[at + 1] != 3))
			return NET_HELLO_OTHER;
		if (left < RECORD_HEADER_BYTES)
			return NET_HELLO_MORE;
		size_t size = (size_t)b[at + 3] << 8 | b[at + 4];
		if (size == 0 || size > SSL3_RT_MAX_PLAIN_LENGTH)
			return NET_HELLO_OTHER;
		left -= RECORD_HEADER_BYTES;
		size_t part = size < left ? size : left;
		memcpy(message + *length, b + at + RECORD_HEADER_BYTES, part);
		*length += part;
		at += RECORD_HEADER_BYTES + part;
		if (*length > 0 && message[0] != SSL3_MT_CLIENT_HELLO)
			return NET_HELLO_OTHER;
		if (*length < MESSAGE_HEADER_BYTES)
			continue;
		whole = MESSAGE_HEADER_BYTES +
			((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
		if (whole > NET_HELLO_BYTES)
			return NET_HELLO_OTHER;
		if (*length >= whole) {
			*length = whole;
			return NET_HELLO_WHOLE;
		}
	}
	return NET_HELLO_MORE;
}

/* Skips what is before the extensions. */
static bool read_extensions(CBS *message, CBS *extensions)
{
	uint16_t version;
	CBS skipped;
	return CBS_skip(message, MESSAGE_HEADER_BYTES) && CBS_get_u16(message, &version) &&
	       CBS_skip(message, SSL3_RANDOM_SIZE) &&
	       CBS_get_u8_length_prefixed(message, &skipped) &&
	       CBS_get_u16_length_prefixed(message, &skipped) &&
	       CBS_get_u8_length_prefixed(message, &skipped) &&
	       (CBS_len(message) == 0 || CBS_get_u16_length_prefixed(message, extensions)) &&
	       CBS_len(message) == 0;
}

static bool read_name(CBS *extension, char name[NET_HELLO_NAME_BYTES])
{
	CBS list, host;
	uint8_t type;
	if (!CBS_get_u16_length_prefixed(extension, &list) || CBS_len(extension) > 0 ||
	    !CBS_get_u8(&list, &type) || type != TLSEXT_NAMETYPE_host_name ||
	    !CBS_get_u16_length_prefixed(&list, &host) || CBS_len(&list) > 0)
		return false;
	size_t length = CBS_len(&host);
	if (length == 0 || length >= NET_HELLO_NAME_BYTES || CBS_contains_zero_byte(&host))
		return false;
	ascii_lower_copy(name, slice_of((const char *)CBS_data(&host), length));
	name[length - (length > 1 && name[length - 1] == '.')] = '\0';
	return true;
}

enum net_hello net_read_hello(struct slice bytes, char name[NET_HELLO_NAME_BYTES])
{
	uint8_t joined[NET_HELLO_BYTES];
	size_t length;
	CBS message, extensions, extension;
	uint16_t type;
	name[0] = '\0';
	if (bytes.len > NET_HELLO_BYTES)
		bytes.len = NET_HELLO_BYTES;
	enum net_hello result = join_records(bytes, joined, &length);
	if (result != NET_HELLO_WHOLE)
		return result;
	CBS_init(&message, joined, length);
	CBS_init(&extensions, joined, 0);
	if (!read_extensions(&message, &extensions))
		return NET_HELLO_OTHER;
	while (CBS_len(&extensions) > 0) {
		if (!CBS_get_u16(&extensions, &type) ||
		    !CBS_get_u16_length_prefixed(&extensions, &extension))
			return NET_HELLO_OTHER;
		if (type == TLSEXT_TYPE_server_name && (name[0] || !read_name(&extension, name)))
			return NET_HELLO_OTHER;
	}
	return NET_HELLO_WHOLE;
}
