/* SPDX-License-Identifier: MIT */
/*
 * Memory that is refused, and field lists that are too long. Whatever take the budget refuses, the
 * engine answers with a proper code, loses nothing and stays in step.
 */
#include "proxy/limits.h"
#include "tests/support/h2_script.h"

#include <stdlib.h>

#define URI ":scheme", "https", ":authority", "example.org", ":path", "/"

/* A block that is gathered over many bytes, on a stream above those of the scenarios. */
static void sends_long_block(struct script *s, uint32_t id)
{
	uint8_t *block = malloc(32000);
	char value[121];
	memset(value, 'v', sizeof value);
	size_t n = script_encodes(s, block, 300, ":method", "GET", URI, NULL);
	while (n < 30000)
		n += script_literal(block + n, "x-a", 3, value, sizeof value);
	script_sends_raw(s, H2_HEADERS, H2_END_STREAM, id, block, 10000);
	script_sends_raw(s, H2_CONTINUATION, 0, id, block + 10000, 10000);
	script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, id, block + 20000, n - 20000);
	free(block);
}

static void serve(struct script *s)
{
	script_sends_get(s, 1);
	script_sends_priority_update(s, 5, "u=1");
	sends_long_block(s, 3);
	uint8_t block[256];
	size_t n = script_encodes(
	    s, block, sizeof block, ":method", "POST", URI, "x-table", "entry", NULL);
	script_sends_raw(s, H2_HEADERS, 0, 5, block, n / 2);
	script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, 5, block + n / 2, n - n / 2);
	script_sends_data(s, 5, 0, 3000);
	script_sends_headers(s, 5, H2_END_STREAM, "x-t", "1", NULL);
	script_pumps(s);
	if (!script_stream(s, 1)->handle)
		return;
	uint32_t promised = script_promises(s, 1, "/p");
	script_responds(s, 1, true, "200");
	if (promised)
		script_responds(s, promised, true, "200");
	script_sends_ping(s, 4);
	script_sends_get(s, 7);
	if (script_stream(s, 7)->handle)
		script_resets(s, 7, SESSION_CANCEL);
	script_sends_settings(s, SCRIPT_WINDOW, 100, SCRIPT_SETTINGS_END);
	script_pumps(s);
}

static void request(struct script *s)
{
	uint32_t id = script_gets(s);
	script_pumps(s);
	if (id == 0)
		return;
	script_sends_good_promise(s, id, 2);
	script_sends_good_promise(s, id, 4);
	uint8_t block[256];
	script_put32(block, 6);
	size_t n = 4 + script_encodes(s, block + 4, sizeof block - 4, ":method", "GET", URI,
			   "x-table", "entry", NULL);
	script_sends_raw(s, H2_PUSH_PROMISE, 0, id, block, n / 2);
	script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, id, block + n / 2, n - n / 2);
	script_pumps(s);
	if (script_stream(s, 4)->handle)
		script_resets(s, 4, SESSION_CANCEL);
	script_sends_ok(s, 2, 0);
	script_sends_data(s, 2, H2_END_STREAM, 3000);
	script_sends_headers(s, id, H2_END_STREAM, ":status", "200", "x-table", "entry", NULL);
	script_sends_goaway(s, 1, SESSION_NO_ERROR, "bye");
	script_pumps(s);
}

/* What is refused for want of memory is refused by these codes alone. */
static void codes_are_proper(struct script *s)
{
	for (size_t i = 0; i < s->frames_tail; i++) {
		const struct script_frame *f = s->frames[i];
		if (f->type == H2_RST_STREAM && f->code != SESSION_REFUSED_STREAM &&
		    f->code != SESSION_CANCEL && f->code != SESSION_ENHANCE_YOUR_CALM)
			script_fail(s, "RST_STREAM with %s", session_code_name(f->code));
		if (f->type == H2_GOAWAY && f->code != SESSION_ENHANCE_YOUR_CALM)
			script_fail(s, "GOAWAY with %s", session_code_name(f->code));
	}
}

