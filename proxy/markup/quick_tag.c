/* SPDX-License-Identifier: MIT */
/*
 * A tag that lies in one piece is read at once, without copying its values. The states of attributes.c do the same byte by
 * byte: for tags that are cut, and for values that are not their own text.
 */
#include "proxy/markup/tokenizer.h"

#include "proxy/base/ascii.h"

static const char *skip_spaces(const char *at, const char *end)
{
	while (at < end && markup_is_space((unsigned char)*at))
		at++;
	return at;
}

/* Behind the name of a tag, or with "=" of an attribute. All bytes that end it are below "?". */
static const char *skip_name(const char *at, const char *end, bool is_attribute)
{
	for (; at < end; at++) {
		unsigned char c = (unsigned char)*at;
		if (c <= '>' &&
		    (c == '>' || c == '/' || (c == '=' && is_attribute) || markup_is_space(c)))
			break;
	}
	return at;
}

/* It has no character reference, and no character that stands for another one. */
static bool is_own_text(struct slice s)
{
	return slice_find(s, '&') == s.len && slice_find(s, '\r') == s.len &&
	       slice_find(s, '\0') == s.len;
}

/* Most tags are their own text as a whole. A value that is too long may be short enough when it is decoded. */
static bool has_own_values(const struct markup_tag *tag, struct slice whole)
{
	if ((tag->used == 0 && !tag->is_unclear) || is_own_text(whole))
		return true;
	for (unsigned a = 0; a < MARKUP_ATTRIBUTES; a++)
		if (!is_own_text(markup_tag_value(tag, a)))
			return false;
	return true;
}

static void keep(struct markup_tag *tag, unsigned attribute, struct slice value)
{
	if (value.len == 0)
		return;
	tag->values[attribute] = value;
	if (value.len > LIMIT_MARKUP_TAG_BYTES - tag->used)
		tag->is_unclear = true;
	else
		tag->used += (uint16_t)value.len;
}

/* Behind "=". NULL: the value does not end in the piece. */
static const char *read_value(struct markup_tokenizer *t, const char *at, const char *end)
{
	at = skip_spaces(at, end);
	if (at == end)
		return NULL;
	bool is_quoted = *at == '"' || *at == '\'';
	const char *from = at + is_quoted, *stop = from;
	if (is_quoted)
		stop = memchr(from, *at, (size_t)(end - from));
	else
		while (stop < end && *stop != '>' && !markup_is_space((unsigned char)*stop))
			stop++;
	if (!stop || stop == end)
		return NULL;
	if (t->keeps != MARKUP_ATTRIBUTE_OTHER)
		keep(&t->tag, t->keeps, slice_of(from, (size_t)(stop - from)));
	return stop + is_quoted;
}

bool markup_quick_tag(struct markup_tokenizer *t, struct slice *rest, bool is_end)
{
	const char *end = rest->ptr + rest->len;
	const char *from = rest->ptr + 1 + is_end, *at = skip_name(from, end, false);
	markup_tag_begin(t, is_end);
	markup_name_set(&t->tag.name, slice_of(from, (size_t)(at - from)));
	bool keeps = markup_tag_keeps(&t->tag);
	for (;;) {
		while (at < end && (*at == '/' || markup_is_space((unsigned char)*at)))
			at++;
		if (at == end)
			return false;
		if (*at == '>')
			break;
		from = at;
		at = skip_name(at + 1, end, true); /* "=", too, may be its first byte */
		t->keeps =
		    keeps ? markup_attribute_begin(&t->tag, slice_of(from, (size_t)(at - from)))
			  : MARKUP_ATTRIBUTE_OTHER;
		at = skip_spaces(at, end);
		if (at == end)
			return false;
		if (*at == '=')
			at = read_value(t, at + 1, end);
		if (!at)
			return false;
	}
	size_t length = (size_t)(at + 1 - rest->ptr);
	if (keeps && !has_own_values(&t->tag, slice_sub(*rest, 0, length)))
		return false;
	slice_skip(rest, length);
	markup_tag_end(t);
	return true;
}
