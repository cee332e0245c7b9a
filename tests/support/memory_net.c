/* SPDX-License-Identifier: MIT */
/* Sockets in memory; see memory_net.h. */
#include "tests/support/memory_net.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "tests/support/net_sys.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define FIRST_BYTES 4096u

static struct memory_net *net;

static int new_descriptor(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ensure(fd >= 0);
	return fd;
}

static void signal_readable(int fd, bool *is_now, bool shall_be)
{
	uint64_t one = 1;
	if (*is_now == shall_be)
		return;
	ensure(shall_be ? write(fd, &one, 8) == 8 : read(fd, &one, 8) == 8);
	*is_now = shall_be;
}

static void look(struct memory_socket *s)
{
	bool is_readable = s->in_at < s->in.size || s->in_ended || s->error;
	if (s->fd >= 0)
		signal_readable(s->fd, &s->is_readable, is_readable);
}

static struct memory_socket *find(int fd)
{
	for (unsigned i = 0; i < net->count; i++)
		if (net->sockets[i]->fd == fd)
			return net->sockets[i];
	errno = EBADF;
	return NULL;
}

static struct memory_socket *socket_new(struct memory_net *n)
{
	if (n->count == MEMORY_SOCKETS)
		return NULL;
	int fd = new_descriptor();
	struct memory_socket *s = find(fd);
	if (s) /* the descriptor was closed without our close */
		s->fd = -1;
	s = memory_new(struct memory_socket);
	s->net = n;
	s->fd = fd;
	s->room = SIZE_MAX;
	s->in = (struct net_buffer){memory_alloc(FIRST_BYTES), 0, FIRST_BYTES};
	s->out = (struct net_buffer){memory_alloc(FIRST_BYTES), 0, FIRST_BYTES};
	return n->sockets[n->count++] = s;
}

/* ---- system calls of the loop ---- */

static int on_socket(int family, int type, int protocol)
{
	(void)family, (void)type, (void)protocol;
	struct memory_socket *s = socket_new(net);
	errno = EMFILE;
	return s ? s->fd : -1;
}

static int on_connect(int fd, const struct sockaddr *to, socklen_t length)
{
	struct memory_socket *s = find(fd);
	ensure(s && length == sizeof(struct sockaddr_in));
	s->port = ntohs(((const struct sockaddr_in *)(const void *)to)->sin_port);
	errno = net->errno_port == 0 || net->errno_port == s->port ? net->connect_errno : 0;
	if (errno != 0 && errno != EINPROGRESS)
		s->error = errno;
	return errno ? -1 : 0;
}

static void give_address(struct sockaddr *peer, socklen_t *length)
{
	struct sockaddr_in in = {
	    .sin_family = AF_INET, .sin_port = htons(40000), .sin_addr.s_addr = htonl(0x7f000001)};
	memcpy(peer, &in, sizeof(in));
	*length = sizeof(in);
}

static struct memory_socket *waiting(void)
{
	for (unsigned i = 0; i < net->count; i++)
		if (net->sockets[i]->was_dialled && !net->sockets[i]->was_seen)
			return net->sockets[i];
	return NULL;
}

static int on_accept(int fd, struct sockaddr *peer, socklen_t *length, int flags)
{
	(void)flags;
	struct memory_socket *s = waiting();
	bool was_readable = true;
	ensure(fd == net->listener);
	errno = EAGAIN;
	if (!s)
		return -1;
	s->was_seen = true;
	if (!waiting())
		signal_readable(net->listener, &was_readable, false);
	give_address(peer, length);
	return s->fd;
}

static ssize_t on_recv(int fd, void *buffer, size_t size, int flags)
{
	(void)flags;
	struct memory_socket *s = find(fd);
	if (!s)
		return -1;
	size_t n = s->in.size - s->in_at;
	errno = s->error ? s->error : EAGAIN;
	if (s->error || (n == 0 && !s->in_ended))
		return -1;
	if (n > size)
		n = size;
	memcpy(buffer, s->in.data + s->in_at, n);
	s->in_at += n;
	look(s);
	return (ssize_t)n;
}

static ssize_t take(struct memory_socket *s, const void *bytes, size_t size)
{
	size_t room = s->room > s->out.size ? s->room - s->out.size : 0;
	errno = s->error ? s->error : EAGAIN;
	if (s->error || room == 0)
		return -1;
	if (size > room)
		size = room;
	net_buffer_append(&s->out, bytes, size);
	return (ssize_t)size;
}

