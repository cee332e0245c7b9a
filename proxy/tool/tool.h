/* SPDX-License-Identifier: MIT */
/* The command line's own programs, and the built-in demo origin. */
#ifndef PUSHGATE_TOOL_TOOL_H
#define PUSHGATE_TOOL_TOOL_H

#include "proxy/net/net.h"

/* `pushgate fetch [options] URL`: argv[0] is "fetch". Returns the exit status. */
int tool_fetch(int argc, char **argv);

/* The configuration where no -c names one. */
#define TOOL_DEFAULT_CONF "/etc/pushgate/pushgate.ini"
/* `pushgate explain [options] URL`, or with --log FILE: argv[0] is "explain". Returns the exit
 * status. */
int tool_explain(int argc, char **argv);

/*
 * The demo origin: a real HTTP/2 server engine in the same loop behind socketpairs; a small site
 * (HTML, CSS, JS, images) that pushes its assets.
 */
struct demo_origin;
struct demo_origin *demo_origin_new(struct net_loop *l, struct chunk_pool *chunks, uint64_t seed);
/* A connected socket whose other end the demo serves as an h2c server, yours; -1 on failure. */
int demo_origin_connect(void *demo);
void demo_origin_free(struct demo_origin *d);

#endif
