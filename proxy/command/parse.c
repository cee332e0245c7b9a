/* SPDX-License-Identifier: MIT */
/* Reads the arguments of one command by its table. */
#include "proxy/base/ensure.h"
#include "proxy/base/slice.h"
#include "proxy/command/command.h"
#include <stdarg.h>
#include <stdint.h>

struct reader {
	const struct command *command;
	void *into;
	char **next;    /* the words that are left; NULL after the last */
	uint64_t given; /* bit i: options[i] was given */
	bool options_ended;
};

int command_usage_error(const struct command *c, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fprintf(stderr, "pushgate %s: ", c->name);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	command_print_usage(c, stderr);
	fprintf(stderr, "See `pushgate %s --help`.\n", c->name);
	return COMMAND_USAGE;
}

const struct command_option *command_operand(const struct command *c)
{
	for (size_t i = 0; i < c->option_count; i++)
		if (!c->options[i].name)
			return &c->options[i];
	return NULL;
}

static int unknown_option(const struct command *c, const char *spelled, struct slice name)
{
	struct suggestion s = command_suggestion(name);
	for (size_t i = 0; i < c->option_count; i++)
		if (c->options[i].name)
			suggest_compare(
			    &s, slice_of_string(c->options[i].name), c->options[i].name);
	const char *near = s.item;
	if (near)
		return command_usage_error(
		    c, "unknown option %s; did you mean --%s?", spelled, near);
	return command_usage_error(c, "unknown option %s", spelled);
}

static int unknown_word(
    const struct command *c, const struct command_option *o, const char *spelled, const char *word)
{
	struct suggestion s = command_suggestion(slice_of_string(word));
	for (size_t i = 0; o->words(i); i++)
		suggest_compare(&s, slice_of_string(o->words(i)), o->words(i));
	const char *near = s.item;
	if (near)
		return command_usage_error(
		    c, "%s: there is no '%s'; did you mean '%s'?", spelled, word, near);
	char known[512] = "";
	size_t used = 0;
	for (size_t i = 0; o->words(i) && used < sizeof(known); i++)
		used += (size_t)snprintf(
		    known + used, sizeof(known) - used, "%s%s", i > 0 ? ", " : "", o->words(i));
	return command_usage_error(c, "%s: there is no '%s', only %s", spelled, word, known);
}

static bool is_word(const struct command_option *o, const char *value)
{
	const char *word;
	for (size_t i = 0; (word = o->words(i)); i++)
		if (strcmp(word, value) == 0)
			return true;
	return false;
}

/* `spelled` is the option as it was given, or the name of the operand. */
static int take(struct reader *r, const struct command_option *o, const char *spelled, char *value)
{
	const struct command *c = r->command;
	uint64_t bit = 1ull << (o - c->options);
	if (r->given & bit && !(o->rules & COMMAND_REPEATS))
		return command_usage_error(c, "%s was given twice", spelled);
	r->given |= bit;
	void *into = (char *)r->into + o->at;
	if (!o->value) {
		*(bool *)into = true;
		return COMMAND_PARSED;
	}
	if (!*value && !(o->rules & COMMAND_MAY_BE_EMPTY))
		return command_usage_error(c, "%s is empty", spelled);
	if (o->set) {
		const char *wrong = o->set(into, value);
		return wrong ? command_usage_error(c, "%s '%s': %s", spelled, value, wrong)
			     : COMMAND_PARSED;
	}
	if (o->words && !is_word(o, value))
		return unknown_word(c, o, spelled, value);
	*(const char **)into = value;
	return COMMAND_PARSED;
}

/* With its value from the same word, or from the next one. */
static int take_next(
    struct reader *r, const struct command_option *o, const char *spelled, char *joined)
{
	if (!o->value || joined)
		return take(r, o, spelled, joined);
	if (!*r->next)
		return command_usage_error(
		    r->command, "a value is missing after %s: %s", spelled, o->value);
	return take(r, o, spelled, *r->next++);
}

