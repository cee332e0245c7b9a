/* SPDX-License-Identifier: MIT */
/* The loop: timers, watches, signals, passes. */
#include "tests/unit/net/rig.h"
#include <signal.h>

static void count(void *context)
{
	++*(int *)context;
}

/* A loop with a timer, and how often it fired. */
struct timed {
	struct rig rig;
	struct net_timer timer;
	int fired;
};

static void timed_init(struct timed *t)
{
	rig_init(&t->rig);
	t->fired = 0;
	net_timer_init(&t->timer, t->rig.loop, count, &t->fired);
}

static void timed_fini(struct timed *t)
{
	net_timer_fini(&t->timer);
	rig_fini(&t->rig);
}

static void a_timer_fires_once_and_never_early(void **state)
{
	(void)state;
	struct timed t;
	timed_init(&t);
	usec deadline = net_now(t.rig.loop) + 30 * USEC_PER_MSEC;
	net_timer_set(&t.timer, deadline);
	run_until(&t.rig, t.fired > 0);
	assert_true(net_now(t.rig.loop) >= deadline);
	assert_true(t.timer.deadline == USEC_NEVER);
	run_passes(&t.rig, 3);
	assert_int_equal(t.fired, 1);
	timed_fini(&t);
}

static void moving_a_timer_later_leaves_it_armed_as_it_is(void **state)
{
	(void)state;
	struct timed t;
	timed_init(&t);
	usec first = net_now(t.rig.loop) + 10 * USEC_PER_MSEC;
	usec later = first + 3600 * USEC_PER_SEC;
	net_timer_set(&t.timer, first);
	assert_true(t.timer.armed == first);
	net_timer_set(&t.timer, later);
	assert_true(t.timer.armed == first);
	run_until(&t.rig, t.timer.armed == later || t.fired);
	assert_int_equal(t.fired, 0);
	usec soon = net_now(t.rig.loop) + 10 * USEC_PER_MSEC;
	net_timer_set(&t.timer, soon);
	run_until(&t.rig, t.fired > 0);
	assert_true(net_now(t.rig.loop) >= soon);
	timed_fini(&t);
}

static void moving_a_timer_earlier_arms_it_again(void **state)
{
	(void)state;
	struct timed t;
	timed_init(&t);
	net_timer_set(&t.timer, net_now(t.rig.loop) + 1000 * USEC_PER_SEC);
	usec soon = net_now(t.rig.loop) + USEC_PER_MSEC;
	net_timer_set(&t.timer, soon);
	assert_true(t.timer.armed == soon);
	run_until(&t.rig, t.fired > 0);
	timed_fini(&t);
}

static void a_timer_that_was_switched_off_stays_silent(void **state)
{
	(void)state;
	struct timed off;
	struct net_timer on;
	int reached = 0;
	timed_init(&off);
	net_timer_init(&on, off.rig.loop, count, &reached);
	net_timer_set(&off.timer, net_now(off.rig.loop) + USEC_PER_MSEC);
	net_timer_set(&off.timer, USEC_NEVER);
	net_timer_set(&on, net_now(off.rig.loop) + 10 * USEC_PER_MSEC);
	run_until(&off.rig, reached > 0);
	assert_int_equal(off.fired, 0);
	net_timer_fini(&on);
	timed_fini(&off);
}

static void a_timer_may_set_itself_again(void **state)
{
	(void)state;
	struct timed t;
	timed_init(&t);
	while (t.fired < 3) {
		int before = t.fired;
		net_timer_set(&t.timer, net_now(t.rig.loop));
		run_until(&t.rig, t.fired > before);
	}
	timed_fini(&t);
}

static void a_watch_tells_of_bytes_in_a_pipe(void **state)
{
	(void)state;
	struct rig r;
	int fd[2], readable = 0;
	rig_init(&r);
	assert_int_equal(pipe(fd), 0);
	struct net_watch *w = net_watch_new(r.loop, fd[0], count, &readable);
	run_passes(&r, 2);
	assert_int_equal(readable, 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	run_until(&r, readable > 0);
	net_watch_free(w);
	int before = readable;
	run_passes(&r, 2);
	assert_int_equal(readable, before);
	close(fd[0]);
	close(fd[1]);
	rig_fini(&r);
}

static void a_signal_calls_back_in_the_loop(void **state)
{
	(void)state;
	struct rig r;
	int came = 0;
	rig_init(&r);
	struct net_watch *s = net_watch_signal(r.loop, SIGUSR1, count, &came);
	raise(SIGUSR1);
	assert_int_equal(came, 0);
	run_until(&r, came == 1);
	net_watch_free(s);
	rig_fini(&r);
}

static void stop_in(void *loop)
{
	net_stop(loop);
}

static void net_run_returns_after_net_stop(void **state)
{
	(void)state;
	struct rig r;
	struct net_timer t;
	int passes = 0;
	rig_init(&r);
	net_on_pass(r.loop, count, &passes);
	net_timer_init(&t, r.loop, stop_in, r.loop);
	net_timer_set(&t, net_now(r.loop) + 5 * USEC_PER_MSEC);
	net_run(r.loop);
	assert_in_range(passes, 2, 100);
	net_timer_fini(&t);
	rig_fini(&r);
}

static void freeing_nothing_is_fine(void **state)
{
	(void)state;
	net_watch_free(NULL);
	net_watch_free(NULL);
	net_listener_free(NULL);
	net_tls_free(NULL);
}

struct slow {
	struct net_loop *loop;
	usec took;
	const char *note;
	int reports;
};

static void work_long(void *context)
{
	struct slow *s = context;
	usec until = clock_monotonic() + 2 * NET_LONG_PASS_USEC;
	net_note(s->loop, "worked long");
	while (clock_monotonic() < until)
		;
}

static void note_report(void *context, usec took, const char *note)
{
	struct slow *s = context;
	/* A machine that is busy elsewhere makes others long too; they say nothing of what they did. */
	if (!note)
		return;
	s->took = took;
	s->note = note;
	s->reports++;
}

static void a_pass_that_takes_long_is_reported_with_what_it_did(void **state)
{
	(void)state;
	struct rig rig;
	rig_init(&rig);
	struct slow s = {.loop = rig.loop};
	struct net_timer timer;
	net_timer_init(&timer, rig.loop, work_long, &s);
	net_on_long_pass(rig.loop, note_report, &s);
	net_timer_set(&timer, net_now(rig.loop));
	run_until(&rig, s.reports > 0);
	assert_true(s.took >= 2 * NET_LONG_PASS_USEC);
	assert_string_equal(s.note, "worked long");
	run_passes(&rig, 3);
	assert_int_equal(s.reports, 1);
	net_on_long_pass(rig.loop, NULL, NULL);
	net_timer_fini(&timer);
	rig_fini(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_timer_fires_once_and_never_early),
	    cmocka_unit_test(moving_a_timer_later_leaves_it_armed_as_it_is),
	    cmocka_unit_test(moving_a_timer_earlier_arms_it_again),
	    cmocka_unit_test(a_timer_that_was_switched_off_stays_silent),
	    cmocka_unit_test(a_timer_may_set_itself_again),
	    cmocka_unit_test(a_watch_tells_of_bytes_in_a_pipe),
	    cmocka_unit_test(a_signal_calls_back_in_the_loop),
	    cmocka_unit_test(net_run_returns_after_net_stop),
	    cmocka_unit_test(a_pass_that_takes_long_is_reported_with_what_it_did),
	    cmocka_unit_test(freeing_nothing_is_fine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
