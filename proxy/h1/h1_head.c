/* SPDX-License-Identifier: MIT */
/*
 * The first line and the field lines of a head (RFC 9112 2 to 5) become a head as every other part of
 * the program knows it: names in lower case, the first line as pseudo-fields, validated by
 * http_head_validate. What that does not look at, because only HTTP/1 has it, is checked here: lines,
 * single spaces, versions, folding, the fields for this hop.
 */
#include "proxy/h1/h1_conn.h"

#include "proxy/base/ascii.h"
#include "proxy/limits.h"

#define VERSION_BYTES 8u /* HTTP/1.1 */

/* Cuts the first line off; neither it nor the rest has its CRLF cut in two. */
static struct slice cut_line(struct slice *rest)
{
	const char *lf = rest->len > 0 ? memchr(rest->ptr, '\n', rest->len) : NULL;
	size_t length = lf ? (size_t)(lf - rest->ptr) : rest->len;
	struct slice line = slice_sub(*rest, 0, length > 0 ? length - 1 : 0);
	*rest = slice_from(*rest, length + 1);
	return line;
}

/* ---- the first line ---- */

/* Returns HTTP_VERSION_NONE for a version that is not spoken here. *is_http: the text names some
 * version of HTTP. */
static enum http_version version_of(struct slice text, bool *is_http)
{
	*is_http = text.len == VERSION_BYTES && slice_starts_with(text, SLICE("HTTP/")) &&
		   ascii_is(text.ptr[5], ASCII_DIGIT) && text.ptr[6] == '.' &&
		   ascii_is(text.ptr[7], ASCII_DIGIT);
	if (!*is_http || text.ptr[5] != '1' || text.ptr[7] > '1')
		return HTTP_VERSION_NONE;
	return text.ptr[7] == '1' ? HTTP_VERSION_1_1 : HTTP_VERSION_1_0;
}

struct request_line {
	struct slice method, target;
	enum http_version version;
};

static const struct session_fault *split_request_line(struct slice line, struct request_line *r)
{
	bool is_http;
	size_t method = slice_find(line, ' ');
	struct slice rest = slice_from(line, method + 1);
	size_t target = slice_find(rest, ' ');
	if (method == line.len || target == rest.len || target == 0)
		return h1_fault(REQUEST_LINE);
	r->method = slice_sub(line, 0, method);
	r->target = slice_sub(rest, 0, target);
	if (!ascii_is_token(r->method))
		return h1_fault(REQUEST_LINE);
	r->version = version_of(slice_from(rest, target + 1), &is_http);
	if (!is_http)
		return h1_fault(REQUEST_LINE);
	return r->version == HTTP_VERSION_NONE ? h1_fault(VERSION) : NULL;
}

const struct session_fault *h1_check_request_line(struct slice line)
{
	struct request_line r;
	return split_request_line(line, &r);
}

static void add_pseudo(struct http_head *head, enum http_token token, struct slice value)
{
	struct http_field *f = http_head_add_slot(head);
	*f = (struct http_field){
	    .name = http_token_name(token), .value = value, .token = (uint16_t)token};
	head->list_bytes += f->name.len + value.len + HTTP_FIELD_OVERHEAD;
}

/* Each hop of ours can carry this, so it survives (RFC 9110 10.1.4). */
static bool te_says_trailers(struct slice value)
{
	struct slice member;
	while (slice_next_member(&value, &member)) {
		if (slice_equal_nocase(member, SLICE("trailers")))
			return true;
	}
	return false;
}

/* scheme "://" authority path: RFC 9112 3.2.2. */
static bool add_absolute(struct http_head *head, struct slice target)
{
	size_t scheme = slice_find(target, ':');
	struct slice rest = slice_from(target, scheme);
	if (scheme == 0 || !slice_starts_with(rest, SLICE("://")))
		return false;
	rest = slice_from(rest, strlen("://"));
	size_t authority = 0;
	while (authority < rest.len && rest.ptr[authority] != '/' && rest.ptr[authority] != '?')
		authority++;
	struct slice path = slice_from(rest, authority);
	if (path.len == 0)
		path =
		    slice_equal(head->fields[0].value, SLICE("OPTIONS")) ? SLICE("*") : SLICE("/");
	else if (path.ptr[0] == '?')
		path = arena_printf(&head->arena, "/%.*s", SLICE_ARG(path));
	struct slice name = slice_sub(target, 0, scheme); /* bytes of the head's arena */
	ascii_lower_copy((char *)(uintptr_t)name.ptr, name);
	add_pseudo(head, HTTP_TOKEN_PSEUDO_SCHEME, name);
	add_pseudo(head, HTTP_TOKEN_PSEUDO_AUTHORITY, slice_sub(rest, 0, authority));
	add_pseudo(head, HTTP_TOKEN_PSEUDO_PATH, path);
	return true;
}

