/* SPDX-License-Identifier: MIT */
/*
 * Heads: their pool and their fields. head_validate.c has the rules of a well-formed head, next_hop.c
 * the removal of hop-by-hop fields. A pooled head contains a first block for its bytes and a first
 * array for its fields, so that a usual head needs no heap allocation.
 */
#include "proxy/http/head.h"

#include "proxy/base/ensure.h"
#include "proxy/base/list.h"
#include "proxy/base/memory.h"
#include "proxy/base/spares.h"

#include <stdalign.h>

#define FIRST_FIELDS 24u
#define FIRST_BYTES 2048u

struct http_head_pool {
	struct spares spares;
	size_t out;
};

struct pooled_head {
	struct http_head head;
	struct http_field fields[FIRST_FIELDS];
	alignas(max_align_t) char bytes[FIRST_BYTES];
};

const char *http_version_name(enum http_version version)
{
	static const char *const names[] = {
	    [HTTP_VERSION_1_0] = "http/1.0",
	    [HTTP_VERSION_1_1] = "http/1.1",
	    [HTTP_VERSION_2] = "h2",
	};
	return names[version];
}

struct http_head_pool *http_head_pool_new(uint32_t keep)
{
	struct http_head_pool *pool = memory_new(struct http_head_pool);
	spares_init(&pool->spares, sizeof(struct pooled_head), keep);
	return pool;
}

void http_head_pool_free(struct http_head_pool *pool)
{
	ensure(pool->out == 0);
	spares_free(&pool->spares);
	free(pool);
}

size_t http_head_pool_trim(struct http_head_pool *pool)
{
	return spares_trim(&pool->spares);
}

size_t http_head_pool_out(const struct http_head_pool *pool)
{
	return pool->out;
}

/*
 * Clears member by member: for the whole struct compilers use a string instruction, which is slow.
 */
static void clear(struct http_head *head)
{
	const struct slice none = {"", 0};
	head->count = 0;
	head->capacity = FIRST_FIELDS;
	head->kind = HTTP_REQUEST;
	head->method = head->scheme = head->authority = head->path = none;
	head->protocol = head->upgrade = none;
	head->method_token = HTTP_METHOD_OTHER;
	head->status = 0;
	head->never_index_pseudo = 0;
	head->noted = 0;
	head->version = HTTP_VERSION_NONE;
	head->scheme_from_connection = false;
	head->allows_protocol = head->opens_tunnel = false;
	head->authority_from_host = false;
	head->content_length = HTTP_LENGTH_UNKNOWN;
	head->list_bytes = 0;
	head->compact_bytes = 0;
	head->next = NULL;
}

static struct pooled_head *take_pooled(struct http_head_pool *pool)
{
	struct pooled_head *p = spares_take(&pool->spares);
	if (!p)
		p = memory_alloc(sizeof(*p));
	pool->out++;
	return p;
}

static void init_memory(struct pooled_head *p)
{
	p->head.fields = p->fields;
	arena_init(&p->head.arena, p->bytes, sizeof(p->bytes));
}

struct http_head *http_head_new(struct http_head_pool *pool)
{
	struct pooled_head *p = take_pooled(pool);
	clear(&p->head);
	init_memory(p);
	p->head.pool = pool;
	return &p->head;
}

void http_head_free(struct http_head *head)
{
	if (!head)
		return;
	struct http_head_pool *pool = head->pool;
	ensure(pool && pool->out > 0);
	pool->out--;
	arena_fini(&head->arena);
	head->pool = NULL; /* so that a second free is detected */
	if (head->compact_bytes > 0)
		free(head);
	else
		spares_keep_or_free(&pool->spares, container_of(head, struct pooled_head, head));
}

bool http_expects_continue(const struct http_head *request)
{
	for (uint32_t i = 0; i < request->count; i++) {
		struct slice rest = request->fields[i].value, member;
		if (request->fields[i].token != HTTP_TOKEN_EXPECT)
			continue;
		while (slice_next_member(&rest, &member))
			if (slice_equal_nocase(member, SLICE("100-continue")))
				return true;
	}
	return false;
}

