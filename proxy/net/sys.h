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
