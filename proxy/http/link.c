/* SPDX-License-Identifier: MIT */
/*
 * The Link field's grammar (RFC 8288 3, B.2 to B.4): splits a value into link-values and reads
 * their parameters. target.c resolves targets. The cost is linear: no byte is read more than a
 * fixed number of times.
 *
 * Stricter than RFC 8288 B: a link-value with an unclosed quote or bracket, a control byte, or text
 * between parameters is malformed and skipped. More lenient than its grammar: accepts empty
 * parameters, and values that are neither token nor quoted ("type=text/css").
 */
#include "proxy/http/link.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"

#define AT(member) offsetof(struct http_link, member)
#define NO_MEMBER SIZE_MAX
#define PUSH_ONLY_NAME "x-http2-push-only"

/* The parameters that are used: the members for their value and for their presence. Others are read and
 * ignored. */
static const struct param {
	struct slice name;
	size_t value, flag;
} params[] = {
    {SLICE_INIT("rel"), AT(rel), NO_MEMBER},
    {SLICE_INIT("as"), AT(as), NO_MEMBER},
    {SLICE_INIT("type"), AT(type), NO_MEMBER},
    {SLICE_INIT("crossorigin"), AT(crossorigin), AT(has_crossorigin)},
    {SLICE_INIT("fetchpriority"), AT(fetchpriority), NO_MEMBER},
    {SLICE_INIT("anchor"), NO_MEMBER, AT(has_anchor)},
    {SLICE_INIT("nopush"), NO_MEMBER, AT(nopush)},
    {SLICE_INIT(PUSH_ONLY_NAME), NO_MEMBER, AT(push_only)},
};
#define PARAMS (sizeof(params) / sizeof(*params))

static void skip_spaces(struct slice *s)
{
	size_t n = 0;
	while (n < s->len && ascii_is_blank(s->ptr[n]))
		n++;
	slice_skip(s, n);
}

/* Length of the quoted string at the start of s, with its quotes; s.len + 1 if it has no end. */
static size_t quoted_length(struct slice s)
{
	for (size_t i = 1; i < s.len; i++) {
		if (s.ptr[i] == '"')
			return i + 1;
		if (s.ptr[i] == '\\')
			i++;
	}
	return s.len + 1;
}

/* Position of the first comma outside quotes and brackets, or s.len. */
static size_t member_length(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.ptr[i] == ',')
			return i;
		if (s.ptr[i] == '<')
			i += slice_find(slice_from(s, i), '>');
		else if (s.ptr[i] == '"')
			i += quoted_length(slice_from(s, i)) - 1;
	}
	return s.len;
}

/* Cuts off the next member, well formed or not, without spaces around it; skips empty members. */
static bool next_member(struct slice *rest, struct slice *member)
{
	while (rest->len > 0) {
		size_t length = member_length(*rest);
		*member = slice_trim(slice_sub(*rest, 0, length));
		slice_skip(rest, length < rest->len ? length + 1 : length);
		if (member->len > 0)
			return true;
	}
	return false;
}

/* Cuts off one parameter, after its semicolon. An empty parameter has an empty name. */
static bool read_param(struct slice *s, struct slice *name, struct slice *value)
{
	*value = (struct slice){"", 0};
	skip_spaces(s);
	size_t n = ascii_span(*s, ASCII_TOKEN);
	*name = slice_sub(*s, 0, n);
	slice_skip(s, n);
	skip_spaces(s);
	if (slice_peek(*s) != '=')
		return s->len == 0 || slice_peek(*s) == ';';
	if (n == 0)
		return false;
	slice_skip(s, 1);
	skip_spaces(s);
	if (slice_peek(*s) == '"') {
		n = quoted_length(*s);
		if (n > s->len)
			return false;
		*value = slice_sub(*s, 1, n - 2);
	} else {
		n = slice_find(*s, ';');
		*value = slice_trim(slice_sub(*s, 0, n));
		if (slice_find(*value, '"') < value->len || slice_find(*value, '<') < value->len)
			return false;
	}
	slice_skip(s, n);
	skip_spaces(s);
	return s->len == 0 || slice_peek(*s) == ';';
}

/* Whether a relation type, without its quoted pairs, equals the (lower-case) word. */
static bool is_word(struct slice type, struct slice word)
{
	size_t at = 0;
	for (size_t i = 0; i < type.len; i++, at++) {
		if (type.ptr[i] == '\\' && i + 1 < type.len)
			i++;
		if (at == word.len || ascii_lower(type.ptr[i]) != word.ptr[at])
			return false;
	}
	return at == word.len;
}

static void read_rel(struct http_link *link)
{
	struct slice rest = link->rel;
	for (skip_spaces(&rest); rest.len > 0; skip_spaces(&rest)) {
		size_t n = 0;
		while (n < rest.len && !ascii_is_blank(rest.ptr[n]))
			n++;
		struct slice type = slice_sub(rest, 0, n);
		if (is_word(type, SLICE("modulepreload")))
			link->is_module = link->is_preload = true;
		else if (is_word(type, SLICE("preload")))
			link->is_preload = true;
		slice_skip(&rest, n);
	}
}

static void note_param(struct http_link *link, const struct param *p, struct slice value)
{
	if (p->value != NO_MEMBER)
		memcpy((char *)link + p->value, &value, sizeof(value));
	if (p->flag != NO_MEMBER)
		*(bool *)((char *)link + p->flag) = true;
}

