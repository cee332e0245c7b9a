/* SPDX-License-Identifier: MIT */
/* One cookie of ours in a request's Cookie fields: it is taken out, and the others stay. */
#include "proxy/http/cookie.h"
#include "tests/unit/http/heads.h"

#define NAME SLICE("seen")

/* The field that is cut, what is found in it (NULL: nothing), what is left (NULL: no field). */
static void check(const char *field, const char *found, const char *left)
{
	struct http_head *head = REQUEST("accept: a", "x-any: seen=0", field, "te: trailers");
	struct slice value = http_cookie_cut(head, NAME);
	if (found)
		assert_slice(value, found);
	else
		assert_null(value.ptr);
	const struct http_field *cookie = http_head_find(head, HTTP_TOKEN_COOKIE);
	assert_int_equal(head->count, left ? 4 : 3);
	if (left)
		assert_slice(cookie->value, left);
	assert_slice(head->fields[1].value, "seen=0");
	assert_slice(head->fields[head->count - 1].name, "te");
	http_head_free(head);
}

static void cookie_of_the_name_goes_and_others_stay(void **state)
{
	(void)state;
	check("cookie: seen=x", "x", NULL);
	check("cookie: a=1; seen=x; b=2", "x", "a=1; b=2");
	check("cookie: seen=x; a=1", "x", "a=1");
	check("cookie: a=1; seen=x", "x", "a=1");
	check("cookie: a=\"b c\"; seen=", "", "a=\"b c\"");
	check("cookie: seen=x=y", "x=y", NULL);
}

static void spacing_of_the_others_stays_and_empty_pairs_go(void **state)
{
	(void)state;
	check("cookie: a=1;seen=x;b=2", "x", "a=1;b=2");
	check("cookie: ;; a=1 ;  seen=x\t; ;b;", "x", "a=1 ;b");
	check("cookie: ; seen=x ; ;", "x", NULL);
}

/* Nothing is ever longer than it was, however little stands between the pairs. */
static void many_short_pairs_fit_into_their_room(void **state)
{
	(void)state;
	enum { PAIRS = 4000 };
	char line[sizeof("cookie: ") + 2 * PAIRS + sizeof("seen=x")] = "cookie: ";
	size_t length = strlen(line);
	for (int i = 0; i < PAIRS; i++, length += 2)
		memcpy(line + length, "a;", 2);
	memcpy(line + length, "seen=x", sizeof("seen=x"));
	struct http_head *head = REQUEST(line);
	assert_slice(http_cookie_cut(head, NAME), "x");
	assert_int_equal(head->fields[0].value.len, 2 * PAIRS - 1);
	assert_memory_equal(head->fields[0].value.ptr, line + strlen("cookie: "), 2 * PAIRS - 1);
	http_head_free(head);
}

static void last_of_several_counts_and_all_go(void **state)
{
	(void)state;
	check("cookie: seen=1; a=b; seen=2", "2", "a=b");
	struct http_head *head = REQUEST("cookie: seen=1; a=b", "cookie: c=d", "cookie: seen=2");
	assert_slice(http_cookie_cut(head, NAME), "2");
	assert_int_equal(head->count, 2);
	assert_slice(head->fields[0].value, "a=b");
	assert_slice(head->fields[1].value, "c=d");
	http_head_free(head);
}

static void like_names_are_left_to_the_byte(void **state)
{
	(void)state;
	static const char *const others[] = {
	    "seen2=1;;xseen=2", "Seen=1 ", "seen", "seen =1", "a=seen=1", "a=b;c=d", "a=\"seen\";"};
	char line[64];
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(line, sizeof(line), "cookie: %s", others[i]);
		check(line, NULL, others[i]);
	}
}

static void changed_field_is_compressed_anew(void **state)
{
	(void)state;
	struct http_head *head = REQUEST("cookie: a=1; seen=x", "cookie: b=2");
	head->fields[0].hash = 7;
	head->fields[1].hash = 9;
	http_cookie_cut(head, NAME);
	assert_int_equal(head->fields[0].hash, 0);
	assert_int_equal(head->fields[1].hash, 9);
	http_head_free(head);
}

static void found(const char *field, const char *value)
{
	struct http_head *head = REQUEST("x-any: seen=0", "cookie: a=b", field);
	struct slice got = http_cookie_find(head, NAME);
	if (value)
		assert_slice(got, value);
	else
		assert_null(got.ptr);
	assert_int_equal(head->count, 3);
	http_head_free(head);
}

static void first_of_several_is_found_and_all_stay(void **state)
{
	(void)state;
	found("cookie: seen=1", "1");
	found("cookie: a=1; seen=x; seen=y", "x");
	found("cookie: ;;seen= ; b=2", "");
	found("cookie: seen=x=y", "x=y");
	found("cookie: a=seen=1; xseen=2; Seen=3; seen", NULL);
	found("cookies: seen=1", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cookie_of_the_name_goes_and_others_stay),
	    cmocka_unit_test(spacing_of_the_others_stays_and_empty_pairs_go),
	    cmocka_unit_test(many_short_pairs_fit_into_their_room),
	    cmocka_unit_test(last_of_several_counts_and_all_go),
	    cmocka_unit_test(like_names_are_left_to_the_byte),
	    cmocka_unit_test(changed_field_is_compressed_anew),
	    cmocka_unit_test(first_of_several_is_found_and_all_stay),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
