/* SPDX-License-Identifier: MIT */
/* What a connection keeps of its ends: the bytes of a PROXY header that it was read from are gone. */
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

struct peer_ends *peer_ends_new(
    const struct peer_header *h, const struct address *tcp, uint32_t https_port)
{
	size_t room = room_for(h->authority) + room_for(h->alpn) + room_for(h->id);
	struct peer_ends *e = memory_alloc(sizeof(*e) + room);
	char *at = (char *)(e + 1);
	*e = (struct peer_ends){.references = 1,
	    .is_claimed = !h->is_local,
	    .is_https = h->is_tls || (https_port > 0 && h->to_port == https_port),
	    .port = h->from_port,
	    .to_port = h->to_port,
	    .tcp = *tcp,
	    .to = h->to};
	e->authority = put(at, h->authority);
	e->alpn = put(at + e->authority.len, h->alpn);
	e->id = put(at + e->authority.len + e->alpn.len, h->id);
	return e;
}

void peer_ends_release(struct peer_ends *e)
{
	if (e && --e->references == 0)
		free(e);
}
