/* SPDX-License-Identifier: MIT */
/*
 * Applies section headers and options by the option table: a header makes an object with all
 * defaults, an option sets one value. validate.c checks what involves more than one line.
 */
#include "proxy/conf/load.h"
#include "proxy/conf/value.h"
#include "proxy/limits.h"
#include <inttypes.h>

void conf_apply_presets(struct conf_loader *l, enum conf_kind kind, void *object)
{
	conf_for_each_option (o, conf_kind_of_rows(kind)) {
		if (o->preset)
			conf_set_option(l, o, object, slice_of_string(o->preset));
	}
}

/* ---- options ---- */

const struct conf_option *conf_find_option(enum conf_kind section, struct slice key)
{
	conf_for_each_option (o, conf_kind_of_rows(section)) {
		if (slice_equal(key, slice_of_string(o->key)))
			return o;
	}
	return NULL;
}

static void note_place(
    struct conf_loader *l, struct conf_section *s, const struct conf_option *o, struct slice value)
{
	struct conf_option_place place = {o->key, conf_shown_value(l, o, value), l->file, l->line,
	    o->preset && slice_equal(value, slice_of_string(o->preset))};
	conf_append(l, s->options, s->option_count, place);
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
		conf_note_default(l, NULL, o, value);
	return is_good;
}

/* Takes the value of an option in the current section. False: a mistake has been reported. */
static bool take_value(struct conf_loader *l, const struct conf_option *o, struct slice value)
{
	struct conf_section *s = l->current;

	if (value.len == 0 && s->kind == CONF_SECTION_ROUTE && !conf_is_route_action(o)) {
		conf_note_default(l, s, o, value);
		s->options[s->option_count - 1].is_preset = true;
		return true;
	}
	if (value.len == 0)
		return conf_no_value(l, o);
	if (!conf_check_raw(l, o, value))
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
	l->option = o;
	if (!o) {
		conf_unknown_option(l, key);
		s->is_broken = true;
		return;
	}
	uint32_t line = conf_option_line(s, o->key);
	if (line != 0 && !o->repeats) {
		conf_mistake_here(l,
		    "duplicate option '%.*s', first at %s:%" PRIu32 "; remove one of them",
		    SLICE_ARG(key), s->file, line);
		return;
	}
	note_place(l, s, o, value);
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

static struct conf_section *section_new(
    struct conf_loader *l, enum conf_kind kind, struct slice name)
{
	struct arena *arena = &l->conf->arena;
	size_t bytes = conf_section_types[kind].object_bytes;
	struct conf_section *s = arena_alloc(arena, sizeof *s);

	*s = (struct conf_section){.kind = kind, .file = l->file, .line = l->line};
	s->name = conf_copy(l, name);
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
	struct slice word = conf_first_word(header);
	struct slice name = slice_trim(slice_from(header, word.len));
	int kind = section_kind(word);
	if (kind < 0) {
		conf_unknown_section(l, word);
		return;
	}
	if (!check_name(l, (enum conf_kind)kind, name))
		return;
	const struct conf_section *earlier = conf_find_section(l, (enum conf_kind)kind, name);
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
