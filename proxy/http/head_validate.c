/* SPDX-License-Identifier: MIT */
/*
 * Validates a head that a peer sent: it becomes a head that the program can use, or is malformed
 * (RFC 9113 8.1.1). One pass over the fields; long values are checked eight bytes at a time. It
 * checks only the form: the caller decides whether a scheme, a host or a method is served. Heads of
 * HTTP/1 come here too: a reason that they can get cites RFC 9110, not RFC 9113.
 */
#include "proxy/base/ascii.h"
#include "proxy/http/authority.h"
#include "proxy/http/head.h"
#include "proxy/http/spelling.h"

#define ONES UINT64_C(0x0101010101010101)
#define HIGHS (ONES * 0x80)

#define BAD_VALUE "control byte in a field value (RFC 9110 5.5)"

/* Whether any byte of the word is below `least` (at most 128), is 0x7f, or is `other`. */
static inline bool word_has(uint64_t word, uint8_t least, uint8_t other)
{
	uint64_t del = word ^ ONES * 0x7f, odd = word ^ ONES * other;
	return ((((word - ONES * least) & ~word) | ((del - ONES) & ~del) | ((odd - ONES) & ~odd)) &
		   HIGHS) != 0;
}

static inline uint64_t load_word(const char *p)
{
	uint64_t word;
	memcpy(&word, p, sizeof(word));
	return word;
}

/* A word that has each of the n bytes, 1 to 7, at least once, and no others but a harmless letter. */
static inline uint64_t load_short(const char *p, size_t n)
{
	if (n >= 4) {
		uint32_t first, last;
		memcpy(&first, p, sizeof(first));
		memcpy(&last, p + n - 4, sizeof(last));
		return first | (uint64_t)last << 32;
	}
	const unsigned char *bytes = (const unsigned char *)p;
	return bytes[0] | (uint64_t)bytes[n / 2] << 8 | (uint64_t)bytes[n - 1] << 16 |
	       ONES * 'a' << 24;
}

/* The same for a slice. */
static inline __attribute__((always_inline)) bool slice_has(
    struct slice s, uint8_t least, uint8_t other)
{
	if (s.len < 8)
		return s.len > 0 && word_has(load_short(s.ptr, s.len), least, other);
	for (size_t i = 0; i + 8 < s.len; i += 8) {
		if (word_has(load_word(s.ptr + i), least, other))
			return true;
	}
	return word_has(load_word(s.ptr + s.len - 8), least, other);
}

static inline const char *check_value(struct slice value)
{
	if (value.len == 0)
		return NULL;
	char first = value.ptr[0], last = value.ptr[value.len - 1];
	if (first == ' ' || first == '\t' || last == ' ' || last == '\t')
		return "whitespace around a field value (RFC 9113 8.2.1)";
	/* Tabs are rare: only a value that has one is read byte by byte. */
	if (__builtin_expect(slice_has(value, 0x20, 0x7f), 0) && ascii_has(value, ASCII_CONTROL))
		return BAD_VALUE;
	return NULL;
}

/* A name without a token. */
static const char *check_name(struct http_head *head, struct slice name)
{
	if (name.len == 0)
		return "empty field name (RFC 9110 5.1)";
	if (ascii_all(name, ASCII_USUAL_NAME)) {
		if (slice_starts_with(name, SLICE(HTTP_X_FORWARDED)))
			head->noted |= HTTP_NOTED_NAMES;
		return NULL;
	}
	if (name.ptr[0] == ':')
		return "unknown pseudo-field (RFC 9113 8.3)";
	if (ascii_all(name, ASCII_LOWER_TOKEN)) {
		head->noted |= HTTP_NOTED_NAMES;
		return NULL;
	}
	if (ascii_all(name, ASCII_TOKEN))
		return "field name in upper case (RFC 9113 8.2.1)";
	return "field name is not a token (RFC 9110 5.1)";
}

/* The state of one pass over a head. */
struct pass {
	struct http_head *head;
	unsigned seen;                 /* HTTP_PSEUDO_ bits */
	uint32_t lengths;              /* content-length fields */
	const struct http_field *host; /* the Host field of a request */
};

