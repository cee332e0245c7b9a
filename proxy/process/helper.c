/* SPDX-License-Identifier: MIT */
/* The loop of a helper: see helper.h. */
#include "proxy/process/helper.h"

#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/process/child.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void helper_tell_master(
    const struct helper_process *h, enum message_kind kind, size_t object, int fd)
{
	struct message m = {.kind = kind, .worker = (uint32_t)object};
	struct iovec part = {&m, sizeof(m)};
	/* Waits for room: the master always reads. */
	(void)!message_send_parts(h->env->control, &part, 1, fd, 0);
}

/* ---- workers ---- */

void helper_disconnect(struct helper_process *h, uint32_t worker)
{
	descriptor_close(&h->links[worker]);
	if (h->service->disconnected)
		h->service->disconnected(h->context, worker);
}

/* False: the message is malformed, or the worker may not send it. n, fd: as it was received. */
static bool obey(struct helper_process *h, uint32_t worker, ssize_t n, int fd)
{
	bool is_good =
	    n > 0 && fd < 0 && h->service->obey(h->context, worker, h->message, (size_t)n);
	explicit_bzero(h->message, h->service->message_bytes);
	descriptor_close(&fd);
	return is_good;
}

/* Obeys at most so many messages of a worker. Returns how many they were. */
static unsigned read_link(struct helper_process *h, uint32_t worker, unsigned most)
{
	unsigned done = 0;
	while (done < most && h->links[worker] >= 0) {
		int fd;
		ssize_t n = message_receive_bytes(
		    h->links[worker], h->message, h->service->message_bytes, &fd);
		int error = n < 0 ? errno : 0;
		if (error == EAGAIN || error == EINTR)
			break;
		/* The worker has ended without having read all. Its messages come behind this error. */
		if (error == ECONNRESET)
			continue;
		done++;
		if (obey(h, worker, n, fd))
			continue;
		if (n > 0 || error == EPROTO)
			observe_log(&h->observe, OBSERVE_ERROR,
			    "worker %u sent a malformed message; it is not listened to any more",
			    worker);
		helper_disconnect(h, worker);
	}
	return done;
}

/* The next worker that has sent something comes first: a flood through one of them delays the others little. */
static void read_links(struct helper_process *h)
{
	uint32_t workers = h->env->workers, first = h->next;
	unsigned left = h->service->at_once;
	for (uint32_t i = 0; i < workers && left > 0; i++) {
		uint32_t w = (first + i) % workers;
		unsigned done = h->fds[w + 1].revents ? read_link(h, w, left) : 0;
		left -= done;
		if (done > 0)
			h->next = (w + 1) % workers;
	}
}

/* ---- the master ---- */

static void connect_worker(struct helper_process *h, const struct message *m, int fd)
{
	if (h->service->serves_ended)
		read_link(h, m->worker, UINT_MAX);
	helper_disconnect(h, m->worker);
	h->links[m->worker] = fd;
	if (h->service->connected)
		h->service->connected(h->context, m->worker);
}

/* *is_message: it is whole. False: the master has closed its end. */
static bool hear(const struct helper_env *env, struct message *m, int *fd, bool *is_message)
{
	ssize_t n = message_receive(env->control, m, fd);
	*is_message = n == (ssize_t)sizeof(*m);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool is_link(const struct helper_env *env, const struct message *m)
{
	return m->kind == MESSAGE_LINK && m->worker < env->workers;
}

bool helper_take_link(const struct helper_env *env, struct message *m, int *fd)
{
	bool is_message, is_open = hear(env, m, fd, &is_message);
	if (!is_message || !is_link(env, m))
		descriptor_close(fd);
	return is_open;
}

/* False: the master has closed its end. */
static bool read_control(struct helper_process *h)
{
	struct message m;
	int fd;
	bool is_message, is_open = hear(h->env, &m, &fd, &is_message);
	if (is_message && is_link(h->env, &m) && fd >= 0)
		connect_worker(h, &m, fd);
	else if (is_message && m.kind != MESSAGE_LINK && h->service->told)
		h->service->told(h->context, &m, fd);
	else
		descriptor_close(&fd);
	return is_open;
}

/* ---- the loop ---- */

static void wait_for_messages(struct helper_process *h, usec until)
{
	h->fds[0] = (struct pollfd){.fd = h->env->control, .events = POLLIN};
	for (uint32_t w = 0; w < h->env->workers; w++) {
		bool is_left =
		    h->links[w] >= 0 && h->service->send_due && h->service->send_due(h->context, w);
		h->fds[w + 1] = (struct pollfd){
		    .fd = h->links[w], .events = is_left ? POLLIN | POLLOUT : POLLIN};
	}
	usec now = clock_monotonic();
	int wait = until > now ? (int)((until - now) / USEC_PER_MSEC) + 1 : 0;
	if (poll(h->fds, h->env->workers + 1, wait) <= 0)
		for (uint32_t i = 0; i <= h->env->workers; i++)
			h->fds[i].revents = 0;
}

static void run(struct helper_process *h)
{
	usec next_check = clock_monotonic() + HELPER_CHECK_USEC;
	for (bool goes_on = true; goes_on;) {
		wait_for_messages(h, next_check);
		read_links(h);
		if (h->fds[0].revents)
			goes_on = read_control(h);
		if (clock_monotonic() < next_check)
			continue;
		h->service->check(h->context);
		next_check = clock_monotonic() + HELPER_CHECK_USEC;
	}
	/* All workers have ended; messages of the last ones may be on their way. */
	for (uint32_t w = 0; h->service->serves_ended && w < h->env->workers; w++)
		read_link(h, w, UINT_MAX);
}

/* ---- the start and the end ---- */

bool helper_confine(const struct helper_env *env, int death_signal, unsigned sandbox, char *error,
    size_t error_size)
{
	if (!identity_assume(env->identity, error, error_size))
		return false;
	child_die_with(env->master, death_signal);
	return sandbox_enter(sandbox | SANDBOX_BUILD, env->conf->server.sandbox, error, error_size);
}

static void init(struct helper_process *h, const struct helper_service *service,
    const struct helper_env *env, void *context)
{
	*h = (struct helper_process){.env = env, .service = service, .context = context};
	logs_observe(env->logs, &h->observe, &h->counters, service->origin);
	h->links = memory_alloc(env->workers * sizeof(*h->links));
	for (uint32_t w = 0; w < env->workers; w++)
		h->links[w] = -1;
	h->fds = memory_zalloc((env->workers + 1) * sizeof(*h->fds));
	h->message = memory_zalloc(service->message_bytes);
}

static void fini(struct helper_process *h)
{
	for (uint32_t w = 0; w < h->env->workers; w++)
		helper_disconnect(h, w);
	free(h->links);
	free(h->fds);
	free(h->message);
}

int helper_serve(struct helper_process *h, const struct helper_service *service,
    const struct helper_env *env, void *context)
{
	char error[512];
	prctl(PR_SET_NAME, service->process);
	child_set_signals(0, false);
	init(h, service, env, context);
	bool is_up = helper_confine(env, SIGKILL, service->sandbox, error, sizeof(error));
	if (is_up) {
		service->begin(context);
		helper_tell_master(h, MESSAGE_READY, 0, -1);
		run(h);
	} else {
		child_report_failure(&h->observe, &env->logs->error, error);
	}
	fini(h);
	return is_up ? 0 : HELPER_CANNOT_START;
}
