/* SPDX-License-Identifier: MIT */
/* A helper's request to a server outside: what comes of each answer, and of a server that is broken or hostile. */
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/process/helper_http.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define BODY_MOST 65536u

struct bench {
	struct chunk_pool *chunks;
	struct net_loop *loop;
	struct helper_http http;
	struct net_address at;
	int listener;
	pid_t server;
	/* Of the result. */
	unsigned calls, status;
	bool was_sent;
	uint32_t retry_after;
	char why[128], type[64];
	char *body;
	size_t length;
	/* The next request, which is begun in the callback. */
	const struct helper_http_request *next;
};

static void on_done(void *context, const struct helper_http_result *r)
{
	struct bench *b = context;
	const struct http_field *type = r->head ? http_head_find(r->head, HTTP_TOKEN_CONTENT_TYPE) : NULL;
	b->calls++;
	b->status = r->status;
	b->was_sent = r->was_sent;
	b->retry_after = r->retry_after;
	snprintf(b->why, sizeof(b->why), "%s", r->why ? r->why : "");
	snprintf(b->type, sizeof(b->type), "%.*s", type ? (int)type->value.len : 0, type ? type->value.ptr : "");
	free(b->body);
	b->body = memory_zalloc(r->body.len + 1);
	if (r->body.len > 0)
		memcpy(b->body, r->body.ptr, r->body.len);
	b->length = r->body.len;
	if (b->next) {
		const struct helper_http_request *next = b->next;
		b->next = NULL;
		helper_http_begin(&b->http, &b->at, next);
	}
}

static int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	const char *error = NULL;
	struct net_address any;
	b->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	b->loop = net_loop_new(b->chunks);
	b->http = (struct helper_http){.loop = b->loop, .body_most = BODY_MOST, .done = on_done, .context = b, .limit = 60 * USEC_PER_SEC};
	helper_http_init(&b->http);
	assert_null(net_address_parse(SLICE("127.0.0.1:0"), &any));
	b->listener = net_listen(&any, 16, &error);
	assert_true(b->listener >= 0);
	b->at.length = NET_ADDRESS_BYTES;
	assert_int_equal(getsockname(b->listener, &b->at.any, &b->at.length), 0);
	*state = b;
	return 0;
}

static void end_server(struct bench *b)
{
	if (b->server <= 0)
		return;
	kill(b->server, SIGKILL);
	waitpid(b->server, NULL, 0);
	b->server = 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	end_server(b);
	helper_http_fini(&b->http);
	net_loop_free(b->loop);
	chunk_pool_free(b->chunks);
	if (b->listener >= 0)
		close(b->listener);
	free(b->body);
	free(b);
	return 0;
}

/* ---- a server ---- */

struct answer {
	const char *begin;
	const char *again; /* sent so many times behind it */
	unsigned times;
	bool stays; /* the connection is left open */
};

/* Until the head is there, and a body of so many bytes behind it. */
static void read_request(int fd, size_t body)
{
	char text[8192];
	size_t length = 0;
	for (const char *end = NULL; !end || (size_t)(text + length - end - 4) < body;) {
		ssize_t n = read(fd, text + length, sizeof(text) - 1 - length);
		if (n <= 0)
			_exit(1);
		length += (size_t)n;
		text[length] = '\0';
		end = strstr(text, "\r\n\r\n");
	}
}

static void serve(struct bench *b, const struct answer *a, size_t count, size_t body)
{
	b->server = fork();
	if (b->server != 0)
		return;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < count; i++) {
		static const struct timeval patience = {.tv_sec = 60};
		int fd;
		do
			fd = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC);
		while (fd < 0 && usleep(1000) == 0);
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		read_request(fd, body);
		bool goes_on = write(fd, a[i].begin, strlen(a[i].begin)) >= 0;
		for (unsigned k = 0; goes_on && k < a[i].times; k++)
			goes_on = write(fd, a[i].again, strlen(a[i].again)) > 0;
		if (a[i].stays)
			pause();
		shutdown(fd, SHUT_WR);
		while (read(fd, (char[512]){0}, 512) > 0)
			;
		close(fd);
	}
	_exit(0);
}

static void run(struct bench *b, unsigned calls)
{
	usec give_up = clock_monotonic() + 60 * USEC_PER_SEC;
	while (b->calls < calls) {
		assert_true(clock_monotonic() < give_up);
		net_run_once(b->loop, 20 * USEC_PER_MSEC);
	}
}

static const struct helper_http_request get = {.method = "GET", .authority = "ca.test", .path = "/dir"};

