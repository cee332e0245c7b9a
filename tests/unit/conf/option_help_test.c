/* SPDX-License-Identifier: MIT */
/* `pushgate help-config`, `help-config example` and `help-config --json` say all that the option table says. */
#include "proxy/conf/load.h"
#include "proxy/conf/option.h"
#include "tests/unit/conf/load.h"
#include <jansson.h>

/* Words with single spaces between them; without the marks of comments. */
static char *words_of(const char *text)
{
	char *words = malloc(strlen(text) + 2);
	size_t n = 0;
	while (*text) {
		size_t gap = strspn(text, " \n;"), word = strcspn(text + gap, " \n");
		memcpy(words + n, text + gap, word);
		n += word;
		words[n++] = ' ';
		text += gap + word;
	}
	words[n] = '\0';
	return words;
}

static void assert_has_each_sentence(char *text)
{
	char *words = words_of(text);
	for (size_t i = 0; i < conf_option_count; i++) {
		char *sentence = words_of(conf_options[i].sentence);
		if (!strstr(words, sentence))
			fail_msg("%s: '%s'", conf_options[i].key, sentence);
		free(sentence);
	}
	free(words);
	free(text);
}

static void the_help_has_each_sentence_to_its_end(void **state)
{
	(void)state;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	conf_print_help(out, NULL);
	fclose(out);
	assert_has_each_sentence(text);
}

static void the_example_has_each_sentence_to_its_end(void **state)
{
	(void)state;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	conf_print_help(out, "example");
	fclose(out);
	assert_has_each_sentence(text);
}

/* ---- as JSON ---- */

static json_t *help_json(const char *topic)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	conf_print_help_json(out, topic);
	fclose(out);
	json_t *all = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(all);
	free(text);
	return all;
}

static void assert_text(const json_t *object, const char *key, const char *text)
{
	const json_t *value = json_object_get(object, key);
	assert_non_null(value);
	if (text)
		assert_string_equal(json_string_value(value), text);
	else
		assert_true(json_is_null(value));
}

/* The words of a list in the table are those of an array, in the same order. */
static void assert_values(const json_t *object, const struct conf_option *o)
{
	char words[600] = "", wanted[600];
	const json_t *list = json_object_get(object, "values");
	for (size_t i = 0; i < json_array_size(list); i++) {
		strcat(words, i ? " " : "");
		strcat(words, json_string_value(json_array_get(list, i)));
	}
	snprintf(wanted, sizeof wanted, "%s%s%s", o->choices ? o->choices : "",
	    o->choices && o->none ? " " : "", o->none ? o->none : "");
	assert_string_equal(words, wanted);
}

static void assert_is_option(const json_t *object, const struct conf_option *o)
{
	char form[256], example[256];
	bool has_bounds = o->type <= CONF_TYPE_RATE;
	assert_text(object, "name", o->key);
	assert_text(object, "section", conf_section_types[o->section].word);
	assert_text(object, "form", conf_option_form(o, form, sizeof form));
	assert_text(object, "default", o->preset);
	assert_text(object, "example", conf_option_example(o, example, sizeof example));
	assert_text(object, "text", o->sentence);
	assert_values(object, o);
	assert_int_equal(json_is_true(json_object_get(object, "required")), o->is_required);
	assert_int_equal(json_is_true(json_object_get(object, "repeats")), o->repeats);
	assert_int_equal(json_is_integer(json_object_get(object, "max")), has_bounds || o->type == CONF_TYPE_SHARE);
	if (has_bounds) {
		assert_int_equal(json_integer_value(json_object_get(object, "min")), o->min);
		assert_int_equal(json_integer_value(json_object_get(object, "max")), o->max);
	}
	assert_text(object, "unit",
	    o->type == CONF_TYPE_SIZE || o->type == CONF_TYPE_WINDOW ? "bytes"
	    : o->type == CONF_TYPE_TIME                              ? "microseconds"
	    : o->type == CONF_TYPE_RATE                              ? "per second"
	    : o->type == CONF_TYPE_SHARE                             ? "hundredths of a percent"
								     : NULL);
	const json_t *pages = json_object_get(object, "pages");
	assert_string_equal(json_string_value(json_array_get(pages, 0)), "docs/CONFIG.md");
	for (size_t i = 0; i < json_array_size(pages); i++)
		assert_int_equal(access(json_string_value(json_array_get(pages, i)), R_OK), 0);
	assert_int_equal(json_array_size(pages) > 1, strstr(o->sentence, "docs/") != NULL);
}

static void the_json_has_each_section_and_each_row(void **state)
{
	(void)state;
	json_t *all = help_json(NULL), *sections = json_object_get(all, "sections");
	size_t found = 0;
	assert_int_equal(json_array_size(sections), CONF_SECTION_COUNT);
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++) {
		const json_t *section = json_array_get(sections, (size_t)kind);
		const json_t *options = json_object_get(section, "options");
		size_t next = 0;
		assert_text(section, "section", conf_section_types[kind].word);
		assert_text(section, "text", conf_section_types[kind].sentence);
		assert_int_equal(json_is_true(json_object_get(section, "has_name")), conf_section_types[kind].is_named);
		assert_text(section, "options_of", kind == CONF_SECTION_ROUTES ? "route" : conf_section_types[kind].word);
		conf_for_each_option (o, (enum conf_kind)kind)
			assert_is_option(json_array_get(options, next++), o);
		assert_int_equal(json_array_size(options), next);
		found += next;
	}
	assert_int_equal(found, conf_option_count);
	json_decref(all);
}

/* The warning of `check` gives one of these reasons. */
static void the_json_says_what_takes_an_effect_away(void **state)
{
	(void)state;
	struct load load = load_text(LOAD_REST "[server]\nhold-shared = yes\n");
	json_t *all = help_json("server");
	json_t *options = json_object_get(json_array_get(json_object_get(all, "sections"), 0), "options");
	size_t index, said = 0;
	json_t *option;
	assert_int_equal(json_array_size(json_object_get(all, "sections")), 1);
	json_array_foreach(options, index, option) {
		const json_t *why = json_object_get(option, "no_effect_if");
		bool is_shared = strcmp(json_string_value(json_object_get(option, "name")), "hold-shared") == 0;
		if (strcmp(json_string_value(json_object_get(option, "name")), "workers") == 0)
			assert_int_equal(json_array_size(why), 0);
		for (size_t i = 0; is_shared && i < json_array_size(why); i++)
			said += strstr(load.errors, json_string_value(json_array_get(why, i))) != NULL;
	}
	assert_int_equal(said, 1);
	json_decref(all);
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_help_has_each_sentence_to_its_end),
	    cmocka_unit_test(the_example_has_each_sentence_to_its_end),
	    cmocka_unit_test(the_json_has_each_section_and_each_row),
	    cmocka_unit_test(the_json_says_what_takes_an_effect_away),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
