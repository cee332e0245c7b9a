/* SPDX-License-Identifier: MIT */
/* Private to peer/. */
#ifndef PUSHGATE_PEER_PEER_PRIVATE_H
#define PUSHGATE_PEER_PEER_PRIVATE_H

#include "proxy/peer/peer.h"

/* The first bytes of a header in version 2. */
#define PEER_SIGNATURE SLICE("\r\n\r\n\0\r\nQUIT\n")
/* Of a header in version 2, before its addresses. */
#define PEER_HEAD_BYTES 16u

/* peer_header_read, for bytes that begin with the signature or are a part of it. */
enum peer_reading peer_header_read_v2(
    struct slice bytes, struct peer_header *h, size_t *length, const char **fault);

#endif
