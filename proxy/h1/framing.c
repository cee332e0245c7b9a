/* SPDX-License-Identifier: MIT */
/*
 * The fields for this hop alone. They are read and taken out while the fields of a head are read, so
 * that nothing behind this folder can mistake them for its own; how the message is framed follows from
 * them (RFC 9112 6.3), and whether the connection goes on (RFC 9112 9.3).
 */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/ascii.h"

#define OPTIONS_MOST (sizeof(((struct h1_hop *)0)->nominated) / sizeof(struct slice))

/* Not the array: most messages nominate nothing. */
void h1_hop_init(struct h1_hop *hop)
{
	memset(hop, 0, offsetof(struct h1_hop, nominated));
}

/* ---- one field ---- */

/* An option that names no field to be removed, or one that is removed anyway. */
static bool is_known_option(struct h1_hop *hop, struct slice option)
{
	if (slice_equal_nocase(option, SLICE("close")))
		hop->closes = true;
	else if (slice_equal_nocase(option, SLICE("keep-alive")))
		hop->keeps = true;
	else if (slice_equal_nocase(option, SLICE("upgrade")))
		hop->names_upgrade = true;
	else
		return slice_equal_nocase(option, SLICE("te")) ||
		       slice_equal_nocase(option, SLICE("http2-settings"));
	return true;
}

static void read_connection(struct h1_hop *hop, struct slice value)
{
	struct slice option;
	while (slice_next_member(&value, &option)) {
		hop->option_count++;
		if (is_known_option(hop, option) || hop->nominated_count == OPTIONS_MOST)
			continue;
		hop->nominated[hop->nominated_count++] = option;
	}
}

static void read_codings(struct h1_hop *hop, struct slice value)
{
	struct slice member;
	uint32_t before = hop->codings;
	while (slice_next_member(&value, &member)) {
		hop->codings++;
		hop->has_chunked_twice |=
		    hop->is_chunked && slice_equal_nocase(member, SLICE("chunked"));
		/* One that another follows was not the last. */
		hop->has_other_coding |= hop->is_chunked;
		hop->is_chunked = slice_equal_nocase(member, SLICE("chunked"));
		hop->has_other_coding |= !hop->is_chunked;
	}
	if (hop->codings ==
	    before) { /* a field without a member says nothing that can be trusted */
		hop->codings++;
		hop->is_chunked = false;
	}
}

/* Keep-Alive: timeout=5, max=100 */
static void read_keepalive(struct h1_hop *hop, struct slice value)
{
	struct slice member;
	uint64_t seconds;
	while (slice_next_member(&value, &member)) {
		size_t equals = slice_find(member, '=');
		if (slice_equal_nocase(
			slice_trim(slice_sub(member, 0, equals)), SLICE("timeout")) &&
		    slice_to_number(slice_trim(slice_from(member, equals + 1)), 1000000, &seconds))
			hop->keepalive = seconds == 0 ? 1 : seconds * USEC_PER_SEC;
	}
}

bool h1_hop_field(struct h1_hop *hop, enum http_token token, struct slice value)
{
	switch (token) {
	case HTTP_TOKEN_CONNECTION:
		read_connection(hop, value);
		return true;
	case HTTP_TOKEN_TRANSFER_ENCODING:
		read_codings(hop, value);
		return true;
	case HTTP_TOKEN_KEEP_ALIVE:
		read_keepalive(hop, value);
		return true;
	case HTTP_TOKEN_UPGRADE:
		if (hop->upgrade_count < H1_UPGRADES_MOST)
			hop->upgrades[hop->upgrade_count] = value;
		hop->upgrade_count++;
		return true;
	case HTTP_TOKEN_PROXY_CONNECTION:
	case HTTP_TOKEN_HTTP2_SETTINGS:
		return true;
	case HTTP_TOKEN_CONTENT_LENGTH:
		hop->has_length = true;
		return false;
	case HTTP_TOKEN_HOST:
		hop->has_host = true;
		return false;
	default:
		return false;
	}
}

bool h1_hop_upgrades(const struct h1_hop *hop)
{
	if (!hop->names_upgrade)
		return false;
	for (uint32_t i = 0; i < hop->upgrade_count && i < H1_UPGRADES_MOST; i++) {
		struct slice rest = hop->upgrades[i], member;
		while (slice_next_member(&rest, &member))
			if (!slice_equal_nocase(member, SLICE("h2c")))
				return true;
	}
	return hop->upgrade_count > H1_UPGRADES_MOST;
}

/* ---- nominations of Connection ---- */

/* A sender that nominates one of these wants the next hop to frame or route the message otherwise. */
static const enum http_token protected_fields[] = {HTTP_TOKEN_HOST, HTTP_TOKEN_CONTENT_LENGTH,
    HTTP_TOKEN_TRANSFER_ENCODING, HTTP_TOKEN_VIA, HTTP_TOKEN_MAX_FORWARDS, HTTP_TOKEN_FORWARDED,
    HTTP_TOKEN_EXPECT, HTTP_TOKEN_TRAILER};

