/* SPDX-License-Identifier: MIT */
/* Heads and their pool: growth, copies, removal, what one hop's head loses before the next. */
#include "tests/unit/http/heads.h"

static void freed_head_comes_back_empty(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool), *first = head;
	http_head_add(head, SLICE("a"), SLICE("b"));
	head->status = 200;
	assert_int_equal(http_head_pool_out(pool), 1);
	http_head_free(head);
	http_head_free(NULL);
	assert_int_equal(http_head_pool_out(pool), 0);
	head = http_head_new(pool);
	assert_ptr_equal(head, first);
	assert_int_equal(head->count, 0);
	assert_int_equal(head->status, 0);
	assert_true(head->content_length == HTTP_LENGTH_UNKNOWN);
	http_head_free(head);
}

static void usual_head_touches_no_heap_and_a_large_one_gives_it_back(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool), *first = head;
	for (int i = 0; i < 24; i++)
		http_head_add(head, SLICE("x-some-name"), SLICE("and a value of usual length"));
	assert_int_equal(head->arena.heap_bytes, 0);
	for (int i = 0; i < 900; i++)
		http_head_add(head, SLICE("x-some-name"), SLICE("and a value of usual length"));
	assert_true(head->arena.heap_bytes > 0);
	http_head_free(head);
	head = http_head_new(pool);
	assert_ptr_equal(head, first);
	assert_int_equal(head->arena.heap_bytes, 0);
	assert_int_equal(head->capacity, 24);
	http_head_free(head);
}

static void pool_keeps_no_more_than_it_was_told(void **state)
{
	(void)state;
	struct http_head *heads[10];
	for (int i = 0; i < 10; i++)
		heads[i] = http_head_new(pool);
	assert_int_equal(http_head_pool_out(pool), 10);
	for (int i = 0; i < 10; i++)
		http_head_free(heads[i]); /* the leak checker would see a lost one */
	assert_int_equal(http_head_pool_out(pool), 0);
}

static void fields_keep_their_order_through_growth(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	char name[16];
	for (int i = 0; i < 1000; i++) {
		int n = snprintf(name, sizeof(name), "x-%d", i);
		http_head_add(head, slice_of(name, (size_t)n), slice_of(name, (size_t)n));
	}
	for (int i = 0; i < 1000; i++) {
		int n = snprintf(name, sizeof(name), "x-%d", i);
		assert_true(slice_equal(head->fields[i].name, slice_of(name, (size_t)n)));
		assert_true(slice_equal(head->fields[i].value, slice_of(name, (size_t)n)));
	}
	http_head_free(head);
}

static void add_copies_and_finds_the_token(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	char name[] = "x-own", value[] = "one";
	http_head_add(head, slice_of_string(name), slice_of_string(value));
	name[0] = value[0] = '!';
	http_head_add(head, SLICE("link"), SLICE("</a>"));
	http_head_add_token(head, HTTP_TOKEN_VARY, SLICE(""));
	assert_true(slice_equal(head->fields[0].name, SLICE("x-own")));
	assert_true(slice_equal(head->fields[0].value, SLICE("one")));
	assert_int_equal(head->fields[0].token, HTTP_TOKEN_NONE);
	assert_int_equal(head->fields[1].token, HTTP_TOKEN_LINK);
	assert_true(slice_equal(head->fields[2].name, SLICE("vary")));
	assert_int_equal(head->fields[2].hash, 0);
	assert_false(head->fields[2].never_index);
	http_head_free(head);
}

