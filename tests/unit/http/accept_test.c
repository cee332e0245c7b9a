/* SPDX-License-Identifier: MIT */
/* Accept as clients send it: who gets JSON. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/http/accept.h"

static struct http_head_pool *pool;

static bool prefers(const char *first, const char *second, const char *type)
{
	struct http_head *head = http_head_new(pool);
	if (first)
		http_head_add_token(head, HTTP_TOKEN_ACCEPT, slice_of_string(first));
	http_head_add_token(head, HTTP_TOKEN_ACCEPT_LANGUAGE, SLICE("application/json"));
	if (second)
		http_head_add_token(head, HTTP_TOKEN_ACCEPT, slice_of_string(second));
	bool result = http_accept_prefers_json(head, slice_of_string(type));
	http_head_free(head);
	return result;
}

#define CHROMIUM                                                                                   \
	"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,"  \
	"*/*;q=0.8,application/signed-exchange;v=b3;q=0.7"

static void each_accept_has_its_answer(void **state)
{
	(void)state;
	static const struct {
		const char *first, *second;
		bool text, html; /* JSON rather than text/plain; than text/html */
	} rows[] = {
	    {NULL, NULL, false, false},
	    {"*/*", NULL, false, false},
	    {"", NULL, false, false},
	    {CHROMIUM, NULL, false, false},
	    {"image/avif,image/webp,*/*;q=0.8", NULL, false, false},
	    {"image/png", NULL, false, false},
	    {"application/json", NULL, true, true},
	    {"APPLICATION/JSON", NULL, true, true},
	    {"application/problem+json", NULL, true, true},
	    {"application/*", NULL, true, true},
	    {"application/json;charset=utf-8", NULL, true, true},
	    {"application/json, text/plain, */*", NULL, false, false},
	    {"application/json, text/plain, text/html;q=0.5", NULL, false, true},
	    {"application/json, text/*;q=0.9", NULL, true, true},
	    {"application/json, */*;q=0.1", NULL, true, true},
	    {"text/html", "application/json", true, false},
	    {"application/json;q=0", NULL, false, false},
	    {"application/json;q=0, */*", NULL, false, false},
	    {"application/problem+json;q=0, application/json", NULL, false, false},
	    {"application/problem+json;q=0.2, application/json, text/*;q=0.5", NULL, false, false},
	    {"application/json;q=0.001", NULL, true, true},
	    {"application/json ; q=0.5 , text/html ; q=0.501", NULL, true, false},
	    {"application/json;Q=0.5, text/*;Q=0.6", NULL, false, false},
	    {"application/json;a=b;q=0.5, text/*;q=0.6", NULL, false, false},
	    /* Malformed weights and ranges count for nothing. */
	    {"application/json;q=2", NULL, false, false},
	    {"application/json;q=1.001", NULL, false, false},
	    {"application/json;q=0.1234", NULL, false, false},
	    {"application/json;q=.5", NULL, false, false},
	    {"application/json;q=1,5", NULL, true, true},
	    {"application/json;q=", NULL, false, false},
	    {"application/json;q=0x5", NULL, false, false},
	    {"application/json;q=0.x", NULL, false, false},
	    {"application/jso*", NULL, false, false},
	    {"application", NULL, false, false},
	    {"applications/*", NULL, false, false},
	    {"*", NULL, false, false},
	    {";q=1", NULL, false, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (prefers(rows[i].first, rows[i].second, "text/plain") != rows[i].text)
			fail_msg("text/plain: %s", rows[i].first);
		if (prefers(rows[i].first, rows[i].second, "text/html; charset=utf-8") != rows[i].html)
			fail_msg("text/html: %s", rows[i].first);
		/* A document that is JSON itself is never replaced. */
		if (prefers(rows[i].first, rows[i].second, "application/json") &&
		    (!rows[i].first || strstr(rows[i].first, "problem") == NULL))
			fail_msg("application/json: %s", rows[i].first);
	}
}

static void a_type_is_taken_if_it_is_named(void **state)
{
	(void)state;
	static const struct {
		const char *accept;
		bool is_taken;
	} rows[] = {
	    {NULL, false},
	    {"*/*", false},
	    {"application/*", false},
	    {"application/a", true},
	    {"Application/A;version=1.0.0", true},
	    {"application/a;q=0", false},
	    {"application/a;q=0.5,text/b;q=0.5", true},
	    {"application/a;q=0.5,text/b;q=0.6", false},
	    {"application/a;q=0.5,*/*;q=0.6", false},
	    {"*/*;q=0.1,text/b;q=0.4,application/a;q=0.5", true},
	    {"application/a;q=0.5,*/*", false},
	    {"application/a;q=2,text/b;q=0.1", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_head *head = http_head_new(pool);
		if (rows[i].accept)
			http_head_add_token(head, HTTP_TOKEN_ACCEPT, slice_of_string(rows[i].accept));
		if (http_accept_takes(head, SLICE("application/a"), SLICE("text/b")) != rows[i].is_taken)
			fail_msg("%s", rows[i].accept);
		http_head_free(head);
	}
}

static int open_pool(void **state)
{
	(void)state;
	pool = http_head_pool_new(2);
	return 0;
}

static int close_pool(void **state)
{
	(void)state;
	http_head_pool_free(pool);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_accept_has_its_answer), cmocka_unit_test(a_type_is_taken_if_it_is_named),
	};
	return cmocka_run_group_tests(tests, open_pool, close_pool);
}
