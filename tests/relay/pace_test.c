/* SPDX-License-Identifier: MIT */
/*
 * Too slow is as bad as not at all: who has to send or to take bytes must move a least amount in
 * its time. Whom we hold back, or who takes all there is, is never blamed.
 */
#include "tests/support/relay_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* covers: R65 R201 */

#define LIMIT (10 * USEC_PER_SEC)
#define MIN_RATE 10u /* 100 bytes in LIMIT */

struct scene {
	struct world *w;
	struct exchange *x;
	struct world_leg *down, *up;
};

static struct scene scene(const char *method)
{
	struct scene s = {.w = world_new()};
	s.w->limits[RELAY_TIMEOUT_BODY_UP] = s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = LIMIT;
	s.w->limits[RELAY_TIMEOUT_TAKE_UP] = s.w->limits[RELAY_TIMEOUT_TAKE_DOWN] = LIMIT;
	s.w->min_rate[RELAY_CLIENT] = s.w->min_rate[RELAY_ORIGIN] = MIN_RATE;
	s.x = world_connected(s.w, method, method[0] == 'G', &s.down, &s.up);
	return s;
}

/* length: as content-length announces it. */
static void respond(struct scene *s, uint64_t length)
{
	struct http_head *head = world_response(s->w, 200);
	head->content_length = length;
	exchange_on_response(s->x, head, false);
}

static struct scene scene_of_response(void)
{
	struct scene s = scene("GET");
	respond(&s, 1000000);
	return s;
}

static void scene_end(struct scene *s)
{
	if (!exchange_is_over(s->x))
		exchange_on_down_ended(s->x, &relay_cause_DOWN_LOST, 0, NULL);
	world_free(s->w);
}

static void upload(struct scene *s, const char *text)
{
	world_upload(s->w, s->x, text, false);
}

static void download(struct scene *s, const char *text)
{
	world_download(s->w, s->x, text, false);
}

/* So many bytes of what waits for the leg. */
static void take(struct world_leg *l, size_t bytes)
{
	exchange_on_taken(l->leg, bytes, false);
}

static void seconds(struct scene *s, unsigned n)
{
	world_pass(s->w, n * USEC_PER_SEC);
}

static const char hundred[] =
    "0123456789012345678901234567890123456789012345678901234567890123456789"
    "012345678901234567890123456789";

static void client_that_sends_a_byte_now_and_then_is_too_slow(void **state)
{
	(void)state;
	struct scene s = scene("POST");
	for (unsigned i = 0; i < 9; i++) {
		upload(&s, "x");
		world_take(s.up);
		seconds(&s, 1);
	}
	assert_string_equal(s.up->said, "");
	upload(&s, "x");
	world_take(s.up);
	seconds(&s, 2);
	assert_string_equal(s.up->said, "reset 8");
	world_take(s.down);
	assert_string_equal(s.down->said, "head 408; end; reset 0");
	assert_string_equal(s.w->ended, "x1 request-stalled 408");
	scene_end(&s);
}

static void empty_pieces_of_an_upload_are_nothing(void **state)
{
	(void)state;
	struct scene s = scene("POST");
	upload(&s, hundred);
	world_take(s.up);
	seconds(&s, 1);
	for (unsigned i = 0; i < 11; i++) {
		upload(&s, "");
		seconds(&s, 1);
	}
	assert_string_equal(s.up->said, "reset 8");
	scene_end(&s);
}

static void client_that_sends_enough_goes_on(void **state)
{
	(void)state;
	struct scene s = scene("POST");
	for (unsigned i = 0; i < 10; i++) { /* at eleven bytes a second */
		for (unsigned j = 0; j < 10; j++)
			upload(&s, "0123456789!");
		world_take(s.up);
		seconds(&s, 9);
	}
	assert_false(exchange_is_over(s.x));
	/* From its last byte on it has the whole time. */
	upload(&s, hundred);
	world_take(s.up);
	seconds(&s, 9);
	assert_string_equal(s.up->said, "");
	seconds(&s, 2);
	assert_string_equal(s.up->said, "reset 8");
	scene_end(&s);
}

static void client_that_is_held_back_is_not_blamed(void **state)
{
	(void)state;
	struct scene s = scene("POST");
	s.w->limits[RELAY_TIMEOUT_TAKE_UP] = 0;
	seconds(&s, 5);
	upload(&s, "waits for the origin");
	seconds(&s, 100);
	world_take(s.up);
	seconds(&s, 4);
	assert_string_equal(s.up->said, "");
	seconds(&s, 3); /* five before, seven after */
	assert_string_equal(s.up->said, "reset 8");
	scene_end(&s);
}

