/* SPDX-License-Identifier: MIT */
/*
 * Reports options, kinds of sections and names of sections that are unknown, with the known one that was probably
 * meant.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/suggest.h"
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"

/* ---- options ---- */

/* The option of the section that the word resembles; NULL: none does. */
static const struct conf_option *nearest_option(enum conf_kind section, struct slice word)
{
	char buffer[SUGGEST_NAME_BYTES];
	struct suggestion s = suggest_for(suggest_fold(word, buffer));

	conf_for_each_option (o, conf_kind_of_rows(section))
		suggest_compare(&s, slice_of_string(o->key), o);
	return s.item;
}

/* The section needs not be told that it lacks what this line has meant. */
static void note_meant(struct conf_loader *l, const struct conf_option *near)
{
	if (near && (near->is_required ||
			(near->section == CONF_SECTION_ROUTE && conf_is_route_action(near))))
		l->current->has_misspelt = true;
}

static bool is_ascii(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x80)
			return false;
	return true;
}

/* The section that has an option of this name; NULL: none has. */
static const struct conf_section_type *home_of(struct slice key)
{
	const struct conf_option *option = conf_first(
	    o, conf_options, conf_option_count, slice_equal(key, slice_of_string(o->key)));
	return option ? &conf_section_types[option->section] : NULL;
}

struct slice conf_first_word(struct slice line)
{
	size_t end = 0;

	while (end < line.len && line.ptr[end] != ' ' && line.ptr[end] != '\t')
		end++;
	return slice_sub(line, 0, end);
}

/* "418", "5xx", "50x": reports a status that has no option in [errors], and returns true. */
static bool is_other_status(struct conf_loader *l, struct slice key)
{
	char known[160] = "";
	size_t used = 0;
	const char *mark = "";

	if (l->current->kind != CONF_SECTION_ERRORS || key.len != 3 ||
	    !ascii_is(key.ptr[0], ASCII_DIGIT))
		return false;
	if (!ascii_is(key.ptr[1], ASCII_DIGIT) || !ascii_is(key.ptr[2], ASCII_DIGIT)) {
		conf_mistake_here(l, "'%.*s' is not one status; write a line for each, or default",
		    SLICE_ARG(key));
		return true;
	}
	conf_for_each_option (o, CONF_SECTION_ERRORS) {
		if (!ascii_is(o->key[0], ASCII_DIGIT) || used >= sizeof known)
			continue;
		used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", mark, o->key);
		mark = ", ";
	}
	conf_mistake_here(l,
	    "pushgate never answers %.*s by itself; write one of %s, or remove the line",
	    SLICE_ARG(key), known);
	return true;
}

void conf_unknown_option(struct conf_loader *l, struct slice key)
{
	if (is_other_status(l, key))
		return;
	enum conf_kind kind = l->current->kind;
	const char *word = conf_section_types[kind].word;
	const struct conf_section_type *home = home_of(key);
	/* "proxy_pass http://127.0.0.1:80;" is split at its colon: no option has two words. */
	const struct conf_option *near = nearest_option(kind, conf_first_word(key));

	note_meant(l, near);
	if (!is_ascii(key))
		conf_mistake_here(l,
		    "[%s] has no option '%.*s': the name has a character that is not ASCII, such "
		    "as a no-break space; type it again",
		    word, SLICE_ARG(key));
	else if (home)
		conf_mistake_here(l, "[%s] has no option '%.*s'; it belongs to [%s%s]%s%s%s", word,
		    SLICE_ARG(key), home->word, home->is_named ? " NAME" : "",
		    near ? ", or did you mean '" : "", near ? near->key : "", near ? "'?" : "");
	else if (near)
		conf_mistake_here(l, "[%s] has no option '%.*s'; did you mean '%s'?", word,
		    SLICE_ARG(key), near->key);
	else
		conf_mistake_here(l, "[%s] has no option '%.*s'; see pushgate help-config %s", word,
		    SLICE_ARG(key), word);
}

