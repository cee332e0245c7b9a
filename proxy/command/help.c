/* SPDX-License-Identifier: MIT */
/* What `pushgate help` and `pushgate COMMAND --help` print, 80 columns wide. */
#include "proxy/base/ensure.h"
#include "proxy/command/command.h"

enum { COLUMNS = 80, SENTENCE_COLUMN = 27, INLINE_OPTIONS = 3 };

/* Columns that the text takes: each byte but UTF-8's continuation bytes. */
static size_t width(const char *text, size_t length)
{
	size_t n = 0;
	for (size_t i = 0; i < length; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* Prints the words of `text` between `indent` and COLUMNS; the first line begins at `column`. */
static void print_wrapped(FILE *out, size_t column, size_t indent, const char *text, size_t length)
{
	bool is_first = true;
	while (length > 0) {
		size_t word = strcspn(text, " \n");
		word = word < length ? word : length;
		size_t columns = width(text, word);
		if (!is_first && column + 1 + columns > COLUMNS) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
			is_first = true;
		}
		fprintf(out, "%s%.*s", is_first ? "" : " ", (int)word, text);
		column += columns + !is_first;
		is_first = false;
		while (word < length && (text[word] == ' ' || text[word] == '\n'))
			word++;
		text += word;
		length -= word;
	}
	fputc('\n', out);
}

static void print_paragraphs(FILE *out, const char *text)
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		size_t length = end ? (size_t)(end - text) : strlen(text);
		print_wrapped(out, 0, 0, text, length);
		fputc('\n', out);
		text += length + (end ? 2 : 0);
	}
}

/* "-c FILE", "--single" */
static void print_short_form(FILE *out, const struct command_option *o)
{
	if (o->letter)
		fprintf(out, "-%c", o->letter);
	else
		fprintf(out, "--%s", o->name);
	if (o->value)
		fprintf(out, " %s", o->value);
}

static void print_operand(const struct command *c, FILE *out)
{
	const struct command_option *operand = command_operand(c), *instead = command_instead(c);
	if (!operand)
		return;
	bool is_required = operand->rules & COMMAND_REQUIRED;
	fprintf(out, " %s%s", is_required ? instead ? "(" : "" : "[", operand->value);
	if (instead) {
		fputs(" | ", out);
		print_short_form(out, instead);
	}
	fputs(is_required ? instead ? ")" : "" : "]", out);
}

void command_print_usage(const struct command *c, FILE *out)
{
	fprintf(out, "usage: pushgate %s", c->name);
	size_t inline_options = 0;
	for (size_t i = 0; i < c->option_count; i++)
		inline_options += c->options[i].name && !(c->options[i].rules & COMMAND_INSTEAD);
	if (inline_options > INLINE_OPTIONS)
		fputs(" [OPTION ...]", out);
	for (size_t i = 0; i < c->option_count && inline_options <= INLINE_OPTIONS; i++) {
		const struct command_option *o = &c->options[i];
		if (!o->name || o->rules & COMMAND_INSTEAD)
			continue;
		fputs(" [", out);
		print_short_form(out, o);
		fputs(o->rules & COMMAND_REPEATS ? " ...]" : "]", out);
	}
	print_operand(c, out);
	fputc('\n', out);
}

static void print_option(
    FILE *out, char letter, const char *name, const char *value, const char *sentence)
{
	int column = 0;
	if (!name)
		column = fprintf(out, "  %s", value);
	else if (letter)
		column = fprintf(out, "  -%c, --%s", letter, name);
	else
		column = fprintf(out, "      --%s", name);
	if (name && value)
		column += fprintf(out, " %s", value);
	if (column + 2 > SENTENCE_COLUMN)
		fprintf(out, "\n%*s", SENTENCE_COLUMN, "");
	else
		fprintf(out, "%*s", SENTENCE_COLUMN - column, "");
	print_wrapped(out, SENTENCE_COLUMN, SENTENCE_COLUMN, sentence, strlen(sentence));
}

/* `more` may be NULL. */
static void print_statuses(FILE *out, const char *more)
{
	char text[512];
	int length = snprintf(text, sizeof(text), "Exit status: " COMMAND_STATUSES "%s%s",
	    more ? " " : "", more ? more : "");
	ensure((size_t)length < sizeof(text));
	print_wrapped(out, 0, 0, text, (size_t)length);
}

void command_print_help(const struct command *c, FILE *out)
{
	command_print_usage(c, out);
	fputc('\n', out);
	print_paragraphs(out, c->text);
	for (size_t i = 0; i < c->option_count; i++) {
		const struct command_option *o = &c->options[i];
		print_option(out, o->letter, o->name, o->value, o->sentence);
	}
	print_option(out, 'h', "help", NULL, "print this");
	fputc('\n', out);
	print_statuses(out, c->statuses);
}

void command_print_overview(const struct command_table *t, FILE *out)
{
	fputs("usage: pushgate COMMAND [ARGUMENT ...]\n\n", out);
	for (size_t i = 0; i < t->count; i++)
		fprintf(out, "  %-12s %s\n", t->commands[i]->name, t->commands[i]->sentence);
	fputc('\n', out);
	print_paragraphs(out, t->text);
	print_statuses(out, NULL);
	for (size_t i = 0; i < t->count; i++)
		if (t->commands[i]->statuses)
			fprintf(
			    out, "`pushgate %s --help` has more on this.\n", t->commands[i]->name);
}
