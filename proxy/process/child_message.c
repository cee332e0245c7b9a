/* SPDX-License-Identifier: MIT */
/* Datagrams between the master, its workers and its helpers, with a descriptor if need be (SCM_RIGHTS, unix(7)). */
#include "proxy/process/child_message.h"
#include "proxy/base/descriptor.h"
#include <errno.h>
#include <sys/socket.h>

struct packet {
	struct msghdr header;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static struct msghdr *prepare(struct packet *p, struct iovec *parts, size_t count)
{
	*p = (struct packet){0};
	p->header = (struct msghdr){
	    .msg_iov = parts,
	    .msg_iovlen = count,
	    .msg_control = p->control,
	    /* Not sizeof(control): its padding would take in a second descriptor, which would stay open. */
	    .msg_controllen = CMSG_LEN(sizeof(int)),
	};
	return &p->header;
}

bool message_send_parts(int socket, struct iovec *parts, size_t count, int fd, int flags)
{
	struct packet p;
	struct msghdr *header = prepare(&p, parts, count);
	if (fd >= 0) {
		struct cmsghdr *c = CMSG_FIRSTHDR(header);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	} else {
		header->msg_control = NULL;
		header->msg_controllen = 0;
	}
	return sendmsg(socket, header, MSG_NOSIGNAL | flags) >= 0;
}

/* *flags: for recvmsg(2); its msg_flags then, if it did not fail. */
static ssize_t receive(int socket, void *bytes, size_t size, int *fd, int *flags)
{
	struct packet p;
	struct iovec part = {bytes, size};
	struct msghdr *header = prepare(&p, &part, 1);
	*fd = -1;
	ssize_t n = recvmsg(socket, header, *flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(header) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	*flags = header->msg_flags;
	return n;
}

static ssize_t receive_bytes(int socket, void *bytes, size_t size, int *fd, int flags)
{
	ssize_t n = receive(socket, bytes, size, fd, &flags);
	bool is_empty = n == 0 && *fd >= 0;
	if (n < 0 || (!is_empty && !(flags & (MSG_TRUNC | MSG_CTRUNC))))
		return n;
	descriptor_close(fd);
	errno = EPROTO;
	return -1;
}

ssize_t message_receive_bytes(int socket, void *bytes, size_t size, int *fd)
{
	return receive_bytes(socket, bytes, size, fd, MSG_DONTWAIT);
}

ssize_t message_wait_bytes(int socket, void *bytes, size_t size, int *fd)
{
	return receive_bytes(socket, bytes, size, fd, 0);
}

bool message_send(int control, const struct message *m, int fd)
{
	struct iovec part = {(void *)(uintptr_t)m, sizeof(*m)};
	return message_send_parts(control, &part, 1, fd, MSG_DONTWAIT);
}

ssize_t message_receive(int control, struct message *m, int *fd)
{
	int flags = MSG_DONTWAIT;
	return receive(control, m, sizeof(*m), fd, &flags);
}
