/* SPDX-License-Identifier: MIT */
/*
 * An engine without a script, which would fetch each event at once: what an owner may do between an event's making and
 * its fetching, what goes with an engine that is freed then, and what its environment is told.
 */
#include "tests/support/h2_script.h"

#include <stdio.h>

/* A server's engine. */
struct alone {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct session *conn;
	struct h2_config config;
	struct session_env env;
	struct session_event event; /* the last one; its head is gone */
	char trace[2000];
	const struct session_fault *fault; /* the last one */
	size_t fault_index;
	unsigned faults;
};

static void on_line(void *context, const char *line)
{
	struct alone *a = context;
	size_t at = strlen(a->trace);
	snprintf(a->trace + at, sizeof(a->trace) - at, "%s\n", line);
}

static void on_fault(void *context, const struct session_fault *fault, size_t index)
{
	struct alone *a = context;
	a->fault = fault;
	a->fault_index = index;
	a->faults++;
}

/* Delivers up to the first frame that causes an event; returns how much that was. */
static size_t alone_receives(struct alone *a, const void *bytes, size_t length)
{
	struct chunk *chunk = chunk_acquire(a->chunks);
	memcpy(chunk->data, bytes, length);
	size_t n = session_receive(a->conn, chunk, 0, length, SCRIPT_START);
	chunk_release(chunk);
	return n;
}

static bool alone_fetches(struct alone *a)
{
	if (!session_next_event(a->conn, &a->event))
		return false;
	http_head_free(a->event.head);
	a->event.head = NULL;
	return true;
}

static void alone_says_nothing(struct alone *a)
{
	assert_int_equal(h2_control(a->conn).len, 0);
	assert_false(alone_fetches(a));
}

#define ALONE_BYTES(a, text)                                                                      \
	assert_int_equal(alone_receives(a, text, sizeof(text) - 1), sizeof(text) - 1)

/* The prefaces have been exchanged. */
static void alone_init(struct alone *a)
{
	memset(a, 0, sizeof(*a));
	a->chunks = chunk_pool_new(4096, 1);
	a->heads = http_head_pool_new(4);
	budget_init(&a->budget, NULL, 1u << 20);
	a->config = (struct h2_config){H2_SERVER, h2_settings_initial, h2_limits_default};
	a->env = (struct session_env){
	    .heads = a->heads, .seed = 1, .trace = on_line, .fault = on_fault, .context = a};
	const struct session_conn conn = {.budget = &a->budget, .traced = a};
	a->conn = h2_new(&a->config, &a->env, &conn, SCRIPT_START);
	ALONE_BYTES(a, H2_PREFACE "\0\0\0\x04\0\0\0\0\0");
	assert_true(alone_fetches(a));
	ALONE_BYTES(a, "\0\0\0\x04\1\0\0\0\0");
	h2_control_taken(a->conn, h2_control(a->conn).len);
	alone_says_nothing(a);
}

/* The pools and the budget ensure that nothing is left. */
static void alone_fini(struct alone *a)
{
	session_free(a->conn);
	budget_fini(&a->budget);
	http_head_pool_free(a->heads);
	chunk_pool_free(a->chunks);
}

#define POST_ON_1 "\0\0\6\1\4\0\0\0\1\x83\x84\x87\1\1a"
#define GET_ON_3 "\0\0\6\1\5\0\0\0\3\x82\x84\x87\1\1a"
#define RST_ON_1 "\0\0\4\3\0\0\0\0\1\0\0\0\x08"

SCRIPT_TEST(freeing_takes_what_was_not_fetched)
{
	struct alone a;
	alone_init(&a);
	ALONE_BYTES(&a, POST_ON_1);
	alone_fini(&a);
	alone_init(&a);
	ALONE_BYTES(&a, POST_ON_1);
	assert_true(alone_fetches(&a));
	ALONE_BYTES(&a, RST_ON_1);
	alone_fini(&a);
}

