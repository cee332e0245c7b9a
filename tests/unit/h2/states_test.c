/* SPDX-License-Identifier: MIT */
/*
 * Every state of a stream × every frame type, in both roles (RFC 9113 5.1, 5.1.1, 6.1–6.10, 8.1; RFC
 * 9218 7.1 for PRIORITY_UPDATE). Letters as in h2_script_cells.h.
 */
#include "tests/support/h2_script_cells.h"

/* ---- the engine is a server ---- */

static void nothing(struct script *s)
{
	(void)s;
}

static void later_opened(struct script *s)
{
	script_sends_get(s, 3);
}

static void opened(struct script *s)
{
	script_sends_post(s, 1);
}

static void half_closed_remote(struct script *s)
{
	script_sends_get(s, 1);
}

static void half_closed_local(struct script *s)
{
	opened(s);
	script_responds(s, 1, true, "200");
}

static void closed_normally(struct script *s)
{
	half_closed_remote(s);
	script_responds(s, 1, true, "200");
}

static void reset_by_engine(struct script *s)
{
	opened(s);
	script_resets(s, 1, SESSION_CANCEL);
}

static void reset_by_fault(struct script *s)
{
	opened(s);
	script_sends_window_update(s, 1, 0);
}

static void reset_by_peer(struct script *s)
{
	opened(s);
	script_sends_rst(s, 1, SESSION_CANCEL);
}

static void promised(struct script *s)
{
	half_closed_remote(s);
	assert_int_equal(script_promises(s, 1, "/p"), 2);
}

static void push_begun(struct script *s)
{
	promised(s);
	assert_true(script_responds(s, 2, false, "200"));
}

static void push_done(struct script *s)
{
	promised(s);
	assert_true(script_responds(s, 2, true, "200"));
}

static void push_reset_by_engine(struct script *s)
{
	promised(s);
	script_resets(s, 2, SESSION_CANCEL);
}

static void push_reset_by_peer(struct script *s)
{
	promised(s);
	script_sends_rst(s, 2, SESSION_CANCEL);
}

/* covers: R37 R38 R10 */
SCRIPT_TEST(every_frame_in_every_state_of_a_server)
{
	/* Columns: DATA, DATA+END, HEADERS, HEADERS+END, PRIORITY, RST_STREAM, PUSH_PROMISE,
	 * WINDOW_UPDATE, CONTINUATION, PRIORITY_UPDATE, unknown. */
	// clang-format off
	static const struct script_row rows[] = {
	    {"idle, the client's", H2_SERVER, 1, nothing, SCRIPT_BLOCK_REQUEST, "PP..-PPPP--"},
	    {"idle, ours", H2_SERVER, 2, nothing, SCRIPT_BLOCK_REQUEST, "PPPP-PPPPP-"},
	    {"skipped", H2_SERVER, 1, later_opened, SCRIPT_BLOCK_REQUEST, "yyQQ-*P*Q--"},
	    {"open", H2_SERVER, 1, opened, SCRIPT_BLOCK_TRAILERS, "..p.-rP-P--"},
	    {"half-closed (remote)", H2_SERVER, 1, half_closed_remote, SCRIPT_BLOCK_TRAILERS, "cccc-rP-P--"},
	    {"half-closed (local)", H2_SERVER, 1, half_closed_local, SCRIPT_BLOCK_TRAILERS, "..p.-rP-P--"},
	    {"closed", H2_SERVER, 1, closed_normally, SCRIPT_BLOCK_TRAILERS, "xxxx--P-Q--"},
	    {"reset by us", H2_SERVER, 1, reset_by_engine, SCRIPT_BLOCK_TRAILERS, "------P-P--"},
	    {"reset by us for a fault", H2_SERVER, 1, reset_by_fault, SCRIPT_BLOCK_TRAILERS, "------P-P--"},
	    {"reset by the client", H2_SERVER, 1, reset_by_peer, SCRIPT_BLOCK_TRAILERS, "xxxx-*P*Q--"},
	    {"reserved (local)", H2_SERVER, 2, promised, SCRIPT_BLOCK_TRAILERS, "PPPP-rP-P--"},
	    {"pushed, half-closed (remote)", H2_SERVER, 2, push_begun, SCRIPT_BLOCK_TRAILERS, "yyyy-rP-P--"},
	    {"pushed, closed", H2_SERVER, 2, push_done, SCRIPT_BLOCK_TRAILERS, "yyyy--P-Q--"},
	    {"pushed, reset by us", H2_SERVER, 2, push_reset_by_engine, SCRIPT_BLOCK_TRAILERS, "aaaa--P-P--"},
	    {"pushed, reset by the client", H2_SERVER, 2, push_reset_by_peer, SCRIPT_BLOCK_TRAILERS, "yyyy-*P*Q--"},
	};
	// clang-format on
	script_walks(rows, sizeof rows / sizeof *rows);
}

