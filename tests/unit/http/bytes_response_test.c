/* SPDX-License-Identifier: MIT */
/*
 * Every byte in every place of what an origin writes: responses, trailers and promised requests (RFC 9113
 * 8.2.1, 8.3.2, 8.4.1, 10.3; RFC 9110 5.1, 5.5, 8.6, 15). A response that could be read as two is never
 * passed on.
 */
#include "tests/unit/http/bytes.h"

static const struct row rows[] = {
    {HTTP_RESPONSE, "name", "x", NAME},
    {HTTP_RESPONSE, "name", "x-any", NAME},
    {HTTP_RESPONSE, "name", "x-any-name-of-many-words", NAME},
    {HTTP_RESPONSE, "x-any", "v", VALUE},
    {HTTP_RESPONSE, "x-any", "a value of more than one word", VALUE},
    {HTTP_RESPONSE, "set-cookie", "a=b; Path=/; Secure", VALUE},
    {HTTP_RESPONSE, "location", "https://a.example/b?c", VALUE},
    {HTTP_RESPONSE, "link", "</a.css>; rel=preload", VALUE},
    {HTTP_RESPONSE, "content-type", "text/html", VALUE},
    {HTTP_RESPONSE, "host", "in a response it is a field", VALUE},
    {HTTP_RESPONSE, "content-length", "7", DIGITS, "", DIGITS},
    {HTTP_RESPONSE, "content-length", "1234567", DIGITS, DIGITS, DIGITS},
    {HTTP_RESPONSE, "te", "trailers", "tT", "", "sS"},
    {HTTP_TRAILERS, "name", "x-any", NAME},
    {HTTP_TRAILERS, "x-any", "a value", VALUE},
    {HTTP_TRAILERS, "set-cookie", "a=b", VALUE},
    {HTTP_PROMISE, "name", "x-any", NAME},
    {HTTP_PROMISE, "accept", "text/css, */*", VALUE},
    {HTTP_PROMISE, ":method", "GET", "G", "E", "T"},
    {HTTP_PROMISE, ":scheme", "soap", LOWER UPPER, LOWER UPPER DIGITS "+-.",
	LOWER UPPER DIGITS "+-."},
    {HTTP_PROMISE, ":authority", "xyzuvw", HOST, HOST, HOST ":"},
    {HTTP_PROMISE, "content-length", "0", "0", "", "0"},
};

/* covers: R165 R166 R167 R169 R172 R175 */
static void every_byte_in_every_place_is_refused_or_kept(void **state)
{
	(void)state;
	judge_all(rows, sizeof(rows) / sizeof(rows[0]));
}

static bool status_passes(struct slice text)
{
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":status"), text);
	bool passes = http_head_validate(head, HTTP_RESPONSE) == NULL;
	http_head_free(head);
	return passes;
}

/* covers: R168 */
static void every_byte_of_a_status_is_a_digit(void **state)
{
	(void)state;
	for (size_t at = 0; at < 3; at++) {
		for (int byte = 0; byte < 256; byte++) {
			char text[] = {'2', '2', '2'};
			text[at] = (char)byte;
			bool want = byte >= (at == 0 ? '1' : '0') && byte <= '9';
			assert_int_equal(status_passes(slice_of(text, 3)), want);
		}
	}
}

/* covers: R168 */
static void every_number_from_100_to_999_but_101_is_a_status(void **state)
{
	(void)state;
	char text[16];
	for (int number = 0; number < 10000; number++) {
		for (int digits = 1; digits <= 5; digits++) {
			int length = snprintf(text, sizeof(text), "%0*d", digits, number);
			bool want = length == 3 && number >= 100 && number <= 999 && number != 101;
			assert_int_equal(status_passes(slice_of(text, (size_t)length)), want);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_byte_in_every_place_is_refused_or_kept),
	    cmocka_unit_test(every_byte_of_a_status_is_a_digit),
	    cmocka_unit_test(every_number_from_100_to_999_but_101_is_a_status),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
