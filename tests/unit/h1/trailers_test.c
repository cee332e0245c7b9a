/* SPDX-License-Identifier: MIT */
/* Trailers that Connection names in the head are for one hop, as fields of the head are (RFC 9110 7.6.1). */
#include "proxy/h1/h1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct world {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct session *conn;
	struct h1_config config;
	struct session_env env;
	char names[256]; /* of the trailers that came, each with a space behind it */
	unsigned messages;
};

static void begin(struct world *w)
{
	*w = (struct world){.chunks = chunk_pool_new(4096, 1), .heads = http_head_pool_new(1)};
	budget_init(&w->budget, NULL, 1 << 20);
	w->config = (struct h1_config){.role = H1_SERVER, .limits = h1_limits_default};
	w->env = (struct session_env){.heads = w->heads};
	const struct session_conn conn = {.budget = &w->budget};
	w->conn = h1_new(&w->config, &w->env, &conn, 1);
}

static void end(struct world *w)
{
	session_free(w->conn);
	assert_int_equal(w->budget.used_bytes, 0);
	budget_fini(&w->budget);
	http_head_pool_free(w->heads);
	chunk_pool_free(w->chunks);
}

static void take(struct world *w, const struct session_event *e)
{
	assert_null(e->fault);
	if (e->kind == SESSION_EVENT_DATA)
		session_credit(w->conn, NULL, e->piece.length);
	if (e->kind == SESSION_EVENT_TRAILERS)
		for (uint32_t i = 0; i < e->head->count; i++) {
			struct slice name = e->head->fields[i].name;
			strncat(w->names, name.ptr, name.len);
			strcat(w->names, " ");
		}
	if (e->kind == SESSION_EVENT_HEAD || e->kind == SESSION_EVENT_TRAILERS)
		http_head_free(e->head);
	if (!e->end)
		return;
	/* The next request is read when this one has been answered. */
	struct http_head *answer = http_head_new(w->heads);
	struct session_output out;
	answer->kind = HTTP_RESPONSE;
	answer->status = 204;
	assert_true(session_respond(w->conn, NULL, answer, true));
	http_head_free(answer);
	while (session_next_output(w->conn, 4096, &out))
		;
	w->messages++;
}

static void say(struct world *w, const char *text)
{
	struct chunk *chunk = chunk_acquire(w->chunks);
	struct session_event e;
	memcpy(chunk->data, text, strlen(text));
	session_receive(w->conn, chunk, 0, strlen(text), 1);
	chunk_release(chunk);
	while (session_next_event(w->conn, &e)) {
		take(w, &e);
		session_check(w->conn);
	}
}

#define POST "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n"
#define BODY "\r\n1\r\nx\r\n0\r\n"

static void named_trailers_go_no_further(void **state)
{
	struct world w;
	(void)state;
	begin(&w);
	say(&w, POST "connection: X-Hop , x-other\r\nconnection: x-third\r\n" BODY
	    "x-t: 1\r\nx-hop: 2\r\nX-OTHER: 3\r\nx-hop: 4\r\nx-third: 5\r\nx-u: 6\r\n\r\n");
	assert_string_equal(w.names, "x-t x-u ");
	end(&w);
}

static void the_next_message_has_names_of_its_own(void **state)
{
	struct world w;
	(void)state;
	begin(&w);
	say(&w, POST "connection: x-hop\r\n" BODY "x-hop: 1\r\nx-t: 2\r\n\r\n");
	say(&w, POST BODY "x-hop: 3\r\n\r\n");
	say(&w, POST "connection: x-t\r\n" BODY "x-hop: 4\r\nx-t: 5\r\n\r\n");
	assert_string_equal(w.names, "x-t x-hop x-hop ");
	assert_int_equal(w.messages, 3);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(named_trailers_go_no_further),
	    cmocka_unit_test(the_next_message_has_names_of_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
