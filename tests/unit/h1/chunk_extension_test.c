/* SPDX-License-Identifier: MIT */
/* Chunk extensions by the grammar of RFC 9112 7.1.1: what is not one cannot hide the end of a line. */
#include "proxy/h1/h1.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"

/* The fault of a request with this first line of a chunk, NULL: its body was read. `cut` bytes come first. */
static const char *fault_of(const char *line, size_t length, size_t cut)
{
	struct chunk_pool *chunks = chunk_pool_new(4096, 1);
	struct http_head_pool *heads = http_head_pool_new(1);
	struct budget budget;
	budget_init(&budget, NULL, 1 << 20);
	const struct h1_config config = {.role = H1_SERVER, .limits = h1_limits_default};
	const struct session_env env = {.heads = heads};
	const struct session_conn conn = {.budget = &budget};
	struct session *c = h1_new(&config, &env, &conn, 1);
	char text[512];
	int before = snprintf(text, sizeof(text), "%s5", HEAD);
	memcpy(text + before, line, length);
	size_t all = (size_t)before + length;
	all += (size_t)snprintf(text + all, sizeof(text) - all, "\r\nhello\r\n0\r\n\r\n");
	const char *name = "nothing was read";
	for (int part = 0; part < 2; part++) {
		struct chunk *chunk = chunk_acquire(chunks);
		size_t from = part ? cut : 0, to = part ? all : cut;
		struct session_event e;
		memcpy(chunk->data, text + from, to - from);
		session_receive(c, chunk, 0, to - from, 1);
		chunk_release(chunk);
		while (session_next_event(c, &e)) {
			if (e.kind == SESSION_EVENT_HEAD)
				http_head_free(e.head);
			else if (e.kind == SESSION_EVENT_REFUSED)
				name = e.fault->name;
			else if (e.kind == SESSION_EVENT_DATA && e.end)
				name = NULL;
			if (e.kind == SESSION_EVENT_DATA)
				session_credit(c, NULL, e.piece.length);
			session_check(c);
		}
	}
	session_free(c);
	budget_fini(&budget);
	http_head_pool_free(heads);
	chunk_pool_free(chunks);
	return name;
}

static void check(const char *line, size_t length, const char *fault)
{
	const size_t head = strlen(HEAD);
	/* All at once, and cut at each byte of the line. */
	for (size_t cut = head; cut <= head + length + 3; cut++) {
		const char *got = fault_of(line, length, cut);
		if (got != fault && (!got || !fault || strcmp(got, fault) != 0))
			fail_msg("<5%s> cut at %zu: %s instead of %s", line, cut - head,
			    got ? got : "read", fault ? fault : "read");
	}
}

static void extensions_by_the_grammar_are_read_over(void **state)
{
	(void)state;
	static const char *const lines[] = {"", ";a", ";a=b", ";a=\"b\"", ";a;b=c;d", " ;a", "\t; a",
	    ";a = b", ";a= \"b\" ;c", ";a=\"\"", ";a=\"\\\"\"", ";a=\";=\\\\ \t\xff\"", ";!#$%&'*+-.^_`|~0z"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		check(lines[i], strlen(lines[i]), NULL);
}

static void others_are_refused(void **state)
{
	(void)state;
	static const char *const lines[] = {";", "; ", ";;a", ";a;", ";=b", ";a=", ";a= ", ";a=;b", ";a==b",
	    ";a b", ";a ", ";a=b ", ";a=b c", ";a=b=c", ";a=\"b", ";a=\"b\"c", ";a=\"b\" ", ";a=b\"c\"",
	    ";a\"b\"", ";\"a\"", ";a=\"\\", ";a\\=b", ";a=\xff", ";\xff", ";(a)", ";a/b", ";a=\"\x7f\"",
	    ";a=\"\\\x01\"", ";a\x01", ";a=\n", ";a=\"\n\"", ";\n"};
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		check(lines[i], strlen(lines[i]), "chunk-extension-bad");
	check(";a\0", 3, "chunk-extension-bad");
	check(" ", 1, "chunk-size-bad");
	check(" a", 2, "chunk-size-bad");
	check("\t", 1, "chunk-size-bad");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(extensions_by_the_grammar_are_read_over),
	    cmocka_unit_test(others_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