void conf_not_an_option(struct conf_loader *l, struct slice line)
{
	struct slice word = conf_first_word(line), rest = slice_trim(slice_from(line, word.len));
	const struct conf_option *near = NULL;
	const char *lack = slice_find(line, '=') < line.len
			       ? "there is no '=' behind the first word"
			       : "the line has no '='";

	if (l->current && rest.len > 0)
		near = nearest_option(l->current->kind, word);
	note_meant(l, near);
	if (slice_starts_with(line, SLICE("//")) || slice_starts_with(line, SLICE("--")) ||
	    slice_starts_with(line, SLICE("/*")))
		conf_mistake_here(l, "the line is not a section, option or comment; begin a "
				     "comment with ';' or '#'");
	else if (home_of(word) && rest.len > 0)
		conf_mistake_here(l, "%s; write %.*s = %.*s", lack, SLICE_ARG(word),
		    CONF_SHOWN(conf_hide_user(l, rest)));
	else if (near)
		conf_mistake_here(
		    l, "%s; did you mean '%s'? Write %s = VALUE", lack, near->key, near->key);
	else
		conf_mistake_here(
		    l, "the line is not a section, option or comment; write key = value");
}

/* ---- sections ---- */

/* The kind that the header's word resembles; "listen.front" and "Listen:front" too. -1: none. */
static int nearest_kind(struct slice word)
{
	char buffer[SUGGEST_NAME_BYTES];
	word = slice_sub(word, 0, ascii_span(word, ASCII_ALNUM));
	/* There are few sections: a word of two edits is like one even if it is short. */
	struct suggestion s = {.word = suggest_fold(word, buffer), .distance = 3};
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++)
		suggest_compare(
		    &s, slice_of_string(conf_section_types[kind].word), &conf_section_types[kind]);
	const struct conf_section_type *near = s.item;
	return near ? (int)(near - conf_section_types) : -1;
}

/* Whether the word is an option, or resembles one of the section. */
static bool is_like_option(const struct conf_loader *l, struct slice word)
{
	return home_of(word) || (l->current && nearest_option(l->current->kind, word));
}

bool conf_lacks_equals(const struct conf_loader *l, struct slice line, struct slice key)
{
	struct slice word = conf_first_word(key);

	if (word.len == key.len)
		return false;
	/* "max streams = 5" has its '='. */
	return slice_find(line, ':') < slice_find(line, '=') || home_of(word) ||
	       (slice_find(line, '=') == line.len && is_like_option(l, word));
}

bool conf_begins_with_option(struct slice line)
{
	size_t end = ascii_span(line, ASCII_ALNUM | ASCII_DASH);
	struct slice rest = slice_trim(slice_from(line, end));
	return home_of(slice_sub(line, 0, end)) && rest.len > 0 && strchr("=:", rest.ptr[0]);
}

void conf_unknown_section(struct conf_loader *l, struct slice word)
{
	int near = nearest_kind(word);

	if (near >= 0) {
		l->misspelt_kinds |= 1u << near;
		const struct conf_section_type *type = &conf_section_types[near];
		conf_mistake_here(l, "unknown section [%.*s]; did you mean [%s%s]?",
		    SLICE_ARG(word), type->word, type->is_named ? " NAME" : "");
		return;
	}
	char known[160] = "";
	size_t used = 0;
	const int last = CONF_SECTION_COUNT - 1;
	for (int kind = 0; kind <= last; kind++) {
		const struct conf_section_type *type = &conf_section_types[kind];
		used += (size_t)snprintf(known + used, sizeof known - used, "%s[%s%s]",
		    kind == 0      ? ""
		    : kind == last ? " or "
				   : ", ",
		    type->word, type->is_named ? " NAME" : "");
	}
	conf_mistake_here(l, "unknown section [%.*s]; write %s", SLICE_ARG(word), known);
}

static const char *nearest_section(
    const struct conf_loader *l, enum conf_kind kind, const char *name)
{
	char a[SUGGEST_NAME_BYTES], b[SUGGEST_NAME_BYTES];
	struct suggestion near = suggest_for(suggest_fold(slice_of_string(name), a));

	conf_for_each_section (l, s, kind)
		suggest_compare(&near, suggest_fold(slice_of_string(s->name), b), s->name);
	return near.item;
}

void conf_no_section(
    struct conf_loader *l, const struct conf_section *s, enum conf_kind kind, const char *name)
{
	const char *word = conf_section_types[kind].word;
	const char *near = nearest_section(l, kind, name);

	if (conf_has_misspelt(l, kind))
		return;
	if (near)
		conf_mistake(l, s->file, conf_option_line(s, word),
		    "there is no [%s %s]; did you mean %s = %s?", word, name, word, near);
	else
		conf_mistake(l, s->file, conf_option_line(s, word),
		    "there is no [%s %s]; add the section or name another", word, name);
}