/* Reads a member. False if it is malformed. */
static bool read_link(struct slice member, struct http_link *link)
{
	struct slice rest = member, name, value;
	unsigned seen = 0;
	size_t close = slice_find(member, '>');
	if (ascii_has(member, ASCII_CONTROL) || slice_peek(member) != '<' || close == member.len)
		return false;
	*link = (struct http_link){.value = member, .target = slice_sub(member, 1, close - 1)};
	slice_skip(&rest, close + 1);
	for (skip_spaces(&rest); rest.len > 0; skip_spaces(&rest)) {
		if (slice_peek(rest) != ';')
			return false;
		slice_skip(&rest, 1);
		if (!read_param(&rest, &name, &value))
			return false;
		size_t p = 0;
		while (p < PARAMS && (name.len != params[p].name.len ||
					 !slice_equal_nocase(name, params[p].name)))
			p++;
		if (p == PARAMS || (seen & 1u << p))
			continue;
		seen |= 1u << p;
		note_param(link, &params[p], value);
	}
	read_rel(link);
	return true;
}

bool http_link_next(struct slice *rest, struct http_link *link)
{
	struct slice member;
	while (next_member(rest, &member)) {
		if (read_link(member, link))
			return true;
	}
	return false;
}

bool http_link_may_be_push_only(struct slice value)
{
	/* '2' is rarer in URLs and parameters than the name's other bytes. */
	const size_t before = sizeof("x-http") - 1;
	const struct slice name = SLICE(PUSH_ONLY_NAME);
	for (size_t at = slice_find(value, '2'); at < value.len;
	     at += 1 + slice_find(slice_from(value, at + 1), '2')) {
		if (at >= before &&
		    slice_equal_nocase(slice_sub(value, at - before, name.len), name))
			return true;
	}
	return false;
}

struct filter {
	bool (*drop)(const struct http_link *link, void *context);
	void *context;
	uint32_t dropped;
};

/* Calls `drop` once for each member, because the callback may count. */
static bool is_dropped(struct filter *f, struct slice member)
{
	struct http_link link;
	if (!read_link(member, &link) || !f->drop(&link, f->context))
		return false;
	f->dropped++;
	return true;
}

static size_t append(char *to, size_t length, struct slice s)
{
	memcpy(to + length, s.ptr, s.len);
	return length + s.len;
}

/*
 * Removes the dropped members of one field. A field without any, and the text before the first,
 * keep their bytes, separators included. False: nothing is left.
 */
static bool filter_value(struct filter *f, struct arena *a, struct http_field *field)
{
	struct slice rest = field->value, member, before = {field->value.ptr, 0};
	bool is_changed = false;
	while (!is_changed && next_member(&rest, &member)) {
		is_changed = is_dropped(f, member);
		if (!is_changed)
			before.len = (size_t)(member.ptr + member.len - before.ptr);
	}
	if (!is_changed)
		return true;
	/* A member with its comma has at least two bytes, and the comma may become ", ". */
	char *to = arena_bytes(a, 2 * field->value.len);
	size_t length = append(to, 0, before);
	while (next_member(&rest, &member)) {
		if (is_dropped(f, member))
			continue;
		if (length > 0)
			length = append(to, length, SLICE(", "));
		length = append(to, length, member);
	}
	ensure(length <= 2 * field->value.len);
	field->value = slice_of(to, length);
	field->hash = 0;
	return length > 0;
}

uint32_t http_link_filter(struct http_head *head,
    bool (*drop)(const struct http_link *link, void *context), void *context)
{
	struct filter f = {.drop = drop, .context = context};
	http_head_keep(head, field,
	    field->token != HTTP_TOKEN_LINK || field->value.len == 0 ||
		filter_value(&f, &head->arena, field));
	return f.dropped;
}

/* A target, and what replaces it. */
struct change {
	struct slice old, new;
};

static size_t count_byte(struct slice s, char byte)
{
	size_t count = 0;
	for (size_t i = 0; i < s.len; i++)
		count += s.ptr[i] == byte;
	return count;
}

static struct slice with_changes(
    struct arena *a, struct slice value, const struct change *changes, size_t count)
{
	size_t length = value.len, done = 0;
	for (size_t i = 0; i < count; i++)
		length = length - changes[i].old.len + changes[i].new.len;
	char *to = arena_bytes(a, length);
	const char *from = value.ptr;
	for (size_t i = 0; i < count; i++) {
		done = append(to, done, slice_of(from, (size_t)(changes[i].old.ptr - from)));
		done = append(to, done, changes[i].new);
		from = changes[i].old.ptr + changes[i].old.len;
	}
	done = append(to, done, slice_of(from, (size_t)(value.ptr + value.len - from)));
	ensure(done == length);
	return slice_of(to, length);
}

void http_link_map(
    struct http_head *head, struct slice (*map)(struct slice target, void *context), void *context)
{
	for (uint32_t i = 0; i < head->count; i++) {
		struct http_field *field = &head->fields[i];
		struct slice rest = field->value, member;
		if (field->token != HTTP_TOKEN_LINK)
			continue;
		size_t most = count_byte(field->value, '<'), count = 0;
		struct change *changes = arena_alloc(&head->arena, (most + 1) * sizeof(*changes));
		while (next_member(&rest, &member)) {
			struct http_link link;
			struct slice new = {0};
			if (read_link(member, &link))
				new = map(link.target, context);
			if (new.len > 0 && new.ptr != link.target.ptr)
				changes[count++] = (struct change){link.target, new};
		}
		if (count == 0)
			continue;
		field->value = with_changes(&head->arena, field->value, changes, count);
		field->hash = 0;
	}
}
