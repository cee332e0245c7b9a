/* SPDX-License-Identifier: MIT */
/* The deadlines of an exchange: each row of the table ends what it is about, in its time, and nothing else; and the timer,
 * which does not fire while nothing happens. */
#include "tests/support/relay_world.h"

#include "proxy/relay/deadline.h"
#include "proxy/relay/relay_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* covers: R65 R200 R205 R206 */

#define LIMIT (10 * USEC_PER_SEC)

struct scene {
	struct world *w;
	struct exchange *x;
	struct world_leg *down, *up;
};

static void request(struct scene *s)
{
	s->x = world_connected(s->w, "GET", true, &s->down, &s->up);
}

static void upload(struct scene *s)
{
	s->x = world_connected(s->w, "POST", false, &s->down, &s->up);
}

static void upload_that_waits(struct scene *s)
{
	upload(s);
	world_upload(s->w, s->x, "waits for the origin", false);
}

static void whole_upload_that_waits(struct scene *s)
{
	upload(s);
	world_upload(s->w, s->x, "waits for the origin", true);
}

static void queued(struct scene *s)
{
	s->w->connects = false;
	s->x = world_exchange(s->w, "GET", true, &s->down);
	exchange_dispatch(s->x);
}

/* The response that the origin owes has this content-length. */
static void respond(struct scene *s, uint64_t length)
{
	struct http_head *head = world_response(s->w, 200);
	head->content_length = length;
	exchange_on_response(s->x, head, false);
}

static void response(struct scene *s)
{
	request(s);
	respond(s, 1000000);
}

static void stream(struct scene *s)
{
	request(s);
	respond(s, HTTP_LENGTH_UNKNOWN);
}

static void stream_that_waits(struct scene *s)
{
	stream(s);
	world_download(s->w, s->x, "waits for the client", false);
}

static void push(struct scene *s);

static void streaming_upload(struct scene *s)
{
	upload(s);
	s->x->terms.is_streaming = true;
}

static void streaming_upload_that_is_owed(struct scene *s)
{
	streaming_upload(s);
	world_request_of(s->x)->content_length = 1000000;
}

static void streaming_upload_that_waits(struct scene *s)
{
	streaming_upload(s);
	world_upload(s->w, s->x, "waits for the origin", false);
}

static void tunnel_that_is_asked_for(struct scene *s)
{
	s->x = world_exchange(s->w, "GET", true, &s->down);
	exchange_ask_for_tunnel(s->x, SLICE("websocket"));
	exchange_dispatch(s->x);
	s->up = world_leg_of(s->w, &s->x->up);
	world_upload(s->w, s->x, "waits for the answer", false);
}

static void tunnel(struct scene *s)
{
	tunnel_that_is_asked_for(s);
	struct http_head *head = world_response(s->w, 200);
	head->opens_tunnel = true;
	exchange_on_response(s->x, head, false);
	world_take(s->up);
}

/* Its first bytes have come, and must not go on. */
static void unchecked_tunnel(struct scene *s)
{
	s->x = world_exchange(s->w, "GET", true, &s->down);
	exchange_ask_for_tunnel(s->x, SLICE("websocket"));
	s->x->tunnel.is_checked = true;
	exchange_dispatch(s->x);
	s->up = world_leg_of(s->w, &s->x->up);
	world_upload(s->w, s->x, "waits for more", false);
	struct http_head *head = world_response(s->w, 200);
	head->opens_tunnel = true;
	exchange_on_response(s->x, head, false);
}

static void tunnel_that_waits(struct scene *s)
{
	tunnel(s);
	world_download(s->w, s->x, "waits for the client", false);
}

static void half_closed_tunnel(struct scene *s)
{
	tunnel(s);
	world_upload(s->w, s->x, "", true);
	world_take(s->up);
}

static void half_closed_tunnel_that_waits(struct scene *s)
{
	half_closed_tunnel(s);
	world_download(s->w, s->x, "waits for the client", false);
}

/* Of gRPC. */
static void call(struct scene *s)
{
	request(s);
	s->x->terms.is_call = true;
}

static void call_that_waits(struct scene *s)
{
	whole_upload_that_waits(s);
	s->x->terms.is_call = true;
}

static void call_with_a_deadline(struct scene *s)
{
	call(s);
	s->x->terms.call_timeout = LIMIT;
	exchange_arm(s->x);
}

