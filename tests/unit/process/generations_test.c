/* SPDX-License-Identifier: MIT */
/* Which generations a reload ends, and which it lets be. */
#include "proxy/process/master.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	struct start start;
	struct master master;
	struct observe_counters counters;
};

static void begin(struct bench *b)
{
	*b = (struct bench){0};
	b->start = (struct start){.logs = logs_none, .notify_fd = -1};
	b->start.sockets.owns_files = true;
	b->master = (struct master){.start = &b->start, .now = 1000 * USEC_PER_SEC};
	b->master.ended = totals_new();
	b->master.others = totals_new();
	reload_askers_init(&b->master.askers);
	b->master.observe = (struct observe){
	    .counters = &b->counters, .access_fd = -1, .error_fd = -1, .worker = OBSERVE_MASTER};
}

static pid_t fork_worker(void)
{
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	return pid;
}

/* A generation with a worker, which is READY. */
static struct generation *add(struct bench *b, enum generation_phase phase)
{
	static const char text[] = "[server]\nworkers = 1\n[listen l]\naddress = 127.0.0.1:0\n"
				   "[origin a]\nserver = demo:\n[route r]\norigin = a\n";
	char error[256];
	struct outfit outfit = {.workers = 1};
	outfit.conf = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(outfit.conf);
	outfit.slots = outfit_map_shared(sizeof(*outfit.slots), "", error, sizeof(error));
	assert_non_null(outfit.slots);
	assert_true(
	    sockets_borrow(&b->start.sockets, &outfit.share, outfit.conf, 1, error, sizeof(error)));
	struct generation *g = master_add_generation(&b->master, &outfit);
	g->phase = phase;
	g->workers[0].child.pid = fork_worker();
	g->workers[0].child.control.is_ready = true;
	return g;
}

static void take_over(struct bench *b)
{
	b->master.coming = add(b, GENERATION_RUNNING);
	b->master.take_over_at = b->master.now;
	(void)master_run_generations(&b->master);
	assert_null(b->master.coming);
}

static void finish(struct bench *b)
{
	for (uint32_t i = 0; i < b->master.generation_count; i++) {
		struct child *c = &b->master.generations[i]->workers[0].child;
		kill(c->pid, SIGKILL);
		assert_int_equal(waitpid(c->pid, NULL, 0), c->pid);
	}
	reload_askers_close(&b->master.askers);
	master_free_generations(&b->master);
}

static void oldest_of_too_many_is_ended_when_another_one_has_taken_over(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	for (int i = 0; i < GENERATIONS_MOST; i++)
		b.master.running =
		    add(&b, i < GENERATIONS_MOST - 1 ? GENERATION_DRAINING : GENERATION_RUNNING);
	take_over(&b);
	assert_int_equal(b.master.generations[0]->phase, GENERATION_FORCED);
	for (uint32_t i = 1; i < GENERATIONS_MOST; i++)
		assert_int_equal(b.master.generations[i]->phase, GENERATION_DRAINING);
	assert_int_equal(b.master.running->number, GENERATIONS_MOST + 1);
	finish(&b);
}

static void those_that_were_given_up_cost_no_other_its_clients(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	struct generation *first = b.master.running = add(&b, GENERATION_RUNNING);
	for (int i = 1; i < GENERATIONS_MOST; i++)
		add(&b, GENERATION_FORCED);
	take_over(&b);
	assert_int_equal(first->phase, GENERATION_DRAINING);
	assert_int_equal(b.master.running->phase, GENERATION_RUNNING);
	finish(&b);
}

static void helpers_that_hang_keep_their_deadline_whoever_forces_the_end(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	struct generation *g = b.master.running = add(&b, GENERATION_ENDED);
	g->deadline = b.master.now + 1;
	generation_force(g);
	assert_int_equal(g->phase, GENERATION_ENDED);
	assert_int_equal(g->deadline, b.master.now + 1);
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(oldest_of_too_many_is_ended_when_another_one_has_taken_over),
	    cmocka_unit_test(those_that_were_given_up_cost_no_other_its_clients),
	    cmocka_unit_test(helpers_that_hang_keep_their_deadline_whoever_forces_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
