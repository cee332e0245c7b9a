/* SPDX-License-Identifier: MIT */
/* The status socket: each connection gets the text of status_text.c. */
#include "proxy/process/status.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/reserve.h"
#include "proxy/base/sealed.h"
#include "proxy/process/child_message.h"
#include "proxy/process/reload_request.h"
#include "proxy/process/server_request.h"
#include "proxy/process/trace_request.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16
#define ANSWERS_PER_CALL 16
/* A text up to this length fits into a socket's buffer, so that no send waits for its reader. A longer one goes as a
 * memory file too, with the first bytes. A reader that does not ask for descriptors gets what the buffer takes. */
#define SOCKET_BYTES 65536u

const char *status_address(const char *path, struct net_address *at)
{
	/* Relative to the working folder, as the other paths of a configuration are. */
	size_t length = strlen(path);
	*at = (struct net_address){0};
	if (length >= sizeof(at->un.sun_path))
		return "its path is too long";
	at->un.sun_family = AF_UNIX;
	memcpy(at->un.sun_path, path, length);
	at->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
	return NULL;
}

int status_listen(const char *path, char *error, size_t error_size)
{
	struct net_address at;
	const char *why = status_address(path, &at);
	/* The socket's file gets mode 0660 when it is created, not afterwards. */
	mode_t old = umask(0117);
	int fd = why ? -1 : net_listen(&at, BACKLOG, &why);
	umask(old);
	if (fd < 0)
		snprintf(error, error_size, "cannot listen on the status socket %s: %s", path, why);
	return fd;
}

void status_close(int listener, const char *path)
{
	if (listener < 0)
		return;
	/* The file first: a start between the two calls finds none, and makes its own, which must stay. */
	unlink(path);
	close(listener);
}

/* Returns the bytes that were sent. */
static size_t send_file(int fd, const char *text, size_t size)
{
	/* So many: some readers take a message that leaves room in their buffer for the last one. */
	struct iovec first = {(void *)(uintptr_t)text, SOCKET_BYTES};
	int file = sealed_make(slice_of(text, size));
	bool is_sent = file >= 0 && message_send_parts(fd, &first, 1, file, MSG_DONTWAIT);
	descriptor_close(&file);
	return is_sent ? first.iov_len : 0;
}

static void send_text(int fd, const char *text, size_t size)
{
	size_t sent = size > SOCKET_BYTES ? send_file(fd, text, size) : 0;
	text += sent;
	size -= sent;
	while (size > 0) {
		ssize_t n = send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		size -= (size_t)n;
	}
}

/* The text into *text, which the caller frees. False: there is no memory for it. */
static bool write_text(const struct status *s, char **text, size_t *size)
{
	FILE *out = open_memstream(text, size);
	if (!out)
		return false;
	status_print(s, out);
	bool is_whole = !ferror(out);
	return fclose(out) == 0 && is_whole;
}

static void answer(int fd, const struct status *s)
{
	char *text = NULL;
	size_t size = 0;
	bool is_whole = write_text(s, &text, &size);
	if (!is_whole && reserve_give_way()) {
		free(text);
		text = NULL;
		is_whole = write_text(s, &text, &size);
	}
	if (is_whole)
		send_text(fd, text, size);
	free(text);
}

/* The name of the peer's own socket, if that is an abstract one. */
static struct slice peer_name(const struct sockaddr_un *peer, socklen_t length)
{
	size_t before = offsetof(struct sockaddr_un, sun_path) + 1;
	bool is_abstract = length > before && length <= sizeof(*peer) && !peer->sun_path[0];
	return is_abstract ? slice_of(peer->sun_path + 1, length - before) : slice_of("", 0);
}

bool status_serve(int listener, const struct status *s, const struct status_ops *ops)
{
	for (int i = 0; i < ANSWERS_PER_CALL; i++) {
		struct sockaddr_un peer = {0};
		socklen_t length = sizeof(peer);
		int fd = accept4(
		    listener, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
			       errno != ENOMEM;
		struct slice name = peer_name(&peer, length);
		if (ops->trace && trace_is_request(name)) {
			ops->trace(ops->context, name, fd);
			continue;
		}
		if (ops->upgrade && upgrade_is_request(name)) {
			ops->upgrade(ops->context, fd);
			continue;
		}
		if (ops->reload && reload_is_request(name)) {
			ops->reload(ops->context, fd);
			continue;
		}
		if (ops->server && server_is_request(name)) {
			ops->server(ops->context, name, fd);
			continue;
		}
		answer(fd, s);
		close(fd);
	}
	return true;
}