static void queued_call_with_a_deadline(struct scene *s)
{
	queued(s);
	s->x->terms.call_timeout = LIMIT;
	exchange_arm(s->x);
}

static void answered_call_with_a_deadline(struct scene *s)
{
	call_with_a_deadline(s);
	respond(s, HTTP_LENGTH_UNKNOWN);
}

static void request_with_a_deadline(struct scene *s)
{
	request(s);
	s->x->terms.request_timeout = LIMIT;
	exchange_arm(s->x);
}

static void queued_request_with_a_deadline(struct scene *s)
{
	queued(s);
	s->x->terms.request_timeout = LIMIT;
	exchange_arm(s->x);
}

static void answered_request_with_a_deadline(struct scene *s)
{
	request_with_a_deadline(s);
	respond(s, HTTP_LENGTH_UNKNOWN);
}

static void push_of_a_request_with_a_deadline(struct scene *s)
{
	push(s);
	s->x->terms.request_timeout = LIMIT;
	exchange_arm(s->x);
}

static void answered_upload(struct scene *s)
{
	upload(s);
	respond(s, 1000000);
}

static void answered_upload_that_is_owed(struct scene *s)
{
	upload(s);
	world_request_of(s->x)->content_length = 1000000;
	respond(s, 1000000);
}

static void pushed_stream(struct scene *s)
{
	struct exchange *parent = world_connected(s->w, "GET", true, &s->down, &s->up);
	exchange_on_response(parent, world_response(s->w, 200), false);
	s->x = world_promise(s->w, parent, "/a.css", &s->up, &s->down);
	respond(s, HTTP_LENGTH_UNKNOWN);
}

static void response_that_waits(struct scene *s)
{
	response(s);
	world_download(s->w, s->x, "waits for the client", false);
}

static void lingering(struct scene *s)
{
	upload(s);
	exchange_on_response(s->x, world_response(s->w, 200), true);
}

static void push(struct scene *s)
{
	struct exchange *parent = world_connected(s->w, "GET", true, &s->down, &s->up);
	exchange_on_response(parent, world_response(s->w, 200), false);
	s->x = world_promise(s->w, parent, "/a.css", &s->up, &s->down);
}

static void push_without_room(struct scene *s)
{
	push(s);
	s->down->must_wait = true;
	exchange_on_response(s->x, world_response(s->w, 200), false);
}

static void own_answer(struct scene *s)
{
	s->x = world_exchange(s->w, "POST", false, &s->down);
	exchange_refuse(s->x, &relay_cause_NO_ROUTE, NULL);
}

