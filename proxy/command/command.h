/* SPDX-License-Identifier: MIT */
/*
 * The command line as a table: commands, and the options and the operand of each. The parser, its
 * error messages, the help, the completion for shells and the manual's part on the commands are
 * made from it.
 *
 * Options may follow the operand. `--name=VALUE`, `-nVALUE` and joined flags (`-ab`) are understood;
 * "--" ends the options. Each command has --help and -h without a row.
 */
#ifndef PUSHGATE_COMMAND_COMMAND_H
#define PUSHGATE_COMMAND_COMMAND_H

#include "proxy/base/suggest.h"
#include <stdio.h>

/* What a value is, for a shell that completes it. */
enum command_kind {
	COMMAND_TEXT, /* nothing to complete */
	COMMAND_FILE,
	COMMAND_USER, /* a user of the system */
	COMMAND_WORD, /* one of option.words */
};

enum command_rule {
	COMMAND_REPEATS = 1,      /* may be given several times; otherwise the second is an error */
	COMMAND_REQUIRED = 2,     /* an operand without which there is no command */
	COMMAND_MAY_BE_EMPTY = 4, /* "" is a value */
	COMMAND_INSTEAD = 8,      /* an option that takes the place of the operand: never both */
};

/* An option, or the command's operand. */
struct command_option {
	char letter;       /* 0: no short form */
	const char *name;  /* without "--"; NULL: this is the operand */
	const char *value; /* what the value is called, "FILE"; NULL: takes none */
	const char *sentence;
	enum command_kind kind;
	unsigned rules; /* enum command_rule */
	/*
	 * The words that complete the value, NULL after the last one. Without `set` no other value is
	 * accepted.
	 */
	const char *(*words)(size_t index);
	/*
	 * Where the value goes in the structure that command_parse fills: a const char *, or a bool if
	 * the option takes none.
	 */
	size_t at;
	/*
	 * If it is set, this function reads the value. `into` is the member at offset `at`, or the
	 * whole structure if `at` is 0. Returns NULL, or the reason why the value is bad, as a text
	 * that is never freed. It is called once for each time that the option stands there.
	 */
	const char *(*set)(void *into, char *value);
};

struct command {
	const char *name, *sentence;
	const char *text; /* paragraphs for the help and the manual, separated by "\n\n" */
	const struct command_option *options;
	size_t option_count;
	const char *statuses; /* further exit statuses, or what makes it fail; may be NULL */
	int (*run)(int argc, char **argv); /* argv[0] is its name */
};

struct command_table {
	const struct command *const *commands;
	size_t count;        /* those that the help shows */
	size_t hidden_count; /* behind them, for scripts of this source tree */
	const char *text;    /* below the list of commands */
};

enum { COMMAND_PARSED = 0, COMMAND_FAILED = 1, COMMAND_USAGE = 2, COMMAND_HELPED = -1 };

/* What all commands' exit statuses mean. */
#define COMMAND_STATUSES "0 success, 1 it failed, 2 wrong arguments or a wrong configuration."

/*
 * Runs the command that argv names, and returns the exit status: that of the command, but 1 if its
 * output could not be written.
 */
int command_main(const struct command_table *t, int argc, char **argv);

/*
 * Fills `into`, which has the defaults. COMMAND_PARSED; COMMAND_USAGE after an error, which it has
 * printed; COMMAND_HELPED: it has printed the help.
 */
int command_parse(const struct command *c, int argc, char **argv, void *into);
/* Prints "pushgate NAME: text" and the usage on standard error. Returns COMMAND_USAGE. */
int command_usage_error(const struct command *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void command_print_overview(const struct command_table *t, FILE *out);
void command_print_usage(const struct command *c, FILE *out);
void command_print_help(const struct command *c, FILE *out);
/* The script that completes the command line in a shell, one of command_shell. */
void command_print_completion(const struct command_table *t, const char *shell, FILE *out);
const char *command_shell(size_t index); /* NULL after the last one */
/* A part of the manual, one of command_manual_part, as mdoc(7). */
void command_print_manual(const struct command_table *t, const char *part, FILE *out);
const char *command_manual_part(size_t index); /* NULL after the last one */
/* NULL: no command has this name. */
const struct command *command_find(const struct command_table *t, const char *name);
/* For the name of a command, an option or a word: what it was probably meant to be. */
static inline struct suggestion command_suggestion(struct slice word)
{
	return (struct suggestion){
	    .word = word, .distance = word.len < 5 ? 2 : 3, .takes_beginning = true};
}

/* The operand's row; NULL: this command has none. */
const struct command_option *command_operand(const struct command *c);
/* The option that takes the operand's place; NULL: none does. */
const struct command_option *command_instead(const struct command *c);

#endif
