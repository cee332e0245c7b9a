/* SPDX-License-Identifier: MIT */
/* See crc32c.h. Four bits at a time: what it is for has some hundred bytes in each connection. */
#include "proxy/base/crc32c.h"

static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc,
    0x5125dad3, 0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4,
    0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

uint32_t crc32c(uint32_t before, struct slice bytes)
{
	uint32_t sum = ~before;
	for (size_t i = 0; i < bytes.len; i++) {
		sum ^= (uint8_t)bytes.ptr[i];
		sum = table[sum & 15] ^ sum >> 4;
		sum = table[sum & 15] ^ sum >> 4;
	}
	return ~sum;
}
