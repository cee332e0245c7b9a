/* SPDX-License-Identifier: MIT */
/*
 * What an intermediary adds to messages: Via (RFC 9110 7.6.3), Proxy-Status (RFC 9209), and
 * responses of its own when it has none from an origin. No templates, no HTML.
 */
#include "proxy/http/via.h"

#include <stdio.h>

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/base/rare.h"
#include "proxy/http/accept.h"

struct http_via http_via_make(struct slice pseudonym)
{
	static const char *const versions[] = {
	    [HTTP_VERSION_1_0] = "1.0", [HTTP_VERSION_1_1] = "1.1", [HTTP_VERSION_2] = "2"};
	struct http_via via = {0};
	for (unsigned v = HTTP_VERSION_1_0; v <= HTTP_VERSION_2; v++) {
		snprintf(via.texts[v], sizeof(via.texts[v]), "%s %.*s", versions[v],
		    SLICE_ARG(pseudonym));
		via.lengths[v] = (uint8_t)strlen(via.texts[v]);
	}
	return via;
}

/* Returns the rest after the comment that starts at s[0]. Comments nest (RFC 9110 5.6.5). */
static struct slice skip_comment(struct slice s)
{
	size_t depth = 0, i = 0;
	for (; i < s.len; i++) {
		if (s.ptr[i] == '\\')
			i++;
		else if (s.ptr[i] == '(')
			depth++;
		else if (s.ptr[i] == ')' && --depth == 0)
			return slice_from(s, i + 1);
	}
	return slice_from(s, s.len);
}

static struct slice next_word(struct slice *rest)
{
	size_t n = 0;
	*rest = slice_trim(*rest);
	while (n < rest->len && rest->ptr[n] != ' ' && rest->ptr[n] != '\t' &&
	       rest->ptr[n] != ',' && rest->ptr[n] != '(')
		n++;
	struct slice word = slice_sub(*rest, 0, n);
	*rest = slice_from(*rest, n);
	return word;
}

/* Members are: received-protocol RWS received-by [RWS comment], separated by commas. */
static bool via_value_has(struct slice rest, struct slice pseudonym)
{
	uint32_t words = 0;
	while (rest.len > 0) {
		struct slice word = next_word(&rest);
		if (word.len > 0) {
			if (++words == 2 && slice_equal_nocase(word, pseudonym))
				return true;
		} else if (rest.len > 0 && rest.ptr[0] == '(') {
			rest = skip_comment(rest);
		} else if (rest.len > 0) {
			rest = slice_from(rest, 1);
			words = 0;
		}
	}
	return false;
}

RARE bool http_via_has(const struct http_head *head, struct slice pseudonym)
{
	for (uint32_t i = 0; i < head->count; i++) {
		if (head->fields[i].token == HTTP_TOKEN_VIA &&
		    via_value_has(head->fields[i].value, pseudonym))
			return true;
	}
	return false;
}

/* Makes a quoted string of RFC 8941 3.3.3. Bytes that it cannot hold become '?'. */
static struct slice quoted(struct arena *a, struct slice s)
{
	char *p = arena_bytes(a, 2 * s.len + 2), *at = p;
	*at++ = '"';
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (c == '"' || c == '\\')
			*at++ = '\\';
		*at++ = c >= 0x20 && c < 0x7f ? c : '?';
	}
	*at++ = '"';
	return slice_of(p, (size_t)(at - p));
}

/* RFC 8941 3.3.4: a token begins with a letter; a host name's characters may follow. */
static bool is_sf_token(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		bool is_inner = ascii_is(c, ASCII_DIGIT) || c == '-' || c == '.' || c == '_';
		if (!ascii_is(c, ASCII_ALPHA) && !(i > 0 && is_inner))
			return false;
	}
	return s.len > 0;
}

/* RFC 9209 2.3.16: http_request_error carries the status that pushgate generated. */
static struct slice parameters_of(struct arena *a, const struct http_own_answer *answer)
{
	if (strcmp(answer->error, "http_request_error") != 0)
		return slice_of_string(answer->error);
	return arena_printf(a, "%s; status-code=%u", answer->error, (unsigned)answer->status);
}

void http_add_proxy_status(struct http_head *head, const struct http_own_answer *answer)
{
	struct arena *a = &head->arena;
	struct slice name =
	    is_sf_token(answer->pseudonym) ? answer->pseudonym : quoted(a, answer->pseudonym);
	struct slice error = parameters_of(a, answer), value;
	if (answer->details) {
		struct slice text = quoted(a, slice_of_string(answer->details));
		value = arena_printf(a, "%.*s; error=%.*s; details=%.*s", SLICE_ARG(name),
		    SLICE_ARG(error), SLICE_ARG(text));
	} else {
		value = arena_printf(a, "%.*s; error=%.*s", SLICE_ARG(name), SLICE_ARG(error));
	}
	http_head_add_token(head, HTTP_TOKEN_PROXY_STATUS, value);
}

