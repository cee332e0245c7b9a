/* SPDX-License-Identifier: MIT */
/* See helper_link.h. */
#include "proxy/process/helper_link.h"

#include "proxy/base/descriptor.h"
#include "proxy/base/ensure.h"
#include "proxy/process/child_message.h"
#include <errno.h>

void helper_link_init(struct helper_link *l, const struct helper_link_row *row, void *context)
{
	ensure(row->message_bytes <= HELPER_LINK_BYTES_MOST);
	*l = (struct helper_link){.row = row, .context = context, .socket = -1};
}

void helper_link_stop(struct helper_link *l)
{
	net_watch_free(l->watch);
	l->watch = NULL;
}

void helper_link_close(struct helper_link *l)
{
	helper_link_stop(l);
	descriptor_close(&l->socket);
}

static void lose(struct helper_link *l)
{
	helper_link_close(l);
	if (l->row->lost)
		l->row->lost(l->context);
}

static void on_message(void *context)
{
	struct helper_link *l = context;
	_Alignas(max_align_t) uint8_t message[HELPER_LINK_BYTES_MOST];
	int fd;
	ssize_t n = message_receive_bytes(l->socket, message, l->row->message_bytes, &fd);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == 0 || (n < 0 && errno != EPROTO)) {
		/* It has died: the master sends the socket of the next one. */
		lose(l);
		return;
	}
	bool is_good = n == (ssize_t)l->row->message_bytes && l->row->take(l->context, message, fd);
	descriptor_close(&fd);
	if (!is_good && !l->row->refuse(l->context))
		lose(l);
}

void helper_link_open(struct helper_link *l, int socket)
{
	if (l->socket >= 0)
		lose(l);
	l->socket = socket;
	l->watch = net_watch_new(l->loop, socket, on_message, l);
	if (l->row->opened)
		l->row->opened(l->context);
}
