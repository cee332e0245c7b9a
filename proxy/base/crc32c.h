/* SPDX-License-Identifier: MIT */
/* CRC32C, the Castagnoli polynomial (RFC 3720 B.4). */
#ifndef PUSHGATE_BASE_CRC32C_H
#define PUSHGATE_BASE_CRC32C_H

#include "proxy/base/slice.h"

/* Of the bytes behind others, whose sum is `before`; 0: there are none. */
uint32_t crc32c(uint32_t before, struct slice bytes);

#endif
