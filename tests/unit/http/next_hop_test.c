/* SPDX-License-Identifier: MIT */
/* The overlay of a head for the next hop: the same end-to-end fields as stripping gives, from a head that stays as it came. */
#include "tests/unit/http/heads.h"

/* "name: value, never\n" for each field: all that a head says of them. */
static char *text_of(const struct http_head *head)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	for (uint32_t i = 0; i < head->count; i++)
		fprintf(out, "%.*s: %.*s %u %u\n", SLICE_ARG(head->fields[i].name),
		    SLICE_ARG(head->fields[i].value), head->fields[i].token,
		    head->fields[i].never_index);
	fclose(out);
	return text;
}

/* The overlay's fields as "name: value\n", and the original is what it was. */
static void overlay_is(struct http_head *head, const char *wanted)
{
	char *before = text_of(head), text[4096] = "";
	struct http_head *overlay = http_head_overlay(head);
	for (uint32_t i = 0; i < overlay->count; i++) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%.*s: %.*s\n",
		    SLICE_ARG(overlay->fields[i].name), SLICE_ARG(overlay->fields[i].value));
	}
	http_head_free(overlay);
	char *after = text_of(head);
	assert_string_equal(after, before);
	assert_string_equal(text, wanted);
	free(before);
	free(after);
	http_head_free(head);
}

static void fields_of_one_hop_are_left_out(void **state)
{
	(void)state;
	overlay_is(REQUEST("accept: */*", "http2-settings: AA", "priority: u=1", "x-end: 1"),
	    "accept: */*\npriority: u=1\nx-end: 1\n");
	overlay_is(RESPONSE("age: 1", "http2-settings: AA", "x-end: 1"), "age: 1\nx-end: 1\n");
}

static void proxy_is_no_field_of_http(void **state)
{
	(void)state;
	overlay_is(REQUEST("proxy: http://evil.example", "x-end: 1"), "x-end: 1\n");
	overlay_is(RESPONSE("proxy: x", "x-end: 1"), "x-end: 1\n");
}

static void proxy_authentication_is_in_no_trailers(void **state)
{
	(void)state;
	static const char *const names[] = {"proxy-authorization", "proxy-authenticate", "proxy-authentication-info"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char line[64];
		snprintf(line, sizeof(line), "%s: Basic", names[i]);
		struct http_head *head = built(HTTP_TRAILERS, LINES(line, "x-end: 1"));
		http_head_strip_hop(head);
		assert_int_equal(head->count, 1);
		assert_slice(head->fields[0].name, "x-end");
		http_head_free(head);
		head = REQUEST(line);
		http_head_strip_hop(head);
		assert_int_equal(head->count, 1);
		http_head_free(head);
	}
}

static void te_stays_once_in_requests(void **state)
{
	(void)state;
	overlay_is(REQUEST("te: trailers", "x-end: 1", "te: trailers"), "te: trailers\nx-end: 1\n");
	overlay_is(RESPONSE("te: trailers", "x-end: 1"), "x-end: 1\n");
	struct http_head *head = built(HTTP_PROMISE, LINES("te: trailers"));
	overlay_is(head, "te: trailers\n");
}

static void host_goes_from_requests_alone(void **state)
{
	(void)state;
	overlay_is(REQUEST("host: a.example", "x-end: 1"), "x-end: 1\n");
	overlay_is(built(HTTP_PROMISE, LINES("host: a.example", "x-end: 1")), "x-end: 1\n");
	overlay_is(RESPONSE("host: a.example", "x-end: 1"), "host: a.example\nx-end: 1\n");
}

static void control_data_is_the_heads(void **state)
{
	(void)state;
	struct http_head *head = decoded(LINES(":method: OPTIONS", ":scheme: https", ":authority: a.example:8443",
	    ":path: /a?b", "content-length: 7", "authorization: Basic x"));
	head->fields[1].never_index = head->fields[3].never_index = true;
	head->fields[5].never_index = true;
	assert_null(http_head_validate(head, HTTP_REQUEST));
	struct http_head *overlay = http_head_overlay(head);
	assert_int_equal(overlay->kind, HTTP_REQUEST);
	assert_slice(overlay->method, "OPTIONS");
	assert_int_equal(overlay->method_token, HTTP_METHOD_OPTIONS);
	assert_slice(overlay->scheme, "https");
	assert_slice(overlay->authority, "a.example:8443");
	assert_slice(overlay->path, "/a?b");
	assert_int_equal(overlay->content_length, 7);
	assert_int_equal(overlay->never_index_pseudo, HTTP_PSEUDO_SCHEME | HTTP_PSEUDO_PATH);
	assert_int_equal(http_head_list_bytes(overlay), head->list_bytes);
	const struct http_field *secret = http_head_find(overlay, HTTP_TOKEN_AUTHORIZATION);
	assert_true(secret->never_index);
	assert_false(overlay->fields[0].never_index);
	http_head_free(overlay);
	http_head_free(head);
	head = RESPONSE("content-length: 3");
	head->status = 203;
	head->content_length = 3;
	overlay = http_head_overlay(head);
	assert_int_equal(overlay->status, 203);
	assert_int_equal(overlay->content_length, 3);
	http_head_free(overlay);
	http_head_free(head);
}

