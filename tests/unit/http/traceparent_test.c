/* SPDX-License-Identifier: MIT */
/* The field traceparent: what is one, what is none, and that what is written is read as the same. */
#include "proxy/http/traceparent.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static struct http_traceparent is_one(const char *text)
{
	struct http_traceparent p;
	if (!http_traceparent_parse(slice_of_string(text), &p))
		fail_msg("refused: %s", text);
	assert_int_equal(p.trace_id[0], 0x4b);
	assert_int_equal(p.trace_id[15], 0x36);
	assert_int_equal(p.span_id[1], 0xf0);
	assert_int_equal(p.span_id[7], 0xb7);
	return p;
}

static void version_and_flags_are_read(void **state)
{
	(void)state;
	assert_int_equal(is_one("00-" TRACE "-" SPAN "-01").flags, HTTP_TRACE_SAMPLED);
	assert_int_equal(is_one("00-" TRACE "-" SPAN "-00").flags, 0);
	assert_int_equal(is_one("00-" TRACE "-" SPAN "-02").flags, HTTP_TRACE_RANDOM);
	/* Flags that nobody knows are dropped. */
	assert_int_equal(is_one("00-" TRACE "-" SPAN "-ff").flags, HTTP_TRACE_SAMPLED | HTTP_TRACE_RANDOM);
	/* Later versions begin as this one does, and may go on behind a dash. */
	assert_int_equal(is_one("01-" TRACE "-" SPAN "-01").flags, HTTP_TRACE_SAMPLED);
	assert_int_equal(is_one("cc-" TRACE "-" SPAN "-01-what-follows").flags, HTTP_TRACE_SAMPLED);
	assert_int_equal(is_one("fe-" TRACE "-" SPAN "-01-").flags, HTTP_TRACE_SAMPLED);
}

static void everything_else_is_none(void **state)
{
	(void)state;
	static const char *const values[] = {"", "00", "nonsense", "00-" TRACE "-" SPAN, "00-" TRACE "-" SPAN "-",
	    "00-" TRACE "-" SPAN "-0", "00-" TRACE "-" SPAN "-01-", "00-" TRACE "-" SPAN "-01-more",
	    "00-" TRACE "-" SPAN "-011", "01-" TRACE "-" SPAN "-01.more", "01-" TRACE "-" SPAN "-0100",
	    "ff-" TRACE "-" SPAN "-01", "FE-" TRACE "-" SPAN "-01", "0-" TRACE "-" SPAN "-01 ",
	    "00_" TRACE "-" SPAN "-01", "00-" TRACE "_" SPAN "-01", "00-" TRACE "-" SPAN "_01",
	    "00-00000000000000000000000000000000-" SPAN "-01", "00-" TRACE "-0000000000000000-01",
	    "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", "00-" TRACE "-00F067AA0BA902B7-01",
	    "00-" TRACE "-" SPAN "-0G", "00-" TRACE "-" SPAN "-g0", "00-4bf92f3577b34da6a3ce929d0e0e473g-" SPAN "-01",
	    "00-" TRACE "-00f067aa0ba902bg-01", "0g-" TRACE "-" SPAN "-01", " 00-" TRACE "-" SPAN "-01"};
	struct http_traceparent p;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (http_traceparent_parse(slice_of_string(values[i]), &p))
			fail_msg("read: %s", values[i]);
}

static void written_is_read_again(void **state)
{
	(void)state;
	static const char text[] = "00-" TRACE "-" SPAN "-03";
	char again[HTTP_TRACEPARENT_BYTES];
	const struct http_traceparent p = is_one(text);
	http_traceparent_write(&p, again);
	assert_memory_equal(again, text, sizeof(again));
}

static void altered_text_has_another_half_and_span(void **state)
{
	(void)state;
	char text[] = "00-" TRACE "-" SPAN "-02";
	static const uint8_t id[HTTP_SPAN_ID_BYTES] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
	http_traceparent_alter(text, id);
	assert_string_equal(text, "00-4bf92f3577b34da60123456789abcdef-0123456789abcdef-02");
}

static void each_byte_of_an_id_has_two_digits(void **state)
{
	(void)state;
	for (unsigned first = 0; first < 256; first += HTTP_TRACE_ID_BYTES) {
		uint8_t id[HTTP_TRACE_ID_BYTES];
		char text[2 * HTTP_TRACE_ID_BYTES], expected[2 * HTTP_TRACE_ID_BYTES + 1];
		for (unsigned i = 0; i < sizeof(id); i++) {
			id[i] = (uint8_t)(first + i);
			snprintf(expected + 2 * (size_t)i, 3, "%02x", id[i]);
		}
		assert_int_equal(http_trace_id_write(id, sizeof(id), text).len, sizeof(text));
		assert_memory_equal(text, expected, sizeof(text));
		assert_int_equal(http_trace_id_write(id, HTTP_SPAN_ID_BYTES, text).len, sizeof(text) / 2);
	}
}

static struct http_head *request(struct http_head_pool *pool, const char *first, const char *second)
{
	struct http_head *h = http_head_new(pool);
	http_head_add(h, SLICE(":method"), SLICE("GET"));
	http_head_add(h, SLICE(":scheme"), SLICE("http"));
	http_head_add(h, SLICE(":authority"), SLICE("a.test"));
	http_head_add(h, SLICE(":path"), SLICE("/"));
	if (first)
		http_head_add(h, SLICE("traceparent"), slice_of_string(first));
	if (second)
		http_head_add(h, SLICE("traceparent"), slice_of_string(second));
	assert_null(http_head_validate(h, HTTP_REQUEST));
	return h;
}

static void request_has_one_or_none(void **state)
{
	(void)state;
	static const char one[] = "00-" TRACE "-" SPAN "-01";
	static const struct {
		const char *first, *second;
		bool has;
	} rows[] = {{one, NULL, true}, {NULL, NULL, false}, {one, one, false}, {"nonsense", NULL, false},
	    {one, "nonsense", false}};
	struct http_head_pool *pool = http_head_pool_new(1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_traceparent p;
		struct http_head *h = request(pool, rows[i].first, rows[i].second);
		struct http_head *overlay = http_head_overlay(h);
		assert_int_equal(http_traceparent_of(h, &p), rows[i].has);
		assert_int_equal(http_traceparent_of(overlay, &p), rows[i].has);
		http_head_free(overlay);
		http_head_free(h);
	}
	http_head_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(version_and_flags_are_read),
	    cmocka_unit_test(everything_else_is_none),
	    cmocka_unit_test(written_is_read_again),
	    cmocka_unit_test(altered_text_has_another_half_and_span),
	    cmocka_unit_test(each_byte_of_an_id_has_two_digits),
	    cmocka_unit_test(request_has_one_or_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
