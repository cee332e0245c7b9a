/* SPDX-License-Identifier: MIT */
/* The table of commands, and those that need no file of their own. */
#include "proxy/base/cidr.h"
#include "proxy/command/command.h"
#include "proxy/conf/conf.h"
#include "proxy/limits.h"
#include "proxy/process/process.h"
#include "proxy/report/report.h"
#include "proxy/tool/tool.h"
#include "proxy/top/top.h"
#include <stdlib.h>

#define DEFAULT_TRACE_SECONDS 60

/* What the arguments of the commands below are read into. */
struct arguments {
	const char *conf;
	bool single, json, strict;
	const char *user;    /* NULL: not given */
	const char *operand; /* NULL: not given */
	struct cidr clients;
	uint32_t seconds;
};

#define AT(member) offsetof(struct arguments, member)
#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
// clang-format off
#define CONFIG_OPTION(rules_) \
	{.letter = 'c', .name = "config", .value = "FILE", .kind = COMMAND_FILE, .rules = (rules_), \
	    .at = AT(conf), .sentence = "the configuration (default: " TOOL_DEFAULT_CONF ")"}
// clang-format on

/* Reads the arguments and acts, for each command of this file: see the table of acts. */
static int run_own(int argc, char **argv);

/* ---- run ---- */

static const struct command_option run_options[] = {
    CONFIG_OPTION(0),
    {.name = "single",
	.at = AT(single),
	.sentence = "one worker in the foreground is the only process"},
};

static const struct command run_command = {
    .name = "run",
    .sentence = "serve clients",
    .text = "Serves clients. A master opens the sockets and watches the other processes. Workers, "
	    "one for each processor unless the configuration says otherwise, do the work. A logger "
	    "writes their log lines, a files process reads and writes the files that may change "
	    "meanwhile, and a password process checks users' passwords.",
    .options = run_options,
    .option_count = COUNT(run_options),
    .run = run_own,
};

static int run(const struct arguments *a)
{
	return process_run(a->conf, a->single);
}

/* ---- check ---- */

static const struct command_option check_options[] = {
    CONFIG_OPTION(0),
    {.name = "as",
	.value = "USER",
	.kind = COMMAND_USER,
	.at = AT(user),
	.sentence = "as if this user started pushgate; only root may name another user"},
    {.name = "strict", .at = AT(strict), .sentence = "a warning makes the exit status 2, too"},
    {.name = "json", .at = AT(json), .sentence = "print one JSON object, for editors and CI"},
};

static const struct command check_command = {
    .name = "check",
    .sentence = "print what is wrong with the configuration, or missing",
    .text =
	"Reads the configuration, and tries what run would need of this machine: users, "
	"addresses, folders, files. Prints every finding with the line of its option and what to "
	"do, and changes nothing. What may pass by itself, such as a port that is in use, and "
	"what run serves with all the same is a warning.\n\n"
	"As root it opens what workers open as their user. docs/CHECK.md says which shape the "
	"JSON object has.",
    .options = check_options,
    .option_count = COUNT(check_options),
    .run = run_own,
};

static int check(const struct arguments *a)
{
	return process_check(a->conf, a->user, a->strict, a->json);
}

/* ---- help-config ---- */

static const struct command_option help_config_options[] = {
    {.name = "json", .at = AT(json), .sentence = "print one JSON object, for editors"},
    {.value = "SECTION",
	.kind = COMMAND_WORD,
	.words = conf_help_topic,
	.at = AT(operand),
	.sentence = "the options of this section alone; example: a file with all options"},
};

static const struct command help_config_command = {
    .name = "help-config",
    .sentence = "list the configuration's options",
    .text = "Lists the options of the configuration: what each means, its values and its default. "
	    "docs/CHECK.md says which shape the JSON object has.",
    .options = help_config_options,
    .option_count = COUNT(help_config_options),
    .run = run_own,
};

static int help_config(const struct arguments *a)
{
	if (!a->json)
		conf_print_help(stdout, a->operand);
	else if (a->operand && strcmp(a->operand, CONF_HELP_EXAMPLE) == 0)
		return command_usage_error(
		    &help_config_command, "the %s is a file; leave out --json", a->operand);
	else
		conf_print_help_json(stdout, a->operand);
	return 0;
}

/* ---- status, reload ---- */

static const struct command_option status_options[] = {
    CONFIG_OPTION(COMMAND_INSTEAD),
    {.name = "json", .at = AT(json), .sentence = "print one JSON object"},
    {.value = "SOCKET",
	.kind = COMMAND_FILE,
	.at = AT(operand),
	.sentence = "the status-socket itself"},
};