size_t http_head_bytes(const struct http_head *head)
{
	if (!head)
		return 0;
	size_t own = head->compact_bytes > 0 ? head->compact_bytes : sizeof(struct pooled_head);
	return own + head->arena.heap_bytes;
}

/*
 * The old array stays unused in the arena until the head is freed; it is at most as large as the
 * new one.
 */
static void resize_fields(struct http_head *head, uint32_t capacity)
{
	struct http_field *fields = arena_alloc(&head->arena, capacity * sizeof(*fields));
	memcpy(fields, head->fields, head->count * sizeof(*fields));
	head->fields = fields;
	head->capacity = capacity;
}

void http_head_grow_fields(struct http_head *head)
{
	resize_fields(head, head->capacity < FIRST_FIELDS ? 2 * FIRST_FIELDS : 2 * head->capacity);
}

void http_head_reserve_fields(struct http_head *head, uint32_t count)
{
	if (count > head->capacity)
		resize_fields(head, count);
}

struct http_head *http_head_new_like(const struct http_head *head)
{
	struct pooled_head *p = take_pooled(head->pool);
	p->head = *head;
	init_memory(p);
	p->head.count = 0;
	p->head.capacity = FIRST_FIELDS;
	p->head.compact_bytes = 0;
	p->head.next = NULL;
	http_head_reserve_fields(&p->head, head->count);
	return &p->head;
}

void http_head_add(struct http_head *head, struct slice name, struct slice value)
{
	enum http_token token = http_token_find(name);
	*http_head_add_slot(head) = (struct http_field){
	    .name = token ? http_token_name(token) : arena_copy(&head->arena, name),
	    .value = arena_copy(&head->arena, value),
	    .token = (uint16_t)token,
	};
}

void http_head_add_token(struct http_head *head, enum http_token token, struct slice value)
{
	ensure(token != HTTP_TOKEN_NONE);
	*http_head_add_slot(head) = (struct http_field){
	    .name = http_token_name(token),
	    .value = arena_copy(&head->arena, value),
	    .token = (uint16_t)token,
	};
}

static struct slice copy_to(char **at, struct slice s)
{
	if (s.len == 0)
		return (struct slice){"", 0};
	char *p = *at;
	memcpy(p, s.ptr, s.len);
	*at += s.len;
	return slice_of(p, s.len);
}

static size_t text_bytes(const struct http_head *head)
{
	size_t bytes = head->method.len + head->scheme.len + head->authority.len + head->path.len +
		       head->protocol.len + head->upgrade.len;
	for (uint32_t i = 0; i < head->count; i++)
		bytes += (head->fields[i].token ? 0 : head->fields[i].name.len) +
			 head->fields[i].value.len;
	return bytes;
}

/* `at`: text_bytes of room. The copy has room for the fields, and all else of the head. */
static char *copy_texts(struct http_head *copy, const struct http_head *head, char *at)
{
	for (uint32_t i = 0; i < head->count; i++) {
		struct http_field *field = &copy->fields[i];
		*field = head->fields[i];
		field->name =
		    field->token ? http_token_name(field->token) : copy_to(&at, field->name);
		field->value = copy_to(&at, field->value);
	}
	copy->count = head->count;
	copy->method = copy_to(&at, head->method);
	copy->scheme = copy_to(&at, head->scheme);
	copy->authority = copy_to(&at, head->authority);
	copy->path = copy_to(&at, head->path);
	copy->protocol = copy_to(&at, head->protocol);
	copy->upgrade = copy_to(&at, head->upgrade);
	return at;
}

struct http_head *http_head_copy(const struct http_head *head)
{
	struct http_head *copy = http_head_new_like(head);
	copy_texts(copy, head, arena_bytes(&copy->arena, text_bytes(head)));
	return copy;
}

