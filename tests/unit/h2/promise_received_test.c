/* SPDX-License-Identifier: MIT */
/* Promises that an origin makes to us: RFC 9113 5.1, 5.1.1, 6.6, 8.4. */
#include "tests/support/h2_script.h"

static struct script *requesting_with(const struct script_options *options)
{
	struct script *s = script_open_with(H2_CLIENT, options);
	assert_int_equal(script_gets(s), 1);
	script_clears(s);
	return s;
}

static struct script *requesting(void)
{
	return requesting_with(&(struct script_options){0});
}

static void promise_is_connection_error(
    struct script *s, uint32_t parent, uint32_t promised, uint32_t code)
{
	script_clears(s);
	script_sends_good_promise(s, parent, promised);
	script_expects_connection_error(s, code);
	script_close(s);
}

/* covers: R41 R46 */
SCRIPT_TEST(good_promise_is_an_event_with_all_fields_in_order)
{
	struct script *s = requesting();
	script_sends_promise(s, 1, 2, ":method", "GET", ":scheme", "https", ":authority",
	    "example.org", ":path", "/style.css?v=1", "cookie", "a=1", "accept", "", "cookie",
	    "b=2", NULL);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	assert_int_equal(e->promised, 2);
	assert_int_equal(e->head->kind, HTTP_PROMISE);
	assert_true(slice_equal(e->head->method, SLICE("GET")));
	assert_true(slice_equal(e->head->scheme, SLICE("https")));
	assert_true(slice_equal(e->head->authority, SLICE("example.org")));
	assert_true(slice_equal(e->head->path, SLICE("/style.css?v=1")));
	assert_int_equal(e->head->count, 3);
	assert_true(slice_equal(e->head->fields[0].value, SLICE("a=1")));
	assert_true(slice_equal(e->head->fields[1].value, SLICE("")));
	assert_true(slice_equal(e->head->fields[2].value, SLICE("b=2")));
	assert_true(h2_stream_is_pushed(script_handle(s, 2)));
	assert_false(h2_stream_is_pushed(script_handle(s, 1)));
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R46 R45 */
SCRIPT_TEST(pushed_response_comes_as_on_any_stream)
{
	struct script *s = requesting();
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_headers(s, 2, 0, ":status", "103", "link", "</x>", NULL);
	script_expects_head(s, 2, false);
	script_sends_ok(s, 2, 0);
	script_expects_head(s, 2, false);
	script_sends_data(s, 2, 0, 7);
	script_expects_data(s, 2, 7, false);
	script_sends_headers(s, 2, H2_END_STREAM, "x-t", "1", NULL);
	script_expects_event(s, SESSION_EVENT_TRAILERS, 2);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_close(s);
}

/* covers: R46 */
SCRIPT_TEST(pushes_are_answered_in_any_order_and_outlive_the_parent)
{
	struct script *s = requesting();
	for (uint32_t id = 2; id < 12; id += 2) {
		script_sends_good_promise(s, 1, id);
		script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	}
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 1);
	static const uint32_t order[] = {8, 2, 10, 6, 4};
	for (size_t i = 0; i < 5; i++) {
		script_sends_ok(s, order[i], 0);
		script_expects_head(s, order[i], false);
	}
	for (size_t i = 5; i-- > 0;) {
		script_sends_data(s, order[i], H2_END_STREAM, 3);
		script_expects_data(s, order[i], 3, true);
		script_expects_event(s, SESSION_EVENT_CLOSED, order[i]);
	}
	assert_int_equal(h2_open_streams(s->conn), 0);
	script_close(s);
}

/* covers: R46 */
SCRIPT_TEST(promise_may_come_while_the_request_is_still_being_sent_and_after_a_103)
{
	struct script *s = script_open(H2_CLIENT);
	assert_int_equal(script_requests(s, false, "POST", "/"), 1);
	script_clears(s);
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_headers(s, 1, 0, ":status", "103", NULL);
	script_expects_head(s, 1, false);
	script_sends_good_promise(s, 1, 4);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_ok(s, 1, 0);
	script_expects_head(s, 1, false);
	script_sends_data(s, 1, 0, 5);
	script_expects_data(s, 1, 5, false);
	script_sends_good_promise(s, 1, 6);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_close(s);
}

