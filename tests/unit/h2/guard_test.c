/* SPDX-License-Identifier: MIT */
/*
 * What a peer may make us do, and where it ends (RFC 9113 10.5): under each limit nothing happens, above
 * it the connection is closed with ENHANCE_YOUR_CALM. All other limits are out of the way.
 */
#include "proxy/limits.h"
#include "tests/support/h2_script.h"

#include <stdlib.h>

#define BURST 20u
/* The handshake, or work that was paid back, may have moved a bucket by this. */
#define SLACK 4u

static struct h2_limits wide(void)
{
	static const struct rate endless = {1000000, 1000000};
	struct h2_limits limits = h2_limits_default;
	limits.resets_received = limits.resets_provoked = limits.pings = limits.settings = endless;
	limits.priorities = limits.empty_frames = limits.window_updates = endless;
	limits.promises = limits.field_blocks = limits.expansion = endless;
	limits.control_bytes = 100000000;
	return limits;
}

static struct script *open_wide(enum h2_role role, const struct h2_limits *limits)
{
	struct script *s = script_open_with(role, &(struct script_options){.limits = limits});
	if (role == H2_CLIENT) {
		script_gets(s);
		script_clears(s);
	}
	return s;
}

/* `act` does the i-th thing; `rate` is the one that is narrow. */
static void rate_ends_at(enum h2_role role, size_t rate, void (*act)(struct script *, uint32_t))
{
	struct h2_limits limits = wide();
	*(struct rate *)(void *)((char *)&limits + rate) = (struct rate){10, BURST};
	struct script *s = open_wide(role, &limits);
	for (uint32_t i = 0; i < BURST - SLACK; i++)
		act(s, i);
	script_clears(s);
	script_expects_alive(s);
	for (uint32_t i = BURST - SLACK; i < 2 * BURST && !session_has_failed(s->conn); i++)
		act(s, i);
	script_pumps(s);
	assert_true(session_has_failed(s->conn));
	const struct script_event *e = s->events[s->events_tail - 1];
	assert_int_equal(e->kind, SESSION_EVENT_FAILED);
	assert_non_null(e->fault);
	assert_int_equal(e->fault->code, SESSION_ENHANCE_YOUR_CALM);
	assert_int_equal(s->frames[s->frames_tail - 1]->type, H2_GOAWAY);
	assert_int_equal(s->frames[s->frames_tail - 1]->code, SESSION_ENHANCE_YOUR_CALM);
	script_close(s);
	/* Slowly enough the same is fine. */
	s = open_wide(role, &limits);
	for (uint32_t i = 0; i < 4 * BURST; i++) {
		s->now += USEC_PER_SEC / 9;
		act(s, i);
	}
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

#define RATE(name) offsetof(struct h2_limits, name)

static void request_and_reset(struct script *s, uint32_t i)
{
	script_sends_get(s, 2 * i + 1);
	script_sends_rst(s, 2 * i + 1, SESSION_CANCEL);
}

/* covers: R65 */
SCRIPT_TEST(rapid_reset_is_bounded)
{
	rate_ends_at(H2_SERVER, RATE(resets_received), request_and_reset);
}

static void request_and_provoke(struct script *s, uint32_t i)
{
	script_sends_get(s, 2 * i + 1);
	script_sends_window_update(s, 2 * i + 1, 0);
}

static void malformed_request(struct script *s, uint32_t i)
{
	script_sends_headers(s, 2 * i + 1, H2_END_STREAM, ":method", "GET", NULL);
}

/* covers: R65 */
SCRIPT_TEST(resets_that_the_peer_provokes_are_bounded)
{
	rate_ends_at(H2_SERVER, RATE(resets_provoked), request_and_provoke);
	rate_ends_at(H2_SERVER, RATE(resets_provoked), malformed_request);
}

/* What we have opened the peer may refuse: that is no rapid reset. */
SCRIPT_TEST(refused_pushes_and_requests_are_free)
{
	struct h2_limits limits = wide();
	limits.resets_received = limits.resets_provoked = (struct rate){1, 5};
	struct script *s = open_wide(H2_SERVER, &limits);
	script_sends_get(s, 1);
	for (uint32_t id = 2; id < 202; id += 2) {
		assert_int_equal(script_promises(s, 1, "/"), id);
		script_pumps(s);
		script_sends_rst(s, id, SESSION_CANCEL);
	}
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
	s = open_wide(H2_CLIENT, &limits);
	for (uint32_t id = 1; id < 201; id += 2) {
		script_sends_rst(s, id, SESSION_REFUSED_STREAM);
		assert_int_equal(script_gets(s), id + 2);
		script_pumps(s);
	}
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* Nor are answers to our own requests an attack, however malformed: each cost the peer a request of ours. */
SCRIPT_TEST(malformed_answers_are_no_flood)
{
	struct h2_limits limits = wide();
	limits.resets_provoked = (struct rate){1, 5};
	struct script *s = open_wide(H2_CLIENT, &limits);
	for (uint32_t id = 1; id < 101; id += 2) {
		script_sends_headers(s, id, H2_END_STREAM, ":status", "20", NULL);
		assert_int_equal(script_gets(s), id + 2);
		script_pumps(s);
	}
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

static void ping(struct script *s, uint32_t i)
{
	script_sends_ping(s, i);
}

/* covers: R65 */
SCRIPT_TEST(pings_are_bounded)
{
	rate_ends_at(H2_SERVER, RATE(pings), ping);
	rate_ends_at(H2_CLIENT, RATE(pings), ping);
}

static void empty_settings(struct script *s, uint32_t i)
{
	(void)i;
	script_sends_settings(s, SCRIPT_SETTINGS_END);
}

/* covers: R65 */
SCRIPT_TEST(settings_are_bounded)
{
	rate_ends_at(H2_SERVER, RATE(settings), empty_settings);
	rate_ends_at(H2_CLIENT, RATE(settings), empty_settings);
}

static void priority_frame(struct script *s, uint32_t i)
{
	script_sends_priority(s, 2 * i + 1, 0);
}

static void priority_update(struct script *s, uint32_t i)
{
	script_sends_priority_update(s, 2 * i + 1, "u=1");
}

/* covers: R65 */
SCRIPT_TEST(priorities_are_bounded)
{
	rate_ends_at(H2_SERVER, RATE(priorities), priority_frame);
	rate_ends_at(H2_SERVER, RATE(priorities), priority_update);
}

static void empty_data(struct script *s, uint32_t i)
{
	if (i == 0)
		script_sends_post(s, 1);
	script_sends_data(s, 1, 0, 0);
}

static void empty_padded_data(struct script *s, uint32_t i)
{
	if (i == 0)
		script_sends_post(s, 1);
	script_sends_padded_data(s, 1, 0, 0, 1);
}

/* covers: R65 */
SCRIPT_TEST(empty_frames_are_bounded)
{
	rate_ends_at(H2_SERVER, RATE(empty_frames), empty_data);
	rate_ends_at(H2_SERVER, RATE(empty_frames), empty_padded_data);
}

/* covers: R65 R64 */
SCRIPT_TEST(empty_continuations_are_bounded)
{
	struct h2_limits limits = wide();
	limits.continuations = LIMIT_CONTINUATIONS;
	limits.empty_frames = (struct rate){10, BURST};
	struct script *s = open_wide(H2_SERVER, &limits);
	script_sends_raw(s, H2_HEADERS, 0, 1, "\x82", 1);
	for (uint32_t i = 0; i < 2 * BURST; i++) {
		assert_false(i < BURST - SLACK && session_has_failed(s->conn));
		script_sends_raw(s, H2_CONTINUATION, 0, 1, NULL, 0);
	}
	script_expects_connection_error(s, SESSION_ENHANCE_YOUR_CALM);
	script_close(s);
}

/* A client that has not acknowledged our SETTINGS cannot know the limit. */
SCRIPT_TEST(streams_refused_before_the_limit_was_known_are_no_offence)
{
	struct h2_settings local = h2_settings_initial;
	local.max_concurrent_streams = 1;
	struct h2_limits limits = wide();
	limits.resets_provoked = (struct rate){1, BURST};
	struct script *s = script_open_with(H2_SERVER,
	    &(struct script_options){.local = &local, .limits = &limits, .no_ack = true});
	for (uint32_t id = 1; id < 8 * BURST; id += 2)
		script_sends_post(s, id);
	script_clears(s);
	assert_false(session_has_failed(s->conn));
	script_sends_settings_ack(s);
	for (uint32_t id = 1; id < 8 * BURST && !session_has_failed(s->conn); id += 2)
		script_sends_post(s, 8 * BURST + id);
	script_pumps(s);
	assert_true(session_has_failed(s->conn));
	assert_int_equal(s->frames[s->frames_tail - 1]->code, SESSION_ENHANCE_YOUR_CALM);
	script_close(s);
}

static void window_update(struct script *s, uint32_t i)
{
	(void)i;
	script_sends_window_update(s, 0, 1);
}

/* covers: R65 */
SCRIPT_TEST(window_updates_are_bounded)
{
	rate_ends_at(H2_SERVER, RATE(window_updates), window_update);
}

static void promise(struct script *s, uint32_t i)
{
	script_sends_good_promise(s, 1, 2 * i + 2);
}

/* covers: R63 R64 P-recv-too-many */
SCRIPT_TEST(promises_are_bounded)
{
	rate_ends_at(H2_CLIENT, RATE(promises), promise);
}

static void interim(struct script *s, uint32_t i)
{
	(void)i;
	script_sends_headers(s, 1, 0, ":status", "103", NULL);
}

/* covers: R64 */
SCRIPT_TEST(header_blocks_are_bounded)
{
	rate_ends_at(H2_CLIENT, RATE(field_blocks), interim);
}

static void unasked_ack(struct script *s, uint32_t i)
{
	(void)i;
	script_sends_settings_ack(s);
}

static void goaway(struct script *s, uint32_t i)
{
	script_sends_goaway(s, 1000 - i, SESSION_NO_ERROR, "");
}

/* covers: R65 */
SCRIPT_TEST(acknowledgements_and_goaways_without_end_are_bounded)
{
	rate_ends_at(H2_SERVER, RATE(settings), unasked_ack);
	rate_ends_at(H2_CLIENT, RATE(settings), goaway);
}

/* Work that is completed is no flood: each exchange pays back what its blocks took. */
SCRIPT_TEST(completed_exchanges_pay_for_their_blocks)
{
	struct h2_limits limits = wide();
	limits.field_blocks = (struct rate){1, BURST};
	struct script *s = open_wide(H2_SERVER, &limits);
	for (uint32_t id = 1; id < 20 * BURST; id += 2) {
		script_sends_get(s, id);
		script_pumps(s);
		script_responds(s, id, true, "200");
		script_pumps(s);
	}
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* ---- fields that are larger than what was sent for them ---- */

enum { FIELD = 3000 };

/* One field of 3,000 bytes is sent with the first request: then each has it for a byte. */
static void large_request(struct script *s, uint32_t i)
{
	static char value[FIELD + 1];
	memset(value, 'v', FIELD);
	script_sends_headers(s, 2 * i + 1, H2_END_STREAM, ":method", "GET", ":scheme", "https", ":path",
	    "/", ":authority", "a", "x-large", value, NULL);
	script_pumps(s);
}

/* covers: R478 */
SCRIPT_TEST(expansion_of_indexed_fields_is_bounded)
{
	struct h2_limits limits = wide();
	limits.expansion = (struct rate){10, BURST};
	struct script *s = open_wide(H2_SERVER, &limits);
	uint32_t i = 0;
	for (; i < 2 * BURST && !session_has_failed(s->conn); i++)
		large_request(s, i);
	assert_true(session_has_failed(s->conn));
	/* Two whole KiB each, but of the first. */
	assert_int_equal(i - 1, 1 + BURST / 2);
	const struct script_event *e = s->events[s->events_tail - 1];
	assert_string_equal(e->fault->name, "expansion-flood");
	assert_int_equal(e->fault->code, SESSION_ENHANCE_YOUR_CALM);
	script_close(s);
}

SCRIPT_TEST(completed_exchanges_pay_for_their_large_fields)
{
	struct h2_limits limits = wide();
	limits.expansion = (struct rate){1, BURST};
	struct script *s = open_wide(H2_SERVER, &limits);
	for (uint32_t i = 0; i < 10 * BURST; i++) {
		large_request(s, i);
		script_responds(s, 2 * i + 1, true, "200");
		script_pumps(s);
	}
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* Three pages at once, of 200 requests each, that have 5 KiB of fields that came before. */
SCRIPT_TEST(busy_pages_stay_below_the_default_limit_of_expansion)
{
	struct h2_limits limits = wide();
	limits.expansion = h2_limits_default.expansion;
	struct script *s = open_wide(H2_SERVER, &limits);
	for (uint32_t i = 0; i < 3 * 200 * 5 / 2; i++) /* two KiB each */
		large_request(s, i);
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* Less than a KiB more than the block is not counted. */
SCRIPT_TEST(usual_fields_expand_for_nothing)
{
	struct h2_limits limits = wide();
	char value[901];
	memset(value, 'v', 900);
	value[900] = '\0';
	limits.expansion = (struct rate){1, 1};
	struct script *s = open_wide(H2_SERVER, &limits);
	for (uint32_t i = 0; i < 10 * BURST; i++)
		script_sends_headers(s, 2 * i + 1, H2_END_STREAM, ":method", "GET", ":scheme", "https",
		    ":path", "/", ":authority", "a", "x-usual", value, NULL);
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* ---- what is not read ---- */

/* covers: R65 */
SCRIPT_TEST(answers_that_the_peer_does_not_read_are_bounded)
{
	static const uint32_t kinds = 3;
	for (uint32_t kind = 0; kind < kinds; kind++) {
		struct h2_limits limits = wide();
		limits.control_bytes = 1000;
		struct script *s = open_wide(H2_SERVER, &limits);
		uint32_t i = 0;
		for (; i < 1000 && !session_has_failed(s->conn); i++) {
			if (kind == 0)
				script_sends_ping(s, i);
			else if (kind == 1)
				script_sends_raw(s, H2_SETTINGS, 0, 0, NULL, 0);
			else
				malformed_request(s, i);
			assert_true(h2_control(s->conn).len < 1200);
		}
		assert_in_range(i, 20, 200);
		script_pumps(s);
		assert_int_equal(s->events[s->events_tail - 1]->code, SESSION_ENHANCE_YOUR_CALM);
		script_close(s);
	}
}

/* covers: R65 */
SCRIPT_TEST(answers_that_the_peer_reads_are_not)
{
	struct h2_limits limits = wide();
	limits.control_bytes = 1000;
	struct script *s = open_wide(H2_SERVER, &limits);
	for (uint32_t i = 0; i < 500; i++) {
		script_sends_ping(s, i);
		script_pumps(s);
	}
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* Our own promises and heads are not the peer's doing. */
SCRIPT_TEST(what_the_owner_sends_is_not_counted_as_provoked)
{
	struct h2_limits limits = wide();
	limits.control_bytes = 1000;
	struct script *s = open_wide(H2_SERVER, &limits);
	script_sends_get(s, 1);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(script_promises(s, 1, "/some/path/that/is/not/short"), 2 * i + 2);
	script_sends_ping(s, 1);
	assert_false(session_has_failed(s->conn));
	script_close(s);
}

/* ---- field blocks ---- */

/* A request in `frames` CONTINUATIONs, each with some fields. */
static void continues(struct script *s, uint32_t frames, size_t bytes)
{
	uint8_t block[256];
	uint8_t *filler = malloc(bytes + 1);
	memset(filler, 'v', bytes + 1);
	size_t n = script_encodes(s, block, sizeof block, ":method", "GET", ":scheme", "https",
	    ":authority", "a", ":path", "/", NULL);
	script_sends_raw(s, H2_HEADERS, H2_END_STREAM, 1, block, n);
	for (uint32_t i = 1; i <= frames && !session_has_failed(s->conn); i++) {
		n = script_literal(block, "x-a", 3, filler, bytes);
		script_sends_raw(s, H2_CONTINUATION, i == frames ? H2_END_HEADERS : 0, 1, block, n);
	}
	free(filler);
}

/* covers: R65 R64 */
SCRIPT_TEST(continuations_are_bounded)
{
	struct h2_limits limits = wide();
	limits.continuations = 5;
	struct script *s = open_wide(H2_SERVER, &limits);
	continues(s, 5, 3);
	script_expects_head(s, 1, true);
	script_close(s);
	s = open_wide(H2_SERVER, &limits);
	continues(s, 6, 3);
	script_expects_connection_error(s, SESSION_ENHANCE_YOUR_CALM);
	script_close(s);
}

/* covers: R64 P-recv-oversize */
SCRIPT_TEST(bytes_of_a_field_block_are_bounded)
{
	struct h2_limits limits = wide();
	limits.field_block_bytes = 1000;
	struct script *s = open_wide(H2_SERVER, &limits);
	continues(s, 9, 90);
	script_expects_head(s, 1, true);
	script_close(s);
	s = open_wide(H2_SERVER, &limits);
	continues(s, 12, 90);
	script_expects_connection_error(s, SESSION_ENHANCE_YOUR_CALM);
	script_close(s);
}

/* covers: R64 P-recv-oversize */
SCRIPT_TEST(bytes_of_a_promise_block_are_bounded)
{
	struct h2_limits limits = wide();
	limits.field_block_bytes = 1000;
	struct script *s = open_wide(H2_CLIENT, &limits);
	uint8_t block[2000] = {0, 0, 0, 2};
	size_t n = 4;
	char value[90];
	memset(value, 'v', sizeof value);
	while (n < 1100)
		n += script_literal(block + n, "x-a", 3, value, sizeof value);
	script_sends_raw(s, H2_PUSH_PROMISE, H2_END_HEADERS, 1, block, n);
	script_expects_connection_error(s, SESSION_ENHANCE_YOUR_CALM);
	script_close(s);
}

/* covers: R65 */
SCRIPT_TEST(usual_traffic_comes_nowhere_near_the_default_limits)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t i = 0; i < 2000; i++) {
		s->now += USEC_PER_MSEC / 4; /* 4,000 requests a second */
		script_sends_get(s, 2 * i + 1);
		script_pumps(s);
		script_responds(s, 2 * i + 1, false, "200");
		script_offers(s, 2 * i + 1, 100, true);
		script_pumps(s);
		script_sends_window_update(s, 0, 100);
	}
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* Of a head that is long, and that no table takes. */
static const char *long_text(void)
{
	static char text[8001];
	memset(text, '/', sizeof(text) - 1);
	return text;
}

/* Heads and promises are what the peer asked for: it may take its time with them, and do more.
 * covers: R65 */
SCRIPT_TEST(responses_that_wait_for_a_slow_peer_are_no_flood)
{
	struct h2_limits limits = wide();
	limits.control_bytes = 65536;
	struct script *s = open_wide(H2_SERVER, &limits);
	for (uint32_t id = 1; id < 200; id += 2) {
		script_sends_get(s, id);
		struct http_head *head =
		    script_head(s, HTTP_RESPONSE, ":status", "200", "x-policy", long_text(), NULL);
		assert_true(session_respond(s->conn, script_handle(s, id), head, true));
		http_head_free(head);
	}
	script_sends_ping(s, 1);
	script_sends_window_update(s, 0, 1000);
	script_sends_get(s, 201);
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* Nor are our own requests, for an origin that does not read for a moment. */
SCRIPT_TEST(requests_that_wait_for_a_slow_peer_are_no_flood)
{
	struct h2_limits limits = wide();
	limits.control_bytes = 65536;
	struct script *s = open_wide(H2_CLIENT, &limits);
	for (uint32_t i = 0; i < 90; i++)
		assert_true(script_requests(s, true, "GET", long_text()) > 0);
	script_sends_ping(s, 1);
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
}

/* Who asks for more without reading what it has is refused until it has read, and not for ever.
 * covers: R65 */
SCRIPT_TEST(requests_beside_unread_responses_are_refused)
{
	struct h2_limits limits = wide();
	limits.output_bytes = 4000;
	struct script *s = open_wide(H2_SERVER, &limits);
	script_sends_get(s, 1);
	uint32_t id = 3;
	for (; h2_control(s->conn).len <= 4000; id += 2) {
		script_sends_get(s, id);
		assert_true(script_responds(s, id, true, "200"));
	}
	script_sends_get(s, id);
	assert_false(script_responds(s, 1, false, "103")); /* it can do without */
	for (uint32_t answered = 3; answered < id; answered += 2)
		script_expects_frame(s, H2_HEADERS, answered);
	script_expects_rst(s, id, SESSION_REFUSED_STREAM);
	script_clears(s);
	assert_true(script_responds(s, 1, false, "103"));
	script_sends_get(s, id + 2);
	script_expects_head(s, id + 2, true);
	script_clears(s);
	script_expects_alive(s);
	script_close(s);
	/* The refusals are no offence, but answers to be read. */
	limits.control_bytes = 1000;
	limits.resets_provoked = (struct rate){1, 5};
	s = open_wide(H2_SERVER, &limits);
	script_sends_get(s, 1);
	while (h2_control(s->conn).len <= 4000)
		assert_true(script_promises(s, 1, "/some/path/that/is/not/short") > 0);
	for (id = 3; id < 1000 && !session_has_failed(s->conn); id += 2)
		script_sends_get(s, id);
	assert_in_range(id, 100, 200);
	script_pumps(s);
	assert_int_equal(s->events[s->events_tail - 1]->code, SESSION_ENHANCE_YOUR_CALM);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(rapid_reset_is_bounded),
	    cmocka_unit_test(resets_that_the_peer_provokes_are_bounded),
	    cmocka_unit_test(refused_pushes_and_requests_are_free),
	    cmocka_unit_test(malformed_answers_are_no_flood),
	    cmocka_unit_test(pings_are_bounded),
	    cmocka_unit_test(settings_are_bounded),
	    cmocka_unit_test(priorities_are_bounded),
	    cmocka_unit_test(empty_frames_are_bounded),
	    cmocka_unit_test(empty_continuations_are_bounded),
	    cmocka_unit_test(streams_refused_before_the_limit_was_known_are_no_offence),
	    cmocka_unit_test(window_updates_are_bounded),
	    cmocka_unit_test(promises_are_bounded),
	    cmocka_unit_test(header_blocks_are_bounded),
	    cmocka_unit_test(acknowledgements_and_goaways_without_end_are_bounded),
	    cmocka_unit_test(completed_exchanges_pay_for_their_blocks),
	    cmocka_unit_test(expansion_of_indexed_fields_is_bounded),
	    cmocka_unit_test(busy_pages_stay_below_the_default_limit_of_expansion),
	    cmocka_unit_test(completed_exchanges_pay_for_their_large_fields),
	    cmocka_unit_test(usual_fields_expand_for_nothing),
	    cmocka_unit_test(answers_that_the_peer_does_not_read_are_bounded),
	    cmocka_unit_test(answers_that_the_peer_reads_are_not),
	    cmocka_unit_test(what_the_owner_sends_is_not_counted_as_provoked),
	    cmocka_unit_test(continuations_are_bounded),
	    cmocka_unit_test(bytes_of_a_field_block_are_bounded),
	    cmocka_unit_test(bytes_of_a_promise_block_are_bounded),
	    cmocka_unit_test(usual_traffic_comes_nowhere_near_the_default_limits),
	    cmocka_unit_test(responses_that_wait_for_a_slow_peer_are_no_flood),
	    cmocka_unit_test(requests_that_wait_for_a_slow_peer_are_no_flood),
	    cmocka_unit_test(requests_beside_unread_responses_are_refused),
	};
	return SCRIPT_RUN(tests);
}
