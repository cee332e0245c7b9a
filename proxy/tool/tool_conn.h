/* SPDX-License-Identifier: MIT */
/*
 * A session (session/session.h) on a socket, shared by the demo origin (a server) and fetch (a client). The
 * owner copies bodies from its memory. Private to tool/.
 */
#ifndef PUSHGATE_TOOL_TOOL_CONN_H
#define PUSHGATE_TOOL_TOOL_CONN_H

#include "proxy/net/net.h"
#include "proxy/session/session.h"

struct link_ops {
	/* Takes event->head if there is one. */
	void (*event)(void *owner, struct session_event *event);
	/* Copies output->length bytes of the stream's body into out. */
	void (*payload)(void *owner, struct net_out *out, const struct session_output *output);
	/* The session is done and all its output has left: the owner closes the link. */
	void (*finished)(void *owner);
	/* The transport ended. The session's last events have been delivered before. */
	void (*ended)(void *owner, enum net_end end, const char *text);
};

struct link {
	const struct link_ops *ops;
	void *owner;
	struct net_loop *loop;
	struct net_conn *net;    /* NULL once closed */
	struct session *session; /* NULL until link_start */
	struct net_timer timer;
};

void link_init(struct link *l, struct net_loop *loop, const struct link_ops *ops, void *owner);
/* Takes the session, which has just been made. */
void link_start(struct link *l, struct session *session);
/* Call after any call to the session: schedules its output and its deadline. */
void link_wake(struct link *l);
void link_close(struct link *l); /* orderly close; idempotent */
void link_fini(struct link *l);

/*
 * Callbacks for net_connect and net_conn_new, with the link as their owner. A link does not handle
 * `opened`: the owner sets its own. link_ended may be called before link_start.
 */
void link_received(void *link, struct chunk *chunk, size_t offset, size_t length);
void link_fill(void *link, struct net_out *out);
void link_ended(void *link, enum net_end end, const char *text);

#endif
