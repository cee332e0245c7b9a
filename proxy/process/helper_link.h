/* SPDX-License-Identifier: MIT */
/*
 * A worker's end of the socket to a helper, or to a worker of another generation (recheck.h). Takes in one message in a
 * loop pass. When the other process dies the link is lost, until the master gives the worker a socket to the next one.
 */
#ifndef PUSHGATE_PROCESS_HELPER_LINK_H
#define PUSHGATE_PROCESS_HELPER_LINK_H

#include "proxy/net/net.h"

/* How messages of a helper are taken in. All functions get the context; opened and lost may be NULL. */
struct helper_link_row {
	size_t message_bytes; /* of each message */
	/* Takes in a message, and a descriptor that it does not close, or -1. False: it is malformed. */
	bool (*take)(void *context, const void *message, int fd);
	/* A message was malformed: logs it. False: the helper is not listened to any more. */
	bool (*refuse)(void *context);
	void (*opened)(void *context);
	void (*lost)(void *context);
};

enum { HELPER_LINK_BYTES_MOST = 384 };

struct helper_link {
	const struct helper_link_row *row; /* borrowed, as are context and loop */
	void *context;
	struct net_loop *loop;
	int socket; /* -1: the helper is down */
	struct net_watch *watch;
};

void helper_link_init(struct helper_link *l, const struct helper_link_row *row, void *context);
/* Takes the socket, in place of the one before. */
void helper_link_open(struct helper_link *l, int socket);
/* Takes in nothing more, but still sends. Call it before the loop and the context's objects are freed. */
void helper_link_stop(struct helper_link *l);
void helper_link_close(struct helper_link *l);

#endif