static void origin_that_sends_a_byte_now_and_then_is_too_slow(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	for (unsigned i = 0; i < 12; i++) {
		if (!exchange_is_over(s.x))
			download(&s, "x");
		world_take(s.down);
		seconds(&s, 1);
		assert_true(i >= 9 || !exchange_is_over(s.x)); /* steps are a little longer */
	}
	assert_string_equal(s.up->said, "reset 8");
	assert_string_equal(s.down->said, "head 200; reset 2");
	assert_string_equal(s.w->ended, "x1 response-stalled 200");
	scene_end(&s);
}

static void origin_whose_client_is_slow_is_not_blamed(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	s.w->limits[RELAY_TIMEOUT_TAKE_DOWN] = 0;
	download(&s, "x");
	seconds(&s, 100);
	world_take(s.down);
	seconds(&s, 9);
	assert_false(exchange_is_over(s.x));
	scene_end(&s);
}

static void origin_whose_bytes_waited_has_no_more_time_for_it(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	s.w->limits[RELAY_TIMEOUT_TAKE_DOWN] = 0;
	for (unsigned i = 0; i < 20; i++) {
		download(&s, hundred);
		seconds(&s, 5);
	}
	world_take(s.down);
	seconds(&s, 9);
	assert_false(exchange_is_over(s.x));
	seconds(&s, 2);
	assert_true(exchange_is_over(s.x));
	assert_ptr_equal(s.x->ending.cause, &relay_cause_BODY_LATE);
	scene_end(&s);
}

/* As of an event stream: a comment now and then says that it is there. */
static void origin_that_announced_no_length_may_send_little(void **state)
{
	(void)state;
	struct scene s = scene("GET");
	s.w->limits[RELAY_TIMEOUT_IDLE] = LIMIT;
	respond(&s, HTTP_LENGTH_UNKNOWN);
	for (unsigned i = 0; i < 10; i++) {
		download(&s, ":\n\n");
		world_take(s.down);
		seconds(&s, 9);
		assert_false(exchange_is_over(s.x));
	}
	seconds(&s, 2);
	assert_string_equal(s.down->said, "head 200; reset 8");
	assert_string_equal(s.w->ended, "x1 stream-idle 200");
	scene_end(&s);
}

static void in_a_dialogue_whoever_listens_owes_nothing(void **state)
{
	(void)state;
	struct scene s = scene("POST");
	world_request_of(s.x)->content_length = 1000000; /* the client owes its body, the origin does not */
	respond(&s, HTTP_LENGTH_UNKNOWN);
	upload(&s, "a question");
	world_take(s.up);
	for (unsigned i = 0; i < 5; i++) {
		seconds(&s, 9);
		assert_false(exchange_is_over(s.x));
		download(&s, "an answer");
		world_take(s.down);
	}
	for (unsigned i = 0; i < 5; i++) {
		seconds(&s, 9);
		assert_false(exchange_is_over(s.x));
		upload(&s, hundred);
		world_take(s.up);
	}
	/* A client that says as good as nothing is no reason to wait for an origin that says nothing. */
	for (unsigned i = 0; i < 11; i++) {
		if (!exchange_is_over(s.x))
			upload(&s, "x");
		world_take(s.up);
		seconds(&s, 1);
	}
	assert_true(exchange_is_over(s.x));
	assert_ptr_equal(s.x->ending.cause, &relay_cause_UPLOAD_LATE);
	scene_end(&s);
}

static void client_that_takes_a_byte_now_and_then_is_too_slow(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	for (unsigned i = 0; i < 5; i++)
		download(&s, hundred);
	for (unsigned i = 0; i < 12; i++) {
		if (!exchange_is_over(s.x))
			take(s.down, 1);
		seconds(&s, 1);
		assert_true(i >= 9 || !exchange_is_over(s.x)); /* steps are a little longer */
	}
	assert_string_equal(s.down->said, "head 200; reset 8");
	assert_string_equal(s.w->ended, "x1 client-stalled 200");
	scene_end(&s);
}

static void client_that_takes_enough_goes_on(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	for (unsigned i = 0; i < 20; i++)
		download(&s, hundred);
	for (unsigned i = 0; i < 19; i++) {
		take(s.down, 100);
		seconds(&s, 9);
	}
	assert_false(exchange_is_over(s.x));
	scene_end(&s);
}

