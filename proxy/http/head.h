/* SPDX-License-Identifier: MIT */
/*
 * A head: the control data and fields of one request, response, promised request or trailer section
 * (RFC 9110 6), in the same form for each version of HTTP. Names are lower case, order is kept.
 *
 * A decoder appends the fields as they come, pseudo-fields included (http_head_add);
 * http_head_validate then moves the pseudo-fields into their own slots and checks everything that
 * RFC 9113 8.2, 8.3 and RFC 9110 5.5 ask. Only validated heads travel between modules.
 *
 * Heads come from a pool (one per worker) and return to it with http_head_free. All bytes are in
 * the head's arena, so a head may outlive the connection that it came from.
 */
#ifndef PUSHGATE_HTTP_HEAD_H
#define PUSHGATE_HTTP_HEAD_H

#include "proxy/base/arena.h"
#include "proxy/http/token.h"

struct http_head_pool;

struct http_field {
	struct slice name, value;
	/* Of name and value, by hpack; 0 = unknown. Saves the encoder hashing them again. */
	uint32_t hash;
	uint16_t token;   /* enum http_token */
	bool never_index; /* RFC 7541 6.2.3: must be forwarded as never indexed */
};

enum http_head_kind {
	HTTP_REQUEST,
	HTTP_PROMISE,  /* a promised request: HTTP_REQUEST plus RFC 9113 8.4 */
	HTTP_RESPONSE, /* final or interim */
	HTTP_TRAILERS,
};

enum http_version { HTTP_VERSION_NONE, HTTP_VERSION_1_0, HTTP_VERSION_1_1, HTTP_VERSION_2 };

/* Bits of never_index_pseudo. */
enum {
	HTTP_PSEUDO_METHOD = 1,
	HTTP_PSEUDO_SCHEME = 2,
	HTTP_PSEUDO_AUTHORITY = 4,
	HTTP_PSEUDO_PATH = 8,
	HTTP_PSEUDO_STATUS = 16,
	HTTP_PSEUDO_PROTOCOL = 32,
};

/* Bits of `noted`: fields that few heads have; a head without the bit need not be searched for them. */
enum {
	/* By http_head_validate: a name that can be another spelling of a name that a rule has, or an unknown
	 * X-Forwarded- name (spelling.h). */
	HTTP_NOTED_NAMES = 1,
	/* By http_head_overlay: a forwarding field whose name has a token. */
	HTTP_NOTED_FORWARDING = 2,
	/* By http_head_validate, and by rules that add one: traceparent or tracestate. */
	HTTP_NOTED_TRACE = 4,
	/* By http_head_validate: Via, Forwarded or X-Forwarded-For. */
	HTTP_NOTED_PROXY = 8,
};

#define HTTP_LENGTH_UNKNOWN UINT64_MAX

struct http_head {
	struct arena arena;
	struct http_field *fields;
	uint32_t count, capacity;
	enum http_head_kind kind;
	/* Set by http_head_validate; empty if the kind has none. */
	struct slice method, scheme, authority, path;
	/* Of a CONNECT: the protocol of the tunnel, "websocket" (RFC 8441). Of a response that opens one:
	 * the same. */
	struct slice protocol;
	/* Of a request in HTTP/1.1: the protocols that the client would change to (Upgrade, which
	 * Connection names; RFC 9110 7.8). The request is complete without them. */
	struct slice upgrade;
	uint16_t method_token; /* enum http_method */
	uint16_t status;       /* 100…999, 0 for requests */
	uint8_t never_index_pseudo;
	uint8_t noted;   /* HTTP_NOTED_… bits */
	uint8_t version; /* enum http_version: in which it was received; for Via, rules and log */
	/* Of a request in HTTP/1: its target has no scheme, `scheme` is that of the connection. */
	bool scheme_from_connection;
	/* Before validation: the receiver has announced SETTINGS_ENABLE_CONNECT_PROTOCOL, so that a
	 * CONNECT may have :protocol (RFC 8441). */
	bool allows_protocol;
	/* A response: the final answer, 2xx, to a request for a tunnel. What follows it is no body. */
	bool opens_tunnel;
	/* :authority was missing, `authority` is the Host field's value */
	bool authority_from_host;
	uint64_t content_length; /* HTTP_LENGTH_UNKNOWN without a field */
	size_t list_bytes;       /* size as RFC 9113 6.5.2 counts it, pseudo-fields included */
	size_t compact_bytes; /* of http_head_compact, everything in one allocation; 0 = pooled */
	struct http_head_pool *pool;
	struct http_head *next; /* for the owner's use */
};

/* "http/1.0", "http/1.1", "h2": the names of ALPN, as the log has them. NULL for HTTP_VERSION_NONE. */
const char *http_version_name(enum http_version version);

struct http_head_pool *http_head_pool_new(uint32_t keep);
void http_head_pool_free(struct http_head_pool *pool); /* ensures that no head is in use */
/* Frees the spare heads that were not needed since the last call. Returns their bytes. */
size_t http_head_pool_trim(struct http_head_pool *pool);
size_t http_head_pool_out(const struct http_head_pool *pool);

/* Returns an empty head, owned by the caller. Never NULL. */
struct http_head *http_head_new(struct http_head_pool *pool);
void http_head_free(struct http_head *head); /* accepts NULL */
/* Returns a deep copy, owned by the caller. */
struct http_head *http_head_copy(const struct http_head *head);
/* Returns a deep copy that has no more memory than it needs, for one that is kept for long. Takes head. The texts, which
 * may lie in the arena of the head, move with it. */
