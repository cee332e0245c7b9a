/* SPDX-License-Identifier: MIT */
/* What the tests of http/ share: a pool for a group of tests, heads from lines, text compared. */
#ifndef PUSHGATE_TESTS_HTTP_HEADS_H
#define PUSHGATE_TESTS_HTTP_HEADS_H

#include "proxy/http/head.h"
#include "tests/support/head_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define POOL_KEEPS 4u

static struct http_head_pool *pool;

static inline int start(void **state)
{
	(void)state;
	pool = http_head_pool_new(POOL_KEEPS);
	return 0;
}

/* No head is out, or it fails. */
static inline int stop(void **state)
{
	(void)state;
	http_head_pool_free(pool);
	return 0;
}

/* "name: value"; a name may begin with a colon. */
static inline void add_line(struct http_head *head, const char *line)
{
	const char *parted = strstr(line + 1, ": ");
	assert_non_null(parted);
	http_head_add(head, slice_of(line, (size_t)(parted - line)), slice_of_string(parted + 2));
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Lines up to NULL, as a decoder would leave them: to be settled. */
static inline struct http_head *decoded(const char *const *lines)
{
	struct http_head *head = http_head_new(pool);
	for (; *lines; lines++)
		add_line(head, *lines);
	return head;
}

/* The same without pseudo-fields, of a GET or a 200. */
static inline struct http_head *built(enum http_head_kind kind, const char *const *lines)
{
	struct http_head *head = decoded(lines);
	head->kind = kind;
	head->method_token = HTTP_METHOD_GET;
	head->status = kind == HTTP_RESPONSE ? 200 : 0;
	return head;
}

#define NONE ((const char *const[]){NULL})
#define REQUEST(...) built(HTTP_REQUEST, LINES(__VA_ARGS__))
#define RESPONSE(...) built(HTTP_RESPONSE, LINES(__VA_ARGS__))
#define BARE_REQUEST() built(HTTP_REQUEST, NONE)
#define BARE_RESPONSE() built(HTTP_RESPONSE, NONE)

static inline void assert_slice(struct slice got, const char *want)
{
	if (!slice_equal(got, slice_of_string(want)))
		fail_msg("\"%.*s\", want \"%s\"", SLICE_ARG(got), want);
}

#endif
