/* SPDX-License-Identifier: MIT */
/* Field blocks over several frames, padding, and blocks that do not decode: RFC 9113 4.3, 6.2, 6.6,
 * 6.10; RFC 7541. */
#include "tests/support/h2_script.h"

#include <stdio.h>

#define REQUEST ":method", "GET", ":scheme", "https", ":authority", "example.org", ":path", "/block"

static struct script *client_with_request(void)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_gets(s), 1);
	script_clears(s);
	return s;
}

static bool path_is(const struct script_event *e, const char *path)
{
	return slice_equal(e->head->path, slice_of_string(path));
}

/* A block in pieces of `most` bytes, the first frame with `first` bytes of fixed fields. */
static void sends_in_pieces(struct script *s, uint8_t type, uint8_t flags, uint32_t id,
    const uint8_t *block, size_t length, size_t first, size_t most)
{
	script_sends_raw(s, type, flags, id, block, first);
	for (size_t at = first; at < length;) {
		size_t n = length - at < most ? length - at : most;
		bool last = at + n == length;
		script_sends_raw(s, H2_CONTINUATION, last ? H2_END_HEADERS : 0, id, block + at, n);
		at += n;
	}
}

/* covers: R68 */
SCRIPT_TEST(request_in_continuations_of_every_size)
{
	for (size_t most = 1; most < 9; most++)
		for (size_t first = 0; first < 5; first++) {
			struct script *s = script_open(H2_SERVER);
			uint8_t block[256];
			size_t n =
			    script_encodes(s, block, sizeof block, REQUEST, "x-a", "b", NULL);
			sends_in_pieces(s, H2_HEADERS, H2_END_STREAM, 1, block, n, first, most);
			struct script_event *e = script_expects_head(s, 1, true);
			assert_true(path_is(e, "/block"));
			script_sends_get(s, 3);
			script_expects_head(s, 3, true);
			script_close(s);
		}
}

/* covers: R47 P-recv-continuation */
SCRIPT_TEST(promise_in_continuations_of_every_size)
{
	for (size_t most = 1; most < 9; most += 3)
		for (size_t first = 4; first < 8; first++) {
			struct script *s = client_with_request();
			uint8_t block[256];
			script_put32(block, 2);
			size_t n =
			    4 + script_encodes(s, block + 4, sizeof block - 4, REQUEST, NULL);
			sends_in_pieces(s, H2_PUSH_PROMISE, 0, 1, block, n, first, most);
			struct script_event *e = script_expects_event(s, SESSION_EVENT_PROMISE, 1);
			assert_int_equal(e->promised, 2);
			assert_true(path_is(e, "/block"));
			script_expects_alive(s);
			script_close(s);
		}
}

/* covers: R47 */
SCRIPT_TEST(empty_first_fragment_and_empty_continuations_are_fine)
{
	struct script *s = script_open(H2_SERVER);
	uint8_t block[256];
	size_t n = script_encodes(s, block, sizeof block, REQUEST, NULL);
	script_sends_raw(s, H2_HEADERS, H2_END_STREAM, 1, NULL, 0);
	script_sends_raw(s, H2_CONTINUATION, 0, 1, NULL, 0);
	script_sends_raw(s, H2_CONTINUATION, 0, 1, block, n);
	script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, 1, NULL, 0);
	script_expects_head(s, 1, true);
	script_close(s);
}

/* covers: R47 */
SCRIPT_TEST(promise_with_only_its_id_in_the_first_frame_and_padding)
{
	struct script *s = client_with_request();
	uint8_t block[256] = {3, 0, 0, 0, 2, 0, 0, 0};
	script_sends_raw(s, H2_PUSH_PROMISE, H2_PADDED, 1, block, 8);
	size_t n = script_encodes(s, block, sizeof block, REQUEST, NULL);
	script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, 1, block, n);
	assert_int_equal(script_expects_event(s, SESSION_EVENT_PROMISE, 1)->promised, 2);
	script_close(s);
}

