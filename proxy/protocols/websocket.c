/* SPDX-License-Identifier: MIT */
/* The keys of WebSocket's opening handshake in HTTP/1.1 (RFC 6455 1.3). */
#include "proxy/protocols/protocols_private.h"

#include "proxy/base/base64.h"
#include "proxy/base/hash.h"

#include <stdio.h>

#define NONCE_BYTES 16u

static void make_key(char key[H1_WEBSOCKET_KEY])
{
	uint8_t nonce[NONCE_BYTES];
	hash_random(nonce, sizeof(nonce));
	base64_encode(slice_of(nonce, sizeof(nonce)), key);
}

/* The key has the length of a key: the codec has checked the client's. */
static void accept_key(struct slice key, char accept[H1_WEBSOCKET_ACCEPT])
{
	char text[H1_WEBSOCKET_KEY + sizeof("258EAFA5-E914-47DA-95CA-C5AB0DC85B11")];
	uint8_t digest[NET_SHA1_BYTES];
	int n = snprintf(
	    text, sizeof(text), "%.*s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", SLICE_ARG(key));
	net_sha1(slice_of(text, (size_t)n), digest);
	base64_encode(slice_of(digest, sizeof(digest)), accept);
}

const struct h1_websocket protocols_websocket = {.make_key = make_key, .accept = accept_key};