static const struct row {
	enum deadline_id id;
	enum exchange_phase phase;
	void (*late)(struct scene *s);  /* is ended by the row */
	void (*never)(struct scene *s); /* is not: we hold the peer back, or it is of the other kind */
} rows[] = {
    {DEADLINE_LINGER, EXCHANGE_LINGERING, lingering, response},
    {DEADLINE_CLIENT_TAKES, EXCHANGE_ANSWERING, response_that_waits, response},
    {DEADLINE_CLIENT_TAKES, EXCHANGE_REFUSED, own_answer, request},
    {DEADLINE_PUSH_HEAD, EXCHANGE_SENT, push, request},
    {DEADLINE_PUSH_START, EXCHANGE_READY, push_without_room, request},
    {DEADLINE_CALL_TIMEOUT, EXCHANGE_QUEUED, queued_call_with_a_deadline, queued},
    {DEADLINE_CALL_TIMEOUT, EXCHANGE_SENT, call_with_a_deadline, call},
    {DEADLINE_CALL_TIMEOUT, EXCHANGE_ANSWERING, answered_call_with_a_deadline, stream},
    {DEADLINE_REQUEST_TIMEOUT, EXCHANGE_QUEUED, queued_request_with_a_deadline, queued},
    {DEADLINE_REQUEST_TIMEOUT, EXCHANGE_SENT, request_with_a_deadline, request},
    {DEADLINE_REQUEST_TIMEOUT, EXCHANGE_ANSWERING, answered_request_with_a_deadline, stream},
    {DEADLINE_REQUEST_TIMEOUT, EXCHANGE_SENT, request_with_a_deadline, push_of_a_request_with_a_deadline},
    {DEADLINE_QUEUE, EXCHANGE_QUEUED, queued, request},
    {DEADLINE_CLIENT_SENDS, EXCHANGE_SENT, upload, upload_that_waits},
    {DEADLINE_CLIENT_SENDS, EXCHANGE_SENT, upload, own_answer},
    {DEADLINE_CLIENT_SENDS, EXCHANGE_SENT, streaming_upload_that_is_owed, streaming_upload},
    {DEADLINE_ORIGIN_SENDS, EXCHANGE_ANSWERING, response, response_that_waits},
    {DEADLINE_ORIGIN_SENDS, EXCHANGE_ANSWERING, response, stream},
    {DEADLINE_ORIGIN_TAKES, EXCHANGE_SENT, upload_that_waits, upload},
    {DEADLINE_STREAM_IDLE, EXCHANGE_ANSWERING, stream, response},
    {DEADLINE_STREAM_IDLE, EXCHANGE_ANSWERING, pushed_stream, stream_that_waits},
    {DEADLINE_STREAM_IDLE, EXCHANGE_ANSWERING, answered_upload, answered_upload_that_is_owed},
    {DEADLINE_STREAM_IDLE, EXCHANGE_SENT, streaming_upload, upload},
    {DEADLINE_STREAM_IDLE, EXCHANGE_SENT, streaming_upload, streaming_upload_that_waits},
    {DEADLINE_STREAM_IDLE, EXCHANGE_SENT, call, call_that_waits},
    {DEADLINE_TUNNEL_IDLE, EXCHANGE_ANSWERING, tunnel, tunnel_that_waits},
    {DEADLINE_TUNNEL_HALF_IDLE, EXCHANGE_ANSWERING, half_closed_tunnel, tunnel},
    {DEADLINE_TUNNEL_HALF_IDLE, EXCHANGE_ANSWERING, half_closed_tunnel, half_closed_tunnel_that_waits},
    {DEADLINE_TUNNEL_AGE, EXCHANGE_ANSWERING, tunnel, stream},
    {DEADLINE_TUNNEL_HELLO, EXCHANGE_ANSWERING, unchecked_tunnel, tunnel},
    {DEADLINE_ORIGIN_TAKES, EXCHANGE_SENT, upload_that_waits, unchecked_tunnel},
    {DEADLINE_HEAD, EXCHANGE_SENT, tunnel_that_is_asked_for, tunnel},
    {DEADLINE_HEAD, EXCHANGE_SENT, request, streaming_upload},
    {DEADLINE_HEAD, EXCHANGE_SENT, request, whole_upload_that_waits},
    {DEADLINE_HEAD, EXCHANGE_SENT, request, push},
};

static struct scene scene(enum deadline_id id, void (*set)(struct scene *s))
{
	struct scene s = {.w = world_new()};
	s.w->limits[exchange_deadlines[id].limit] = LIMIT;
	set(&s);
	return s;
}

static void seconds(struct scene *s, unsigned n)
{
	world_pass(s->w, n * USEC_PER_SEC);
}

static void every_row_ends_what_is_late(void **state)
{
	(void)state;
	unsigned seen = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct deadline_row *row = &exchange_deadlines[rows[i].id];
		struct scene s = scene(rows[i].id, rows[i].late);
		assert_int_equal(s.x->phase, rows[i].phase);
		assert_true(row->phases & PHASE_BIT(s.x->phase));
		assert_ptr_equal(exchange_deadline(s.x).cause, row->cause);
		seconds(&s, 9);
		assert_int_equal(s.x->phase, rows[i].phase);
		seconds(&s, 2);
		assert_true(exchange_is_over(s.x) || (s.x->phase == EXCHANGE_REFUSED && rows[i].phase != EXCHANGE_REFUSED));
		/* an answer of our own has named its cause before */
		if (rows[i].phase != EXCHANGE_REFUSED)
			assert_ptr_equal(s.x->ending.cause, row->cause);
		seen |= 1u << rows[i].id;
		world_end(s.w);
	}
	assert_int_equal(seen, (1u << DEADLINE_COUNT) - 1);
}

static void no_row_ends_what_is_held_back_or_not_meant(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = scene(rows[i].id, rows[i].never);
		enum exchange_phase phase = s.x->phase;
		seconds(&s, 100);
		assert_int_equal(s.x->phase, phase);
		world_end(s.w);
	}
}

