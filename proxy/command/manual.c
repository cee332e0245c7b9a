/* SPDX-License-Identifier: MIT */
/* The manual's part on the commands, as mdoc(7); scripts/make-docs puts it into docs/pushgate.1. */
#include "proxy/command/command.h"

enum { LINE_COLUMNS = 92 };

static void print_escaped(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '-' && (i == 0 || text[i - 1] == '-'))
			fputs("\\-", out);
		else
			fputc(text[i], out);
	}
}

/* Each sentence begins a line, as mdoc wants it; paragraphs are separated by .Pp. */
static void print_text(FILE *out, const char *text)
{
	size_t column = 0;
	while (*text) {
		size_t word = strcspn(text, " \n");
		if (column > 0 && column + 1 + word > LINE_COLUMNS) {
			fputc('\n', out);
			column = 0;
		}
		if (column > 0)
			fputc(' ', out);
		else if (*text == '.' || *text == '\'')
			fputs("\\&", out);
		print_escaped(out, text, word);
		column += word + 1;
		bool is_end = word > 0 && strchr(".?!", text[word - 1]);
		text += word;
		if (strncmp(text, "\n\n", 2) == 0) {
			fputs("\n.Pp", out);
			is_end = true;
		}
		text += strspn(text, " \n");
		if (is_end && *text) {
			fputc('\n', out);
			column = 0;
		}
	}
	fputc('\n', out);
}

/* " Ar FILE"; a value may have spaces in it. */
static void print_value(FILE *out, const char *value)
{
	fprintf(out, strchr(value, ' ') ? " Ar \"%s\"" : " Ar %s", value);
}

static void print_form(FILE *out, const struct command_option *o)
{
	if (o->letter)
		fprintf(out, " Fl %c", o->letter);
	else if (o->name)
		fprintf(out, " Fl \\-%s", o->name);
	if (o->value)
		print_value(out, o->value);
}

static void print_synopsis(const struct command *c, FILE *out)
{
	fprintf(out, ".Nm\n.Cm %s\n", c->name);
	const struct command_option *operand = command_operand(c), *instead = command_instead(c);
	for (size_t i = 0; i < c->option_count; i++) {
		const struct command_option *o = &c->options[i];
		if (!o->name || o->rules & COMMAND_INSTEAD)
			continue;
		fputs(".Op", out);
		print_form(out, o);
		fputs(o->rules & COMMAND_REPEATS ? " ...\n" : "\n", out);
	}
	if (!operand)
		return;
	fputs(operand->rules & COMMAND_REQUIRED ? "." : ".Op ", out);
	fprintf(out, "Ar %s", operand->value);
	if (instead) {
		fputs(" |", out);
		print_form(out, instead);
	}
	fputc('\n', out);
}

static void print_options(const struct command *c, FILE *out)
{
	if (c->option_count == 0)
		return;
	fputs(".Bl -tag -width Ds\n", out);
	for (size_t i = 0; i < c->option_count; i++) {
		const struct command_option *o = &c->options[i];
		fputs(".It", out);
		if (o->letter)
			fprintf(out, " Fl %c ,", o->letter);
		if (o->name)
			fprintf(out, " Fl \\-%s", o->name);
		if (o->value)
			print_value(out, o->value);
		fputc('\n', out);
		print_text(out, o->sentence);
	}
	fputs(".El\n", out);
}

const char *command_manual_part(size_t index)
{
	return index == 0 ? "synopsis" : index == 1 ? "commands" : NULL;
}

void command_print_manual(const struct command_table *t, const char *part, FILE *out)
{
	bool is_synopsis = strcmp(part, "synopsis") == 0;
	for (size_t i = 0; i < t->count; i++) {
		const struct command *c = t->commands[i];
		if (is_synopsis) {
			print_synopsis(c, out);
			continue;
		}
		fprintf(out, ".It Cm %s\n", c->name);
		print_text(out, c->text);
		print_options(c, out);
		if (c->statuses) {
			fputs(".Pp\nExit status: ", out);
			print_text(out, c->statuses);
		}
	}
}
