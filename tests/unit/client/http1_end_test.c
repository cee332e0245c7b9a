/* SPDX-License-Identifier: MIT */
/* How responses to HTTP/1 end: by the end of the connection, where neither a length nor chunks say it. */
#include "tests/support/gateway_world.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct reader {
	int fd;
	char text[1024];
	size_t length;
	bool ended, was_reset;
};

static bool read_some(struct reader *r)
{
	ssize_t n;
	while ((n = recv(r->fd, r->text + r->length, sizeof(r->text) - 1 - r->length, MSG_DONTWAIT)) > 0)
		r->length += (size_t)n;
	r->ended |= n == 0;
	r->was_reset |= n < 0 && errno == ECONNRESET;
	r->text[r->length] = '\0';
	return r->ended || r->was_reset;
}

static bool has_body(struct reader *r, size_t bytes)
{
	read_some(r);
	const char *head_end = strstr(r->text, "\r\n\r\n");
	return head_end && r->length == (size_t)(head_end - r->text) + 4 + bytes;
}

static struct reader ask(struct gate_world *w, const char *request)
{
	struct reader r = {.fd = gate_raw(w)};
	UNTIL(w, send(r.fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request));
	return r;
}

/* The end of the body comes by itself, behind bytes that have left already. */
static void the_connection_ends_with_a_body_of_no_length(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct reader r = ask(w, "GET /page HTTP/1.0\r\nhost: a.test\r\n\r\n");
	UNTIL(w, gate_find(w, "/page"));
	gate_answer(gate_find(w, "/page"), 200, 10, false);
	UNTIL(w, has_body(&r, 10));
	assert_false(r.ended || r.was_reset);
	gate_more(gate_find(w, "/page"), 0, true);
	UNTIL(w, read_some(&r));
	assert_true(r.ended);
	assert_non_null(strstr(r.text, "connection: close\r\n"));
	close(r.fd);
	gate_world_free(w);
}

static void a_cut_off_body_of_no_length_does_not_look_complete(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct reader r = ask(w, "GET /page HTTP/1.0\r\nhost: a.test\r\n\r\n");
	UNTIL(w, gate_find(w, "/page"));
	gate_answer(gate_find(w, "/page"), 200, 10, false);
	UNTIL(w, has_body(&r, 10));
	gate_reset_stream(gate_find(w, "/page"), SESSION_INTERNAL_ERROR);
	UNTIL(w, read_some(&r));
	assert_true(r.was_reset);
	close(r.fd);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_connection_ends_with_a_body_of_no_length),
	    cmocka_unit_test(a_cut_off_body_of_no_length_does_not_look_complete),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
