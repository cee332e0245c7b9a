/* SPDX-License-Identifier: MIT */
/* The demo origin's bodies, above all that of /echo. */
#include "proxy/tool/demo_body.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* Stands in for net/: gathers what is put into a send. */
static char gathered[1 << 20];
static size_t gathered_len;

void net_out_copy(struct net_out *o, const void *ptr, size_t len)
{
	(void)o;
	memcpy(gathered + gathered_len, ptr, len);
	gathered_len += len;
}

static void take(struct demo_body *b, size_t n)
{
	demo_body_send(b, NULL, n);
}

static int set_up(void **state)
{
	(void)state;
	gathered_len = 0;
	return 0;
}

static void text_leaves_in_order_whatever_the_pieces(void **state)
{
	(void)state;
	struct demo_body b = demo_body_text(SLICE("one two three"));
	take(&b, 3);
	take(&b, 0);
	take(&b, 10);
	assert_int_equal(demo_body_ready(&b), 0);
	assert_memory_equal(gathered, "one two three", 13);
	demo_body_fini(&b);
}

static void pattern_does_not_depend_on_the_pieces(void **state)
{
	(void)state;
	static char whole[10000];
	struct demo_body a = demo_body_pattern(sizeof(whole));
	take(&a, sizeof(whole));
	memcpy(whole, gathered, sizeof(whole));
	gathered_len = 0;
	struct demo_body b = demo_body_pattern(sizeof(whole));
	for (size_t n = 1; demo_body_ready(&b) > 0; n = n * 3 % 97 + 1)
		take(&b, n < demo_body_ready(&b) ? n : (size_t)demo_body_ready(&b));
	assert_int_equal(gathered_len, sizeof(whole));
	assert_memory_equal(gathered, whole, sizeof(whole));
	assert_memory_equal(whole, whole + 64, 64);
}

static void echo_gives_back_what_came_while_the_buffer_grows(void **state)
{
	(void)state;
	static char sent[300000];
	for (size_t i = 0; i < sizeof(sent); i++)
		sent[i] = (char)(i * 7 + i / 251);
	struct demo_body b = {.is_echo = true};
	size_t in = 0;
	for (size_t step = 1; in < sizeof(sent); step = (step * 31 + 7) % 20011) {
		size_t n = step < sizeof(sent) - in ? step : sizeof(sent) - in;
		if (n > 0)
			demo_body_append(&b, slice_of(sent + in, n));
		in += n;
		take(&b, (size_t)demo_body_ready(&b) * (step % 5) / 5);
	}
	take(&b, (size_t)demo_body_ready(&b));
	assert_int_equal(gathered_len, sizeof(sent));
	assert_memory_equal(gathered, sent, sizeof(sent));
	demo_body_fini(&b);
}

static void body_of_nothing_is_empty(void **state)
{
	(void)state;
	struct demo_body b = {0};
	assert_int_equal(demo_body_ready(&b), 0);
	take(&b, 0);
	demo_body_fini(&b);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
	    TEST(text_leaves_in_order_whatever_the_pieces),
	    TEST(pattern_does_not_depend_on_the_pieces),
	    TEST(echo_gives_back_what_came_while_the_buffer_grows),
	    TEST(body_of_nothing_is_empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
