/* SPDX-License-Identifier: MIT */
/* The system calls through a table; see net_sys.h. */
#include "tests/support/net_sys.h"

#include "proxy/net/sys.h"

#include <unistd.h>

static const struct net_sys real = {
    .socket = socket,
    .bind = bind,
    .listen = listen,
    .connect = connect,
    .accept4 = accept4,
    .recv = recv,
    .send = send,
    .sendmsg = sendmsg,
    .shutdown = shutdown,
    .close = close,
    .getsockopt = getsockopt,
    .setsockopt = setsockopt,
    .getpeername = getpeername,
};

struct net_sys net_sys = {
    .socket = socket,
    .bind = bind,
    .listen = listen,
    .connect = connect,
    .accept4 = accept4,
    .recv = recv,
    .send = send,
    .sendmsg = sendmsg,
    .shutdown = shutdown,
    .close = close,
    .getsockopt = getsockopt,
    .setsockopt = setsockopt,
    .getpeername = getpeername,
};

void net_sys_reset(void)
{
	net_sys = real;
}

int net_sys_socket(int family, int type, int protocol)
{
	return net_sys.socket(family, type, protocol);
}

int net_sys_bind(int fd, const struct sockaddr *at, socklen_t length)
{
	return net_sys.bind(fd, at, length);
}

int net_sys_listen(int fd, int backlog)
{
	return net_sys.listen(fd, backlog);
}

int net_sys_connect(int fd, const struct sockaddr *to, socklen_t length)
{
	return net_sys.connect(fd, to, length);
}

int net_sys_accept4(int fd, struct sockaddr *peer, socklen_t *length, int flags)
{
	return net_sys.accept4(fd, peer, length, flags);
}

ssize_t net_sys_recv(int fd, void *buffer, size_t size, int flags)
{
	return net_sys.recv(fd, buffer, size, flags);
}

ssize_t net_sys_send(int fd, const void *buffer, size_t size, int flags)
{
	return net_sys.send(fd, buffer, size, flags);
}

ssize_t net_sys_sendmsg(int fd, const struct msghdr *message, int flags)
{
	return net_sys.sendmsg(fd, message, flags);
}

int net_sys_shutdown(int fd, int how)
{
	return net_sys.shutdown(fd, how);
}

int net_sys_close(int fd)
{
	return net_sys.close(fd);
}

int net_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	return net_sys.getsockopt(fd, level, name, value, length);
}

int net_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	return net_sys.setsockopt(fd, level, name, value, length);
}

int net_sys_getpeername(int fd, struct sockaddr *peer, socklen_t *length)
{
	return net_sys.getpeername(fd, peer, length);
}
