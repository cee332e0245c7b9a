/* SPDX-License-Identifier: MIT */
/*
 * Every octet in every place of a request (RFC 9113 8.2.1, 8.3.1, 10.3; RFC 9110 5.1, 5.5, 8.6, 9.1;
 * RFC 3986 3): refused, or kept as it came. What may stand where is spelled out here once more, so
 * that a slip in the tables of the code is not repeated.
 */
#include "proxy/http/head.h"
#include "tests/unit/http/heads.h"

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TOKEN_SIGNS "!#$%&'*+-.^_`|~"
#define HOST_SIGNS "-._~!$&'()*+,;="

/* Where the octet stands. */
enum place {
	PLACE_NAME,
	PLACE_VALUE,
	PLACE_METHOD,
	PLACE_SCHEME,
	PLACE_PATH,
	PLACE_AUTHORITY,
	PLACE_HOST,
	PLACE_LENGTH,
	PLACE_TE,
	PLACE_TRAILER_NAME,
	PLACE_TRAILER_VALUE,
};

struct row {
	enum place place;
	const char *text; /* well-formed; one of its octets is replaced */
	size_t from;      /* the first place that is tried */
	/* What may stand first, in the middle, last. NULL: what a value may have; edges without
	 * blanks. */
	const char *first, *middle, *last;
};

static const struct row rows[] = {
    {PLACE_NAME, "x", 0, LOWER DIGITS TOKEN_SIGNS, "", LOWER DIGITS TOKEN_SIGNS},
    {PLACE_NAME, "x-any", 0, LOWER DIGITS TOKEN_SIGNS, LOWER DIGITS TOKEN_SIGNS,
	LOWER DIGITS TOKEN_SIGNS},
    {PLACE_NAME, "x-any-name-of-many-words", 0, LOWER DIGITS TOKEN_SIGNS, LOWER DIGITS TOKEN_SIGNS,
	LOWER DIGITS TOKEN_SIGNS},
    {PLACE_VALUE, "v", 0, NULL, NULL, NULL},
    {PLACE_VALUE, "a value of more than one word", 0, NULL, NULL, NULL},
    {PLACE_METHOD, "M", 0, LOWER UPPER DIGITS TOKEN_SIGNS, "", LOWER UPPER DIGITS TOKEN_SIGNS},
    {PLACE_METHOD, "MZ-SEARCH", 0, LOWER UPPER DIGITS TOKEN_SIGNS, LOWER UPPER DIGITS TOKEN_SIGNS,
	LOWER UPPER DIGITS TOKEN_SIGNS},
    {PLACE_SCHEME, "s", 0, LOWER UPPER, "", LOWER UPPER},
    {PLACE_SCHEME, "soap", 0, LOWER UPPER, LOWER UPPER DIGITS "+-.", LOWER UPPER DIGITS "+-."},
    {PLACE_AUTHORITY, "xyzuvw", 0, LOWER UPPER DIGITS HOST_SIGNS, LOWER UPPER DIGITS HOST_SIGNS,
	LOWER UPPER DIGITS HOST_SIGNS ":"},
    {PLACE_AUTHORITY, "xyz:11", 4, NULL, DIGITS, DIGITS},
    {PLACE_HOST, "xyzuvw", 0, LOWER UPPER DIGITS HOST_SIGNS, LOWER UPPER DIGITS HOST_SIGNS,
	LOWER UPPER DIGITS HOST_SIGNS ":"},
    {PLACE_LENGTH, "1", 0, DIGITS, "", DIGITS},
    {PLACE_LENGTH, "1234567", 0, DIGITS, DIGITS, DIGITS},
    {PLACE_TE, "trailers", 0, "tT", "", "sS"},
    {PLACE_TRAILER_NAME, "x-any", 0, LOWER DIGITS TOKEN_SIGNS, LOWER DIGITS TOKEN_SIGNS,
	LOWER DIGITS TOKEN_SIGNS},
    {PLACE_TRAILER_VALUE, "a value", 0, NULL, NULL, NULL},
};

static bool may_stand(const struct row *row, size_t at, int octet)
{
	size_t last = strlen(row->text) - 1;
	const char *set = at == 0 ? row->first : at == last ? row->last : row->middle;
	bool is_edge = at == 0 || at == last;
	if (set && row->place == PLACE_TE && !is_edge)
		return (octet | 0x20) == row->text[at] && octet >= 'A';
	if (set)
		return octet != 0 && strchr(set, octet) != NULL;
	if (octet == ' ' || octet == '\t')
		return !is_edge;
	return octet > 0x20 && octet != 0x7f;
}

