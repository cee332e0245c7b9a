/* SPDX-License-Identifier: MIT */
/* Messages with bytes and a descriptor (unix(7)); sealed memory files (memfd_create(2)). */
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include "proxy/process/files.h"
#include "proxy/process/message.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* linux/memfd.h, Linux 6.3. Where vm.memfd_noexec is 2, some kernels make no memory file without it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif
#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* ---- messages ---- */

bool files_send(
    int socket, const struct files_message *m, struct slice bytes, int fd, bool may_wait)
{
	struct files_message copy = *m;
	struct iovec parts[2] = {{&copy, sizeof(copy)}, {(void *)(uintptr_t)bytes.ptr, bytes.len}};
	return message_send_parts(
	    socket, parts, bytes.len > 0 ? 2 : 1, fd, may_wait ? 0 : MSG_DONTWAIT);
}

ssize_t files_receive(int socket, struct files_message *m, void *bytes, size_t size, int *fd)
{
	struct iovec parts[2] = {{m, sizeof(*m)}, {bytes, size}};
	int flags;
	ssize_t n = message_receive_parts(socket, parts, size > 0 ? 2 : 1, fd, &flags);
	if (n < 0)
		return n;
	if (n == 0 && *fd < 0)
		return 0;
	if ((size_t)n >= sizeof(*m) && !(flags & (MSG_TRUNC | MSG_CTRUNC)))
		return n;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	errno = EPROTO;
	return -1;
}

/* ---- sealed memory files ---- */

static bool write_all(int fd, struct slice bytes)
{
	while (bytes.len > 0) {
		ssize_t n = write(fd, bytes.ptr, bytes.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes = slice_from(bytes, (size_t)n);
	}
	return true;
}

int files_seal(struct slice bytes)
{
	const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
	int fd = memfd_create("pushgate-file", flags | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL) /* the kernel is older than this flag */
		fd = memfd_create("pushgate-file", flags);
	if (fd < 0)
		return -1;
	if (write_all(fd, bytes) && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
		return fd;
	close(fd);
	return -1;
}

void *files_map(int fd, size_t most, size_t *length)
{
	/* Unsealed, its other owners could change or cut it off while it is read. */
	int seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS) /* the kernel may add F_SEAL_EXEC */
		return NULL;
	off_t size = lseek(fd, 0, SEEK_END);
	if (size <= 0 || (uint64_t)size > most)
		return NULL;
	*length = (size_t)size;
	void *bytes = mmap(NULL, *length, PROT_READ, MAP_SHARED, fd, 0);
	return bytes == MAP_FAILED ? NULL : bytes;
}

void files_unmap(void *bytes, size_t length)
{
	munmap(bytes, length);
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
		close(fd);
		return;
	}
	if (c->fds[object] >= 0)
		close(c->fds[object]);
	c->fds[object] = fd;
}

void files_contents_fini(struct files_contents *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->fds[i] >= 0)
			close(c->fds[i]);
	free(c->fds);
	*c = (struct files_contents){0};
}