/* At ten bytes a second, but in steps that do not fit into LIMIT evenly. */
static void client_that_takes_at_min_rate_in_steps_is_never_cut(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	for (unsigned i = 0; i < 30; i++)
		download(&s, hundred);
	for (unsigned i = 0; i < 30; i++) {
		seconds(&s, 8);
		assert_false(exchange_is_over(s.x));
		take(s.down, 84); /* world_pass takes a little longer than it is asked for */
	}
	scene_end(&s);
}

static void client_that_takes_a_little_less_is_cut_in_the_end(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	unsigned rounds = 0;
	for (unsigned i = 0; i < 30; i++)
		download(&s, hundred);
	for (; rounds < 30 && !exchange_is_over(s.x); rounds++) {
		seconds(&s, 8);
		if (!exchange_is_over(s.x))
			take(s.down, 60);
	}
	assert_in_range(rounds, 2, 6);
	assert_ptr_equal(s.x->ending.cause, &relay_cause_DOWN_STALLED);
	scene_end(&s);
}

static void client_that_takes_all_there_is_goes_on(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	s.w->limits[RELAY_TIMEOUT_BODY_DOWN] = 0;
	for (unsigned i = 0; i < 20; i++) {
		download(&s, "few");
		take(s.down, 1);
		seconds(&s, 5);
		take(s.down, 2);
		seconds(&s, 8);
	}
	assert_false(exchange_is_over(s.x));
	scene_end(&s);
}

static void client_that_has_to_wait_for_others_has_all_its_time_afterwards(void **state)
{
	(void)state;
	struct scene s = scene_of_response();
	for (unsigned i = 0; i < 5; i++)
		download(&s, hundred);
	seconds(&s, 6);
	s.w->limits[RELAY_TIMEOUT_TAKE_DOWN] = 0; /* it is not its turn */
	usec last = s.x->download.taken.last;
	seconds(&s, 60);
	assert_int_equal(s.x->download.taken.last, last); /* nothing has moved, whoever's fault it is */
	s.w->limits[RELAY_TIMEOUT_TAKE_DOWN] = LIMIT;
	seconds(&s, 8);
	assert_false(exchange_is_over(s.x));
	seconds(&s, 3);
	assert_true(exchange_is_over(s.x));
	scene_end(&s);
}

static void origin_that_takes_a_byte_now_and_then_is_too_slow(void **state)
{
	(void)state;
	struct scene s = scene("POST");
	for (unsigned i = 0; i < 5; i++)
		upload(&s, hundred);
	for (unsigned i = 0; i < 12; i++) {
		if (s.up->leg)
			take(s.up, 1);
		seconds(&s, 1);
	}
	assert_string_equal(s.up->said, "reset 8");
	world_take(s.down);
	seconds(&s, 2);
	assert_string_equal(s.down->said, "head 504; end; reset 0");
	assert_string_equal(s.w->ended, "x1 origin-stalled 504");
	scene_end(&s);
}

static void without_a_rate_a_byte_is_enough(void **state)
{
	(void)state;
	struct scene s = scene("POST");
	s.w->min_rate[RELAY_CLIENT] = 0;
	for (unsigned i = 0; i < 10; i++) {
		upload(&s, "x");
		world_take(s.up);
		seconds(&s, 9);
	}
	assert_false(exchange_is_over(s.x));
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(client_that_sends_a_byte_now_and_then_is_too_slow),
	    cmocka_unit_test(empty_pieces_of_an_upload_are_nothing),
	    cmocka_unit_test(client_that_sends_enough_goes_on),
	    cmocka_unit_test(client_that_is_held_back_is_not_blamed),
	    cmocka_unit_test(origin_that_sends_a_byte_now_and_then_is_too_slow),
	    cmocka_unit_test(origin_whose_client_is_slow_is_not_blamed),
	    cmocka_unit_test(origin_whose_bytes_waited_has_no_more_time_for_it),
	    cmocka_unit_test(origin_that_announced_no_length_may_send_little),
	    cmocka_unit_test(in_a_dialogue_whoever_listens_owes_nothing),
	    cmocka_unit_test(client_that_takes_a_byte_now_and_then_is_too_slow),
	    cmocka_unit_test(client_that_takes_enough_goes_on),
	    cmocka_unit_test(client_that_takes_at_min_rate_in_steps_is_never_cut),
	    cmocka_unit_test(client_that_takes_a_little_less_is_cut_in_the_end),
	    cmocka_unit_test(client_that_takes_all_there_is_goes_on),
	    cmocka_unit_test(client_that_has_to_wait_for_others_has_all_its_time_afterwards),
	    cmocka_unit_test(origin_that_takes_a_byte_now_and_then_is_too_slow),
	    cmocka_unit_test(without_a_rate_a_byte_is_enough),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