/* ---- the engine is a client ---- */

static void requested(struct script *s)
{
	assert_int_equal(script_requests(s, false, "POST", "/"), 1);
	script_pumps(s);
}

static void requested_and_ended(struct script *s)
{
	assert_int_equal(script_gets(s), 1);
	script_pumps(s);
}

static void answering_open(struct script *s)
{
	requested(s);
	script_sends_ok(s, 1, 0);
}

static void answering(struct script *s)
{
	requested_and_ended(s);
	script_sends_ok(s, 1, 0);
}

static void answered_early(struct script *s)
{
	requested(s);
	script_sends_ok(s, 1, H2_END_STREAM);
}

static void answered(struct script *s)
{
	requested_and_ended(s);
	script_sends_ok(s, 1, H2_END_STREAM);
}

static void cancelled(struct script *s)
{
	answering(s);
	script_resets(s, 1, SESSION_CANCEL);
}

static void reset_by_server(struct script *s)
{
	answering(s);
	script_sends_rst(s, 1, SESSION_CANCEL);
}

static void promise_came(struct script *s)
{
	requested_and_ended(s);
	script_sends_good_promise(s, 1, 2);
}

static void later_promise_came(struct script *s)
{
	requested_and_ended(s);
	script_sends_good_promise(s, 1, 6);
}

static void promises_with_gaps_came(struct script *s)
{
	later_promise_came(s);
	for (uint32_t id = 12; id <= 24; id += 6)
		script_sends_good_promise(s, 1, id);
}

static void pushed_before_a_gap(struct script *s)
{
	promise_came(s);
	script_sends_ok(s, 2, H2_END_STREAM);
	script_sends_good_promise(s, 1, 10);
}

static void pushing(struct script *s)
{
	promise_came(s);
	script_sends_ok(s, 2, 0);
}

static void pushed(struct script *s)
{
	promise_came(s);
	script_sends_ok(s, 2, H2_END_STREAM);
}

static void push_cancelled(struct script *s)
{
	promise_came(s);
	script_resets(s, 2, SESSION_CANCEL);
}

static void push_cancelled_begun(struct script *s)
{
	pushing(s);
	script_resets(s, 2, SESSION_CANCEL);
}

static void push_malformed(struct script *s)
{
	requested_and_ended(s);
	script_sends_promise(s, 1, 2, ":method", "POST", ":scheme", "https", ":authority",
	    "example.org", ":path", "/", NULL);
}

static void push_reset_by_server(struct script *s)
{
	promise_came(s);
	script_sends_rst(s, 2, SESSION_CANCEL);
}