static void add_pseudo(struct http_head *head, const struct row *row, struct slice text)
{
	static const struct {
		enum place place;
		const char *name, *value;
	} fields[] = {
	    {PLACE_METHOD, ":method", "POST"},
	    {PLACE_SCHEME, ":scheme", "https"},
	    {PLACE_AUTHORITY, ":authority", "a.example"},
	    {PLACE_PATH, ":path", "/"},
	};
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].place == PLACE_AUTHORITY && row->place == PLACE_HOST)
			continue;
		http_head_add(head, slice_of_string(fields[i].name),
		    fields[i].place == row->place ? text : slice_of_string(fields[i].value));
	}
}

static void add_field(struct http_head *head, enum place place, struct slice text)
{
	switch (place) {
	case PLACE_NAME:
	case PLACE_TRAILER_NAME:
		http_head_add(head, text, SLICE("1"));
		break;
	case PLACE_VALUE:
	case PLACE_TRAILER_VALUE:
		http_head_add(head, SLICE("x-any"), text);
		break;
	case PLACE_HOST:
		http_head_add(head, SLICE("host"), text);
		break;
	case PLACE_LENGTH:
		http_head_add(head, SLICE("content-length"), text);
		break;
	case PLACE_TE:
		http_head_add(head, SLICE("te"), text);
		break;
	case PLACE_METHOD:
	case PLACE_SCHEME:
	case PLACE_PATH:
	case PLACE_AUTHORITY:
		break;
	}
}

/* Where the text has got to in a head that was accepted. */
static struct slice found(const struct http_head *head, enum place place)
{
	switch (place) {
	case PLACE_METHOD:
		return head->method;
	case PLACE_SCHEME:
		return head->scheme;
	case PLACE_PATH:
		return head->path;
	case PLACE_AUTHORITY:
	case PLACE_HOST:
		return head->authority;
	case PLACE_NAME:
	case PLACE_TRAILER_NAME:
		return head->fields[0].name;
	case PLACE_VALUE:
	case PLACE_LENGTH:
	case PLACE_TE:
	case PLACE_TRAILER_VALUE:
		return head->fields[0].value;
	}
	return SLICE("");
}

static void judge(const struct row *row, size_t at, int octet)
{
	char text[64];
	size_t length = strlen(row->text);
	bool is_trailer = row->place == PLACE_TRAILER_NAME || row->place == PLACE_TRAILER_VALUE;
	struct http_head *head = http_head_new(pool);
	memcpy(text, row->text, length);
	text[at] = (char)octet;
	struct slice written = slice_of(text, length);
	if (!is_trailer)
		add_pseudo(head, row, written);
	add_field(head, row->place, written);
	const char *fault = http_head_settle(head, is_trailer ? HTTP_TRAILERS : HTTP_REQUEST);
	if (may_stand(row, at, octet) != (fault == NULL))
		fail_msg("0x%02x at %zu of \"%s\" (place %d): %s", (unsigned)octet, at, row->text,
		    (int)row->place, fault ? fault : "accepted");
	if (!fault && !slice_equal(found(head, row->place), written))
		fail_msg("0x%02x at %zu of \"%s\" (place %d) was changed", (unsigned)octet, at,
		    row->text, (int)row->place);
	http_head_free(head);
}

/* covers: R77 R131 */
static void every_octet_in_every_place_is_refused_or_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (size_t at = rows[i].from; at < strlen(rows[i].text); at++)
			for (int octet = 0; octet < 256; octet++)
				judge(&rows[i], at, octet);
}

/* covers: R126 R131 */
static void every_octet_of_a_path_is_refused_or_kept(void **state)
{
	(void)state;
	/* What a value may have, but for the space and the fragment; a tab is a control octet. */
	static const char path[] = "/a/path?of=several&parts";
	const struct row row = {PLACE_PATH, path, 1, NULL, NULL, NULL};
	for (size_t at = 1; at < sizeof(path) - 1; at++) {
		for (int octet = 0; octet < 256; octet++) {
			if (octet != ' ' && octet != '\t' && octet != '#')
				judge(&row, at, octet);
		}
	}
	for (const char *octet = " \t#"; *octet; octet++) {
		struct http_head *head = http_head_new(pool);
		const char text[] = {'/', 'a', *octet, 'b'};
		add_pseudo(head, &row, slice_of(text, sizeof(text)));
		assert_non_null(http_head_settle(head, HTTP_REQUEST));
		http_head_free(head);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_octet_in_every_place_is_refused_or_kept),
	    cmocka_unit_test(every_octet_of_a_path_is_refused_or_kept),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
