/* SPDX-License-Identifier: MIT */
/* base64 (RFC 4648 4). */
#ifndef PUSHGATE_BASE_BASE64_H
#define PUSHGATE_BASE_BASE64_H

#include "proxy/base/slice.h"

/* The text of so many bytes, and a NUL behind it. */
#define BASE64_SIZE(bytes) (((bytes) + 2) / 3 * 4 + 1)

/* Writes BASE64_SIZE(bytes.len) bytes; returns the length of the text. */
size_t base64_encode(struct slice bytes, char *text);

#endif
