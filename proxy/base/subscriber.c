/* SPDX-License-Identifier: MIT */
/* See subscriber.h. */
#include "proxy/base/subscriber.h"

#include "proxy/base/hash.h"

/* Leading bytes of an IPv6 address that identify the subscriber. */
#define SUBSCRIBER_BYTES 8u

uint64_t subscriber_key_of_text(uint64_t seed, struct slice text)
{
	uint64_t key = hash_bytes(seed, text.ptr, text.len);
	return key == 0 ? 1 : key;
}

uint64_t subscriber_key_of_client(uint64_t seed, const struct address *client)
{
	size_t bytes = client->family == 6 ? SUBSCRIBER_BYTES : sizeof(client->bytes);
	return subscriber_key_of_text(
	    seed ^ client->family, slice_of((const char *)client->bytes, bytes));
}
