/* SPDX-License-Identifier: MIT */
/* Scripts that complete pushgate's command line, for bash, zsh and fish. */
#include "proxy/command/command.h"

static const char *const shells[] = {"bash", "zsh", "fish"};

const char *command_shell(size_t index)
{
	return index < sizeof(shells) / sizeof(shells[0]) ? shells[index] : NULL;
}

/* Prints the text for a place between single quotes; the characters in `escaped` get a backslash. */
static void print_quoted(FILE *out, const char *text, const char *escaped)
{
	for (const char *p = text; *p; p++) {
		if (*p == '\'')
			fputs("'\\''", out);
		else
			fprintf(out, "%s%c", strchr(escaped, *p) ? "\\" : "", *p);
	}
}

static void print_words(FILE *out, const char *(*words)(size_t index))
{
	const char *word;
	for (size_t i = 0; (word = words(i)); i++)
		fprintf(out, "%s%s", i > 0 ? " " : "", word);
}

/* How a shell completes a value, by enum command_kind. */
struct actions {
	const char *by_kind[COMMAND_WORD + 1];
	const char *behind_words;
};

static void print_action(FILE *out, const struct actions *a, const struct command_option *o)
{
	fputs(a->by_kind[o->kind], out);
	if (o->kind != COMMAND_WORD)
		return;
	print_words(out, o->words);
	fputs(a->behind_words, out);
}

/* ---- bash ---- */

static const struct actions bash_actions = {{[COMMAND_TEXT] = ":",
						[COMMAND_FILE] = "_pushgate_files",
						[COMMAND_USER] = "_pushgate_reply -u",
						[COMMAND_WORD] = "_pushgate_reply -W '"},
    "'"};

static void print_bash_command(FILE *out, const struct command *c)
{
	fprintf(out, "\t%s)\n\t\tcase $previous in\n", c->name);
	for (size_t i = 0; i < c->option_count; i++) {
		const struct command_option *o = &c->options[i];
		if (!o->name || !o->value)
			continue;
		fputs("\t\t", out);
		if (o->letter)
			fprintf(out, "-%c | ", o->letter);
		fprintf(out, "--%s)\n\t\t\t", o->name);
		print_action(out, &bash_actions, o);
		fputs("\n\t\t\treturn\n\t\t\t;;\n", out);
	}
	fputs("\t\tesac\n\t\toptions='", out);
	for (size_t i = 0; i < c->option_count; i++)
		if (c->options[i].name)
			fprintf(out, "--%s ", c->options[i].name);
	fputs("--help'\n", out);
	const struct command_option *operand = command_operand(c);
	if (operand && operand->kind != COMMAND_TEXT) {
		fputs("\t\t[[ $current == -* ]] || ", out);
		print_action(out, &bash_actions, operand);
		fputc('\n', out);
	}
	fputs("\t\t;;\n", out);
}

static void print_bash(const struct command_table *t, FILE *out)
{
	fputs("# Completes pushgate's command line in bash; made by `pushgate completion bash`.\n"
	      "_pushgate_reply()\n"
	      "{\n"
	      "\tmapfile -t COMPREPLY < <(compgen \"$@\" -- \"$current\")\n"
	      "}\n\n"
	      "_pushgate_files()\n"
	      "{\n"
	      "\tcompopt -o filenames 2> /dev/null\n"
	      "\t_pushgate_reply -f\n"
	      "}\n\n"
	      "_pushgate()\n"
	      "{\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} "
	      "options=\n"
	      "\tCOMPREPLY=()\n"
	      "\tif ((COMP_CWORD == 1)); then\n"
	      "\t\t_pushgate_reply -W '",
	    out);
	for (size_t i = 0; i < t->count; i++)
		fprintf(out, "%s ", t->commands[i]->name);
	fputs("--help --version'\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\t# bash makes three words of --name=value.\n"
	      "\tif [[ $current == = ]]; then\n"
	      "\t\tcurrent=\n"
	      "\telif [[ $previous == = ]]; then\n"
	      "\t\tprevious=${COMP_WORDS[COMP_CWORD - 2]}\n"
	      "\tfi\n"
	      "\tcase ${COMP_WORDS[1]} in\n",
	    out);
	for (size_t i = 0; i < t->count; i++)
		print_bash_command(out, t->commands[i]);
	fputs("\tesac\n"
	      "\t((${#COMPREPLY[@]} > 0)) || _pushgate_reply -W \"$options\"\n"
	      "}\n"
	      "complete -F _pushgate pushgate\n",
	    out);
}

/* ---- zsh ---- */

static const struct actions zsh_actions = {{[COMMAND_TEXT] = "",
					       [COMMAND_FILE] = "_files",
					       [COMMAND_USER] = "_users",
					       [COMMAND_WORD] = "("},
    ")"};

/* ":NAME:ACTION" of _arguments. */
static void print_zsh_value(FILE *out, const struct command_option *o)
{
	fputc(':', out);
	print_quoted(out, o->value, ":[]\\");
	fputc(':', out);
	print_action(out, &zsh_actions, o);
}

