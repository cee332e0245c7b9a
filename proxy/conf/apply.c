/* SPDX-License-Identifier: MIT */
/*
 * Puts what was read into objects, by the option table: a header makes an object with every default
 * in it, an option sets one value. What only the whole file can show is check.c's business.
 */
#include "proxy/conf/load.h"
#include "proxy/conf/value.h"
#include "proxy/limits.h"
#include <inttypes.h>
#include <stdarg.h>

static void vreport(struct conf_loader *l, const char *file, uint32_t line, const char *kind,
    const char *format, va_list arguments)
{
	char text[1024];

	vsnprintf(text, sizeof text, format, arguments);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	if (l->errors)
		fprintf(l->errors, "%s:%" PRIu32 ": %s%s\n", file, line, kind, text);
}

void conf_mistake(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vreport(l, file, line, "", format, arguments);
	va_end(arguments);
	l->mistakes++;
}

void conf_warning(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vreport(l, file, line, "warning: ", format, arguments);
	va_end(arguments);
}

char *conf_copy(struct conf_loader *l, struct slice s)
{
	char *copy = arena_bytes(&l->conf->arena, s.len + 1);
	if (s.len > 0)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	return copy;
}

char *conf_path(struct conf_loader *l, struct slice s)
{
	const char *slash = strrchr(l->file, '/');
	if ((s.len > 0 && s.ptr[0] == '/') || !slash)
		return conf_copy(l, s);
	size_t folder = (size_t)(slash - l->file) + 1;
	char *path = arena_bytes(&l->conf->arena, folder + s.len + 1);
	memcpy(path, l->file, folder);
	memcpy(path + folder, s.ptr, s.len);
	path[folder + s.len] = '\0';
	return path;
}

void *conf_grow(struct conf_loader *l, void *items, size_t count, size_t item_bytes)
{
	/* Full at every power of two. */
	if ((count & (count - 1)) != 0)
		return items;
	void *more = arena_alloc(&l->conf->arena, (count ? 2 * count : 1) * item_bytes);
	if (count > 0)
		memcpy(more, items, count * item_bytes);
	return more;
}

const char *conf_section_title(struct conf_loader *l, const struct conf_section *s)
{
	const char *word = conf_section_types[s->kind].word;
	const char *space = s->name[0] ? " " : "";
	return arena_printf(&l->conf->arena, "[%s%s%s]", word, space, s->name).ptr;
}

uint32_t conf_option_line(const struct conf_section *s, const char *key)
{
	for (size_t i = 0; i < conf_option_count; i++)
		if (conf_options[i].section == s->kind && strcmp(conf_options[i].key, key) == 0)
			return s->lines[i];
	return 0;
}

/* ---- values ---- */

static bool bad_value(
    struct conf_loader *l, const struct conf_option *o, struct slice value, const char *right)
{
	conf_mistake_here(
	    l, "bad value '%.*s' for %s; %s", SLICE_ARG(slice_sub(value, 0, 80)), o->key, right);
	return false;
}

static bool put_number(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	uint64_t number;
	char right[96];

	if (slice_to_number(value, o->max, &number) && number >= o->min) {
		*(uint32_t *)at = (uint32_t)number;
		return true;
	}
	snprintf(right, sizeof right, "give a whole number from %" PRIu64 " to %" PRIu64, o->min,
	    o->max);
	return bad_value(l, o, value, right);
}

static bool put_size(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	uint64_t octets;
	char least[VALUE_TEXT], most[VALUE_TEXT], right[128];

	if (value_size(value, &octets) && octets >= o->min && octets <= o->max) {
		if (o->type == CONF_TYPE_WINDOW)
			*(uint32_t *)at = (uint32_t)octets;
		else
			*(uint64_t *)at = octets;
		return true;
	}
	snprintf(right, sizeof right, "give octets from %s to %s, such as 65536, 64k or 1M",
	    value_size_format(o->min, least, sizeof least),
	    value_size_format(o->max, most, sizeof most));
	return bad_value(l, o, value, right);
}