/* Frames that must not stand inside a block: each type, on the stream, another one and zero. */
static void interrupts(enum h2_role role, uint8_t type, uint32_t id, size_t length)
{
	struct script *s = role == H2_SERVER ? script_open(role) : client_with_request();
	uint8_t block[256];
	size_t n;
	if (role == H2_SERVER) {
		n = script_encodes(s, block, sizeof block, REQUEST, NULL);
		script_sends_raw(s, H2_HEADERS, H2_END_STREAM, 1, block, n / 2);
	} else {
		script_put32(block, 2);
		n = 4 + script_encodes(s, block + 4, sizeof block - 4, REQUEST, NULL);
		script_sends_raw(s, H2_PUSH_PROMISE, 0, 1, block, n / 2);
	}
	script_sends_raw(s, type, 0, id, "\0\0\0\5\0\0\0\0", length);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* covers: R8 P-recv-continuation */
SCRIPT_TEST(nothing_but_continuation_may_stand_inside_a_block)
{
	for (int i = 0; i < 2; i++) {
		enum h2_role role = (enum h2_role)i;
		for (uint32_t id = 1; id < 4; id++) {
			interrupts(role, H2_DATA, id, 8);
			interrupts(role, H2_HEADERS, id, 8);
			interrupts(role, H2_PRIORITY, id, 5);
			interrupts(role, H2_RST_STREAM, id, 4);
			interrupts(role, H2_PUSH_PROMISE, id, 8);
			interrupts(role, H2_WINDOW_UPDATE, id, 4);
			interrupts(role, 0xee, id, 8);
		}
		interrupts(role, H2_SETTINGS, 0, 0);
		interrupts(role, H2_PING, 0, 8);
		interrupts(role, H2_GOAWAY, 0, 8);
		interrupts(role, H2_WINDOW_UPDATE, 0, 4);
		interrupts(role, H2_PRIORITY_UPDATE, 0, 8);
		interrupts(role, 0xee, 0, 8);
		interrupts(role, H2_CONTINUATION, 2, 8);
		interrupts(role, H2_CONTINUATION, 3, 8);
		interrupts(role, H2_CONTINUATION, 0, 8);
	}
}

/* covers: R8 P-recv-continuation */
SCRIPT_TEST(stray_continuation_is_protocol_error)
{
	for (int i = 0; i < 2; i++) {
		struct script *s = i ? client_with_request() : script_open(H2_SERVER);
		if (i == 0)
			script_sends_post(s, 1);
		script_clears(s);
		script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, 1, "\x88", 1);
		script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
		script_close(s);
	}
}

/* ---- padding ---- */

SCRIPT_TEST(padding_of_headers_is_cut_off)
{
	for (uint32_t padding = 0; padding < 256; padding += 51) {
		struct script *s = script_open(H2_SERVER);
		uint8_t block[512] = {(uint8_t)padding};
		size_t n = 1 + script_encodes(s, block + 1, 200, REQUEST, NULL);
		memset(block + n, 0, padding);
		script_sends_raw(s, H2_HEADERS, H2_PADDED | H2_END_HEADERS | H2_END_STREAM, 1,
		    block, n + padding);
		script_expects_head(s, 1, true);
		script_close(s);
	}
}

SCRIPT_TEST(padding_and_priority_together)
{
	struct script *s = script_open(H2_SERVER);
	uint8_t block[512] = {7, 0, 0, 0, 0, 16};
	size_t n = 6 + script_encodes(s, block + 6, 200, REQUEST, NULL);
	memset(block + n, 0, 7);
	script_sends_raw(s, H2_HEADERS,
	    H2_PADDED | H2_HAS_PRIORITY | H2_END_HEADERS | H2_END_STREAM, 1, block, n + 7);
	script_expects_head(s, 1, true);
	script_close(s);
}