/* covers: R44 */
SCRIPT_TEST(promised_ids_may_skip_up_to_the_last)
{
	struct script *s = requesting();
	script_sends_good_promise(s, 1, 1000);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_good_promise(s, 1, 0x7ffffffe);
	assert_int_equal(script_expects_event(s, SESSION_EVENT_PROMISE, 1)->promised, 0x7ffffffe);
	script_sends_ok(s, 0x7ffffffe, H2_END_STREAM);
	script_expects_head(s, 0x7ffffffe, true);
	script_close(s);
}

/* covers: R15 */
SCRIPT_TEST(reserved_bit_of_the_promised_id_is_ignored)
{
	struct script *s = requesting();
	script_sends_good_promise(s, 1, 0x80000002);
	assert_int_equal(script_expects_event(s, SESSION_EVENT_PROMISE, 1)->promised, 2);
	script_close(s);
}

/* ---- connection errors ---- */

/* covers: R1 R3 P-recv-stream-zero P-recv-parent */
SCRIPT_TEST(promise_on_zero_idle_or_pushed_stream_is_protocol_error)
{
	promise_is_connection_error(requesting(), 0, 2, SESSION_PROTOCOL_ERROR);
	promise_is_connection_error(requesting(), 3, 2, SESSION_PROTOCOL_ERROR);
	promise_is_connection_error(requesting(), 0x7fffffff, 2, SESSION_PROTOCOL_ERROR);
	promise_is_connection_error(requesting(), 2, 4, SESSION_PROTOCOL_ERROR);
	struct script *s = requesting();
	script_sends_good_promise(s, 1, 2);
	promise_is_connection_error(s, 2, 4, SESSION_PROTOCOL_ERROR);
	s = requesting();
	script_sends_good_promise(s, 1, 2);
	script_sends_ok(s, 2, 0);
	promise_is_connection_error(s, 2, 4, SESSION_PROTOCOL_ERROR);
}

/* covers: R4 P-recv-parent */
SCRIPT_TEST(promise_after_the_parents_end_is_protocol_error)
{
	struct script *s = requesting();
	script_sends_ok(s, 1, H2_END_STREAM);
	promise_is_connection_error(s, 1, 2, SESSION_PROTOCOL_ERROR);
	s = script_open(H2_CLIENT);
	script_requests(s, false, "POST", "/");
	script_pumps(s);
	script_sends_ok(s, 1, H2_END_STREAM); /* half-closed (remote) */
	promise_is_connection_error(s, 1, 2, SESSION_PROTOCOL_ERROR);
}

/* covers: R2 P-recv-promised-id */
SCRIPT_TEST(promised_id_must_be_even_rising_and_idle)
{
	promise_is_connection_error(requesting(), 1, 0, SESSION_PROTOCOL_ERROR);
	promise_is_connection_error(requesting(), 1, 1, SESSION_PROTOCOL_ERROR);
	promise_is_connection_error(requesting(), 1, 3, SESSION_PROTOCOL_ERROR);
	promise_is_connection_error(requesting(), 1, 0x7fffffff, SESSION_PROTOCOL_ERROR);
	promise_is_connection_error(requesting(), 1, 0x80000000, SESSION_PROTOCOL_ERROR);
	static const uint32_t later[] = {2, 4, 6};
	for (size_t i = 0; i < 3; i++) {
		struct script *s = requesting();
		script_sends_good_promise(s, 1, 6);
		promise_is_connection_error(s, 1, later[i], SESSION_PROTOCOL_ERROR);
	}
}

/* covers: R2 */
SCRIPT_TEST(refused_promise_uses_up_its_id)
{
	struct script *s = requesting();
	script_sends_promise(
	    s, 1, 4, ":method", "POST", ":scheme", "https", ":authority", "a", ":path", "/", NULL);
	script_expects_stream_error(s, 4, SESSION_PROTOCOL_ERROR);
	promise_is_connection_error(s, 1, 2, SESSION_PROTOCOL_ERROR);
}

static const struct h2_settings push_off = {.header_table_size = 4096,
    .max_concurrent_streams = UINT32_MAX,
    .initial_window_size = 65535,
    .max_frame_size = 16384,
    .max_header_list_size = UINT32_MAX};