static bool put_time(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	usec span;
	char least[VALUE_TEXT], most[VALUE_TEXT], right[128];

	if (value_time(value, &span) && span >= o->min && span <= o->max) {
		*(usec *)at = span;
		return true;
	}
	snprintf(right, sizeof right,
	    "give a time with its unit from %s to %s, such as 500ms, 10s, 2m or 1h",
	    value_time_format(o->min, least, sizeof least),
	    value_time_format(o->max, most, sizeof most));
	return bad_value(l, o, value, right);
}

/* "write a, b or c". */
static const char *choices_text(const char *choices, char *buffer, size_t size)
{
	struct slice rest = slice_of_string(choices), word;
	size_t used = (size_t)snprintf(buffer, size, "write ");

	for (bool is_first = true; value_next_word(&rest, &word) == VALUE_WORD; is_first = false) {
		const char *joint = is_first ? "" : rest.len == 0 ? " or " : ", ";
		if (used < size)
			used += (size_t)snprintf(
			    buffer + used, size - used, "%s%.*s", joint, SLICE_ARG(word));
	}
	return buffer;
}

static bool put_choice(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	char right[160];
	int choice = value_choice(value, o->choices);

	if (choice < 0)
		return bad_value(l, o, value, choices_text(o->choices, right, sizeof right));
	if (o->type == CONF_TYPE_SWITCH) {
		*(bool *)at = choice == 1;
	} else {
		unsigned number = (unsigned)choice;
		memcpy(at, &number, sizeof number);
	}
	return true;
}

/* Cuts the next word off; false at the end, and (reported) at an unclosed quote. */
static bool next_word(struct conf_loader *l, const struct conf_option *o, struct slice *rest,
    struct slice *word, bool *is_good)
{
	switch (value_next_word(rest, word)) {
	case VALUE_WORD:
		return true;
	case VALUE_END:
		return false;
	case VALUE_UNCLOSED:
		*is_good = bad_value(l, o, *word, "close the quotation with a '\"'");
		return false;
	}
	return false;
}

static bool put_bits(
    struct conf_loader *l, const struct conf_option *o, void *at, struct slice value)
{
	struct slice rest = value, word;
	char right[160];
	bool is_good = true;

	while (next_word(l, o, &rest, &word, &is_good)) {
		int choice = value_choice(word, o->choices);
		if (choice >= 0)
			*(uint32_t *)at |= 1u << (o->min + (unsigned)choice);
		else
			is_good =
			    bad_value(l, o, word, choices_text(o->choices, right, sizeof right));
	}
	return is_good;
}

static bool put_list(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value)
{
	struct slice **items = (struct slice **)(void *)(object + o->offset);
	size_t *count = (size_t *)(void *)(object + o->count_offset);
	struct slice rest = value, word;
	bool is_good = true;

	while (next_word(l, o, &rest, &word, &is_good)) {
		const char *right = o->check ? o->check(word) : NULL;
		if (right) {
			is_good = bad_value(l, o, word, right);
			continue;
		}
		*items = conf_grow(l, *items, *count, sizeof **items);
		(*items)[(*count)++] = slice_of(conf_copy(l, word), word.len);
	}
	return is_good;
}

static bool put_cidrs(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value)
{
	struct cidr **items = (struct cidr **)(void *)(object + o->offset);
	size_t *count = (size_t *)(void *)(object + o->count_offset);
	struct slice rest = value, word;
	bool is_good = true;

	while (next_word(l, o, &rest, &word, &is_good)) {
		struct cidr block;
		const char *wrong = cidr_parse(word, &block);
		if (wrong) {
			conf_mistake_here(l,
			    "bad value '%.*s' for %s: %s; write an address or a block "
			    "such as 192.0.2.0/24 or 2001:db8::/32",
			    SLICE_ARG(slice_sub(word, 0, 80)), o->key, wrong);
			is_good = false;
			continue;
		}
		*items = conf_grow(l, *items, *count, sizeof **items);
		(*items)[(*count)++] = block;
	}
	return is_good;
}