/* The request line as pseudo-fields. */
static const struct session_fault *add_request_line(
    const struct h1_conn *c, struct http_head *head, struct slice line)
{
	struct request_line r;
	const struct session_fault *fault = split_request_line(line, &r);
	if (fault)
		return fault;
	head->version = (uint8_t)r.version;
	add_pseudo(head, HTTP_TOKEN_PSEUDO_METHOD, r.method);
	if (slice_equal(r.method, SLICE("CONNECT"))) {
		add_pseudo(head, HTTP_TOKEN_PSEUDO_AUTHORITY, r.target);
		return NULL;
	}
	bool is_asterisk = slice_equal(r.target, SLICE("*"));
	if (r.target.ptr[0] == '/' || is_asterisk) {
		head->scheme_from_connection = true;
		add_pseudo(
		    head, HTTP_TOKEN_PSEUDO_SCHEME, c->is_tls ? SLICE("https") : SLICE("http"));
		add_pseudo(head, HTTP_TOKEN_PSEUDO_PATH, r.target);
		return NULL;
	}
	return add_absolute(head, r.target) ? NULL : h1_fault(TARGET);
}

/* HTTP-version SP 3DIGIT [ SP reason ]: some origins leave out the last space. */
static const struct session_fault *add_status_line(struct http_head *head, struct slice line)
{
	bool is_http;
	head->version = (uint8_t)version_of(slice_sub(line, 0, VERSION_BYTES), &is_http);
	if (head->version == HTTP_VERSION_NONE || line.len < VERSION_BYTES + 4 ||
	    line.ptr[VERSION_BYTES] != ' ')
		return h1_fault(STATUS_LINE);
	struct slice status = slice_sub(line, VERSION_BYTES + 1, 3);
	struct slice reason = slice_from(line, VERSION_BYTES + 4);
	if ((reason.len > 0 && reason.ptr[0] != ' ') || ascii_has(reason, ASCII_CONTROL) ||
	    !ascii_all(status, ASCII_DIGIT))
		return h1_fault(STATUS_LINE);
	add_pseudo(head, HTTP_TOKEN_PSEUDO_STATUS, status);
	return NULL;
}

/* ---- fields ---- */

/* Usually one space is before the value, and none behind it. */
static struct slice trim_value(struct slice value)
{
	if (value.len >= 2 && value.ptr[0] == ' ' && !ascii_is_blank(value.ptr[1]) &&
	    !ascii_is_blank(value.ptr[value.len - 1]))
		return (struct slice){value.ptr + 1, value.len - 1};
	return slice_trim(value);
}

/* Takes one field line, whose bytes are in the head's arena: its name becomes lower case there. */
static const struct session_fault *add_field(
    struct http_head *head, struct slice line, struct h1_hop *hop, bool *had_te)
{
	if (ascii_is_blank(line.ptr[0]))
		return h1_fault(FOLD);
	size_t colon = slice_find(line, ':');
	if (colon == line.len || colon == 0)
		return h1_fault(FIELD_LINE);
	struct slice name = slice_sub(line, 0, colon);
	ascii_lower_copy((char *)(uintptr_t)name.ptr, name);
	struct slice value = trim_value(slice_from(line, colon + 1));
	enum http_token token = http_token_find(name);
	if (h1_hop_field(hop, token, value))
		return ascii_has(value, ASCII_CONTROL) ? h1_fault(HOP_VALUE) : NULL;
	if (token == HTTP_TOKEN_TE) {
		if (ascii_has(value, ASCII_CONTROL))
			return h1_fault(HOP_VALUE);
		if (*had_te || !te_says_trailers(value))
			return NULL;
		*had_te = true;
		value = SLICE("trailers");
	}
	struct http_field *f = http_head_add_slot(head);
	*f = (struct http_field){.name = name, .value = value, .token = (uint16_t)token};
	head->list_bytes += name.len + value.len + HTTP_FIELD_OVERHEAD;
	return NULL;
}

static const struct session_fault *add_fields(
    struct http_head *head, struct slice lines, struct h1_hop *hop)
{
	bool had_te = false;
	while (lines.len > 0) {
		const struct session_fault *fault = add_field(head, cut_line(&lines), hop, &had_te);
		if (fault)
			return fault;
		if (head->count > LIMIT_FIELDS_PER_HEAD)
			return h1_fault(HEAD_LARGE);
	}
	return NULL;
}

