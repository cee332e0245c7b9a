/* SPDX-License-Identifier: MIT */
/* A worker's end of the socket to the files process. Takes in one message in a loop pass. */
#include "proxy/limits.h"
#include "proxy/offer/offer.h"
#include "proxy/process/files.h"
#include <errno.h>
#include <unistd.h>

void files_link_init(struct files_link *l)
{
	*l = (struct files_link){.socket = -1};
}

void files_link_stop(struct files_link *l)
{
	net_watch_free(l->watch);
	l->watch = NULL;
}

void files_link_close(struct files_link *l)
{
	files_link_stop(l);
	if (l->socket >= 0)
		close(l->socket);
	l->socket = -1;
}

static bool take_manifest(struct files_link *l, size_t at, int fd)
{
	size_t length;
	void *bytes = fd >= 0 && at < l->manifest_count
			  ? sealed_map(fd, OFFER_MANIFEST_FLAT_BYTES, &length)
			  : NULL;
	struct offer_manifest *m =
	    bytes ? offer_manifest_of_flat(bytes, length, sealed_unmap) : NULL;
	if (!m)
		return false;
	gateway_set_manifest(l->gateway, at, m);
	l->observe->counters->manifests_taken++;
	return true;
}

/* Without a file there is no learned table, and what this worker has learned meanwhile stays. */
static bool take_learned(struct files_link *l, int fd)
{
	size_t length;
	if (!l->awaits_learned)
		return false;
	void *bytes = fd < 0 ? NULL : sealed_map(fd, FILES_LEARNED_BYTES, &length);
	bool is_good =
	    fd < 0 || (bytes && !gateway_load_learned(l->gateway, slice_of(bytes, length)));
	if (bytes)
		sealed_unmap(bytes, length);
	l->awaits_learned = !is_good;
	return is_good;
}

bool files_take_text(struct gateway *g, size_t text, int fd)
{
	size_t length;
	void *bytes = fd < 0 ? NULL : sealed_map(fd, LIMIT_NAMES_FILE_BYTES + 1, &length);
	if (!bytes)
		return false;
	if (text == FILES_HOSTS)
		gateway_set_hosts(g, slice_of(bytes, length));
	else
		gateway_set_resolv_conf(g, slice_of(bytes, length));
	sealed_unmap(bytes, length);
	return true;
}

static bool take(struct files_link *l, const struct files_message *m, int fd)
{
	if (m->kind != FILES_CONTENT)
		return false;
	if (m->object < l->manifest_count)
		return take_manifest(l, m->object, fd);
	size_t text = m->object - l->manifest_count;
	if (text == 0)
		return take_learned(l, fd);
	return text <= l->text_count && files_take_text(l->gateway, text - 1, fd);
}

static void refuse(struct files_link *l)
{
	l->observe->counters->files_refused++;
	observe_log(l->observe, OBSERVE_ERROR,
	    "a message of the files process is malformed; its content stays as it was");
}

static void on_message(void *context)
{
	struct files_link *l = context;
	struct files_message m;
	int fd;
	ssize_t n = files_receive(l->socket, &m, NULL, 0, &fd);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0 && errno == EPROTO) {
		refuse(l);
		return;
	}
	if (n <= 0) {
		/* It has died: the master sends the socket of the next one. */
		files_link_close(l);
		return;
	}
	if (!take(l, &m, fd))
		refuse(l);
	if (fd >= 0)
		close(fd);
}

void files_link_open(struct files_link *l, int socket)
{
	files_link_close(l);
	l->socket = socket;
	l->watch = net_watch_new(l->loop, socket, on_message, l);
}

enum gateway_handover files_link_save_page(void *context, struct slice page, bool may_wait)
{
	struct files_link *l = context;
	const struct files_message m = {
	    .kind = page.len > 0 ? FILES_PAGE : FILES_SAVE, .object = (uint32_t)l->manifest_count};
	if (l->socket < 0 || l->awaits_learned)
		return GATEWAY_LOST;
	if (files_send(l->socket, &m, page, -1, may_wait))
		return GATEWAY_TAKEN;
	return !may_wait && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR) ? GATEWAY_LATER
										    : GATEWAY_LOST;
}