static bool put(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value)
{
	void *at = object + o->offset;

	switch (o->type) {
	case CONF_TYPE_NUMBER:
		return put_number(l, o, at, value);
	case CONF_TYPE_SIZE:
	case CONF_TYPE_WINDOW:
		return put_size(l, o, at, value);
	case CONF_TYPE_TIME:
		return put_time(l, o, at, value);
	case CONF_TYPE_SWITCH:
	case CONF_TYPE_CHOICE:
		return put_choice(l, o, at, value);
	case CONF_TYPE_BITS:
		return put_bits(l, o, at, value);
	case CONF_TYPE_LIST:
		return put_list(l, o, object, value);
	case CONF_TYPE_CIDRS:
		return put_cidrs(l, o, object, value);
	case CONF_TYPE_TEXT:
		*(const char **)at = conf_copy(l, value);
		return true;
	case CONF_TYPE_FILE:
		*(const char **)at = conf_path(l, value);
		return true;
	case CONF_TYPE_OTHER:
		return true;
	}
	return false;
}

static bool set_option(
    struct conf_loader *l, const struct conf_option *o, void *object, struct slice value)
{
	if (value.len == 0) {
		conf_mistake_here(l, "%s has no value; give one or remove the line", o->key);
		return false;
	}
	return put(l, o, object, value) && (!o->set || o->set(l, object, value));
}

void conf_apply_presets(struct conf_loader *l, enum conf_kind kind, void *object)
{
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (o->section == kind && o->preset)
			set_option(l, o, object, slice_of_string(o->preset));
	}
}

/* ---- options ---- */

static const struct conf_option *nearest_option(enum conf_kind section, struct slice key)
{
	const struct conf_option *best = NULL;
	unsigned distance = key.len < 6 ? 2 : 3;

	for (size_t i = 0; i < conf_option_count; i++) {
		struct slice row = slice_of_string(conf_options[i].key);
		if (conf_options[i].section != section)
			continue;
		unsigned d = value_distance(key, row, distance);
		if (d < distance) {
			distance = d;
			best = &conf_options[i];
		}
	}
	return best;
}

static void unknown_option(struct conf_loader *l, struct slice key)
{
	enum conf_kind kind = l->current->kind;
	const char *word = conf_section_types[kind].word;

	for (size_t i = 0; i < conf_option_count; i++) {
		if (!slice_equal(key, slice_of_string(conf_options[i].key)))
			continue;
		const struct conf_section_type *home = &conf_section_types[conf_options[i].section];
		conf_mistake_here(l, "[%s] has no option '%.*s'; it belongs to [%s%s]", word,
		    SLICE_ARG(key), home->word, home->is_named ? " NAME" : "");
		return;
	}
	const struct conf_option *near = nearest_option(kind, key);
	if (near)
		conf_mistake_here(l, "[%s] has no option '%.*s'; did you mean '%s'?", word,
		    SLICE_ARG(key), near->key);
	else
		conf_mistake_here(l, "[%s] has no option '%.*s'; see pushgate help-config %s", word,
		    SLICE_ARG(key), word);
}

void conf_apply(struct conf_loader *l, struct slice key, struct slice value)
{
	struct conf_section *s = l->current;
	size_t i = 0;

	if (!s) {
		/* In an unknown section one complaint, about its header, is enough. */
		if (!l->is_in_section)
			conf_mistake_here(l,
			    "'%.*s' stands before any section; put it below [server] or another "
			    "header",
			    SLICE_ARG(key));
		return;
	}
	while (
	    i < conf_option_count && (conf_options[i].section != s->kind ||
					 !slice_equal(key, slice_of_string(conf_options[i].key))))
		i++;
	if (i == conf_option_count) {
		unknown_option(l, key);
		s->is_broken = true;
		return;
	}
	if (s->lines[i] != 0 && !conf_options[i].repeats) {
		conf_mistake_here(l,
		    "duplicate option '%.*s', first at %s:%" PRIu32 "; remove one of them",
		    SLICE_ARG(key), s->file, s->lines[i]);
		return;
	}
	s->lines[i] = l->line;
	if (!set_option(l, &conf_options[i], s->object, value))
		s->is_broken = true;
}