static ssize_t on_send(int fd, const void *buffer, size_t size, int flags)
{
	(void)flags;
	struct memory_socket *s = find(fd);
	return s ? take(s, buffer, size) : -1;
}

static ssize_t on_sendmsg(int fd, const struct msghdr *message, int flags)
{
	ssize_t sent = 0;
	for (size_t i = 0; i < message->msg_iovlen; i++) {
		const struct iovec *v = &message->msg_iov[i];
		ssize_t n = on_send(fd, v->iov_base, v->iov_len, flags);
		if (n < 0)
			return sent > 0 ? sent : -1;
		sent += n;
		if ((size_t)n < v->iov_len)
			break;
	}
	return sent;
}

static int on_shutdown(int fd, int how)
{
	struct memory_socket *s = find(fd);
	ensure(s && how == SHUT_WR);
	s->out_ended = true;
	errno = s->error;
	return s->error ? -1 : 0;
}

static int on_close(int fd)
{
	struct memory_socket *s = find(fd);
	ensure(s);
	s->fd = -1;
	return close(fd);
}

static int on_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	struct memory_socket *s = find(fd);
	memset(value, 0, *length);
	if (level == SOL_SOCKET && name == SO_ERROR)
		memcpy(value, &s->error, sizeof(int));
	if (level == IPPROTO_TCP && name == TCP_INFO && *length == sizeof(struct tcp_info)) {
		const struct tcp_info info = {.tcpi_bytes_acked = s->read, .tcpi_rtt = 1000};
		memcpy(value, &info, sizeof(info));
	}
	return 0;
}

static int on_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	(void)level, (void)name, (void)value, (void)length;
	return find(fd) ? 0 : -1;
}

static int on_getpeername(int fd, struct sockaddr *peer, socklen_t *length)
{
	if (!find(fd))
		return -1;
	give_address(peer, length);
	return 0;
}

static const struct net_sys memory_sys = {
    .socket = on_socket,
    .connect = on_connect,
    .accept4 = on_accept,
    .recv = on_recv,
    .send = on_send,
    .sendmsg = on_sendmsg,
    .shutdown = on_shutdown,
    .close = on_close,
    .getsockopt = on_getsockopt,
    .setsockopt = on_setsockopt,
    .getpeername = on_getpeername,
};

/* ---- calls of the test ---- */

struct memory_net *memory_net_new(void)
{
	ensure(net == NULL);
	net = memory_new(struct memory_net);
	net->listener = new_descriptor();
	net_sys = memory_sys;
	return net;
}

void memory_net_free(struct memory_net *n)
{
	ensure(n == net);
	for (unsigned i = 0; i < n->count; i++) {
		struct memory_socket *s = n->sockets[i];
		if (s->fd >= 0 && s->was_dialled && !s->was_seen)
			close(s->fd); /* was never accepted */
		free(s->in.data);
		free(s->out.data);
		free(s);
	}
	close(n->listener);
	free(n);
	net = NULL;
	net_sys_reset();
}

struct memory_socket *memory_net_dial(struct memory_net *n)
{
	bool was_readable = waiting() != NULL;
	struct memory_socket *s = socket_new(n);
	if (!s)
		return NULL;
	s->was_dialled = true;
	signal_readable(n->listener, &was_readable, true);
	return s;
}

struct memory_socket *memory_net_next(struct memory_net *n)
{
	for (unsigned i = 0; i < n->count; i++) {
		struct memory_socket *s = n->sockets[i];
		if (s->was_dialled || s->was_seen || s->port == 0)
			continue;
		s->was_seen = true;
		if (s->error == 0)
			return s;
	}
	return NULL;
}

void memory_socket_put(struct memory_socket *s, const void *bytes, size_t n)
{
	if (s->in_ended || s->fd < 0 || n == 0)
		return;
	if (s->in_at == s->in.size)
		s->in_at = s->in.size = 0;
	net_buffer_append(&s->in, bytes, n);
	look(s);
}

void memory_socket_end(struct memory_socket *s)
{
	s->in_ended = true;
	look(s);
}

void memory_socket_fail(struct memory_socket *s, int error)
{
	s->error = error;
	look(s);
}

void memory_socket_read(struct memory_socket *s)
{
	s->read += s->out.size;
	s->out.size = 0;
}
