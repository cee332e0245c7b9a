/* SPDX-License-Identifier: MIT */
/* System calls that fail as planned; see net_faults.h. */
#include "tests/support/net_faults.h"

#include "proxy/base/ensure.h"
#include "tests/support/net_sys.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

struct net_faults net_faults;

/* Counts the call. Returns true, with errno set, when it must fail. */
static bool fails(enum net_call call, int fd)
{
	const struct net_fault *p = &net_faults.plan;
	bool is_accepted = fd >= 0 && fd < 1024 && net_faults.is_accepted[fd];
	if (p->side != NET_SIDE_ANY && (p->side == NET_SIDE_ACCEPTED) != is_accepted)
		return false;
	size_t n = ++net_faults.calls[call];
	if (call != p->call || p->error == 0 || n < p->first || n - p->first >= p->count)
		return false;
	net_faults.failed++;
	errno = p->error;
	return true;
}

static int fault_socket(int family, int type, int protocol)
{
	return fails(NET_CALL_SOCKET, -1) ? -1 : socket(family, type, protocol);
}

static int fault_bind(int fd, const struct sockaddr *at, socklen_t length)
{
	return fails(NET_CALL_BIND, fd) ? -1 : bind(fd, at, length);
}

static int fault_listen(int fd, int backlog)
{
	return fails(NET_CALL_LISTEN, fd) ? -1 : listen(fd, backlog);
}

static int fault_connect(int fd, const struct sockaddr *to, socklen_t length)
{
	if (!fails(NET_CALL_CONNECT, fd))
		return connect(fd, to, length);
	if (net_faults.plan.error == EINTR) { /* the connect continues asynchronously */
		(void)connect(fd, to, length);
		errno = EINTR;
	}
	return -1;
}

static int fault_accept4(int fd, struct sockaddr *peer, socklen_t *length, int flags)
{
	int r = fails(NET_CALL_ACCEPT, fd) ? -1 : accept4(fd, peer, length, flags);
	if (r >= 0 && r < 1024)
		net_faults.is_accepted[r] = true;
	return r;
}

static ssize_t fault_recv(int fd, void *buffer, size_t size, int flags)
{
	return fails(NET_CALL_RECV, fd) ? -1 : recv(fd, buffer, size, flags);
}

static ssize_t fault_sendmsg(int fd, const struct msghdr *m, int flags)
{
	ensure(flags & MSG_NOSIGNAL);
	if (fails(NET_CALL_SEND, fd))
		return -1;
	struct iovec cut[64];
	size_t left = net_faults.send_most ? net_faults.send_most : SIZE_MAX, count = 0;
	ensure(m->msg_iovlen <= sizeof(cut) / sizeof(cut[0]));
	for (; count < m->msg_iovlen && left > 0; count++) {
		cut[count] = m->msg_iov[count];
		if (cut[count].iov_len > left)
			cut[count].iov_len = left;
		left -= cut[count].iov_len;
	}
	struct msghdr message = {.msg_iov = cut, .msg_iovlen = count};
	return sendmsg(fd, &message, flags);
}

static ssize_t fault_send(int fd, const void *buffer, size_t size, int flags)
{
	struct iovec one = {(void *)(uintptr_t)buffer, size};
	struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1};
	return fault_sendmsg(fd, &message, flags);
}

static int fault_shutdown(int fd, int how)
{
	return fails(NET_CALL_SHUTDOWN, fd) ? -1 : shutdown(fd, how);
}

static int fault_close(int fd)
{
	bool is_bad = fails(NET_CALL_CLOSE, fd);
	int r = close(fd);
	if (fd >= 0 && fd < 1024)
		net_faults.is_accepted[fd] = false;
	if (is_bad)
		errno = net_faults.plan.error;
	return is_bad ? -1 : r;
}

static int fault_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	return fails(NET_CALL_GETSOCKOPT, fd) ? -1 : getsockopt(fd, level, name, value, length);
}

static int fault_setsockopt(int fd, int level, int name, const void *value, socklen_t length)
{
	return fails(NET_CALL_SETSOCKOPT, fd) ? -1 : setsockopt(fd, level, name, value, length);
}

static int fault_getpeername(int fd, struct sockaddr *peer, socklen_t *length)
{
	return fails(NET_CALL_GETPEERNAME, fd) ? -1 : getpeername(fd, peer, length);
}

static const struct net_sys fault_sys = {
    .socket = fault_socket,
    .bind = fault_bind,
    .listen = fault_listen,
    .connect = fault_connect,
    .accept4 = fault_accept4,
    .recv = fault_recv,
    .send = fault_send,
    .sendmsg = fault_sendmsg,
    .shutdown = fault_shutdown,
    .close = fault_close,
    .getsockopt = fault_getsockopt,
    .setsockopt = fault_setsockopt,
    .getpeername = fault_getpeername,
};

void net_faults_begin(void)
{
	net_faults = (struct net_faults){0};
	net_sys = fault_sys;
}

void net_faults_plan(struct net_fault plan)
{
	net_faults.plan = plan;
	net_faults.failed = 0;
	for (size_t i = 0; i < NET_CALLS; i++)
		net_faults.calls[i] = 0;
}

size_t net_faults_calls(void)
{
	size_t n = 0;
	for (size_t i = 0; i < NET_CALLS; i++)
		n += net_faults.calls[i];
	return n;
}

size_t net_faults_open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	ensure(d != NULL);
	size_t n = 0;
	while (readdir(d))
		n++;
	closedir(d);
	return n - 3; /* without "." and "..", and the descriptor of the directory itself */
}
