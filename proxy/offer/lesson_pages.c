/* SPDX-License-Identifier: MIT */
/*
 * Which views are taught. A lesson costs more than a request, and the tenth view of a page says the same as the ninth. So
 * the first views of each version of a page are taught, those of one client in a row once, and of all others one of
 * several by chance. Nobody foresees the chance, and each view has its own: a client with many requests takes none from
 * others.
 */
#include "proxy/offer/lesson_private.h"

#include "proxy/base/hash.h"

/* Of each version: enough votes, even if some clients come twice. */
#define FIRST_VIEWS 16u
/* Afterwards one of so many. */
#define ONE_OF 16u

static uint64_t field_hash(uint64_t hash, const struct http_head *head, enum http_token token)
{
	const struct http_field *f = http_head_find(head, token);
	return f ? hash_bytes(hash, f->value.ptr, f->value.len) : hash;
}

/* Validators differ by encoding, and pages by whether a user is logged in. */
static uint64_t key_of(const struct offer_lessons *l, const struct exchange *x)
{
	const struct http_head *r = x->request;
	uint64_t hash = hash_bytes(l->env.seed, r->authority.ptr, r->authority.len);
	hash = hash_bytes(hash, r->path.ptr, r->path.len);
	hash = field_hash(hash, r, HTTP_TOKEN_ACCEPT_ENCODING);
	hash += http_head_find(r, HTTP_TOKEN_COOKIE) != NULL;
	return hash | 1;
}

/* 0: no validator. */
static uint64_t version_of(const struct offer_lessons *l, const struct http_head *response)
{
	uint64_t none = l->env.seed;
	uint64_t hash = field_hash(none, response, HTTP_TOKEN_ETAG);
	if (hash == none)
		hash = field_hash(none, response, HTTP_TOKEN_LAST_MODIFIED);
	return hash == none ? 0 : hash | 1;
}

static uint32_t place_of(uint64_t key)
{
	return (uint32_t)(key >> 32) % LESSON_PAGES;
}

static bool draw(struct offer_lessons *l)
{
	uint64_t n = ++l->draws;
	return (hash_bytes(l->env.seed, &n, sizeof(n)) >> 32) % ONE_OF == 0;
}

bool lesson_page_draw(struct offer_lessons *l, const struct exchange *x)
{
	uint64_t key = key_of(l, x);
	const struct lesson_page *p = &l->pages[place_of(key)];
	bool is_first =
	    p->key != key || (p->taught < FIRST_VIEWS && p->client != lesson_client_key(l, x));
	return is_first || draw(l);
}

bool lesson_page_has_changed(
    const struct offer_lessons *l, const struct exchange *x, const struct http_head *response)
{
	uint64_t key = key_of(l, x);
	const struct lesson_page *p = &l->pages[place_of(key)];
	return p->key != key || p->version != version_of(l, response);
}

void lesson_page_taught(
    struct offer_lessons *l, const struct exchange *x, const struct http_head *response)
{
	uint64_t key = key_of(l, x), version = version_of(l, response);
	struct lesson_page *p = &l->pages[place_of(key)];
	if (p->key != key || p->version != version)
		*p = (struct lesson_page){.key = key, .version = version};
	p->taught += p->client != lesson_client_key(l, x);
	p->client = lesson_client_key(l, x);
}
