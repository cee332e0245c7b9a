/* SPDX-License-Identifier: MIT */
/*
 * Checks values, and stores them in objects, by the type of their option. Reports a bad value at the line that is
 * being read, with what to write instead.
 */
#include "proxy/base/ascii.h"
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"

/*
 * The functions below take a value of l->option, or one word of it, into the member `at`. False: a
 * mistake has been reported.
 */

/* The number of items of an array. */
static size_t *count_of(const struct conf_option *o, void *at)
{
	return (size_t *)(void *)((char *)at - o->offset + o->count_offset);
}

/* ---- whole values ---- */

static bool read_amount(const struct conf_option *o, struct slice value, uint64_t *amount)
{
	*amount = 0;
	if (o->none && slice_equal(value, slice_of_string(o->none)))
		return true;
	bool is_read = o->type == CONF_TYPE_NUMBER ? slice_to_number(value, o->max, amount)
		       : o->type == CONF_TYPE_TIME ? value_time(value, amount)
						   : value_size(value, amount);
	return is_read && *amount >= o->min && *amount <= o->max;
}

/* A number, a size or a time. */
static bool store_amount(struct conf_loader *l, void *at, struct slice value)
{
	enum conf_type type = l->option->type;
	uint64_t amount;

	if (!read_amount(l->option, value, &amount))
		return conf_bad_value(l, value, NULL, NULL);
	if (type == CONF_TYPE_SIZE || type == CONF_TYPE_TIME)
		*(uint64_t *)at = amount;
	else
		*(uint32_t *)at = (uint32_t)amount;
	return true;
}

static bool store_rate(struct conf_loader *l, void *at, struct slice value)
{
	const struct conf_option *o = l->option;
	struct rate rate;

	if (!value_rate(value, (uint32_t)o->max, &rate) || rate.per_second < o->min ||
	    rate.burst < o->min)
		return conf_bad_value(l, value, NULL, NULL);
	*(struct rate *)at = rate;
	return true;
}

static bool store_share(struct conf_loader *l, void *at, struct slice value)
{
	uint32_t *share = at;

	return (value_percent(value, share) && *share >= l->option->min) ||
	       conf_bad_value(l, value, NULL, NULL);
}

static bool store_choice(struct conf_loader *l, void *at, struct slice value)
{
	int choice = value_choice(value, l->option->choices);
	unsigned number = (unsigned)choice;

	if (choice < 0)
		return conf_bad_value(l, value, NULL, NULL);
	if (l->option->type == CONF_TYPE_SWITCH)
		*(bool *)at = choice == 1;
	else
		memcpy(at, &number, sizeof number);
	return true;
}

static bool store_text(struct conf_loader *l, void *at, struct slice value)
{
	const struct conf_option *o = l->option;
	bool is_none = o->none && slice_equal(value, slice_of_string(o->none));
	const char *right = !is_none && o->check ? o->check(value) : NULL;

	if (right)
		return conf_bad_value(l, value, NULL, right);
	*(const char **)at = is_none                     ? NULL
			     : o->type == CONF_TYPE_FILE ? conf_path(l, value)
							 : conf_copy(l, value);
	return true;
}

/* The files are not opened here: process/start_needs_files.c tries to, as the user who will read them. */
static bool store_files(struct conf_loader *l, void *at, struct slice value)
{
	const char ***files = at;
	size_t *count = count_of(l->option, at);

	conf_append(l, *files, *count, conf_path(l, value));
	return true;
}

static bool store_list_file(struct conf_loader *l, void *at, struct slice value)
{
	struct slice key = slice_of_string(l->option->key);
	const struct conf_list list = {
	    .items = at,
	    .count = count_of(l->option, at),
	    .check = l->option->check,
	    .what = conf_copy(l, slice_sub(key, 0, key.len - strlen("-file"))),
	    .key = l->option->key,
	    .owners = "routes",
	};
	return conf_read_list(l, &list, value);
}

static bool store_other(struct conf_loader *l, void *at, struct slice value)
{
	return !l->option->read || l->option->read(l, at, value) ||
	       conf_bad_value(l, value, NULL, NULL);
}

/* ---- words of lists ---- */

static bool add_bit(struct conf_loader *l, void *at, struct slice word)
{
	int choice = value_choice(word, l->option->choices);

	if (choice < 0)
		return conf_bad_value(l, word, NULL, NULL);
	*(uint32_t *)at |= 1u << (l->option->min + (unsigned)choice);
	return true;
}

static bool add_member(struct conf_loader *l, void *at, struct slice word)
{
	const char *right = l->option->check ? l->option->check(word) : NULL;
	struct slice **items = at;
	size_t *count = count_of(l->option, at);

	if (right)
		return conf_bad_value(l, word, NULL, right);
	conf_append(l, *items, *count, conf_copy_slice(l, word));
	return true;
}