SCRIPT_TEST(commands_on_a_stream_that_has_ended_unseen_do_nothing)
{
	struct alone a;
	alone_init(&a);
	ALONE_BYTES(&a, POST_ON_1);
	assert_true(alone_fetches(&a));
	struct session_stream *stream = a.event.stream;
	struct http_head *head = http_head_new(a.heads);
	http_head_add(head, SLICE(":status"), SLICE("200"));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	assert_true(session_respond(a.conn, stream, head, false));
	h2_control_taken(a.conn, h2_control(a.conn).len);
	ALONE_BYTES(&a, RST_ON_1);
	assert_false(session_respond(a.conn, stream, head, false));
	assert_false(session_trailers(a.conn, stream, head));
	session_offer(a.conn, stream, 100, true);
	session_credit(a.conn, stream, 0);
	session_widen(a.conn, stream, 1 << 20);
	session_set_priority(a.conn, stream, (struct http_priority){.urgency = 1});
	assert_int_equal(h2_may_promise(a.conn, stream), H2_PROMISE_PARENT_CLOSED);
	struct session_output frame;
	assert_false(h2_next_data(a.conn, 16384, &frame));
	session_reset(a.conn, stream, SESSION_CANCEL);
	/* The owner has let go of it: its end is not told. */
	alone_says_nothing(&a);
	http_head_free(head);
	alone_fini(&a);
}

SCRIPT_TEST(resetting_one_stream_leaves_the_event_of_another)
{
	struct alone a;
	alone_init(&a);
	ALONE_BYTES(&a, POST_ON_1);
	assert_true(alone_fetches(&a));
	struct session_stream *one = a.event.stream;
	ALONE_BYTES(&a, GET_ON_3);
	session_reset(a.conn, one, SESSION_CANCEL);
	assert_true(alone_fetches(&a));
	assert_int_equal(a.event.kind, SESSION_EVENT_HEAD);
	assert_int_equal(h2_stream_id(a.event.stream), 3);
	alone_fini(&a);
}

SCRIPT_TEST(resetting_a_stream_in_the_event_of_its_end_does_nothing)
{
	struct alone a;
	alone_init(&a);
	ALONE_BYTES(&a, POST_ON_1);
	assert_true(alone_fetches(&a));
	ALONE_BYTES(&a, RST_ON_1);
	assert_true(alone_fetches(&a));
	assert_int_equal(a.event.kind, SESSION_EVENT_RESET);
	assert_int_equal(a.event.code, SESSION_CANCEL);
	session_reset(a.conn, a.event.stream, SESSION_INTERNAL_ERROR);
	alone_says_nothing(&a);
	alone_fini(&a);
}

SCRIPT_TEST(an_owner_that_terminates_gets_no_more_events)
{
	struct alone a;
	alone_init(&a);
	ALONE_BYTES(&a, POST_ON_1);
	assert_true(alone_fetches(&a));
	ALONE_BYTES(&a, RST_ON_1);
	session_terminate(a.conn, SESSION_NO_ERROR, SLICE(""));
	assert_false(alone_fetches(&a));
	alone_fini(&a);
}

/* An END_STREAM without bytes needs neither room nor window. */
SCRIPT_TEST(an_empty_end_leaves_when_there_is_no_room)
{
	struct alone a;
	alone_init(&a);
	ALONE_BYTES(&a, POST_ON_1);
	assert_true(alone_fetches(&a));
	struct http_head *head = http_head_new(a.heads);
	http_head_add(head, SLICE(":status"), SLICE("200"));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	assert_true(session_respond(a.conn, a.event.stream, head, false));
	http_head_free(head);
	h2_control_taken(a.conn, h2_control(a.conn).len);
	struct session_output frame;
	session_offer(a.conn, a.event.stream, 5, false);
	assert_false(h2_next_data(a.conn, 0, &frame));
	session_offer(a.conn, a.event.stream, 0, true);
	assert_true(h2_next_data(a.conn, 0, &frame));
	assert_int_equal(frame.length, 0);
	assert_true(frame.before.ptr[4] & H2_END_STREAM);
	alone_fini(&a);
}