/* covers: R6 P-recv-push-off */
SCRIPT_TEST(promise_after_acknowledged_push_off_is_protocol_error)
{
	promise_is_connection_error(
	    requesting_with(&(struct script_options){.local = &push_off}), 1, 2, SESSION_PROTOCOL_ERROR);
}

/* covers: R6 R27 P-recv-push-off P-recv-decoded */
SCRIPT_TEST(promise_before_push_off_is_acknowledged_is_refused_alone)
{
	struct script *s =
	    requesting_with(&(struct script_options){.local = &push_off, .no_ack = true});
	script_sends_promise(s, 1, 2, ":method", "GET", ":scheme", "https", ":authority", "a",
	    ":path", "/", "x-kept", "in the table", NULL);
	struct script_frame *f = script_expects_frame(s, H2_RST_STREAM, 2);
	assert_true(f->code == SESSION_REFUSED_STREAM || f->code == SESSION_CANCEL);
	script_expects_nothing(s);
	script_sends_headers(s, 1, 0, ":status", "200", "x-kept", "in the table", NULL);
	assert_int_equal(script_expects_head(s, 1, false)->head->count, 1);
	script_sends_settings_ack(s);
	promise_is_connection_error(s, 1, 4, SESSION_PROTOCOL_ERROR);
}

/* covers: R6 P-recv-push-off */
SCRIPT_TEST(push_may_be_turned_off_later)
{
	struct script *s = requesting();
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	h2_update_settings(s->conn, &push_off, s->now);
	struct script_frame *f = script_expects_frame(s, H2_SETTINGS, 0);
	assert_int_equal(f->flags, 0);
	script_sends_good_promise(s, 1, 4);
	f = script_expects_frame(s, H2_RST_STREAM, 4);
	assert_true(f->code == SESSION_REFUSED_STREAM || f->code == SESSION_CANCEL);
	script_expects_nothing(s);
	script_sends_settings_ack(s);
	/* What was promised before goes on. */
	script_sends_ok(s, 2, H2_END_STREAM);
	script_expects_head(s, 2, true);
	promise_is_connection_error(s, 1, 6, SESSION_PROTOCOL_ERROR);
}

/* ---- what costs only the promise ---- */

static void sends_promise_block(struct script *s, const uint8_t *block, size_t length)
{
	uint8_t frame[512];
	script_put32(frame, 2);
	memcpy(frame + 4, block, length);
	script_sends_raw(s, H2_PUSH_PROMISE, H2_END_HEADERS, 1, frame, length + 4);
}

/* The promise is reset alone; then a good one on the same parent comes through (R22). */
static void only_the_promise_is_lost(struct script *s)
{
	script_expects_stream_error(s, 2, SESSION_PROTOCOL_ERROR);
	script_sends_good_promise(s, 1, 4);
	assert_int_equal(script_expects_event(s, SESSION_EVENT_PROMISE, 1)->promised, 4);
	script_sends_ok(s, 1, 0);
	script_expects_head(s, 1, false);
	script_expects_nothing(s);
	script_close(s);
}

#define REFUSED(...)                                                                               \
	do {                                                                                       \
		struct script *refused_ = requesting();                                            \
		script_sends_promise(refused_, 1, 2, __VA_ARGS__, NULL);                           \
		only_the_promise_is_lost(refused_);                                                \
	} while (0)
#define URI ":scheme", "https", ":authority", "example.org", ":path", "/"

/* covers: R16 R22 P-recv-request */
SCRIPT_TEST(promised_method_must_be_get_or_head)
{
	REFUSED(":method", "POST", URI);
	REFUSED(":method", "PUT", URI);
	REFUSED(":method", "DELETE", URI);
	REFUSED(":method", "OPTIONS", URI);
	REFUSED(":method", "PATCH", URI);
	REFUSED(":method", "TRACE", URI);
	REFUSED(":method", "FROB", URI);
	REFUSED(":method", "get", URI);
	REFUSED(":method", "CONNECT", ":authority", "example.org:443");
	struct script *s = requesting();
	script_sends_promise(s, 1, 2, ":method", "HEAD", URI, NULL);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_close(s);
}