/* What is late only because of what the origin did not send or take. */
static const struct row owed_by_origins[] = {
    {DEADLINE_PUSH_HEAD, EXCHANGE_SENT, push, NULL},
    {DEADLINE_ORIGIN_SENDS, EXCHANGE_ANSWERING, response, NULL},
    {DEADLINE_ORIGIN_TAKES, EXCHANGE_SENT, upload_that_waits, NULL},
    {DEADLINE_STREAM_IDLE, EXCHANGE_ANSWERING, stream, NULL},
    {DEADLINE_TUNNEL_IDLE, EXCHANGE_ANSWERING, tunnel, NULL},
    {DEADLINE_TUNNEL_HALF_IDLE, EXCHANGE_ANSWERING, half_closed_tunnel, NULL},
    {DEADLINE_HEAD, EXCHANGE_SENT, request, NULL},
};

static bool is_owed_by_origins(enum deadline_id id)
{
	for (size_t i = 0; i < sizeof(owed_by_origins) / sizeof(owed_by_origins[0]); i++)
		if (owed_by_origins[i].id == id)
			return true;
	return false;
}

static void origins_that_are_not_read_are_not_late_and_keep_the_rest_of_their_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(owed_by_origins) / sizeof(owed_by_origins[0]); i++) {
		struct scene s = scene(owed_by_origins[i].id, owed_by_origins[i].late);
		seconds(&s, 4);
		for (unsigned times = 0; times < 3; times++) {
			relay_pause_origins(&s.w->relay);
			relay_pause_origins(&s.w->relay);
			seconds(&s, 100);
			assert_int_equal(s.x->phase, owed_by_origins[i].phase);
			relay_resume_origins(&s.w->relay);
			relay_resume_origins(&s.w->relay);
			seconds(&s, 1);
			assert_int_equal(s.x->phase, owed_by_origins[i].phase);
		}
		seconds(&s, 2);
		assert_int_equal(s.x->phase, owed_by_origins[i].phase);
		seconds(&s, 2);
		assert_ptr_equal(s.x->ending.cause, exchange_deadlines[owed_by_origins[i].id].cause);
		world_end(s.w);
	}
}

static void what_is_sent_to_an_origin_that_is_not_read_has_its_whole_time_afterwards(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_RESPONSE] = LIMIT;
	seconds(&s, 20);
	relay_pause_origins(&s.w->relay);
	seconds(&s, 20);
	request(&s);
	seconds(&s, 20);
	relay_resume_origins(&s.w->relay);
	seconds(&s, 9);
	assert_int_equal(s.x->phase, EXCHANGE_SENT);
	seconds(&s, 2);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_HEAD_LATE);
	world_end(s.w);
}

/* The response waited for its client when reading stopped, and the client took it meanwhile. */
static void response_that_was_taken_while_origins_are_not_read_goes_on_with_its_time(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = LIMIT;
	response_that_waits(&s);
	seconds(&s, 20);
	relay_pause_origins(&s.w->relay);
	seconds(&s, 20);
	world_take(s.down);
	seconds(&s, 20);
	relay_resume_origins(&s.w->relay);
	seconds(&s, 9);
	assert_int_equal(s.x->phase, EXCHANGE_ANSWERING);
	seconds(&s, 12);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_BODY_LATE);
	world_end(s.w);
}

static void clients_are_late_also_while_origins_are_not_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (is_owed_by_origins(rows[i].id))
			continue;
		struct scene s = scene(rows[i].id, rows[i].late);
		relay_pause_origins(&s.w->relay);
		seconds(&s, 11);
		assert_true(exchange_is_over(s.x) || (s.x->phase == EXCHANGE_REFUSED && rows[i].phase != EXCHANGE_REFUSED));
		relay_resume_origins(&s.w->relay);
		world_end(s.w);
	}
}

/* The response of a push is there: from then on it waits for the client alone. */
static void push_that_waits_for_its_client_gets_no_time_for_an_origin_that_was_not_read(void **state)
{
	(void)state;
	struct scene s = scene(DEADLINE_PUSH_START, push_without_room);
	seconds(&s, 4);
	relay_pause_origins(&s.w->relay);
	seconds(&s, 3);
	relay_resume_origins(&s.w->relay);
	seconds(&s, 2);
	assert_int_equal(s.x->phase, EXCHANGE_READY);
	seconds(&s, 2);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_PUSH_START_LATE);
	assert_string_equal(s.down->said, "waits; reset 8");
	world_end(s.w);
}