SCRIPT_TEST(what_is_left_of_a_frame_of_a_reset_stream_is_skipped)
{
	/* Ten bytes of DATA: in the bytes, and in the padding. */
	static const char *const begun[] = {"\0\0\x0a\0\0\0\0\0\1"
					    "abcd",
	    "\0\0\x0a\0\x08\0\0\0\1"
	    "\x08"
	    "a"
	    "\0\0"};
	for (size_t i = 0; i < 2; i++) {
		struct alone a;
		alone_init(&a);
		ALONE_BYTES(&a, POST_ON_1);
		assert_true(alone_fetches(&a));
		struct session_stream *stream = a.event.stream;
		for (size_t at = 0; at < 13;) {
			at += alone_receives(&a, begun[i] + at, 13 - at);
			while (alone_fetches(&a))
				assert_int_equal(a.event.kind, SESSION_EVENT_DATA);
		}
		session_reset(a.conn, stream, SESSION_CANCEL);
		h2_control_taken(a.conn, h2_control(a.conn).len);
		/* Were it not skipped it would be read as frames. */
		ALONE_BYTES(&a, "\xff\xff\xff\xff\xff\xff" GET_ON_3);
		assert_true(alone_fetches(&a));
		assert_int_equal(a.event.kind, SESSION_EVENT_HEAD);
		assert_int_equal(h2_stream_id(a.event.stream), 3);
		assert_false(session_has_failed(a.conn));
		alone_fini(&a);
	}
}

SCRIPT_TEST(each_frame_is_one_line_of_the_trace)
{
	// clang-format off
	static const char bytes[] =
	    "\0\0\x01\x01\0\0\0\0\1\x82"              /* HEADERS without END_HEADERS */
	    "\0\0\x02\x09\x04\0\0\0\1\x84\x87"        /* CONTINUATION */
	    "\0\0\x03\x00\x08\0\0\0\1\x01x\0"         /* DATA, padded */
	    "\0\0\x00\x00\x01\0\0\0\1"                /* DATA with END_STREAM */
	    "\0\0\x03\x01\x05\0\0\0\3\x82\x84\x87"    /* HEADERS with END_STREAM */
	    "\0\0\x02\x77\x05\0\0\0\0xx";             /* of a type that nobody knows */
	// clang-format on
	struct alone a;
	alone_init(&a);
	for (size_t at = 0; at < sizeof(bytes) - 1;) {
		at += alone_receives(&a, bytes + at, sizeof(bytes) - 1 - at);
		while (alone_fetches(&a))
			;
	}
	static const char *const expected[] = {"s0 -> SETTINGS len=", "s0 <- SETTINGS len=0\n",
	    "s0 -> SETTINGS len=0 ack\n", "s0 <- SETTINGS len=0 ack\n",
	    "s1 <- HEADERS len=1 more\n", "s1 <- CONTINUATION len=2\n", "s1 <- DATA len=3 padded\n",
	    "s1 <- DATA len=0 end\n", "s3 <- HEADERS len=3 end\n", "s0 <- 0x77 len=2\n"};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (!strstr(a.trace, expected[i]))
			fail_msg("no line %s in\n%s", expected[i], a.trace);
	alone_fini(&a);
}

SCRIPT_TEST(a_fault_is_noted_once_and_has_a_name)
{
	struct alone a;
	alone_init(&a);
	/* Two frames in one delivery, each of which would be the end. */
	ALONE_BYTES(&a, "\0\0\x08\6\0\0\0\0\1"
			 "12345678"
			 "\0\0\0\x04\0\0\0\0\1");
	assert_int_equal(a.faults, 1);
	assert_int_equal(a.fault->code, SESSION_PROTOCOL_ERROR);
	assert_true(alone_fetches(&a));
	assert_int_equal(a.event.kind, SESSION_EVENT_FAILED);
	assert_ptr_equal(a.event.fault, a.fault);
	assert_string_equal(h2_fault_name(a.fault_index), a.fault->name);
	size_t count = 0;
	while (h2_fault_name(count))
		for (size_t i = 0, n = count++; i < n; i++)
			assert_string_not_equal(h2_fault_name(i), h2_fault_name(n));
	assert_in_range(a.fault_index, 0, count - 1);
	alone_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(freeing_takes_what_was_not_fetched),
	    cmocka_unit_test(commands_on_a_stream_that_has_ended_unseen_do_nothing),
	    cmocka_unit_test(resetting_one_stream_leaves_the_event_of_another),
	    cmocka_unit_test(resetting_a_stream_in_the_event_of_its_end_does_nothing),
	    cmocka_unit_test(an_owner_that_terminates_gets_no_more_events),
	    cmocka_unit_test(an_empty_end_leaves_when_there_is_no_room),
	    cmocka_unit_test(what_is_left_of_a_frame_of_a_reset_stream_is_skipped),
	    cmocka_unit_test(a_fault_is_noted_once_and_has_a_name),
	    cmocka_unit_test(each_frame_is_one_line_of_the_trace),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
