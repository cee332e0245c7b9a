/* SPDX-License-Identifier: MIT */
/* Messages between the master and its children, with a descriptor if need be (SCM_RIGHTS, unix(7)). */
#include "proxy/process/message.h"
#include <sys/socket.h>

struct packet {
	struct iovec bytes;
	struct msghdr header;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static struct msghdr *prepare(struct packet *p, struct message *m)
{
	*p = (struct packet){.bytes = {m, sizeof(*m)}};
	p->header = (struct msghdr){
	    .msg_iov = &p->bytes,
	    .msg_iovlen = 1,
	    .msg_control = p->control,
	    /* Not sizeof(control): its padding would take in a second descriptor, which nobody closes. */
	    .msg_controllen = CMSG_LEN(sizeof(int)),
	};
	return &p->header;
}

static bool send_with(int control, const struct message *m, int fd, int flags)
{
	struct packet p;
	struct message copy = *m;
	struct msghdr *header = prepare(&p, &copy);
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
	return sendmsg(control, header, MSG_NOSIGNAL | flags) >= 0;
}

bool message_send(int control, const struct message *m, int fd)
{
	return send_with(control, m, fd, MSG_DONTWAIT);
}

bool message_send_waiting(int control, const struct message *m, int fd)
{
	return send_with(control, m, fd, 0);
}

ssize_t message_receive(int control, struct message *m, int *fd)
{
	struct packet p;
	struct msghdr *header = prepare(&p, m);
	*fd = -1;
	ssize_t n = recvmsg(control, header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(header) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fd, CMSG_DATA(c), sizeof(int));
	return n;
}
