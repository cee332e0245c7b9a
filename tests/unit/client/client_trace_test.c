/* SPDX-License-Identifier: MIT */
/* Traces of client connections: which clients, until when, and what a reader that does not read costs. */
#include "tests/support/gateway_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define LONG (3600 * USEC_PER_SEC)

static void ok(struct gate_stream *s)
{
	gate_answer(s, 200, 5, true);
}

static struct cidr block(const char *text)
{
	struct cidr c;
	assert_null(cidr_parse(slice_of_string(text), &c));
	return c;
}

static usec now(const struct gate_world *w)
{
	return net_now(w->loop);
}

/* Begins a trace; returns the reader's end. */
static int begin(struct gate_world *w, const char *from, usec until)
{
	int pair[2];
	const struct cidr c = block(from);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_true(gateway_trace(w->gateway, &c, until, pair[1]));
	return pair[0];
}

/* What came so far; *is_over: the other end is closed. */
static size_t read_all(int fd, char *text, size_t size, bool *is_over)
{
	size_t length = 0;
	ssize_t n;
	while ((n = read(fd, text + length, size - 1 - length)) > 0)
		length += (size_t)n;
	*is_over = n == 0;
	text[length] = '\0';
	return length;
}

static bool is_over(int fd)
{
	char byte;
	return recv(fd, &byte, 1, MSG_PEEK) == 0;
}

