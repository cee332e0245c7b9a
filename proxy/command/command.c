/* SPDX-License-Identifier: MIT */
/* Finds the command that the program's arguments name, and runs it. */
#include "proxy/command/command.h"
#include <errno.h>
#include <stdint.h>

const struct command *command_find(const struct command_table *t, const char *name)
{
	for (size_t i = 0; i < t->count + t->hidden_count; i++)
		if (strcmp(t->commands[i]->name, name) == 0)
			return t->commands[i];
	return NULL;
}

static int unknown_command(const struct command_table *t, const char *name)
{
	struct suggestion s = command_suggestion(slice_of_string(name));
	for (size_t i = 0; i < t->count; i++)
		suggest_compare(&s, slice_of_string(t->commands[i]->name), t->commands[i]->name);
	const char *near = s.item;
	fprintf(stderr, "pushgate: there is no command '%s'", name);
	if (near)
		fprintf(stderr, "; did you mean '%s'?", near);
	fputs("\nSee `pushgate help`.\n", stderr);
	return COMMAND_USAGE;
}

/*
 * Output that was lost is a failure, whatever the command itself thinks. Where the reader of a pipe
 * has gone, which mostly ends the process by SIGPIPE, nothing needs to be said.
 */
static int end(const char *name, int status)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "pushgate %s: cannot write the output: %s\n", name,
		    errno ? strerror(errno) : "a write failed");
	return status == 0 ? COMMAND_FAILED : status;
}

int command_main(const struct command_table *t, int argc, char **argv)
{
	if (argc < 2) {
		command_print_overview(t, stderr);
		return COMMAND_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	const struct command *c = command_find(t, name);
	if (!c)
		return unknown_command(t, name);
	argv[1] = (char *)(uintptr_t)c->name; /* it may have been --help */
	return end(c->name, c->run(argc - 1, argv + 1));
}
