/* SPDX-License-Identifier: MIT */
/* The commands fetch and explain, and the built-in demo origin. */
#ifndef PUSHGATE_TOOL_TOOL_H
#define PUSHGATE_TOOL_TOOL_H

#include "proxy/command/command.h"
#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include <stdio.h>

/* The configuration file unless -c names another. */
#define TOOL_DEFAULT_CONF "/etc/pushgate/pushgate.ini"

/* Rows of the table of commands, and what they run: argv[0] is the name; returns the exit status. */
extern const struct command tool_fetch_command, tool_explain_command, tool_ech_key_command;
int tool_fetch(int argc, char **argv);
int tool_explain(int argc, char **argv);
/* How explain gets the text of `pushgate status` (process/process.h), to be freed; NULL: no pushgate runs. To be set
 * before the command runs: a tool knows no processes. */
void tool_explain_asks(char *(*status_text)(const char *socket_path));

/* What a worker is asked to explain: a request, and what the origin promises with it. */
struct remembered;
struct tool_question {
	const char *url, *promise; /* promise "": none */
	const char *client;        /* push, chrome, curl or h1; "": push */
	const char *address;       /* of the client; "": an example */
	const char *cert;          /* a name of its certificate, as --cert has it; "": none */
	const struct remembered *remembered; /* the worker's; NULL: nothing remembers */
};
struct manifests;
struct router_tables;
/* As `pushgate explain` prints it, without what only files and other processes know: certificates, and what is
 * remembered of the page. NULL: *out has it. Else what is wrong with the question. */
const char *tool_explain_question(const struct tool_question *q, const struct conf *conf,
    const struct router_tables *tables, const struct manifests *manifests, FILE *out);

/*
 * The demo origin: an HTTP/2 server in the same loop, reached over socketpairs. It serves a small
 * site (HTML, CSS, JS, images) and pushes its assets.
 */
struct demo_origin;
struct demo_origin *demo_origin_new(struct net_loop *l, struct chunk_pool *chunks, uint64_t seed);
/*
 * Returns a connected socket, owned by the caller; the demo serves h2c on its other end, with the
 * delays of `server`. -1 on failure.
 */
int demo_origin_connect(void *demo, const struct conf_origin_server *server);
void demo_origin_free(struct demo_origin *d);

#endif
