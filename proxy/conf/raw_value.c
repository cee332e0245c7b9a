/* SPDX-License-Identifier: MIT */
/*
 * Checks what no value may have, whatever its type: a comment behind it, quotes around it, a ';' at its end
 * as nginx wants it, a variable that another program would replace.
 */
#include "proxy/base/ascii.h"
#include "proxy/conf/load.h"

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

static bool check_comment(
    struct conf_loader *l, const struct conf_raw_rule *rule, struct slice value)
{
	size_t at = find_comment(value, rule->is_list);
	struct slice before = slice_trim(slice_sub(value, 0, at)), comment = slice_from(value, at);

	if (at == value.len)
		return true;
	return conf_mistake_here(l,
	    "the value of %s has a comment behind it ('%.*s'); comments stand on lines of their "
	    "own: write %s = %.*s",
	    rule->key, CONF_SHOWN(comment), rule->key,
	    CONF_SHOWN(before.len ? before : slice_of_string(rule->example)));
}

static bool check_quotes(
    struct conf_loader *l, const struct conf_raw_rule *rule, struct slice value)
{
	char first = value.ptr[0], last = value.ptr[value.len - 1];
	bool is_quoted = value.len > 1 && first == last && (first == '\'' || first == '"');

	if (!is_quoted || (rule->is_list && first == '"'))
		return true;
	struct slice inside = slice_trim(slice_sub(value, 1, value.len - 2));
	/* "a" "b": the first and the last quotation mark do not enclose one value. */
	if (slice_find(inside, first) < inside.len && rule->is_list)
		inside = SLICE("");
	return conf_mistake_here(l,
	    "the value of %s is in quotes, which would belong to it; write %s = %.*s", rule->key,
	    rule->key, CONF_SHOWN(inside.len ? inside : slice_of_string(rule->example)));
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

static bool check_variable(
    struct conf_loader *l, const struct conf_raw_rule *rule, struct slice value)
{
	struct slice variable = find_variable(value);

	/* In a regular expression '$' is the end. */
	if (variable.len == 0 || slice_find(value, '~') < value.len)
		return true;
	if (rule->is_free) {
		conf_warning(l, l->file, l->line,
		    "'%.*s' is sent as it stands: a configuration has no variables; write the text "
		    "itself",
		    CONF_SHOWN(variable));
		return true;
	}
	return conf_mistake_here(l,
	    "'%.*s' is not replaced: a configuration has no variables; write the value itself, "
	    "such as %s = %s",
	    CONF_SHOWN(variable), rule->key, rule->example);
}

static bool check_end(struct conf_loader *l, const struct conf_raw_rule *rule, struct slice value)
{
	if (value.ptr[value.len - 1] != ';' || value.len == 1)
		return true;
	return conf_mistake_here(l, "the value of %s ends with ';'; write %s = %.*s", rule->key,
	    rule->key, CONF_SHOWN(slice_trim(slice_sub(value, 0, value.len - 1))));
}

bool conf_check_raw(struct conf_loader *l, const struct conf_raw_rule *rule, struct slice value)
{
	if (rule->is_free)
		return check_quotes(l, rule, value) && check_variable(l, rule, value);
	if (has_typographic_quote(value))
		return conf_mistake_here(l,
		    "the value of %s has typographic quotes; write plain ones or none, such as %s "
		    "= %s",
		    rule->key, rule->key, rule->example);
	return check_comment(l, rule, value) && check_end(l, rule, value) &&
	       check_quotes(l, rule, value) && check_variable(l, rule, value);
}
