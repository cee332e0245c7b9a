/* SPDX-License-Identifier: MIT */
/* The command `pushgate ech-key`: makes a key for `ech-keys`, and what clients must know of it. */
#include "proxy/tool/tool.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
	const char *name;
};

static int run(int argc, char **argv);

static const struct command_option options[] = {
    {.value = "NAME",
	.rules = COMMAND_REQUIRED,
	.at = offsetof(struct arguments, name),
	.sentence =
	    "the host that clients name in the open; the listener needs a certificate for it"},
};

const struct command tool_ech_key_command = {
    .name = "ech-key",
    .sentence = "make a key for Encrypted ClientHello",
    .text = "Prints a private key and its ECHConfigList as PEM, for the option ech-keys, and above "
	    "them, as "
	    "a comment, the parameter ech of the HTTPS records by which clients learn of it. "
	    "Nobody but "
	    "pushgate may read the key: umask 077; pushgate ech-key NAME > FILE.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .run = run,
};

static int run(int argc, char **argv)
{
	struct arguments a = {NULL};
	int parsed = command_parse(&tool_ech_key_command, argc, argv, &a);
	if (parsed != COMMAND_PARSED)
		return parsed == COMMAND_HELPED ? 0 : parsed;
	char *text = net_ech_make(a.name);
	if (!text)
		return command_usage_error(
		    &tool_ech_key_command, "'%s' is no name of a host", a.name);
	fputs(text, stdout);
	explicit_bzero(text, strlen(text));
	free(text);
	return 0;
}
