/* SPDX-License-Identifier: MIT */
/* The tracer: the bounds of its queue; and from outside which messages it takes, and what it posts. */
#include "proxy/process/tracer.h"
#include "proxy/base/memory.h"
#include "proxy/process/child_message.h"
#include "proxy/process/outfit.h"
#include "proxy/tracing/span.h"
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the queue ---- */

static char *text_of(size_t bytes, char fill)
{
	char *text = memory_alloc(bytes + 1);
	memset(text, fill, bytes);
	text[bytes] = '\0';
	return text;
}

static void spans_are_joined_in_their_order(void **state)
{
	(void)state;
	struct tracer_queue *q = memory_new(struct tracer_queue);
	size_t length;
	uint32_t spans;
	assert_true(tracer_queue_add(q, text_of(1, 'a')));
	assert_true(tracer_queue_add(q, text_of(2, 'b')));
	char *all = tracer_queue_join(q, "<", ">", &length, &spans);
	assert_string_equal(all, "<a,bb>");
	assert_int_equal(length, 6);
	assert_int_equal(spans, 2);
	free(all);
	tracer_queue_drop(q, 1);
	assert_true(tracer_queue_add(q, text_of(1, 'c')));
	all = tracer_queue_join(q, "", "", &length, &spans);
	assert_string_equal(all, "bb,c");
	free(all);
	tracer_queue_drop(q, 2);
	assert_int_equal(q->bytes, 0);
	all = tracer_queue_join(q, "<", ">", &length, &spans);
	assert_string_equal(all, "<>");
	assert_int_equal(spans, 0);
	free(all);
	free(q);
}

static void batch_has_a_bound_in_spans_and_in_bytes(void **state)
{
	(void)state;
	struct tracer_queue *q = memory_new(struct tracer_queue);
	size_t length;
	uint32_t spans;
	for (unsigned i = 0; i < TRACER_BATCH_SPANS + 1; i++)
		assert_true(tracer_queue_add(q, text_of(1, 'x')));
	free(tracer_queue_join(q, "", "", &length, &spans));
	assert_int_equal(spans, TRACER_BATCH_SPANS);
	tracer_queue_drop(q, q->count);
	for (unsigned i = 0; i < 3; i++)
		assert_true(tracer_queue_add(q, text_of(TRACER_BATCH_BYTES / 2 - 8, 'x')));
	free(tracer_queue_join(q, "", "", &length, &spans));
	assert_int_equal(spans, 2);
	assert_true(length <= TRACER_BATCH_BYTES);
	tracer_queue_drop(q, q->count);
	assert_true(tracer_queue_add(q, text_of(2 * TRACER_BATCH_BYTES, 'x'))); /* one goes in any case */
	free(tracer_queue_join(q, "", "", &length, &spans));
	assert_int_equal(spans, 1);
	tracer_queue_drop(q, q->count);
	free(q);
}

static void full_queue_takes_no_more(void **state)
{
	(void)state;
	struct tracer_queue *q = memory_new(struct tracer_queue);
	/* In a ring that has gone round. */
	for (unsigned i = 0; i < 100; i++)
		assert_true(tracer_queue_add(q, text_of(1, 'x')));
	tracer_queue_drop(q, 100);
	for (unsigned i = 0; i < TRACER_SPANS_MOST; i++)
		assert_true(tracer_queue_add(q, text_of(1, 'x')));
	assert_false(tracer_queue_add(q, text_of(1, 'x')));
	tracer_queue_drop(q, TRACER_SPANS_MOST);
	assert_true(tracer_queue_add(q, text_of(TRACER_BYTES_MOST, 'x')));
	assert_false(tracer_queue_add(q, text_of(1, 'x')));
	tracer_queue_drop(q, 1);
	free(q);
}

/* ---- the process ---- */

struct bench {
	struct conf *conf;
	struct observe_counters *counters;
	pid_t pid;
	int control, collector;
	int links[2];
};