/* Each row says in one way when its clock runs. */
static void every_row_has_one_clock_and_a_cause(void **state)
{
	(void)state;
	for (unsigned i = 0; i < DEADLINE_COUNT; i++) {
		const struct deadline_row *row = &exchange_deadlines[i];
		assert_int_equal((row->since != NULL) + (row->start != 0) + (row->pace != 0), 1);
		assert_true(row->cause && row->cause->is_timeout);
		assert_true(row->phases != 0);
		assert_false(row->phases & PHASE_BIT(EXCHANGE_OVER));
		if (row->has_partner)
			assert_int_equal(exchange_deadlines[row->partner].partner, i);
	}
}

static void the_nearest_of_several_counts(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_RESPONSE] = 20 * USEC_PER_SEC;
	s.w->limits[RELAY_TIMEOUT_BODY_UP] = LIMIT;
	upload(&s);
	assert_ptr_equal(exchange_deadline(s.x).cause, &relay_cause_UPLOAD_LATE);
	world_upload(s.w, s.x, "", true);
	world_take(s.up);
	assert_ptr_equal(exchange_deadline(s.x).cause, &relay_cause_HEAD_LATE);
	exchange_on_response(s.x, world_response(s.w, 200), false);
	assert_null(exchange_deadline(s.x).cause);
	assert_int_equal(exchange_deadline(s.x).at, USEC_NEVER);
	world_end(s.w);
}

/* ---- the timer ---- */

static unsigned looks;
static void counted_look(struct wheel_node *node, usec now)
{
	looks++;
	exchange_look(node, now);
}

static struct scene event_stream(usec stream_idle_timeout)
{
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_IDLE] = stream_idle_timeout;
	s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = LIMIT;
	stream(&s);
	world_download(s.w, s.x, "data: 1\n\n", false);
	world_take(s.down);
	looks = 0;
	s.x->timing.timer.expired = counted_look;
	return s;
}

static void silent_event_stream_costs_no_timer(void **state)
{
	(void)state;
	struct scene s = event_stream(0);
	seconds(&s, 3);
	assert_true(looks <= 2);
	looks = 0;
	seconds(&s, 24 * 3600);
	assert_int_equal(looks, 0);
	assert_int_equal(s.w->relay.wheel.count, 0);
	assert_false(exchange_is_over(s.x));
	world_end(s.w);
}

static void silent_event_stream_with_a_limit_is_looked_at_when_that_is_over(void **state)
{
	(void)state;
	struct scene s = event_stream(60 * USEC_PER_SEC);
	seconds(&s, 59);
	assert_false(exchange_is_over(s.x));
	assert_true(looks <= 2);
	seconds(&s, 2);
	assert_true(exchange_is_over(s.x));
	assert_true(looks <= 3);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_STREAM_IDLE);
	world_end(s.w);
}

/* With the limits of the default configuration, but for that of streams. */
static struct scene default_limits(usec idle)
{
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_IDLE] = idle;
	s.w->limits[RELAY_TIMEOUT_RESPONSE] = 60 * USEC_PER_SEC;
	s.w->limits[RELAY_TIMEOUT_BODY_UP] = 30 * USEC_PER_SEC;
	s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = 60 * USEC_PER_SEC;
	return s;
}

static void grpc_call_is_silent_for_as_long_as_its_limit_lets_it(void **state)
{
	(void)state;
	static const unsigned limits[] = {0, 12};
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned is_answered = 0; is_answered < 2; is_answered++) {
			struct scene s = default_limits(limits[i] * 60 * USEC_PER_SEC);
			streaming_upload(&s);
			world_upload(s.w, s.x, "a message", false);
			world_take(s.up);
			if (is_answered)
				respond(&s, HTTP_LENGTH_UNKNOWN);
			enum exchange_phase waits = is_answered ? EXCHANGE_ANSWERING : EXCHANGE_SENT;
			seconds(&s, 11 * 60);
			assert_int_equal(s.x->phase, waits);
			seconds(&s, 61);
			assert_int_equal(s.x->phase == waits, limits[i] == 0);
			world_end(s.w);
		}
	}
}