static int read_long(struct reader *r, char *word)
{
	const struct command *c = r->command;
	struct slice name = slice_from(slice_of_string(word), 2);
	name = slice_sub(name, 0, slice_find(name, '='));
	char *joined = word[2 + name.len] == '=' ? word + 2 + name.len + 1 : NULL;
	char spelled[80];
	snprintf(spelled, sizeof(spelled), "--%.*s", SLICE_ARG(name));
	if (slice_equal(name, SLICE("help")) && !joined) {
		command_print_help(c, stdout);
		return COMMAND_HELPED;
	}
	for (size_t i = 0; i < c->option_count; i++) {
		const struct command_option *o = &c->options[i];
		if (!o->name || !slice_equal(name, slice_of_string(o->name)))
			continue;
		if (joined && !o->value)
			return command_usage_error(c, "%s takes no value", spelled);
		return take_next(r, o, spelled, joined);
	}
	return unknown_option(c, spelled, name);
}

static const struct command_option *find_letter(const struct command *c, char letter)
{
	for (size_t i = 0; i < c->option_count; i++)
		if (c->options[i].letter == letter)
			return &c->options[i];
	return NULL;
}

static int read_letters(struct reader *r, char *word)
{
	for (char *letter = word + 1; *letter; letter++) {
		const char spelled[] = {'-', *letter, '\0'};
		if (*letter == 'h') {
			command_print_help(r->command, stdout);
			return COMMAND_HELPED;
		}
		const struct command_option *o = find_letter(r->command, *letter);
		if (!o)
			return unknown_option(
			    r->command, word[2] ? word : spelled, slice_of_string(word + 1));
		char *joined = o->value && letter[1] ? letter + 1 : NULL;
		int status = take_next(r, o, spelled, joined);
		if (status != COMMAND_PARSED || o->value)
			return status;
	}
	return COMMAND_PARSED;
}

const struct command_option *command_instead(const struct command *c)
{
	for (size_t i = 0; i < c->option_count; i++)
		if (c->options[i].rules & COMMAND_INSTEAD)
			return &c->options[i];
	return NULL;
}

static bool is_given(const struct reader *r, const struct command_option *o)
{
	return o && r->given & 1ull << (o - r->command->options);
}

static int read_operand(struct reader *r, char *word)
{
	const struct command_option *operand = command_operand(r->command);
	if (!operand || (is_given(r, operand) && !(operand->rules & COMMAND_REPEATS)))
		return command_usage_error(r->command, "unexpected argument '%s'", word);
	return take(r, operand, operand->value, word);
}

static int read_word(struct reader *r, char *word)
{
	if (r->options_ended || word[0] != '-' || !word[1])
		return read_operand(r, word);
	if (strcmp(word, "--") == 0) {
		r->options_ended = true;
		return COMMAND_PARSED;
	}
	return word[1] == '-' ? read_long(r, word) : read_letters(r, word);
}

/* The operand and what takes its place: one of them, if there must be one, and never two. */
static int check_operand(const struct reader *r)
{
	const struct command *c = r->command;
	const struct command_option *operand = command_operand(c), *instead = command_instead(c);
	if (is_given(r, operand) && is_given(r, instead))
		return command_usage_error(
		    c, "give %s or --%s, not both", operand->value, instead->name);
	if (!operand || is_given(r, operand) || is_given(r, instead) ||
	    !(operand->rules & COMMAND_REQUIRED))
		return COMMAND_PARSED;
	if (instead)
		return command_usage_error(
		    c, "an argument is missing: %s or --%s", operand->value, instead->name);
	return command_usage_error(c, "an argument is missing: %s", operand->value);
}

int command_parse(const struct command *c, int argc, char **argv, void *into)
{
	struct reader r = {.command = c, .into = into, .next = argv + (argc > 0)};
	ensure(c->option_count <= 64);
	while (*r.next) {
		int status = read_word(&r, *r.next++);
		if (status != COMMAND_PARSED)
			return status;
	}
	return check_operand(&r);
}