static void request(struct gate_world *w, struct gate_peer *c)
{
	struct gate_stream *s = gate_request(c, "GET", "example.com", "/path-of-mine", true, "cookie",
	    "secret=crumb", "authorization", "Basic c2VjcmV0", NULL);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;
	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static void frames_of_a_new_connection_come_from_the_first_on_without_any_value(void **state)
{
	(void)state;
	static char text[1 << 16];
	bool over;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	int fd = begin(w, "127.0.0.0/8", now(w) + LONG);
	int other = begin(w, "127.0.0.2", now(w) + LONG);
	struct gate_peer *c = gate_client(w, NULL);
	request(w, c);
	read_all(fd, text, sizeof(text), &over);
	assert_false(over);
	const char *settings = strstr(text, "s0 <- SETTINGS"), *head = strstr(text, "s1 <- HEADERS"),
		   *answer = strstr(text, "s1 -> HEADERS"), *body = strstr(text, "s1 -> DATA len=5 end");
	assert_true(settings && settings < head && head < answer && answer < body);
	assert_non_null(strstr(text, "[w0] trace l: client 127.0.0.1 port "));
	assert_null(strstr(text, "secret"));
	assert_null(strstr(text, "crumb"));
	assert_null(strstr(text, "c2VjcmV0"));
	assert_null(strstr(text, "path-of-mine"));
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		assert_true(strchr(line, '\n') - line < 200);
	assert_int_equal(read_all(other, text, sizeof(text), &over), 0);
	assert_false(over);
	gate_world_free(w);
	assert_true(is_over(fd) && is_over(other));
	close(fd);
	close(other);
}

static void open_connection_is_traced_from_now_on_and_no_longer_than_asked(void **state)
{
	(void)state;
	static char text[1 << 16];
	bool over;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	request(w, c);
	int fd = begin(w, "127.0.0.1", now(w) + LONG);
	request(w, c);
	assert_true(read_all(fd, text, sizeof(text), &over) > 0);
	assert_null(strstr(text, " s1 "));
	assert_non_null(strstr(text, "s3 <- HEADERS"));
	assert_false(over);
	close(fd);
	request(w, c);
	UNTIL(w, !w->gateway->clients.traces.is_on);

	/* A trace that ends in time: on a slow machine before any frame comes. */
	fd = begin(w, "127.0.0.1", now(w) + 100 * USEC_PER_MSEC);
	assert_true(w->gateway->clients.traces.is_on);
	usec since = clock_monotonic();
	UNTIL(w, (read_all(fd, text, sizeof(text), &over), over));
	assert_true(clock_monotonic() - since < 10 * USEC_PER_SEC);
	assert_false(w->gateway->clients.traces.is_on);
	request(w, c);
	gate_world_free(w);
	close(fd);
}

static void command_that_has_ended_ends_its_trace_and_makes_room(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	struct gate_peer *c = gate_client(w, NULL);
	request(w, c);
	close(begin(w, "127.0.0.1", now(w) + LONG));
	assert_true(w->gateway->clients.traces.is_on);
	request(w, c);
	UNTIL(w, !w->gateway->clients.traces.is_on);

	int fds[LIMIT_TRACES], pair[2];
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		fds[i] = begin(w, "127.0.0.1", now(w) + LONG);
	const struct cidr any = block("0.0.0.0/0");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_false(gateway_trace(w->gateway, &any, now(w) + LONG, pair[1]));
	close(fds[2]);
	assert_true(gateway_trace(w->gateway, &any, now(w) + LONG, pair[1]));
	request(w, c);
	gate_world_free(w);
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		if (i != 2)
			close(fds[i]);
	close(pair[0]);
}

static void reader_that_does_not_read_loses_lines_and_is_told_how_many(void **state)
{
	(void)state;
	static char text[1 << 20];
	bool over;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	w->sites[0].serve = ok;
	int fd = begin(w, "127.0.0.1", now(w) + LONG);
	struct gate_peer *c = gate_client(w, NULL);
	struct client_trace *t = &w->gateway->clients.traces.live[0];
	for (size_t i = 0; i < GATE_PEER_STREAMS - 10 && t->lost == 0; i++)
		request(w, c);
	assert_true(t->lost > 0);
	assert_true(read_all(fd, text, sizeof(text), &over) > 0);
	assert_null(strstr(text, "left out"));
	assert_false(over);
	request(w, c);
	assert_true(read_all(fd, text, sizeof(text), &over) > 0);
	assert_non_null(strstr(text, "frames were left out here"));
	assert_int_equal(t->lost, 0);
	gate_world_free(w);
	close(fd);
}

/* ---- the option ---- */

static void log_to(struct gate_world *w, int *fd)
{
	int pipe_fds[2];
	assert_int_equal(pipe2(pipe_fds, O_NONBLOCK | O_CLOEXEC), 0);
	w->observe.error_fd = pipe_fds[1];
	w->observe.level = OBSERVE_INFO;
	*fd = pipe_fds[0];
}

static void option_traces_its_clients_to_the_error_log(void **state)
{
	(void)state;
	static char text[1 << 16];
	bool over;
	int fd;
	for (int is_ours = 0; is_ours < 2; is_ours++) {
		struct gate_world *w = gate_world_new(
		    is_ours ? "trace = 192.0.2.0/24 127.0.0.1" : "trace = 192.0.2.0/24 127.0.0.2", NULL,
		    NULL, NULL);
		w->sites[0].serve = ok;
		log_to(w, &fd);
		request(w, gate_client(w, NULL));
		read_all(fd, text, sizeof(text), &over);
		assert_int_equal(strstr(text, "s1 <- HEADERS") != NULL, is_ours);
		assert_int_equal(strstr(text, " trace l: client ") != NULL, is_ours);
		assert_null(strstr(text, "crumb"));
		close(w->observe.error_fd);
		w->observe.error_fd = -1;
		gate_world_free(w);
		close(fd);
	}
}

static void flood_of_frames_is_no_flood_of_log_lines(void **state)
{
	(void)state;
	static char text[1 << 20];
	bool over;
	int fd;
	struct gate_world *w = gate_world_new("trace = 127.0.0.1", NULL, NULL, NULL);
	w->sites[0].serve = ok;
	log_to(w, &fd);
	struct gate_peer *c = gate_client(w, NULL);
	request(w, c);
	struct client_traces *traces = &w->gateway->clients.traces;
	/* As after 5,000 lines at once. */
	traces->log_lines.full_at_nsec = (now(w) + 3600 * USEC_PER_SEC) * NSEC_PER_USEC;
	read_all(fd, text, sizeof(text), &over);
	request(w, c);
	/* The log has lines of other kinds: that a pass of the loop took long, for example. */
	read_all(fd, text, sizeof(text), &over);
	assert_null(strstr(text, " trace"));
	assert_true(traces->left_out > 0);
	assert_int_equal(w->counters.log_left_out, traces->left_out);
	traces->log_lines = (struct bucket){0};
	request(w, c);
	read_all(fd, text, sizeof(text), &over);
	assert_int_equal(count(text, "frames were left out here"), 1);
	assert_non_null(strstr(text, "s5 <- HEADERS"));
	close(w->observe.error_fd);
	w->observe.error_fd = -1;
	gate_world_free(w);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(frames_of_a_new_connection_come_from_the_first_on_without_any_value),
	    cmocka_unit_test(open_connection_is_traced_from_now_on_and_no_longer_than_asked),
	    cmocka_unit_test(command_that_has_ended_ends_its_trace_and_makes_room),
	    cmocka_unit_test(reader_that_does_not_read_loses_lines_and_is_told_how_many),
	    cmocka_unit_test(option_traces_its_clients_to_the_error_log),
	    cmocka_unit_test(flood_of_frames_is_no_flood_of_log_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
