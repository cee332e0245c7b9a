/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/2 engine on a socket, shared by the demo origin (a server) and fetch (a client). The
 * owner copies bodies from its memory. Private to tool/.
 */
#ifndef PUSHGATE_TOOL_TOOL_CONN_H
#define PUSHGATE_TOOL_TOOL_CONN_H

#include "proxy/h2/h2.h"
#include "proxy/net/net.h"

struct link_ops {
	/* Takes event->head if there is one. */
	void (*event)(void *owner, struct session_event *event);
	/* Copies output->length bytes of the stream's body into out. */
	void (*payload)(void *owner, struct net_out *out, const struct session_output *output);
	/*
	 * The HTTP/2 connection has ended and all its frames have left: the owner closes the link.
	 */
	void (*finished)(void *owner);
	/* The transport ended. The engine's last events have been delivered before. */
	void (*ended)(void *owner, enum net_end end, const char *text);
};

struct link {
	const struct link_ops *ops;
	void *owner;
	struct net_loop *loop;
	struct net_conn *net; /* NULL once closed */
	struct session *h2;   /* NULL until link_start_http2 */
	struct net_timer timer;
};

void link_init(struct link *l, struct net_loop *loop, const struct link_ops *ops, void *owner);
/* Creates the engine, which sends its preface. Borrows config and env. */
void link_start_http2(struct link *l, const struct h2_config *config, const struct session_env *env,
    const struct session_conn *conn);
/* Call after any call to the engine: schedules its output and its deadline. */
void link_wake(struct link *l);
void link_close(struct link *l); /* orderly close; idempotent */
void link_fini(struct link *l);

/*
 * Callbacks for net_connect and net_conn_new, with the link as their owner. A link does not handle
 * `opened`: the owner sets its own.
 */
void link_received(void *link, struct chunk *chunk, size_t offset, size_t length);
void link_fill(void *link, struct net_out *out);
void link_ended(void *link, enum net_end end, const char *text);

#endif
