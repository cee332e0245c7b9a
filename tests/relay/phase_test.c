/* SPDX-License-Identifier: MIT */
/*
 * The phases of an exchange: every row of the table of transitions is played by an exchange with legs in memory, and every
 * event that is not in the table is fatal.
 */
#include "tests/support/hold_world.h"

#include "proxy/relay/relay_private.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct scene {
	struct hold_world *hw; /* NULL: without held responses */
	struct world *w;
	struct exchange *x;
	struct world_leg *down, *up;
};

/* ---- into a phase ---- */

static void be_new(struct scene *s)
{
	s->w->connects = false;
	s->x = world_exchange(s->w, "POST", false, &s->down);
}

static void be_new_with_a_held_response(struct scene *s)
{
	world_free(s->w);
	s->hw = hold_world_new();
	s->w = s->hw->w;
	hold_world_push(s->hw, "/held", FIELDS("cache-control", "max-age=60"), "bytes");
	s->x = hold_world_request(s->hw, &s->hw->store, "GET", "/held", NULL, &s->down);
}

static void be_queued(struct scene *s)
{
	be_new(s);
	exchange_dispatch(s->x);
}

static void be_sent(struct scene *s)
{
	s->x = world_connected(s->w, "POST", false, &s->down, &s->up);
	s->w->connects = false;
}

static void be_a_push_without_room(struct scene *s)
{
	struct exchange *parent = world_connected(s->w, "GET", true, &s->down, &s->up);
	s->x = world_promise(s->w, parent, "/a", &s->up, &s->down);
	s->down->must_wait = true;
}

static void be_ready(struct scene *s)
{
	be_a_push_without_room(s);
	exchange_on_response(s->x, world_response(s->w, 200), false);
}

static void be_answering(struct scene *s)
{
	be_sent(s);
	exchange_on_response(s->x, world_response(s->w, 200), false);
	world_download(s->w, s->x, "half", false);
}

static void be_cut_short(struct scene *s)
{
	be_answering(s);
	exchange_on_up_failed(s->x, &relay_cause_UP_RESET, RELAY_NO_ERROR, NULL);
}

static void be_lingering(struct scene *s)
{
	be_sent(s);
	exchange_on_response(s->x, world_response(s->w, 200), true);
}

static void be_refused(struct scene *s)
{
	be_new(s);
	exchange_refuse(s->x, &relay_cause_NO_ROUTE, NULL);
}

/* With memory short, nothing more is read of the request. */
static void be_refused_for_memory(struct scene *s)
{
	be_new(s);
	exchange_refuse(s->x, &relay_cause_NO_MEMORY, NULL);
}

/* ---- what happens then ---- */

static void dispatch(struct scene *s)
{
	exchange_dispatch(s->x);
}

static void claim(struct scene *s)
{
	assert_true(hold_claim(&s->hw->hold, s->x));
}

static void connect(struct scene *s)
{
	s->up = &s->w->legs[s->w->leg_count++];
	s->up->leg = &s->x->up;
	const struct leg leg = {.ops = s->x->down.ops, .carrier = s->up, .budget = &s->w->up_budget};
	exchange_on_connected(s->x, &leg);
}

static void refuse(struct scene *s)
{
	exchange_refuse(s->x, &relay_cause_NO_ROUTE, NULL);
}

static void fail_to_connect(struct scene *s)
{
	exchange_on_up_failed(s->x, &relay_cause_UP_UNREACHABLE, 0, NULL);
}

static void find_the_queue_full(struct scene *s)
{
	exchange_on_up_failed(s->x, &relay_cause_QUEUE_FULL, 0, NULL);
}

static void be_unprocessed(struct scene *s)
{
	exchange_on_up_failed(s->x, &relay_cause_UP_UNPROCESSED, RELAY_REFUSED_STREAM, NULL);
}

static void lose_the_origin(struct scene *s)
{
	exchange_on_up_failed(s->x, &relay_cause_UP_LOST, 0, NULL);
}

static void lose_the_client(struct scene *s)
{
	exchange_on_down_ended(s->x, &relay_cause_DOWN_LOST, RELAY_CANCEL, NULL);
}