struct http_head *http_head_compact(
    struct http_head *head, struct slice *const *texts, size_t text_count);

/* Makes room for at least one more field; for `count` fields in all. */
void http_head_grow_fields(struct http_head *head);
void http_head_reserve_fields(struct http_head *head, uint32_t count);
/* A head without fields, owned by the caller, with room for those of `head`. All else is equal, and
 * its slices are those of `head`. */
struct http_head *http_head_new_like(const struct http_head *head);

/* Bytes of memory that the head uses; 0 for NULL. */
size_t http_head_bytes(const struct http_head *head);

/*
 * Appends a field slot. The caller fills all its members; slices must point into head->arena or to
 * bytes that outlive the head. The pointer is valid until the next field is added.
 */
static inline struct http_field *http_head_add_slot(struct http_head *head)
{
	if (head->count == head->capacity)
		http_head_grow_fields(head);
	return &head->fields[head->count++];
}
/* Appends a copy of name and value, and finds the token. For heads that this program makes. */
void http_head_add(struct http_head *head, struct slice name, struct slice value);
/* The same for a known token, whose name is used. */
void http_head_add_token(struct http_head *head, enum http_token token, struct slice value);
/* Keeps the fields for which `keeps`, an expression of `field`, is true, in their order. */
#define http_head_keep(head, field, keeps)                                                         \
	do {                                                                                       \
		struct http_field *kept_ = (head)->fields, *end_ = kept_ + (head)->count;          \
		for (struct http_field *field = kept_; field < end_; field++)                      \
			if (keeps)                                                                 \
				*kept_++ = *field;                                                 \
		(head)->count = (uint32_t)(kept_ - (head)->fields);                                \
	} while (0)
/* Removes every field with the token; keeps the order. Returns how many. */
uint32_t http_head_remove(struct http_head *head, enum http_token token);
/* The same for each token that has a value other than 0 in `set`. */
uint32_t http_head_remove_all(struct http_head *head, const uint8_t set[HTTP_TOKEN_COUNT]);
/* Returns the first field with the token, or NULL. */
const struct http_field *http_head_find(const struct http_head *head, enum http_token token);
/* The value of Content-Type without its parameters (RFC 9110 8.3.1); empty: the head has no such field. */
struct slice http_head_media_type(const struct http_head *head);
/* Returns the last one, or NULL. *count: how many there are. */
const struct http_field *http_head_find_last(
    const struct http_head *head, enum http_token token, uint32_t *count);

/*
 * Validates a head that a peer sent. Returns NULL if it is well formed; otherwise the message is
 * malformed (a stream error), and the text tells the broken rule ("field name in upper case (RFC
 * 9113 8.2.1)"). Checks: pseudo-fields known, once, first, complete for the kind, none in trailers;
 * :path non-empty ("/…", or "*" for OPTIONS); CONNECT's form, with :protocol if allows_protocol; names lower-case tokens; values
 * without CR, LF, NUL, other controls, or surrounding whitespace; no connection-specific field, te
 * only "trailers"; content-length one number (equal repeats allowed, RFC 9110 8.6); status three
 * digits, not 101; authority without userinfo, well formed; Host equal to :authority (RFC 9113
 * 8.3.1); no content-length or other framing field in trailers. HTTP_PROMISE: method GET or HEAD,
 * no content-length above 0, no transfer coding, :authority present (RFC 9113 8.4).
 */
const char *http_head_validate(struct http_head *head, enum http_head_kind kind);

/* RFC 9113 6.5.2: bytes that each field counts besides its name and value. */
#define HTTP_FIELD_OVERHEAD 32u
/* The present size of a validated head, as RFC 9113 6.5.2 counts it. */
size_t http_head_list_bytes(const struct http_head *head);

/* True if this final response to `method` has no body (RFC 9110 6.4.1). */
bool http_response_is_bodyless(const struct http_head *response, enum http_method method);

/* Whether the request has the expectation 100-continue (RFC 9110 10.1.1). */
bool http_expects_continue(const struct http_head *request);

static inline bool http_head_is_interim(const struct http_head *head)
{
	return head->status >= 100 && head->status < 200;
}

/*
 * Prepares a validated head for the next hop: removes `http2-settings`, `proxy-connection`, `proxy`, and `te`
 * unless the head is a request's (RFC 9110 7.6.1); from trailers the fields of proxy authentication. `priority` (RFC 9218) is end-to-end and stays.
 */
void http_head_strip_hop(struct http_head *head);

/*
 * An overlay: the head for the next hop, to be changed, sent and freed (yours), while the head itself
 * stays as it came. It has the end-to-end fields alone, and no Host when it is a request's (:authority
 * says the same). Its bytes are those of `head` until they are changed: it is freed before that.
 */
struct http_head *http_head_overlay(const struct http_head *head);

/* Whether this can name a protocol in Upgrade or :protocol: a token, or two with "/" between (RFC 9110 7.8). */
bool http_is_protocol(struct slice name);

/* Removes content-length, which says nothing in a request for a tunnel and in the answer that opens one
 * (RFC 9110 9.3.6). The next hop could take it for framing. */
void http_head_drop_length(struct http_head *head);

/* Removes content-length from a response that may not have the field: 1xx and 204 (RFC 9110 8.6). */
void http_response_strip_length(struct http_head *response);

#endif
