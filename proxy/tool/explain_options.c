/* SPDX-License-Identifier: MIT */
/* The options of `pushgate explain`. What the URL and the promises say is looked at later. */
#include "proxy/base/ascii.h"
#include "proxy/tool/explain.h"
#include "proxy/tool/tool.h"
#include <getopt.h>
#include <math.h>
#include <stdlib.h>

/* RFC 5737: an address that is nobody's. */
#define NOBODYS_ADDRESS SLICE("192.0.2.1")

static const char help_text[] =
    "usage: pushgate explain [-c FILE] [options] URL\n"
    "       pushgate explain [-c FILE] --log FILE\n"
    "\n"
    "Says, without serving anything, what becomes of each offer of a push: the guards and rules "
    "that were\n"
    "asked, the verdict, its reason, and what the client would see.\n"
    "\n"
    "  -c, --config FILE              the configuration\n"
    "  -H, --header 'N: VALUE'        a field of the client's request\n"
    "      --client ADDRESS           the client's address (192.0.2.1)\n"
    "      --client push|chrome|curl|h1\n"
    "                                 push: takes pushes (the default); chrome: a navigation, "
    "ENABLE_PUSH=0;\n"
    "                                 curl: ENABLE_PUSH=0 and no navigation; h1: HTTP/1.1\n"
    "      --listen NAME              the [listen] section that it came to (the first that fits "
    "the URL)\n"
    "      --rtt MILLISECONDS         the round trip to it (not measured)\n"
    "      --promise [METHOD ]URL     the origin promises this, a path or a whole URL; may be "
    "repeated\n"
    "      --response-header 'N: V'   a field of the origin's response, such as Link\n"
    "      --status CODE              of that response (200)\n"
    "      --log FILE                 decides the pushes of an access log again and prints what "
    "would change\n"
    "                                 (-: standard input)\n"
    "\n"
    "It is a first visit on a new connection: nothing was pushed, held or paused before. A second "
    "look at the\n"
    "status, type and length of the pushed response follows when it comes, which is not explained "
    "here.\n"
    "\n"
    "Exit status: 0, 1 with --log when something would change, 2 wrong use or configuration.\n";

static int complain(const char *what, const char *word)
{
	fprintf(stderr, "pushgate explain: %s%s%s; see `pushgate explain --help`\n", what,
	    word ? " " : "", word ? word : "");
	return EXPLAIN_USAGE;
}

static int add_field(struct explain_field *fields, size_t *count, char *text)
{
	char *colon = strchr(text, ':');
	if (!colon || colon == text)
		return complain("a header must look like 'Name: value', not", text);
	if (*count == EXPLAIN_FIELDS_MAX)
		return complain("too many headers", NULL);
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
	if (address_parse(slice_of_string(text), &o->address))
		return EXPLAIN_OK;
	return complain("--client takes an address, push, chrome, curl or h1, not", text);
}

static int set_rtt(struct explain_options *o, const char *text)
{
	char *end;
	double milliseconds = strtod(text, &end);
	if (*end || end == text || !isfinite(milliseconds) || milliseconds <= 0 ||
	    milliseconds > 1e6)
		return complain("--rtt takes milliseconds, not", text);
	o->rtt_usec = (usec)(milliseconds * 1e3) + 1;
	return EXPLAIN_OK;
}

static int set_status(struct explain_options *o, const char *text)
{
	uint64_t status;
	if (!slice_to_number(slice_of_string(text), 599, &status) || status < 103)
		return complain("--status takes 103 … 599, not", text);
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

static int take_option(struct explain_options *o, int option, char **argv)
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
			return complain("too many promises", NULL);
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
		return complain("a value is missing after", argv[optind - 1]);
	}
	return complain("unknown option", argv[optind - 1]);
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
	address_parse(NOBODYS_ADDRESS, &o->address);
	opterr = 0;
	optind = 1;
	for (int option; (option = getopt_long(argc, argv, ":c:H:", longs, NULL)) != -1;) {
		int status = take_option(o, option, argv);
		if (status != EXPLAIN_OK)
			return status;
	}
	if (optind < argc)
		o->url = argv[optind++];
	if (optind < argc)
		return complain("one URL at a time:", argv[optind]);
	if (!o->url && !o->log)
		return complain("a URL or --log is missing", NULL);
	if (o->url && o->log)
		return complain("either a URL or --log, not both:", o->url);
	return EXPLAIN_OK;
}