static int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	char text[256];
	b->collector = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(b->collector, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(b->collector, 8), 0);
	assert_int_equal(getsockname(b->collector, (struct sockaddr *)&at, &length), 0);
	snprintf(text, sizeof(text),
	    "[server]\nsandbox = off\ntracing = 127.0.0.1:%u/spans\n[listen l]\naddress = 127.0.0.1:1\n"
	    "[origin o]\nserver = demo:\n[route r]\norigin = o\n",
	    ntohs(at.sin_port));
	b->conf = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(b->conf);
	b->counters = outfit_map_shared(sizeof(*b->counters), "counters", text, sizeof(text));
	assert_non_null(b->counters);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	conf_free(b->conf);
	close(b->collector);
	munmap(b->counters, sizeof(*b->counters));
	free(b);
	return 0;
}

static bool comes(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, 20000) == 1;
}

static void connect_worker(struct bench *b, uint32_t worker)
{
	int pair[2];
	const struct message m = {.kind = MESSAGE_LINK, .helper = HELPER_TRACER, .worker = worker};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_true(message_send(b->control, &m, pair[1]));
	close(pair[1]);
	if (worker < 2)
		b->links[worker] = pair[0];
	else
		close(pair[0]);
}

static void begin(struct bench *b)
{
	int pair[2], fd;
	struct message m;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	const struct identity identity = {0};
	struct logs logs = logs_none;
	pid_t parent = getpid();
	b->pid = fork();
	if (b->pid == 0) {
		close(pair[0]);
		close(b->collector);
		const struct helper_env env = {.conf = b->conf,
		    .identity = &identity,
		    .logs = &logs,
		    .counters = b->counters,
		    .workers = 2,
		    .control = pair[1],
		    .master = parent};
		_exit(tracer_run(&env));
	}
	close(pair[1]);
	b->control = pair[0];
	assert_true(comes(b->control));
	assert_int_equal(message_receive(b->control, &m, &fd), sizeof(m));
	assert_int_equal(m.kind, MESSAGE_READY);
	connect_worker(b, 7); /* there is none */
	connect_worker(b, 0);
	connect_worker(b, 1);
}

static void finish(struct bench *b)
{
	int status;
	close(b->links[0]);
	close(b->links[1]);
	close(b->control);
	assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
	assert_int_equal(status, 0);
}

/* A span of this name. */
static void send_span(const struct bench *b, unsigned worker, const char *name)
{
	struct span s;
	struct budget budget;
	const struct span_head head = {.kind = SPAN_SERVER, .span_id = {1}, .trace_id = {1}, .begin = 1, .end = 2};
	budget_init(&budget, NULL, 1 << 20);
	assert_true(span_begin(&s, &budget, &head));
	span_name(&s, slice_of_string(name));
	assert_int_equal(send(b->links[worker], s.bytes, s.length, 0), s.length);
	span_fini(&s);
	budget_fini(&budget);
}

/* Answers one post. text: the post. Returns the connection. */
static int answer(const struct bench *b, const char *response, char *text, size_t size)
{
	size_t n = 0;
	assert_true(comes(b->collector));
	int fd = accept(b->collector, NULL, NULL);
	assert_true(fd >= 0);
	do {
		assert_true(comes(fd));
		ssize_t more = recv(fd, text + n, size - 1 - n, 0);
		assert_true(more > 0);
		n += (size_t)more;
		text[n] = '\0';
	} while (!strstr(text, "]}]}]}"));
	assert_int_equal(send(fd, response, strlen(response), MSG_NOSIGNAL), (ssize_t)strlen(response));
	return fd;
}

static void collect(const struct bench *b, const char *response, char *text, size_t size)
{
	close(answer(b, response, text, size));
}