static void respond(struct scene *s)
{
	exchange_on_response(s->x, world_response(s->w, 200), false);
}

static void start(struct scene *s)
{
	exchange_on_start(s->x);
}

static void start_with_room(struct scene *s)
{
	s->down->must_wait = false;
	exchange_on_start(s->x);
}

static void be_reset_with_no_error(struct scene *s)
{
	exchange_on_up_failed(s->x, &relay_cause_UP_RESET, RELAY_NO_ERROR, NULL);
}

static void end_the_response(struct scene *s)
{
	world_download(s->w, s->x, "", true);
	world_take(s->down);
}

static void let_the_client_take(struct scene *s)
{
	world_take(s->down);
}

static void end_the_request(struct scene *s)
{
	world_upload(s->w, s->x, "rest", true);
	world_take(s->up);
}

static const struct play {
	enum exchange_phase from;
	enum exchange_event event;
	enum exchange_phase to;
	void (*set)(struct scene *s);
	void (*act)(struct scene *s);
} plays[] = {
    {EXCHANGE_NEW, EXCHANGE_DISPATCH, EXCHANGE_QUEUED, be_new, dispatch},
    {EXCHANGE_NEW, EXCHANGE_CONNECT, EXCHANGE_SENT, be_new_with_a_held_response, claim},
    {EXCHANGE_NEW, EXCHANGE_REFUSE, EXCHANGE_REFUSED, be_new, refuse},
    {EXCHANGE_NEW, EXCHANGE_FINISH, EXCHANGE_OVER, be_new, lose_the_client},
    {EXCHANGE_QUEUED, EXCHANGE_DISPATCH, EXCHANGE_QUEUED, be_queued, fail_to_connect},
    {EXCHANGE_QUEUED, EXCHANGE_CONNECT, EXCHANGE_SENT, be_queued, connect},
    {EXCHANGE_QUEUED, EXCHANGE_REFUSE, EXCHANGE_REFUSED, be_queued, find_the_queue_full},
    {EXCHANGE_QUEUED, EXCHANGE_FINISH, EXCHANGE_OVER, be_queued, lose_the_client},
    {EXCHANGE_SENT, EXCHANGE_DISPATCH, EXCHANGE_QUEUED, be_sent, be_unprocessed},
    {EXCHANGE_SENT, EXCHANGE_HEAD_WAITS, EXCHANGE_READY, be_a_push_without_room, respond},
    {EXCHANGE_SENT, EXCHANGE_HEAD_SENT, EXCHANGE_ANSWERING, be_sent, respond},
    {EXCHANGE_SENT, EXCHANGE_REFUSE, EXCHANGE_REFUSED, be_sent, lose_the_origin},
    {EXCHANGE_SENT, EXCHANGE_FINISH, EXCHANGE_OVER, be_sent, lose_the_client},
    {EXCHANGE_READY, EXCHANGE_HEAD_WAITS, EXCHANGE_READY, be_ready, start},
    {EXCHANGE_READY, EXCHANGE_HEAD_SENT, EXCHANGE_ANSWERING, be_ready, start_with_room},
    {EXCHANGE_READY, EXCHANGE_FINISH, EXCHANGE_OVER, be_ready, lose_the_origin},
    {EXCHANGE_ANSWERING, EXCHANGE_CUT, EXCHANGE_CUT_SHORT, be_answering, be_reset_with_no_error},
    {EXCHANGE_ANSWERING, EXCHANGE_RESPONSE_ENDED, EXCHANGE_LINGERING, be_answering, end_the_response},
    {EXCHANGE_ANSWERING, EXCHANGE_FINISH, EXCHANGE_OVER, be_answering, lose_the_origin},
    {EXCHANGE_CUT_SHORT, EXCHANGE_FINISH, EXCHANGE_OVER, be_cut_short, let_the_client_take},
    {EXCHANGE_LINGERING, EXCHANGE_FINISH, EXCHANGE_OVER, be_lingering, end_the_request},
    {EXCHANGE_REFUSED, EXCHANGE_RESPONSE_ENDED, EXCHANGE_LINGERING, be_refused, let_the_client_take},
    {EXCHANGE_REFUSED, EXCHANGE_FINISH, EXCHANGE_OVER, be_refused_for_memory, let_the_client_take},
};

