/* SPDX-License-Identifier: MIT */
/* base64 and base64url (RFC 4648 4, 5). */
#ifndef PUSHGATE_BASE_BASE64_H
#define PUSHGATE_BASE_BASE64_H

#include "proxy/base/slice.h"

/* The text of so many bytes, and a NUL behind it. */
#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4 + 1)

/* Writes BASE64_SIZE(bytes.len) bytes; returns the length of the text. */
size_t base64_encode(struct slice bytes, char *text);
/* Writes base64url without padding and without NUL; returns the length of the text. */
size_t base64url_encode(struct slice bytes, char *text);
/*
 * Writes the bytes, at most `most`. False: a character outside the alphabet, an impossible length, bits behind the last
 * byte that are not zero (each text has one form), or too many bytes. base64 has padding, base64url has none.
 */
bool base64_decode(struct slice text, void *bytes, size_t most, size_t *length);
bool base64url_decode(struct slice text, void *bytes, size_t most, size_t *length);

#endif