static void every_take_is_refused_once(enum h2_role role, void (*scenario)(struct script *))
{
	size_t n = 1;
	for (bool refused = true; refused && n < 1000; n++) {
		struct script *s = script_open_with(role, &(struct script_options){.silent = true});
		budget_fail_nth(&s->budget, n);
		if (role == H2_SERVER)
			script_sends_preface(s);
		script_sends_settings(s, SCRIPT_SETTINGS_END);
		script_sends_settings_ack(s);
		script_pumps(SCRIPT_AT(s));
		scenario(s);
		refused = s->budget.refused > 0;
		codes_are_proper(s);
		script_close(s);
	}
	assert_in_range(n, 3, 999); /* something was refused, and then nothing any more */
}

/* covers: R63 */
SCRIPT_TEST(server_survives_the_refusal_of_any_take)
{
	every_take_is_refused_once(H2_SERVER, serve);
}

/* covers: R63 */
SCRIPT_TEST(client_survives_the_refusal_of_any_take)
{
	every_take_is_refused_once(H2_CLIENT, request);
}

/* covers: R63 R65 */
SCRIPT_TEST(streams_beyond_the_budget_are_refused_and_others_served)
{
	struct script *s =
	    script_open_with(H2_SERVER, &(struct script_options){.budget_bytes = 20000});
	uint32_t refused = 0, last = 0;
	for (uint32_t id = 1; id < 1001; id += 2) {
		script_sends_post(s, id);
		script_pumps(SCRIPT_AT(s));
		if (script_stream(s, id)->handle)
			last = id;
		else
			refused++;
		if (session_has_failed(s->conn))
			break;
	}
	codes_are_proper(s);
	assert_true(refused > 0);
	assert_true(last > 1);
	assert_true(s->budget.used_bytes <= 20000);
	if (!session_has_failed(s->conn)) {
		script_clears(s);
		script_sends_data(s, last, H2_END_STREAM, 5);
		script_expects_data(s, last, 5, true);
	}
	script_close(s);
}

/* covers: R63 */
SCRIPT_TEST(promises_beyond_the_budget_are_refused_and_the_parent_served)
{
	struct script *s =
	    script_open_with(H2_CLIENT, &(struct script_options){.budget_bytes = 20000});
	assert_int_equal(script_gets(s), 1);
	script_expects_frame(s, H2_HEADERS, 1);
	uint32_t taken = 0, refused = 0;
	for (uint32_t id = 2; id < 800; id += 2) {
		script_sends_good_promise(s, 1, id);
		script_pumps(SCRIPT_AT(s));
		*(script_stream(s, id)->handle ? &taken : &refused) += 1;
	}
	assert_true(taken > 0);
	assert_true(refused > 0);
	codes_are_proper(s);
	script_clears(s);
	script_sends_ok(s, 1, H2_END_STREAM);
	script_expects_head(s, 1, true);
	script_close(s);
}

SCRIPT_TEST(everything_is_given_back_when_streams_end)
{
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1); /* what it leaves in the table stays */
	script_sends_rst(s, 1, SESSION_CANCEL);
	script_pumps(s);
	size_t empty = s->budget.used_bytes;
	for (uint32_t id = 3; id < 41; id += 2)
		script_sends_post(s, id);
	script_pumps(s);
	assert_true(s->budget.used_bytes > empty);
	for (uint32_t id = 3; id < 41; id += 2)
		script_sends_rst(s, id, SESSION_CANCEL);
	script_clears(s);
	script_expects_alive(s);
	assert_int_equal(s->budget.used_bytes, empty);
	script_close(s);
}

/* Streams that ended are kept for the next ones, charged, as long as another one is alive. */
SCRIPT_TEST(what_is_kept_for_streams_to_come_is_bounded_and_charged)
{
	enum { ROUND = 60 };
	struct script *s = script_open(H2_SERVER);
	script_sends_post(s, 1); /* what it leaves in the table stays */
	script_sends_rst(s, 1, SESSION_CANCEL);
	script_pumps(s);
	size_t empty = s->budget.used_bytes;
	script_sends_post(s, 3);
	script_pumps(s);
	size_t one = s->budget.used_bytes - empty;
	uint32_t id = 5;
	for (int round = 0; round < 3; round++) {
		uint32_t first = id;
		for (; id < first + 2 * ROUND; id += 2)
			script_sends_post(s, id);
		script_pumps(s);
		assert_int_equal(s->budget.used_bytes, empty + (1 + ROUND) * one);
		for (uint32_t ended = first; ended < id; ended += 2)
			script_sends_rst(s, ended, SESSION_CANCEL);
		script_clears(s);
		assert_true(s->budget.used_bytes > empty + one);
		assert_true(s->budget.used_bytes <= empty + 33 * one);
	}
	script_sends_rst(s, 3, SESSION_CANCEL);
	script_clears(s);
	script_expects_alive(s);
	assert_int_equal(s->budget.used_bytes, empty);
	script_close(s);
}

