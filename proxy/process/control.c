/* SPDX-License-Identifier: MIT */
/* See control.h. */
#include "proxy/process/control.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/ensure.h"
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

void control_init(struct control *c)
{
	*c = (struct control){.socket = -1, .kill_at = USEC_NEVER};
}

void control_open(struct control *c, int socket)
{
	control_close(c);
	c->socket = socket;
}

bool control_tell(const struct control *c, const struct message *m, int fd)
{
	return c->socket >= 0 && message_send(c->socket, m, fd);
}

void control_close(struct control *c)
{
	descriptor_close(&c->socket);
	control_init(c);
}

static enum control_heard stop_listening(struct control *c, const char *misdeed, usec kill_at)
{
	control_close(c);
	c->misdeed = misdeed;
	c->kill_at = kill_at;
	return CONTROL_NOTHING;
}

/* Judges a whole message. */
static enum control_heard judge(
    struct control *c, const struct message *m, const struct rate *contents, int fd, usec now)
{
	if (m->kind == MESSAGE_READY && fd < 0) {
		if (c->is_ready)
			return stop_listening(c, "has said twice that it is ready", now);
		c->is_ready = c->is_alive = true;
		return CONTROL_READY;
	}
	if (m->kind == MESSAGE_ALIVE && fd < 0 && c->questions > 0) {
		c->questions--;
		c->is_alive = true;
		return CONTROL_ALIVE;
	}
	if (m->kind != MESSAGE_CONTENT || !contents)
		return stop_listening(c, "has sent the master a message that it may not send", now);
	if (!bucket_take(&c->spent, contents, 1, now))
		return stop_listening(c, "has sent the master too many messages", now);
	return CONTROL_CONTENT;
}

enum control_heard control_hear(
    struct control *c, const struct rate *contents, usec now, uint32_t *object, int *fd)
{
	struct message m;
	*fd = -1;
	if (c->socket < 0)
		return CONTROL_NOTHING;
	ssize_t n = message_receive_bytes(c->socket, &m, sizeof(m), fd);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return CONTROL_NOTHING;
	/* ECONNRESET: the child has closed its end without having read all. */
	if (n == 0 || (n < 0 && errno != EPROTO))
		return stop_listening(
		    c, "has closed its socket to the master", now + CONTROL_END_USEC);
	enum control_heard heard = CONTROL_NOTHING;
	if (n != (ssize_t)sizeof(m))
		stop_listening(c, "has sent the master a malformed message", now);
	else
		heard = judge(c, &m, contents, *fd, now);
	if (heard == CONTROL_CONTENT) {
		*object = m.worker;
		return heard;
	}
	descriptor_close(fd);
	return heard;
}

usec control_enforce(
    struct control *c, pid_t pid, const char *name, struct observe *observe, usec now)
{
	if (now < c->kill_at)
		return c->kill_at;
	ensure(pid > 0);
	observe_log(
	    observe, OBSERVE_ERROR, "%s (process %d) %s; it is killed", name, (int)pid, c->misdeed);
	kill(pid, SIGKILL);
	control_init(c);
	return USEC_NEVER;
}