/* ---- sections ---- */

static int section_kind(struct slice word)
{
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++)
		if (slice_equal(word, slice_of_string(conf_section_types[kind].word)))
			return kind;
	return -1;
}

static void unknown_section(struct conf_loader *l, struct slice word)
{
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		const struct conf_section_type *type = &conf_section_types[kind];
		if (value_distance(word, slice_of_string(type->word), 2) <= 2) {
			conf_mistake_here(l, "unknown section [%.*s]; did you mean [%s%s]?",
			    SLICE_ARG(word), type->word, type->is_named ? " NAME" : "");
			return;
		}
	}
	conf_mistake_here(l,
	    "unknown section [%.*s]; write [server], [listen NAME], [origin NAME], [route NAME] or "
	    "[push NAME]",
	    SLICE_ARG(word));
}

static bool name_is_fine(struct conf_loader *l, enum conf_kind kind, struct slice name)
{
	const struct conf_section_type *type = &conf_section_types[kind];

	if (!type->is_named && name.len != 0)
		conf_mistake_here(l, "[%s] takes no name; write [%s]", type->word, type->word);
	else if (type->is_named && name.len == 0)
		conf_mistake_here(l, "[%s] has no name; write [%s NAME]", type->word, type->word);
	else if (type->is_named && !value_is_name(name))
		conf_mistake_here(
		    l, "bad name '%.*s'; use letters, digits, '.', '_' and '-'", SLICE_ARG(name));
	else
		return true;
	return false;
}

static const struct conf_section *find_section(
    const struct conf_loader *l, enum conf_kind kind, struct slice name)
{
	for (const struct conf_section *s = l->first; s; s = s->next)
		if (s->kind == kind && slice_equal(name, slice_of_string(s->name)))
			return s;
	return NULL;
}

static struct conf_section *section_new(
    struct conf_loader *l, enum conf_kind kind, struct slice name)
{
	struct arena *arena = &l->conf->arena;
	size_t bytes = conf_section_types[kind].object_bytes;
	struct conf_section *s = arena_alloc(arena, sizeof *s);

	*s = (struct conf_section){.kind = kind, .file = l->file, .line = l->line};
	s->name = conf_copy(l, name);
	s->lines = arena_alloc(arena, conf_option_count * sizeof *s->lines);
	memset(s->lines, 0, conf_option_count * sizeof *s->lines);
	s->object = l->conf;
	if (bytes > 0) {
		s->object = arena_alloc(arena, bytes);
		memset(s->object, 0, bytes);
		conf_apply_presets(l, kind, s->object);
	}
	return s;
}

void conf_begin_section(struct conf_loader *l, struct slice header)
{
	if (header.len > LIMIT_CONF_NAME_BYTES) {
		conf_mistake_here(l, "the section's name is longer than %u octets; shorten it",
		    LIMIT_CONF_NAME_BYTES);
		return;
	}
	size_t end = 0;
	while (end < header.len && header.ptr[end] != ' ' && header.ptr[end] != '\t')
		end++;
	struct slice word = slice_sub(header, 0, end), name = slice_trim(slice_from(header, end));
	int kind = section_kind(word);
	if (kind < 0) {
		unknown_section(l, word);
		return;
	}
	if (!name_is_fine(l, (enum conf_kind)kind, name))
		return;
	const struct conf_section *earlier = find_section(l, (enum conf_kind)kind, name);
	if (earlier) {
		conf_mistake_here(l, "duplicate section %s, first at %s:%" PRIu32 "; %s",
		    conf_section_title(l, earlier), earlier->file, earlier->line,
		    name.len ? "give it another name" : "put its options there");
	}
	l->current = section_new(l, (enum conf_kind)kind, name);
	/* Of a duplicate the options are read all the same, so that their mistakes show in the same run. */
	if (!earlier) {
		*(l->last ? &l->last->next : &l->first) = l->current;
		l->last = l->current;
	}
}