/* The tables of both directions; what they had is given back with the connection (script_close). */
SCRIPT_TEST(tables_are_charged_as_they_grow)
{
	struct script *s = script_open(H2_SERVER);
	char value[1000] = "";
	memset(value, 'v', sizeof value - 1);
	size_t before = s->budget.used_bytes;
	script_sends_headers(
	    s, 1, H2_END_STREAM, ":method", "GET", URI, "x-a", value, "x-b", value, NULL);
	script_expects_head(s, 1, true);
	size_t with_decoder = s->budget.used_bytes;
	assert_true(with_decoder >= before + 2000);
	/* Nobody can refuse what keeps both sides' tables in step. */
	s->budget.limit_bytes = 1;
	assert_true(script_responds(s, 1, false, "200"));
	script_expects_frame(s, H2_HEADERS, 1);
	assert_true(s->budget.used_bytes > with_decoder);
	s->budget.limit_bytes = (size_t)1 << 28;
	script_close(s);
}

/* ---- field lists over our MAX_HEADER_LIST_SIZE (RFC 9113 10.5.1) ---- */

static struct script *short_lists(enum h2_role role)
{
	struct h2_settings local = h2_settings_initial;
	local.max_header_list_size = 400;
	return script_open_with(role, &(struct script_options){.local = &local});
}

#define LONG                                                                                       \
	"x-long", "0123456789012345678901234567890123456789012345678901234567890123456789",        \
	    "x-long", "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij",    \
	    "x-long", "ABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJABCDEFGHIJ"

SCRIPT_TEST(request_with_too_many_fields_is_told_with_its_pseudo_fields)
{
	struct script *s = short_lists(H2_SERVER);
	script_sends_headers(s, 1, 0, ":method", "POST", URI, LONG, "x-kept", "in the table", NULL);
	struct script_event *e = script_expects_head(s, 1, false);
	assert_true(e->oversize);
	assert_true(e->head->count <= 4);
	assert_true(script_responds(s, 1, true, "431"));
	script_expects_frame(s, H2_HEADERS, 1);
	/* The next block needs what that one put into the table. */
	script_sends_headers(
	    s, 3, H2_END_STREAM, ":method", "GET", URI, "x-kept", "in the table", NULL);
	e = script_expects_head(s, 3, true);
	assert_false(e->oversize);
	assert_non_null(http_head_find_name(e->head, SLICE("x-kept")));
	script_close(s);
}

SCRIPT_TEST(list_of_exactly_the_limit_is_fine)
{
	/* GET: 42+32 … : 7+3+32, 7+5+32, 10+1+32, 5+1+32 = 167; x-a: 3+32+n. */
	for (int over = 0; over < 2; over++) {
		struct script *s = short_lists(H2_SERVER);
		char value[400] = "";
		memset(value, 'v', (size_t)(400 - 167 - 35 + over));
		script_sends_headers(s, 1, H2_END_STREAM, ":method", "GET", ":scheme", "https",
		    ":authority", "a", ":path", "/", "x-a", value, NULL);
		assert_int_equal(script_expects_head(s, 1, true)->oversize, over);
		script_close(s);
	}
}

/*
 * Without an announced limit the engine's own is 256 KiB. A field of 3045 bytes goes into the table once, and is one
 * byte on the wire from then on. GET: 167 as above; x-a: 3+32+n.
 */
