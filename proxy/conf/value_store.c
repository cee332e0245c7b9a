/* SPDX-License-Identifier: MIT */
/*
 * Stores values in objects, by the type of their option. Reports a bad value at the line that is
 * being read, with what to write instead.
 */
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"

static bool read_amount(const struct conf_option *o, struct slice value, uint64_t *amount)
{
	bool is_read = o->type == CONF_TYPE_NUMBER ? slice_to_number(value, o->max, amount)
		       : o->type == CONF_TYPE_TIME ? value_time(value, amount)
						   : value_size(value, amount);
	return is_read && *amount >= o->min && *amount <= o->max;
}

/* A number, a size or a time. */
static bool store_amount(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	uint64_t amount;
	char right[128];

	if (!read_amount(o, value, &amount))
		return conf_bad_value(
		    l, value, NULL, conf_option_range(o, true, right, sizeof right));
	if (o->type == CONF_TYPE_SIZE || o->type == CONF_TYPE_TIME)
		*(uint64_t *)at = amount;
	else
		*(uint32_t *)at = (uint32_t)amount;
	return true;
}

static bool store_rate(
    struct conf_loader *l, const struct conf_option *o, struct rate *at, struct slice value)
{
	struct rate rate;
	char right[128];

	if (!value_rate(value, (uint32_t)o->max, &rate) || rate.per_second < o->min ||
	    rate.burst < o->min)
		return conf_bad_value(
		    l, value, NULL, conf_option_range(o, true, right, sizeof right));
	*at = rate;
	return true;
}

/* Builds "write a, b or c". */
static const char *choices_text(const struct conf_option *o, char *buffer, size_t size)
{
	size_t used = (size_t)snprintf(buffer, size, "write ");

	conf_option_choices(o, ", ", " or ", buffer + used, size - used);
	return buffer;
}

static bool store_choice(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	char right[160];
	int choice = value_choice(value, o->choices);

	if (choice < 0)
		return conf_bad_value(l, value, NULL, choices_text(o, right, sizeof right));
	if (o->type == CONF_TYPE_SWITCH) {
		*(bool *)at = choice == 1;
	} else {
		unsigned number = (unsigned)choice;
		memcpy(at, &number, sizeof number);
	}
	return true;
}

static bool store_bits(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	struct slice rest = value, word;
	char right[160];
	bool is_good = true;

	/* A value replaces the default; several lines of an option that repeats add up. */
	if (!o->repeats)
		*(uint32_t *)at = 0;
	while (conf_next_word(l, &rest, &word, &is_good)) {
		int choice = value_choice(word, o->choices);
		if (choice >= 0)
			*(uint32_t *)at |= 1u << (o->min + (unsigned)choice);
		else
			is_good =
			    conf_bad_value(l, word, NULL, choices_text(o, right, sizeof right));
	}
	return is_good;
}

static bool store_list(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value)
{
	struct slice **items = (struct slice **)(void *)(object + o->offset);
	size_t *count = (size_t *)(void *)(object + o->count_offset);
	struct slice rest = value, word;
	bool is_good = true;

	while (conf_next_word(l, &rest, &word, &is_good)) {
		const char *right = o->check ? o->check(word) : NULL;
		if (right) {
			is_good = conf_bad_value(l, word, NULL, right);
			continue;
		}
		conf_append(l, *items, *count, conf_copy_slice(l, word));
	}
	return is_good;
}

static bool store_cidrs(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value)
{
	struct cidr **items = (struct cidr **)(void *)(object + o->offset);
	size_t *count = (size_t *)(void *)(object + o->count_offset);
	struct slice rest = value, word;
	bool is_good = true;

	while (conf_next_word(l, &rest, &word, &is_good)) {
		struct cidr block = {0};
		bool is_word = o->choices && slice_equal(word, slice_of_string(o->choices));
		const char *wrong = is_word ? NULL : cidr_parse(word, &block);
		if (wrong) {
			is_good = conf_bad_value(l, word, wrong,
			    o->choices ? "write addresses, blocks (ADDRESS/BITS) or unix"
				       : "write addresses or blocks (ADDRESS/BITS)");
			continue;
		}
		conf_append(l, *items, *count, block);
	}
	return is_good;
}

static const struct policy_regex *compile(
    struct conf_loader *l, const struct conf_option *o, struct slice word)
{
	char what[160], wrong[200];
	size_t at;