static void whole_grpc_call_waits_for_its_answer_as_long_as_for_a_message(void **state)
{
	(void)state;
	struct scene s = default_limits(12 * 60 * USEC_PER_SEC);
	s.w->limits[RELAY_TIMEOUT_RESPONSE] = 0; /* as gateway/ has it for calls */
	call(&s);
	seconds(&s, 11 * 60);
	assert_int_equal(s.x->phase, EXCHANGE_SENT);
	seconds(&s, 61);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_STREAM_IDLE);
	world_end(s.w);
}

static void call_is_answered_at_its_deadline_and_reset_soon_after_if_the_answer_has_begun(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_CALL] = LIMIT;
	call_with_a_deadline(&s);
	assert_int_equal(exchange_deadline(s.x).at, s.x->timing.started + LIMIT);
	respond(&s, HTTP_LENGTH_UNKNOWN);
	assert_int_equal(exchange_deadline(s.x).at, s.x->timing.started + LIMIT + USEC_PER_SEC);
	/* What moves does not put it off. */
	for (unsigned i = 0; i < 10; i++) {
		seconds(&s, 1);
		world_download(s.w, s.x, "a message", false);
		world_take(s.down);
	}
	assert_false(exchange_is_over(s.x));
	seconds(&s, 2);
	assert_true(exchange_is_over(s.x));
	assert_ptr_equal(s.x->ending.cause, &relay_cause_CALL_LATE);
	assert_non_null(strstr(s.down->said, "reset 8"));
	assert_non_null(strstr(s.up->said, "reset 8"));
	world_end(s.w);
}

static void status_that_comes_soon_after_the_deadline_of_a_call_arrives(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_CALL] = LIMIT;
	answered_call_with_a_deadline(&s);
	world_pass(s.w, LIMIT + USEC_PER_SEC / 2);
	exchange_on_download_trailers(s.x, world_trailers(s.w));
	world_take(s.down);
	assert_null(strstr(s.down->said, "reset"));
	assert_null(s.x->ending.cause);
	world_end(s.w);
}

static void response_that_is_owed_is_ended_though_streams_have_no_limit(void **state)
{
	(void)state;
	struct scene s = default_limits(0);
	response(&s);
	seconds(&s, 59);
	assert_false(exchange_is_over(s.x));
	seconds(&s, 2);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_BODY_LATE);
	world_end(s.w);
}

static void next_event_brings_the_deadlines_back(void **state)
{
	(void)state;
	struct scene s = event_stream(0);
	s.w->limits[RELAY_TIMEOUT_TAKE_DOWN] = LIMIT;
	seconds(&s, 1000);
	assert_int_equal(s.x->timing.timer.deadline, USEC_NEVER);
	world_download(s.w, s.x, "data: 2\n\n", false);
	assert_true(s.x->timing.timer.deadline <= s.w->relay.now + LOOK_AGAIN_USEC);
	seconds(&s, 9);
	assert_false(exchange_is_over(s.x));
	seconds(&s, 2);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_DOWN_STALLED);
	world_end(s.w);
}

static void every_kind_of_activity_wakes_it(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 5; kind++) {
		struct scene s = {.w = world_new()};
		upload(&s);
		world_upload(s.w, s.x, "first", false);
		world_take(s.up);
		seconds(&s, 10);
		assert_int_equal(s.x->timing.timer.deadline, USEC_NEVER);
		if (kind == 0)
			world_upload(s.w, s.x, "more", false);
		else if (kind == 1)
			exchange_on_upload_trailers(s.x, world_trailers(s.w));
		else if (kind == 2)
			exchange_on_response(s.x, world_response(s.w, 103), false);
		else if (kind == 3)
			exchange_on_response(s.x, world_response(s.w, 200), false);
		else
			exchange_on_up_failed(s.x, &relay_cause_UP_MALFORMED, 0, NULL);
		assert_true(s.x->timing.timer.deadline <= s.w->relay.now + LOOK_AGAIN_USEC);
		world_end(s.w);
	}
}

