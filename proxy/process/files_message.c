/* SPDX-License-Identifier: MIT */
/* Messages with bytes and a descriptor (unix(7)), and the contents that they are about. */
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include "proxy/process/child_message.h"
#include "proxy/process/files.h"
#include <sys/socket.h>

/* ---- messages ---- */

bool files_send(
    int socket, const struct files_message *m, struct slice bytes, int fd, bool may_wait)
{
	struct files_message copy = *m;
	struct iovec parts[2] = {{&copy, sizeof(copy)}, {(void *)(uintptr_t)bytes.ptr, bytes.len}};
	return message_send_parts(
	    socket, parts, bytes.len > 0 ? 2 : 1, fd, may_wait ? 0 : MSG_DONTWAIT);
}

/* ---- contents ---- */

void files_contents_init(struct files_contents *c, const struct conf *conf)
{
	c->count = manifests_configured(conf) + 1 + files_texts_configured(conf);
	c->fds = memory_alloc(c->count * sizeof(*c->fds));
	for (size_t i = 0; i < c->count; i++)
		c->fds[i] = -1;
}

void files_contents_set(struct files_contents *c, size_t object, int fd)
{
	if (object >= c->count) {
		descriptor_close(&fd);
		return;
	}
	descriptor_close(&c->fds[object]);
	c->fds[object] = fd;
}

void files_contents_fini(struct files_contents *c)
{
	for (size_t i = 0; i < c->count; i++)
		descriptor_close(&c->fds[i]);
	free(c->fds);
	*c = (struct files_contents){0};
}