SCRIPT_TEST(list_without_an_announced_limit_has_the_engines_own)
{
	enum { OF_GET = 167, TIMES = 86, OF_BIG = 5 + 32 + 3008, OF_LAST = 3 + 32 };
	for (uint32_t over = 0; over < 2; over++) {
		struct script *s = script_open(H2_SERVER);
		char big[3009] = "", last[100] = "";
		memset(big, 'v', sizeof big - 1);
		memset(last, 'w',
		    (size_t)(LIMIT_FIELD_BLOCK_BYTES - OF_GET - TIMES * OF_BIG - OF_LAST + over));
		uint8_t block[4096];
		size_t length = script_encodes(s, block, sizeof block, ":method", "GET", ":scheme",
		    "https", ":authority", "a", ":path", "/", "x-big", big, NULL);
		memset(block + length, 0x80 | 62, TIMES - 1); /* the newest entry of the table */
		length += TIMES - 1;
		length += script_literal(block + length, "x-a", 3, last, strlen(last));
		script_sends_raw(s, H2_HEADERS, H2_END_STREAM | H2_END_HEADERS, 1, block, length);
		assert_int_equal(script_expects_head(s, 1, true)->oversize, over);
		script_close(s);
	}
}

static void only_this_stream_is_lost(struct script *s, uint32_t id)
{
	script_pumps(s);
	struct script_frame *f = script_expects_frame(s, H2_RST_STREAM, id);
	assert_int_not_equal(f->code, SESSION_NO_ERROR);
	script_clears(s);
	assert_false(session_has_failed(s->conn));
}

SCRIPT_TEST(trailers_with_too_many_fields_cost_the_stream)
{
	struct script *s = short_lists(H2_SERVER);
	script_sends_post(s, 1);
	script_expects_head(s, 1, false);
	script_sends_headers(s, 1, H2_END_STREAM, LONG, LONG, NULL);
	only_this_stream_is_lost(s, 1);
	script_sends_get(s, 3);
	script_expects_head(s, 3, true);
	script_close(s);
}

SCRIPT_TEST(response_with_too_many_fields_costs_the_stream)
{
	struct script *s = short_lists(H2_CLIENT);
	assert_int_equal(script_gets(s), 1);
	assert_int_equal(script_gets(s), 3);
	script_clears(s);
	script_sends_headers(s, 1, 0, ":status", "200", LONG, "x-kept", "in the table", NULL);
	script_expects_frame(s, H2_RST_STREAM, 1);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_RESET, 1);
	assert_non_null(e->fault);
	assert_true(e->oversize);
	script_sends_headers(s, 3, 0, ":status", "200", "x-kept", "in the table", NULL);
	assert_int_equal(script_expects_head(s, 3, false)->head->count, 1);
	script_close(s);
}

/* covers: R23 P-recv-oversize P-recv-decoded */
SCRIPT_TEST(promise_with_too_many_fields_is_decoded_and_refused)
{
	struct script *s = short_lists(H2_CLIENT);
	assert_int_equal(script_gets(s), 1);
	script_clears(s);
	script_sends_promise(s, 1, 2, ":method", "GET", URI, LONG, "x-kept", "in the table", NULL);
	only_this_stream_is_lost(s, 2);
	script_sends_promise(s, 1, 4, ":method", "GET", URI, "x-kept", "in the table", NULL);
	struct script_event *e = script_expects_event(s, SESSION_EVENT_PROMISE, 1);
	assert_int_equal(e->promised, 4);
	assert_int_equal(e->head->count, 1);
	script_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(server_survives_the_refusal_of_any_take),
	    cmocka_unit_test(client_survives_the_refusal_of_any_take),
	    cmocka_unit_test(streams_beyond_the_budget_are_refused_and_others_served),
	    cmocka_unit_test(promises_beyond_the_budget_are_refused_and_the_parent_served),
	    cmocka_unit_test(everything_is_given_back_when_streams_end),
	    cmocka_unit_test(what_is_kept_for_streams_to_come_is_bounded_and_charged),
	    cmocka_unit_test(tables_are_charged_as_they_grow),
	    cmocka_unit_test(request_with_too_many_fields_is_told_with_its_pseudo_fields),
	    cmocka_unit_test(list_of_exactly_the_limit_is_fine),
	    cmocka_unit_test(list_without_an_announced_limit_has_the_engines_own),
	    cmocka_unit_test(trailers_with_too_many_fields_cost_the_stream),
	    cmocka_unit_test(response_with_too_many_fields_costs_the_stream),
	    cmocka_unit_test(promise_with_too_many_fields_is_decoded_and_refused),
	};
	return SCRIPT_RUN(tests);
}
