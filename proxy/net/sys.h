/* SPDX-License-Identifier: MIT */
/*
 * The system calls that touch sockets, each by a name of its own. The program links sys.c, which
 * calls the C library and which the optimizer dissolves into the callers. Test programs link
 * tests/support/net_sys.c in its place, where each call can be made to fail or to fall short.
 * Private to net/.
 *
 * Not here are the calls that cannot fail on a good descriptor (fcntl for its flags) and those of
 * files (lstat, unlink): tests have the real thing for these.
 */
#ifndef PUSHGATE_NET_SYS_H
#define PUSHGATE_NET_SYS_H

#include <sys/socket.h>
#include <sys/types.h>

int net_sys_socket(int family, int type, int protocol);
int net_sys_bind(int fd, const struct sockaddr *at, socklen_t length);
int net_sys_listen(int fd, int backlog);
int net_sys_connect(int fd, const struct sockaddr *to, socklen_t length);
int net_sys_accept4(int fd, struct sockaddr *peer, socklen_t *length, int flags);
ssize_t net_sys_recv(int fd, void *buffer, size_t size, int flags);
ssize_t net_sys_send(int fd, const void *buffer, size_t size, int flags);
ssize_t net_sys_sendmsg(int fd, const struct msghdr *message, int flags);
int net_sys_shutdown(int fd, int how);
int net_sys_close(int fd);
int net_sys_getsockopt(int fd, int level, int name, void *value, socklen_t *length);
int net_sys_setsockopt(int fd, int level, int name, const void *value, socklen_t length);
int net_sys_getpeername(int fd, struct sockaddr *peer, socklen_t *length);

#endif
