/* SPDX-License-Identifier: MIT */
/* The command `pushgate upgrade`: asks for an upgrade of the program, and waits for its end. */
#include "proxy/base/hash.h"
#include "proxy/process/answer.h"
#include "proxy/process/reload_request.h"
#include "proxy/tool/tool.h"
#include <inttypes.h>
#include <stdio.h>

struct arguments {
	const char *conf;
	const char *socket; /* NULL: not given */
};

static int run(int argc, char **argv);

static const struct command_option options[] = {
    {.letter = 'c',
	.name = "config",
	.value = "FILE",
	.kind = COMMAND_FILE,
	.rules = COMMAND_INSTEAD,
	.at = offsetof(struct arguments, conf),
	.sentence = "the configuration (default: " TOOL_DEFAULT_CONF ")"},
    {.value = "SOCKET",
	.kind = COMMAND_FILE,
	.at = offsetof(struct arguments, socket),
	.sentence = "the status-socket itself"},
};

const struct command process_upgrade_command = {
    .name = "upgrade",
    .sentence = "let another program take the place of a running pushgate",
    .text =
	"Has the running pushgate start the file of its program again, by the name that it was "
	"started with. The new process reads the configuration, takes the listening sockets over "
	"and says when it serves; then the old one ends its connections as after a reload. Waits "
	"for that. If the new process does not come up, the old one goes on, and its standard "
	"error has the reason. It needs the status-socket of the configuration.",
    .statuses = "2 also for a mistake in the configuration.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .run = run,
};

static int ask(const char *socket)
{
	char name[64];
	int n = snprintf(name, sizeof(name), UPGRADE_REQUEST "%016" PRIx64, hash_random_seed());
	return answer_ask(process_upgrade_command.name, socket, slice_of(name, (size_t)n),
	    "no other program takes its place: it runs with --single, or is of an older version");
}

static int run(int argc, char **argv)
{
	struct arguments a = {.conf = TOOL_DEFAULT_CONF};
	int parsed = command_parse(&process_upgrade_command, argc, argv, &a);
	if (parsed != COMMAND_PARSED)
		return parsed == COMMAND_HELPED ? 0 : parsed;
	if (a.socket)
		return ask(a.socket);
	struct conf *conf = process_load_status_socket(process_upgrade_command.name, a.conf);
	if (!conf)
		return COMMAND_USAGE;
	int status = ask(conf->server.status_socket);
	conf_free(conf);
	return status;
}
