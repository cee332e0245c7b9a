/* SPDX-License-Identifier: MIT */
/* A worker's link to the files process: contents come, lessons go. */
#include "proxy/limits.h"
#include "proxy/offer/offer.h"
#include "proxy/process/child_message.h"
#include "proxy/process/files.h"
#include "proxy/process/files_memory.h"
#include <errno.h>
#include <sys/socket.h>

/* ---- contents ---- */

static bool take_manifest(struct gateway *g, size_t at, int fd)
{
	struct offer_manifest *m = files_map_manifest(fd);
	if (m)
		gateway_set_manifest(g, at, m);
	return m != NULL;
}

void files_set_text(struct gateway *g, size_t text, struct slice content)
{
	if (text == FILES_HOSTS)
		gateway_set_hosts(g, content);
	else
		gateway_set_resolv_conf(g, content);
}

static bool take_text(struct gateway *g, size_t text, int fd)
{
	size_t length;
	void *bytes = sealed_map(fd, LIMIT_NAMES_FILE_BYTES + 1, &length);
	if (!bytes)
		return false;
	files_set_text(g, text, slice_of(bytes, length));
	sealed_unmap(bytes, length);
	return true;
}

/* A worker that begins has an empty memory. */
static bool take_memory(struct gateway *g, int fd, usec now)
{
	char error[256];
	struct remembered *m = gateway_remembered(g);
	return m && files_memory_map(m, fd, now, error, sizeof(error));
}

const char *files_take(struct gateway *g, const struct conf *conf, size_t object, int fd, usec now)
{
	size_t manifest_count = manifests_configured(conf);
	if (object < manifest_count)
		return take_manifest(g, object, fd) ? NULL : "manifest";
	if (object == files_memory_object(conf))
		return take_memory(g, fd, now) ? NULL : "memory of pages";
	size_t text = object - manifest_count;
	return text < files_texts_configured(conf) && take_text(g, text, fd) ? NULL : "text";
}

/* ---- messages ---- */

bool files_send(int socket, const struct files_message *m, struct slice bytes, int fd)
{
	struct files_message copy = *m;
	struct iovec parts[2] = {{&copy, sizeof(copy)}, {(void *)(uintptr_t)bytes.ptr, bytes.len}};
	return message_send_parts(socket, parts, bytes.len > 0 ? 2 : 1, fd, MSG_DONTWAIT);
}

static bool take_changes(struct files_link *l, int fd)
{
	struct remembered *copy = gateway_remembered(l->gateway);
	return copy && files_memory_follow(copy, fd, net_now(l->link.loop));
}

static bool take(void *context, const void *message, int fd)
{
	struct files_link *l = context;
	const struct files_message *m = message;
	const size_t manifest_count = manifests_configured(l->conf);
	bool is_memory = m->object == files_memory_object(l->conf);
	if (m->kind == FILES_CHANGES && is_memory)
		return take_changes(l, fd);
	if (m->kind != FILES_CONTENT || is_memory ||
	    files_take(l->gateway, l->conf, m->object, fd, net_now(l->link.loop)) != NULL)
		return false;
	if (m->object < manifest_count)
		l->observe->counters->manifests_taken++;
	return true;
}

static bool refuse(void *context)
{
	const struct files_link *l = context;
	l->observe->counters->files_refused++;
	observe_log(l->observe, OBSERVE_ERROR,
	    "a message of the files process is malformed; its content stays as it was");
	return true;
}

static const struct helper_link_row row = {
    .message_bytes = sizeof(struct files_message), .take = take, .refuse = refuse};

void files_link_init(struct files_link *l)
{
	*l = (struct files_link){0};
	helper_link_init(&l->link, &row, l);
}

bool files_link_teach(void *context, struct slice message)
{
	const struct files_link *l = context;
	const struct files_message m = {
	    .kind = FILES_LESSON, .object = (uint32_t)files_memory_object(l->conf)};
	return l->link.socket >= 0 && files_send(l->link.socket, &m, message, -1);
}
