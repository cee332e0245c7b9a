/* SPDX-License-Identifier: MIT */
/*
 * The HTTP/1 codec as a client that has sent one request, or sends another one after each response,
 * under arbitrary bytes. After one request the same bytes cut in other places report the same;
 * the invariants hold after each step; nothing is reported after the connection has failed; and a
 * head that was accepted, written by our own server and read again, is the same head.
 *
 * Input: one byte of options, two for the places of the cuts, then what the origin sends.
 */
#include "tests/fuzz/http1_reader.h"

enum {
	OPTION_METHOD = 3, /* GET, HEAD, POST, OPTIONS */
	OPTION_NARROW = 4, /* a small window */
	OPTION_POOR = 8,   /* small limits */
	OPTION_CLEAN = 16, /* the connection ends in good order */
	OPTION_MORE = 32,  /* a request after each response: then cuts matter, as time does */
	OPTION_TUNNEL = 64, /* what is asked for is a tunnel, */
	OPTION_WEBSOCKET = 128, /* of this protocol */
};

static struct slice method_of(uint8_t options)
{
	static const struct slice methods[] = {
	    SLICE_INIT("GET"), SLICE_INIT("HEAD"), SLICE_INIT("POST"), SLICE_INIT("OPTIONS")};
	return methods[options & OPTION_METHOD];
}

static struct slice method; /* of the run */

static void read_again(struct reader *r, const struct http_head *head, bool end)
{
	struct reader_again again = {
	    .reader = {.chunks = r->chunks, .heads = r->heads, .look = reader_look_again},
	    .with_zero_length = head->content_length != HTTP_LENGTH_UNKNOWN,
	};
	struct reader server = {.chunks = r->chunks, .heads = r->heads};
	char request[160];
	if (head->opens_tunnel && !reader_goes_on_whole(head))
		return;
	struct h1_limits limits = h1_limits_default;
	limits.head_bytes *= 2;
	limits.list_bytes *= 2;
	reader_open(&server, H1_SERVER, &limits, false);
	reader_open(&again.reader, H1_CLIENT, &limits, false);
	reader_drain(&again.reader, false);
	again.reader.protocol = head->protocol;
	reader_ask(&again.reader, method);
	int n = head->opens_tunnel
		    ? snprintf(request, sizeof(request),
			  "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: %.*s\r\n"
			  "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
			  SLICE_ARG(head->protocol))
		    : snprintf(request, sizeof(request), "%.*s / HTTP/1.1\r\nhost: a\r\n\r\n", SLICE_ARG(method));
	struct chunk *chunk = chunk_acquire(r->chunks);
	memcpy(chunk->data, request, (size_t)n);
	session_receive(server.conn, chunk, 0, (size_t)n, server.now);
	chunk_release(chunk);
	struct session_event event;
	ensure(session_next_event(server.conn, &event) && event.kind == SESSION_EVENT_HEAD);
	http_head_free(event.head);
	struct http_head *sent = http_head_overlay(head);
	ensure(session_respond(server.conn, NULL, sent, end));
	reader_feed_output(&again.reader, server.conn);
	reader_expect_same(sent, &again);
	http_head_free(sent);
	reader_close(&again.reader);
	reader_close(&server);
	free(again.reader.told.text);
	free(server.told.text);
}

static void feed_more(struct reader *r, struct slice bytes, uint32_t random)
{
	while (bytes.len > 0 && session_request_room(r->conn) > 0) {
		reader_ask(r, method);
		while (bytes.len > 0 && h1_has_stream(r->conn)) {
			size_t n = reader_cut(&random, bytes.len);
			reader_feed(r, slice_sub(bytes, 0, n), 0, false);
			bytes = slice_from(bytes, n);
		}
	}
	reader_feed(r, bytes, random, false);
}

static void run(struct reader *r, uint8_t options, struct slice bytes, uint32_t random)
{
	struct h1_limits limits = h1_limits_default;
	limits.interim_responses = 4;
	if (options & OPTION_NARROW)
		limits.window_bytes = 7;
	if (options & OPTION_POOR) {
		limits.head_bytes = 300;
		limits.list_bytes = 200;
		limits.trailer_bytes = 100;
		limits.extension_bytes = 20;
	}
	if (options & OPTION_TUNNEL)
		r->protocol = options & OPTION_WEBSOCKET ? SLICE("websocket") : SLICE("echo");
	reader_open(r, H1_CLIENT, &limits, false);
	reader_drain(r, false);
	if (options & OPTION_MORE) {
		feed_more(r, bytes, random);
	} else {
		reader_ask(r, method);
		reader_feed(r, bytes, random, false);
	}
	reader_end(r, options & OPTION_CLEAN, false);
	reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t options = input_byte(&in);
	uint32_t random = input_below(&in, 65536) + 1;
	struct slice bytes = input_take(&in, in.left);
	method = options & OPTION_TUNNEL ? SLICE("GET") : method_of(options);
	struct chunk_pool *chunks = chunk_pool_new(READER_CHUNK_BYTES, 4);
	struct http_head_pool *heads = http_head_pool_new(8);
	struct reader whole = {.chunks = chunks, .heads = heads, .look = read_again};
	struct reader cut = {.chunks = chunks, .heads = heads};
	run(&whole, options, bytes, options & OPTION_MORE ? random : 0);
	run(&cut, options, bytes, random);
	reader_compare(&whole.told, &cut.told);
	http_head_pool_free(heads);
	chunk_pool_free(chunks);
	return 0;
}
