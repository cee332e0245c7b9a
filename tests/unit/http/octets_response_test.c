/* SPDX-License-Identifier: MIT */
/*
 * Every octet in every place of what an origin writes: responses, trailers and promised requests (RFC 9113
 * 8.2.1, 8.3.2, 8.4.1, 10.3; RFC 9110 5.1, 5.5, 8.6, 15). It is refused, or kept as it came: a response
 * that could be read as two is never passed on. What may stand where is spelled out here once more.
 */
#include "tests/unit/http/heads.h"

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TOKEN LOWER DIGITS "!#$%&'*+-.^_`|~"
#define HOST LOWER UPPER DIGITS "-._~!$&'()*+,;="

/* One place where an octet is tried: the value of the field `name`, or with "name" a field's name. */
struct row {
	enum http_head_kind kind;
	const char *name;
	const char *text; /* well-formed; one of its octets is replaced */
	/* What may stand first, in the middle, last. NULL: what a value may have. */
	const char *first, *middle, *last;
};

#define VALUE NULL, NULL, NULL
#define NAME TOKEN, TOKEN, TOKEN

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

static bool may_stand(const struct row *row, size_t at, int octet)
{
	size_t last = strlen(row->text) - 1;
	const char *set = at == 0 ? row->first : at == last ? row->last : row->middle;
	bool is_edge = at == 0 || at == last;
	if (set && strcmp(row->name, "te") == 0 && !is_edge)
		return (octet | 0x20) == row->text[at] && octet >= 'A';
	if (set)
		return octet != 0 && strchr(set, octet) != NULL;
	if (octet == ' ' || octet == '\t')
		return !is_edge;
	return octet > 0x20 && octet != 0x7f;
}

static void add_pseudos(struct http_head *head, const struct row *row, struct slice text)
{
	static const struct {
		enum http_head_kind kind;
		const char *name, *value;
	} pseudos[] = {
	    {HTTP_RESPONSE, ":status", "200"},
	    {HTTP_PROMISE, ":method", "GET"},
	    {HTTP_PROMISE, ":scheme", "https"},
	    {HTTP_PROMISE, ":authority", "a.example"},
	    {HTTP_PROMISE, ":path", "/"},
	};
	for (size_t i = 0; i < sizeof(pseudos) / sizeof(pseudos[0]); i++) {
		if (pseudos[i].kind != row->kind)
			continue;
		bool is_it = strcmp(pseudos[i].name, row->name) == 0;
		http_head_add(head, slice_of_string(pseudos[i].name),
		    is_it ? text : slice_of_string(pseudos[i].value));
	}
}

static struct slice found(const struct http_head *head, const struct row *row)
{
	if (strcmp(row->name, ":method") == 0)
		return head->method;
	if (strcmp(row->name, ":scheme") == 0)
		return head->scheme;
	if (strcmp(row->name, ":authority") == 0)
		return head->authority;
	assert_int_equal(head->count, 1);
	return strcmp(row->name, "name") == 0 ? head->fields[0].name : head->fields[0].value;
}

static void judge(const struct row *row, size_t at, int octet)
{
	char text[64];
	size_t length = strlen(row->text);
	struct http_head *head = http_head_new(pool);
	memcpy(text, row->text, length);
	text[at] = (char)octet;
	struct slice written = slice_of(text, length);
	add_pseudos(head, row, written);
	if (strcmp(row->name, "name") == 0)
		http_head_add(head, written, SLICE("1"));
	else if (row->name[0] != ':')
		http_head_add(head, slice_of_string(row->name), written);
	const char *fault = http_head_settle(head, row->kind);
	if (may_stand(row, at, octet) != (fault == NULL))
		fail_msg("0x%02x at %zu of %s: %s: %s", (unsigned)octet, at, row->name, row->text,
		    fault ? fault : "accepted");
	if (!fault && !slice_equal(found(head, row), written))
		fail_msg("0x%02x at %zu of %s: %s was changed", (unsigned)octet, at, row->name,
		    row->text);
	http_head_free(head);
}

/* covers: R165 R166 R167 R169 R172 R175 */
static void every_octet_in_every_place_is_refused_or_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t at = 0; at < strlen(rows[i].text); at++)
			for (int octet = 0; octet < 256; octet++)
				judge(&rows[i], at, octet);
}

static bool status_passes(struct slice text)
{
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":status"), text);
	bool passes = http_head_settle(head, HTTP_RESPONSE) == NULL;
	http_head_free(head);
	return passes;
}

/* covers: R168 */
static void every_octet_of_a_status_is_a_digit(void **state)
{
	(void)state;
	for (size_t at = 0; at < 3; at++) {
		for (int octet = 0; octet < 256; octet++) {
			char text[] = {'2', '2', '2'};
			text[at] = (char)octet;
			bool want = octet >= (at == 0 ? '1' : '0') && octet <= '9';
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
	    cmocka_unit_test(every_octet_in_every_place_is_refused_or_kept),
	    cmocka_unit_test(every_octet_of_a_status_is_a_digit),
	    cmocka_unit_test(every_number_from_100_to_999_but_101_is_a_status),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