static void check_copy(bool is_compact)
{
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("https"));
	http_head_add(head, SLICE(":path"), SLICE("/a"));
	http_head_add(head, SLICE("host"), SLICE("a.example"));
	for (int i = 0; i < 100; i++)
		http_head_add(head, SLICE("x-long"), SLICE("a value that is not short at all"));
	head->fields[2].never_index = true;
	head->fields[50].never_index = true;
	head->fields[50].hash = 77;
	http_head_add_token(head, HTTP_TOKEN_CONTENT_LENGTH, SLICE("9"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	struct http_head *copy = http_head_copy(head);
	size_t list_bytes = head->list_bytes;
	memset((void *)(uintptr_t)head->path.ptr, '!', head->path.len);
	http_head_free(head);
	size_t pooled_bytes = http_head_bytes(copy);
	if (is_compact) {
		struct slice text = arena_copy(&copy->arena, SLICE("in its arena")), none = SLICE("");
		struct slice *const texts[] = {&none, &text};
		copy = http_head_compact(copy, texts, 2);
		assert_slice(text, "in its arena");
		assert_in_range((uintptr_t)text.ptr, (uintptr_t)copy, (uintptr_t)copy + copy->compact_bytes - text.len);
		assert_int_equal(none.len, 0);
		assert_true(http_head_bytes(copy) < pooled_bytes - 2000);
	}
	assert_int_equal(copy->count, 102);
	assert_int_equal(copy->kind, HTTP_REQUEST);
	assert_true(slice_equal(copy->method, SLICE("GET")));
	assert_int_equal(copy->method_token, HTTP_METHOD_GET);
	assert_true(slice_equal(copy->scheme, SLICE("https")));
	assert_true(slice_equal(copy->path, SLICE("/a")));
	assert_true(slice_equal(copy->authority, SLICE("a.example")));
	assert_true(copy->authority_from_host);
	assert_int_equal(copy->never_index_pseudo, HTTP_PSEUDO_PATH);
	assert_int_equal(copy->content_length, 9);
	assert_int_equal(copy->list_bytes, list_bytes);
	assert_true(copy->fields[47].never_index);
	assert_int_equal(copy->fields[47].hash, 77);
	assert_true(slice_equal(copy->fields[47].name, SLICE("x-long")));
	http_head_add(copy, SLICE("x-more"), SLICE("a compact head may grow"));
	assert_slice(copy->fields[102].value, "a compact head may grow");
	http_head_free(copy);
}

static void copy_survives_its_original(void **state)
{
	(void)state;
	check_copy(false);
	check_copy(true);
}

/* What tells of a tunnel is in a copy, with bytes of its own, in an overlay, and not in the next new head. */
static void copies_know_of_the_tunnel(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	char text[] = "websocket, other";
	head->allows_protocol = true;
	head->opens_tunnel = true;
	head->protocol = slice_of(text, 9);
	head->upgrade = slice_of(text, 16);
	struct http_head *copies[] = {http_head_copy(head), http_head_new_like(head)};
	assert_ptr_equal(copies[1]->upgrade.ptr, text);
	memset(text, '!', 16);
	for (size_t i = 0; i < 2; i++) {
		assert_true(copies[i]->allows_protocol);
		assert_true(copies[i]->opens_tunnel);
	}
	assert_slice(copies[0]->protocol, "websocket");
	assert_slice(copies[0]->upgrade, "websocket, other");
	http_head_free(head);
	http_head_free(copies[0]);
	http_head_free(copies[1]);
	head = http_head_new(pool);
	assert_false(head->allows_protocol);
	assert_false(head->opens_tunnel);
	assert_int_equal(head->protocol.len + head->upgrade.len, 0);
	http_head_free(head);
}

static void remove_all_takes_each_token_of_the_set(void **state)
{
	(void)state;
	static const uint8_t set[HTTP_TOKEN_COUNT] = {[HTTP_TOKEN_LINK] = 1, [HTTP_TOKEN_AGE] = 1};
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE("link"), SLICE("1"));
	http_head_add(head, SLICE("x-z"), SLICE("2"));
	http_head_add(head, SLICE("age"), SLICE("3"));
	http_head_add(head, SLICE("vary"), SLICE("4"));
	assert_int_equal(http_head_remove_all(head, set), 2);
	assert_int_equal(head->count, 2);
	assert_true(slice_equal(head->fields[0].value, SLICE("2")));
	assert_true(slice_equal(head->fields[1].value, SLICE("4")));
	http_head_free(head);
}

static void remove_takes_all_of_a_token_and_keeps_order(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE("link"), SLICE("1"));
	http_head_add(head, SLICE("age"), SLICE("2"));
	http_head_add(head, SLICE("link"), SLICE("3"));
	http_head_add(head, SLICE("x-z"), SLICE("4"));
	assert_int_equal(http_head_remove(head, HTTP_TOKEN_VARY), 0);
	assert_int_equal(http_head_remove(head, HTTP_TOKEN_LINK), 2);
	assert_int_equal(head->count, 2);
	assert_true(slice_equal(head->fields[0].value, SLICE("2")));
	assert_true(slice_equal(head->fields[1].value, SLICE("4")));
	assert_null(http_head_find(head, HTTP_TOKEN_LINK));
	assert_ptr_equal(http_head_find(head, HTTP_TOKEN_AGE), &head->fields[0]);
	assert_ptr_equal(http_head_find_name(head, SLICE("x-z")), &head->fields[1]);
	assert_null(http_head_find_name(head, SLICE("x-y")));
	http_head_free(head);
}

/* Strips a head of these "name", "value" pairs; the names left, joined by spaces. */
static const char *stripped(enum http_head_kind kind, const char *const (*pairs)[2], char *out)
{
	struct http_head *head = http_head_new(pool);
	head->kind = kind;
	for (; (*pairs)[0]; pairs++)
		http_head_add(head, slice_of_string((*pairs)[0]), slice_of_string((*pairs)[1]));
	http_head_strip_hop(head);
	*out = 0;
	for (uint32_t i = 0; i < head->count; i++) {
		strncat(out, head->fields[i].name.ptr, head->fields[i].name.len);
		if (head->fields[i].token == HTTP_TOKEN_TE)
			assert_true(slice_equal(head->fields[i].value, SLICE("trailers")));
		strcat(out, " ");
	}
	http_head_free(head);
	return out;
}

#define STRIP(kind, ...)                                                                           \
	stripped(kind, (const char *const[][2]){__VA_ARGS__, {NULL, NULL}}, (char[256]){0})

