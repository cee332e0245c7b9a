/* SPDX-License-Identifier: MIT */
/*
 * Applies section headers and options by the option table: a header makes an object with all
 * defaults, an option sets one value. validate.c checks what involves more than one line.
 */
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"
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
	l->counts.mistakes++;
}

void conf_warning(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
{
	va_list arguments;
	if (l->is_silent)
		return;
	va_start(arguments, format);
	vreport(l, file, line, "warning: ", format, arguments);
	va_end(arguments);
	l->counts.warnings++;
}

char *conf_copy(struct conf_loader *l, struct slice s)
{
	char *copy = arena_bytes(&l->conf->arena, s.len + 1);
	if (s.len > 0)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	return copy;
}

struct slice conf_copy_slice(struct conf_loader *l, struct slice s)
{
	return slice_of(conf_copy(l, s), s.len);
}

char *conf_written_path(struct conf_loader *l, struct slice s)
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

char *conf_path(struct conf_loader *l, struct slice s)
{
	char *path = conf_written_path(l, s);
	if (path[0] == '/' || !l->folder)
		return path;
	struct slice whole = arena_printf(
	    &l->conf->arena, "%s/%s", strcmp(l->folder, "/") == 0 ? "" : l->folder, path);
	return conf_copy(l, whole);
}

void *conf_grow(struct conf_loader *l, void *items, size_t count, size_t item_bytes)
{
	/*
	 * The capacity is always a power of two: a count that is one means that the array is full.
	 */
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
	const struct conf_option *o = conf_find_option(s->kind, slice_of_string(key));

	return s->lines[o - conf_options];
}

uint32_t conf_changed_line(const struct conf_section *s, const char *key)
{
	const struct conf_option *o = conf_find_option(s->kind, slice_of_string(key));

	return s->has_preset[o - conf_options] ? 0 : s->lines[o - conf_options];
}

bool conf_set_option(
    struct conf_loader *l, const struct conf_option *o, void *object, struct slice value)
{
	l->option = o;
	return conf_store_value(l, o, object, value) && (!o->set || o->set(l, object, value));
}

void conf_apply_presets(struct conf_loader *l, enum conf_kind kind, void *object)
{
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (o->section == conf_kind_of_rows(kind) && o->preset)
			conf_set_option(l, o, object, slice_of_string(o->preset));
	}
}

/* ---- options ---- */

const struct conf_option *conf_find_option(enum conf_kind section, struct slice key)
{
	for (size_t i = 0; i < conf_option_count; i++)
		if (conf_options[i].section == conf_kind_of_rows(section) &&
		    slice_equal(key, slice_of_string(conf_options[i].key)))
			return &conf_options[i];
	return NULL;
}

void conf_no_value(struct conf_loader *l, const struct conf_option *o)
{
	char example[VALUE_SUGGESTED];

	conf_mistake_here(l, "%s has no value; remove the line or give one, such as %s = %s",
	    o->key, o->key, conf_option_example(o, example, sizeof example));
}

/* The value has what no value may have, or it is empty. Reports that and returns false. */
static bool check_text(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	char example[VALUE_SUGGESTED];
	if (o->set == conf_set_upstream_proxy)
		value = conf_hide_user(l, value);
	struct conf_raw_rule rule = {.key = o->key,
	    .example = conf_option_example(o, example, sizeof example),
	    .is_list = o->type == CONF_TYPE_LIST || o->type == CONF_TYPE_CIDRS ||
		       o->type == CONF_TYPE_PATTERNS || o->type == CONF_TYPE_BITS ||
		       o->set == conf_set_add,
	    .is_free = o->type == CONF_TYPE_FIELDS};

	if (value.len > 0)
		return conf_check_raw(l, &rule, value);
	conf_no_value(l, o);
	return false;
}

static void note_place(struct conf_loader *l, struct conf_section *s, const char *key)
{
	struct conf_option_place *p = arena_alloc(&l->conf->arena, sizeof *p);
	*p = (struct conf_option_place){.key = key, .at = {l->file, l->line}};
	*(s->last_option ? &s->last_option->next : &s->first_option) = p;
	s->last_option = p;
}

