/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/2 engine on a socket, with bodies that the owner copies out of memory: what the demo
 * origin (a server) and fetch (a client) have in common. Private to tool/.
 */
#ifndef PUSHGATE_TOOL_LINK_H
#define PUSHGATE_TOOL_LINK_H

#include "proxy/h2/h2.h"
#include "proxy/net/net.h"

struct link_ops {
	/* Takes event->head when there is one. */
	void (*event)(void *owner, struct h2_event *event);
	/* Put frame->length bytes of the stream's body into out. */
	void (*payload)(void *owner, struct net_out *out, const struct h2_data_frame *frame);
	/* The engine has nothing left to say or to hear: close it. */
	void (*finished)(void *owner);
	/* The transport ended; what the engine made of it has been told as events. */
	void (*ended)(void *owner, enum net_end end, const char *text);
};

struct link {
	const struct link_ops *ops;
	void *owner;
	struct net_loop *loop;
	struct net_conn *net; /* NULL once closed */
	struct h2_conn *h2;   /* NULL until link_speak */
	struct net_timer timer;
};

void link_init(struct link *l, struct net_loop *loop, const struct link_ops *ops, void *owner);
/* The engine takes its part; borrows env's members. */
void link_speak(struct link *l, enum h2_role role, const struct h2_settings *settings,
    const struct h2_limits *limits, const struct h2_env *env);
/* After any command to the engine. */
void link_wake(struct link *l);
void link_close(struct link *l); /* orderly; idempotent */
void link_fini(struct link *l);

/*
 * For net_connect and net_conn_new, with the link as the owner. `opened` is the one that a link
 * does not handle: put it in.
 */
void link_received(void *link, struct chunk *chunk, size_t offset, size_t length);
void link_fill(void *link, struct net_out *out);
void link_ended(void *link, enum net_end end, const char *text);

#endif