static void padding_is_error(
    enum h2_role role, uint8_t type, uint8_t flags, const char *payload, size_t length)
{
	struct script *s = role == H2_SERVER ? script_open(role) : client_with_request();
	if (role == H2_SERVER && type == H2_DATA)
		script_sends_post(s, 1);
	script_clears(s);
	script_sends_raw(s, type, flags | H2_PADDED, 1, payload, length);
	script_expects_connection_error(s, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

/* covers: R7 P-recv-padding */
SCRIPT_TEST(padding_as_long_as_the_payload_or_longer_is_protocol_error)
{
	padding_is_error(H2_SERVER, H2_DATA, 0, "\1", 1);
	padding_is_error(H2_SERVER, H2_DATA, 0, "\4ddd", 4);
	padding_is_error(H2_SERVER, H2_DATA, 0, "\377ddd", 4);
	padding_is_error(H2_SERVER, H2_HEADERS, H2_END_HEADERS, "\1", 1);
	padding_is_error(H2_SERVER, H2_HEADERS, H2_END_HEADERS, "\5\x82\x87\x84", 4);
	padding_is_error(
	    H2_SERVER, H2_HEADERS, H2_END_HEADERS | H2_HAS_PRIORITY, "\4\0\0\0\0\1\x82\x87\x84", 9);
	padding_is_error(H2_CLIENT, H2_PUSH_PROMISE, H2_END_HEADERS, "\1\0\0\0\2", 5);
	padding_is_error(H2_CLIENT, H2_PUSH_PROMISE, H2_END_HEADERS, "\5\0\0\0\2\x82\x87\x84", 8);
}

/* Padding that leaves no room for the fields is one error, that it leaves none for a block another. */
SCRIPT_TEST(padding_that_leaves_an_empty_block_is_a_malformed_message)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_raw(
	    s, H2_HEADERS, H2_PADDED | H2_END_HEADERS | H2_END_STREAM, 1, "\3\0\0\0", 4);
	script_expects_stream_error(s, 1, SESSION_PROTOCOL_ERROR);
	script_close(s);
}

SCRIPT_TEST(data_padding_is_not_delivered)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_padded_data(s, 1, 0, 10, 255);
	script_expects_data(s, 1, 10, false);
	script_sends_padded_data(s, 1, 0, 10, 0);
	script_expects_data(s, 1, 10, false);
	script_sends_padded_data(s, 1, H2_END_STREAM, 5, 9);
	script_expects_data(s, 1, 5, true);
	script_close(s);
}

SCRIPT_TEST(data_that_is_all_padding_may_end_the_stream)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_padded_data(s, 1, H2_END_STREAM, 0, 100);
	script_expects_data(s, 1, 0, true);
	script_expects_nothing(s);
	script_close(s);
}

/* ---- blocks that do not decode ---- */

static void block_is_bad(const char *what, const void *bytes, size_t length)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_raw(s, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 1, bytes, length);
	script_expects_connection_error(s, SESSION_COMPRESSION_ERROR);
	script_close(s);
	s = client_with_request();
	script_sends_raw(s, H2_HEADERS, H2_END_HEADERS, 1, bytes, length);
	script_expects_connection_error(s, SESSION_COMPRESSION_ERROR);
	script_close(s);
	s = client_with_request();
	uint8_t promise[64] = {0, 0, 0, 2};
	memcpy(promise + 4, bytes, length);
	script_sends_raw(s, H2_PUSH_PROMISE, H2_END_HEADERS, 1, promise, length + 4);
	script_expects_connection_error(s, SESSION_COMPRESSION_ERROR);
	script_close(s);
	/* Trailers are decoded by the same decoder. */
	s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_raw(s, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 1, bytes, length);
	script_expects_connection_error(s, SESSION_COMPRESSION_ERROR);
	script_close(s);
	(void)what;
}

/* covers: R9 P-recv-block-bad */
SCRIPT_TEST(blocks_that_do_not_decode_are_compression_errors)
{
	block_is_bad("index 0", "\x80", 1);
	block_is_bad("index above both tables", "\xff\x7f", 2);
	block_is_bad("index just above the tables", "\xff\x20", 2);
	block_is_bad("name index above the tables",
	    "\x7f\x7f\x01"
	    "a",
	    4);
	block_is_bad("unfinished integer", "\xff\xff", 2);
	block_is_bad("integer overflow", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	block_is_bad("string longer than the block",
	    "\x00\x05"
	    "ab",
	    4);
	block_is_bad("no value",
	    "\x00\x01"
	    "a",
	    3);
	block_is_bad("size update above the limit", "\x3f\xe2\x1f", 3);
	block_is_bad("size update after a field", "\x82\x20", 2);
	block_is_bad("Huffman EOS", "\x00\x84\xff\xff\xff\xff\x00", 7);
	block_is_bad("Huffman padding of zeros", "\x00\x81\x18\x00", 4);
	block_is_bad("Huffman padding of more than 7 bits", "\x00\x82\x1f\xff\x00", 5);
}

/* covers: R9 */
SCRIPT_TEST(bad_block_in_continuation_is_compression_error)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_raw(s, H2_HEADERS, H2_END_STREAM, 1, "\x82", 1);
	script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, 1, "\x80", 1);
	script_expects_connection_error(s, SESSION_COMPRESSION_ERROR);
	script_close(s);
}

