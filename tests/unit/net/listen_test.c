/* SPDX-License-Identifier: MIT */
/*
 * Listening and accepting when descriptors or memory are short, and when a queued connection is aborted before it is
 * accepted: the loop does not spin, and every waiting connection is accepted later.
 */
#include "tests/unit/net/rig.h"

#include "tests/support/net_faults.h"
#include <sys/resource.h>

#define CLIENTS 100

struct crowd {
	struct rig rig;
	struct net_listener *listener;
	struct net_address at;
	int fd, clients[CLIENTS], accepted[CLIENTS], accepted_count, closed_count, pauses,
	    paused_with;
};

static void crowd_accepted(void *p, int fd, const struct net_address *peer)
{
	struct crowd *c = p;
	(void)peer;
	c->accepted[c->accepted_count++] = fd;
}

static void crowd_paused(void *p, int error)
{
	struct crowd *c = p;
	c->pauses++;
	c->paused_with = error;
}

static void crowd_init(struct crowd *c)
{
	memset(c, 0, sizeof(*c));
	const char *error = NULL;
	rig_init(&c->rig);
	net_faults_begin();
	assert_null(net_address_parse(SLICE("127.0.0.1:0"), &c->at));
	c->fd = net_listen(&c->at, CLIENTS, &error);
	assert_true(c->fd >= 0);
	c->at.length = NET_ADDRESS_BYTES;
	assert_int_equal(getsockname(c->fd, &c->at.any, &c->at.length), 0);
	for (int i = 0; i < CLIENTS; i++)
		c->clients[i] = -1;
}

static void crowd_listen(struct crowd *c)
{
	c->listener = net_listener_new(c->rig.loop, c->fd, crowd_accepted, crowd_paused, c);
}

/* Connects clients; afterwards they are in the kernel's queue. */
static void crowd_comes(struct crowd *c, int count)
{
	for (int i = 0; i < count; i++) {
		c->clients[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(c->clients[i] >= 0);
		assert_int_equal(connect(c->clients[i], &c->at.any, c->at.length), 0);
	}
}

static void crowd_fini(struct crowd *c)
{
	net_listener_free(c->listener);
	for (int i = 0; i < CLIENTS; i++)
		if (c->clients[i] >= 0)
			close(c->clients[i]);
	for (int i = 0; i < c->accepted_count; i++)
		close(c->accepted[i]);
	close(c->fd);
	rig_fini(&c->rig);
}

static size_t accepts(void)
{
	return net_faults.calls[NET_CALL_ACCEPT];
}

/* ---- shortage ---- */

static void shortage_pauses_accepting_and_queued_connections_are_accepted_later(void **state)
{
	(void)state;
	static const int errors[] = {EMFILE, ENFILE, ENOBUFS, ENOMEM};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct crowd c;
		crowd_init(&c);
		crowd_listen(&c);
		crowd_comes(&c, 5);
		net_faults_plan((struct net_fault){
		    NET_CALL_ACCEPT, NET_SIDE_ANY, errors[i], 3, i == 0 ? 2 : 1});
		usec start = clock_monotonic();
		run_until(&c.rig, c.pauses == 1);
		assert_int_equal(c.paused_with, errors[i]);
		assert_int_equal(c.accepted_count, 2);
		assert_int_equal(accepts(), 3);
		run_until(&c.rig, c.accepted_count == 5);
		/* 100 ms; the first one has to wait once more, for 200. */
		assert_true(clock_monotonic() - start >= (i == 0 ? 300 : 100) * USEC_PER_MSEC);
		assert_int_equal(accepts(), i == 0 ? 8 : 7);
		/* Told once, however often it was in vain. */
		assert_int_equal(c.pauses, 1);
		crowd_fini(&c);
	}
}

static void long_shortage_is_retried_once_a_second(void **state)
{
	(void)state;
	struct crowd c;
	crowd_init(&c);
	crowd_listen(&c);
	crowd_comes(&c, 3);
	net_faults_plan((struct net_fault){NET_CALL_ACCEPT, NET_SIDE_ANY, EMFILE, 1, SIZE_MAX});
	run_until(&c.rig, accepts() == 5); /* after 0.1 + 0.2 + 0.4 + 0.8 s */
	assert_int_equal(c.pauses, 1);
	usec start = net_now(c.rig.loop);
	uint64_t passes = c.rig.loop->pass;
	run_until(&c.rig, accepts() == 6);
	assert_in_range(net_now(c.rig.loop) - start, USEC_PER_SEC, 10 * USEC_PER_SEC);
	assert_in_range(c.rig.loop->pass - passes, 1, 60); /* the test itself looks every 20 ms */
	net_faults_plan((struct net_fault){.error = 0});
	run_until(&c.rig, c.accepted_count == 3);
	crowd_fini(&c);
}

