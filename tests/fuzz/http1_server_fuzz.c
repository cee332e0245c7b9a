/* SPDX-License-Identifier: MIT */
/*
 * The HTTP/1 codec as a server under arbitrary bytes. The same bytes cut in other places report the
 * same; the invariants hold after each step; nothing is reported after the connection has failed;
 * and a head that was accepted, written by our own client and read again, is the same head.
 *
 * Input: one byte of options, two for the places of the cuts, then what the client sends.
 */
#include "tests/fuzz/http1_reader.h"

enum {
	OPTION_BODY = 1,   /* answers have one */
	OPTION_NARROW = 2, /* a small window */
	OPTION_POOR = 4,   /* small limits */
	OPTION_TLS = 8,
	OPTION_HALF = 16, /* the client ends its sending side in good order */
	OPTION_TUNNEL = 32, /* each request for a tunnel gets one */
};

static void read_again(struct reader *r, const struct http_head *head, bool end)
{
	/* Requests of HTTP/1.0 need no authority, and a CONNECT is for tunnels: they are not sent on. */
	if (head->authority.len == 0 || head->method_token == HTTP_METHOD_CONNECT)
		return;
	struct reader_again again = {
	    .reader = {.chunks = r->chunks, .heads = r->heads, .look = reader_look_again},
	    .with_zero_length = head->content_length != HTTP_LENGTH_UNKNOWN,
	};
	struct reader client = {.chunks = r->chunks, .heads = r->heads};
	struct h1_limits limits = h1_limits_default;
	limits.head_bytes *= 2;
	limits.list_bytes *= 2;
	reader_open(&client, H1_CLIENT, &limits, false);
	reader_open(&again.reader, H1_SERVER, &limits, false);
	reader_drain(&client, false);
	struct http_head *sent = http_head_overlay(head);
	struct slice list = head->upgrade, protocol;
	if (slice_next_member(&list, &protocol) && reader_goes_on_whole(head)) {
		sent->method_token = HTTP_METHOD_CONNECT;
		sent->protocol = protocol;
	}
	ensure(session_request(client.conn, sent, end, &client));
	reader_feed_output(&again.reader, client.conn);
	reader_expect_same(sent, &again);
	http_head_free(sent);
	reader_close(&again.reader);
	reader_close(&client);
	free(again.reader.told.text);
	free(client.told.text);
}

static void run(struct reader *r, uint8_t options, struct slice bytes, uint32_t random)
{
	struct h1_limits limits = h1_limits_default;
	if (options & OPTION_NARROW)
		limits.window_bytes = 7;
	if (options & OPTION_POOR) {
		limits.head_bytes = 300;
		limits.list_bytes = 200;
		limits.trailer_bytes = 100;
		limits.extension_bytes = 20;
	}
	r->opens_tunnels = options & OPTION_TUNNEL;
	reader_open(r, H1_SERVER, &limits, options & OPTION_TLS);
	reader_feed(r, bytes, random, options & OPTION_BODY);
	if (options & OPTION_HALF)
		session_half_close(r->conn, 0);
	reader_end(r, true, options & OPTION_BODY);
	reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t options = input_byte(&in);
	uint32_t random = input_below(&in, 65536) + 1;
	struct slice bytes = input_take(&in, in.left);
	struct chunk_pool *chunks = chunk_pool_new(READER_CHUNK_BYTES, 4);
	struct http_head_pool *heads = http_head_pool_new(8);
	struct reader whole = {.chunks = chunks, .heads = heads, .look = read_again};
	struct reader cut = {.chunks = chunks, .heads = heads};
	run(&whole, options, bytes, 0);
	run(&cut, options, bytes, random);
	reader_compare(&whole.told, &cut.told);
	http_head_pool_free(heads);
	chunk_pool_free(chunks);
	return 0;
}
