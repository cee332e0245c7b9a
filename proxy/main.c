/* SPDX-License-Identifier: MIT */
/* The command line: finds the command, reads its options and runs it. */
#include "proxy/base/cidr.h"
#include "proxy/conf/conf.h"
#include "proxy/limits.h"
#include "proxy/process/process.h"
#include "proxy/tool/tool.h"
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_CONF TOOL_DEFAULT_CONF
#define DEFAULT_TRACE_SECONDS 60

/* A script sees one exit status for wrong arguments and for a wrong configuration. */
enum { EXIT_USAGE = 2 };

struct command {
	const char *name, *arguments, *sentence;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

static int run(int argc, char **argv);
static int check(int argc, char **argv);
static int help_config(int argc, char **argv);
static int status(int argc, char **argv);
static int trace(int argc, char **argv);
static int version(int argc, char **argv);
static int help(int argc, char **argv);

static const struct command commands[] = {
    {"run", "[-c FILE] [--single]", "serve clients; --single: in one process", run},
    {"check", "[-c FILE] [--as USER] [--strict]",
	"print what is wrong with the configuration, or missing", check},
    {"help-config", "[SECTION]", "list the configuration's options", help_config},
    {"status", "[-c FILE | SOCKET]", "print the counters of a running pushgate", status},
    {"trace", "[options] ADDRESS", "print the frames of a client's connections", trace},
    {"fetch", "[options] URL", "get a URL and show what was pushed with it", tool_fetch},
    {"explain", "[options] URL", "print the decision on each push, and why", tool_explain},
    {"version", "", "print the version", version},
    {"help", "", "print this", help},
};

static void print_usage(FILE *out)
{
	fputs("usage: pushgate COMMAND …\n\n", out);
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		fprintf(out, "  %-12s %-20s %s\n", commands[i].name, commands[i].arguments,
		    commands[i].sentence);
	fputs("\nFILE is " DEFAULT_CONF
	      " unless given. `pushgate COMMAND --help` lists the options of trace, fetch\n"
	      "and explain.\n",
	    out);
}

static int usage_error(const char *command, const char *what, const char *word)
{
	fprintf(stderr, "pushgate %s: %s%s%s; see `pushgate help`\n", command, what,
	    word ? " " : "", word ? word : "");
	return EXIT_USAGE;
}

struct options {
	const char *conf;
	bool conf_given;
	bool single;
	bool strict;
	const char *user;    /* of --as, or NULL */
	const char *seconds; /* as given, or NULL */
	const char *rest;    /* the argument that is not an option, or NULL */
};

/*
 * Reads the options that the flags allow: -c FILE, --single, --seconds N, and one more argument.
 * False after a usage error, which it has printed.
 */
static bool read_options(int argc, char **argv, const char *shorts, bool may_be_single,
    bool may_have_rest, struct options *o)
{
	static const struct option longs[] = {
	    {"single", no_argument, NULL, 's'},
	    {"config", required_argument, NULL, 'c'},
	    {"seconds", required_argument, NULL, 't'},
	    {"as", required_argument, NULL, 'u'},
	    {"strict", no_argument, NULL, 'a'},
	    {NULL, 0, NULL, 0},
	};
	*o = (struct options){.conf = DEFAULT_CONF};
	opterr = 0;
	optind = 1;
	for (int c; (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1;) {
		if (c == 'c' && strchr(shorts, 'c')) {
			o->conf = optarg;
			o->conf_given = true;
		} else if (c == 's' && may_be_single) {
			o->single = true;
		} else if (c == 't' && strchr(shorts, 't')) {
			o->seconds = optarg;
		} else if (c == 'u' && strchr(shorts, 'u')) {
			o->user = optarg;
		} else if (c == 'a' && strchr(shorts, 'a')) {
			o->strict = true;
		} else {
			const char *word = optind > 1 ? argv[optind - 1] : NULL;
			usage_error(argv[0],
			    c == ':' ? "a value is missing after" : "unknown option", word);
			return false;
		}
	}
	if (optind < argc && may_have_rest)
		o->rest = argv[optind++];
	if (optind < argc) {
		usage_error(argv[0], "unexpected argument", argv[optind]);
		return false;
	}
	return true;
}

static int run(int argc, char **argv)
{
	struct options o;
	if (!read_options(argc, argv, "+:c:", true, false, &o))
		return EXIT_USAGE;
	return process_run(o.conf, o.single);
}

static int check(int argc, char **argv)
{
	struct options o;
	if (!read_options(argc, argv, "+:c:au", false, false, &o))
		return EXIT_USAGE;
	return process_check(o.conf, o.user, o.strict);
}

static int help_config(int argc, char **argv)
{
	struct options o;
	if (!read_options(argc, argv, "+:", false, true, &o))
		return EXIT_USAGE;
	conf_print_help(stdout, o.rest);
	return 0;
}

static int status(int argc, char **argv)
{
	struct options o;
	if (!read_options(argc, argv, "+:c:", false, true, &o))
		return EXIT_USAGE;
	if (o.rest && o.conf_given)
		return usage_error("status", "give -c FILE or SOCKET, not both", NULL);
	if (o.rest)
		return process_status(o.rest);
	struct conf *conf = conf_load(o.conf, false, stderr);
	if (!conf)
		return EXIT_USAGE;
	int result = EXIT_USAGE;
	if (conf->server.status_socket)
		result = process_status(conf->server.status_socket);
	else
		fprintf(stderr, "pushgate status: %s sets no status-socket\n", o.conf);
	conf_free(conf);
	return result;
}

static int print_trace_usage(FILE *out, int status)
{
	fputs("usage: pushgate trace [-c FILE] [-t N | --seconds N] ADDRESS[/BITS]\n\n"
	      "Prints a line for each HTTP/2 frame on the connections of the clients with this\n"
	      "address, those that are open included: when, listen section, client, stream,\n"
	      "type and length; <- came from the client, -> goes to it. Contents are not shown.\n"
	      "It ends after N seconds (60, at most 3600) or with Ctrl-C. FILE is\n" DEFAULT_CONF
	      " unless given; it names the status-socket of the running pushgate.\n",
	    out);
	return status;
}

static int trace_error(const char *what, const char *word, const char *why)
{
	fprintf(stderr, "pushgate trace: %s%s%s%s%s\n", what, word ? " " : "", word ? word : "",
	    why ? ": " : "", why ? why : "");
	return print_trace_usage(stderr, EXIT_USAGE);
}

static int trace_clients(const char *path, const struct cidr *from, uint32_t seconds)
{
	struct conf *conf = conf_load(path, false, stderr);
	if (!conf)
		return EXIT_USAGE;
	int result = EXIT_USAGE;
	if (conf->server.status_socket)
		result = process_trace(conf->server.status_socket, from, seconds);
	else
		fprintf(stderr, "pushgate trace: %s sets no status-socket\n", path);
	conf_free(conf);
	return result;
}

static int trace(int argc, char **argv)
{
	struct options o;
	struct cidr from;
	uint64_t seconds = DEFAULT_TRACE_SECONDS;
	if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return print_trace_usage(stdout, 0);
	/* Without '+': the options may follow the address. */
	if (!read_options(argc, argv, ":c:t:", false, true, &o))
		return print_trace_usage(stderr, EXIT_USAGE);
	if (!o.rest)
		return trace_error("an address is missing", NULL, NULL);
	const char *wrong = cidr_parse(slice_of_string(o.rest), &from);
	if (wrong)
		return trace_error("bad address", o.rest, wrong);
	if (o.seconds &&
	    (!slice_to_number(slice_of_string(o.seconds), LIMIT_TRACE_SECONDS, &seconds) ||
		seconds == 0))
		return trace_error("bad number of seconds", o.seconds, "write 1 to 3600");
	return trace_clients(o.conf, &from, (uint32_t)seconds);
}

static int version(int argc, char **argv)
{
	struct options o;
	if (!read_options(argc, argv, "+:", false, false, &o))
		return EXIT_USAGE;
	puts("pushgate " PUSHGATE_VERSION "\n"
	     "HTTP/2 (RFC 9113) on both hops: TLS with ALPN h2, and h2c with prior knowledge\n"
	     "server push: accepted from origins, decided by rules, promised to clients\n"
	     "also: HPACK (RFC 7541), priorities (RFC 9218), Proxy-Status (RFC 9209)");
	return 0;
}

static int help(int argc, char **argv)
{
	(void)argc, (void)argv;
	print_usage(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		name = "help";
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(name, commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "pushgate: unknown command %s\n\n", name);
	print_usage(stderr);
	return EXIT_USAGE;
}
