/* SPDX-License-Identifier: MIT */
/* A worker's link to the tracer: spans go, and nothing comes. */
#include "proxy/process/tracer.h"

#include <sys/socket.h>

bool tracer_is_needed(const struct conf *conf)
{
	return conf->server.tracing.collector != NULL;
}

static bool take(void *context, const void *message, int fd)
{
	(void)context, (void)message, (void)fd;
	return false;
}

static bool refuse(void *context)
{
	const struct tracer_link *l = context;
	observe_log(l->observe, OBSERVE_ERROR,
	    "the tracer sent a message, which it may not; spans are lost until it is started "
	    "again");
	return false;
}

static const struct helper_link_row row = {.message_bytes = 1, .take = take, .refuse = refuse};

void tracer_link_init(struct tracer_link *l)
{
	*l = (struct tracer_link){0};
	helper_link_init(&l->link, &row, l);
}

bool tracer_link_send(void *context, struct slice message)
{
	const struct tracer_link *l = context;
	struct iovec part = {(void *)(uintptr_t)message.ptr, message.len};
	int socket = l->link.socket;
	return socket >= 0 && message_send_parts(socket, &part, 1, -1, MSG_DONTWAIT);
}
