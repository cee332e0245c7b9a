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

/* ---- a worker's link ---- */

static struct span span_of(struct budget *budget, const char *name);

struct link_bench {
	struct chunk_pool *chunks;
	struct net_loop *loop;
	struct observe observe;
	struct observe_counters counters;
	struct budget budget;
	struct span span;
	int tracer; /* its end */
	struct tracer_link link;
};

static int set_up_link(void **state)
{
	struct link_bench *b = memory_new(struct link_bench);
	int pair[2];
	b->chunks = chunk_pool_new(16384, 1);
	b->loop = net_loop_new(b->chunks);
	b->observe.counters = &b->counters;
	b->span = span_of(&b->budget, "a span");
	tracer_link_init(&b->link);
	b->link.observe = &b->observe;
	b->link.link.loop = b->loop;
	assert_false(tracer_link_send(&b->link, span_message(&b->span))); /* there is no tracer yet */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	b->tracer = pair[0];
	helper_link_open(&b->link.link, pair[1]);
	*state = b;
	return 0;
}

static int tear_down_link(void **state)
{
	struct link_bench *b = *state;
	tracer_link_stop(&b->link);
	tracer_link_close(&b->link);
	net_loop_free(b->loop);
	chunk_pool_free(b->chunks);
	span_fini(&b->span);
	budget_fini(&b->budget);
	close(b->tracer);
	free(b);
	return 0;
}

static void send_spans(struct link_bench *b, unsigned n)
{
	while (n-- > 0)
		assert_true(tracer_link_send(&b->link, span_message(&b->span)));
}

/* How many spans the next message has, each as it was sent; 0: there is no message. */
static unsigned spans_that_came(struct link_bench *b)
{
	static uint8_t message[TRACER_MESSAGE_BYTES];
	const size_t one = sizeof(uint32_t) + b->span.length;
	ssize_t n = recv(b->tracer, message, sizeof(message), MSG_DONTWAIT);
	if (n <= 0)
		return 0;
	assert_int_equal((size_t)n % one, 0);
	for (size_t at = 0; at < (size_t)n; at += one) {
		assert_memory_equal(message + at, &b->span.length, sizeof(uint32_t));
		assert_memory_equal(message + at + sizeof(uint32_t), b->span.bytes, b->span.length);
	}
	return (unsigned)((size_t)n / one);
}

static void spans_gather_and_go_together(void **state)
{
	struct link_bench *b = *state;
	const unsigned most = (unsigned)(TRACER_MESSAGE_BYTES / (sizeof(uint32_t) + b->span.length));
	send_spans(b, 3);
	assert_int_equal(spans_that_came(b), 0);
	unsigned came = 0;
	for (unsigned passes = 0; came == 0; passes++) {
		assert_true(passes < 1000);
		net_run_once(b->loop, TRACER_LINK_USEC);
		came = spans_that_came(b);
	}
	assert_int_equal(came, 3);
	send_spans(b, most);
	assert_int_equal(spans_that_came(b), 0);
	send_spans(b, 1); /* does not fit any more */
	assert_int_equal(spans_that_came(b), most);
	assert_int_equal(b->counters.spans_dropped, 0);
}

/* The last requests of a worker end with its gateway, when nothing is received any more. */
static void last_spans_go_with_the_end_of_the_link(void **state)
{
	struct link_bench *b = *state;
	send_spans(b, 2);
	tracer_link_stop(&b->link);
	send_spans(b, 2);
	assert_int_equal(spans_that_came(b), 0);
	tracer_link_close(&b->link);
	assert_int_equal(spans_that_came(b), 4);
	assert_int_equal(b->counters.spans_dropped, 0);
}

static void spans_that_nobody_takes_are_counted(void **state)
{
	struct link_bench *b = *state;
	send_spans(b, 2);
	close(b->tracer);
	b->tracer = -1;
	tracer_link_stop(&b->link);
	tracer_link_close(&b->link);
	assert_int_equal(b->counters.spans_dropped, 2);
}

static void spans_of_a_dead_tracer_are_counted(void **state)
{
	struct link_bench *b = *state;
	send_spans(b, 2);
	close(b->tracer);
	b->tracer = -1;
	for (unsigned passes = 0; b->counters.spans_dropped == 0; passes++) {
		assert_true(passes < 1000);
		net_run_once(b->loop, TRACER_LINK_USEC);
	}
	assert_int_equal(b->counters.spans_dropped, 2);
	assert_false(tracer_link_send(&b->link, span_message(&b->span)));
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

/* Makes a span of this name, or of none. */
static struct span span_of(struct budget *budget, const char *name)
{
	struct span s;
	const struct span_head head = {.kind = SPAN_SERVER, .span_id = {1}, .trace_id = {1}, .begin = 1, .end = 2};
	budget_init(budget, NULL, 1 << 20);
	assert_true(span_begin(&s, budget, &head));
	span_name(&s, slice_of_string(name), SLICE(""));
	return s;
}

/* Adds a span of this name to a message. */
static void put_span(uint8_t *message, size_t *length, const char *name)
{
	struct budget budget;
	struct span s = span_of(&budget, name);
	memcpy(message + *length, &s.length, sizeof(s.length));
	memcpy(message + *length + sizeof(s.length), s.bytes, s.length);
	*length += sizeof(s.length) + s.length;
	span_fini(&s);
	budget_fini(&budget);
}

static void send_span(const struct bench *b, unsigned worker, const char *name)
{
	uint8_t message[1024];
	size_t length = 0;
	put_span(message, &length, name);
	assert_int_equal(send(b->links[worker], message, length, 0), (ssize_t)length);
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
	char text[16384];
	static uint8_t large[TRACER_MESSAGE_BYTES + 1];
	uint8_t message[1024];
	size_t good = 0;
	begin(b);
	put_span(message, &good, "good");
	memset(message + good, 0, 8);
	const uint32_t too_long = (uint32_t)(good - sizeof(uint32_t) + 1);
	const struct {
		const uint8_t *bytes;
		size_t length;
	} rows[] = {{large, 1}, {large, 4}, {large, sizeof(struct span_head)}, {large, sizeof(large)}, {message, good - 1},
	    {message, good + 3}, {message, good + 4}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(send(b->links[0], rows[i].bytes, rows[i].length, 0), (ssize_t)rows[i].length);
		is_not_listened_to(b, 0);
		close(b->links[0]);
		connect_worker(b, 0);
	}
	memcpy(message, &too_long, sizeof(too_long));
	assert_int_equal(send(b->links[0], message, good, 0), (ssize_t)good);
	is_not_listened_to(b, 0);
	close(b->links[0]);
	connect_worker(b, 0);
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
	    cmocka_unit_test_setup_teardown(spans_gather_and_go_together, set_up_link, tear_down_link),
	    cmocka_unit_test_setup_teardown(last_spans_go_with_the_end_of_the_link, set_up_link, tear_down_link),
	    cmocka_unit_test_setup_teardown(spans_that_nobody_takes_are_counted, set_up_link, tear_down_link),
	    cmocka_unit_test_setup_teardown(spans_of_a_dead_tracer_are_counted, set_up_link, tear_down_link),
	    cmocka_unit_test_setup_teardown(spans_of_all_workers_go_to_the_collector, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(end_does_not_wait_for_a_collector_that_fails, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(worker_that_sends_what_is_no_span_loses_its_socket, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(answer_that_is_none_is_a_failure, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(body_that_breaks_off_or_never_ends_changes_nothing, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