static void sink_that_takes_what_waited_long_is_activity(void **state)
{
	(void)state;
	struct scene s = event_stream(0);
	world_download(s.w, s.x, "waits for the client", false);
	seconds(&s, 10);
	world_take(s.down);
	seconds(&s, 1);
	assert_true(s.x->timing.timer.deadline != USEC_NEVER);
	seconds(&s, 2);
	assert_int_equal(s.x->timing.timer.deadline, USEC_NEVER);
	world_end(s.w);
}

static void end_that_is_taken_is_activity(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	upload(&s);
	world_upload(s.w, s.x, "first", false);
	world_take(s.up);
	seconds(&s, 10);
	world_upload(s.w, s.x, "", true);
	world_take(s.up);
	seconds(&s, 1);
	assert_true(s.x->timing.timer.deadline != USEC_NEVER);
	seconds(&s, 3);
	assert_int_equal(s.x->timing.timer.deadline, USEC_NEVER);
	world_end(s.w);
}

/* What holds then is that the client takes nothing. */
static void in_a_dialogue_the_client_need_not_send_while_the_response_waits_for_it(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_BODY_UP] = s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = LIMIT;
	answered_upload_that_is_owed(&s);
	world_download(s.w, s.x, "waits for the client", false);
	seconds(&s, 100);
	assert_int_equal(s.x->phase, EXCHANGE_ANSWERING);
	world_end(s.w);
}

static void of_equal_deadlines_in_a_dialogue_the_clients_counts(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_BODY_UP] = s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = LIMIT;
	answered_upload_that_is_owed(&s);
	assert_int_equal(exchange_deadline(s.x).at, s.w->relay.now + LIMIT);
	assert_ptr_equal(exchange_deadline(s.x).cause, &relay_cause_UPLOAD_LATE);
	world_end(s.w);
}

/* What comes or leaves on either side begins the time anew. */
static void of_a_stream_both_sides_must_be_silent(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_IDLE] = LIMIT;
	streaming_upload(&s);
	for (unsigned i = 0; i < 4; i++) {
		seconds(&s, 8);
		if (i == 1)
			respond(&s, HTTP_LENGTH_UNKNOWN);
		if (i < 2) {
			world_upload(s.w, s.x, "a message", false);
			world_take(s.up);
		} else {
			world_download(s.w, s.x, "an answer", false);
			world_take(s.down);
		}
	}
	assert_int_equal(s.x->phase, EXCHANGE_ANSWERING);
	seconds(&s, 9);
	assert_int_equal(s.x->phase, EXCHANGE_ANSWERING);
	seconds(&s, 2);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_STREAM_IDLE);
	assert_string_equal(s.down->said, "head 200; reset 8");
	assert_string_equal(s.up->said, "reset 8");
	world_end(s.w);
}

/* Who owes a body does not profit from a stream on the other side that is silent. */
static void in_a_dialogue_the_side_that_owes_is_ended(void **state)
{
	(void)state;
	for (int up_owes = 0; up_owes < 2; up_owes++) {
		struct scene s = {.w = world_new()};
		s.w->limits[RELAY_TIMEOUT_IDLE] = 10 * LIMIT;
		s.w->limits[RELAY_TIMEOUT_BODY_UP] = s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = LIMIT;
		upload(&s);
		if (up_owes)
			world_request_of(s.x)->content_length = 1000000;
		respond(&s, up_owes ? HTTP_LENGTH_UNKNOWN : 1000000);
		for (unsigned i = 0; i < 5; i++) { /* the other one sends what nobody asked for */
			seconds(&s, 5);
			if (up_owes) {
				world_download(s.w, s.x, "data", false);
				world_take(s.down);
			} else {
				world_upload(s.w, s.x, "data", false);
				world_take(s.up);
			}
		}
		assert_int_equal(s.x->phase, EXCHANGE_ANSWERING);
		seconds(&s, 11);
		assert_true(exchange_is_over(s.x));
		assert_ptr_equal(s.x->ending.cause,
		    up_owes ? &relay_cause_UPLOAD_LATE : &relay_cause_BODY_LATE);
		world_end(s.w);
	}
}

