/* SPDX-License-Identifier: MIT */
/*
 * Every byte in every place of a request (RFC 9113 8.2.1, 8.3.1, 10.3; RFC 9110 5.1, 5.5, 8.6, 9.1;
 * RFC 3986 3).
 */
#include "tests/unit/http/bytes.h"

#define METHOD LOWER UPPER DIGITS "!#$%&'*+-.^_`|~"
#define SCHEME LOWER UPPER DIGITS "+-."

static const struct row rows[] = {
    {HTTP_REQUEST, "name", "x", NAME},
    {HTTP_REQUEST, "name", "x-any", NAME},
    {HTTP_REQUEST, "name", "x-any-name-of-many-words", NAME},
    {HTTP_REQUEST, "x-any", "v", VALUE},
    {HTTP_REQUEST, "x-any", "a value of more than one word", VALUE},
    {HTTP_REQUEST, ":method", "M", METHOD, METHOD, METHOD},
    {HTTP_REQUEST, ":method", "MZ-SEARCH", METHOD, METHOD, METHOD},
    {HTTP_REQUEST, ":scheme", "s", LOWER UPPER, "", LOWER UPPER},
    {HTTP_REQUEST, ":scheme", "soap", LOWER UPPER, SCHEME, SCHEME},
    {HTTP_REQUEST, ":authority", "xyzuvw", HOST, HOST, HOST ":"},
    {HTTP_REQUEST, "host", "xyzuvw", HOST, HOST, HOST ":"},
    {HTTP_REQUEST, "content-length", "1", DIGITS, "", DIGITS},
    {HTTP_REQUEST, "content-length", "1234567", DIGITS, DIGITS, DIGITS},
    {HTTP_REQUEST, "te", "trailers", "tT", "", "sS"},
    {HTTP_TRAILERS, "name", "x-any", NAME},
    {HTTP_TRAILERS, "x-any", "a value", VALUE},
};

/* covers: R77 R131 */
static void every_byte_in_every_place_is_refused_or_kept(void **state)
{
	(void)state;
	judge_all(rows, sizeof(rows) / sizeof(rows[0]));
	const struct row port = {HTTP_REQUEST, ":authority", "xyz:11", NULL, DIGITS, DIGITS};
	judge_from(&port, 4);
}

/* covers: R126 R131 */
static void every_byte_of_a_path_is_refused_or_kept(void **state)
{
	(void)state;
	/* What a value may have, but for the space and the fragment; a tab is a control byte. */
	static const char path[] = "/a/path?of=several&parts";
	const struct row row = {HTTP_REQUEST, ":path", path, VALUE};
	for (size_t at = 1; at < sizeof(path) - 1; at++) {
		for (int byte = 0; byte < 256; byte++) {
			if (byte != ' ' && byte != '\t' && byte != '#')
				judge(&row, at, byte);
		}
	}
	for (const char *byte = " \t#"; *byte; byte++) {
		struct http_head *head = http_head_new(pool);
		const char text[] = {'/', 'a', *byte, 'b'};
		add_pseudos(head, &row, slice_of(text, sizeof(text)));
		assert_non_null(http_head_validate(head, HTTP_REQUEST));
		http_head_free(head);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_byte_in_every_place_is_refused_or_kept),
	    cmocka_unit_test(every_byte_of_a_path_is_refused_or_kept),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
