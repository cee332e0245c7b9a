/* SPDX-License-Identifier: MIT */
/*
 * The engine's tables themselves: what holds for every row, and for the settings each row's borders on the
 * wire. What single rows mean is tested from the outside in the other suites.
 */
#include "proxy/h2/h2_conn.h"
#include "proxy/h2/h2_fault.h"
#include "proxy/h2/frame.h"
#include "proxy/h2/settings.h"
#include "proxy/h2/state.h"
#include "tests/support/h2_script.h"

#include <stdio.h>
#include <stdlib.h>

SCRIPT_TEST(every_fault_has_a_name_of_its_own_a_section_and_a_sentence)
{
	for (uint32_t i = 0; i < H2_FAULT_COUNT; i++) {
		const struct session_fault *fault = &h2_faults[i];
		assert_non_null(fault->name);
		assert_int_equal(strncmp(fault->section, "RFC ", 4), 0);
		size_t length = strlen(fault->text);
		assert_true(length > 5 && fault->text[length - 1] == '.');
		assert_true(fault->code != SESSION_NO_ERROR && fault->code <= SESSION_HTTP_1_1_REQUIRED);
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(fault->name, h2_faults[k].name);
	}
}

SCRIPT_TEST(every_error_code_has_the_name_of_the_registry)
{
	static const char *const names[] = {"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR",
	    "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED", "FRAME_SIZE_ERROR",
	    "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
	    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"};
	for (uint32_t i = 0; i < 14; i++)
		assert_string_equal(session_code_name(i), names[i]);
	assert_string_equal(session_code_name(14), "UNKNOWN");
	assert_string_equal(session_code_name(0xffffffff), "UNKNOWN");
}

/* RFC 9113 6, RFC 9218 7.1: minimum, maximum (0: none), unit, stream rule, senders, flags. */
SCRIPT_TEST(frame_rows_are_those_of_the_rfcs)
{
	static const struct {
		uint8_t type;
		uint32_t min, max, unit;
		enum h2_stream_rule rule;
		uint8_t senders, flags;
	} rows[] = {
	    {0x0, 0, 0, 1, H2_STREAM_NONZERO, H2_BY_BOTH, 0x9},
	    {0x1, 0, 0, 1, H2_STREAM_NONZERO, H2_BY_BOTH, 0x2d},
	    {0x2, 5, 5, 1, H2_STREAM_NONZERO, H2_BY_BOTH, 0},
	    {0x3, 4, 4, 1, H2_STREAM_NONZERO, H2_BY_BOTH, 0},
	    {0x4, 0, 0, 6, H2_STREAM_ZERO, H2_BY_BOTH, 0x1},
	    {0x5, 4, 0, 1, H2_STREAM_NONZERO, H2_BY_SERVER, 0xc},
	    {0x6, 8, 8, 1, H2_STREAM_ZERO, H2_BY_BOTH, 0x1},
	    {0x7, 8, 0, 1, H2_STREAM_ZERO, H2_BY_BOTH, 0},
	    {0x8, 4, 4, 1, H2_STREAM_ANY, H2_BY_BOTH, 0},
	    {0x9, 0, 0, 1, H2_STREAM_NONZERO, H2_BY_BOTH, 0x4},
	    {0x10, 4, 0, 1, H2_STREAM_ZERO, H2_BY_CLIENT, 0},
	};
	size_t known = 0;
	for (uint32_t type = 0; type < 256; type++)
		known += h2_frame_row((uint8_t)type) != NULL;
	assert_int_equal(known, sizeof rows / sizeof *rows);
	for (size_t i = 0; i < known; i++) {
		const struct h2_frame_row *row = h2_frame_row(rows[i].type);
		assert_non_null(row);
		assert_int_equal(row->length_min, rows[i].min);
		if (rows[i].max)
			assert_int_equal(row->length_max, rows[i].max);
		else
			assert_true(row->length_max >= 0xffffff);
		assert_int_equal(row->length_unit, rows[i].unit);
		assert_int_equal(row->stream_rule, rows[i].rule);
		assert_int_equal(row->senders, rows[i].senders);
		assert_int_equal(row->flags, rows[i].flags);
		assert_int_equal(row->in_block, rows[i].type == H2_CONTINUATION);
	}
}

/* What the row says about a frame header agrees with what it should. */
SCRIPT_TEST(frame_rows_judge_their_borders)
{
	for (uint32_t type = 0; type < 20; type++) {
		const struct h2_frame_row *row = h2_frame_row((uint8_t)type);
		if (!row) {
			struct h2_frame frame = {.length = 7, .type = (uint8_t)type};
			assert_null(h2_frame_verify(&frame, H2_CLIENT));
			continue;
		}
		enum h2_role sender = row->senders & H2_BY_CLIENT ? H2_CLIENT : H2_SERVER;
		enum h2_role other = sender == H2_CLIENT ? H2_SERVER : H2_CLIENT;
		struct h2_frame frame = {.length = row->length_min,
		    .stream_id = row->stream_rule == H2_STREAM_NONZERO,
		    .type = (uint8_t)type};
		assert_null(h2_frame_verify(&frame, sender));
		assert_int_equal(
		    h2_frame_verify(&frame, other) == NULL, row->senders == H2_BY_BOTH);
		frame.length = row->length_min - 1;
		if (row->length_min > 0)
			assert_int_equal(
			    h2_frame_verify(&frame, sender)->code, SESSION_FRAME_SIZE_ERROR);
		frame.length = row->length_max + 1;
		if (row->length_max < 0xffffff)
			assert_int_equal(
			    h2_frame_verify(&frame, sender)->code, SESSION_FRAME_SIZE_ERROR);
		frame.length = row->length_min;
		frame.stream_id = !frame.stream_id;
		const struct session_fault *fault = h2_frame_verify(&frame, sender);
		assert_int_equal(fault == NULL, row->stream_rule == H2_STREAM_ANY);
		if (fault)
			assert_int_equal(fault->code, SESSION_PROTOCOL_ERROR);
	}
}

static void setting_at(
    enum h2_role sender, const struct h2_setting_row *row, uint64_t value, bool fine)
{
	if (value > UINT32_MAX)
		return;
	struct script *s = script_open(sender == H2_CLIENT ? H2_SERVER : H2_CLIENT);
	script_sends_settings(s, (uint32_t)row->id, (uint32_t)value, SCRIPT_SETTINGS_END);
	script_pumps(SCRIPT_AT(s));
	assert_int_equal(session_has_failed(s->conn), !fine);
	if (fine)
		assert_int_equal(h2_setting_get(h2_peer_settings(s->conn), row), value);
	else
		assert_int_equal(s->events[s->events_tail - 1]->code, h2_faults[row->fault].code);
	script_close(s);
}

/* covers: R12 R28 P-recv-enable-push-value */
SCRIPT_TEST(every_setting_is_judged_at_its_borders)
{
	static const uint32_t initial[H2_SETTING_COUNT] = {4096, 1, UINT32_MAX, 65535, 16384, UINT32_MAX, 0, 0};
	for (uint32_t i = 0; i < H2_SETTING_COUNT; i++) {
		const struct h2_setting_row *row = &h2_setting_rows[i];
		assert_ptr_equal(h2_setting_find(row->id), row);
		assert_int_equal(h2_setting_get(&h2_settings_initial, row), initial[i]);
		for (int sender = 0; sender < 2; sender++) {
			if (row->min > 0)
				setting_at((enum h2_role)sender, row, row->min - 1, false);
			setting_at((enum h2_role)sender, row, row->min, true);
			setting_at((enum h2_role)sender, row, row->max[sender], true);
			setting_at(
			    (enum h2_role)sender, row, (uint64_t)row->max[sender] + 1, false);
		}
	}
	assert_null(h2_setting_find(0));
	assert_null(h2_setting_find(7));
	assert_null(h2_setting_find(0xffff));
}

/* ---- the state table ---- */

/* The arrows of RFC 9113 5.1, figure 2. */
static bool is_arrow(enum h2_state from, enum h2_input by, enum h2_state to)
{
	// clang-format off
	static const struct {
		enum h2_state from;
		enum h2_input by;
		enum h2_state to;
	} arrows[] = {
		{H2_STATE_IDLE, H2_INPUT_RECV_HEADERS, H2_STATE_OPEN},
		{H2_STATE_IDLE, H2_INPUT_SEND_HEADERS, H2_STATE_OPEN},
		{H2_STATE_IDLE, H2_INPUT_RECV_PROMISED, H2_STATE_RESERVED_REMOTE},
		{H2_STATE_IDLE, H2_INPUT_SEND_PROMISED, H2_STATE_RESERVED_LOCAL},
		{H2_STATE_RESERVED_LOCAL, H2_INPUT_SEND_HEADERS, H2_STATE_HALF_CLOSED_REMOTE},
		{H2_STATE_RESERVED_REMOTE, H2_INPUT_RECV_HEADERS, H2_STATE_HALF_CLOSED_LOCAL},
		{H2_STATE_OPEN, H2_INPUT_RECV_END_STREAM, H2_STATE_HALF_CLOSED_REMOTE},
		{H2_STATE_OPEN, H2_INPUT_SEND_END_STREAM, H2_STATE_HALF_CLOSED_LOCAL},
		{H2_STATE_HALF_CLOSED_LOCAL, H2_INPUT_RECV_END_STREAM, H2_STATE_CLOSED},
		{H2_STATE_HALF_CLOSED_REMOTE, H2_INPUT_SEND_END_STREAM, H2_STATE_CLOSED},
	};
	// clang-format on
	for (size_t i = 0; i < sizeof arrows / sizeof *arrows; i++)
		if (arrows[i].from == from && arrows[i].by == by)
			return arrows[i].to == to;
	if (by == H2_INPUT_RECV_RST_STREAM || by == H2_INPUT_SEND_RST_STREAM)
		return from != H2_STATE_IDLE && to == H2_STATE_CLOSED;
	return from == to;
}

SCRIPT_TEST(every_move_is_an_arrow_of_the_diagram)
{
	for (uint32_t from = 0; from < H2_STATE_COUNT; from++)
		for (uint32_t input = 0; input < H2_INPUT_COUNT; input++) {
			const struct h2_transition *t = &h2_transitions[from][input];
			/* END_STREAM comes behind a frame that the table has allowed. */
			if (input < H2_INPUT_SEND_HEADERS && input != H2_INPUT_RECV_END_STREAM)
				assert_int_not_equal(t->verdict, H2_VERDICT_NEVER);
			if (t->verdict == H2_VERDICT_GO)
				assert_true(
				    is_arrow((enum h2_state)from, (enum h2_input)input, t->next));
			if (t->verdict == H2_VERDICT_FAULT) {
				assert_true(t->fault < H2_FAULT_COUNT);
				assert_true(h2_faults[t->fault].code == SESSION_PROTOCOL_ERROR ||
					    h2_faults[t->fault].code == SESSION_STREAM_CLOSED);
				assert_true(
				    input < H2_INPUT_SEND_HEADERS); /* the peer's doing alone */
			}
		}
	const char *const names[H2_STATE_COUNT] = {"idle", "reserved-local", "reserved-remote", "open",
	    "half-closed-local", "half-closed-remote", "closed", "forgotten"};
	for (unsigned i = 0; i < H2_STATE_COUNT; i++)
		assert_string_equal(h2_state_name(i), names[i]);
	/* A description may be asked for when nothing can be relied on. */
	assert_string_equal(h2_state_name(H2_STATE_COUNT), "?");
}

static void only_in(enum h2_input input, uint32_t states)
{
	for (uint32_t from = 0; from < H2_STATE_COUNT; from++)
		assert_int_equal(h2_state_allows((enum h2_state)from, input), states >> from & 1);
}

/* RFC 9113 5.1, from by from: what we may send, and what we take. */
SCRIPT_TEST(frames_are_allowed_in_these_states_alone)
{
	const uint32_t idle = 1u << H2_STATE_IDLE, open = 1u << H2_STATE_OPEN;
	const uint32_t local = 1u << H2_STATE_RESERVED_LOCAL,
		       remote = 1u << H2_STATE_RESERVED_REMOTE;
	const uint32_t we_ended = 1u << H2_STATE_HALF_CLOSED_LOCAL,
		       they_ended = 1u << H2_STATE_HALF_CLOSED_REMOTE;
	only_in(H2_INPUT_SEND_DATA, open | they_ended);
	only_in(H2_INPUT_SEND_HEADERS, idle | local | open | they_ended);
	only_in(H2_INPUT_SEND_PUSH_PROMISE, open | they_ended);
	only_in(H2_INPUT_SEND_PROMISED, idle);
	only_in(H2_INPUT_SEND_END_STREAM, open | they_ended);
	only_in(H2_INPUT_SEND_RST_STREAM, local | remote | open | we_ended | they_ended);
	only_in(H2_INPUT_RECV_DATA, open | we_ended);
	only_in(H2_INPUT_RECV_HEADERS, idle | remote | open | we_ended);
	only_in(H2_INPUT_RECV_PUSH_PROMISE, open | we_ended);
	only_in(H2_INPUT_RECV_RST_STREAM, local | remote | open | we_ended | they_ended);
	only_in(H2_INPUT_RECV_WINDOW_UPDATE, local | open | we_ended | they_ended);
}

/* ---- the last ids (RFC 9113 5.1.1) ---- */

SCRIPT_TEST(client_stops_at_the_last_id)
{
	struct script *s = script_open(H2_CLIENT);
	h2_of(s->conn)->own_next_id = H2_ID_MAX - 2;
	assert_int_equal(session_request_room(s->conn), 2);
	assert_int_equal(script_gets(s), H2_ID_MAX - 2);
	assert_int_equal(script_gets(s), H2_ID_MAX);
	assert_int_equal(session_request_room(s->conn), 0);
	assert_int_equal(script_gets(s), 0);
	script_close(s);
}

/* covers: P-make-allowed R44 */
SCRIPT_TEST(server_promises_nothing_past_the_last_id)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_get(s, 1);
	script_expects_head(s, 1, true);
	h2_of(s->conn)->own_next_id = H2_ID_MAX - 1;
	assert_int_equal(script_promises(s, 1, "/"), H2_ID_MAX - 1);
	assert_int_equal(h2_may_promise(s->conn, script_handle(s, 1)), H2_PROMISE_NO_IDS);
	assert_int_equal(script_promises(s, 1, "/"), 0);
	script_close(s);
}

