/* SPDX-License-Identifier: MIT */
/* The loop itself: timers, watches, signals, turns. */
#include "tests/unit/net/rig.h"
#include <signal.h>

static void count(void *context)
{
	++*(int *)context;
}

static void a_timer_fires_once_and_never_early(void **state)
{
	(void)state;
	struct rig r;
	struct net_timer t;
	int fired = 0;
	rig_init(&r);
	net_timer_init(&t, r.loop, count, &fired);
	usec deadline = net_now(r.loop) + 30 * USEC_PER_MSEC;
	net_timer_set(&t, deadline);
	run_until(&r, fired > 0);
	assert_true(net_now(r.loop) >= deadline);
	assert_true(t.deadline == USEC_NEVER);
	run_turns(&r, 3);
	assert_int_equal(fired, 1);
	net_timer_fini(&t);
	rig_fini(&r);
}

static void moving_a_timer_later_leaves_it_armed_as_it_is(void **state)
{
	(void)state;
	struct rig r;
	struct net_timer t;
	int fired = 0;
	rig_init(&r);
	net_timer_init(&t, r.loop, count, &fired);
	usec first = net_now(r.loop) + 10 * USEC_PER_MSEC;
	usec later = first + 30 * USEC_PER_MSEC;
	net_timer_set(&t, first);
	assert_true(t.armed == first);
	net_timer_set(&t, later);
	assert_true(t.armed == first);
	run_until(&r, t.armed == later || fired);
	assert_int_equal(fired, 0);
	run_until(&r, fired > 0);
	assert_true(net_now(r.loop) >= later);
	net_timer_fini(&t);
	rig_fini(&r);
}

static void moving_a_timer_earlier_arms_it_again(void **state)
{
	(void)state;
	struct rig r;
	struct net_timer t;
	int fired = 0;
	rig_init(&r);
	net_timer_init(&t, r.loop, count, &fired);
	net_timer_set(&t, net_now(r.loop) + 1000 * USEC_PER_SEC);
	usec soon = net_now(r.loop) + USEC_PER_MSEC;
	net_timer_set(&t, soon);
	assert_true(t.armed == soon);
	run_until(&r, fired > 0);
	net_timer_fini(&t);
	rig_fini(&r);
}

static void a_timer_that_was_switched_off_stays_silent(void **state)
{
	(void)state;
	struct rig r;
	struct net_timer off, on;
	int fired = 0, reached = 0;
	rig_init(&r);
	net_timer_init(&off, r.loop, count, &fired);
	net_timer_init(&on, r.loop, count, &reached);
	net_timer_set(&off, net_now(r.loop) + USEC_PER_MSEC);
	net_timer_set(&off, USEC_NEVER);
	net_timer_set(&on, net_now(r.loop) + 10 * USEC_PER_MSEC);
	run_until(&r, reached > 0);
	assert_int_equal(fired, 0);
	net_timer_fini(&off);
	net_timer_fini(&on);
	rig_fini(&r);
}

static void a_timer_may_set_itself_again(void **state)
{
	(void)state;
	struct rig r;
	struct net_timer t;
	int fired = 0;
	rig_init(&r);
	net_timer_init(&t, r.loop, count, &fired);
	while (fired < 3) {
		int before = fired;
		net_timer_set(&t, net_now(r.loop));
		run_until(&r, fired > before);
	}
	net_timer_fini(&t);
	rig_fini(&r);
}

static void a_watch_tells_of_octets_in_a_pipe(void **state)
{
	(void)state;
	struct rig r;
	int fd[2], readable = 0;
	rig_init(&r);
	assert_int_equal(pipe(fd), 0);
	struct net_watch *w = net_watch_new(r.loop, fd[0], count, &readable);
	run_turns(&r, 2);
	assert_int_equal(readable, 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	run_until(&r, readable > 0);
	net_watch_free(w);
	int before = readable;
	run_turns(&r, 2);
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
	struct net_signal *s = net_signal_new(r.loop, SIGUSR1, count, &came);
	raise(SIGUSR1);
	assert_int_equal(came, 0);
	run_until(&r, came == 1);
	net_signal_free(s);
	rig_fini(&r);
}

static void stop_in(void *loop)
{
	net_stop(loop);
}

static void run_goes_on_until_stop(void **state)
{
	(void)state;
	struct rig r;
	struct net_timer t;
	int turns = 0;
	rig_init(&r);
	net_on_turn(r.loop, count, &turns);
	net_timer_init(&t, r.loop, stop_in, r.loop);
	net_timer_set(&t, net_now(r.loop) + 5 * USEC_PER_MSEC);
	net_run(r.loop);
	assert_in_range(turns, 2, 100);
	net_timer_fini(&t);
	rig_fini(&r);
}

static void freeing_nothing_is_fine(void **state)
{
	(void)state;
	net_watch_free(NULL);
	net_signal_free(NULL);
	net_listener_free(NULL);
	net_tls_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_timer_fires_once_and_never_early),
	    cmocka_unit_test(moving_a_timer_later_leaves_it_armed_as_it_is),
	    cmocka_unit_test(moving_a_timer_earlier_arms_it_again),
	    cmocka_unit_test(a_timer_that_was_switched_off_stays_silent),
	    cmocka_unit_test(a_timer_may_set_itself_again),
	    cmocka_unit_test(a_watch_tells_of_octets_in_a_pipe),
	    cmocka_unit_test(a_signal_calls_back_in_the_loop),
	    cmocka_unit_test(run_goes_on_until_stop),
	    cmocka_unit_test(freeing_nothing_is_fine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