static const struct play *play_of(unsigned phase, unsigned event)
{
	for (size_t i = 0; i < sizeof(plays) / sizeof(plays[0]); i++)
		if (plays[i].from == phase && plays[i].event == event)
			return &plays[i];
	return NULL;
}

static void assert_phase(const struct exchange *x, enum exchange_phase phase)
{
	char text[512], word[32];
	assert_string_equal(exchange_phase_name(x->phase), exchange_phase_name(phase));
	exchange_describe(x, text, sizeof(text));
	snprintf(word, sizeof(word), " %s status=", exchange_phase_name(phase));
	assert_non_null(strstr(text, word));
}

static void every_transition_is_reached(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plays) / sizeof(plays[0]); i++) {
		const struct play *p = &plays[i];
		struct scene s = {.w = world_new()};
		p->set(&s);
		assert_phase(s.x, p->from);
		p->act(&s);
		assert_phase(s.x, p->to);
		assert_int_equal(exchange_transitions[p->from][p->event], p->to);
		if (s.hw)
			hold_world_free(s.hw);
		else
			world_end(s.w);
	}
}

/* So that a play tells by the two phases alone which event it was. */
static void no_two_events_lead_from_one_phase_to_the_same(void **state)
{
	(void)state;
	for (unsigned phase = 0; phase < EXCHANGE_PHASE_COUNT; phase++) {
		unsigned seen = 0;
		for (unsigned event = 0; event < EXCHANGE_EVENT_COUNT; event++) {
			unsigned next = exchange_transitions[phase][event];
			assert_true(next == EXCHANGE_NEW || !(seen & PHASE_BIT(next)));
			seen |= PHASE_BIT(next);
			assert_true((next != EXCHANGE_NEW) == (play_of(phase, event) != NULL));
		}
	}
}

/* In a child; what it wrote is in `out`. Returns its wait status. */
static int move_in_child(enum exchange_phase phase, enum exchange_event event, char *out, size_t size)
{
	int pipes[2], status;
	size_t at = 0;
	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const struct rlimit no_core = {0, 0};
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		dup2(pipes[1], STDERR_FILENO);
		struct exchange x = {.id = 7, .phase = phase};
		exchange_move(&x, event);
		_exit(0);
	}
	close(pipes[1]);
	for (ssize_t n; (n = read(pipes[0], out + at, size - 1 - at)) > 0;)
		at += (size_t)n;
	out[at] = 0;
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void every_other_event_is_fatal_and_names_itself_and_the_phase(void **state)
{
	(void)state;
	for (unsigned phase = 0; phase < EXCHANGE_PHASE_COUNT; phase++) {
		for (unsigned event = 0; event < EXCHANGE_EVENT_COUNT; event++) {
			char out[1024], said[128];
			if (play_of(phase, event))
				continue;
			int status = move_in_child(phase, event, out, sizeof(out));
			assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
			snprintf(said, sizeof(said), "exchange x7: %s in phase %s",
			    exchange_event_name(event), exchange_phase_name(phase));
			assert_non_null(strstr(out, said));
		}
	}
}

/* As people read them in the log and in a dump. */
static void phases_and_events_have_names(void **state)
{
	(void)state;
	const char *const phases[EXCHANGE_PHASE_COUNT] = {"new", "queued", "sent", "ready", "answering",
	    "cut-short", "lingering", "refused", "over"};
	const char *const events[EXCHANGE_EVENT_COUNT] = {"dispatch", "connect", "head-waits", "head-sent",
	    "cut", "response-ended", "refuse", "finish"};
	for (unsigned i = 0; i < EXCHANGE_PHASE_COUNT; i++)
		assert_string_equal(exchange_phase_name(i), phases[i]);
	for (unsigned i = 0; i < EXCHANGE_EVENT_COUNT; i++)
		assert_string_equal(exchange_event_name(i), events[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(phases_and_events_have_names),
	    cmocka_unit_test(every_transition_is_reached),
	    cmocka_unit_test(no_two_events_lead_from_one_phase_to_the_same),
	    cmocka_unit_test(every_other_event_is_fatal_and_names_itself_and_the_phase),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