/* Each of the two may be waiting for the other, so the one that sent last has its whole time. */
static void in_a_dialogue_of_two_that_owe_the_later_deadline_holds(void **state)
{
	(void)state;
	for (int client_is_last = 0; client_is_last < 2; client_is_last++) {
		struct scene s = {.w = world_new()};
		s.w->limits[RELAY_TIMEOUT_BODY_UP] = s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = LIMIT;
		answered_upload_that_is_owed(&s);
		seconds(&s, 5);
		if (client_is_last) {
			world_upload(s.w, s.x, "data", false);
			world_take(s.up);
		} else {
			world_download(s.w, s.x, "data", false);
			world_take(s.down);
		}
		struct exchange_deadline d = exchange_deadline(s.x);
		assert_int_equal(d.at, s.w->relay.now + LIMIT);
		assert_ptr_equal(d.cause, client_is_last ? &relay_cause_UPLOAD_LATE : &relay_cause_BODY_LATE);
		seconds(&s, 9);
		assert_int_equal(s.x->phase, EXCHANGE_ANSWERING);
		seconds(&s, 2);
		assert_true(exchange_is_over(s.x));
		assert_true(s.x->ending.cause->is_timeout);
		world_end(s.w);
	}
}

/* The limit for what waits depends on the connection's other streams, which nobody tells of. */
static void while_bytes_wait_it_looks_every_second(void **state)
{
	(void)state;
	struct scene s = event_stream(0);
	world_download(s.w, s.x, "waits for the client", false);
	seconds(&s, 100);
	assert_true(looks >= 90 && looks <= 102);
	world_end(s.w);
}

static void limit_of_less_than_a_second_is_kept(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_RESPONSE] = 200 * USEC_PER_MSEC;
	request(&s);
	world_pass(s.w, 180 * USEC_PER_MSEC);
	assert_int_equal(s.x->phase, EXCHANGE_SENT);
	world_pass(s.w, 60 * USEC_PER_MSEC);
	assert_int_equal(s.x->phase, EXCHANGE_REFUSED);
	world_end(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_row_ends_what_is_late),
	    cmocka_unit_test(no_row_ends_what_is_held_back_or_not_meant),
	    cmocka_unit_test(origins_that_are_not_read_are_not_late_and_keep_the_rest_of_their_time),
	    cmocka_unit_test(what_is_sent_to_an_origin_that_is_not_read_has_its_whole_time_afterwards),
	    cmocka_unit_test(response_that_was_taken_while_origins_are_not_read_goes_on_with_its_time),
	    cmocka_unit_test(clients_are_late_also_while_origins_are_not_read),
	    cmocka_unit_test(push_that_waits_for_its_client_gets_no_time_for_an_origin_that_was_not_read),
	    cmocka_unit_test(every_row_has_one_clock_and_a_cause),
	    cmocka_unit_test(the_nearest_of_several_counts),
	    cmocka_unit_test(silent_event_stream_costs_no_timer),
	    cmocka_unit_test(silent_event_stream_with_a_limit_is_looked_at_when_that_is_over),
	    cmocka_unit_test(grpc_call_is_silent_for_as_long_as_its_limit_lets_it),
	    cmocka_unit_test(whole_grpc_call_waits_for_its_answer_as_long_as_for_a_message),
	    cmocka_unit_test(call_is_answered_at_its_deadline_and_reset_soon_after_if_the_answer_has_begun),
	    cmocka_unit_test(status_that_comes_soon_after_the_deadline_of_a_call_arrives),
	    cmocka_unit_test(response_that_is_owed_is_ended_though_streams_have_no_limit),
	    cmocka_unit_test(next_event_brings_the_deadlines_back),
	    cmocka_unit_test(every_kind_of_activity_wakes_it),
	    cmocka_unit_test(sink_that_takes_what_waited_long_is_activity),
	    cmocka_unit_test(end_that_is_taken_is_activity),
	    cmocka_unit_test(in_a_dialogue_the_client_need_not_send_while_the_response_waits_for_it),
	    cmocka_unit_test(of_equal_deadlines_in_a_dialogue_the_clients_counts),
	    cmocka_unit_test(of_a_stream_both_sides_must_be_silent),
	    cmocka_unit_test(in_a_dialogue_the_side_that_owes_is_ended),
	    cmocka_unit_test(in_a_dialogue_of_two_that_owe_the_later_deadline_holds),
	    cmocka_unit_test(while_bytes_wait_it_looks_every_second),
	    cmocka_unit_test(limit_of_less_than_a_second_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
