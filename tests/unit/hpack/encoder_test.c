/* SPDX-License-Identifier: MIT */
/* What the encoder writes: validated heads, sizes, secrets, and its choice of what to index. */
#include "tests/unit/hpack/kit.h"

struct fixture {
	struct http_head_pool *pool;
	struct hpack_encoder *e;
	struct http_head *head;
};

static int set_up(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	if (!f)
		return -1;
	f->pool = http_head_pool_new(2);
	f->e = hpack_encoder_new(4096, KIT_SEED);
	f->head = http_head_new(f->pool);
	f->head->kind = HTTP_TRAILERS;
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	http_head_free(f->head);
	hpack_encoder_free(f->e);
	http_head_pool_free(f->pool);
	free(f);
	return 0;
}

static void add(struct fixture *f, const char *name, const char *value)
{
	http_head_add(f->head, slice_of_string(name), slice_of_string(value));
}

static void validate(struct fixture *f, enum http_head_kind kind)
{
	const char *fault = http_head_validate(f->head, kind);

	if (fault)
		fail_msg("%s", fault);
}

/* What a fresh decoder reads of the head that `e` encodes; both are given back. */
static void expect_reads_as(struct fixture *f, const char *expected)
{
	struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);
	struct http_head *got = http_head_new(f->pool);
	struct slice block = kit_encode(f->e, f->head);

	assert_int_equal(hpack_decode(d, block, KIT_NO_LIMIT, got), HPACK_OK);
	kit_expect_list(got, expected);
	free((void *)block.ptr);
	http_head_free(got);
	hpack_decoder_free(d);
}

/* How one field is represented (RFC 7541 6), by the first byte of the block. */
enum representation { INDEXED, INCREMENTAL, UPDATE, NEVER, PLAIN };

static enum representation written_as(struct fixture *f)
{
	struct slice block = kit_encode(f->e, f->head);
	assert_true(block.len > 0);
	uint8_t first = (uint8_t)block.ptr[0];

	free((void *)block.ptr);
	return first & 0x80   ? INDEXED
	       : first & 0x40 ? INCREMENTAL
	       : first & 0x20 ? UPDATE
	       : first & 0x10 ? NEVER
			      : PLAIN;
}

static void settled_request_puts_pseudo_fields_first(void **state)
{
	struct fixture *f = *state;

	add(f, ":method", "POST");
	add(f, ":path", "/a?b");
	add(f, ":scheme", "https");
	add(f, ":authority", "example.com");
	add(f, "accept", "*/*");
	validate(f, HTTP_REQUEST);
	expect_reads_as(f, ":method: POST\n:scheme: https\n:authority: example.com\n:path: /a?b\n"
			   "accept: */*\n");
}

static void what_a_request_does_not_have_is_not_written(void **state)
{
	struct fixture *f = *state;

	f->head->kind = HTTP_REQUEST;
	f->head->method = SLICE("CONNECT");
	f->head->method_token = HTTP_METHOD_CONNECT;
	f->head->authority = SLICE("a:443");
	expect_reads_as(f, ":method: CONNECT\n:authority: a:443\n");
	f->head->method = SLICE("OPTIONS");
	f->head->method_token = HTTP_METHOD_OPTIONS;
	f->head->authority = SLICE("");
	f->head->path = SLICE("*");
	expect_reads_as(f, ":method: OPTIONS\n:path: *\n");
	f->head->method = SLICE("");
	expect_reads_as(f, ":path: *\n");
}

/* Each value is new: it is not inserted, and Huffman code would make it longer. */
static void a_traceparent_is_written_as_it_is(void **state)
{
	struct fixture *f = *state;
	static const char expected[] = "\0\013traceparent\067" "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
	char large[300] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-";

	add(f, "traceparent", expected + 14);
	/* Its key, if it came by way of a decoder, is that of no entry. */
	for (uint32_t again = 0; again < 3; again++) {
		f->head->fields[0].hash = again * 100;
		struct slice block = kit_encode(f->e, f->head);
		assert_int_equal(block.len, sizeof(expected) - 1);
		assert_memory_equal(block.ptr, expected, block.len);
		free((void *)block.ptr);
	}
	f->head->fields[0].never_index = true;
	assert_int_equal(written_as(f), NEVER);
	f->head->count = 0;
	memset(large + strlen(large), 'x', sizeof(large) - 1 - strlen(large));
	add(f, "traceparent", large);
	add(f, "traceparent", "");
	char list[400];
	snprintf(list, sizeof(list), "traceparent: %s\ntraceparent: \n", large);
	expect_reads_as(f, list);
}