static const char *store_slot(
    struct pass *p, const struct http_field *field, struct slice *slot, unsigned bit)
{
	if (p->seen & bit)
		return "pseudo-field twice (RFC 9113 8.3)";
	p->seen |= bit;
	*slot = field->value;
	if (field->never_index)
		p->head->never_index_pseudo |= (uint8_t)bit;
	return NULL;
}

static const char *store_status(struct pass *p, const struct http_field *field)
{
	struct slice text;
	uint64_t number = 0;
	const char *fault = store_slot(p, field, &text, HTTP_PSEUDO_STATUS);
	if (fault)
		return fault;
	if (text.len != 3 || !slice_to_number(text, 999, &number) || number < 100)
		return "the status is not a number from 100 to 999 (RFC 9110 15)";
	p->head->status = (uint16_t)number;
	return NULL;
}

static const char *store_pseudo(struct pass *p, const struct http_field *field)
{
	struct http_head *head = p->head;
	switch (field->token) {
	case HTTP_TOKEN_PSEUDO_METHOD:
		return store_slot(p, field, &head->method, HTTP_PSEUDO_METHOD);
	case HTTP_TOKEN_PSEUDO_SCHEME:
		return store_slot(p, field, &head->scheme, HTTP_PSEUDO_SCHEME);
	case HTTP_TOKEN_PSEUDO_AUTHORITY:
		return store_slot(p, field, &head->authority, HTTP_PSEUDO_AUTHORITY);
	case HTTP_TOKEN_PSEUDO_PATH:
		return store_slot(p, field, &head->path, HTTP_PSEUDO_PATH);
	case HTTP_TOKEN_PSEUDO_PROTOCOL:
		return store_slot(p, field, &head->protocol, HTTP_PSEUDO_PROTOCOL);
	}
	return store_status(p, field);
}

static bool is_pseudo(uint16_t token)
{
	return (token >= HTTP_TOKEN_PSEUDO_AUTHORITY && token <= HTTP_TOKEN_PSEUDO_STATUS) ||
	       token == HTTP_TOKEN_PSEUDO_PROTOCOL;
}

static const char *store_length(struct pass *p, struct slice value)
{
	uint64_t length = 0;
	if (p->head->kind == HTTP_TRAILERS)
		return "content-length in trailers (RFC 9110 6.5.1)";
	if (!slice_to_number(value, HTTP_LENGTH_UNKNOWN - 1, &length))
		return "content-length is not a number (RFC 9110 8.6)";
	if (p->lengths++ > 0 && length != p->head->content_length)
		return "content-length fields differ (RFC 9110 8.6)";
	p->head->content_length = length;
	return NULL;
}

static const char *check_field(struct pass *p, const struct http_field *field)
{
	switch (field->token) {
	case HTTP_TOKEN_PSEUDO_AUTHORITY:
	case HTTP_TOKEN_PSEUDO_METHOD:
	case HTTP_TOKEN_PSEUDO_PATH:
	case HTTP_TOKEN_PSEUDO_SCHEME:
	case HTTP_TOKEN_PSEUDO_STATUS:
	case HTTP_TOKEN_PSEUDO_PROTOCOL:
		return "pseudo-field after a regular field (RFC 9113 8.3)";
	case HTTP_TOKEN_NONE: {
		const char *fault = check_name(p->head, field->name);
		if (fault)
			return fault;
		break;
	}
	case HTTP_TOKEN_CONNECTION:
	case HTTP_TOKEN_KEEP_ALIVE:
	case HTTP_TOKEN_PROXY_CONNECTION:
	case HTTP_TOKEN_TRANSFER_ENCODING:
	case HTTP_TOKEN_UPGRADE:
		return "connection-specific field (RFC 9113 8.2.2)";
	case HTTP_TOKEN_TE:
		if (!slice_equal_nocase(field->value, SLICE("trailers")))
			return "te other than \"trailers\" (RFC 9113 8.2.2)";
		return NULL;
	case HTTP_TOKEN_CONTENT_LENGTH:
		return store_length(p, field->value);
	case HTTP_TOKEN_HOST:
		if (p->head->kind == HTTP_TRAILERS)
			return "host in trailers (RFC 9110 6.5.1)";
		if (p->head->kind == HTTP_RESPONSE)
			break;
		if (p->host)
			return "host twice (RFC 9110 7.2)";
		p->host = field;
		break;
	case HTTP_TOKEN_TRACEPARENT:
	case HTTP_TOKEN_TRACESTATE:
		p->head->noted |= HTTP_NOTED_TRACE;
		break;
	case HTTP_TOKEN_VIA:
	case HTTP_TOKEN_FORWARDED:
	case HTTP_TOKEN_X_FORWARDED_FOR:
		p->head->noted |= HTTP_NOTED_PROXY;
		break;
	}
	return check_value(field->value);
}

