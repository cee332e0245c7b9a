/* SPDX-License-Identifier: MIT */
/* The older worker's end of a socket for access-recheck: questions about tunnels go, answers come. */
#include "proxy/process/child_message.h"
#include "proxy/process/recheck.h"
#include <string.h>
#include <sys/socket.h>

static bool ask(void *context, const struct gateway_tunnel *t)
{
	const struct recheck_link *l = context;
	const struct slice texts[RECHECK_TEXTS] = {
	    [RECHECK_LISTENER] = t->listener,
	    [RECHECK_USER] = t->user,
	    [RECHECK_SCHEME] = t->scheme,
	    [RECHECK_AUTHORITY] = t->authority,
	    [RECHECK_PATH] = t->path,
	    [RECHECK_CERT] = t->cert,
	};
	struct recheck_question q = {.id = t->id,
	    .client = t->client,
	    .is_forward = t->is_forward,
	    .is_connect = t->is_connect};
	struct iovec parts[1 + RECHECK_TEXTS] = {{&q, sizeof(q)}};
	if (t->to)
		q.to = *t->to;
	for (size_t i = 0; i < RECHECK_TEXTS; i++) {
		q.bytes[i] = (uint16_t)texts[i].len;
		parts[1 + i] = (struct iovec){(void *)(uintptr_t)texts[i].ptr, texts[i].len};
	}
	return message_send_parts(l->link.socket, parts, 1 + RECHECK_TEXTS, -1, MSG_DONTWAIT);
}

static bool take(void *context, const void *message, int fd)
{
	const struct recheck_link *l = context;
	const struct recheck_answer *a = message;
	(void)fd;
	return memchr(a->reason, '\0', sizeof(a->reason)) &&
	       gateway_recheck_answer(l->gateway, a->id, a->reason);
}

static bool refuse(void *context)
{
	const struct recheck_link *l = context;
	observe_log(l->observe, OBSERVE_ERROR,
	    "access-recheck: an answer is malformed; tunnels that were not judged yet go on");
	return false;
}

static void opened(void *context)
{
	const struct recheck_link *l = context;
	gateway_recheck(l->gateway, ask, context);
}

/* The master makes another one when the worker that judges has died, and at the next reload. */
static void lost(void *context)
{
	const struct recheck_link *l = context;
	if (gateway_recheck_is_under_way(l->gateway))
		observe_log(l->observe, OBSERVE_WARN,
		    "access-recheck: the worker that judges tunnels has closed its socket; those "
		    "that were not judged yet wait for another one");
	gateway_recheck(l->gateway, NULL, NULL);
}

static const struct helper_link_row row = {.message_bytes = sizeof(struct recheck_answer),
    .take = take,
    .refuse = refuse,
    .opened = opened,
    .lost = lost};

void recheck_link_close(struct recheck_link *l)
{
	helper_link_close(&l->link);
	gateway_recheck(l->gateway, NULL, NULL);
}

void recheck_link_init(struct recheck_link *l)
{
	*l = (struct recheck_link){0};
	helper_link_init(&l->link, &row, l);
}