/* RFC 7541 4.4: it would only empty the table. */
static void a_field_larger_than_the_table_empties_it_at_most(void **state)
{
	struct fixture *f = *state;
	char large[200];

	memset(large, 'v', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	hpack_encoder_set_limit(f->e, 100);
	add(f, "x-large", large);
	validate(f, HTTP_TRAILERS);
	char expected[300];
	snprintf(expected, sizeof(expected), "x-large: %s\n", large);
	struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);
	for (int i = 0; i < 4; i++) {
		struct http_head *got = http_head_new(f->pool);
		struct slice block = kit_encode(f->e, f->head);
		assert_int_equal(hpack_decode(d, block, KIT_NO_LIMIT, got), HPACK_OK);
		kit_expect_list(got, expected);
		free((void *)block.ptr);
		http_head_free(got);
	}
	hpack_decoder_free(d);
}

static void a_table_that_shrank_and_grew_back_is_announced_empty(void **state)
{
	struct fixture *f = *state;

	add(f, "x-custom", "value");
	validate(f, HTTP_TRAILERS);
	assert_int_equal(written_as(f), PLAIN); /* worth an entry the second time */
	assert_int_equal(written_as(f), INCREMENTAL);
	assert_int_equal(written_as(f), INDEXED);
	hpack_encoder_set_limit(f->e, 0);
	hpack_encoder_set_limit(f->e, 4096);
	/* RFC 7541 4.2: the smallest size, then the one that holds. */
	struct slice block = kit_encode(f->e, f->head);
	assert_true(block.len > 4);
	assert_memory_equal(block.ptr, "\x20\x3f\xe1\x1f", 4);
	free((void *)block.ptr);
	/* And an equal one is nothing new. */
	hpack_encoder_set_limit(f->e, 4096);
	assert_int_not_equal(written_as(f), UPDATE);
}

static void usual_request_is_mostly_static(void **state)
{
	struct fixture *f = *state;

	add(f, ":method", "GET");
	add(f, ":scheme", "https");
	add(f, ":authority", "www.example.com");
	add(f, ":path", "/");
	add(f, "accept-encoding", "gzip, deflate");
	validate(f, HTTP_REQUEST);
	kit_expect_bytes(f->e, f->head, "82 87 418c f1e3c2e5f23a6ba0ab90f4ff 84 90");
	kit_expect_bytes(f->e, f->head, "82 87 be 84 90");
}

static void freeing_nothing_is_fine(void **state)
{
	(void)state;

	hpack_encoder_free(NULL);
	hpack_decoder_free(NULL);
}

static void extended_connect_keeps_its_protocol(void **state)
{
	struct fixture *f = *state;

	f->head->kind = HTTP_REQUEST;
	f->head->method = SLICE("CONNECT");
	f->head->method_token = HTTP_METHOD_CONNECT;
	f->head->protocol = SLICE("websocket");
	f->head->scheme = SLICE("https");
	f->head->path = SLICE("/chat");
	f->head->authority = SLICE("example.com");
	expect_reads_as(f, ":method: CONNECT\n:scheme: https\n:authority: example.com\n"
			   ":path: /chat\n:protocol: websocket\n");
}

static void plain_connect_has_method_and_authority_alone(void **state)
{
	struct fixture *f = *state;

	add(f, ":method", "CONNECT");
	add(f, ":authority", "example.com:443");
	validate(f, HTTP_REQUEST);
	expect_reads_as(f, ":method: CONNECT\n:authority: example.com:443\n");
}

