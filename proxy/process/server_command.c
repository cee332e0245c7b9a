/* SPDX-License-Identifier: MIT */
/* The command `pushgate server`: gives an order for one server of an origin. */
#include "proxy/base/hash.h"
#include "proxy/process/answer.h"
#include "proxy/process/server_request.h"
#include "proxy/tool/tool.h"

/* An origin, a server's URL, and an order. */
enum { WORDS = 3 };

struct arguments {
	const char *conf;
	const char *words[WORDS];
	const char *surplus; /* NULL: there is none */
	size_t count;
	struct server_change change;
};

static const char *set_word(void *into, char *text)
{
	struct arguments *a = into;
	if (a->count == WORDS) {
		a->surplus = text;
		return NULL;
	}
	a->words[a->count++] = text;
	return a->count < WORDS ? NULL : server_change_parse(slice_of_string(text), &a->change);
}

static int run(int argc, char **argv);

static const struct command_option options[] = {
    {.letter = 'c',
	.name = "config",
	.value = "FILE",
	.kind = COMMAND_FILE,
	.at = offsetof(struct arguments, conf),
	.sentence = "the configuration (default: " TOOL_DEFAULT_CONF ")"},
    {.value = "ORIGIN URL ORDER",
	.rules = COMMAND_REQUIRED | COMMAND_REPEATS,
	.set = set_word,
	.sentence = "the name of the origin; the server as its line has it, or as much of that "
		    "as tells it from others; drain, ready, down or weight=N"},
};

const struct command process_server_command = {
    .name = "server",
    .sentence = "drain a server of an origin, or use it again",
    .text = "Has the running pushgate treat one server of an [origin] in another way:\n\n"
	    "drain: it gets no new requests, and those that are open end. down: the same, and its "
	    "connections are cut; requests that may be sent again go to other servers. ready: as "
	    "the configuration and its checks say. weight=N (1 to 256): in place of the configured "
	    "weight; the configured one takes it back.\n\n"
	    "It returns when all workers obey. The order holds over reloads until another one is "
	    "given or the server is gone from the configuration, and not over a restart. pushgate "
	    "status shows it, with the number of requests that are still open. It needs the "
	    "status-socket of the configuration.",
    .statuses = "2 also for an origin or a server that the configuration in use does not have.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .run = run,
};

static int run(int argc, char **argv)
{
	struct arguments a = {.conf = TOOL_DEFAULT_CONF};
	char name[SERVER_REQUEST_BYTES];
	int parsed = command_parse(&process_server_command, argc, argv, &a);
	if (parsed != COMMAND_PARSED)
		return parsed == COMMAND_HELPED ? 0 : parsed;
	if (a.surplus)
		return command_usage_error(
		    &process_server_command, "unexpected argument '%s'", a.surplus);
	if (a.count < WORDS)
		return command_usage_error(
		    &process_server_command, "an origin, a server and an order are needed");
	struct conf *conf = process_load_status_socket(process_server_command.name, a.conf);
	if (!conf)
		return COMMAND_USAGE;
	size_t length =
	    server_request_write(a.words[0], a.words[1], &a.change, hash_random_seed(), name);
	int status = answer_ask(process_server_command.name, conf->server.status_socket,
	    slice_of(name, length),
	    "it takes no orders for servers: it runs with --single, or is of an older version");
	conf_free(conf);
	return status;
}
