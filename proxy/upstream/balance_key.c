/* SPDX-License-Identifier: MIT */
/*
 * Keys of requests and servers. They are the same in all workers and after a restart, so no random seed is in them;
 * the name of the origin is, so that the same request and the same server have other keys at other origins.
 */
#include "proxy/base/hash.h"
#include "proxy/http/cookie.h"
#include "proxy/upstream/destination.h"
#include <string.h>

/* Leading bytes of an IPv6 address that identify the subscriber. */
#define SUBSCRIBER_BYTES 8u

struct balance *balance_of_origin(const struct conf_origin *o, uint64_t seed)
{
	const struct conf_balance *b = &o->balance;
	enum balance_kind kind = b->hash != CONF_HASH_OFF              ? BALANCE_HASH
				 : b->kind == CONF_BALANCE_ROUND_ROBIN ? BALANCE_ROUND_ROBIN
								       : BALANCE_LEAST;
	return balance_new(kind, b->slow_start, seed);
}

uint64_t balance_member_key(const struct conf_origin *o, struct slice text)
{
	uint8_t digest[NET_HMAC_BYTES];
	uint64_t key;

	net_hmac(slice_of_string(o->name), text, digest);
	memcpy(&key, digest, sizeof key);
	return key ? key : 1;
}

static struct slice value_of_field(const struct http_head *head, const struct conf_balance *b)
{
	if (b->hash_token == HTTP_TOKEN_HOST)
		return head->authority;
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (b->hash_token != HTTP_TOKEN_NONE ? f->token == b->hash_token
						     : slice_equal(f->name, b->hash_name))
			return f->value;
	}
	return (struct slice){0};
}

/* The text that requests for the same server have in common. ptr NULL: this one has none. */
static struct slice text_of(const struct exchange *x, const struct conf_balance *b)
{
	const struct address *client = &x->facts.client;

	switch (b->hash) {
	case CONF_HASH_CLIENT:
		if (client->family == 0 || client->family == ADDRESS_UNKNOWN)
			break;
		return slice_of((const char *)client->bytes,
		    client->family == 6 ? SUBSCRIBER_BYTES : sizeof client->bytes);
	case CONF_HASH_PATH:
		return slice_sub(x->request->path, 0, slice_find(x->request->path, '?'));
	case CONF_HASH_COOKIE:
		return http_cookie_find(x->request, b->hash_name);
	case CONF_HASH_HEADER:
		return value_of_field(x->request, b);
	case CONF_HASH_OFF:
		break;
	}
	return (struct slice){0};
}

void balance_ask(const struct destination *d, const struct exchange *x, struct balance_question *q)
{
	const struct conf_origin *o = d->origin.conf;

	q->affinity = attempt_of(x)->affinity;
	q->has_hash = false;
	if (o->balance.hash == CONF_HASH_OFF)
		return;
	struct slice text = text_of(x, &o->balance);
	if (!text.ptr)
		return;
	q->has_hash = true;
	q->hash = hash_bytes(hash_bytes(0, o->name, strlen(o->name)), text.ptr, text.len);
}
