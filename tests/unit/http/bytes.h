/* SPDX-License-Identifier: MIT */
/*
 * Every byte in every place of a head, by rows: each is refused, or kept as it came. What may stand
 * where is spelled out in the rows once more, so that a slip in the tables of the code is not
 * repeated.
 */
#ifndef PUSHGATE_TESTS_HTTP_BYTES_H
#define PUSHGATE_TESTS_HTTP_BYTES_H

#include "tests/unit/http/heads.h"

#define DIGITS "0123456789"
#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TOKEN LOWER DIGITS "!#$%&'*+-.^_`|~"
#define HOST LOWER UPPER DIGITS "-._~!$&'()*+,;="

/* One place where a byte is tried: the value of the field `name`, or with "name" a field's name. */
struct row {
	enum http_head_kind kind;
	const char *name;
	const char *text; /* well-formed; one of its bytes is replaced */
	/* What may stand first, in the middle, last. NULL: what a value may have; edges without
	 * blanks. */
	const char *first, *middle, *last;
};

#define VALUE NULL, NULL, NULL
#define NAME TOKEN, TOKEN, TOKEN

static inline bool may_stand(const struct row *row, size_t at, int byte)
{
	size_t last = strlen(row->text) - 1;
	const char *set = at == 0 ? row->first : at == last ? row->last : row->middle;
	bool is_edge = at == 0 || at == last;
	if (set && strcmp(row->name, "te") == 0 && !is_edge)
		return (byte | 0x20) == row->text[at] && byte >= 'A';
	if (set)
		return byte != 0 && strchr(set, byte) != NULL;
	if (byte == ' ' || byte == '\t')
		return !is_edge;
	return byte > 0x20 && byte != 0x7f;
}

/* Those that the kind must have; the text stands for the row's own. */
static inline void add_pseudos(struct http_head *head, const struct row *row, struct slice text)
{
	static const struct {
		enum http_head_kind kind;
		const char *name, *value;
	} pseudos[] = {
	    {HTTP_RESPONSE, ":status", "200"},
	    {HTTP_REQUEST, ":method", "POST"},
	    {HTTP_REQUEST, ":scheme", "https"},
	    {HTTP_REQUEST, ":authority", "a.example"},
	    {HTTP_REQUEST, ":path", "/"},
	    {HTTP_PROMISE, ":method", "GET"},
	    {HTTP_PROMISE, ":scheme", "https"},
	    {HTTP_PROMISE, ":authority", "a.example"},
	    {HTTP_PROMISE, ":path", "/"},
	};
	bool has_host = strcmp(row->name, "host") == 0;
	for (size_t i = 0; i < sizeof(pseudos) / sizeof(pseudos[0]); i++) {
		if (pseudos[i].kind != row->kind ||
		    (has_host && strcmp(pseudos[i].name, ":authority") == 0))
			continue;
		bool is_it = strcmp(pseudos[i].name, row->name) == 0;
		http_head_add(head, slice_of_string(pseudos[i].name),
		    is_it ? text : slice_of_string(pseudos[i].value));
	}
}

/* Where the text has got to in a head that was accepted. */
static inline struct slice found(const struct http_head *head, const struct row *row)
{
	if (strcmp(row->name, ":method") == 0)
		return head->method;
	if (strcmp(row->name, ":scheme") == 0)
		return head->scheme;
	if (strcmp(row->name, ":path") == 0)
		return head->path;
	if (strcmp(row->name, ":authority") == 0)
		return head->authority;
	assert_int_equal(head->count, 1);
	if (row->kind == HTTP_REQUEST && strcmp(row->name, "host") == 0)
		return head->authority;
	return strcmp(row->name, "name") == 0 ? head->fields[0].name : head->fields[0].value;
}

static inline void judge(const struct row *row, size_t at, int byte)
{
	char text[64];
	size_t length = strlen(row->text);
	struct http_head *head = http_head_new(pool);
	memcpy(text, row->text, length);
	text[at] = (char)byte;
	struct slice written = slice_of(text, length);
	add_pseudos(head, row, written);
	if (strcmp(row->name, "name") == 0)
		http_head_add(head, written, SLICE("1"));
	else if (row->name[0] != ':')
		http_head_add(head, slice_of_string(row->name), written);
	const char *fault = http_head_validate(head, row->kind);
	if (may_stand(row, at, byte) != (fault == NULL))
		fail_msg("0x%02x at %zu of %s: %s: %s", (unsigned)byte, at, row->name, row->text,
		    fault ? fault : "accepted");
	if (!fault && !slice_equal(found(head, row), written))
		fail_msg("0x%02x at %zu of %s: %s was changed", (unsigned)byte, at, row->name,
		    row->text);
	http_head_free(head);
}

static inline void judge_from(const struct row *row, size_t first)
{
	for (size_t at = first; at < strlen(row->text); at++)
		for (int byte = 0; byte < 256; byte++)
			judge(row, at, byte);
}

static inline void judge_all(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		judge_from(&rows[i], 0);
}

#endif
