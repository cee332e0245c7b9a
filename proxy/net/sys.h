/* SPDX-License-Identifier: MIT */
/*
 * Wrappers of the system calls that touch sockets. The program links sys.c, which calls the C
 * library and is inlined into the callers. Test programs link tests/support/net_sys.c instead, where
 * each call can be made to fail or to transfer fewer bytes. Private to net/.
 *
 * Calls that cannot fail on a valid descriptor (fcntl for its flags) and calls on files (lstat,
 * unlink) have no wrapper: tests use the real ones.
 */
#ifndef PUSHGATE_NET_SYS_H
#define PUSHGATE_NET_SYS_H

#include <sys/socket.h>
#include <sys/types.h>

/* X(type, call, parameters, arguments): net_sys_CALL does what CALL(2) does. */
// clang-format off
#define NET_SYS_CALLS(X) \
	X(int, socket, (int family, int type, int protocol), (family, type, protocol)) \
	X(int, bind, (int fd, const struct sockaddr *at, socklen_t length), (fd, at, length)) \
	X(int, listen, (int fd, int backlog), (fd, backlog)) \
	X(int, connect, (int fd, const struct sockaddr *to, socklen_t length), (fd, to, length)) \
	X(int, accept4, (int fd, struct sockaddr *peer, socklen_t *length, int flags), (fd, peer, length, flags)) \
	X(ssize_t, recv, (int fd, void *buffer, size_t size, int flags), (fd, buffer, size, flags)) \
	X(ssize_t, send, (int fd, const void *buffer, size_t size, int flags), (fd, buffer, size, flags)) \
	X(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), (fd, message, flags)) \
	X(int, shutdown, (int fd, int how), (fd, how)) \
	X(int, close, (int fd), (fd)) \
	X(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *length), (fd, level, name, value, length)) \
	X(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t length), (fd, level, name, value, length)) \
	X(int, getpeername, (int fd, struct sockaddr *peer, socklen_t *length), (fd, peer, length))
// clang-format on

#define NET_SYS_DECLARE(type, call, parameters, arguments) type net_sys_##call parameters;
NET_SYS_CALLS(NET_SYS_DECLARE)
#undef NET_SYS_DECLARE

#endif