static void response_status_is_one_byte_when_the_static_table_has_it(void **state)
{
	static const struct {
		uint16_t status;
		uint8_t byte;
	} rows[] = {{200, 0x88}, {204, 0x89}, {206, 0x8a}, {304, 0x8b}, {400, 0x8c}, {404, 0x8d},
	    {500, 0x8e}};
	struct fixture *f = *state;

	f->head->kind = HTTP_RESPONSE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->head->status = rows[i].status;
		struct slice block = kit_encode(f->e, f->head);
		assert_int_equal(block.len, 1);
		assert_int_equal((uint8_t)block.ptr[0], rows[i].byte);
		free((void *)block.ptr);
	}
}

static void other_status_is_spelt_once_then_indexed(void **state)
{
	struct fixture *f = *state;

	f->head->kind = HTTP_RESPONSE;
	f->head->status = 103;
	kit_expect_bytes(f->e, f->head, "48 82 0819");
	kit_expect_bytes(f->e, f->head, "be");
}

static void never_indexed_pseudo_fields_stay_so(void **state)
{
	struct fixture *f = *state;

	add(f, ":method", "GET");
	add(f, ":scheme", "https");
	add(f, ":authority", "example.com");
	add(f, ":path", "/secret");
	for (uint32_t i = 0; i < 4; i++)
		f->head->fields[i].never_index = true;
	validate(f, HTTP_REQUEST);
	for (int i = 0; i < 3; i++)
		expect_reads_as(f, "!:method: GET\n!:scheme: https\n!:authority: example.com\n"
				   "!:path: /secret\n");
}

static void never_indexed_status_stays_so(void **state)
{
	struct fixture *f = *state;

	add(f, ":status", "200");
	f->head->fields[0].never_index = true;
	validate(f, HTTP_RESPONSE);
	expect_reads_as(f, "!:status: 200\n");
}

static void secrets_are_never_indexed(void **state)
{
	static const char *const secrets[][2] = {
	    {"authorization", "Basic YTpi"},
	    {"proxy-authorization", "Basic YTpi"},
	    {"set-cookie", "session=0123456789abcdef0123456789abcdef"},
	    {"cookie", "pin=1234"},
	};

	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		struct fixture *f = *state;
		add(f, secrets[i][0], secrets[i][1]);
		for (int times = 0; times < 3; times++)
			assert_int_equal(written_as(f), NEVER);
		f->head->count = 0;
	}
}

static void long_cookie_is_indexed(void **state)
{
	struct fixture *f = *state;

	add(f, "cookie", "session=0123456789abcdef");
	assert_int_equal(written_as(f), INCREMENTAL);
	assert_int_equal(written_as(f), INDEXED);
}

static void never_indexed_value_is_not_found_in_the_table(void **state)
{
	struct fixture *f = *state;

	add(f, "user-agent", "x/1");
	assert_int_equal(written_as(f), INCREMENTAL);
	f->head->fields[0].never_index = true;
	assert_int_equal(written_as(f), NEVER);
}

static void changing_values_are_indexed_when_they_come_again(void **state)
{
	static const char *const names[] = {":path", "content-length", "date", "etag", "age",
	    "last-modified", "if-none-match", "location", "x-request-id"};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		add(f, names[i], "12345");
		assert_int_equal(written_as(f), PLAIN);
		assert_int_equal(written_as(f), INCREMENTAL);
		assert_int_equal(written_as(f), INDEXED);
		f->head->count = 0;
	}
}

static void values_that_never_repeat_leave_the_table_alone(void **state)
{
	struct fixture *f = *state;

	add(f, "server", "origin");
	assert_int_equal(written_as(f), INCREMENTAL);
	for (int i = 0; i < 2000; i++) {
		f->head->count = 0;
		http_head_add(f->head, SLICE("etag"), arena_printf(&f->head->arena, "\"%d\"", i));
		assert_int_equal(written_as(f), PLAIN);
	}
	f->head->count = 0;
	add(f, "server", "origin");
	assert_int_equal(written_as(f), INDEXED);
}

static void entry_above_half_of_the_table_is_not_indexed(void **state)
{
	struct fixture *f = *state;
	char value[2048];

	memset(value, 'v', sizeof(value));
	http_head_add(f->head, SLICE("server"), slice_of(value, 2048 - 32 - 6));
	assert_int_equal(written_as(f), INCREMENTAL);
	f->head->count = 0;
	http_head_add(f->head, SLICE("server"), slice_of(value, 2048 - 32 - 6 + 1));
	assert_int_equal(written_as(f), PLAIN);
	assert_int_equal(written_as(f), PLAIN);
}

