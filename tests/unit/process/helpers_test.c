/* SPDX-License-Identifier: MIT */
/* What the start waits for from the files process, and what its death means before and after that. */
#include "proxy/process/master.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* A master without workers, whose two helpers are other processes. */
struct bench {
	struct conf *conf;
	struct start start;
	struct master master;
	struct generation generation;
	struct observe_counters counters;
	int said[2];
};

static void begin(struct bench *b, const char *server)
{
	char text[512];
	*b = (struct bench){0};
	snprintf(text, sizeof(text),
	    "[server]\n%s\n[listen l]\naddress = 127.0.0.1:1\n[origin a]\nserver = demo:\n[route "
	    "r]\n"
	    "origin = a\n%s",
	    server, server[0] ? "[preload p]\nremembered = apply\n" : "");
	b->conf = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(b->conf);
	assert_int_equal(pipe2(b->said, O_CLOEXEC | O_NONBLOCK), 0);
	b->start = (struct start){.logs = logs_none};
	b->master = (struct master){.start = &b->start, .now = 1000 * USEC_PER_SEC};
	b->master.observe = (struct observe){.counters = &b->counters,
	    .access_fd = -1,
	    .error_fd = b->said[1],
	    .worker = OBSERVE_MASTER};
	b->generation = (struct generation){.master = &b->master, .outfit.conf = b->conf};
	b->master.running = &b->generation;
	generation_helpers_init(&b->generation);
	b->master.logger.pid = 1001;
	b->generation.helpers[HELPER_FILES].pid = 1002;
}

static void finish(struct bench *b)
{
	generation_helpers_fini(&b->generation);
	conf_free(b->conf);
	close(b->said[0]);
	close(b->said[1]);
}

static bool said(const struct bench *b, const char *text)
{
	char lines[4096];
	ssize_t n = read(b->said[0], lines, sizeof(lines) - 1);
	lines[n > 0 ? n : 0] = '\0';
	return strstr(lines, text) != NULL;
}

enum { KILLED = 9, CANNOT_START = HELPER_CANNOT_START << 8 }; /* as wait(2) gives them */

static void start_waits_for_the_files_process_but_not_for_ever(void **state)
{
	(void)state;
	struct bench b;
	begin(&b, "remembered-file = /tmp/pages.json");
	struct master *m = &b.master;
	struct generation *g = &b.generation;
	usec next = generation_run_helpers(g);
	assert_false(generation_may_start_workers(g));
	assert_int_equal(next - m->now, FILES_START_SECONDS * USEC_PER_SEC);
	m->now = next;
	assert_int_equal(generation_run_helpers(g), USEC_NEVER);
	assert_true(generation_may_start_workers(g));
	assert_false(g->files_was_ready);
	assert_true(said(&b, "has not read the configured files within 5 s"));
	/* Workers run now: its end, for whatever reason, is not that of all. */
	assert_true(generation_helper_died(g, 1002, CANNOT_START));
	assert_int_equal(m->status, PROCESS_DONE);
	assert_int_equal(g->phase, GENERATION_RUNNING);
	assert_true(said(&b, "it is started again"));
	finish(&b);
}

static void files_that_cannot_be_used_are_the_end_of_the_start(void **state)
{
	(void)state;
	struct bench b;
	begin(&b, "remembered-file = /tmp/pages.json");
	assert_true(generation_helper_died(&b.generation, 1002, CANNOT_START));
	assert_int_equal(b.master.status, PROCESS_BAD_CONF);
	assert_int_equal(b.generation.phase, GENERATION_FORCED);
	finish(&b);
}

static void files_process_that_dies_is_started_again_and_later_each_time(void **state)
{
	(void)state;
	struct bench b;
	begin(&b, "remembered-file = /tmp/pages.json");
	struct master *m = &b.master;
	struct generation *g = &b.generation;
	assert_true(generation_helper_died(g, 1002, KILLED));
	assert_int_equal(m->status, PROCESS_DONE);
	assert_int_equal(g->helpers[HELPER_FILES].start_at, m->now);
	g->helpers[HELPER_FILES].pid = 1003;
	g->helpers[HELPER_FILES].started = m->now;
	assert_true(generation_helper_died(g, 1003, KILLED));
	assert_true(g->helpers[HELPER_FILES].start_at > m->now);
	assert_false(generation_helper_died(g, 1004, KILLED)); /* a worker, maybe */
	finish(&b);
}

