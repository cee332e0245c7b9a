/* SPDX-License-Identifier: MIT */
/*
 * The Priority field (RFC 9218): reads a structured-field dictionary (RFC 8941 4.2.2), checks its
 * whole grammar, and keeps only two members.
 */
#include "proxy/http/priority.h"

#include "proxy/base/ascii.h"

/* The type of a bare item. Only small integers and booleans are used. */
enum item_kind { ITEM_BAD, ITEM_INTEGER, ITEM_BOOLEAN, ITEM_OTHER };

struct item {
	enum item_kind kind;
	int64_t number; /* also 0 and 1 for booleans */
};

static void skip_spaces(struct slice *s)
{
	while (slice_peek(*s) == ' ')
		slice_skip(s, 1);
}

static void skip_blanks(struct slice *s)
{
	while (ascii_is_blank(slice_peek(*s)))
		slice_skip(s, 1);
}

static struct item read_number(struct slice *s)
{
	int64_t number = 0;
	size_t whole = 0, fraction = 0;
	bool is_negative = slice_peek(*s) == '-';
	if (is_negative)
		slice_skip(s, 1);
	for (; ascii_is(slice_peek(*s), ASCII_DIGIT); whole++, slice_skip(s, 1)) {
		if (whole < 15)
			number = number * 10 + (slice_peek(*s) - '0');
	}
	if (whole == 0 || whole > 15)
		return (struct item){ITEM_BAD, 0};
	if (slice_peek(*s) != '.')
		return (struct item){ITEM_INTEGER, is_negative ? -number : number};
	for (slice_skip(s, 1); ascii_is(slice_peek(*s), ASCII_DIGIT); fraction++)
		slice_skip(s, 1);
	bool is_decimal = whole <= 12 && fraction >= 1 && fraction <= 3;
	return (struct item){is_decimal ? ITEM_OTHER : ITEM_BAD, 0};
}

static struct item read_string(struct slice *s)
{
	for (slice_skip(s, 1); s->len > 0; slice_skip(s, 1)) {
		char c = slice_peek(*s);
		if (c == '"') {
			slice_skip(s, 1);
			return (struct item){ITEM_OTHER, 0};
		}
		if (c < 0x20 || c >= 0x7f)
			break;
		if (c == '\\') {
			slice_skip(s, 1);
			if (slice_peek(*s) != '"' && slice_peek(*s) != '\\')
				break;
		}
	}
	return (struct item){ITEM_BAD, 0};
}

static struct item read_bytes(struct slice *s)
{
	for (slice_skip(s, 1); s->len > 0; slice_skip(s, 1)) {
		char c = slice_peek(*s);
		if (c == ':') {
			slice_skip(s, 1);
			return (struct item){ITEM_OTHER, 0};
		}
		if (!ascii_is(c, ASCII_ALNUM) && c != '+' && c != '/' && c != '=')
			break;
	}
	return (struct item){ITEM_BAD, 0};
}

static struct item read_token(struct slice *s)
{
	size_t n = 1;
	for (; n < s->len; n++) {
		char c = s->ptr[n];
		if (!ascii_is(c, ASCII_TOKEN) && c != ':' && c != '/')
			break;
	}
	slice_skip(s, n);
	return (struct item){ITEM_OTHER, 0};
}

static struct item read_bare_item(struct slice *s)
{
	char c = slice_peek(*s);
	if (c == '-' || ascii_is(c, ASCII_DIGIT))
		return read_number(s);
	if (c == '"')
		return read_string(s);
	if (c == ':')
		return read_bytes(s);
	if (c == '*' || ascii_is(c, ASCII_ALPHA))
		return read_token(s);
	if (c == '?' && s->len > 1 && (s->ptr[1] == '0' || s->ptr[1] == '1')) {
		int64_t number = s->ptr[1] - '0';
		slice_skip(s, 2);
		return (struct item){ITEM_BOOLEAN, number};
	}
	return (struct item){ITEM_BAD, 0};
}

static bool read_key(struct slice *s, struct slice *key)
{
	size_t n = 0;
	if (!ascii_is(slice_peek(*s), ASCII_LOWER) && slice_peek(*s) != '*')
		return false;
	while (n < s->len && (ascii_is(s->ptr[n], ASCII_LOWER | ASCII_DIGIT) || s->ptr[n] == '_' ||
				 s->ptr[n] == '-' || s->ptr[n] == '.' || s->ptr[n] == '*'))
		n++;
	*key = slice_sub(*s, 0, n);
	slice_skip(s, n);
	return true;
}

static bool read_parameters(struct slice *s)
{
	struct slice key;
	while (slice_peek(*s) == ';') {
		slice_skip(s, 1);
		skip_spaces(s);
		if (!read_key(s, &key))
			return false;
		if (slice_peek(*s) == '=') {
			slice_skip(s, 1);
			if (read_bare_item(s).kind == ITEM_BAD)
				return false;
		}
	}
	return true;
}

static struct item read_inner_list(struct slice *s)
{
	slice_skip(s, 1);
	while (s->len > 0) {
		skip_spaces(s);
		if (slice_peek(*s) == ')') {
			slice_skip(s, 1);
			return (struct item){ITEM_OTHER, 0};
		}
		if (read_bare_item(s).kind == ITEM_BAD || !read_parameters(s))
			break;
		if (slice_peek(*s) != ' ' && slice_peek(*s) != ')')
			break;
	}
	return (struct item){ITEM_BAD, 0};
}

static bool read_member(struct slice *s, struct slice *key, struct item *item)
{
	if (!read_key(s, key))
		return false;
	*item = (struct item){ITEM_BOOLEAN, 1};
	if (slice_peek(*s) == '=') {
		slice_skip(s, 1);
		*item = slice_peek(*s) == '(' ? read_inner_list(s) : read_bare_item(s);
	}
	return item->kind != ITEM_BAD && read_parameters(s);
}

/* Of equal keys the last counts (RFC 8941 4.2.2), even if its value is ignored. */
static void note_member(struct http_priority *p, struct slice key, struct item item)
{
	if (slice_equal(key, SLICE("u"))) {
		bool is_urgency = item.kind == ITEM_INTEGER && item.number >= 0 && item.number <= 7;
		p->urgency = is_urgency ? (uint8_t)item.number : HTTP_PRIORITY_DEFAULT.urgency;
	} else if (slice_equal(key, SLICE("i"))) {
		p->incremental = item.kind == ITEM_BOOLEAN && item.number == 1;
	}
}

struct http_priority http_priority_parse(struct slice value)
{
	struct http_priority p = HTTP_PRIORITY_DEFAULT;
	struct slice key;
	struct item item;
	skip_spaces(&value);
	while (value.len > 0) {
		if (!read_member(&value, &key, &item))
			return HTTP_PRIORITY_DEFAULT;
		note_member(&p, key, item);
		skip_blanks(&value);
		if (value.len == 0)
			break;
		if (slice_peek(value) != ',')
			return HTTP_PRIORITY_DEFAULT;
		slice_skip(&value, 1);
		skip_blanks(&value);
		if (value.len == 0)
			return HTTP_PRIORITY_DEFAULT; /* nothing follows the comma */
	}
	return p;
}