static void error_of_the_listener_pauses_at_once(void **state)
{
	(void)state;
	struct crowd c;
	crowd_init(&c);
	crowd_listen(&c);
	crowd_comes(&c, 1);
	net_faults_plan((struct net_fault){NET_CALL_ACCEPT, NET_SIDE_ANY, EINVAL, 1, 1});
	run_until(&c.rig, c.pauses == 1);
	assert_int_equal(c.paused_with, EINVAL);
	assert_int_equal(accepts(), 1);
	run_until(&c.rig, c.accepted_count == 1);
	crowd_fini(&c);
}

static void unwatchable_socket_is_retried(void **state)
{
	(void)state;
	struct crowd c;
	crowd_init(&c);
	crowd_listen(&c);
	crowd_comes(&c, 1);
	/* As libev does when epoll_ctl has failed (ENOMEM, ENOSPC). */
	ev_io *io = (ev_io *)c.listener; /* its first member */
	ev_io_stop(c.rig.loop->ev, io);
	ev_feed_event(c.rig.loop->ev, io, EV_ERROR | EV_READ | EV_WRITE);
	run_until(&c.rig, c.pauses == 1);
	assert_int_equal(accepts(), 0);
	run_until(&c.rig, c.accepted_count == 1);
	crowd_fini(&c);
}

/* ---- single failures ---- */

static void aborted_connection_in_the_queue_is_skipped(void **state)
{
	(void)state;
	static const int errors[] = {ECONNABORTED, EPROTO, EINTR, EPERM, EHOSTUNREACH};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct crowd c;
		crowd_init(&c);
		crowd_listen(&c);
		crowd_comes(&c, 2);
		net_faults_plan((struct net_fault){NET_CALL_ACCEPT, NET_SIDE_ANY, errors[i], 2, 3});
		run_until(&c.rig, c.accepted_count == 2);
		assert_int_equal(c.pauses, 0);
		assert_int_equal(
		    accepts(), 6); /* 2 accepted, 3 in vain, and the end of the queue */
		crowd_fini(&c);
	}
}

static void batch_of_failures_pauses_accepting(void **state)
{
	(void)state;
	struct crowd c;
	crowd_init(&c);
	crowd_listen(&c);
	crowd_comes(&c, 1);
	net_faults_plan((struct net_fault){NET_CALL_ACCEPT, NET_SIDE_ANY, EPERM, 1, SIZE_MAX});
	run_until(&c.rig, c.pauses == 1);
	assert_int_equal(c.paused_with, EPERM);
	assert_in_range(accepts(), 1, 64);
	net_faults_plan((struct net_fault){.error = 0});
	run_until(&c.rig, c.accepted_count == 1);
	crowd_fini(&c);
}

static void a_batch_is_bounded(void **state)
{
	(void)state;
	struct crowd c;
	crowd_init(&c);
	crowd_comes(&c, CLIENTS);
	crowd_listen(&c);
	int last = 0;
	while (c.accepted_count < CLIENTS) {
		net_run_once(c.rig.loop, 20 * USEC_PER_MSEC);
		assert_in_range(c.accepted_count - last, 0, 64);
		last = c.accepted_count;
	}
	assert_int_equal(c.pauses, 0);
	crowd_fini(&c);
}

/* Closes an accepted connection; it lingers, because its client does not close. */
static void closed_when_accepted(void *p, int fd, const struct net_address *peer)
{
	static const struct net_conn_ops ops = {.opened = NULL};
	struct crowd *c = p;
	(void)peer;
	net_conn_close(net_conn_new(c->rig.loop, fd, NULL, &ops, c));
	c->closed_count++;
}

static void lingering_connections_are_closed_before_accepting_pauses(void **state)
{
	(void)state;
	struct crowd c;
	crowd_init(&c);
	c.listener = net_listener_new(c.rig.loop, c.fd, closed_when_accepted, crowd_paused, &c);
	crowd_comes(&c, 5);
	/* One for each failure, until none is left. */
	net_faults_plan((struct net_fault){NET_CALL_ACCEPT, NET_SIDE_ANY, EMFILE, 3, 3});
	run_until(&c.rig, c.pauses == 1);
	assert_int_equal(c.closed_count, 2);
	assert_int_equal(accepts(), 5);
	assert_false(net_closing_free_descriptor(c.rig.loop));
	run_until(&c.rig, c.closed_count == 5);
	assert_int_equal(c.pauses, 1);
	crowd_fini(&c);
}

