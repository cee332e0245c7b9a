/* SPDX-License-Identifier: MIT */
/* Which generations a reload ends, and which it lets be. */
#include "proxy/process/master.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char conf_text[] = "[server]\nsandbox = off\nworkers = 1\n[listen l]\naddress = 127.0.0.1:0\n"
				"[origin a]\nserver = demo:\n[route r]\norigin = a\n";

/* The default of max-generations. */
enum { GENERATIONS_MOST = 8 };

struct bench {
	struct start start;
	struct master master;
	struct observe_counters counters;
};

static void begin(struct bench *b)
{
	*b = (struct bench){0};
	static struct observe_counters slot;
	b->start = (struct start){.logs = logs_none, .notify_fd = -1, .slot = &slot};
	b->start.sockets.owns_files = true;
	b->master = (struct master){.start = &b->start, .now = 1000 * USEC_PER_SEC};
	b->master.ended = totals_new();
	b->master.others = totals_new();
	trace_orders_init(&b->master.traces);
	reload_askers_init(&b->master.askers);
	b->master.observe = (struct observe){
	    .counters = &b->counters, .access_fd = -1, .error_fd = -1, .worker = OBSERVE_MASTER};
}

/* A process that ends with the test, so that none is left over by an assertion that fails. */
static pid_t fork_worker(void)
{
	pid_t parent = getpid(), pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

/* A generation whose worker 0 is READY; all others are down. */
static struct generation *add_of(
    struct bench *b, enum generation_phase phase, uint32_t workers, const char *text)
{
	char error[256];
	struct outfit outfit = {.workers = workers};
	outfit.conf = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(outfit.conf);
	outfit.slots = outfit_map_shared(workers * sizeof(*outfit.slots), "", error, sizeof(error));
	assert_non_null(outfit.slots);
	assert_true(sockets_borrow(
	    &b->start.sockets, &outfit.share, outfit.conf, workers, error, sizeof(error)));
	struct generation *g = master_add_generation(&b->master, &outfit);
	g->phase = phase;
	g->workers[0].child.pid = fork_worker();
	g->workers[0].child.control.is_ready = true;
	return g;
}

static struct generation *add_with(struct bench *b, enum generation_phase phase, uint32_t workers)
{
	return add_of(b, phase, workers, conf_text);
}

static struct generation *add(struct bench *b, enum generation_phase phase)
{
	return add_with(b, phase, 1);
}

static void take_over_with(struct bench *b, const char *text)
{
	b->master.coming = add_of(b, GENERATION_RUNNING, 1, text);
	b->master.take_over_at = b->master.now;
	(void)master_run_generations(&b->master);
	assert_null(b->master.coming);
}

static void take_over(struct bench *b)
{
	take_over_with(b, conf_text);
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

/* The new configuration decides, and may allow fewer than there are. */
static void so_many_serve_as_the_new_configuration_allows(void **state)
{
	(void)state;
	static const char text[] = "[server]\nsandbox = off\nworkers = 1\nmax-generations = 2\n[listen l]\n"
				   "address = 127.0.0.1:0\n[origin a]\nserver = demo:\n"
				   "[route r]\norigin = a\n";
	struct bench b;
	begin(&b);
	add(&b, GENERATION_DRAINING);
	add(&b, GENERATION_FORCED);
	add(&b, GENERATION_DRAINING);
	b.master.running = add(&b, GENERATION_RUNNING);
	take_over_with(&b, text);
	assert_int_equal(b.master.generations[0]->phase, GENERATION_FORCED);
	assert_int_equal(b.master.generations[2]->phase, GENERATION_FORCED);
	assert_int_equal(b.master.generations[3]->phase, GENERATION_DRAINING);
	assert_ptr_equal(b.master.running, b.master.generations[4]);
	assert_int_equal(b.master.running->phase, GENERATION_RUNNING);
	finish(&b);
}

static void there_is_room_for_the_most_that_may_be_configured(void **state)
{
	(void)state;
	static const char text[] = "[server]\nsandbox = off\nworkers = 1\nmax-generations = 30\n[listen l]\n"
				   "address = 127.0.0.1:0\n[origin a]\nserver = demo:\n"
				   "[route r]\norigin = a\n";
	struct bench b;
	begin(&b);
	b.master.running = add_of(&b, GENERATION_RUNNING, 1, text);
	for (uint32_t i = 1; i < LIMIT_GENERATIONS; i++)
		take_over_with(&b, text);
	assert_int_equal(b.master.generations[0]->phase, GENERATION_DRAINING);
	take_over_with(&b, text);
	assert_int_equal(b.master.generation_count, LIMIT_GENERATIONS + 1);
	assert_int_equal(b.master.generations[0]->phase, GENERATION_FORCED);
	assert_int_equal(b.master.generations[1]->phase, GENERATION_DRAINING);
	assert_int_equal(b.master.running->outfit.limits.lane, LIMIT_GENERATIONS);
	finish(&b);
}

/* Begins another generation as SIGHUP does. */
static void reload(struct bench *b)
{
	char path[] = "/tmp/generations_test.XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_true(dprintf(fd, "# %u\n%s", b->master.last_number, conf_text) > 0);
	close(fd);
	b->start.conf_path = path;
	master_reload(&b->master);
	b->start.conf_path = NULL;
	unlink(path);
	assert_non_null(b->master.coming);
	b->master.coming->workers[0].child.pid = fork_worker();
}

static void those_that_were_given_up_cost_no_other_its_clients(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	struct generation *first = b.master.running = add(&b, GENERATION_RUNNING);
	for (int i = 1; i < GENERATIONS_MOST; i++)
		add(&b, GENERATION_FORCED);
	/* One that only begins costs none either: it may be given up too. */
	reload(&b);
	assert_int_equal(first->phase, GENERATION_RUNNING);
	b.master.coming->workers[0].child.control.is_ready = true;
	b.master.take_over_at = b.master.now;
	(void)master_run_generations(&b.master);
	assert_ptr_equal(b.master.running, b.master.generations[GENERATIONS_MOST]);
	assert_int_equal(first->phase, GENERATION_DRAINING);
	assert_int_equal(b.master.running->phase, GENERATION_RUNNING);
	finish(&b);
}

static void helpers_that_hang_keep_their_deadline_whoever_forces_the_end(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	b.master.running = add(&b, GENERATION_RUNNING);
	struct generation *g = add(&b, GENERATION_DRAINING);
	struct child *h = &g->helpers[HELPER_FILES];
	h->pid = fork_worker();
	generation_retire_helper(g, HELPER_FILES);
	usec by = g->helpers_end_by[HELPER_FILES];
	assert_int_equal(by, b.master.now + HELPER_END_USEC);
	b.master.now++;
	generation_retire_helpers(g);
	generation_force(g);
	assert_int_equal(g->phase, GENERATION_ENDED);
	assert_int_equal(g->helpers_end_by[HELPER_FILES], by);
	/* Nothing else has to happen for that: a generation that drains may go on for hours. */
	g->phase = GENERATION_DRAINING;
	assert_int_equal(generation_run_helpers(g), by);
	assert_int_equal(waitpid(h->pid, NULL, WNOHANG), 0);
	b.master.now = by;
	assert_int_equal(generation_run_helpers(g), USEC_NEVER);
	assert_int_equal(waitpid(h->pid, NULL, 0), h->pid);
	h->pid = 0;
	finish(&b);
}

/* Worker 0 becomes READY. Returns whether it was asked to accept from the sockets of worker 1. */
static bool is_asked_to_adopt(struct generation *g)
{
	const struct message ready = {.kind = MESSAGE_READY};
	struct message heard;
	int pair[2], fd;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	g->workers[0].child.control.socket = pair[0];
	g->workers[0].child.control.is_ready = false;
	assert_true(message_send(pair[1], &ready, -1));
	generation_read_worker(g, 0);
	assert_true(g->workers[0].child.control.is_ready);
	bool is_asked = message_receive(pair[1], &heard, &fd) == (ssize_t)sizeof(heard) &&
			heard.kind == MESSAGE_ADOPT && heard.worker == 1;
	close(pair[1]);
	control_close(&g->workers[0].child.control);
	return is_asked;
}

static void sockets_of_a_worker_that_is_down_are_for_siblings_that_may_accept(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	struct generation *g = b.master.running = add_with(&b, GENERATION_RUNNING, 2);
	assert_true(is_asked_to_adopt(g));
	b.master.coming = add_with(&b, GENERATION_RUNNING, 2);
	assert_false(is_asked_to_adopt(b.master.coming));
	finish(&b);
}

static enum message_kind hear(int worker, uint32_t *index)
{
	struct message heard = {0};
	int fd;
	assert_int_equal(message_receive(worker, &heard, &fd), sizeof(heard));
	*index = heard.worker;
	return heard.kind;
}

static void clients_that_wait_at_an_address_that_stays_are_for_the_next_generation(void **state)
{
	(void)state;
	struct bench b;
	int pair[2];
	uint32_t index;
	begin(&b);
	struct generation *g = b.master.running = add(&b, GENERATION_RUNNING);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	g->workers[0].child.control.socket = pair[0];
	generation_empty_sections(g);
	assert_int_equal(hear(pair[1], &index), MESSAGE_EMPTY);
	assert_int_equal(index, 0);
	take_over(&b);
	assert_int_equal(hear(pair[1], &index), MESSAGE_RETIRE);
	close(pair[1]);
	finish(&b);
}

/* The kind of the next message, whose socket is closed. */
static enum message_kind hear_with_socket(int worker)
{
	struct message heard = {0};
	int fd = -1;
	assert_int_equal(message_receive(worker, &heard, &fd), sizeof(heard));
	assert_true(fd >= 0);
	close(fd);
	return heard.kind;
}

static bool hears_nothing(int worker)
{
	struct message heard;
	int fd;
	return message_receive(worker, &heard, &fd) < 0;
}

static int open_control(struct generation *g)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	g->workers[0].child.control.socket = pair[0];
	return pair[1];
}

static void tunnels_of_older_generations_get_a_judge_with_access_recheck(void **state)
{
	(void)state;
	static const char text[] = "[server]\nsandbox = off\nworkers = 1\naccess-recheck = yes\n[listen l]\n"
				   "address = 127.0.0.1:0\n[origin a]\nserver = demo:\n"
				   "[route r]\norigin = a\n";
	struct bench b;
	uint32_t index;
	begin(&b);
	struct generation *first = b.master.running = add(&b, GENERATION_RUNNING);
	int older = open_control(first);
	/* The configuration of before has not asked for it. */
	take_over(&b);
	assert_int_equal(hear(older, &index), MESSAGE_RETIRE);
	assert_true(hears_nothing(older));
	struct generation *g = b.master.coming = add_of(&b, GENERATION_RUNNING, 1, text);
	int judge = open_control(g);
	b.master.take_over_at = b.master.now;
	(void)master_run_generations(&b.master);
	(void)master_run_generations(&b.master);
	assert_ptr_equal(b.master.running, g);
	assert_int_equal(hear_with_socket(older), MESSAGE_RECHECK);
	assert_int_equal(hear_with_socket(judge), MESSAGE_JUDGE);
	(void)master_run_generations(&b.master);
	assert_true(hears_nothing(older) && hears_nothing(judge));
	/* It dies: its successor judges when that is READY. */
	g->workers[0].child.control.is_ready = false;
	g->workers[0].child.starts++;
	assert_int_equal(generation_run_recheck(first), USEC_NEVER);
	assert_true(hears_nothing(older));
	g->workers[0].child.control.is_ready = true;
	(void)master_run_generations(&b.master);
	assert_int_equal(hear_with_socket(older), MESSAGE_RECHECK);
	assert_int_equal(hear_with_socket(judge), MESSAGE_JUDGE);
	/* One that does not read is told later. */
	g->workers[0].child.starts++;
	close(judge);
	assert_int_equal(generation_run_recheck(first), b.master.now + 100 * USEC_PER_MSEC);
	first->phase = GENERATION_FORCED;
	assert_int_equal(generation_run_recheck(first), USEC_NEVER);
	close(older);
	finish(&b);
}

static void helpers_that_outlive_the_last_worker_are_looked_at_in_time(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	b.master.running = add(&b, GENERATION_RUNNING);
	struct generation *g = add(&b, GENERATION_DRAINING);
	struct child *w = &g->workers[0].child, *h = &g->helpers[HELPER_PASSWORDS];
	kill(w->pid, SIGKILL);
	assert_int_equal(waitpid(w->pid, NULL, 0), w->pid);
	w->pid = 0;
	h->pid = fork_worker();
	assert_int_equal(master_run_generations(&b.master), b.master.now + HELPER_END_USEC);
	assert_int_equal(g->phase, GENERATION_ENDED);
	kill(h->pid, SIGKILL);
	assert_int_equal(waitpid(h->pid, NULL, 0), h->pid);
	h->pid = 0;
	w->pid = fork_worker();
	finish(&b);
}

static void starts_are_counted_on(void **state)
{
	(void)state;
	struct bench b;
	begin(&b);
	struct generation *g = b.master.running = add_with(&b, GENERATION_RUNNING, 3);
	for (uint32_t i = 0; i < 3; i++)
		g->workers[i].child.starts = 10 + i;
	g->workers[1].child.start_at = g->workers[2].child.start_at = USEC_NEVER;
	g->helpers[HELPER_FILES].starts = 5;
	take_over(&b);
	b.master.running->workers[0].child.starts = 1;
	take_over(&b);
	assert_int_equal(b.master.starts.worker_count, 3);
	assert_int_equal(b.master.starts.workers[0], 11);
	assert_int_equal(b.master.starts.workers[2], 12);
	assert_int_equal(b.master.starts.helpers[HELPER_FILES], 5);
	finish(&b);
}

static void worker_that_is_up_after_its_generation_was_given_up_tells_no_one(void **state)
{
	(void)state;
	struct bench b;
	int said[2], told[2];
	char text[256] = "";
	begin(&b);
	assert_int_equal(pipe2(said, O_NONBLOCK), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, told), 0);
	b.master.observe.error_fd = said[1];
	b.start.notify_fd = told[1];
	b.master.running = add(&b, GENERATION_RUNNING);
	struct generation *g = add_with(&b, GENERATION_FORCED, 2);
	assert_false(is_asked_to_adopt(g));
	assert_int_equal(read(told[0], text, sizeof(text)), -1);
	assert_int_equal(read(said[0], text, sizeof(text)), -1);
	for (int i = 0; i < 2; i++) {
		close(said[i]);
		close(told[i]);
	}
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(oldest_of_too_many_is_ended_when_another_one_has_taken_over),
	    cmocka_unit_test(so_many_serve_as_the_new_configuration_allows),
	    cmocka_unit_test(there_is_room_for_the_most_that_may_be_configured),
	    cmocka_unit_test(those_that_were_given_up_cost_no_other_its_clients),
	    cmocka_unit_test(helpers_that_hang_keep_their_deadline_whoever_forces_the_end),
	    cmocka_unit_test(sockets_of_a_worker_that_is_down_are_for_siblings_that_may_accept),
	    cmocka_unit_test(
		clients_that_wait_at_an_address_that_stays_are_for_the_next_generation),
	    cmocka_unit_test(tunnels_of_older_generations_get_a_judge_with_access_recheck),
	    cmocka_unit_test(helpers_that_outlive_the_last_worker_are_looked_at_in_time),
	    cmocka_unit_test(starts_are_counted_on),
	    cmocka_unit_test(worker_that_is_up_after_its_generation_was_given_up_tells_no_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