/* covers: R3 R4 R5 R10 R11 R23 R54 P-recv-parent P-recv-reserved P-recv-after-reset */
SCRIPT_TEST(every_frame_in_every_state_of_a_client)
{
	// clang-format off
	static const struct script_row rows[] = {
	    {"idle, ours", H2_CLIENT, 1, nothing, SCRIPT_BLOCK_RESPONSE, "PPPP-PPPPP-"},
	    {"idle, ours, later", H2_CLIENT, 3, requested, SCRIPT_BLOCK_RESPONSE, "PPPP-PPPPP-"},
	    {"idle, the server's", H2_CLIENT, 2, requested, SCRIPT_BLOCK_RESPONSE, "PPPP-PPPPP-"},
	    {"skipped, the server's, first", H2_CLIENT, 2, later_promise_came, SCRIPT_BLOCK_RESPONSE, "PPPP-PPPPP-"},
	    {"skipped, the server's", H2_CLIENT, 4, later_promise_came, SCRIPT_BLOCK_RESPONSE, "PPPP-PPPPP-"},
	    {"skipped, the server's, before other gaps", H2_CLIENT, 4, promises_with_gaps_came, SCRIPT_BLOCK_RESPONSE,
	        "PPPP-PPPPP-"},
	    {"open, nothing came", H2_CLIENT, 1, requested, SCRIPT_BLOCK_RESPONSE, "pp..-r.-PP-"},
	    {"open", H2_CLIENT, 1, answering_open, SCRIPT_BLOCK_TRAILERS, "..p.-r.-PP-"},
	    {"half-closed (local), nothing came", H2_CLIENT, 1, requested_and_ended, SCRIPT_BLOCK_RESPONSE,
	        "pp..-r.-PP-"},
	    {"half-closed (local)", H2_CLIENT, 1, answering, SCRIPT_BLOCK_TRAILERS, "..p.-r.-PP-"},
	    {"half-closed (remote)", H2_CLIENT, 1, answered_early, SCRIPT_BLOCK_TRAILERS, "cccc-rP-PP-"},
	    {"closed", H2_CLIENT, 1, answered, SCRIPT_BLOCK_TRAILERS, "xxxx--P-QP-"},
	    {"reset by us", H2_CLIENT, 1, cancelled, SCRIPT_BLOCK_TRAILERS, "------f-PP-"},
	    {"reset by the server", H2_CLIENT, 1, reset_by_server, SCRIPT_BLOCK_TRAILERS, "xxxx-*P*QP-"},
	    {"reserved (remote)", H2_CLIENT, 2, promise_came, SCRIPT_BLOCK_RESPONSE, "PP..-rPPPP-"},
	    {"pushed, half-closed (local)", H2_CLIENT, 2, pushing, SCRIPT_BLOCK_TRAILERS, "..p.-rP-PP-"},
	    {"pushed, closed", H2_CLIENT, 2, pushed, SCRIPT_BLOCK_TRAILERS, "xxxx--P-QP-"},
	    {"pushed, closed, before skipped ones", H2_CLIENT, 2, pushed_before_a_gap, SCRIPT_BLOCK_TRAILERS,
	        "xxxx--P-QP-"},
	    {"promised, reset by us", H2_CLIENT, 2, push_cancelled, SCRIPT_BLOCK_RESPONSE, "------P-PP-"},
	    {"promised, refused as malformed", H2_CLIENT, 2, push_malformed, SCRIPT_BLOCK_RESPONSE, "------P-PP-"},
	    {"pushed, reset by us", H2_CLIENT, 2, push_cancelled_begun, SCRIPT_BLOCK_TRAILERS, "------P-PP-"},
	    {"promised, reset by the server", H2_CLIENT, 2, push_reset_by_server, SCRIPT_BLOCK_RESPONSE,
	        "xxxx-*P*QP-"},
	};
	// clang-format on
	script_walks(rows, sizeof rows / sizeof *rows);
}

/* ---- ids (5.1.1) ---- */

SCRIPT_TEST(ids_may_skip_but_not_go_back)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 5);
	script_expects_head(s, 5, true);
	script_sends_get(s, 0x7fffffff);
	script_expects_head(s, 0x7fffffff, true);
	script_sends_get(s, 7);
	script_pumps(s);
	assert_true(session_has_failed(s->conn));
	script_close(s);
}

