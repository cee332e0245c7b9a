/* SPDX-License-Identifier: MIT */
/* See websocket.h. */
#include "proxy/session/websocket.h"

#include "proxy/net/net.h"

#include <stdio.h>

#define NONCE_BYTES 16u

/* base64 (RFC 4648 4), and 0 behind it. */
static void encode(const uint8_t *bytes, size_t n, char *text)
{
	static const char digits[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = (uint32_t)bytes[i] << 16;
		bits |= i + 1 < n ? (uint32_t)bytes[i + 1] << 8 : 0;
		bits |= i + 2 < n ? bytes[i + 2] : 0;
		*text++ = digits[bits >> 18];
		*text++ = digits[bits >> 12 & 63];
		*text++ = i + 1 < n ? digits[bits >> 6 & 63] : '=';
		*text++ = i + 2 < n ? digits[bits & 63] : '=';
	}
	*text = '\0';
}

static void make_key(char key[H1_WEBSOCKET_KEY])
{
	uint8_t nonce[NONCE_BYTES];
	net_random(nonce, sizeof(nonce));
	encode(nonce, sizeof(nonce), key);
}

/* The key has the length of a key: the codec has checked the client's. */
static void accept_key(struct slice key, char accept[H1_WEBSOCKET_ACCEPT])
{
	char text[H1_WEBSOCKET_KEY + sizeof("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")];
	uint8_t digest[NET_SHA1_BYTES];
	int n = snprintf(
	    text, sizeof(text), "%.*s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", SLICE_ARG(key));
	net_sha1(slice_of(text, (size_t)n), digest);
	encode(digest, sizeof(digest), accept);
}

const struct h1_websocket session_websocket = {.make_key = make_key, .accept = accept_key};
