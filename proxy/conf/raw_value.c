/* SPDX-License-Identifier: MIT */
/*
 * Checks what no value may have, whatever its type: a comment behind it, quotes around it, a ';' at its end
 * as nginx wants it, a variable that another program would replace.
 */
#include "proxy/base/ascii.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"

static struct slice example_of(struct conf_loader *l, const struct conf_option *o)
{
	char buffer[VALUE_SUGGESTED];
	return conf_copy_slice(l, slice_of_string(conf_option_example(o, buffer, sizeof buffer)));
}

/* Where a comment behind the value begins; value.len: there is none. */
static size_t find_comment(struct slice value, bool knows_quotes)
{
	bool is_quoted = false;

	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];
		bool is_first = i == 0 || value.ptr[i - 1] == ' ' || value.ptr[i - 1] == '\t';
		if (is_quoted && c == '\\')
			i++;
		else if (knows_quotes && c == '"' && (is_quoted || is_first))
			is_quoted = !is_quoted;
		else if (!is_quoted && (c == ';' || c == '#') && is_first)
			return i;
	}
	return value.len;
}

static bool check_comment(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	size_t at = find_comment(value, conf_takes_words(o));
	struct slice before = slice_trim(slice_sub(value, 0, at)), comment = slice_from(value, at);

	if (at == value.len)
		return true;
	return conf_mistake_here(l,
	    "the value of %s has a comment behind it ('%.*s'); comments stand on lines of their "
	    "own: write %s = %.*s",
	    o->key, CONF_SHOWN(comment), o->key,
	    CONF_SHOWN(before.len ? before : example_of(l, o)));
}

static bool check_quotes(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	char first = value.ptr[0], last = value.ptr[value.len - 1];
	bool is_quoted = value.len > 1 && first == last && (first == '\'' || first == '"');

	if (!is_quoted || (conf_takes_words(o) && first == '"'))
		return true;
	struct slice inside = slice_trim(slice_sub(value, 1, value.len - 2));
	/* "a" "b": the first and the last quotation mark do not enclose one value. */
	if (slice_find(inside, first) < inside.len && conf_takes_words(o))
		inside = SLICE("");
	return conf_mistake_here(l,
	    "the value of %s is in quotes, which would belong to it; write %s = %.*s", o->key,
	    o->key, CONF_SHOWN(inside.len ? inside : example_of(l, o)));
}

/* U+2018 to U+201F, as a word processor writes them. */
static bool has_typographic_quote(struct slice text)
{
	for (size_t i = 0; i + 2 < text.len; i++) {
		const unsigned char *c = (const unsigned char *)text.ptr + i;
		if (c[0] == 0xe2 && c[1] == 0x80 && c[2] >= 0x98 && c[2] <= 0x9f)
			return true;
	}
	return false;
}

/* "${NAME}", "$NAME" or "$(COMMAND)"; empty: there is none. */
static struct slice find_variable(struct slice value)
{
	for (size_t i = 0; i + 2 < value.len; i++) {
		char next = value.ptr[i + 1];
		size_t end = i + 2;
		if (value.ptr[i] != '$' ||
		    !(next == '{' || next == '(' || ascii_is(next, ASCII_ALNUM)))
			continue;
		while (end < value.len &&
		       (ascii_is(value.ptr[end], ASCII_ALNUM) || value.ptr[end] == '_'))
			end++;
		if (end < value.len && (value.ptr[end] == '}' || value.ptr[end] == ')'))
			end++;
		return slice_sub(value, i, end - i);
	}
	return SLICE("");
}

static bool check_variable(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	struct slice variable = find_variable(value);

	/* In a regular expression '$' is the end. */
	if (variable.len == 0 || slice_find(value, '~') < value.len)
		return true;
	if (o->type == CONF_TYPE_FIELDS) {
		conf_warning(l, l->file, l->line,
		    "'%.*s' is sent as it stands: a configuration has no variables; write the text "
		    "itself",
		    CONF_SHOWN(variable));
		return true;
	}
	return conf_mistake_here(l,
	    "'%.*s' is not replaced: a configuration has no variables; write the value itself, "
	    "such as %s = %s",
	    CONF_SHOWN(variable), o->key, example_of(l, o).ptr);
}

static bool check_end(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	if (value.ptr[value.len - 1] != ';' || value.len == 1)
		return true;
	return conf_mistake_here(l, "the value of %s ends with ';'; write %s = %.*s", o->key,
	    o->key, CONF_SHOWN(slice_trim(slice_sub(value, 0, value.len - 1))));
}

bool conf_check_raw(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	if (o->hides_user)
		value = conf_hide_user(l, value);
	/* Any text: a ';' or '#' belongs to it. */
	if (o->type == CONF_TYPE_FIELDS)
		return check_quotes(l, o, value) && check_variable(l, o, value);
	if (has_typographic_quote(value))
		return conf_mistake_here(l,
		    "the value of %s has typographic quotes; write plain ones or none, such as %s "
		    "= %s",
		    o->key, o->key, example_of(l, o).ptr);
	return check_comment(l, o, value) && check_end(l, o, value) && check_quotes(l, o, value) &&
	       check_variable(l, o, value);
}