/* Lines of [routes] are read into a route that is none: what they add to the whole is taken back. */
static bool set_default(
    struct conf_loader *l, const struct conf_option *o, void *object, struct slice value)
{
	const size_t limits = l->conf->request_limit_count;
	const struct slice fields = l->conf->condition_fields;
	bool is_good = conf_set_option(l, o, object, value);

	l->conf->request_limit_count = limits;
	l->conf->condition_fields = fields;
	if (is_good)
		conf_note_default(l, o, value);
	return is_good;
}

/* Takes the value of an option in the current section. False: a mistake has been reported. */
static bool take_value(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	struct conf_section *s = l->current;

	if (value.len == 0 && s->kind == CONF_SECTION_ROUTE && !conf_is_deed(o)) {
		conf_note_emptied(l, s, o);
		s->has_preset[o - conf_options] = true;
		return true;
	}
	if (!check_text(l, o, value))
		return false;
	return s->kind == CONF_SECTION_ROUTES ? set_default(l, o, s->object, value)
					      : conf_set_option(l, o, s->object, value);
}

void conf_apply(struct conf_loader *l, struct slice key, struct slice value)
{
	struct conf_section *s = l->current;
	if (!s) {
		/* For an unknown section only its header has been reported, not each option. */
		if (!l->is_in_section)
			conf_mistake_here(l,
			    "'%.*s' is before the first section; put it below [server] or another "
			    "header",
			    SLICE_ARG(key));
		return;
	}
	const struct conf_option *o = conf_find_option(s->kind, key);
	if (!o) {
		conf_unknown_option(l, key);
		s->is_broken = true;
		return;
	}
	uint32_t *line = &s->lines[o - conf_options];
	if (*line != 0 && !o->repeats) {
		conf_mistake_here(l,
		    "duplicate option '%.*s', first at %s:%" PRIu32 "; remove one of them",
		    SLICE_ARG(key), s->file, *line);
		return;
	}
	*line = l->line;
	note_place(l, s, o->key);
	s->has_preset[o - conf_options] =
	    o->preset && slice_equal(value, slice_of_string(o->preset));
	if (!take_value(l, o, value))
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

static bool check_name(struct conf_loader *l, enum conf_kind kind, struct slice name)
{
	const struct conf_section_type *type = &conf_section_types[kind];

	if (!type->is_named && name.len != 0)
		conf_mistake_here(l, "[%s] takes no name; write [%s]%s%.*s%s", type->word,
		    type->word, kind == CONF_SECTION_ROUTES ? ", or for one route [route " : "",
		    SLICE_ARG(kind == CONF_SECTION_ROUTES ? name : SLICE("")),
		    kind == CONF_SECTION_ROUTES ? "]" : "");
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
	s->has_preset = arena_alloc(arena, conf_option_count * sizeof *s->has_preset);
	memset(s->has_preset, 0, conf_option_count * sizeof *s->has_preset);
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
		conf_mistake_here(l, "the section's name is longer than %u bytes; shorten it",
		    LIMIT_CONF_NAME_BYTES);
		return;
	}
	size_t end = 0;
	while (end < header.len && header.ptr[end] != ' ' && header.ptr[end] != '\t')
		end++;
	struct slice word = slice_sub(header, 0, end), name = slice_trim(slice_from(header, end));
	int kind = section_kind(word);
	if (kind < 0) {
		conf_unknown_section(l, word);
		return;
	}
	if (!check_name(l, (enum conf_kind)kind, name))
		return;
	const struct conf_section *earlier = find_section(l, (enum conf_kind)kind, name);
	if (earlier) {
		conf_mistake_here(l, "duplicate section %s, first at %s:%" PRIu32 "; %s",
		    conf_section_title(l, earlier), earlier->file, earlier->line,
		    name.len ? "give it another name" : "put its options there");
	}
	l->current = section_new(l, (enum conf_kind)kind, name);
	/* Read the options of a duplicate section too, so that one run reports all mistakes. */
	if (!earlier) {
		*(l->last ? &l->last->next : &l->first) = l->current;
		l->last = l->current;
	}
}