static void ask(struct bench *b, const struct answer *a, const struct helper_http_request *r)
{
	end_server(b);
	serve(b, a, 1, r->body.len);
	b->calls = 0;
	helper_http_begin(&b->http, &b->at, r);
	run(b, 1);
}

/* ---- answers ---- */

#define OK "HTTP/1.1 200 OK\r\n"

static void answers_come_as_they_are(void **state)
{
	struct bench *b = *state;
	static const struct {
		const char *text;
		unsigned status;
		const char *body;
	} rows[] = {
	    {OK "content-length: 5\r\n\r\nhello", 200, "hello"},
	    {OK "content-length: 0\r\n\r\n", 200, ""},
	    {OK "\r\nuntil the end", 200, "until the end"},
	    {OK "transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 200, "abcde"},
	    {OK "transfer-encoding: chunked\r\n\r\n0\r\n\r\n", 200, ""},
	    {"HTTP/1.1 503 No\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 503, ""},
	    {OK "transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nmore: fields\r\n\r\n", 200, "x"},
	    {"HTTP/1.1 204 Empty\r\n\r\n", 204, ""},
	    {"HTTP/1.1 103 Early\r\nlink: </a>\r\n\r\n" OK "content-length: 1\r\n\r\nx", 200, "x"},
	    /* Nothing follows it: the server goes elsewhere alone. */
	    {"HTTP/1.1 302 Found\r\nlocation: https://ca.test/dir\r\ncontent-length: 0\r\n\r\n", 302, ""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct answer a = {.begin = rows[i].text};
		ask(b, &a, &get);
		if (b->status != rows[i].status || strcmp(b->body, rows[i].body) != 0)
			fail_msg("row %zu: %u, %s, '%s'", i, b->status, b->why, b->body);
		assert_true(b->was_sent);
	}
}

static void fields_are_those_of_the_response(void **state)
{
	struct bench *b = *state;
	const struct answer a = {.begin = "HTTP/1.1 429 Slow\r\ncontent-type: application/json\r\nretry-after: 120\r\ncontent-length: 2\r\n\r\n{}"};
	ask(b, &a, &get);
	assert_int_equal(b->status, 429);
	assert_string_equal(b->type, "application/json");
	assert_int_equal(b->retry_after, 120);
	static const struct {
		const char *value;
		uint32_t seconds;
	} rows[] = {{"0", 0}, {"never", 0}, {"-5", 0}, {"4294967295", UINT32_MAX}, {"99999999999999999999", 0}, {"Thu, 01 Jan 1970 00:00:10 GMT", 0}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[256];
		snprintf(text, sizeof(text), OK "retry-after: %s\r\ncontent-length: 0\r\n\r\n", rows[i].value);
		ask(b, &(struct answer){.begin = text}, &get);
		assert_int_equal(b->retry_after, rows[i].seconds);
	}
	ask(b, &(struct answer){.begin = OK "retry-after: Fri, 31 Dec 2100 00:00:00 GMT\r\ncontent-length: 0\r\n\r\n"}, &get);
	assert_true(b->retry_after > 86400);
}

static void body_of_a_request_is_sent_and_a_head_alone_suffices(void **state)
{
	struct bench *b = *state;
	const struct helper_http_request post = {.method = "POST", .authority = "ca.test", .path = "/p", .content_type = "text/plain", .body = SLICE("payload")};
	const struct helper_http_request head = {.method = "HEAD", .authority = "ca.test", .path = "/n"};
	ask(b, &(struct answer){.begin = OK "content-length: 2\r\n\r\nok"}, &post);
	assert_string_equal(b->body, "ok");
	ask(b, &(struct answer){.begin = OK "content-length: 500\r\n\r\n"}, &head);
	assert_int_equal(b->status, 200);
	assert_int_equal(b->length, 0);
	/* The owner wants no body: what the server still sends is not waited for. */
	b->http.body_most = 0;
	ask(b, &(struct answer){.begin = OK "content-length: 500\r\n\r\nabc", .stays = true}, &get);
	b->http.body_most = BODY_MOST;
	assert_int_equal(b->status, 200);
	assert_int_equal(b->length, 0);
}

static void another_request_may_begin_in_the_callback(void **state)
{
	struct bench *b = *state;
	static const struct answer both[] = {{.begin = OK "content-length: 1\r\n\r\na"}, {.begin = OK "content-length: 1\r\n\r\nb"}};
	serve(b, both, 2, 0);
	b->next = &get;
	helper_http_begin(&b->http, &b->at, &get);
	run(b, 2);
	assert_string_equal(b->body, "b");
}

/* ---- servers that are broken, or hostile ---- */

static void broken_answers_are_none(void **state)
{
	struct bench *b = *state;
	static const char piece[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	static const struct {
		struct answer answer;
		const char *why; /* NULL: any */
	} rows[] = {
	    {{.begin = ""}, NULL},
	    {{.begin = "HTTP/1.1 200"}, NULL},
	    {{.begin = "SSH-2.0-x\r\n"}, NULL},
	    {{.begin = OK "content-length: 5\r\n\r\nhel"}, NULL},
	    {{.begin = OK "content-length: 5\r\ncontent-length: 6\r\n\r\nhello"}, NULL},
	    {{.begin = OK "transfer-encoding: chunked\r\n\r\n3\r\nab"}, NULL},
	    {{.begin = OK "content-length: 18446744073709551616\r\n\r\n"}, NULL},
	    /* Without an end. */
	    {{.begin = OK "\r\n", .again = piece, .times = UINT32_MAX}, "the response is too long"},
	    {{.begin = OK "content-length: 1000000000\r\n\r\n", .again = piece, .times = UINT32_MAX}, "the response is too long"},
	    {{.begin = OK "transfer-encoding: chunked\r\n\r\n", .again = "1\r\nx\r\n", .times = UINT32_MAX}, "the response is too long"},
	    {{.begin = "HTTP/1.1 200 OK\r\n", .again = "a: b\r\n", .times = UINT32_MAX}, NULL},
	    {{.begin = "", .again = "HTTP/1.1 103 Early\r\n\r\n", .times = UINT32_MAX}, NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ask(b, &rows[i].answer, &get);
		if (b->status != 0 || !*b->why || (rows[i].why && strcmp(b->why, rows[i].why) != 0))
			fail_msg("row %zu: %u, '%s'", i, b->status, b->why);
		assert_true(b->length <= BODY_MOST);
		assert_true(b->was_sent);
	}
}

static void longest_body_is_taken(void **state)
{
	struct bench *b = *state;
	static const char piece[] = "0123456789abcdef";
	ask(b, &(struct answer){.begin = OK "\r\n", .again = piece, .times = BODY_MOST / 16}, &get);
	assert_int_equal(b->status, 200);
	assert_int_equal(b->length, BODY_MOST);
	ask(b, &(struct answer){.begin = OK "\r\nx", .again = piece, .times = BODY_MOST / 16}, &get);
	assert_int_equal(b->status, 0);
}

static void silent_server_has_a_limit(void **state)
{
	struct bench *b = *state;
	b->http.limit = 200 * USEC_PER_MSEC;
	ask(b, &(struct answer){.begin = OK "content-length: 5\r\n\r\nhel", .stays = true}, &get);
	assert_int_equal(b->status, 0);
	assert_string_equal(b->why, "it took longer than 0 s");
	b->http.limit = 60 * USEC_PER_SEC;
}

static void server_that_is_not_there_has_seen_nothing(void **state)
{
	struct bench *b = *state;
	close(b->listener);
	b->listener = -1;
	helper_http_begin(&b->http, &b->at, &get);
	run(b, 1);
	assert_int_equal(b->status, 0);
	assert_string_equal(b->why, "no connection to it");
	assert_false(b->was_sent);
}

static void request_may_be_given_up(void **state)
{
	struct bench *b = *state;
	serve(b, &(struct answer){.begin = OK "content-length: 5\r\n\r\nhel", .stays = true}, 1, 0);
	helper_http_begin(&b->http, &b->at, &get);
	usec give_up = clock_monotonic() + 60 * USEC_PER_SEC;
	while (!b->http.head || b->http.body_length == 0) {
		assert_true(clock_monotonic() < give_up);
		net_run_once(b->loop, 20 * USEC_PER_MSEC);
	}
	helper_http_abort(&b->http);
	helper_http_abort(&b->http);
	assert_int_equal(b->calls, 0);
	ask(b, &(struct answer){.begin = OK "content-length: 1\r\n\r\nx"}, &get);
	assert_string_equal(b->body, "x");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(answers_come_as_they_are),
	    TEST(fields_are_those_of_the_response),
	    TEST(body_of_a_request_is_sent_and_a_head_alone_suffices),
	    TEST(another_request_may_begin_in_the_callback),
	    TEST(broken_answers_are_none),
	    TEST(longest_body_is_taken),
	    TEST(silent_server_has_a_limit),
	    TEST(server_that_is_not_there_has_seen_nothing),
	    TEST(request_may_be_given_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