static void print_zsh_option(FILE *out, const struct command_option *o)
{
	bool repeats = o->rules & COMMAND_REPEATS;
	fputs(" \\\n\t\t\t", out);
	if (!o->name) {
		fputs(repeats ? "'*" : "'1", out);
		print_zsh_value(out, o);
		fputc('\'', out);
		return;
	}
	const char *value = o->value ? "=" : "";
	if (o->letter && repeats)
		fprintf(out, "'*'{-%c%s,--%s%s}'[", o->letter, o->value ? "+" : "", o->name, value);
	else if (o->letter)
		fprintf(out, "'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter,
		    o->value ? "+" : "", o->name, value);
	else
		fprintf(out, "'%s--%s%s[", repeats ? "*" : "", o->name, value);
	print_quoted(out, o->sentence, ":[]\\");
	fputc(']', out);
	if (o->value)
		print_zsh_value(out, o);
	fputc('\'', out);
}

static void print_zsh(const struct command_table *t, FILE *out)
{
	fputs("#compdef pushgate\n"
	      "# Completes pushgate's command line in zsh; made by `pushgate completion zsh`.\n"
	      "_pushgate()\n"
	      "{\n"
	      "\tlocal curcontext=$curcontext state line\n"
	      "\tlocal -a commands\n"
	      "\ttypeset -A opt_args\n"
	      "\t_arguments -C '(- *)'{-h,--help}'[list the commands]' "
	      "'(- *)'{-V,--version}'[print the version]' \\\n"
	      "\t\t'1: :->command' '*:: :->arguments'\n"
	      "\tcase $state in\n"
	      "\tcommand)\n"
	      "\t\tcommands=(",
	    out);
	for (size_t i = 0; i < t->count; i++) {
		const struct command *c = t->commands[i];
		fprintf(out, "\n\t\t\t'%s:", c->name);
		print_quoted(out, c->sentence, "\\");
		fputc('\'', out);
	}
	fputs(")\n"
	      "\t\t_describe command commands\n"
	      "\t\t;;\n"
	      "\targuments)\n"
	      "\t\tcase $words[1] in\n",
	    out);
	for (size_t i = 0; i < t->count; i++) {
		const struct command *c = t->commands[i];
		fprintf(out,
		    "\t\t%s)\n\t\t\t_arguments -s '(-h --help)'{-h,--help}'[print the help]'",
		    c->name);
		for (size_t k = 0; k < c->option_count; k++)
			print_zsh_option(out, &c->options[k]);
		fputs("\n\t\t\t;;\n", out);
	}
	fputs("\t\tesac\n"
	      "\t\t;;\n"
	      "\tesac\n"
	      "}\n"
	      "# Sourced, or loaded by its name when it is needed first.\n"
	      "if [[ $funcstack[1] = _pushgate ]]; then\n"
	      "\t_pushgate \"$@\"\n"
	      "else\n"
	      "\tcompdef _pushgate pushgate\n"
	      "fi\n",
	    out);
}

/* ---- fish ---- */

/* Of an option, behind " -x" or, for a file, " -r". */
static const struct actions fish_actions = {{[COMMAND_TEXT] = "",
						[COMMAND_FILE] = " -F",
						[COMMAND_USER] = " -a '(__fish_complete_users)'",
						[COMMAND_WORD] = " -a '"},
    "'"};

static void print_fish_option(FILE *out, const struct command *c, const struct command_option *o)
{
	if (!o->name && o->kind == COMMAND_TEXT)
		return;
	fprintf(out, "complete -c pushgate -n '__pushgate_command %s'", c->name);
	if (o->letter)
		fprintf(out, " -s %c", o->letter);
	if (o->name)
		fprintf(out, " -l %s", o->name);
	if (o->name && o->value)
		fputs(o->kind == COMMAND_FILE ? " -r" : " -x", out);
	if (o->value)
		print_action(out, &fish_actions, o);
	if (o->name) {
		fputs(" -d '", out);
		print_quoted(out, o->sentence, "\\");
		fputc('\'', out);
	}
	fputc('\n', out);
}

static void print_fish(const struct command_table *t, FILE *out)
{
	fputs("# Completes pushgate's command line in fish; made by `pushgate completion fish`.\n"
	      "function __pushgate_command\n"
	      "    set -l words (commandline -opc)\n"
	      "    test (count $words) -ge 2; and test \"$words[2]\" = $argv[1]\n"
	      "end\n"
	      "function __pushgate_no_command\n"
	      "    test (count (commandline -opc)) -eq 1\n"
	      "end\n"
	      "complete -c pushgate -f\n"
	      "complete -c pushgate -s h -l help -d 'print the help'\n"
	      "complete -c pushgate -n __pushgate_no_command -s V -l version -d 'print the "
	      "version'\n",
	    out);
	for (size_t i = 0; i < t->count; i++) {
		const struct command *c = t->commands[i];
		fprintf(out, "complete -c pushgate -n __pushgate_no_command -a %s -d '", c->name);
		print_quoted(out, c->sentence, "\\");
		fputs("'\n", out);
		for (size_t k = 0; k < c->option_count; k++)
			print_fish_option(out, c, &c->options[k]);
	}
}

void command_print_completion(const struct command_table *t, const char *shell, FILE *out)
{
	if (strcmp(shell, "bash") == 0)
		print_bash(t, out);
	else if (strcmp(shell, "zsh") == 0)
		print_zsh(t, out);
	else
		print_fish(t, out);
}
