/* SPDX-License-Identifier: MIT */
/*
 * Linked into test programs instead of proxy/net/sys.c: the system calls of net/ are calls through this table, so that
 * a test can replace any of them. At the start and after a reset the entries are the C library's functions.
 */
#ifndef PUSHGATE_TESTS_NET_SYS_H
#define PUSHGATE_TESTS_NET_SYS_H

#include <sys/socket.h>
#include <sys/types.h>

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

extern struct net_sys net_sys;

void net_sys_reset(void);

#endif