static struct slice text_body(struct arena *a, uint16_t status, const char *details)
{
	const char *reason = http_status_reason(status);
	return arena_printf(a, "%u%s%s%s%s\n", (unsigned)status, *reason ? " " : "", reason,
	    details ? ": " : "", details ? details : "");
}

/* A problem of no type of its own: the title is the status's (RFC 9457 4.2.1). What quoted() makes is a
 * string of JSON as well. */
static struct slice json_body(struct arena *a, uint16_t status, const char *details)
{
	struct slice title = quoted(a, slice_of_string(http_status_reason(status)));
	struct slice detail = quoted(a, slice_of_string(details ? details : ""));
	return arena_printf(a, "{\"status\":%u%s%.*s%s%.*s}\n", (unsigned)status,
	    title.len > 2 ? ",\"title\":" : "", title.len > 2 ? (int)title.len : 0, title.ptr,
	    details ? ",\"detail\":" : "", details ? (int)detail.len : 0, detail.ptr);
}

/* RFC 6585 4: no cache may store a 429. */
static bool may_be_stored(uint16_t status)
{
	return status < 500 && status != 429;
}

/* Chooses the body and adds the fields that describe it. */
static struct slice add_body(struct http_head *head, const struct http_own_answer *answer)
{
	struct arena *a = &head->arena;
	struct slice body = SLICE(""), type = SLICE("text/plain");
	bool is_error = answer->status >= 400;
	if (answer->body.len > 0 || answer->is_streamed || answer->is_whole)
		type = slice_of_string(answer->content_type);
	if (answer->is_streamed) {
		http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, type);
		return body;
	}
	if (is_error && answer->request && http_accept_prefers_json(answer->request, type)) {
		type = SLICE("application/problem+json");
		body = json_body(a, answer->status, answer->details);
	} else if (answer->body.len > 0 || answer->is_whole) {
		body = answer->body;
	} else if (answer->status / 100 != 3 && answer->status != 205) { /* RFC 9110 15.3.6 */
		body = text_body(a, answer->status, answer->details);
	}
	head->content_length = body.len;
	if (body.len > 0 || answer->is_whole)
		http_head_add_token(head, HTTP_TOKEN_CONTENT_TYPE, type);
	http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH, arena_printf(a, "%zu", body.len));
	if (is_error && answer->request && may_be_stored(answer->status))
		http_head_add_token(head, HTTP_TOKEN_VARY, SLICE("accept"));
	return body;
}

static void add_unless_empty(struct http_head *head, enum http_token token, struct slice value)
{
	if (value.len > 0)
		http_head_add_token(head, token, value);
}

struct http_head *http_own_response(
    struct http_head_pool *pool, const struct http_own_answer *answer, struct slice *body)
{
	struct http_head *head = http_head_new(pool);
	ensure(answer->status >= 200 && answer->status <= 999);
	bool is_call = answer->grpc_status != GRPC_OK;
	head->kind = HTTP_RESPONSE;
	head->status = is_call ? 200 : answer->status;
	*body = SLICE("");
	add_unless_empty(head, HTTP_TOKEN_DATE, answer->date);
	if (is_call)
		http_grpc_add_status(head, answer->grpc_status, answer->details);
	else if (!http_response_is_bodyless(head, HTTP_METHOD_OTHER))
		*body = add_body(head, answer);
	http_head_add_token(head, HTTP_TOKEN_SERVER, SLICE("pushgate"));
	add_unless_empty(head,
	    answer->status == 407 ? HTTP_TOKEN_PROXY_AUTHENTICATE : HTTP_TOKEN_WWW_AUTHENTICATE,
	    answer->challenge);
	add_unless_empty(head, HTTP_TOKEN_LOCATION, answer->location);
	if (may_be_stored(answer->status))
		add_unless_empty(head, HTTP_TOKEN_VARY, answer->vary);
	if (answer->retry_after > 0 && !is_call)
		http_head_add_token(head, HTTP_TOKEN_RETRY_AFTER,
		    arena_printf(&head->arena, "%u", (unsigned)answer->retry_after));
	add_unless_empty(head, HTTP_TOKEN_ALLOW, answer->allow);
	if (!may_be_stored(answer->status) || is_call || answer->is_momentary)
		http_head_add_token(head, HTTP_TOKEN_CACHE_CONTROL, SLICE("no-store"));
	add_unless_empty(head, HTTP_TOKEN_STRICT_TRANSPORT_SECURITY, answer->transport_security);
	for (size_t i = 0; i < answer->more_count; i++)
		http_head_add(head, answer->more[i].name, answer->more[i].value);
	if (answer->error)
		http_add_proxy_status(head, answer);
	head->list_bytes = http_head_list_bytes(head);
	return head;
}

static const struct {
	uint16_t status;
	const char *reason;
} reasons[] = {
    {100, "Continue"},
    {101, "Switching Protocols"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {305, "Use Proxy"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {508, "Loop Detected"},
    {511, "Network Authentication Required"},
};

const char *http_status_reason(uint16_t status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "";
}