static void password_process_that_dies_is_started_again_and_later_each_time(void **state)
{
	(void)state;
	struct bench b;
	begin(&b, "");
	struct master *m = &b.master;
	struct generation *g = &b.generation;
	g->helpers[HELPER_PASSWORDS].pid = 1005;
	assert_true(generation_helper_died(g, 1005, KILLED));
	assert_int_equal(g->helpers[HELPER_PASSWORDS].start_at, m->now);
	assert_true(said(&b, "the password process was killed by signal 9"));
	g->helpers[HELPER_PASSWORDS].pid = 1006;
	g->helpers[HELPER_PASSWORDS].started = m->now;
	assert_true(generation_helper_died(g, 1006, KILLED));
	assert_true(g->helpers[HELPER_PASSWORDS].start_at > m->now);
	g->phase = GENERATION_ENDED;
	g->helpers[HELPER_PASSWORDS].pid = 1007;
	assert_true(generation_helper_died(g, 1007, 0));
	assert_int_equal(m->status, PROCESS_DONE);
	finish(&b);
}

static void password_process_that_cannot_be_confined_is_the_end_of_the_start(void **state)
{
	(void)state;
	struct bench b;
	begin(&b, "");
	struct master *m = &b.master;
	struct generation *g = &b.generation;
	g->helpers[HELPER_PASSWORDS].pid = 1005;
	assert_true(generation_helper_died(g, 1005, CANNOT_START));
	assert_int_equal(m->status, PROCESS_BAD_CONF);
	assert_int_equal(g->phase, GENERATION_FORCED);
	g->phase = GENERATION_RUNNING;
	m->status = PROCESS_DONE;
	g->was_ready = true; /* workers serve: requests that need it wait */
	g->helpers[HELPER_PASSWORDS].pid = 1006;
	assert_true(generation_helper_died(g, 1006, CANNOT_START));
	assert_int_equal(g->phase, GENERATION_RUNNING);
	finish(&b);
}

static void helper_of_a_generation_that_was_given_up_is_not_the_end_of_pushgate(void **state)
{
	(void)state;
	struct bench b;
	struct generation serving = {.master = &b.master};
	begin(&b, "remembered-file = /tmp/pages.json");
	b.master.running = &serving;
	b.generation.phase = GENERATION_FORCED;
	b.generation.helpers[HELPER_PASSWORDS].pid = 1005;
	assert_true(generation_helper_died(&b.generation, 1002, CANNOT_START));
	assert_true(generation_helper_died(&b.generation, 1005, CANNOT_START));
	assert_int_equal(b.master.status, PROCESS_DONE);
	assert_false(said(&b, "it is started again"));
	finish(&b);
}

static void configuration_without_such_files_waits_for_nothing(void **state)
{
	(void)state;
	struct bench b;
	begin(&b, "");
	b.generation.helpers[HELPER_FILES].pid = 0;
	assert_int_equal(generation_run_helpers(&b.generation), USEC_NEVER);
	assert_true(generation_may_start_workers(&b.generation));
	assert_int_equal(b.generation.helpers[HELPER_FILES].pid, 0);
	finish(&b);
}

/* The ACME process says that a file of a certificate has changed. */
static void say_content(struct bench *b, int socket)
{
	const struct message m = {.kind = MESSAGE_CONTENT};
	assert_true(message_send(socket, &m, -1));
	generation_read_helper(&b->generation, HELPER_ACME);
}

static void new_certificate_is_a_reload_of_files(void **state)
{
	(void)state;
	struct bench b;
	struct generation other = {.master = &b.master};
	int pair[2];
	begin(&b, "");
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	control_open(&b.generation.helpers[HELPER_ACME].control, pair[0]);
	say_content(&b, pair[1]);
	assert_true(b.master.reload_is_due);
	assert_true(b.master.reload_is_of_files);
	/* One that was asked for reads the configuration too. */
	b.master.reload_is_of_files = false;
	say_content(&b, pair[1]);
	assert_true(b.master.reload_is_due);
	assert_false(b.master.reload_is_of_files);
	/* The next generation has begun before this file was there. */
	b.master.reload_is_due = false;
	b.master.running = &other;
	b.master.coming = &b.generation;
	say_content(&b, pair[1]);
	assert_true(b.master.reload_is_due);
	/* A generation that drains has nothing to say. */
	b.master.reload_is_due = false;
	b.master.coming = NULL;
	say_content(&b, pair[1]);
	assert_false(b.master.reload_is_due);
	assert_int_equal(b.counters.files_unusable, 0);
	close(pair[1]);
	finish(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(start_waits_for_the_files_process_but_not_for_ever),
	    cmocka_unit_test(files_that_cannot_be_used_are_the_end_of_the_start),
	    cmocka_unit_test(files_process_that_dies_is_started_again_and_later_each_time),
	    cmocka_unit_test(password_process_that_dies_is_started_again_and_later_each_time),
	    cmocka_unit_test(password_process_that_cannot_be_confined_is_the_end_of_the_start),
	    cmocka_unit_test(helper_of_a_generation_that_was_given_up_is_not_the_end_of_pushgate),
	    cmocka_unit_test(configuration_without_such_files_waits_for_nothing),
	    cmocka_unit_test(new_certificate_is_a_reload_of_files),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