static const char *check_path(const struct http_head *head)
{
	struct slice path = head->path;
	if (path.len == 0)
		return "empty :path (RFC 9113 8.3.1)";
	if (path.ptr[0] != '/' &&
	    !(head->method_token == HTTP_METHOD_OPTIONS && slice_equal(path, SLICE("*"))))
		return "the path does not begin with a slash (RFC 9110 4.2)";
	if (slice_has(path, 0x21, '#'))
		return "control byte, space or fragment in the path (RFC 9110 7.1)";
	return NULL;
}

static bool is_scheme(struct slice scheme)
{
	if (slice_equal(scheme, SLICE("https")) || slice_equal(scheme, SLICE("http")))
		return true;
	return scheme.len > 0 && ascii_is(scheme.ptr[0], ASCII_ALPHA) &&
	       ascii_all(scheme, ASCII_SCHEME);
}

static const char *check_host(const struct http_head *head, const struct http_field *host,
    const struct http_authority *authority)
{
	struct http_authority other;
	if (!host || slice_equal(host->value, head->authority))
		return NULL;
	if (!http_authority_parse(host->value, head->scheme, &other))
		return "malformed host (RFC 9110 7.2)";
	/* The Host of a CONNECT without scheme may leave out the port, which has no default. */
	if (head->scheme.len == 0 && !other.port_given)
		other.port = authority->port;
	if (!http_authority_equal(authority, &other))
		return "host differs from the target's authority (RFC 9110 7.2)";
	return NULL;
}

/* RFC 9112 3.2: a request in HTTP/1.0 may name no host. Its authority stays empty. */
static bool may_lack_host(const struct http_head *head)
{
	return !http_scheme_is_http(head->scheme) ||
	       (head->version == HTTP_VERSION_1_0 && head->scheme_from_connection);
}

/* Takes the authority from :authority, or from Host without it; both must be equal. */
static const char *validate_authority(struct pass *p)
{
	struct http_head *head = p->head;
	struct http_authority authority;
	if (!(p->seen & HTTP_PSEUDO_AUTHORITY)) {
		if (!p->host)
			return may_lack_host(head) ? NULL
						   : "neither authority nor host (RFC 9110 7.2)";
		head->authority = p->host->value;
		head->authority_from_host = true;
	}
	if (!http_authority_parse(head->authority, head->scheme, &authority))
		return "malformed authority or host (RFC 9110 7.2)";
	return check_host(head, p->host, &authority);
}

/* RFC 9113 8.5. */
static const char *check_connect(const struct pass *p)
{
	const struct http_head *head = p->head;
	struct http_authority authority;
	if (p->seen & (HTTP_PSEUDO_SCHEME | HTTP_PSEUDO_PATH))
		return "CONNECT with :scheme or :path (RFC 9113 8.5)";
	if (!(p->seen & HTTP_PSEUDO_AUTHORITY))
		return "CONNECT without :authority (RFC 9113 8.5)";
	if (!http_authority_parse(head->authority, SLICE(""), &authority) || !authority.port_given)
		return "CONNECT needs host and port (RFC 9110 9.3.6)";
	if (p->lengths > 0 && head->content_length > 0)
		return "CONNECT with content (RFC 9110 9.3.6)";
	return check_host(head, p->host, &authority);
}

bool http_is_protocol(struct slice name)
{
	size_t slash = slice_find(name, '/');
	return ascii_is_token(slice_sub(name, 0, slash)) &&
	       (slash == name.len || ascii_is_token(slice_from(name, slash + 1)));
}

/* RFC 8441 4: all else of an extended CONNECT is as in any other request. */
static const char *check_protocol(const struct http_head *head)
{
	if (!head->allows_protocol || head->method_token != HTTP_METHOD_CONNECT)
		return ":protocol without extended CONNECT (RFC 8441 4)";
	if (!http_is_protocol(head->protocol))
		return ":protocol is not the name of a protocol (RFC 9110 7.8)";
	return NULL;
}

