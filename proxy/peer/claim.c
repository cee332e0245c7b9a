/* SPDX-License-Identifier: MIT */
/* What a connection keeps of its PROXY header: the bytes that it was read from are gone. */
#include "proxy/peer/peer.h"

#include "proxy/base/ascii.h"
#include "proxy/base/memory.h"

#include <stdlib.h>

/* Room for one text, as it is or in hexadecimal. */
static size_t room_for(struct slice text)
{
	return ascii_is_visible(text) ? text.len : 2 * text.len;
}

/* Writes it there and returns what was written. */
static struct slice put(char *at, struct slice text)
{
	static const char digits[] = "0123456789abcdef";
	size_t length = room_for(text);
	bool is_shown = length == text.len;
	for (size_t i = 0; is_shown && i < length; i++)
		at[i] = text.ptr[i];
	for (size_t i = 0; !is_shown && i < text.len; i++) {
		at[2 * i] = digits[(uint8_t)text.ptr[i] >> 4];
		at[2 * i + 1] = digits[(uint8_t)text.ptr[i] & 15];
	}
	return slice_of(at, length);
}

struct peer_claim *peer_claim_new(
    const struct peer_header *h, const struct address *tcp, uint32_t https_port)
{
	size_t room = room_for(h->authority) + room_for(h->alpn) + room_for(h->id);
	struct peer_claim *c = memory_alloc(sizeof(*c) + room);
	char *at = (char *)(c + 1);
	*c = (struct peer_claim){.references = 1,
	    .is_https = h->is_tls || (https_port > 0 && h->to_port == https_port),
	    .tcp = *tcp};
	c->authority = put(at, h->authority);
	c->alpn = put(at + c->authority.len, h->alpn);
	c->id = put(at + c->authority.len + c->alpn.len, h->id);
	return c;
}

void peer_claim_release(struct peer_claim *c)
{
	if (c && --c->references == 0)
		free(c);
}
