/* SPDX-License-Identifier: MIT */
/* See forwarding_values.h. */
#include "proxy/route/forwarding_values.h"

#include "proxy/base/ascii.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/http/field_key.h"

/* The longest address, with brackets and quotes, and the words around the parts of an element. */
#define ELEMENT_BYTES 80u
/* Clients with a longer authority are told of anew each time. */
#define AUTHORITY_MOST 80u
#define PLACES_BITS 8u

struct place {
	struct forwarding_values values;
	char text[ELEMENT_BYTES + AUTHORITY_MOST];
};

struct forwarding_table {
	uint64_t seed; /* of http_field_key */
	struct place places[1u << PLACES_BITS];
};

struct forwarding_table *forwarding_table_new(uint64_t seed)
{
	struct forwarding_table *t = memory_new(struct forwarding_table);
	t->seed = seed;
	return t;
}

void forwarding_table_free(struct forwarding_table *t)
{
	free(t);
}

/* ---- the values ---- */

static char *put(char *at, struct slice text)
{
	memcpy(at, text.ptr, text.len);
	return at + text.len;
}

static bool is_https(const struct http_head *request)
{
	return slice_equal(request->scheme, SLICE("https"));
}

/* RFC 7239 6: an IPv6 address has brackets, and with them quotes. A unix socket has no address. */
static char *put_node(char *at, const struct address *client, struct slice *node)
{
	bool is_v6 = client->family == 6;
	*node = SLICE("");
	if (client->family <= ADDRESS_UNKNOWN)
		return put(at, SLICE("unknown"));
	if (is_v6)
		at = put(at, SLICE("\"["));
	address_format(client, at, ELEMENT_BYTES / 2);
	*node = slice_of_string(at);
	at += node->len;
	return is_v6 ? put(at, SLICE("]\"")) : at;
}

/* text: of ELEMENT_BYTES and the lengths of authority and scheme. */
static struct slice write_element(char *text, const struct request_facts *f,
    const struct address *from, struct slice *node, struct slice *authority)
{
	const struct http_head *request = f->head;
	char *at = put_node(put(text, SLICE("for=")), from, node);
	*authority = SLICE("");
	if (request->authority.len > 0) { /* not of a request in HTTP/1.0 that names none */
		at = put(at, SLICE(";host=\""));
		*authority = slice_of(at, request->authority.len);
		at = put(put(at, request->authority), SLICE("\""));
	}
	at = put(at, SLICE(";proto="));
	return slice_of(text, (size_t)(put(at, request->scheme) - text));
}

struct slice forwarding_element(struct arena *a, const struct request_facts *f, struct slice *node)
{
	struct slice authority;
	size_t most = ELEMENT_BYTES + f->head->authority.len + f->head->scheme.len;
	return write_element(arena_bytes(a, most), f, &f->peer, node, &authority);
}

/* That the client asked for: what stands between it and pushgate may have mapped the listener's port. */
static struct slice port_of(struct slice authority, bool is_https)
{
	size_t at = authority.len;
	while (at > 0 && ascii_is(authority.ptr[at - 1], ASCII_DIGIT))
		at--;
	if (at > 0 && at < authority.len && authority.ptr[at - 1] == ':')
		return slice_from(authority, at);
	return is_https ? SLICE("443") : SLICE("80");
}

static void add(
    struct forwarding_values *v, uint64_t seed, enum http_token token, struct slice value)
{
	v->fields[v->count++] = (struct http_field){
	    .name = http_token_name(token),
	    .value = value,
	    .token = (uint16_t)token,
	    .hash = seed ? http_field_key(seed, (uint16_t)token, http_token_name(token), value) : 0,
	};
}

/* seed 0: without keys. */
static void write_values(
    struct forwarding_values *v, char *text, const struct request_facts *f, uint64_t seed)
{
	struct slice node;
	struct slice element = write_element(text, f, &f->client, &node, &v->authority);
	v->client = f->client;
	v->is_https = is_https(f->head);
	v->count = 0;
	add(v, seed, HTTP_TOKEN_FORWARDED, element);
	if (node.len > 0)
		add(v, seed, HTTP_TOKEN_X_FORWARDED_FOR, node);
	add(v, seed, HTTP_TOKEN_X_FORWARDED_PROTO,
	    slice_from(element, element.len - f->head->scheme.len));
	if (v->authority.len > 0)
		add(v, seed, HTTP_TOKEN_X_FORWARDED_HOST, v->authority);
	if (v->authority.len > 0)
		add(v, seed, HTTP_TOKEN_X_FORWARDED_PORT, port_of(v->authority, v->is_https));
	if (node.len > 0)
		add(v, seed, HTTP_TOKEN_X_REAL_IP, node);
}

/* ---- the table ---- */

static struct place *place_of(
    struct forwarding_table *t, const struct request_facts *f, bool is_https)
{
	uint64_t word[2];
	memcpy(word, f->client.bytes, sizeof(word));
	uint64_t hash =
	    (word[0] ^ word[1] << 7 ^ f->head->authority.len << 1 ^ is_https ^ t->seed) *
	    UINT64_C(0x9e3779b97f4a7c15);
	return &t->places[hash >> (64 - PLACES_BITS)];
}

static bool is_for(const struct forwarding_values *v, const struct request_facts *f, bool is_https)
{
	const struct address *client = &f->client;
	return v->count > 0 && v->is_https == is_https && v->client.family == client->family &&
	       memcmp(v->client.bytes, client->bytes, sizeof(client->bytes)) == 0 &&
	       slice_equal(v->authority, f->head->authority);
}

static RARE const struct forwarding_values *make_once(
    struct arena *a, const struct request_facts *f)
{
	struct forwarding_values *v = arena_alloc(a, sizeof(*v));
	size_t most = ELEMENT_BYTES + f->head->authority.len + f->head->scheme.len;
	write_values(v, arena_bytes(a, most), f, 0);
	return v;
}

const struct forwarding_values *forwarding_values_of(
    struct forwarding_table *t, struct arena *a, const struct request_facts *f)
{
	const struct http_head *request = f->head;
	bool has_tls = is_https(request);
	bool is_known = has_tls || slice_equal(request->scheme, SLICE("http"));
	if (!t || !is_known || request->authority.len > AUTHORITY_MOST)
		return make_once(a, f);
	struct place *p = place_of(t, f, has_tls);
	if (!is_for(&p->values, f, has_tls))
		write_values(&p->values, p->text, f, t->seed);
	return &p->values;
}
