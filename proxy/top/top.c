/* SPDX-License-Identifier: MIT */
/* The command `pushgate top`: its options; and the one page for an output that is no terminal. */
#include "proxy/top/top.h"
#include "proxy/top/top_private.h"

#include "proxy/base/clock.h"
#include "proxy/process/process.h"
#include "proxy/tool/tool.h"
#include <stddef.h>
#include <unistd.h>

struct options {
	const char *conf, *socket; /* socket NULL: that of the configuration */
	bool once;
};

#define AT(member) offsetof(struct options, member)
static const struct command_option options[] = {
    {.letter = 'c',
	.name = "config",
	.value = "FILE",
	.kind = COMMAND_FILE,
	.rules = COMMAND_INSTEAD,
	.at = AT(conf),
	.sentence = "the configuration (default: " TOOL_DEFAULT_CONF ")"},
    {.name = "once", .at = AT(once), .sentence = "print one page, with averages since the start"},
    {.value = "SOCKET",
	.kind = COMMAND_FILE,
	.at = AT(socket),
	.sentence = "the status-socket itself"},
};

bool top_ask(const char *socket_path, struct top_samples *s, const char **error)
{
	char *text = process_status_ask(socket_path, error);
	if (text)
		top_samples_read(s, text, (double)clock_wall() / USEC_PER_SEC);
	return text != NULL;
}

static int print_once(const char *socket_path)
{
	static const struct top_samples none = {0};
	struct top_samples now;
	const char *error;
	if (!top_ask(socket_path, &now, &error)) {
		fprintf(stderr, "pushgate top: %s: %s\n", socket_path, error);
		return COMMAND_FAILED;
	}
	const struct top_view view = {
	    .before = &none,
	    .now = &now,
	    .seconds = top_up(&now),
	    .is_since_start = true,
	};
	(void)top_page(&view, 0, 0, "\n", stdout);
	top_samples_free(&now);
	return COMMAND_PARSED;
}

static int show(const char *socket_path, bool once)
{
	bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	return once || !is_terminal ? print_once(socket_path) : top_show(socket_path);
}

static int run(int argc, char **argv)
{
	struct options o = {.conf = TOOL_DEFAULT_CONF};
	int parsed = command_parse(&top_command, argc, argv, &o);
	if (parsed != COMMAND_PARSED)
		return parsed == COMMAND_HELPED ? 0 : parsed;
	if (o.socket)
		return show(o.socket, o.once);
	struct conf *conf = process_load_status_socket(top_command.name, o.conf);
	if (!conf)
		return COMMAND_USAGE;
	int status = show(conf->server.status_socket, o.once);
	conf_free(conf);
	return status;
}

const struct command top_command = {
    .name = "top",
    .sentence = "show what a running pushgate does, each second anew",
    .text = "Shows at a terminal what the running pushgate does: requests, responses, latencies, "
	    "connections, pushes, held responses, rules, servers and processes, each second "
	    "anew. It reads the counters of `pushgate status` through the status-socket of the "
	    "configuration. q and ^C leave.\n\n"
	    "With --once, and where the output is no terminal, it prints one page, whose rates are "
	    "averages since the start.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .run = run,
};