static bool is_protected(struct slice option)
{
	for (size_t i = 0; i < sizeof(protected_fields) / sizeof(*protected_fields); i++)
		if (slice_equal_nocase(option, http_token_name(protected_fields[i])))
			return true;
	return option.ptr[0] == ':';
}

static bool is_nominated(const struct h1_hop *hop, struct slice name)
{
	for (uint32_t i = 0; i < hop->nominated_count; i++)
		if (slice_equal_nocase(hop->nominated[i], name))
			return true;
	return false;
}

const struct session_fault *h1_hop_nominations(struct h1_hop *hop, struct http_head *head)
{
	if (hop->option_count > OPTIONS_MOST)
		return h1_fault(OPTIONS_MANY);
	if (hop->nominated_count == 0)
		return NULL;
	for (uint32_t i = 0; i < hop->nominated_count; i++)
		if (is_protected(hop->nominated[i]))
			return h1_fault(NOMINATED);
	http_head_keep(head, field, !is_nominated(hop, field->name));
	return NULL;
}

/* A trailer section comes when the head is gone. */
static void keep_nominations(struct h1_conn *c, const struct h1_hop *hop)
{
	h1_buffer_free(&c->nominated);
	for (uint32_t i = 0; i < hop->nominated_count; i++) {
		h1_buffer_add(&c->nominated, hop->nominated[i]);
		h1_buffer_add(&c->nominated, SLICE(","));
	}
}

void h1_drop_nominated(const struct h1_conn *c, struct http_head *trailers)
{
	struct slice rest = slice_of(c->nominated.bytes, c->nominated.length), option;
	while (slice_next_member(&rest, &option))
		http_head_keep(trailers, field, !slice_equal_nocase(option, field->name));
}

/* ---- framing ---- */

/* RFC 9112 6.1: faults of framing in either direction. */
static const struct session_fault *check_codings(const struct h1_hop *hop, bool is_old)
{
	if (hop->codings == 0)
		return NULL;
	if (is_old)
		return h1_fault(CODING_OLD);
	if (hop->has_length)
		return h1_fault(CODING_AND_LENGTH);
	if (!hop->is_chunked || hop->has_chunked_twice)
		return h1_fault(CODING_BAD);
	return hop->has_other_coding ? h1_fault(CODING_UNKNOWN) : NULL;
}

static void read_length(struct h1_conn *c, uint64_t length)
{
	c->body_left = length;
	c->reading = length > 0 ? H1_READ_LENGTH : H1_READ_DONE;
}

static void read_chunks(struct h1_conn *c, const struct h1_hop *hop)
{
	keep_nominations(c, hop);
	c->reading = H1_READ_CHUNKS;
	c->chunk = H1_CHUNK_SIZE_FIRST;
	c->size_digits = 0;
	c->body_left = 0;
	c->extension_bytes = 0;
}

const struct session_fault *h1_frame_request(
    struct h1_conn *c, const struct http_head *head, const struct h1_hop *hop)
{
	bool is_old = head->version == HTTP_VERSION_1_0;
	const struct session_fault *fault = check_codings(hop, is_old);
	if (fault)
		return fault;
	if (hop->codings > 0 && head->method_token == HTTP_METHOD_CONNECT)
		return h1_fault(CODING_CONNECT);
	/* A proxy keeps no connection with a client of HTTP/1.0 (RFC 9112 9.3). What follows a
	 * CONNECT or an Upgrade may be for a tunnel, and is no request, even if none is opened. */
	c->keeps = !is_old && !hop->closes && head->method_token != HTTP_METHOD_CONNECT &&
		   !h1_hop_upgrades(hop);
	if (hop->codings > 0)
		read_chunks(c, hop);
	else
		read_length(
		    c, head->content_length == HTTP_LENGTH_UNKNOWN ? 0 : head->content_length);
	return NULL;
}

const struct session_fault *h1_frame_response(
    struct h1_conn *c, struct http_head *head, const struct h1_hop *hop)
{
	bool is_old = head->version == HTTP_VERSION_1_0;
	bool is_bodyless = http_response_is_bodyless(head, c->stream.method);
	if (c->stream.method == HTTP_METHOD_CONNECT && head->status / 100 == 2) {
		h1_tunnel_opened(c, head);
		return NULL;
	}
	if (hop->codings > 0 && (http_head_is_interim(head) || head->status == 204))
		return h1_fault(CODING_FORBIDDEN);
	const struct session_fault *fault = check_codings(hop, is_old);
	if (fault || http_head_is_interim(head))
		return fault;
	c->keeps = hop->closes ? false : !is_old || hop->keeps;
	c->peer_is_old = is_old;
	c->peer_keepalive = hop->keepalive;
	if (is_bodyless) {
		c->reading = H1_READ_DONE;
	} else if (hop->codings > 0) {
		read_chunks(c, hop);
	} else if (head->content_length != HTTP_LENGTH_UNKNOWN) {
		read_length(c, head->content_length);
	} else {
		c->reading = H1_READ_TO_END;
		c->keeps = false;
	}
	return NULL;
}