/* covers: R17 P-recv-request */
SCRIPT_TEST(promised_request_has_no_body)
{
	REFUSED(":method", "GET", URI, "content-length", "1");
	REFUSED(":method", "GET", URI, "content-length", "18446744073709551616");
	REFUSED(":method", "GET", URI, "content-length", "0", "content-length", "5");
	REFUSED(":method", "GET", URI, "content-length", "x");
	REFUSED(":method", "GET", URI, "transfer-encoding", "chunked");
}

/* covers: R18 R22 P-recv-request */
SCRIPT_TEST(promised_pseudo_fields_are_complete_once_first_and_known)
{
	REFUSED(URI);
	REFUSED(":method", "GET", ":authority", "a", ":path", "/");
	REFUSED(":method", "GET", ":scheme", "https", ":path", "/");
	REFUSED(":method", "GET", ":scheme", "https", ":authority", "a");
	REFUSED(":method", "GET", URI, ":method", "GET");
	REFUSED(":method", "GET", URI, ":scheme", "https");
	REFUSED(":method", "GET", URI, ":authority", "example.org");
	REFUSED(":method", "GET", URI, ":path", "/");
	REFUSED(":method", "", URI);
	REFUSED(":method", "GET", ":scheme", "", ":authority", "a", ":path", "/");
	REFUSED(":method", "GET", ":scheme", "https", ":authority", "", ":path", "/");
	REFUSED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", "");
	REFUSED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", "no-slash");
	REFUSED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", "*");
	REFUSED(":method", "GET", URI, ":status", "200");
	REFUSED(":method", "GET", URI, ":frob", "x");
	REFUSED(
	    ":method", "GET", ":scheme", "https", ":authority", "a", "accept", "x", ":path", "/");
}

/* covers: R19 P-recv-request */
SCRIPT_TEST(promised_fields_keep_http2_rules)
{
	REFUSED(":method", "GET", URI, "Accept", "x");
	REFUSED(":method", "GET", URI, "connection", "close");
	REFUSED(":method", "GET", URI, "keep-alive", "5");
	REFUSED(":method", "GET", URI, "proxy-connection", "x");
	REFUSED(":method", "GET", URI, "upgrade", "h2c");
	REFUSED(":method", "GET", URI, "te", "gzip");
}

/* covers: R21 */
SCRIPT_TEST(promised_authority_is_well_formed_and_host_agrees)
{
	REFUSED(
	    ":method", "GET", ":scheme", "https", ":authority", "user@example.org", ":path", "/");
	REFUSED(":method", "GET", ":scheme", "https", ":authority", "a b", ":path", "/");
	REFUSED(":method", "GET", URI, "host", "other.example");
}

/* covers: R20 P-recv-request */
SCRIPT_TEST(promised_values_hold_no_control_characters)
{
	static const struct {
		const char *name, *value;
		size_t name_bytes, value_bytes;
	} bad[] = {{"x-a", "a\rb", 3, 3}, {"x-a", "a\nb", 3, 3}, {"x-a", "a\0b", 3, 3},
	    {"x-a", "\0", 3, 1}, {"x a", "v", 3, 1}, {"x:a", "v", 3, 1}, {"", "v", 0, 1},
	    {"x\0a", "v", 3, 1}, {"x-\x80", "v", 3, 1}, {"x-a", " v", 3, 2}, {"x-a", "v ", 3, 2},
	    {"x-a", "\tv", 3, 2}, {"x-a", "v\x7f", 3, 2}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct script *s = requesting();
		uint8_t block[256];
		size_t n = script_encodes(s, block, 128, ":method", "GET", URI, NULL);
		n += script_literal(
		    block + n, bad[i].name, bad[i].name_bytes, bad[i].value, bad[i].value_bytes);
		sends_promise_block(s, block, n);
		only_the_promise_is_lost(s);
	}
}

/* covers: R20 */
SCRIPT_TEST(promised_pseudo_values_hold_no_spaces_or_controls)
{
	static const char *const paths[] = {"/a b", "/a\nb", "/a\001b", "/a\x7f", " /a", "/a "};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		REFUSED(":method", "GET", ":scheme", "https", ":authority", "a", ":path", paths[i]);
	REFUSED(":method", "G ET", URI);
	REFUSED(":method", "GET", ":scheme", "ht tp", ":authority", "a", ":path", "/");
}