/* ---- words ---- */

SCRIPT_TEST(description_fits_into_any_buffer)
{
	struct script *s = script_open(H2_SERVER);
	for (uint32_t id = 1; id < 20; id += 2)
		script_sends_post(s, id);
	script_promises(s, 1, "/");
	script_clears(s);
	char all[8192];
	size_t length = session_describe(s->conn, all, sizeof all);
	assert_true(length > 100 && length < sizeof all);
	assert_int_equal(strlen(all), length);
	assert_non_null(strstr(all, "s19 "));
	for (size_t size = 0; size < 300; size++) {
		char *some = malloc(size + 1);
		memset(some, 'x', size + 1);
		size_t n = session_describe(s->conn, some, size);
		assert_int_equal(some[size], 'x');
		if (size > 0) {
			assert_true(n < size);
			assert_int_equal(some[n], 0);
			assert_memory_equal(some, all, n);
		}
		free(some);
	}
	script_close(s);
}

struct lines {
	char text[1000];
	size_t length;
};

static void take_line(void *context, const char *line)
{
	struct lines *lines = context;
	lines->length += (size_t)snprintf(
	    lines->text + lines->length, sizeof lines->text - lines->length, "%s\n", line);
}

SCRIPT_TEST(trace_has_a_line_per_frame)
{
	struct lines lines = {.text = ""};
	struct chunk_pool *chunks = chunk_pool_new(16384, 1);
	struct http_head_pool *heads = http_head_pool_new(1);
	struct budget budget;
	budget_init(&budget, NULL, 1 << 20);
	struct h2_config config = {H2_SERVER, h2_settings_initial, h2_limits_default};
	config.limits.connection_window = 65535;
	const struct session_env env = {.heads = heads, .trace = take_line};
	const struct session_conn conn = {.budget = &budget, .traced = &lines};
	struct session *c = h2_new(&config, &env, &conn, 1);
	struct chunk *chunk = chunk_acquire(chunks);
	static const char input[] = H2_PREFACE "\0\0\0\4\0\0\0\0\0"
					       "\0\0\0\4\1\0\0\0\0"
					       "\0\0\10\6\0\0\0\0\0"
					       "12345678"
					       "\0\0\3\x55\377\0\0\0\7"
					       "abc";
	memcpy(chunk->data, input, sizeof input - 1);
	struct session_event e;
	for (size_t at = 0; at < sizeof input - 1;) {
		at += session_receive(c, chunk, at, sizeof input - 1 - at, 1);
		while (session_next_event(c, &e))
			continue;
	}
	assert_string_equal(lines.text, "s0 -> SETTINGS len=0\n"
					"s0 <- SETTINGS len=0\n"
					"s0 -> SETTINGS len=0 ack\n"
					"s0 <- SETTINGS len=0 ack\n"
					"s0 <- PING len=8\n"
					"s0 -> PING len=8 ack\n"
					"s7 <- 0x55 len=3\n");
	chunk_release(chunk);
	session_free(c);
	budget_fini(&budget);
	chunk_pool_free(chunks);
	http_head_pool_free(heads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_fault_has_a_name_of_its_own_a_section_and_a_sentence),
	    cmocka_unit_test(every_error_code_has_the_name_of_the_registry),
	    cmocka_unit_test(frame_rows_are_those_of_the_rfcs),
	    cmocka_unit_test(frame_rows_judge_their_borders),
	    cmocka_unit_test(every_setting_is_judged_at_its_borders),
	    cmocka_unit_test(every_move_is_an_arrow_of_the_diagram),
	    cmocka_unit_test(frames_are_allowed_in_these_states_alone),
	    cmocka_unit_test(client_stops_at_the_last_id),
	    cmocka_unit_test(server_promises_nothing_past_the_last_id),
	    cmocka_unit_test(description_fits_into_any_buffer),
	    cmocka_unit_test(trace_has_a_line_per_frame),
	};
	return SCRIPT_RUN(tests);
}