static void huffman_is_used_only_when_shorter(void **state)
{
	struct fixture *f = *state;

	add(f, "server", "aaa"); /* 15 bits: 2 bytes instead of 3 */
	kit_expect_bytes(f->e, f->head, "76 82 18c7");
	f->head->count = 0;
	add(f, "server", "a"); /* no gain */
	kit_expect_bytes(f->e, f->head, "76 01 61");
	f->head->count = 0;
	add(f, "server", "\\\\\\"); /* 57 bits */
	kit_expect_bytes(f->e, f->head, "76 03 5c5c5c");
}

static void length_of_a_long_string_takes_as_many_bytes_as_needed(void **state)
{
	struct fixture *f = *state;

	/* 130 letters need two bytes of length, their 82 bytes of code one. */
	for (unsigned n = 120; n < 420; n++) {
		struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);
		struct http_head *got = http_head_new(f->pool);
		char *value = arena_bytes(&f->head->arena, n);
		memset(value, n % 2 ? 'a' : '\\', n);
		f->head->count = 0;
		http_head_add(f->head, SLICE("etag"), slice_of(value, n));
		struct slice block = kit_encode(f->e, f->head);
		assert_int_equal(hpack_decode(d, block, KIT_NO_LIMIT, got), HPACK_OK);
		assert_int_equal(got->count, 1);
		assert_true(slice_equal(got->fields[0].value, slice_of(value, n)));
		free((void *)block.ptr);
		http_head_free(got);
		hpack_decoder_free(d);
	}
}

static void wrong_key_costs_compression_alone(void **state)
{
	struct fixture *f = *state;

	add(f, "server", "origin");
	f->head->fields[0].hash = 8; /* the static table's ":status: 200" */
	expect_reads_as(f, "server: origin\n");
	f->head->fields[0].hash = 54; /* "server" without a value */
	assert_int_equal(written_as(f), INDEXED);
	f->head->count = 0;
	add(f, "server", "other");
	f->head->fields[0].hash = 4711;
	expect_reads_as(f, "server: other\n");
	f->head->count = 0;
	add(f, "via", "2 other");
	f->head->fields[0].hash = 4711;
	expect_reads_as(f, "via: 2 other\n");
}

static void peer_without_a_table_gets_literals_alone(void **state)
{
	struct fixture *f = *state;

	add(f, "server", "a");
	hpack_encoder_set_limit(f->e, 0);
	kit_expect_bytes(f->e, f->head, "20 0f27 01 61");
	kit_expect_bytes(f->e, f->head, "0f27 01 61");
	f->head->count = 0;
	add(f, "accept-encoding", "gzip, deflate");
	kit_expect_bytes(f->e, f->head, "90");
}

static void smallest_then_last_size_begin_the_next_block(void **state)
{
	struct fixture *f = *state;

	add(f, "accept", "");
	hpack_encoder_set_limit(f->e, 100);
	hpack_encoder_set_limit(f->e, 10);
	hpack_encoder_set_limit(f->e, 200);
	kit_expect_bytes(f->e, f->head, "2a 3fa901 93");
	kit_expect_bytes(f->e, f->head, "93"); /* once */
}

static void size_that_came_back_is_still_announced_with_the_smallest(void **state)
{
	struct fixture *f = *state;

	add(f, "accept", "");
	hpack_encoder_set_limit(f->e, 0);
	hpack_encoder_set_limit(f->e, 4096);
	kit_expect_bytes(f->e, f->head, "20 3fe11f 93");
}

static void unchanged_size_is_not_announced(void **state)
{
	struct fixture *f = *state;

	add(f, "accept", "");
	hpack_encoder_set_limit(f->e, 4096);
	kit_expect_bytes(f->e, f->head, "93");
	hpack_encoder_set_limit(f->e, 65536); /* more than we want */
	kit_expect_bytes(f->e, f->head, "93");
}