/* covers: R9 R23 */
SCRIPT_TEST(bad_block_for_a_stream_we_have_reset_is_compression_error)
{
	struct script *s = client_with_request();
	script_sends_ok(s, 1, 0);
	script_expects_head(s, 1, false);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_sends_raw(s, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 1, "\x80", 1);
	script_expects_connection_error(s, SESSION_COMPRESSION_ERROR);
	script_close(s);
}

/* RFC 7541 4.2: after our smaller limit is acknowledged the next block must begin with an update. */
SCRIPT_TEST(size_updates_up_to_our_limit_are_accepted_at_the_start)
{
	struct script *s = script_open(H2_SERVER);
	uint8_t block[256] = {0x20, 0x3f, 0xe1, 0x1f}; /* to 0, then to 4096 */
	size_t n = 4 + script_encodes(s, block + 4, sizeof block - 4, REQUEST, NULL);
	script_sends_raw(s, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 1, block, n);
	script_expects_head(s, 1, true);
	script_close(s);
}

SCRIPT_TEST(our_table_size_of_zero_is_kept_to)
{
	struct h2_settings local = h2_settings_initial;
	local.header_table_size = 0;
	struct script *s = script_open_with(H2_SERVER, &(struct script_options){.local = &local});
	for (uint32_t id = 1; id < 9; id += 2) {
		script_sends_get(s, id); /* the peer's encoder starts with an update to 0 */
		script_expects_head(s, id, true);
	}
	/* More than 0 is more than we said. */
	script_sends_raw(s, H2_HEADERS, H2_END_HEADERS | H2_END_STREAM, 9, "\x21\x82\x87\x84", 4);
	script_expects_connection_error(s, SESSION_COMPRESSION_ERROR);
	script_close(s);
}

/* ---- the state of compression ---- */

/* covers: R23 R22 */
SCRIPT_TEST(malformed_message_leaves_compression_in_step)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_headers(s, 1, H2_END_STREAM, ":method", "GET", "x-kept", "in the table", NULL);
	script_expects_stream_error(s, 1, SESSION_PROTOCOL_ERROR);
	script_sends_headers(s, 3, H2_END_STREAM, REQUEST, "x-kept", "in the table", NULL);
	struct script_event *e = script_expects_head(s, 3, true);
	assert_non_null(http_head_find_name(e->head, SLICE("x-kept")));
	script_close(s);
}

/* covers: R23 P-recv-after-reset P-recv-decoded */
SCRIPT_TEST(blocks_for_reset_streams_are_decoded_with_continuations_and_updates)
{
	struct script *s = client_with_request();
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_resets(s, 2, SESSION_CANCEL);
	script_expects_rst(s, 2, SESSION_CANCEL);
	uint8_t block[256] = {0x3f, 0xe1, 0x1f};
	size_t n = 3 + script_encodes(s, block + 3, sizeof block - 3, ":status", "200", "x-kept",
			   "by the decoder", NULL);
	sends_in_pieces(s, H2_HEADERS, 0, 2, block, n, 2, 3);
	script_sends_headers(s, 2, H2_END_STREAM, "x-late", "too", NULL);
	script_expects_nothing(s);
	script_sends_headers(s, 1, H2_END_STREAM, ":status", "200", "x-kept", "by the decoder",
	    "x-late", "too", NULL);
	struct script_event *e = script_expects_head(s, 1, true);
	assert_int_equal(e->head->count, 2);
	script_close(s);
}

