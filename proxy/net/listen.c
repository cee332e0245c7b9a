/* SPDX-License-Identifier: MIT */
/* Listening sockets, and accepting from them; pauses when descriptors or memory are short. */
#include "proxy/base/memory.h"
#include "proxy/net/net_conn.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Connections accepted for one event, so that a busy listener does not delay the others. */
#define ACCEPTS_PER_EVENT 64
/* A backlog has 4096 at most (process/sockets.c). */
#define BATCHES_AT_END 64
#define PAUSE_LEAST_USEC (100 * USEC_PER_MSEC)
#define PAUSE_MOST_USEC USEC_PER_SEC
/* A sixteenth of the descriptors, at most this many, is reserved for connections to origins. Before
 * accepting pauses, connections that drain or linger after their close are closed: no other limit
 * counts them, so a client could have any number of them. */
#define RESERVE_MOST 1024

/* ---- for the master ---- */

static const char *reason(void)
{
	const char *text = strerrordesc_np(errno);
	return text ? text : "unknown error";
}

/* Removes a unix socket file on which no process listens. Returns NULL, or the error as text. */
static const char *clear_path(const struct net_address *at)
{
	const char *path = at->un.sun_path;
	struct stat st;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? NULL : reason();
	if (!S_ISSOCK(st.st_mode))
		return "the path exists and is not a socket";
	int fd = net_sys_socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return reason();
	int r = net_sys_connect(fd, &at->any, at->length);
	int error = r != 0 ? errno : 0;
	net_sys_close(fd);
	if (error == ENOENT) /* a process that drains has just removed it */
		return NULL;
	if (error != ECONNREFUSED)
		return "another process listens there";
	return unlink(path) == 0 || errno == ENOENT ? NULL : reason();
}

/* A socket for the address. On a kernel without IPv6, "*" means all IPv4 addresses: *at becomes that. -1 with errno. */
static int open_socket(struct net_address *at)
{
	const struct address all4 = {.family = 4};
	int fd = net_sys_socket(at->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 || errno != EAFNOSUPPORT || at->any.sa_family != AF_INET6 ||
	    !net_address_is_any(at))
		return fd;
	net_address_set_ip(at, &all4, net_address_port(at));
	return net_sys_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

/* The address may be none of this machine's yet. */
static bool set_free(int fd, int family)
{
	int on = 1;
	if (family == AF_INET6)
		return net_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_FREEBIND, &on, sizeof(on)) == 0;
	return net_sys_setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof(on)) == 0;
}

/* is_shared: other processes may listen on the same port. False with errno. */
static bool bind_socket(int fd, const struct net_address *at, bool is_shared, bool is_free)
{
	int on = 1, off = 0, family = at->any.sa_family;
	if (family != AF_UNIX &&
	    net_sys_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0)
		return false;
	if (family != AF_UNIX && is_shared &&
	    net_sys_setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0)
		return false;
	if (family == AF_INET6 &&
	    net_sys_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0)
		return false;
	if (is_free && family != AF_UNIX && !set_free(fd, family))
		return false;
	return net_sys_bind(fd, &at->any, at->length) == 0;
}

int net_bind(const struct net_address *at, bool is_free, const char **error)
{
	struct net_address own = *at;
	if (at->any.sa_family == AF_UNIX && (*error = clear_path(at)))
		return -1;
	int fd = open_socket(&own);
	if (fd >= 0 && bind_socket(fd, &own, true, is_free))
		return fd;
	*error = reason();
	if (fd >= 0)
		net_sys_close(fd);
	return -1;
}

const char *net_listen_on(int fd, int backlog)
{
	return net_sys_listen(fd, backlog) == 0 ? NULL : reason();
}

int net_listen(const struct net_address *at, int backlog, const char **error)
{
	int fd = net_bind(at, false, error);
	const char *wrong = fd >= 0 ? net_listen_on(fd, backlog) : NULL;
	if (!wrong)
		return fd;
	if (at->any.sa_family == AF_UNIX)
		(void)unlink(at->un.sun_path);
	net_sys_close(fd);
	*error = wrong;
	return -1;
}

bool net_listen_share(int fd, uint32_t count)
{
	struct sock_filter code[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
	    BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, count),
	    BPF_STMT(BPF_RET | BPF_A, 0),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
	return net_sys_setsockopt(
		   fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof(program)) == 0;
}

int net_listen_try(const struct net_address *at, bool is_free)
{
	struct net_address own = *at;
	int fd = open_socket(&own);
	int error = fd >= 0 && bind_socket(fd, &own, false, is_free) ? 0 : errno;
	if (fd >= 0)
		net_sys_close(fd);
	return error;
}

/* ---- for the worker ---- */

struct net_listener {
	ev_io io;
	struct net_loop *loop;
	struct net_timer resume;
	usec pause; /* the length of the last pause; 0 after the queue was empty */
	int most;   /* the first descriptor number of the reserve */
	void (*accepted)(void *context, int fd, const struct net_address *peer);
	void (*paused)(void *context, int error);
	void *context;
	bool *is_freed; /* points to a flag of the running callback; NULL: none runs */
};