/* covers: R17 */
SCRIPT_TEST(promised_content_length_of_zero_does_not_hang)
{
	struct script *s = requesting();
	script_sends_promise(s, 1, 2, ":method", "GET", URI, "content-length", "0", NULL);
	script_pumps(s);
	if (s->events_head < s->events_tail) {
		script_expects_event(s, SESSION_EVENT_PROMISE, 1);
		script_sends_ok(s, 2, H2_END_STREAM);
		script_expects_head(s, 2, true);
	} else {
		script_expects_stream_error(s, 2, SESSION_PROTOCOL_ERROR);
	}
	script_close(s);
}

/* ---- promises that nobody wants ---- */

/* covers: R5 R23 P-recv-parent P-recv-decoded */
SCRIPT_TEST(promise_on_a_stream_we_have_reset_is_processed_and_refused)
{
	struct script *s = requesting();
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_sends_promise(s, 1, 2, ":method", "GET", URI, "x-kept", "in the table", NULL);
	struct script_frame *f = script_expects_frame(s, H2_RST_STREAM, 2);
	assert_true(f->code == SESSION_REFUSED_STREAM || f->code == SESSION_CANCEL);
	/* The owner is told, so that it can count and log the promise. */
	assert_int_equal(script_expects_event(s, SESSION_EVENT_PROMISE, 0)->promised, 0);
	script_expects_nothing(s);
	/* Its response was under way. */
	script_sends_ok(s, 2, 0);
	script_sends_data(s, 2, H2_END_STREAM, 5);
	script_expects_nothing(s);
	/* The id is taken, and the table is in step. */
	assert_int_equal(script_gets(s), 3);
	script_expects_frame(s, H2_HEADERS, 3);
	script_sends_headers(s, 3, 0, ":status", "200", "x-kept", "in the table", NULL);
	assert_int_equal(script_expects_head(s, 3, false)->head->count, 1);
	promise_is_connection_error(s, 3, 2, SESSION_PROTOCOL_ERROR);
}

/* The owner reads in the log what was wrong with it, as with a promise on a stream that is open.
 * covers: R22 P-recv-request */
SCRIPT_TEST(malformed_promise_on_a_stream_we_have_reset_is_told_as_malformed)
{
	struct script *s = requesting();
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_sends_promise(s, 1, 2, ":method", "POST", URI, NULL);
	script_expects_rst(s, 2, SESSION_PROTOCOL_ERROR);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_PROMISE, 0);
	assert_int_equal(e->promised, 0);
	assert_int_equal(e->last_id, 2);
	assert_string_equal(e->fault->name, "promise-malformed");
	assert_non_null(e->reason);
	assert_null(e->head);
	script_expects_nothing(s);
	assert_int_equal(script_gets(s), 3);
	script_expects_frame(s, H2_HEADERS, 3);
	script_sends_ok(s, 3, 0);
	script_expects_head(s, 3, false);
	script_close(s);
}

/* Its fields were not kept, so there is nothing to tell; the table is in step.
 * covers: R5 R23 P-recv-parent P-recv-decoded */
SCRIPT_TEST(promise_with_too_many_fields_on_a_stream_we_have_reset_is_refused_as_any_other)
{
	struct h2_settings local = h2_settings_initial;
	local.max_header_list_size = 400;
	struct script *s = requesting_with(&(struct script_options){.local = &local});
	char value[301] = "";
	memset(value, 'v', sizeof(value) - 1);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_sends_promise(s, 1, 2, ":method", "GET", URI, "x-long", value, "x-kept", "in the table", NULL);
	script_expects_rst(s, 2, SESSION_CANCEL);
	script_expects_nothing(s);
	assert_int_equal(script_gets(s), 3);
	script_expects_frame(s, H2_HEADERS, 3);
	script_sends_headers(s, 3, 0, ":status", "200", "x-kept", "in the table", NULL);
	assert_int_equal(script_expects_head(s, 3, false)->head->count, 1);
	script_close(s);
}