/* covers: R24 */
SCRIPT_TEST(never_indexed_fields_stay_so_in_and_out)
{
	struct script *s = client_with_request();
	script_sends_headers(s, 1, 0, ":status", "200", "!x-secret", "s", "x-open", "o", NULL);
	struct script_event *e = script_expects_head(s, 1, false);
	assert_true(http_head_find_name(e->head, SLICE("x-secret"))->never_index);
	assert_false(http_head_find_name(e->head, SLICE("x-open"))->never_index);
	script_sends_promise(s, 1, 2, ":method", "GET", ":scheme", "https", ":authority", "a",
	    "!:path", "/s", "!x-token", "t", NULL);
	e = script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	assert_int_equal(e->head->never_index_pseudo, HTTP_PSEUDO_PATH);
	assert_true(http_head_find_name(e->head, SLICE("x-token"))->never_index);
	script_close(s);
	s = script_open(H2_SERVER);
	script_sends_get(s, 1);
	script_clears(s);
	struct http_head *head =
	    script_head(s, HTTP_RESPONSE, ":status", "200", "!x-secret", "s", "x-open", "o", NULL);
	session_respond(s->conn, script_handle(s, 1), head, true);
	http_head_free(head);
	script_expects_fields(
	    s, script_expects_frame(s, H2_HEADERS, 1), ":status: 200\n!x-secret: s\nx-open: o\n");
	script_close(s);
}

/* covers: R25 R41 */
SCRIPT_TEST(encoder_follows_the_order_of_the_frames)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t id = 1; id < 12; id += 2)
		script_sends_get(s, id);
	script_clears(s);
	for (uint32_t i = 0; i < 30; i++) {
		char path[32] = "/a?";
		path[1] = (char)('a' + i);
		assert_int_equal(script_promises(s, 1 + 2 * (i % 6), path), 2 * i + 2);
	}
	for (uint32_t i = 0; i < 30; i++) {
		char text[128];
		snprintf(text, sizeof text,
		    ":method: GET\n:scheme: https\n:authority: example.org\n:path: /%c?\n",
		    (int)('a' + i));
		script_expects_fields(
		    s, script_expects_frame(s, H2_PUSH_PROMISE, 1 + 2 * (i % 6)), text);
	}
	script_close(s);
}

/* covers: R68 */
SCRIPT_TEST(long_field_block_of_ours_is_split_into_continuations)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 1);
	script_clears(s);
	struct http_head *head = http_head_new(s->heads);
	http_head_add(head, SLICE(":status"), SLICE("200"));
	char value[3000];
	for (uint32_t i = 0; i < 20; i++) {
		for (size_t n = 0; n < sizeof value; n++)
			value[n] = (char)('!' + (n * 7 + i * 13) % 90);
		http_head_add(head, SLICE("x-long"), slice_of(value, sizeof value));
	}
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	assert_true(session_respond(s->conn, script_handle(s, 1), head, true));
	http_head_free(head);
	struct script_frame *f = script_expects_frame(s, H2_HEADERS, 1);
	assert_true(f->frames > 2);
	assert_true(f->flags & H2_END_STREAM);
	assert_true(strlen(f->fields) > 60000);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_in_continuations_of_every_size),
	    cmocka_unit_test(promise_in_continuations_of_every_size),
	    cmocka_unit_test(empty_first_fragment_and_empty_continuations_are_fine),
	    cmocka_unit_test(promise_with_only_its_id_in_the_first_frame_and_padding),
	    cmocka_unit_test(nothing_but_continuation_may_stand_inside_a_block),
	    cmocka_unit_test(stray_continuation_is_protocol_error),
	    cmocka_unit_test(padding_of_headers_is_cut_off),
	    cmocka_unit_test(padding_and_priority_together),
	    cmocka_unit_test(padding_as_long_as_the_payload_or_longer_is_protocol_error),
	    cmocka_unit_test(padding_that_leaves_an_empty_block_is_a_malformed_message),
	    cmocka_unit_test(data_padding_is_not_delivered),
	    cmocka_unit_test(data_that_is_all_padding_may_end_the_stream),
	    cmocka_unit_test(blocks_that_do_not_decode_are_compression_errors),
	    cmocka_unit_test(bad_block_in_continuation_is_compression_error),
	    cmocka_unit_test(bad_block_for_a_stream_we_have_reset_is_compression_error),
	    cmocka_unit_test(size_updates_up_to_our_limit_are_accepted_at_the_start),
	    cmocka_unit_test(our_table_size_of_zero_is_kept_to),
	    cmocka_unit_test(malformed_message_leaves_compression_in_step),
	    cmocka_unit_test(blocks_for_reset_streams_are_decoded_with_continuations_and_updates),
	    cmocka_unit_test(never_indexed_fields_stay_so_in_and_out),
	    cmocka_unit_test(encoder_follows_the_order_of_the_frames),
	    cmocka_unit_test(long_field_block_of_ours_is_split_into_continuations),
	};
	return SCRIPT_RUN(tests);
}