struct http_head *http_head_compact(
    struct http_head *head, struct slice *const *texts, size_t text_count)
{
	size_t fields_bytes = head->count * sizeof(*head->fields);
	size_t bytes = sizeof(*head) + fields_bytes + text_bytes(head);
	for (size_t i = 0; i < text_count; i++)
		bytes += texts[i]->len;
	struct http_head *copy = memory_alloc(bytes);
	*copy = *head;
	copy->next = NULL;
	copy->fields = (struct http_field *)(copy + 1);
	copy->capacity = head->count;
	copy->compact_bytes = bytes;
	copy->pool->out++;
	arena_init(&copy->arena, NULL, 0);
	char *at = copy_texts(copy, head, (char *)(copy + 1) + fields_bytes);
	for (size_t i = 0; i < text_count; i++)
		*texts[i] = copy_to(&at, *texts[i]);
	http_head_free(head);
	return copy;
}

uint32_t http_head_remove(struct http_head *head, enum http_token token)
{
	uint32_t count = head->count;
	http_head_keep(head, field, field->token != token);
	return count - head->count;
}

uint32_t http_head_remove_all(struct http_head *head, const uint8_t set[HTTP_TOKEN_COUNT])
{
	uint32_t count = head->count;
	http_head_keep(head, field, !set[field->token]);
	return count - head->count;
}

const struct http_field *http_head_find(const struct http_head *head, enum http_token token)
{
	for (uint32_t i = 0; i < head->count; i++) {
		if (head->fields[i].token == token)
			return &head->fields[i];
	}
	return NULL;
}

struct slice http_head_media_type(const struct http_head *head)
{
	const struct http_field *f = http_head_find(head, HTTP_TOKEN_CONTENT_TYPE);
	return f ? slice_trim(slice_sub(f->value, 0, slice_find(f->value, ';'))) : SLICE("");
}

const struct http_field *http_head_find_last(
    const struct http_head *head, enum http_token token, uint32_t *count)
{
	const struct http_field *last = NULL;
	*count = 0;
	for (uint32_t i = 0; i < head->count; i++) {
		if (head->fields[i].token != token)
			continue;
		last = &head->fields[i];
		++*count;
	}
	return last;
}

bool http_response_is_bodyless(const struct http_head *response, enum http_method method)
{
	if (method == HTTP_METHOD_CONNECT && response->status >= 200 && response->status < 300)
		return true; /* the tunnel follows the head, RFC 9110 9.3.6 */
	return method == HTTP_METHOD_HEAD || http_head_is_interim(response) ||
	       response->status == 204 || response->status == 304;
}

void http_head_drop_length(struct http_head *head)
{
	http_head_remove(head, HTTP_TOKEN_CONTENT_LENGTH);
	head->content_length = HTTP_LENGTH_UNKNOWN;
}

void http_response_strip_length(struct http_head *response)
{
	if (response->content_length == HTTP_LENGTH_UNKNOWN ||
	    (!http_head_is_interim(response) && response->status != 204))
		return;
	http_head_drop_length(response);
}

static size_t pseudo_bytes(enum http_token token, struct slice value)
{
	return value.len ? http_token_name(token).len + value.len + HTTP_FIELD_OVERHEAD : 0;
}

size_t http_head_list_bytes(const struct http_head *head)
{
	size_t bytes = pseudo_bytes(HTTP_TOKEN_PSEUDO_METHOD, head->method) +
		       pseudo_bytes(HTTP_TOKEN_PSEUDO_SCHEME, head->scheme) +
		       pseudo_bytes(HTTP_TOKEN_PSEUDO_AUTHORITY, head->authority) +
		       pseudo_bytes(HTTP_TOKEN_PSEUDO_PATH, head->path) +
		       pseudo_bytes(HTTP_TOKEN_PSEUDO_PROTOCOL, head->protocol);
	if (head->kind == HTTP_RESPONSE)
		bytes += pseudo_bytes(HTTP_TOKEN_PSEUDO_STATUS, SLICE("200"));
	for (uint32_t i = 0; i < head->count; i++)
		bytes += head->fields[i].name.len + head->fields[i].value.len + HTTP_FIELD_OVERHEAD;
	return bytes;
}
