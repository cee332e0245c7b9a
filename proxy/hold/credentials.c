/* SPDX-License-Identifier: MIT */
/* SipHash-2-4 over several fields, without copying them into one buffer first; see credentials.h. */
#include "proxy/hold/credentials.h"

struct sip {
	uint64_t v[4];
	uint64_t
	    word; /* up to seven bytes that are not absorbed yet, the first one in the lowest bits */
	uint64_t total;
};

static inline uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static void rounds(uint64_t *v, unsigned n)
{
	while (n-- > 0) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

/* The constants spell "somepseudorandomlygeneratedbytes". */
static void sip_init(struct sip *s, const struct credentials_key *key)
{
	s->v[0] = key->k[0] ^ UINT64_C(0x736f6d6570736575);
	s->v[1] = key->k[1] ^ UINT64_C(0x646f72616e646f6d);
	s->v[2] = key->k[0] ^ UINT64_C(0x6c7967656e657261);
	s->v[3] = key->k[1] ^ UINT64_C(0x7465646279746573);
	s->word = s->total = 0;
}

static void absorb(struct sip *s)
{
	s->v[3] ^= s->word;
	rounds(s->v, 2);
	s->v[0] ^= s->word;
	s->word = 0;
}

static void sip_add(struct sip *s, struct slice bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		s->word |= (uint64_t)(unsigned char)bytes.ptr[i] << (s->total % 8 * 8);
		if (++s->total % 8 == 0)
			absorb(s);
	}
}

static uint64_t sip_end(struct sip *s)
{
	s->word |= s->total << 56;
	absorb(s);
	s->v[2] ^= 0xff;
	rounds(s->v, 4);
	return s->v[0] ^ s->v[1] ^ s->v[2] ^ s->v[3];
}

/* Hashes all fields with the token. The separators occur in no field value, so that different lists of
 * fields never hash the same bytes. */
static void add_fields(
    struct sip *s, const struct http_head *head, enum http_token token, struct slice between)
{
	bool is_first = true;
	for (uint32_t i = 0; i < head->count; i++) {
		const struct http_field *f = &head->fields[i];
		if (f->token != token)
			continue;
		sip_add(s, is_first ? slice_of("\0", 1) : between);
		sip_add(s, f->value);
		is_first = false;
	}
	sip_add(s, slice_of("\n", 1));
}

struct credentials credentials_of(
    const struct credentials_key *key, const struct http_head *request)
{
	struct credentials c;
	struct sip s;
	sip_init(&s, key);
	add_fields(&s, request, HTTP_TOKEN_COOKIE, SLICE("; "));
	c.cookie = sip_end(&s);
	sip_init(&s, key);
	add_fields(&s, request, HTTP_TOKEN_AUTHORIZATION, slice_of("\0", 1));
	if (http_head_find(request, HTTP_TOKEN_PROXY_AUTHORIZATION))
		add_fields(&s, request, HTTP_TOKEN_PROXY_AUTHORIZATION, slice_of("\0", 1));
	c.authorization = sip_end(&s);
	return c;
}
