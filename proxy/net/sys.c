/* SPDX-License-Identifier: MIT */
/*
 * The wrappers that call the C library; see sys.h. "inline" lets link-time optimisation inline them
 * into their callers in the release build.
 */
#include "proxy/net/sys.h"
#include <unistd.h>

inline int net_sys_socket(int family, int type, int protocol)
{
	return socket(family, type, protocol);
}

inline int net_sys_bind(int fd, const struct sockaddr *at, socklen_t length)
{
	return bind(fd, at, length);
}

inline int net_sys_listen(int fd, int backlog)
{
	return listen(fd, backlog);
}

inline int net_sys_connect(int fd, const struct sockaddr *to, socklen_t length)
{
	return connect(fd, to, length);
}

inline int net_sys_accept4(int fd, struct sockaddr *peer, socklen_t *length, int flags)
{
	return accept4(fd, peer, length, flags);
}

inline ssize_t net_sys_recv(int fd, void *buffer, size_t size, int flags)
{
	return recv(fd, buffer, size, flags);
}

inline ssize_t net_sys_send(int fd, const void *buffer, size_t size, int flags)
{
	return send(fd, buffer, size, flags);
}

inline ssize_t net_sys_sendmsg(int fd, const struct msghdr *message, int flags)
{
	return sendmsg(fd, message, flags);
}

inline int net_sys_shutdown(int fd, int how)
{
	return shutdown(fd, how);
}

inline int net_sys_close(int fd)
{
	return close(fd);
}

inline int net_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	return getsockopt(fd, level, name, value, length);
}

inline int net_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	return setsockopt(fd, level, name, value, length);
}

inline int net_sys_getpeername(int fd, struct sockaddr *peer, socklen_t *length)
{
	return getpeername(fd, peer, length);
}
