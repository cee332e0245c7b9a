/* SPDX-License-Identifier: MIT */
/* A worker's link to the tracer: spans gather, and go together; nothing comes. */
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

static void send_gathered(void *context)
{
	struct tracer_link *l = context;
	struct iovec part = {l->gathered, l->length};
	int socket = l->link.socket;
	if (l->spans > 0 && (socket < 0 || !message_send_parts(socket, &part, 1, -1, MSG_DONTWAIT)))
		l->observe->counters->spans_dropped += l->spans;
	l->spans = 0;
	l->length = 0;
	net_timer_set(&l->timer, USEC_NEVER);
}

static void opened(void *context)
{
	struct tracer_link *l = context;
	if (!l->timer.loop)
		net_timer_init(&l->timer, l->link.loop, send_gathered, l);
}

static const struct helper_link_row row = {
    .message_bytes = 1, .take = take, .refuse = refuse, .opened = opened};

void tracer_link_init(struct tracer_link *l)
{
	*l = (struct tracer_link){0};
	helper_link_init(&l->link, &row, l);
}

void tracer_link_stop(struct tracer_link *l)
{
	helper_link_stop(&l->link);
	net_timer_fini(&l->timer);
	l->timer.loop = NULL;
}

void tracer_link_close(struct tracer_link *l)
{
	send_gathered(l);
	helper_link_close(&l->link);
}

bool tracer_link_send(void *context, struct slice message)
{
	struct tracer_link *l = context;
	const uint32_t length = (uint32_t)message.len;
	if (l->link.socket < 0)
		return false;
	if (l->length + sizeof(length) + length > sizeof(l->gathered))
		send_gathered(l);
	memcpy(l->gathered + l->length, &length, sizeof(length));
	memcpy(l->gathered + l->length + sizeof(length), message.ptr, length);
	l->length += sizeof(length) + length;
	if (l->spans++ == 0 && l->timer.loop)
		net_timer_set(&l->timer, net_now(l->timer.loop) + TRACER_LINK_USEC);
	return true;
}