/* ---- with a real limit of descriptors ---- */

#define LIMIT 64
#define RESERVED 4 /* a sixteenth */

#define must(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "in the child, line %d: %s\n", __LINE__, #condition);      \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

#define child_until(rig, condition)                                                                \
	do {                                                                                       \
		usec give_up = clock_monotonic() + 60 * USEC_PER_SEC;                              \
		while (!(condition)) {                                                             \
			must(clock_monotonic() < give_up);                                         \
			net_run_once((rig)->loop, 20 * USEC_PER_MSEC);                             \
		}                                                                                  \
	} while (0)

/* A child process with few descriptors; the parent process has the clients. */
static void serve_with_few_descriptors(int fd)
{
	struct crowd c = {.fd = fd};
	const struct rlimit few = {LIMIT, LIMIT};
	must(setrlimit(RLIMIT_NOFILE, &few) == 0);
	rig_init(&c.rig);
	net_faults_begin();
	crowd_listen(&c);
	child_until(&c.rig, c.pauses == 1);
	must(c.paused_with == EMFILE);
	/* What is left is for others: connections to origins. */
	int mine[LIMIT], count = 0;
	while ((mine[count] = socket(AF_INET, SOCK_STREAM, 0)) >= 0)
		count++;
	must(errno == EMFILE);
	must(count >= RESERVED - 1);
	/* Nothing at all is left now, and nothing spins. */
	int accepted = c.accepted_count;
	size_t calls = accepts();
	uint64_t passes = c.rig.loop->pass;
	usec until = clock_monotonic() + 400 * USEC_PER_MSEC;
	while (clock_monotonic() < until)
		net_run_once(c.rig.loop, until - clock_monotonic());
	must(c.accepted_count == accepted);
	must(accepts() - calls <= 3);
	must(c.rig.loop->pass - passes < 30);
	must(c.pauses == 1);
	/* The reserve comes back: that alone is no reason to go on. */
	while (count > 0)
		close(mine[--count]);
	calls = accepts();
	child_until(&c.rig, net_now(c.rig.loop) > until + 400 * USEC_PER_MSEC);
	must(accepts() == calls);
	/* Clients leave, and all the others are served. */
	int closed = 0, served = 0;
	usec give_up = clock_monotonic() + 60 * USEC_PER_SEC;
	while (served < CLIENTS) {
		must(clock_monotonic() < give_up);
		while (closed < c.accepted_count)
			close(c.accepted[closed++]);
		served = closed;
		net_run_once(c.rig.loop, 20 * USEC_PER_MSEC);
	}
	net_listener_free(c.listener);
	rig_fini(&c.rig);
	_exit(0);
}

static void linger_with_few_descriptors(int fd)
{
	struct crowd c = {.fd = fd};
	const struct rlimit few = {LIMIT, LIMIT};
	must(setrlimit(RLIMIT_NOFILE, &few) == 0);
	rig_init(&c.rig);
	c.listener = net_listener_new(c.rig.loop, fd, closed_when_accepted, crowd_paused, &c);
	child_until(&c.rig, c.closed_count == CLIENTS);
	must(c.pauses == 0);
	net_listener_free(c.listener);
	rig_fini(&c.rig);
	_exit(0);
}

/* Runs `serve` in a child process, for clients that stay connected. */
static void with_few_descriptors(void (*serve)(int fd))
{
	struct crowd c;
	crowd_init(&c);
	crowd_comes(&c, CLIENTS);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		must(c.fd == 3 || dup2(c.fd, 3) == 3);
		must(close_range(4, ~0U, 0) == 0);
		serve(3);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	crowd_fini(&c);
}

static void accepting_pauses_and_leaves_a_reserve_of_descriptors(void **state)
{
	(void)state;
	with_few_descriptors(serve_with_few_descriptors);
}

static void lingering_connections_free_descriptors_for_new_ones(void **state)
{
	(void)state;
	with_few_descriptors(linger_with_few_descriptors);
}

/* ---- listening ---- */