static const struct command status_command = {
    .name = "status",
    .sentence = "print the counters of a running pushgate",
    .text = "Prints the counters of a running pushgate, which it asks through the status-socket of "
	    "its configuration. The output is in Prometheus' text format; at a terminal the lines "
	    "that only a program reads (HELP, TYPE) are left out. docs/COUNTERS.md says what each "
	    "counter means, and which shape the JSON object has.",
    .options = status_options,
    .option_count = COUNT(status_options),
    .run = run_own,
};

static int status_of(const struct arguments *a)
{
	if (a->operand)
		return process_status(a->operand, a->json);
	struct conf *conf = process_load_status_socket(status_command.name, a->conf);
	if (!conf)
		return COMMAND_USAGE;
	int status = process_status(conf->server.status_socket, a->json);
	conf_free(conf);
	return status;
}

static const struct command_option reload_options[] = {
    CONFIG_OPTION(COMMAND_INSTEAD),
    {.value = "SOCKET",
	.kind = COMMAND_FILE,
	.at = AT(operand),
	.sentence = "the status-socket itself"},
};

static const struct command reload_command = {
    .name = "reload",
    .sentence = "have a running pushgate use its changed configuration",
    .text = "Has the running pushgate read its configuration again, which it asks through the "
	    "status-socket, and waits until that is used or refused. Prints what is wrong with "
	    "it; then nothing has changed. The exit status is 0, 1 for what may pass by itself, "
	    "such as a port that is in use, and 2 for a mistake. Without a status-socket it "
	    "sends SIGHUP to the process MAINPID, which systemd sets in the environment of "
	    "ExecReload, and does not wait.",
    .options = reload_options,
    .option_count = COUNT(reload_options),
    .run = run_own,
};

static int reload(const struct arguments *a)
{
	if (a->operand)
		return process_reload(a->operand);
	const char *main_pid = getenv("MAINPID");
	struct conf *conf = main_pid
				? conf_load(a->conf, false, &(struct conf_findings){.text = stderr})
				: process_load_status_socket(reload_command.name, a->conf);
	if (!conf)
		return COMMAND_USAGE;
	int status = conf->server.status_socket ? process_reload(conf->server.status_socket)
						: process_reload_signal(main_pid);
	conf_free(conf);
	return status;
}

/* ---- trace ---- */

static const char *set_clients(void *into, char *text)
{
	struct arguments *a = into;
	return cidr_parse(slice_of_string(text), &a->clients);
}

static const char *set_seconds(void *into, char *text)
{
	struct arguments *a = into;
	uint64_t seconds;
	_Static_assert(LIMIT_TRACE_SECONDS == 3600, "the texts say so");
	if (!slice_to_number(slice_of_string(text), LIMIT_TRACE_SECONDS, &seconds) || seconds == 0)
		return "write 1 to 3600";
	a->seconds = (uint32_t)seconds;
	return NULL;
}

static const struct command_option trace_options[] = {
    CONFIG_OPTION(0),
    {.letter = 't',
	.name = "seconds",
	.value = "N",
	.set = set_seconds,
	.sentence = "end after so many seconds (default: 60, at most 3600)"},
    {.value = "ADDRESS[/BITS]",
	.rules = COMMAND_REQUIRED,
	.set = set_clients,
	.sentence = "the clients' address, or the network that they are in"},
};

static const struct command trace_command = {
    .name = "trace",
    .sentence = "print the frames of a client's connections",
    .text =
	"Has the running pushgate trace the client connections from an address, and prints a line "
	"for each HTTP/2 frame on them, or in HTTP/1.1 for each head: time, worker, listen "
	"section, "
	"client, stream, direction (<- from the client, -> to it), type and length. Fields and "
	"bodies are not shown. Connections that are open already are traced from now on."
	"\n\n"
	"It ends after N seconds or when the command is interrupted. It needs the status-socket of "
	"the configuration. Four such traces may be on at a time. Lines that are not read in time "
	"are left out, and a line says how many. The option trace of the configuration traces to "
	"the error log without end.",
    .options = trace_options,
    .option_count = COUNT(trace_options),
    .run = run_own,
};

static int trace(const struct arguments *a)
{
	struct conf *conf = process_load_status_socket(trace_command.name, a->conf);
	if (!conf)
		return COMMAND_USAGE;
	int status = process_trace(conf->server.status_socket, &a->clients, a->seconds);
	conf_free(conf);
	return status;
}

/* ---- version, help ---- */

static const char *command_word(size_t index);

static const struct command version_command = {
    .name = "version",
    .sentence = "print the version",
    .text = "Prints the version, which protocols it speaks, and the groups of TLS that the linked "
	    "BoringSSL has.",
    .run = run_own,
};

