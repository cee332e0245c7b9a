/* SPDX-License-Identifier: MIT */
/* The arguments of `pushgate explain`. explain_request.c parses the URL and the promises. */
#include "proxy/tool/explain.h"
#include "proxy/tool/tool.h"

static const char *add_field(void *fields, char *text)
{
	if (*text == ':')
		return "write a field as 'Name: value'";
	return tool_add_field(fields, text);
}

static const char *const kinds[] = {
    [EXPLAIN_PUSH] = "push",
    [EXPLAIN_CHROME] = "chrome",
    [EXPLAIN_CURL] = "curl",
    [EXPLAIN_HTTP1] = "h1",
};
enum { KIND_COUNT = sizeof(kinds) / sizeof(kinds[0]) };

static const char *client_word(size_t index)
{
	if (index < KIND_COUNT)
		return kinds[index];
	return index == KIND_COUNT ? "unix" : NULL;
}

const char *explain_set_client(struct explain_options *o, const char *text)
{
	struct address address = {0};
	for (size_t i = 0; i < KIND_COUNT; i++) {
		if (strcmp(kinds[i], text) != 0)
			continue;
		if (o->has_kind)
			return "the client's kind was given before";
		o->kind = (enum explain_kind)i;
		o->has_kind = true;
		return NULL;
	}
	if (strcmp(text, "unix") != 0 && !address_parse(slice_of_string(text), &address))
		return "write an address, unix, push, chrome, curl or h1";
	if (o->has_address)
		return "the client's address was given before";
	o->address = address;
	o->has_address = true;
	return NULL;
}

static const char *set_client(void *into, char *text)
{
	return explain_set_client(into, text);
}

static const char *add_cert(void *into, char *text)
{
	struct explain_options *o = into;
	bool is_name = explain_is_cert_name(text);
	if (o->cert_count > 0 && (!is_name || !explain_is_cert_name(o->certs[0])))
		return "write one file, or names alone";
	if (o->cert_count == EXPLAIN_CERTS_MAX)
		return "there are too many names";
	o->certs[o->cert_count++] = text;
	return NULL;
}

static const char *set_rtt(void *into, char *text)
{
	struct explain_options *o = into;
	double milliseconds;
	if (!tool_read_number(text, &milliseconds))
		return "write milliseconds, more than 0 and at most 1000000";
	o->rtt_usec = (usec)(milliseconds * 1e3) + 1;
	return NULL;
}

static const char *add_promise(void *into, char *text)
{
	struct explain_options *o = into;
	if (o->promise_count == EXPLAIN_PROMISES_MAX)
		return "there are too many promises";
	o->promises[o->promise_count++] = text;
	return NULL;
}

static const char *set_status(void *into, char *text)
{
	struct explain_options *o = into;
	uint64_t status;
	if (!slice_to_number(slice_of_string(text), 599, &status) || status < 103)
		return "write 103 to 599";
	o->status = (uint16_t)status;
	return NULL;
}

#define AT(member) offsetof(struct explain_options, member)
static const struct command_option options[] = {
    {.letter = 'c',
	.name = "config",
	FILE_NAME(conf),
	.sentence = "the configuration (default: " TOOL_DEFAULT_CONF ")"},
    {.letter = 'H',
	.name = "header",
	SET_EACH("'N: VALUE'", add_field),
	.at = AT(fields),
	.sentence = "a field of the client's request; may be repeated"},
    {.name = "client",
	.value = "CLIENT",
	.kind = COMMAND_WORD,
	.words = client_word,
	/* A kind, and an address. */
	.rules = COMMAND_REPEATS,
	.set = set_client,
	.sentence =
	    "push: accepts pushes (the default); chrome: ENABLE_PUSH=0, a navigation; curl: "
	    "ENABLE_PUSH=0, no navigation; h1: HTTP/1.1, no navigation. Or the client's address "
	    "(192.0.2.1); unix: a unix socket. May be given twice: for a kind and for an address"},
    {.name = "user",
	TEXT("NAME", user),
	.sentence = "the user whose password the client has sent (default: none)"},
    {.name = "cert",
	SET_EACH("FILE|KIND:NAME", add_cert),
	.sentence = "the certificate that the client shows if it is asked for one: a PEM file, or "
		    "a name as cert = has it (subject:CN=alice); names may be repeated (default: "
		    "none)"},
    {.name = "listen",
	TEXT("NAME", listen),
	.sentence = "the client's [listen] section (default: the first that serves this client the "
		    "URL's scheme)"},
    {.name = "rtt",
	SET("MILLISECONDS", set_rtt),
	.sentence = "the client's round trip time (default: not measured)"},
    {.name = "promise",
	SET_EACH("'[METHOD ]URL'", add_promise),
	.sentence = "the origin promises this path or URL; may be repeated"},
    {.name = "response-header",
	SET_EACH("'N: VALUE'", add_field),
	.at = AT(response_fields),
	.sentence = "a field of the origin's response, such as Link; may be repeated"},
    {.name = "status",
	SET("CODE", set_status),
	.sentence = "status of that response (default: 200)"},
    {.name = "log",
	.value = "FILE",
	.kind = COMMAND_FILE,
	.rules = COMMAND_INSTEAD,
	.at = AT(log),
	.sentence =
	    "decide the pushes of an access log again and print the differences (-: standard "
	    "input)"},
    {.value = "URL",
	.rules = COMMAND_REQUIRED,
	.at = AT(url),
	.sentence = "what the client requests; or 'CONNECT HOST:PORT', of a forward proxy"},
};

const struct command tool_explain_command = {
    .name = "explain",
    .sentence = "print the decision on each push, and why",
    .text = "Prints, without serving anything, how each offer of a push with a request would be "
	    "decided: the guards and rules that were asked, the verdict, its reason, and what the "
	    "client would get.\n\n"
	    "The client is new: nothing was pushed to it, held for it or paused before. When a "
	    "pushed response comes, its status, type and length are reviewed too; that is not "
	    "shown here.",
    .options = options,
    .option_count = sizeof(options) / sizeof(options[0]),
    .statuses = "With --log 1 means that there are differences.",
    .run = tool_explain,
};

int explain_parse(struct explain_options *o, int argc, char **argv)
{
	*o = (struct explain_options){.conf = TOOL_DEFAULT_CONF, .status = 200};
	address_parse(EXPLAIN_ADDRESS, &o->address);
	return command_parse(&tool_explain_command, argc, argv, o);
}