static const char GOOD[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";

static void spans_of_all_workers_go_to_the_collector(void **state)
{
	struct bench *b = *state;
	char text[8192];
	begin(b);
	send_span(b, 0, "one");
	send_span(b, 1, "two");
	collect(b, GOOD, text, sizeof(text));
	if (!strstr(text, "\"two\"")) /* it was late */
		collect(b, GOOD, text, sizeof(text));
	assert_int_equal(strncmp(text, "POST /spans HTTP/1.1\r\n", 22), 0);
	assert_non_null(strstr(text, "\r\ncontent-type: application/json\r\n"));
	assert_non_null(strstr(text, "{\"resourceSpans\":["));
	/* The last ones go when it is to end. */
	send_span(b, 1, "last");
	shutdown(b->control, SHUT_RDWR);
	collect(b, GOOD, text, sizeof(text));
	assert_non_null(strstr(text, "\"last\""));
	finish(b);
	assert_int_equal(b->counters->spans_sent, 3);
	assert_int_equal(b->counters->spans_dropped, 0);
}

static void end_does_not_wait_for_a_collector_that_fails(void **state)
{
	struct bench *b = *state;
	char text[8192];
	begin(b);
	send_span(b, 0, "one");
	collect(b, "HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n", text, sizeof(text));
	while (__atomic_load_n(&b->counters->span_posts_failed, __ATOMIC_RELAXED) == 0)
		usleep(1000);
	send_span(b, 0, "two");
	shutdown(b->control, SHUT_RDWR);
	collect(b, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "\"one\""));
	assert_non_null(strstr(text, "\"two\""));
	finish(b);
	assert_int_equal(b->counters->spans_sent, 0);
	assert_int_equal(b->counters->spans_dropped, 2);
	assert_int_equal(b->counters->span_posts_failed, 2);
}

static void is_not_listened_to(const struct bench *b, uint32_t worker)
{
	char byte;
	assert_true(comes(b->links[worker]));
	assert_true(recv(b->links[worker], &byte, 1, 0) <= 0); /* ECONNRESET if it left something unread */
}

static void worker_that_sends_what_is_no_span_loses_its_socket(void **state)
{
	struct bench *b = *state;
	char text[8192];
	static char large[SPAN_BYTES_MOST + 1];
	begin(b);
	static const size_t lengths[] = {1, sizeof(struct span_head), sizeof(large)};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_int_equal(send(b->links[0], large, lengths[i], 0), (ssize_t)lengths[i]);
		is_not_listened_to(b, 0);
		close(b->links[0]);
		connect_worker(b, 0);
	}
	send_span(b, 1, "other");
	collect(b, GOOD, text, sizeof(text));
	assert_non_null(strstr(text, "\"other\""));
	send_span(b, 0, "again");
	collect(b, GOOD, text, sizeof(text));
	assert_non_null(strstr(text, "\"again\""));
	finish(b);
}

/* What it answers is no HTTP, or ends within its head: then the spans are sent again. */
static void answer_that_is_none_is_a_failure(void **state)
{
	struct bench *b = *state;
	char text[8192];
	begin(b);
	send_span(b, 0, "one");
	collect(b, "what?\r\n\r\n", text, sizeof(text));
	collect(b, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n", text, sizeof(text));
	collect(b, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\n\r\n", text, sizeof(text));
	assert_non_null(strstr(text, "\"one\""));
	finish(b);
	assert_int_equal(b->counters->spans_sent, 1);
	assert_int_equal(b->counters->span_posts_failed, 2);
}

/* The head says whether the spans are taken. Sent again, they would be there twice. */
static void body_that_breaks_off_or_never_ends_changes_nothing(void **state)
{
	struct bench *b = *state;
	char text[8192];
	begin(b);
	send_span(b, 0, "one");
	collect(b, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", text, sizeof(text));
	send_span(b, 0, "two");
	int fd = answer(b, "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\nmore", text, sizeof(text));
	assert_null(strstr(text, "\"one\""));
	while (__atomic_load_n(&b->counters->spans_sent, __ATOMIC_RELAXED) < 2) {
		assert_int_equal(__atomic_load_n(&b->counters->span_posts_failed, __ATOMIC_RELAXED), 0);
		usleep(1000);
	}
	close(fd);
	finish(b);
	assert_int_equal(b->counters->spans_dropped, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(spans_are_joined_in_their_order),
	    cmocka_unit_test(batch_has_a_bound_in_spans_and_in_bytes),
	    cmocka_unit_test(full_queue_takes_no_more),
	    cmocka_unit_test_setup_teardown(spans_of_all_workers_go_to_the_collector, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(end_does_not_wait_for_a_collector_that_fails, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(worker_that_sends_what_is_no_span_loses_its_socket, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(answer_that_is_none_is_a_failure, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(body_that_breaks_off_or_never_ends_changes_nothing, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
