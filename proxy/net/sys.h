/* SPDX-License-Identifier: MIT */
/*
 * The system calls that touch sockets, one pointer each, so that a test can make any of them fail
 * or fall short. Private to net/. A loop starts with the C library's, and so does net_listen, which
 * has no loop.
 *
 * Not here are the calls that cannot fail on a good descriptor (fcntl for its flags) and those of
 * files (lstat, unlink): tests have the real thing for these.
 */
#ifndef PUSHGATE_NET_SYS_H
#define PUSHGATE_NET_SYS_H

#include <sys/socket.h>
#include <sys/types.h>

struct net_address;

struct net_sys {
	int (*socket)(int family, int type, int protocol);
	int (*bind)(int fd, const struct sockaddr *at, socklen_t length);
	int (*listen)(int fd, int backlog);
	int (*connect)(int fd, const struct sockaddr *to, socklen_t length);
	int (*accept4)(int fd, struct sockaddr *peer, socklen_t *length, int flags);
	ssize_t (*recv)(int fd, void *buffer, size_t size, int flags);
	ssize_t (*send)(int fd, const void *buffer, size_t size, int flags);
	ssize_t (*sendmsg)(int fd, const struct msghdr *message, int flags);
	int (*shutdown)(int fd, int how);
	int (*close)(int fd);
	int (*getsockopt)(int fd, int level, int name, void *value, socklen_t *length);
	int (*setsockopt)(int fd, int level, int name, const void *value, socklen_t length);
	int (*getpeername)(int fd, struct sockaddr *peer, socklen_t *length);
};

extern const struct net_sys net_sys_default;

/* net_listen with these calls. */
int net_listen_by(
    const struct net_sys *sys, const struct net_address *at, int backlog, const char **error);

#endif