static void own_limit_below_the_default_is_announced_first(void **state)
{
	struct fixture *f = *state;
	struct hpack_encoder *e = hpack_encoder_new(1000, KIT_SEED);

	add(f, "accept", "");
	kit_expect_bytes(e, f->head, "3fc907 93");
	hpack_encoder_free(e);
}

static void own_limit_above_the_default_waits_for_the_peer(void **state)
{
	struct fixture *f = *state;
	struct hpack_encoder *e = hpack_encoder_new(8192, KIT_SEED);

	add(f, "accept", "");
	kit_expect_bytes(e, f->head, "93");
	hpack_encoder_set_limit(e, 65536);
	kit_expect_bytes(e, f->head, "3fe13f 93"); /* 8192 */
	hpack_encoder_free(e);
}

static void shrinking_gives_memory_back(void **state)
{
	struct fixture *f = *state;
	size_t unused = hpack_encoder_bytes(f->e);

	assert_true(unused < 200);
	for (int i = 0; i < 100; i++) {
		f->head->count = 0;
		http_head_add(f->head, SLICE("via"), arena_printf(&f->head->arena, "2 hop%d", i));
		assert_int_equal(written_as(f), INCREMENTAL);
	}
	size_t full = hpack_encoder_bytes(f->e);
	assert_true(full > 4096 && full < 4 * 4096 + unused);
	hpack_encoder_set_limit(f->e, 0);
	assert_int_equal(written_as(f), UPDATE);
	assert_int_equal(hpack_encoder_bytes(f->e), unused);
}

static void key_of_a_decoder_finds_the_encoders_entry(void **state)
{
	struct fixture *f = *state;
	struct hpack_decoder *d = hpack_decoder_new(4096, KIT_SEED);
	struct http_head *got = http_head_new(f->pool);

	/* The encoder learns the value without a key, and finds it with the decoder's. */
	add(f, "server", "origin");
	struct slice block = kit_encode(f->e, f->head);
	assert_int_equal(hpack_decode(d, block, KIT_NO_LIMIT, got), HPACK_OK);
	assert_int_not_equal(got->fields[0].hash, 0);
	got->kind = HTTP_TRAILERS;
	kit_expect_bytes(f->e, got, "be");
	free((void *)block.ptr);
	http_head_free(got);
	hpack_decoder_free(d);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(settled_request_puts_pseudo_fields_first),
	    TEST(usual_request_is_mostly_static),
	    TEST(what_a_request_does_not_have_is_not_written),
	    TEST(a_traceparent_is_written_as_it_is),
	    TEST(a_field_larger_than_the_table_empties_it_at_most),
	    TEST(a_table_that_shrank_and_grew_back_is_announced_empty),
	    TEST(freeing_nothing_is_fine),
	    TEST(extended_connect_keeps_its_protocol),
	    TEST(plain_connect_has_method_and_authority_alone),
	    TEST(response_status_is_one_byte_when_the_static_table_has_it),
	    TEST(other_status_is_spelt_once_then_indexed),
	    TEST(never_indexed_pseudo_fields_stay_so),
	    TEST(never_indexed_status_stays_so),
	    TEST(secrets_are_never_indexed),
	    TEST(long_cookie_is_indexed),
	    TEST(never_indexed_value_is_not_found_in_the_table),
	    TEST(changing_values_are_indexed_when_they_come_again),
	    TEST(values_that_never_repeat_leave_the_table_alone),
	    TEST(entry_above_half_of_the_table_is_not_indexed),
	    TEST(huffman_is_used_only_when_shorter),
	    TEST(length_of_a_long_string_takes_as_many_bytes_as_needed),
	    TEST(wrong_key_costs_compression_alone),
	    TEST(peer_without_a_table_gets_literals_alone),
	    TEST(smallest_then_last_size_begin_the_next_block),
	    TEST(size_that_came_back_is_still_announced_with_the_smallest),
	    TEST(unchanged_size_is_not_announced),
	    TEST(own_limit_below_the_default_is_announced_first),
	    TEST(own_limit_above_the_default_waits_for_the_peer),
	    TEST(shrinking_gives_memory_back),
	    TEST(key_of_a_decoder_finds_the_encoders_entry),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
