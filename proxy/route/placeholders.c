/* SPDX-License-Identifier: MIT */
/*
 * Writes the values of fields that have placeholders (conf/placeholders.h), of the facts of one request. What a client
 * has chosen cannot end a quoted string, a member of a list or a parameter: bytes that might become %XX.
 */
#include "proxy/route/route.h"

#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/base/rare.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"

/* The longest text that is not borrowed: an address. */
#define OWN_BYTES 64u

/* ---- what the placeholders stand for: in `own`, or borrowed of the facts ---- */

static struct slice client(const struct request_facts *f, char own[OWN_BYTES])
{
	if (f->client.family == 0) /* a unix socket */
		return SLICE("");
	return slice_of_string(address_format(&f->client, own, OWN_BYTES));
}

static struct http_authority authority_of(const struct request_facts *f)
{
	struct http_authority a;
	if (!http_authority_parse(f->head->authority, f->head->scheme, &a))
		return (struct http_authority){0};
	return a;
}

static struct slice host(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return authority_of(f).host;
}

static struct slice port(const struct request_facts *f, char own[OWN_BYTES])
{
	uint16_t number = authority_of(f).port;
	return number == 0
		   ? SLICE("")
		   : slice_of(own, (size_t)snprintf(own, OWN_BYTES, "%u", (unsigned)number));
}

static struct slice scheme(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return f->head->scheme;
}

static struct slice path(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return slice_sub(f->head->path, 0, slice_find(f->head->path, '?'));
}

/* With its "?". */
static struct slice query(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return slice_from(f->head->path, slice_find(f->head->path, '?'));
}

static struct slice protocol(const struct request_facts *f, char own[OWN_BYTES])
{
	const char *name = http_version_name(f->head->version);
	(void)own;
	return name ? slice_of_string(name) : SLICE("");
}

static struct slice tls(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return f->tls ? slice_of_string(f->tls) : SLICE("");
}

static struct slice user(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return f->user ? slice_of(f->user->name, f->user->length) : SLICE("");
}

static struct slice client_cert(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return f->certificate ? f->certificate->leaf : SLICE("");
}

static struct slice client_cert_subject(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return client_certificate_name(f->certificate, SLICE("subject:"));
}

static struct slice client_cert_issuer(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return client_certificate_name(f->certificate, SLICE("issuer:"));
}

static struct slice client_cert_cn(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return client_certificate_name(f->certificate, SLICE("cn:"));
}

static struct slice client_cert_fingerprint(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return client_certificate_name(f->certificate, SLICE("sha256:"));
}

static struct slice request_id(const struct request_facts *f, char own[OWN_BYTES])
{
	(void)own;
	return f->request_id;
}

/* ---- the table ---- */

/* Marks that stay as they are. */
#define TEXT_MARKS "-._~:[]@"
#define URI_MARKS TEXT_MARKS "%/?!$&'*+="

static const struct {
	struct slice (*write)(const struct request_facts *f, char own[OWN_BYTES]);
	const char *marks;
	bool tells_client;
} rows[CONF_PLACEHOLDER_COUNT] = {
#define ROW(symbol, name, writer, syntax, tells)                                                   \
	[CONF_PLACEHOLDER_##symbol] = {writer, syntax##_MARKS, tells},
    CONF_PLACEHOLDERS(ROW)
#undef ROW
};

/* ---- the value ---- */

static bool stays(char c, const char *marks)
{
	return ascii_is(c, ASCII_ALNUM) || (c && strchr(marks, c));
}

static size_t encoded_length(struct slice text, const char *marks)
{
	size_t n = text.len;
	for (size_t i = 0; i < text.len; i++)
		n += stays(text.ptr[i], marks) ? 0 : 2;
	return n;
}

static char *encode(char *at, struct slice text, const char *marks)
{
	static const char digits[] = "0123456789ABCDEF";
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if (stays(text.ptr[i], marks)) {
			*at++ = text.ptr[i];
			continue;
		}
		*at++ = '%';
		*at++ = digits[c >> 4];
		*at++ = digits[c & 15];
	}
	return at;
}

static struct slice text_of(
    enum conf_placeholder p, const struct request_facts *f, char own[OWN_BYTES])
{
	return p == CONF_PLACEHOLDER_NONE ? SLICE("") : rows[p].write(f, own);
}

RARE bool route_write_value(const struct conf_value_parts *v, const struct request_facts *f,
    struct arena *a, struct slice *value)
{
	char own[OWN_BYTES];
	size_t length = 0;
	for (size_t i = 0; i < v->count; i++) {
		const struct conf_value_part *p = &v->parts[i];
		length += p->before.len + encoded_length(text_of(p->placeholder, f, own),
					      rows[p->placeholder].marks);
	}
	if (length == 0 || length > LIMIT_WRITTEN_VALUE_BYTES)
		return false;
	char *text = arena_bytes(a, length), *at = text;
	for (size_t i = 0; i < v->count; i++) {
		const struct conf_value_part *p = &v->parts[i];
		memcpy(at, p->before.ptr, p->before.len);
		at = encode(at + p->before.len, text_of(p->placeholder, f, own),
		    rows[p->placeholder].marks);
	}
	*value = slice_trim(slice_of(text, length));
	return value->len > 0;
}

/* ---- who the client is ---- */

bool route_values_tell_alike(
    const struct conf_value_parts *v, const struct request_facts *a, const struct request_facts *b)
{
	char own_a[OWN_BYTES], own_b[OWN_BYTES];
	for (size_t i = 0; i < v->count; i++) {
		enum conf_placeholder p = v->parts[i].placeholder;
		if (rows[p].tells_client &&
		    !slice_equal(rows[p].write(a, own_a), rows[p].write(b, own_b)))
			return false;
	}
	return true;
}

uint64_t route_values_key(
    uint64_t key, const struct conf_value_parts *v, const struct request_facts *f)
{
	char own[OWN_BYTES];
	for (size_t i = 0; i < v->count; i++) {
		enum conf_placeholder p = v->parts[i].placeholder;
		if (!rows[p].tells_client)
			continue;
		struct slice text = rows[p].write(f, own);
		key = hash_bytes(key + p, text.ptr, text.len);
	}
	return key;
}