/* The origin is asked by :authority, whichever of both the client sent. */
static void authority_that_came_as_host_goes_on_as_authority(void **state)
{
	(void)state;
	struct http_head *head =
	    decoded(LINES(":method: GET", ":scheme: http", ":path: /", "host: a.example", "x-end: 1"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	assert_true(head->authority_from_host);
	struct http_head *overlay = http_head_overlay(head);
	assert_slice(overlay->authority, "a.example");
	assert_false(overlay->authority_from_host);
	assert_int_equal(overlay->count, 1);
	http_head_free(overlay);
	http_head_free(head);
}

static void many_fields_keep_their_order(void **state)
{
	(void)state;
	struct http_head *head = BARE_REQUEST();
	char name[16];
	for (int i = 0; i < 500; i++) {
		int n = snprintf(name, sizeof(name), "x-%d", i);
		http_head_add(head, slice_of(name, (size_t)n), SLICE("value"));
		if (i % 50 == 0)
			http_head_add(head, SLICE("http2-settings"), SLICE("x"));
	}
	struct http_head *overlay = http_head_overlay(head);
	assert_int_equal(overlay->count, 500);
	assert_int_equal(head->count, 510);
	for (int i = 0; i < 500; i++) {
		snprintf(name, sizeof(name), "x-%d", i);
		assert_slice(overlay->fields[i].name, name);
	}
	http_head_free(overlay);
	http_head_free(head);
}

static void changes_of_the_overlay_stay_there(void **state)
{
	(void)state;
	struct http_head *head = REQUEST("cookie: a=1", "x-end: 1", "te: gzip, trailers");
	char *before = text_of(head);
	struct http_head *overlay = http_head_overlay(head);
	http_head_remove(overlay, HTTP_TOKEN_COOKIE);
	for (int i = 0; i < 100; i++)
		http_head_add(overlay, SLICE("x-new"), SLICE("2"));
	overlay->fields[0].value = SLICE("changed");
	overlay->authority = SLICE("other.example");
	http_head_free(overlay);
	char *after = text_of(head);
	assert_string_equal(after, before);
	assert_int_equal(head->authority.len, 0);
	free(before);
	free(after);
	http_head_free(head);
}

static void empty_head_has_an_empty_overlay(void **state)
{
	(void)state;
	overlay_is(BARE_REQUEST(), "");
	overlay_is(BARE_RESPONSE(), "");
}

/* ---- any head: the overlay is what stripping a copy gives, but for Host ---- */

static const char *const names[] = {"http2-settings", "host", "te", "content-length", "proxy", "cookie", "x-one", "x-two", "via", "trailer", "priority"};
static const char *const values[] = {"close", "x-one", "X-Two, close", "te, host", "content-length,cookie", "trailers",
    "gzip, trailers", "gzip", "", ", ,x-one", "via", "7"};
#define ONE_OF(list) (list)[below(&random, sizeof(list) / sizeof((list)[0]))]

/* xorshift64 */
static size_t below(uint64_t *random, size_t limit)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (size_t)(*random >> 33) % limit;
}

static void overlay_of_any_head_is_what_stripping_leaves(void **state)
{
	(void)state;
	static const enum http_head_kind kinds[] = {HTTP_REQUEST, HTTP_PROMISE, HTTP_RESPONSE};
	uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
	for (unsigned round = 0; round < 5000; round++) {
		enum http_head_kind kind = ONE_OF(kinds);
		struct http_head *head = built(kind, NONE);
		for (size_t n = below(&random, 40); n > 0; n--) {
			http_head_add(head, slice_of_string(ONE_OF(names)), slice_of_string(ONE_OF(values)));
			head->fields[head->count - 1].never_index = below(&random, 4) == 0;
		}
		struct http_head *overlay = http_head_overlay(head), *copy = http_head_copy(head);
		http_head_strip_hop(copy);
		if (kind != HTTP_RESPONSE)
			http_head_remove(copy, HTTP_TOKEN_HOST);
		char *got = text_of(overlay), *wanted = text_of(copy);
		assert_string_equal(got, wanted);
		free(got);
		free(wanted);
		http_head_free(copy);
		http_head_free(overlay);
		http_head_free(head);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_of_one_hop_are_left_out),
	    cmocka_unit_test(proxy_is_no_field_of_http),
	    cmocka_unit_test(proxy_authentication_is_in_no_trailers),
	    cmocka_unit_test(te_stays_once_in_requests),
	    cmocka_unit_test(host_goes_from_requests_alone),
	    cmocka_unit_test(control_data_is_the_heads),
	    cmocka_unit_test(authority_that_came_as_host_goes_on_as_authority),
	    cmocka_unit_test(many_fields_keep_their_order),
	    cmocka_unit_test(changes_of_the_overlay_stay_there),
	    cmocka_unit_test(empty_head_has_an_empty_overlay),
	    cmocka_unit_test(overlay_of_any_head_is_what_stripping_leaves),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