/* The kernel assigns the lowest free number, so a descriptor's number tells how many are in use. */
static int most_descriptors(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX)
		return INT_MAX;
	int all = (int)limit.rlim_cur;
	return all - (all / 16 < RESERVE_MOST ? all / 16 : RESERVE_MOST);
}

static bool has_room(const struct net_listener *n)
{
	int probe = fcntl(n->io.fd, F_DUPFD_CLOEXEC, 0);
	if (probe >= 0)
		close(probe);
	return probe >= 0 && probe < n->most;
}

/* The error concerns only one connection, which has left the queue (accept(2), ERRORS). */
static bool is_error_of_one_connection(int error)
{
	static const int errors[] = {ECONNABORTED, EPERM, EPROTO, EINTR, ENETDOWN, ENOPROTOOPT,
	    EHOSTDOWN, ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH};
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i] == error)
			return true;
	return false;
}

static void pause_for(struct net_listener *n, int error)
{
	bool is_first = n->pause == 0;
	n->pause = is_first ? PAUSE_LEAST_USEC : n->pause * 2;
	if (n->pause > PAUSE_MOST_USEC)
		n->pause = PAUSE_MOST_USEC;
	ev_io_stop(n->loop->ev, &n->io);
	net_timer_set(&n->resume, n->loop->now + n->pause);
	if (is_first && n->paused)
		n->paused(n->context, error);
}

static void on_resume(void *context)
{
	struct net_listener *n = context;
	if (has_room(n) || net_closing_free_descriptor(n->loop))
		ev_io_start(n->loop->ev, &n->io);
	else
		pause_for(n, EMFILE);
}

/* Accepts until the queue is empty or the batch is full. Returns 0, or the error to pause for. *is_empty: it is. */
static int accept_batch(struct net_listener *n, const bool *is_freed, bool *is_empty)
{
	int failures = 0;
	*is_empty = false;
	for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
		struct net_address peer = {.length = NET_ADDRESS_BYTES};
		int fd = net_sys_accept4(
		    n->io.fd, &peer.any, &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			int most = n->most;
			n->accepted(n->context, fd, &peer);
			if (*is_freed)
				return 0;
			if (fd >= most && !net_closing_free_descriptor(n->loop))
				return EMFILE;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			*is_empty = true;
			return 0;
		} else if (errno == EMFILE && net_closing_free_descriptor(n->loop)) {
			continue;
		} else if (!is_error_of_one_connection(errno) || ++failures == ACCEPTS_PER_EVENT) {
			return errno; /* every accept of the batch failed: pause as well */
		}
	}
	return 0;
}

static void on_acceptable(struct ev_loop *ev, ev_io *io, int events)
{
	(void)ev;
	struct net_listener *n = io->data;
	bool is_freed = false, is_empty;
	n->is_freed = &is_freed;
	/* EV_ERROR: the kernel refused to watch the socket, and libev has stopped. */
	int error = events & EV_ERROR ? ENOMEM : accept_batch(n, &is_freed, &is_empty);
	if (!is_freed && error)
		pause_for(n, error);
	else if (!is_freed)
		n->pause = 0;
	if (!is_freed)
		n->is_freed = NULL;
}

struct net_listener *net_listener_new(struct net_loop *l, int fd,
    void (*accepted)(void *context, int fd, const struct net_address *peer),
    void (*paused)(void *context, int error), void *context)
{
	struct net_listener *n = memory_new(struct net_listener);
	n->loop = l;
	n->accepted = accepted;
	n->paused = paused;
	n->context = context;
	n->most = most_descriptors();
	net_timer_init(&n->resume, l, on_resume, n);
	ev_io_init(&n->io, on_acceptable, fd, EV_READ);
	n->io.data = n;
	ev_io_start(l->ev, &n->io);
	return n;
}

void net_listener_empty(struct net_listener *n)
{
	bool is_freed = false, is_empty = false;
	for (int i = 0; i < BATCHES_AT_END && !is_empty; i++)
		if (accept_batch(n, &is_freed, &is_empty) != 0)
			return;
}

void net_listener_free(struct net_listener *n)
{
	if (!n)
		return;
	if (n->is_freed)
		*n->is_freed = true;
	ev_io_stop(n->loop->ev, &n->io);
	net_timer_fini(&n->resume);
	free(n);
}

ssize_t net_peek(int fd, void *bytes, size_t size)
{
	return net_sys_recv(fd, bytes, size, MSG_PEEK);
}

bool net_take(int fd, void *bytes, size_t count)
{
	return net_sys_recv(fd, bytes, count, 0) == (ssize_t)count;
}

uint16_t net_own_address(int fd, struct address *own)
{
	struct net_address a = {.length = NET_ADDRESS_BYTES};
	*own = (struct address){0};
	if (getsockname(fd, &a.any, &a.length) != 0)
		return 0;
	net_address_ip(&a, own);
	return net_address_port(&a);
}

void net_refuse(int fd)
{
	net_sys_close(fd);
}
