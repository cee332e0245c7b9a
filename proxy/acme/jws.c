/* SPDX-License-Identifier: MIT */
/* Signed requests (RFC 7515, RFC 8555 6.2) and the thumbprint of a key (RFC 7638). */
#include "proxy/acme/acme_private.h"
#include "proxy/base/base64.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

/* base64url of so many bytes, and a NUL. */
static char *encode(struct slice bytes)
{
	char *text = memory_alloc(BASE64_SIZE(bytes.len));
	text[base64url_encode(bytes, text)] = '\0';
	return text;
}

/* The coordinates of a public key, as text. */
struct coordinates {
	char x[BASE64_SIZE(NET_KEY_COORDINATE_BYTES)], y[BASE64_SIZE(NET_KEY_COORDINATE_BYTES)];
};

static void coordinates_of(const struct net_key *key, struct coordinates *c)
{
	uint8_t x[NET_KEY_COORDINATE_BYTES], y[NET_KEY_COORDINATE_BYTES];
	net_key_public(key, x, y);
	c->x[base64url_encode(slice_of(x, sizeof(x)), c->x)] = '\0';
	c->y[base64url_encode(slice_of(y, sizeof(y)), c->y)] = '\0';
}

void acme_thumbprint(const struct net_key *key, char out[ACME_THUMBPRINT_BYTES + 1])
{
	struct coordinates c;
	uint8_t digest[NET_SHA256_BYTES];
	/* RFC 7638 3.2: exactly these members, in this order, without blanks. */
	char text[sizeof("{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"\",\"y\":\"\"}") + sizeof(c)];
	coordinates_of(key, &c);
	int length = snprintf(text, sizeof(text),
	    "{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"%s\",\"y\":\"%s\"}", c.x, c.y);
	net_sha256(slice_of(text, (size_t)length), digest);
	char encoded[BASE64_SIZE(NET_SHA256_BYTES)];
	ensure(
	    base64url_encode(slice_of(digest, sizeof(digest)), encoded) == ACME_THUMBPRINT_BYTES);
	memcpy(out, encoded, ACME_THUMBPRINT_BYTES);
	out[ACME_THUMBPRINT_BYTES] = '\0';
}

static char *encode_header(const struct acme_signing *s)
{
	struct coordinates c;
	json_t *header =
	    json_pack("{s:s, s:s, s:s}", "alg", "ES256", "nonce", s->nonce, "url", s->url);
	ensure(header != NULL);
	if (s->account) {
		json_object_set_new(header, "kid", json_string(s->account));
	} else {
		coordinates_of(s->key, &c);
		json_object_set_new(header, "jwk",
		    json_pack(
			"{s:s, s:s, s:s, s:s}", "kty", "EC", "crv", "P-256", "x", c.x, "y", c.y));
	}
	char *text = json_dumps(header, JSON_COMPACT);
	json_decref(header);
	ensure(text != NULL);
	char *encoded = encode(slice_of_string(text));
	free(text);
	return encoded;
}

char *acme_sign(const struct acme_signing *s)
{
	uint8_t signature[NET_SIGNATURE_BYTES];
	char signature_text[BASE64_SIZE(NET_SIGNATURE_BYTES)];
	char *header = encode_header(s), *payload = encode(slice_of_string(s->payload));
	size_t length = strlen(header) + 1 + strlen(payload);
	char *signed_text = memory_alloc(length + 1);
	snprintf(signed_text, length + 1, "%s.%s", header, payload);
	net_key_sign(s->key, slice_of(signed_text, length), signature);
	signature_text[base64url_encode(slice_of(signature, sizeof(signature)), signature_text)] =
	    '\0';
	json_t *jws = json_pack("{s:s, s:s, s:s}", "protected", header, "payload", payload,
	    "signature", signature_text);
	char *text = json_dumps(jws, JSON_COMPACT);
	ensure(text != NULL);
	json_decref(jws);
	free(signed_text);
	free(header);
	free(payload);
	return text;
}
