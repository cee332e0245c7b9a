/* SPDX-License-Identifier: MIT */
/* Reads the options of `pushgate explain`. explain_request.c parses the URL and the promises. */
#include "proxy/base/ascii.h"
#include "proxy/tool/explain.h"
#include "proxy/tool/tool.h"
#include <getopt.h>
#include <math.h>
#include <stdlib.h>

/* RFC 5737 3: an address reserved for documentation. */
#define EXAMPLE_ADDRESS SLICE("192.0.2.1")

static const char help_text[] =
    "usage: pushgate explain [-c FILE] [options] URL\n"
    "       pushgate explain [-c FILE] --log FILE\n"
    "\n"
    "Prints, without serving anything, how each offer of a push would be decided: the guards and\n"
    "rules that were asked, the verdict, its reason, and what the client would get.\n"
    "\n"
    "  -c, --config FILE              the configuration\n"
    "  -H, --header 'N: VALUE'        a field of the client's request\n"
    "      --client ADDRESS|unix      the client's address (192.0.2.1); unix: a unix socket\n"
    "      --client push|chrome|curl|h1\n"
    "                                 push: accepts pushes (the default);\n"
    "                                 chrome: ENABLE_PUSH=0, a navigation;\n"
    "                                 curl: ENABLE_PUSH=0, no navigation; h1: HTTP/1.1\n"
    "      --listen NAME              the client's [listen] section (the first that serves this\n"
    "                                 client the URL's scheme)\n"
    "      --rtt MILLISECONDS         the client's round trip time (default: not measured)\n"
    "      --promise [METHOD ]URL     the origin promises this path or URL; may be repeated\n"
    "      --response-header 'N: V'   a field of the origin's response, such as Link\n"
    "      --status CODE              status of that response (200)\n"
    "      --log FILE                 decides the pushes of an access log again and prints the\n"
    "                                 differences (-: standard input)\n"
    "\n"
    "The client is new: nothing was pushed to it, held for it or paused before. When a pushed\n"
    "response comes, its status, type and length are reviewed too; that is not shown here.\n"
    "\n"
    "Exit status: 0; 1 if --log finds differences; 2 wrong arguments or configuration.\n";

static int usage_error(const char *what, const char *word)
{
	fprintf(stderr, "pushgate explain: %s%s%s; see `pushgate explain --help`\n", what,
	    word ? " " : "", word ? word : "");
	return EXPLAIN_USAGE;
}

static int add_field(struct explain_field *fields, size_t *count, char *text)
{
	char *colon = strchr(text, ':');
	if (!colon || colon == text)
		return usage_error("a header must look like 'Name: value', not", text);
	if (*count == EXPLAIN_FIELDS_MAX)
		return usage_error("too many headers", NULL);
	for (char *p = text; p < colon; p++)
		*p = ascii_lower(*p);
	fields[(*count)++] = (struct explain_field){
	    .name = slice_of(text, (size_t)(colon - text)),
	    .value = slice_trim(slice_of_string(colon + 1)),
	};
	return EXPLAIN_OK;
}

static int set_client(struct explain_options *o, const char *text)
{
	static const struct {
		const char *name;
		enum explain_kind kind;
	} kinds[] = {
	    {"push", EXPLAIN_PUSH},
	    {"chrome", EXPLAIN_CHROME},
	    {"curl", EXPLAIN_CURL},
	    {"h1", EXPLAIN_HTTP1},
	};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, text) != 0)
			continue;
		o->kind = kinds[i].kind;
		return EXPLAIN_OK;
	}
	if (strcmp(text, "unix") == 0) {
		o->address = (struct address){0};
		return EXPLAIN_OK;
	}
	if (address_parse(slice_of_string(text), &o->address))
		return EXPLAIN_OK;
	return usage_error("--client takes an address, unix, push, chrome, curl or h1, not", text);
}

static int set_rtt(struct explain_options *o, const char *text)
{
	char *end;
	double milliseconds = strtod(text, &end);
	if (*end || end == text || !isfinite(milliseconds) || milliseconds <= 0 ||
	    milliseconds > 1e6)
		return usage_error("--rtt takes milliseconds, not", text);
	o->rtt_usec = (usec)(milliseconds * 1e3) + 1;
	return EXPLAIN_OK;
}

static int set_status(struct explain_options *o, const char *text)
{
	uint64_t status;
	if (!slice_to_number(slice_of_string(text), 599, &status) || status < 103)
		return usage_error("--status takes 103 … 599, not", text);
	o->status = (uint16_t)status;
	return EXPLAIN_OK;
}

enum {
	OPTION_CLIENT = 256,
	OPTION_LISTEN,
	OPTION_RTT,
	OPTION_PROMISE,
	OPTION_RESPONSE_HEADER,
	OPTION_STATUS,
	OPTION_LOG,
	OPTION_HELP
};

static int set_option(struct explain_options *o, int option, char **argv)
{
	switch (option) {
	case 'c':
		o->conf = optarg;
		return EXPLAIN_OK;
	case 'H':
		return add_field(o->fields, &o->field_count, optarg);
	case OPTION_CLIENT:
		return set_client(o, optarg);
	case OPTION_LISTEN:
		o->listen = optarg;
		return EXPLAIN_OK;
	case OPTION_RTT:
		return set_rtt(o, optarg);
	case OPTION_PROMISE:
		if (o->promise_count == EXPLAIN_PROMISES_MAX)
			return usage_error("too many promises", NULL);
		o->promises[o->promise_count++] = optarg;
		return EXPLAIN_OK;
	case OPTION_RESPONSE_HEADER:
		return add_field(o->response_fields, &o->response_field_count, optarg);
	case OPTION_STATUS:
		return set_status(o, optarg);
	case OPTION_LOG:
		o->log = optarg;
		return EXPLAIN_OK;
	case OPTION_HELP:
		fputs(help_text, stdout);
		return -1;
	case ':':
		return usage_error("a value is missing after", argv[optind - 1]);
	}
	return usage_error("unknown option", argv[optind - 1]);
}

int explain_parse(struct explain_options *o, int argc, char **argv)
{
	static const struct option longs[] = {
	    {"config", required_argument, NULL, 'c'},
	    {"header", required_argument, NULL, 'H'},
	    {"client", required_argument, NULL, OPTION_CLIENT},
	    {"listen", required_argument, NULL, OPTION_LISTEN},
	    {"rtt", required_argument, NULL, OPTION_RTT},
	    {"promise", required_argument, NULL, OPTION_PROMISE},
	    {"response-header", required_argument, NULL, OPTION_RESPONSE_HEADER},
	    {"status", required_argument, NULL, OPTION_STATUS},
	    {"log", required_argument, NULL, OPTION_LOG},
	    {"help", no_argument, NULL, OPTION_HELP},
	    {NULL, 0, NULL, 0},
	};
	*o = (struct explain_options){.conf = TOOL_DEFAULT_CONF, .status = 200};
	address_parse(EXAMPLE_ADDRESS, &o->address);
	opterr = 0;
	optind = 1;
	for (int option; (option = getopt_long(argc, argv, ":c:H:", longs, NULL)) != -1;) {
		int status = set_option(o, option, argv);
		if (status != EXPLAIN_OK)
			return status;
	}
	if (optind < argc)
		o->url = argv[optind++];
	if (optind < argc)
		return usage_error("one URL at a time:", argv[optind]);
	if (!o->url && !o->log)
		return usage_error("a URL or --log is missing", NULL);
	if (o->url && o->log)
		return usage_error("either a URL or --log, not both:", o->url);
	return EXPLAIN_OK;
}
