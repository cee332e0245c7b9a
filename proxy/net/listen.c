/* SPDX-License-Identifier: MIT */
/* Listening sockets, and accepting from them with a pause when the system is short of something. */
#include "proxy/base/memory.h"
#include "proxy/net/loop.h"
#include <errno.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Accepted in one go, so that one busy listener does not hold up the others. */
#define ACCEPTS_PER_EVENT 64
#define PAUSE_LEAST_USEC (100 * USEC_PER_MSEC)
#define PAUSE_MOST_USEC USEC_PER_SEC

/* ---- for the master ---- */

static const char *reason(void)
{
	const char *text = strerrordesc_np(errno);
	return text ? text : "unknown error";
}

/* NULL when the path is free now. */
static const char *clear_path(const struct net_address *at)
{
	const char *path = ((const struct sockaddr_un *)&at->storage)->sun_path;
	struct stat st;
	if (lstat(path, &st) != 0)
		return errno == ENOENT ? NULL : reason();
	if (!S_ISSOCK(st.st_mode))
		return "the path is taken by something that is not a socket";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return reason();
	int r = connect(fd, (const struct sockaddr *)&at->storage, at->length);
	bool nobody_answers = r != 0 && errno == ECONNREFUSED;
	close(fd);
	if (!nobody_answers)
		return "another process listens there";
	return unlink(path) == 0 ? NULL : reason();
}

static int bind_and_listen(int fd, const struct net_address *at, int backlog)
{
	int on = 1, off = 0;
	int family = at->storage.ss_family;
	if (family != AF_UNIX &&
	    (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0))
		return -1;
	if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) != 0)
		return -1;
	if (bind(fd, (const struct sockaddr *)&at->storage, at->length) != 0)
		return -1;
	return listen(fd, backlog);
}

int net_listen(const struct net_address *at, int backlog, const char **error)
{
	struct net_address any4 = {.length = sizeof(struct sockaddr_in)};
	int family = at->storage.ss_family;
	if (family == AF_UNIX && (*error = clear_path(at)))
		return -1;
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&at->storage;
	if (fd < 0 && errno == EAFNOSUPPORT && family == AF_INET6 &&
	    IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr)) {
		/* A kernel without IPv6: "*" still means any address there is. */
		struct sockaddr_in *in = (struct sockaddr_in *)&any4.storage;
		in->sin_family = AF_INET;
		in->sin_port = in6->sin6_port;
		at = &any4;
		fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	}
	if (fd < 0) {
		*error = reason();
		return -1;
	}
	if (bind_and_listen(fd, at, backlog) != 0) {
		*error = reason();
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- for the worker ---- */

struct net_listener {
	ev_io io;
	struct net_loop *loop;
	struct net_timer resume;
	usec pause;
	void (*accepted)(void *context, int fd, const struct net_address *peer);
	void (*paused)(void *context, int error);
	void *context;
	bool *is_freed; /* set while callbacks run */
};

static void pause_for(struct net_listener *n, int error)
{
	n->pause = n->pause == 0 ? PAUSE_LEAST_USEC : n->pause * 2;
	if (n->pause > PAUSE_MOST_USEC)
		n->pause = PAUSE_MOST_USEC;
	ev_io_stop(n->loop->ev, &n->io);
	net_timer_set(&n->resume, n->loop->now + n->pause);
	if (n->paused)
		n->paused(n->context, error);
}

static void on_resume(void *context)
{
	struct net_listener *n = context;
	ev_io_start(n->loop->ev, &n->io);
}

static void on_acceptable(struct ev_loop *ev, ev_io *io, int events)
{
	(void)ev, (void)events;
	struct net_listener *n = io->data;
	bool is_freed = false;
	n->is_freed = &is_freed;
	for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
		struct net_address peer = {.length = sizeof(peer.storage)};
		int fd = n->loop->sys.accept4(io->fd, (struct sockaddr *)&peer.storage,
		    &peer.length, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			n->pause = 0;
			n->accepted(n->context, fd, &peer);
			if (is_freed)
				return;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			break;
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			pause_for(n, errno);
			if (is_freed)
				return;
			break;
		}
		/* Anything else is the fate of that one connection (accept(2), ERRORS). */
	}
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
	net_timer_init(&n->resume, l, on_resume, n);
	ev_io_init(&n->io, on_acceptable, fd, EV_READ);
	n->io.data = n;
	ev_io_start(l->ev, &n->io);
	return n;
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