SCRIPT_TEST(client_ids_are_odd_and_rise_by_two)
{
	struct script *s = script_open(H2_CLIENT);
	for (uint32_t i = 0; i < 20; i++) {
		assert_int_equal(script_gets(s), 2 * i + 1);
		script_expects_frame(s, H2_HEADERS, 2 * i + 1);
	}
	assert_int_equal(h2_open_streams(s->conn), 20);
	script_close(s);
}

SCRIPT_TEST(stream_ends_once_on_each_side_and_is_closed)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_responds(s, 1, false, "200");
	script_offers(s, 1, 0, true);
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_body(s, 1, 0, true);
	script_expects_no_event(s);
	assert_int_equal(h2_open_streams(s->conn), 1);
	script_sends_data(s, 1, H2_END_STREAM, 3);
	script_expects_data(s, 1, 3, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	assert_int_equal(h2_open_streams(s->conn), 0);
	script_close(s);
}

/* A peer's PRIORITY (RFC 9113 6.3) may name any stream, an idle one too, and does nothing. */
SCRIPT_TEST(priority_frames_are_parsed_and_ignored)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t id = 1; id < 10; id++)
		script_sends_priority(s, id, 11);
	script_sends_get(s, 1);
	script_expects_head(s, 1, true);
	script_expects_alive(s);
	script_close(s);
}

SCRIPT_TEST(headers_with_priority_fields_are_understood)
{
	struct script *s = script_open(H2_SERVER);
	uint8_t block[128] = {0x80, 0, 0, 0, 200};
	size_t n = 5 + script_encodes(s, block + 5, sizeof block - 5, ":method", "GET", ":scheme",
			   "https", ":authority", "a", ":path", "/p", NULL);
	script_sends_raw(
	    s, H2_HEADERS, H2_HAS_PRIORITY | H2_END_HEADERS | H2_END_STREAM, 1, block, n);
	struct script_event *e = script_expects_head(s, 1, true);
	assert_true(slice_equal(e->head->path, SLICE("/p")));
	script_close(s);
}

/* RFC 7540 5.3.1; RFC 9113 dropped the rule with the trees, public conformance suites ask for it. */
SCRIPT_TEST(stream_that_depends_on_itself_is_reset)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_priority(s, 1, 1);
	script_expects_stream_error(s, 1, SESSION_PROTOCOL_ERROR);
	uint8_t block[128] = {0, 0, 0, 3, 16};
	size_t n = 5 + script_encodes(s, block + 5, sizeof block - 5, ":method", "GET", ":scheme",
			   "https", ":authority", "a", ":path", "/p", NULL);
	script_sends_raw(
	    s, H2_HEADERS, H2_HAS_PRIORITY | H2_END_HEADERS | H2_END_STREAM, 3, block, n);
	script_expects_stream_error(s, 3, SESSION_PROTOCOL_ERROR);
	script_sends_get(s, 5);
	script_expects_head(s, 5, true);
	script_close(s);
}

SCRIPT_TEST(second_final_head_of_ours_is_not_sent)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 1);
	script_expects_head(s, 1, true);
	assert_false(script_trails(s, 1)); /* no head yet */
	assert_true(script_responds(s, 1, false, "200"));
	assert_false(script_responds(s, 1, false, "200"));
	assert_false(script_responds(s, 1, false, "103"));
	script_expects_frame(s, H2_HEADERS, 1);
	script_expects_nothing(s);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_frame_in_every_state_of_a_server),
	    cmocka_unit_test(every_frame_in_every_state_of_a_client),
	    cmocka_unit_test(ids_may_skip_but_not_go_back),
	    cmocka_unit_test(client_ids_are_odd_and_rise_by_two),
	    cmocka_unit_test(stream_ends_once_on_each_side_and_is_closed),
	    cmocka_unit_test(priority_frames_are_parsed_and_ignored),
	    cmocka_unit_test(headers_with_priority_fields_are_understood),
	    cmocka_unit_test(stream_that_depends_on_itself_is_reset),
	    cmocka_unit_test(second_final_head_of_ours_is_not_sent),
	};
	return SCRIPT_RUN(tests);
}