static void strip_removes_what_is_for_one_hop(void **state)
{
	(void)state;
	assert_string_equal(STRIP(HTTP_RESPONSE, {"age", "1"}, {"http2-settings", "AAA"},
				{"priority", "u=1"}, {"x-any", "1"}, {"te", "trailers"}),
	    "age priority x-any ");
}

static void strip_keeps_one_te_of_requests(void **state)
{
	(void)state;
	assert_string_equal(STRIP(HTTP_REQUEST, {"te", "trailers"}, {"host", "a"}, {"te", "trailers"}), "te host ");
	assert_string_equal(STRIP(HTTP_PROMISE, {"te", "trailers"}), "te ");
}

static void bodyless_responses_are_those_of_the_rules(void **state)
{
	(void)state;
	const struct {
		uint16_t status;
		enum http_method method;
		bool is_bodyless;
	} rows[] = {
	    {200, HTTP_METHOD_GET, false},
	    {200, HTTP_METHOD_HEAD, true},
	    {404, HTTP_METHOD_HEAD, true},
	    {204, HTTP_METHOD_GET, true},
	    {205, HTTP_METHOD_GET, false},
	    {304, HTTP_METHOD_GET, true},
	    {103, HTTP_METHOD_GET, true},
	    {200, HTTP_METHOD_CONNECT, true},
	    {299, HTTP_METHOD_CONNECT, true},
	    {300, HTTP_METHOD_CONNECT, false},
	    {200, HTTP_METHOD_OTHER, false},
	};
	struct http_head *head = http_head_new(pool);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		head->status = rows[i].status;
		assert_int_equal(
		    http_response_is_bodyless(head, rows[i].method), rows[i].is_bodyless);
	}
	http_head_free(head);
}

/* RFC 9110 8.6. */
static void content_length_leaves_responses_that_may_not_have_it(void **state)
{
	(void)state;
	static const struct {
		uint16_t status;
		bool stays;
	} rows[] = {{100, false}, {103, false}, {199, false}, {200, true}, {204, false},
	    {205, true}, {304, true}, {404, true}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *head = http_head_new(pool);
		char status[8];
		snprintf(status, sizeof(status), "%u", rows[i].status);
		http_head_add(head, SLICE(":status"), slice_of_string(status));
		http_head_add(head, SLICE("content-length"), SLICE("5"));
		http_head_add(head, SLICE("x-after"), SLICE("1"));
		assert_null(http_head_validate(head, HTTP_RESPONSE));
		http_response_strip_length(head);
		assert_int_equal(head->count, rows[i].stays ? 2 : 1);
		assert_true(head->content_length == (rows[i].stays ? 5 : HTTP_LENGTH_UNKNOWN));
		http_head_free(head);
	}
}

/* RFC 9113 6.5.2: the size that the decoder counted, for as long as nothing is changed. */
static void list_bytes_are_those_of_the_present_fields(void **state)
{
	(void)state;
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("https"));
	http_head_add(head, SLICE(":authority"), SLICE("a.example"));
	http_head_add(head, SLICE(":path"), SLICE("/"));
	http_head_add(head, SLICE("x-any"), SLICE("1234"));
	assert_null(http_head_validate(head, HTTP_REQUEST));
	assert_int_equal(head->list_bytes, 42 + 44 + 51 + 38 + 41);
	assert_int_equal(http_head_list_bytes(head), head->list_bytes);
	head->scheme = SLICE("http");
	http_head_add(head, SLICE("via"), SLICE("2 x"));
	assert_int_equal(http_head_list_bytes(head), head->list_bytes - 1 + 38);
	http_head_free(head);
	head = http_head_new(pool);
	http_head_add(head, SLICE(":status"), SLICE("404"));
	http_head_add(head, SLICE("x"), SLICE(""));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	assert_int_equal(http_head_list_bytes(head), 42 + 33);
	assert_int_equal(head->list_bytes, 42 + 33);
	http_head_free(head);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(freed_head_comes_back_empty),
	    cmocka_unit_test(usual_head_touches_no_heap_and_a_large_one_gives_it_back),
	    cmocka_unit_test(pool_keeps_no_more_than_it_was_told),
	    cmocka_unit_test(fields_keep_their_order_through_growth),
	    cmocka_unit_test(add_copies_and_finds_the_token),
	    cmocka_unit_test(copy_survives_its_original),
	    cmocka_unit_test(copies_know_of_the_tunnel),
	    cmocka_unit_test(remove_takes_all_of_a_token_and_keeps_order),
    cmocka_unit_test(remove_all_takes_each_token_of_the_set),
	    cmocka_unit_test(strip_removes_what_is_for_one_hop),
	    cmocka_unit_test(strip_keeps_one_te_of_requests),
	    cmocka_unit_test(bodyless_responses_are_those_of_the_rules),
	    cmocka_unit_test(content_length_leaves_responses_that_may_not_have_it),
	    cmocka_unit_test(list_bytes_are_those_of_the_present_fields),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