static int version(const struct arguments *a)
{
	(void)a;
	puts("pushgate " PUSHGATE_VERSION "\n"
	     "HTTP/2 (RFC 9113) and HTTP/1.1 (RFC 9112) on both hops, over TLS and in cleartext\n"
	     "server push: accepted from origins, made for them, decided by rules, promised to "
	     "clients\n"
	     "also: HPACK (RFC 7541), priorities (RFC 9218), Proxy-Status (RFC 9209)");
	char groups[128];
	printf("TLS 1.2 and 1.3 by %s, with the groups %s\n", net_tls_library(),
	    net_tls_groups(groups, sizeof(groups)));
	return 0;
}

static const struct command_option completion_options[] = {
    {.value = "SHELL",
	.kind = COMMAND_WORD,
	.rules = COMMAND_REQUIRED,
	.words = command_shell,
	.at = AT(operand),
	.sentence = "bash, zsh or fish"},
};

static const struct command completion_command = {
    .name = "completion",
    .sentence = "print a script that completes this command line in a shell",
    .text = "Prints a script with which a shell completes commands, options and their values. An "
	    "installed pushgate brings the scripts along; otherwise "
	    "`source <(pushgate completion bash)` loads it.",
    .options = completion_options,
    .option_count = COUNT(completion_options),
    .run = run_own,
};

static const struct command_option manual_options[] = {
    {.value = "PART",
	.kind = COMMAND_WORD,
	.rules = COMMAND_REQUIRED,
	.words = command_manual_part,
	.at = AT(operand),
	.sentence = "the part"},
};

static const struct command manual_command = {
    .name = "manual",
    .sentence = "print a part of the manual that is made from the table of commands",
    .text = "Prints a part of the manual, for scripts/make-docs.",
    .options = manual_options,
    .option_count = COUNT(manual_options),
    .run = run_own,
};

static const struct command_option help_options[] = {
    {.value = "COMMAND",
	.kind = COMMAND_WORD,
	.words = command_word,
	.at = AT(operand),
	.sentence = "describe this command, like `pushgate COMMAND --help`"},
};

static const struct command help_command = {
    .name = "help",
    .sentence = "list the commands, or describe one",
    .text = "Lists the commands, or describes one of them.",
    .options = help_options,
    .option_count = COUNT(help_options),
    .run = run_own,
};

static const struct command *const commands[] = {
    &run_command,
    &check_command,
    &help_config_command,
    &reload_command,
    &process_server_command,
    &status_command,
    &top_command,
    &trace_command,
    &process_upgrade_command,
    &tool_fetch_command,
    &tool_explain_command,
    &tool_ech_key_command,
    &report_command,
    &version_command,
    &completion_command,
    &help_command,
    /* Hidden. */
    &manual_command,
};

static const struct command_table table = {
    .commands = commands,
    .count = COUNT(commands) - 1,
    .hidden_count = 1,
    .text = "`pushgate COMMAND --help` describes a command. The configuration is " TOOL_DEFAULT_CONF
	    " unless -c FILE names another.",
};

static const char *command_word(size_t index)
{
	return index < table.count ? commands[index]->name : NULL;
}

static int completion(const struct arguments *a)
{
	command_print_completion(&table, a->operand, stdout);
	return 0;
}

static int manual(const struct arguments *a)
{
	command_print_manual(&table, a->operand, stdout);
	return 0;
}

static int help(const struct arguments *a)
{
	if (a->operand)
		command_print_help(command_find(&table, a->operand), stdout);
	else
		command_print_overview(&table, stdout);
	return 0;
}

static const struct {
	const struct command *command;
	int (*act)(const struct arguments *a);
} acts[] = {
    {&run_command, run},
    {&check_command, check},
    {&help_config_command, help_config},
    {&status_command, status_of},
    {&reload_command, reload},
    {&trace_command, trace},
    {&version_command, version},
    {&completion_command, completion},
    {&help_command, help},
    {&manual_command, manual},
};

static int run_own(int argc, char **argv)
{
	struct arguments a = {.conf = TOOL_DEFAULT_CONF, .seconds = DEFAULT_TRACE_SECONDS};
	size_t i = 0;
	while (acts[i].command != command_find(&table, argv[0]))
		i++;
	int parsed = command_parse(acts[i].command, argc, argv, &a);
	if (parsed == COMMAND_PARSED)
		return acts[i].act(&a);
	return parsed == COMMAND_HELPED ? 0 : parsed;
}

int main(int argc, char **argv)
{
	tool_explain_asks(process_status_text);
	return command_main(&table, argc, argv);
}