/* ---- heads ---- */

static const struct session_fault *validate(
    struct http_head *head, enum http_head_kind kind, const char **reason)
{
	*reason = http_head_validate(head, kind);
	return *reason ? h1_fault(MALFORMED) : NULL;
}

/* The bytes of the whole head, as the head's own. */
static struct slice adopt(struct http_head *head, struct slice bytes)
{
	char *own = arena_bytes(&head->arena, bytes.len);
	memcpy(own, bytes.ptr, bytes.len);
	return slice_of(own, bytes.len);
}

void h1_read_request_line(const struct h1_conn *c, struct slice line, struct http_head *head)
{
	(void)add_request_line(c, head, adopt(head, line));
}

/* An expectation in HTTP/1.0 is ignored (RFC 9110 10.1.1): such a client waits for nothing. */
static void ignore_expectation(struct http_head *head)
{
	if (head->version == HTTP_VERSION_1_0)
		http_head_remove(head, HTTP_TOKEN_EXPECT);
}

/* The target counts; the next hop gets a Host that is made of it. Of several Host fields none is right, and of a
 * CONNECT both say the same. */
static void ignore_host(struct http_head *head)
{
	uint32_t hosts = 0;
	for (uint32_t i = 0; i < head->count; i++)
		hosts += head->fields[i].token == HTTP_TOKEN_HOST;
	if (hosts == 1 && !slice_equal(head->fields[0].value, SLICE("CONNECT")))
		http_head_remove(head, HTTP_TOKEN_HOST);
}

const struct session_fault *h1_read_request(struct h1_conn *c, struct slice bytes,
    struct http_head *head, struct h1_hop *hop, bool *oversize, const char **reason)
{
	struct slice rest = adopt(head, bytes);
	const struct session_fault *fault = add_request_line(c, head, cut_line(&rest));
	*oversize = false;
	*reason = NULL;
	if (!fault && head->list_bytes > c->config->limits.list_bytes)
		fault = h1_fault(TARGET_LONG);
	if (fault || (fault = add_fields(head, rest, hop)) != NULL)
		return fault;
	if (head->list_bytes > c->config->limits.list_bytes) {
		*oversize = true;
		return NULL;
	}
	if ((fault = h1_hop_nominations(hop, head)) != NULL)
		return fault;
	if (!hop->has_host && head->version == HTTP_VERSION_1_1)
		return h1_fault(HOST_MISSING);
	ignore_expectation(head);
	if (c->config->is_proxy && !head->scheme_from_connection)
		ignore_host(head);
	if ((fault = validate(head, HTTP_REQUEST, reason)) != NULL)
		return fault;
	if ((fault = h1_frame_request(c, head, hop)) == NULL)
		h1_tunnel_offered(c, head, hop);
	return fault;
}

const struct session_fault *h1_read_response(struct h1_conn *c, struct slice bytes,
    struct http_head *head, struct h1_hop *hop, bool *oversize, const char **reason)
{
	struct slice rest = adopt(head, bytes);
	const struct session_fault *fault = add_status_line(head, cut_line(&rest));
	*reason = NULL;
	if (fault || (fault = add_fields(head, rest, hop)) != NULL)
		return fault;
	*oversize = head->list_bytes > c->config->limits.list_bytes;
	if (*oversize)
		return h1_fault(HEAD_LARGE);
	if ((fault = h1_hop_nominations(hop, head)) != NULL)
		return fault;
	bool is_switch = slice_equal(head->fields[0].value, SLICE("101"));
	if (is_switch && (fault = h1_tunnel_answer(c, head, hop)) != NULL)
		return fault;
	if ((fault = validate(head, HTTP_RESPONSE, reason)) != NULL)
		return fault;
	if (!is_switch)
		return h1_frame_response(c, head, hop);
	h1_tunnel_opened(c, head);
	return NULL;
}

const struct session_fault *h1_read_trailers(
    struct h1_conn *c, struct slice bytes, struct http_head *head, const char **reason)
{
	struct h1_hop hop;
	h1_hop_init(&hop);
	const struct session_fault *fault = add_fields(head, adopt(head, bytes), &hop);
	*reason = NULL;
	if (fault)
		return fault;
	if (head->list_bytes > c->config->limits.list_bytes)
		return h1_fault(TRAILERS_LARGE);
	if (hop.codings > 0 || hop.option_count > 0) {
		*reason = "a field for this hop in trailers (RFC 9110 6.5.1)";
		return h1_fault(MALFORMED);
	}
	h1_drop_nominated(c, head);
	return validate(head, HTTP_TRAILERS, reason);
}