	if (!l->conf->regexes)
		l->conf->regexes = policy_regexes_new();
	const struct policy_regex *regex =
	    policy_regex_compile(l->conf->regexes, word, o->min == 1, &at, what, sizeof what);
	if (!regex) {
		snprintf(wrong, sizeof wrong, "%s, at byte %zu", what, at);
		conf_bad_value(l, word, wrong, "correct it or write a pattern");
	}
	return regex;
}

bool conf_add_pattern(struct conf_loader *l, const struct conf_option *o, struct policy_patterns *p,
    struct slice word)
{
	bool is_regex = policy_pattern_is_regex(word);
	const struct policy_regex *regex = is_regex ? compile(l, o, word) : NULL;
	const char *right = !is_regex && o->check ? o->check(word) : NULL;

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

static bool store_patterns(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	struct slice rest = value, word;
	bool is_good = true;

	while (conf_next_word(l, &rest, &word, &is_good))
		is_good = conf_add_pattern(l, o, at, word) && is_good;
	return is_good;
}

static bool store_text(
    struct conf_loader *l, const struct conf_option *o, const char **at, struct slice value)
{
	const char *right = NULL;
	bool is_none = o->none && slice_equal(value, slice_of_string(o->none));

	if (!is_none && o->check)
		right = o->check(value);
	if (right)
		return conf_bad_value(l, value, NULL, right);
	*at = is_none                     ? NULL
	      : o->type == CONF_TYPE_FILE ? conf_path(l, value)
					  : conf_copy(l, value);
	return true;
}

/* process/start_needs_files.c checks that the files can be read, as the user who will read them. */
static bool store_files(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value)
{
	const char ***files = (const char ***)(void *)(object + o->offset);
	size_t *count = (size_t *)(void *)(object + o->count_offset);
	char *path = conf_path(l, value);

	conf_append(l, *files, *count, path);
	return true;
}

static bool store_share(
    struct conf_loader *l, const struct conf_option *o, uint32_t *at, struct slice value)
{
	return (value_percent(value, at) && *at >= o->min) || conf_refused_value(l, value);
}

static bool store_list_file(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value)
{
	struct slice key = slice_of_string(o->key);
	const struct conf_list list = {
	    .items = (struct slice **)(void *)(object + o->offset),
	    .count = (size_t *)(void *)(object + o->count_offset),
	    .check = o->check,
	    .what = conf_copy(l, slice_sub(key, 0, key.len - strlen("-file"))),
	    .key = o->key,
	    .owners = "routes",
	};
	return conf_read_list(l, &list, value);
}

static bool store_value(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value)
{
	void *at = object + o->offset;

	switch (o->type) {
	case CONF_TYPE_NUMBER:
	case CONF_TYPE_SIZE:
	case CONF_TYPE_WINDOW:
	case CONF_TYPE_TIME:
		return store_amount(l, o, at, value);
	case CONF_TYPE_RATE:
		return store_rate(l, o, at, value);
	case CONF_TYPE_SHARE:
		return store_share(l, o, at, value);
	case CONF_TYPE_SWITCH:
	case CONF_TYPE_CHOICE:
		return store_choice(l, o, at, value);
	case CONF_TYPE_BITS:
		return store_bits(l, o, at, value);
	case CONF_TYPE_LIST:
		return store_list(l, o, object, value);
	case CONF_TYPE_LIST_FILE:
		return store_list_file(l, o, object, value);
	case CONF_TYPE_CIDRS:
		return store_cidrs(l, o, object, value);
	case CONF_TYPE_PATTERNS:
		return store_patterns(l, o, at, value);
	case CONF_TYPE_FILES:
		return store_files(l, o, object, value);
	case CONF_TYPE_FIELDS:
		return conf_store_field(l, o, at, value);
	case CONF_TYPE_TEXT:
	case CONF_TYPE_FILE:
		return store_text(l, o, at, value);
	case CONF_TYPE_OTHER:
		return !o->read || o->read(l, at, value) || conf_refused_value(l, value);
	}
	return false;
}

bool conf_set_option(
    struct conf_loader *l, const struct conf_option *o, void *object, struct slice value)
{
	char *at = (char *)object + o->offset;
	l->option = o;
	return store_value(l, o, object, value) && (!o->set || o->set(l, at, value));
}
