/* SPDX-License-Identifier: MIT */
/* `pushgate help-config --json`: the option table for programs. docs/CHECK.md says what each member means. */
#include "proxy/conf/load.h"
#include "proxy/conf/value.h"
#include "proxy/limits.h"
#include <jansson.h>

/* What a type is called, and the unit of its bounds. */
static const struct {
	const char *name, *unit;
} types[] = {
    [CONF_TYPE_NUMBER] = {"number", NULL},
    [CONF_TYPE_SIZE] = {"size", "bytes"},
    [CONF_TYPE_WINDOW] = {"size", "bytes"},
    [CONF_TYPE_TIME] = {"time", "microseconds"},
    [CONF_TYPE_RATE] = {"rate", "per second"},
    [CONF_TYPE_SWITCH] = {"choice", NULL},
    [CONF_TYPE_CHOICE] = {"choice", NULL},
    [CONF_TYPE_BITS] = {"choices", NULL},
    [CONF_TYPE_TEXT] = {"text", NULL},
    [CONF_TYPE_FILE] = {"file", NULL},
    [CONF_TYPE_SHARE] = {"share", "hundredths of a percent"},
    [CONF_TYPE_LIST] = {"list", NULL},
    [CONF_TYPE_LIST_FILE] = {"file", NULL},
    [CONF_TYPE_CIDRS] = {"networks", NULL},
    [CONF_TYPE_PATTERNS] = {"patterns", NULL},
    [CONF_TYPE_FILES] = {"files", NULL},
    [CONF_TYPE_FIELDS] = {"field", NULL},
    [CONF_TYPE_OTHER] = {"other", NULL},
};

enum { WHOLE_SHARE = 10000 };

/* The words that are values, or stand for one: choices, the word for none. */
static json_t *values_of(const struct conf_option *o)
{
	struct slice rest = slice_of_string(o->choices ? o->choices : ""), word;
	json_t *values = json_array();

	while (value_next_word(&rest, &word) == VALUE_WORD)
		json_array_append_new(values, json_stringn(word.ptr, word.len));
	if (o->none)
		json_array_append_new(values, json_string(o->none));
	return values;
}

static json_t *bound_of(const struct conf_option *o, uint64_t bound)
{
	bool has_bounds = o->type <= CONF_TYPE_RATE || o->type == CONF_TYPE_SHARE;
	return has_bounds ? json_integer((json_int_t)bound) : json_null();
}

static json_t *why_unused(const struct conf_option *o)
{
	json_t *reasons = json_array();
	const char *why;

	for (size_t at = 0; (why = conf_next_why_unused(o->section, o->key, &at));)
		json_array_append_new(reasons, json_string(why));
	return reasons;
}

/* The list of all options, and each page that the sentence names. */
static json_t *pages_of(const struct conf_option *o)
{
	json_t *pages = json_pack("[s]", "docs/CONFIG.md");

	for (const char *at = o->sentence; (at = strstr(at, "docs/"));) {
		const char *end = strstr(at, ".md");
		size_t length = end ? (size_t)(end - at) + strlen(".md") : strlen(at);
		if (end)
			json_array_append_new(pages, json_stringn(at, length));
		at += length;
	}
	return pages;
}

static json_t *json_of_option(const struct conf_option *o)
{
	char form[256], example[VALUE_SUGGESTED];

	return json_pack(
	    "{s:s, s:s, s:s, s:s, s:o, s:s?, s:s, s:s?, s:o, s:o, s:b, s:b, s:o, s:s, s:o}", "name",
	    o->key, "section", conf_section_types[o->section].word, "type", types[o->type].name,
	    "form", conf_option_form(o, form, sizeof form), "values", values_of(o), "default",
	    o->preset, "example", conf_option_example(o, example, sizeof example), "unit",
	    types[o->type].unit, "min", bound_of(o, o->min), "max",
	    bound_of(o, o->type == CONF_TYPE_SHARE ? WHOLE_SHARE : o->max), "required",
	    (int)o->is_required, "repeats", (int)o->repeats, "no_effect_if", why_unused(o), "text",
	    o->sentence, "pages", pages_of(o));
}

static json_t *json_of_section(enum conf_kind kind)
{
	const struct conf_section_type *type = &conf_section_types[kind];
	json_t *options = json_array();

	conf_for_each_option (o, kind)
		json_array_append_new(options, json_of_option(o));
	return json_pack("{s:s, s:b, s:s, s:s, s:o}", "section", type->word, "has_name",
	    (int)type->is_named, "text", type->sentence, "options_of",
	    conf_section_types[conf_kind_of_rows(kind)].word, "options", options);
}

void conf_print_help_json(FILE *out, const char *topic)
{
	json_t *sections = json_array();

	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++)
		if (!topic || strcmp(topic, conf_section_types[kind].word) == 0)
			json_array_append_new(sections, json_of_section((enum conf_kind)kind));
	json_t *all = json_pack("{s:s, s:o}", "version", PUSHGATE_VERSION, "sections", sections);
	json_dumpf(all, out, JSON_INDENT(1));
	fputc('\n', out);
	json_decref(all);
}