/* RFC 9113 8.4. */
static const char *check_promise(const struct pass *p)
{
	const struct http_head *head = p->head;
	if (head->method_token != HTTP_METHOD_GET && head->method_token != HTTP_METHOD_HEAD)
		return "promised method is not GET or HEAD (RFC 9113 8.4)";
	if (!(p->seen & HTTP_PSEUDO_AUTHORITY))
		return "promise without :authority (RFC 9113 8.4)";
	if (head->content_length != HTTP_LENGTH_UNKNOWN && head->content_length > 0)
		return "promised request with a body (RFC 9113 8.4)";
	return NULL;
}

static const char *check_request(struct pass *p)
{
	struct http_head *head = p->head;
	const char *fault;
	if (p->seen & HTTP_PSEUDO_STATUS)
		return ":status in a request (RFC 9113 8.3)";
	head->method_token = (uint16_t)http_method_find(head->method);
	if (p->seen & HTTP_PSEUDO_PROTOCOL && (fault = check_protocol(head)) != NULL)
		return fault;
	if (head->method_token == HTTP_METHOD_OTHER && !ascii_is_token(head->method))
		return "no method, or it is not a token (RFC 9110 9.1)";
	if (head->kind == HTTP_PROMISE && (fault = check_promise(p)) != NULL)
		return fault;
	if (head->method_token == HTTP_METHOD_CONNECT && !(p->seen & HTTP_PSEUDO_PROTOCOL))
		return check_connect(p);
	if (!is_scheme(head->scheme))
		return "no scheme, or it is malformed (RFC 9110 4.2)";
	if ((fault = check_path(head)) != NULL)
		return fault;
	return validate_authority(p);
}

static const char *check_response(const struct pass *p)
{
	if (p->seen & ~(unsigned)HTTP_PSEUDO_STATUS)
		return "request pseudo-field in a response (RFC 9113 8.3)";
	if (!(p->seen & HTTP_PSEUDO_STATUS))
		return "no :status (RFC 9113 8.3.2)";
	if (p->head->status == 101)
		return "status 101, though no upgrade was asked for (RFC 9110 7.8)";
	return NULL;
}

static const char *check_control(struct pass *p)
{
	switch (p->head->kind) {
	case HTTP_REQUEST:
	case HTTP_PROMISE:
		return check_request(p);
	case HTTP_RESPONSE:
		return check_response(p);
	case HTTP_TRAILERS:
		return p->seen ? "pseudo-field in trailers (RFC 9113 8.1)" : NULL;
	}
	return "unknown kind of head";
}

/* RFC 9110 8.6: equal repeats are replaced with one. */
static void drop_repeated_lengths(struct http_head *head)
{
	uint32_t lengths = 0;
	http_head_keep(head, field, field->token != HTTP_TOKEN_CONTENT_LENGTH || lengths++ == 0);
}

static size_t list_bytes_of(const struct http_head *head)
{
	size_t bytes = 0;
	for (uint32_t i = 0; i < head->count; i++)
		bytes += head->fields[i].name.len + head->fields[i].value.len + HTTP_FIELD_OVERHEAD;
	return bytes;
}

const char *http_head_validate(struct http_head *head, enum http_head_kind kind)
{
	struct pass p = {.head = head};
	const char *fault;
	uint32_t pseudos = 0;
	head->kind = kind;
	if (head->list_bytes == 0)
		head->list_bytes = list_bytes_of(head);
	while (pseudos < head->count && is_pseudo(head->fields[pseudos].token)) {
		if ((fault = store_pseudo(&p, &head->fields[pseudos])) != NULL)
			return fault;
		pseudos++;
	}
	for (uint32_t i = pseudos; i < head->count; i++) {
		if ((fault = check_field(&p, &head->fields[i])) != NULL)
			return fault;
	}
	if ((fault = check_control(&p)) != NULL)
		return fault;
	/* Drop the leading pseudo-fields from the array without moving the other fields. */
	head->fields += pseudos;
	head->count -= pseudos;
	head->capacity -= pseudos;
	if (p.lengths > 1)
		drop_repeated_lengths(head);
	if (p.lengths > 0 && kind == HTTP_REQUEST && head->method_token == HTTP_METHOD_CONNECT)
		http_head_drop_length(head);
	return NULL;
}