static bool add_cidr(struct conf_loader *l, void *at, struct slice word)
{
	const char *choice = l->option->choices;
	struct cidr **items = at, block = {0};
	size_t *count = count_of(l->option, at);
	bool is_choice = choice && slice_equal(word, slice_of_string(choice));
	const char *wrong = is_choice ? NULL : cidr_parse(word, &block);

	if (wrong)
		return conf_bad_value(l, word, wrong,
		    choice ? "write addresses, blocks (ADDRESS/BITS) or unix"
			   : "write addresses or blocks (ADDRESS/BITS)");
	conf_append(l, *items, *count, block);
	return true;
}

static const struct policy_regex *compile(struct conf_loader *l, struct slice word)
{
	char what[160], wrong[200];
	size_t at;

	if (!l->conf->regexes)
		l->conf->regexes = policy_regexes_new();
	const struct policy_regex *regex = policy_regex_compile(
	    l->conf->regexes, word, l->option->min == 1, &at, what, sizeof what);
	if (!regex) {
		snprintf(wrong, sizeof wrong, "%s, at byte %zu", what, at);
		conf_bad_value(l, word, wrong, "correct it or write a pattern");
	}
	return regex;
}

bool conf_add_pattern(struct conf_loader *l, void *at, struct slice word)
{
	struct policy_patterns *p = at;
	bool is_regex = policy_pattern_is_regex(word);
	const struct policy_regex *regex = is_regex ? compile(l, word) : NULL;
	const char *right = !is_regex && l->option->check ? l->option->check(word) : NULL;

	if (right)
		conf_bad_value(l, word, NULL, right);
	if (right || (is_regex && !regex))
		return false;
	p->globs = conf_grow(l, p->globs, p->count, sizeof *p->globs);
	p->regexes = conf_grow(l, (void *)p->regexes, p->count, sizeof *p->regexes);
	p->globs[p->count] = conf_copy_slice(l, word);
	p->regexes[p->count++] = regex;
	return true;
}

/* ---- by type ---- */

static const struct {
	conf_setter *store;
	bool is_list; /* store() takes each word by itself */
} types[] = {
    [CONF_TYPE_NUMBER] = {store_amount, false},
    [CONF_TYPE_SIZE] = {store_amount, false},
    [CONF_TYPE_WINDOW] = {store_amount, false},
    [CONF_TYPE_TIME] = {store_amount, false},
    [CONF_TYPE_RATE] = {store_rate, false},
    [CONF_TYPE_SWITCH] = {store_choice, false},
    [CONF_TYPE_CHOICE] = {store_choice, false},
    [CONF_TYPE_BITS] = {add_bit, true},
    [CONF_TYPE_TEXT] = {store_text, false},
    [CONF_TYPE_FILE] = {store_text, false},
    [CONF_TYPE_SHARE] = {store_share, false},
    [CONF_TYPE_LIST] = {add_member, true},
    [CONF_TYPE_LIST_FILE] = {store_list_file, false},
    [CONF_TYPE_CIDRS] = {add_cidr, true},
    [CONF_TYPE_PATTERNS] = {conf_add_pattern, true},
    [CONF_TYPE_FILES] = {store_files, false},
    [CONF_TYPE_FIELDS] = {conf_store_field, false},
    [CONF_TYPE_OTHER] = {store_other, false},
};

static bool takes_words(const struct conf_option *o)
{
	return types[o->type].is_list || o->has_words;
}

static bool store_words(struct conf_loader *l, void *at, struct slice value)
{
	const struct conf_option *o = l->option;
	struct slice rest = value, word;
	bool is_good = true;

	/* A value replaces the default; several lines of an option that repeats add up. */
	if (o->type == CONF_TYPE_BITS && !o->repeats)
		*(uint32_t *)at = 0;
	while ((is_good || !o->add) && conf_next_word(l, &rest, &word, &is_good))
		is_good = (o->add ? o->add : types[o->type].store)(l, at, word) && is_good;
	return is_good;
}

bool conf_set_option(
    struct conf_loader *l, const struct conf_option *o, void *object, struct slice value)
{
	void *at = (char *)object + o->offset;
	conf_setter *store = o->add || types[o->type].is_list ? store_words : types[o->type].store;

	l->option = o;
	return store(l, at, value) && (!o->set || o->set(l, at, value));
}

/*
 * ---- what no value may have, whatever its type: a comment behind it, quotes around it, a ';' at its end as nginx
 * wants it, a variable that another program would replace ----
 */

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
	size_t at = find_comment(value, takes_words(o));
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

	if (!is_quoted || (takes_words(o) && first == '"'))
		return true;
	struct slice inside = slice_trim(slice_sub(value, 1, value.len - 2));
	/* "a" "b": the first and the last quotation mark do not enclose one value. */
	if (slice_find(inside, first) < inside.len && takes_words(o))
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
	if (o->secrets & CONF_SECRET_USER)
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