/* covers: R36 P-recv-pushed-limit */
SCRIPT_TEST(pushed_response_above_our_stream_limit_is_refused_alone)
{
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 2;
	struct script *s = requesting_with(&(struct script_options){.local = &local});
	for (uint32_t id = 2; id < 10; id += 2) {
		script_sends_good_promise(s, 1, id); /* reserved streams do not count */
		script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	}
	script_sends_ok(s, 2, 0);
	script_expects_head(s, 2, false);
	script_sends_ok(s, 4, 0);
	script_expects_head(s, 4, false);
	script_sends_ok(s, 6, 0);
	script_expects_stream_error(s, 6, SESSION_REFUSED_STREAM);
	script_sends_data(s, 2, H2_END_STREAM, 1);
	script_expects_data(s, 2, 1, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	script_sends_ok(s, 8, 0);
	script_expects_head(s, 8, false);
	script_close(s);
}

/* covers: R36 */
SCRIPT_TEST(pushed_response_that_ends_with_its_head_counts_too)
{
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 0;
	struct script *s = requesting_with(&(struct script_options){.local = &local});
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_ok(s, 2, H2_END_STREAM);
	script_expects_stream_error(s, 2, SESSION_REFUSED_STREAM);
	script_close(s);
}

/* covers: R63 P-recv-too-many */
SCRIPT_TEST(promises_above_the_cap_are_refused_by_the_engine)
{
	struct h2_limits limits = h2_limits_default;
	limits.reserved_streams = 3;
	struct script *s = requesting_with(&(struct script_options){.limits = &limits});
	for (uint32_t id = 2; id < 8; id += 2) {
		script_sends_good_promise(s, 1, id);
		script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	}
	script_sends_good_promise(s, 1, 8);
	script_expects_rst(s, 8, SESSION_REFUSED_STREAM);
	script_expects_nothing(s);
	script_sends_ok(s, 4, 0); /* answered: one place is free again */
	script_expects_head(s, 4, false);
	script_sends_good_promise(s, 1, 10);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_resets(s, 2, SESSION_CANCEL);
	script_expects_rst(s, 2, SESSION_CANCEL);
	script_sends_good_promise(s, 1, 12);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_good_promise(s, 1, 14);
	script_expects_rst(s, 14, SESSION_REFUSED_STREAM);
	script_expects_nothing(s);
	script_close(s);
}

/* covers: R52 R27 R54 P-recv-after-reset */
SCRIPT_TEST(owner_refuses_a_promise_and_late_frames_are_ignored)
{
	struct script *s = requesting();
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_resets(s, 2, SESSION_REFUSED_STREAM);
	script_expects_rst(s, 2, SESSION_REFUSED_STREAM);
	script_sends_ok(s, 2, 0);
	script_sends_data(s, 2, 0, 100);
	script_sends_headers(s, 2, H2_END_STREAM, "x-t", "1", NULL);
	script_sends_rst(s, 2, SESSION_NO_ERROR);
	script_expects_nothing(s);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_close(s);
}

/* covers: R49 */
SCRIPT_TEST(server_takes_its_promise_back)
{
	struct script *s = requesting();
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_sends_rst(s, 2, SESSION_INTERNAL_ERROR);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, 2);
	assert_null(e->fault);
	assert_int_equal(e->code, SESSION_INTERNAL_ERROR);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_close(s);
}

/* covers: R53 */
SCRIPT_TEST(cancelling_the_parent_leaves_its_pushes)
{
	struct script *s = requesting();
	script_sends_good_promise(s, 1, 2);
	script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	script_resets(s, 1, SESSION_CANCEL);
	script_expects_rst(s, 1, SESSION_CANCEL);
	script_sends_ok(s, 2, 0);
	script_expects_head(s, 2, false);
	script_sends_data(s, 2, H2_END_STREAM, 9);
	script_expects_data(s, 2, 9, true);
	script_expects_event(s, SESSION_EVENT_CLOSED, 2);
	script_close(s);
}

/* RFC 9113 5.1.2 and 8.4: a request may always be opened; pushes do not use up its room. */
SCRIPT_TEST(pushes_do_not_count_toward_the_servers_limit_for_requests)
{
	static const uint32_t two[] = {SCRIPT_MAX_STREAMS, 2, 0};
	struct script *s = requesting_with(&(struct script_options){.settings = two});
	script_sends_good_promise(s, 1, 2);
	script_sends_good_promise(s, 1, 4);
	script_sends_ok(s, 2, 0);
	script_sends_ok(s, 4, 0);
	assert_int_equal(session_request_room(s->conn), 1);
	assert_int_equal(script_gets(s), 3);
	script_close(s);
}