static void failed_listen_reports_the_error_and_leaves_nothing(void **state)
{
	(void)state;
	// clang-format off
	static const struct {
		const char *address;
		enum net_call call;
		int error;
		const char *text;
	} rows[] = {
	    {"127.0.0.1:0", NET_CALL_SOCKET, EMFILE, "Too many open files"},
	    {"127.0.0.1:0", NET_CALL_SOCKET, ENFILE, "Too many open files in system"},
	    {"127.0.0.1:0", NET_CALL_SOCKET, EACCES, "Permission denied"},
	    {"127.0.0.1:0", NET_CALL_SETSOCKOPT, ENOMEM, "Cannot allocate memory"},
	    {"127.0.0.1:0", NET_CALL_BIND, EADDRINUSE, "Address already in use"},
	    {"127.0.0.1:0", NET_CALL_BIND, EACCES, "Permission denied"},
	    {"127.0.0.1:0", NET_CALL_LISTEN, EADDRINUSE, "Address already in use"},
	    {"unix", NET_CALL_SOCKET, EMFILE, "Too many open files"},
	    {"unix", NET_CALL_BIND, ENOSPC, "No space left on device"},
	    {"unix", NET_CALL_LISTEN, ENOBUFS, "No buffer space available"},
	};
	// clang-format on
	struct rig r;
	rig_init(&r);
	net_faults_begin();
	char directory[] = P_tmpdir "/pushgate-listen-XXXXXX", path[128], address[140];
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/socket", directory);
	snprintf(address, sizeof(address), "unix:%s", path);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct net_address at;
		const char *text = rows[i].address, *error = NULL;
		if (strcmp(text, "unix") == 0)
			text = address;
		assert_null(net_address_parse(slice_of_string(text), &at));
		size_t before = net_faults_open_descriptors();
		net_faults_plan(
		    (struct net_fault){rows[i].call, NET_SIDE_ANY, rows[i].error, 1, 1});
		assert_int_equal(net_listen(&at, 5, &error), -1);
		assert_string_equal(error, rows[i].text);
		assert_int_equal(net_faults.failed, 1);
		assert_int_equal(net_faults_open_descriptors(), before);
		assert_int_not_equal(access(path, F_OK), 0);
	}
	assert_int_equal(rmdir(directory), 0);
	rig_fini(&r);
}

/* An existing socket file is probed by connecting; if that fails, the file is kept. */
static void socket_file_that_cannot_be_probed_is_kept(void **state)
{
	(void)state;
	struct rig r;
	rig_init(&r);
	net_faults_begin();
	char directory[] = P_tmpdir "/pushgate-listen-XXXXXX", address[140];
	assert_non_null(mkdtemp(directory));
	snprintf(address, sizeof(address), "unix:%s/socket", directory);
	struct net_address at;
	const char *error = NULL, *path = address + strlen("unix:");
	assert_null(net_address_parse(slice_of_string(address), &at));
	close(net_listen(&at, 5, &error));
	static const struct {
		enum net_call call;
		int error;
		const char *text;
	} rows[] = {
	    {NET_CALL_SOCKET, EMFILE, "Too many open files"},
	    {NET_CALL_CONNECT, EAGAIN, "another process listens there"},
	    {NET_CALL_CONNECT, EACCES, "another process listens there"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		net_faults_plan(
		    (struct net_fault){rows[i].call, NET_SIDE_ANY, rows[i].error, 1, 1});
		assert_int_equal(net_listen(&at, 5, &error), -1);
		assert_string_equal(error, rows[i].text);
		assert_int_equal(access(path, F_OK), 0);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
	rig_fini(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(shortage_pauses_accepting_and_queued_connections_are_accepted_later),
	    cmocka_unit_test(long_shortage_is_retried_once_a_second),
	    cmocka_unit_test(error_of_the_listener_pauses_at_once),
	    cmocka_unit_test(unwatchable_socket_is_retried),
	    cmocka_unit_test(aborted_connection_in_the_queue_is_skipped),
	    cmocka_unit_test(batch_of_failures_pauses_accepting),
	    cmocka_unit_test(a_batch_is_bounded),
	    cmocka_unit_test(lingering_connections_are_closed_before_accepting_pauses),
	    cmocka_unit_test(accepting_pauses_and_leaves_a_reserve_of_descriptors),
	    cmocka_unit_test(lingering_connections_free_descriptors_for_new_ones),
	    cmocka_unit_test(failed_listen_reports_the_error_and_leaves_nothing),
	    cmocka_unit_test(socket_file_that_cannot_be_probed_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
