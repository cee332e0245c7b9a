/* SPDX-License-Identifier: MIT */
/*
 * A head: the control data and fields of one request, response, promised request or trailer
 * section (RFC 9110 6), without a protocol version. Names are lower case, order is kept.
 *
 * A decoder fills the fields as they come, pseudo-fields included (http_head_add);
 * http_head_validate then moves the pseudo-fields into their own slots and checks everything that
 * RFC 9113 8.2, 8.3 and RFC 9110 5.5 ask. Only validated heads travel between modules.
 *
 * Heads come from a pool (one per worker) and go back with http_head_free. All bytes live in
 * the head's arena: a head may be passed on and outlive the connection that it came from.
 */
#ifndef PUSHGATE_HTTP_HEAD_H
#define PUSHGATE_HTTP_HEAD_H

#include "proxy/base/arena.h"
#include "proxy/http/token.h"

struct http_head_pool;

struct http_field {
	struct slice name, value;
	uint32_t hash;    /* of name and value as hpack computes it, 0 = not known; travels with the
	                    field from decoder to encoder so that no byte is hashed twice */
	uint16_t token;   /* enum http_token */
	bool never_index; /* RFC 7541 6.2.3: must be sent on as never indexed */
};

enum http_head_kind {
	HTTP_REQUEST,
	HTTP_PROMISE,  /* a promised request: HTTP_REQUEST plus RFC 9113 8.4 */
	HTTP_RESPONSE, /* final or interim */
	HTTP_TRAILERS,
};

/* Bits of never_index_pseudo. */
enum {
	HTTP_PSEUDO_METHOD = 1,
	HTTP_PSEUDO_SCHEME = 2,
	HTTP_PSEUDO_AUTHORITY = 4,
	HTTP_PSEUDO_PATH = 8,
	HTTP_PSEUDO_STATUS = 16,
	HTTP_PSEUDO_PROTOCOL = 32,
};

#define HTTP_LENGTH_UNKNOWN UINT64_MAX

struct http_head {
	struct arena arena;
	struct http_field *fields;
	uint32_t count, capacity;
	enum http_head_kind kind;
	/* Set by http_head_validate; empty where the kind has none. */
	struct slice method, scheme, authority, path, protocol;
	uint16_t method_token; /* enum http_method */
	uint16_t status;       /* 100…999, 0 for requests */
	uint8_t never_index_pseudo;
	/* :authority was missing, `authority` is the Host field's value */
	bool authority_from_host;
	uint64_t content_length; /* HTTP_LENGTH_UNKNOWN without a field */
	size_t list_bytes;       /* size as RFC 9113 6.5.2 counts it, pseudo-fields included */
	struct http_head_pool *pool;
	struct http_head *next; /* the owner's */
};

struct http_head_pool *http_head_pool_new(uint32_t keep);
void http_head_pool_free(struct http_head_pool *pool); /* ensures that no head is out */
/* Frees the heads that it has kept and nobody needed since the last time. Returns their bytes. */
size_t http_head_pool_trim(struct http_head_pool *pool);
size_t http_head_pool_out(const struct http_head_pool *pool);

/* An empty head, yours. Never NULL. */
struct http_head *http_head_new(struct http_head_pool *pool);
void http_head_free(struct http_head *head); /* NULL is fine */
/* A deep copy, yours. */
struct http_head *http_head_copy(const struct http_head *head);

/* Room for at least one more field; and for so many in all. */
void http_head_grow_fields(struct http_head *head);
void http_head_reserve_fields(struct http_head *head, uint32_t count);

/* Bytes of memory that it holds; 0 for NULL. */
size_t http_head_bytes(const struct http_head *head);

/* Appends a field slot, to be filled as a whole; its slices must point into head->arena or at
 * constants. The pointer is good until the next add. */
static inline struct http_field *http_head_add_slot(struct http_head *head)
{
	if (head->count == head->capacity)
		http_head_grow_fields(head);
	return &head->fields[head->count++];
}
/* Appends a copy of name and value; finds the token itself. For heads of our own making. */
void http_head_add(struct http_head *head, struct slice name, struct slice value);
/* The same with a known token: the name is the token's own. */
void http_head_add_token(struct http_head *head, enum http_token token, struct slice value);
/* Removes every field with the token, keeping order; returns how many. */
uint32_t http_head_remove(struct http_head *head, enum http_token token);
/* First field with the token or NULL. */
const struct http_field *http_head_find(const struct http_head *head, enum http_token token);

/*
 * Settles a head that a peer sent. NULL when it is well formed, else what is wrong with its rule
 * ("field name in upper case (RFC 9113 8.2.1)"): the message is malformed, a stream error. Checks:
 * pseudo-fields known, once, first, complete for the kind, none in trailers; :path non-empty ("/…",
 * or "*" for OPTIONS); CONNECT's form; names lower-case tokens; values without CR, LF, NUL, other
 * controls, or surrounding whitespace; no connection-specific field, te only "trailers";
 * content-length one number (equal repeats allowed, RFC 9110 8.6); status three digits, not 101;
 * authority without userinfo, well formed; Host equal to :authority (RFC 9113 8.3.1); no
 * content-length or other framing field in trailers. HTTP_PROMISE: method GET or HEAD, no
 * content-length above 0, no transfer coding, :authority present (RFC 9113 8.4).
 */
const char *http_head_validate(struct http_head *head, enum http_head_kind kind);

/* The size of a validated head as RFC 9113 6.5.2 counts it, as it is now. */
size_t http_head_list_bytes(const struct http_head *head);

/* Response bodies (RFC 9110 6.4.1): true when this final response to `method` has none. */
bool http_response_is_bodyless(const struct http_head *response, enum http_method method);

static inline bool http_head_is_interim(const struct http_head *head)
{
	return head->status >= 100 && head->status < 200;
}

/*
 * Makes a validated head fit for the next hop: removes what is for one hop alone (RFC 9110 7.6.1;
 * also `te`, which is kept as "trailers" for requests, `proxy-connection`, `http2-settings`).
 * RFC 9218 `priority` is end-to-end and stays.
 */
void http_head_strip_hop(struct http_head *head);

/*
 * An overlay: the head for the next hop, to be changed, sent and freed (yours), while the head itself
 * stays as it came. It has the end-to-end fields alone, and no Host when it is a request's (:authority
 * says the same). Its bytes are those of `head` until they are changed: it is freed before that.
 */
struct http_head *http_head_overlay(const struct http_head *head);

/* Removes content-length from a response that may not have the field: 1xx and 204 (RFC 9110 8.6). */
void http_response_strip_length(struct http_head *response);

#endif