/* So many changes are under way that this one has to wait, and it counts for us all the same.
 * covers: R6 */
SCRIPT_TEST(push_is_off_before_the_peer_can_be_told)
{
	struct script *s = requesting();
	struct h2_settings local = h2_settings_initial;
	uint32_t frames = 0;
	for (uint32_t i = 1; i <= 10; i++) {
		local.max_concurrent_streams = i;
		h2_update_settings(s->conn, &local, s->now);
	}
	local.enable_push = 0;
	h2_update_settings(s->conn, &local, s->now);
	script_pumps(s);
	for (; s->frames_head < s->frames_tail; s->frames_head++, frames++) {
		const struct script_frame *f = s->frames[s->frames_head];
		for (uint32_t i = 0; i + 6 <= f->length; i += 6)
			assert_int_not_equal(f->payload[i + 1], 2); /* ENABLE_PUSH is not said yet */
	}
	assert_in_range(frames, 1, 9);
	script_sends_good_promise(s, 1, 2);
	script_expects_rst(s, 2, SESSION_REFUSED_STREAM);
	script_expects_no_event(s);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good_promise_is_an_event_with_all_fields_in_order),
	    cmocka_unit_test(pushed_response_comes_as_on_any_stream),
	    cmocka_unit_test(pushes_are_answered_in_any_order_and_outlive_the_parent),
	    cmocka_unit_test(
		promise_may_come_while_the_request_is_still_being_sent_and_after_a_103),
	    cmocka_unit_test(promised_ids_may_skip_up_to_the_last),
	    cmocka_unit_test(reserved_bit_of_the_promised_id_is_ignored),
	    cmocka_unit_test(promise_on_zero_idle_or_pushed_stream_is_protocol_error),
	    cmocka_unit_test(promise_after_the_parents_end_is_protocol_error),
	    cmocka_unit_test(promised_id_must_be_even_rising_and_idle),
	    cmocka_unit_test(refused_promise_uses_up_its_id),
	    cmocka_unit_test(promise_after_acknowledged_push_off_is_protocol_error),
	    cmocka_unit_test(promise_before_push_off_is_acknowledged_is_refused_alone),
	    cmocka_unit_test(push_may_be_turned_off_later),
	    cmocka_unit_test(promised_method_must_be_get_or_head),
	    cmocka_unit_test(promised_request_has_no_body),
	    cmocka_unit_test(promised_pseudo_fields_are_complete_once_first_and_known),
	    cmocka_unit_test(promised_fields_keep_http2_rules),
	    cmocka_unit_test(promised_authority_is_well_formed_and_host_agrees),
	    cmocka_unit_test(promised_values_hold_no_control_characters),
	    cmocka_unit_test(promised_pseudo_values_hold_no_spaces_or_controls),
	    cmocka_unit_test(promised_content_length_of_zero_does_not_hang),
	    cmocka_unit_test(promise_on_a_stream_we_have_reset_is_processed_and_refused),
	    cmocka_unit_test(malformed_promise_on_a_stream_we_have_reset_is_told_as_malformed),
	    cmocka_unit_test(promise_with_too_many_fields_on_a_stream_we_have_reset_is_refused_as_any_other),
	    cmocka_unit_test(pushed_response_above_our_stream_limit_is_refused_alone),
	    cmocka_unit_test(pushed_response_that_ends_with_its_head_counts_too),
	    cmocka_unit_test(promises_above_the_cap_are_refused_by_the_engine),
	    cmocka_unit_test(owner_refuses_a_promise_and_late_frames_are_ignored),
	    cmocka_unit_test(server_takes_its_promise_back),
	    cmocka_unit_test(cancelling_the_parent_leaves_its_pushes),
	    cmocka_unit_test(pushes_do_not_count_toward_the_servers_limit_for_requests),
	    cmocka_unit_test(push_is_off_before_the_peer_can_be_told),
	};
	return SCRIPT_RUN(tests);
}
