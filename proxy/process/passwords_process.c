/* SPDX-License-Identifier: MIT */
/*
 * The password process: checks one password after the other, and reads the files of users when they change. It becomes
 * the workers' user and enters a sandbox before it reads anything. It ends when the master closes its end of the control
 * socket.
 *
 * The workers face the network: a message that is malformed costs the worker its socket. No answer waits: a worker that
 * does not read its few answers loses its socket too.
 */
#include "proxy/base/memory.h"
#include "proxy/process/child_message.h"
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include "proxy/process/passwords.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct process {
	const struct passwords_env *env;
	struct passwords passwords;
	struct observe_counters counters; /* read by nobody: this process has no slot */
	struct observe observe;
	int *links;         /* by worker; -1: none */
	uint32_t next;      /* the worker that is looked at first */
	struct pollfd *fds; /* the control socket, then the links */
	usec next_check;
};

static void close_link(struct process *p, uint32_t worker)
{
	if (p->links[worker] >= 0)
		close(p->links[worker]);
	p->links[worker] = -1;
}

static void tell(struct process *p, uint32_t worker, const struct passwords_answer *a)
{
	struct iovec part = {(void *)(uintptr_t)a, sizeof(*a)};
	if (p->links[worker] >= 0 &&
	    !message_send_parts(p->links[worker], &part, 1, -1, MSG_DONTWAIT))
		close_link(p, worker);
}

/* ---- files ---- */

static void check_files(struct process *p)
{
	for (size_t i = 0; i < p->passwords.count; i++) {
		char line[512] = "";
		enum passwords_change change = passwords_check(&p->passwords, i, line);
		if (change == PASSWORDS_UNUSABLE)
			observe_log(&p->observe, OBSERVE_ERROR, PASSWORDS_STAY, line);
		if (change != PASSWORDS_READ)
			continue;
		observe_log(&p->observe, OBSERVE_INFO, "users: %s", line);
		const struct passwords_answer changed = {
		    .kind = PASSWORDS_CHANGED, .access = (uint32_t)i};
		for (uint32_t w = 0; w < p->env->workers; w++)
			tell(p, w, &changed);
	}
	p->next_check = clock_monotonic() + FILES_CHECK_USEC;
}

/* ---- questions ---- */

/* Reads a question and answers it. False: nothing was there. */
static bool serve_worker(struct process *p, uint32_t worker)
{
	struct passwords_question q;
	char text[2 * HTPASSWD_TEXT_BYTES];
	struct iovec parts[2] = {{&q, sizeof(q)}, {text, sizeof(text)}};
	int fd, flags;
	ssize_t n = message_receive_parts(p->links[worker], parts, 2, &fd, &flags);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (fd >= 0)
		close(fd);
	bool is_good = n >= (ssize_t)sizeof(q) && fd < 0 && !(flags & (MSG_TRUNC | MSG_CTRUNC)) &&
		       q.access < p->passwords.count &&
		       (size_t)n - sizeof(q) == (size_t)q.name_bytes + q.password_bytes;
	if (!is_good) {
		if (n > 0)
			observe_log(&p->observe, OBSERVE_ERROR,
			    "worker %u sent a malformed message; it is not listened to any more",
			    worker);
		close_link(p, worker);
		return false;
	}
	bool is_right = passwords_are_right(&p->passwords, q.access, slice_of(text, q.name_bytes),
	    slice_of(text + q.name_bytes, q.password_bytes), clock_monotonic());
	explicit_bzero(text, sizeof(text));
	const struct passwords_answer a = {
	    .id = q.id, .access = q.access, .kind = is_right ? PASSWORDS_RIGHT : PASSWORDS_WRONG};
	tell(p, worker, &a);
	return true;
}

/* One question, of the next worker that has one: a flood through one of them delays the others by one hash. */
static void serve_one(struct process *p)
{
	for (uint32_t i = 0; i < p->env->workers; i++) {
		uint32_t w = (p->next + i) % p->env->workers;
		if (!p->fds[w + 1].revents || p->links[w] < 0 || !serve_worker(p, w))
			continue;
		p->next = (w + 1) % p->env->workers;
		return;
	}
}

/* ---- what the master sends ---- */

/* False: the master has closed its end. */
static bool read_control(struct process *p)
{
	struct message m;
	int fd;
	ssize_t n = message_receive(p->env->control, &m, &fd);
	bool is_link = n == (ssize_t)sizeof(m) && m.kind == MESSAGE_PASSWORDS &&
		       m.worker < p->env->workers && fd >= 0;
	if (is_link) {
		close_link(p, m.worker);
		p->links[m.worker] = fd;
	} else if (fd >= 0) {
		close(fd);
	}
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* ---- the loop ---- */

static void wait_for_messages(struct process *p)
{
	p->fds[0] = (struct pollfd){.fd = p->env->control, .events = POLLIN};
	for (uint32_t w = 0; w < p->env->workers; w++)
		p->fds[w + 1] = (struct pollfd){.fd = p->links[w], .events = POLLIN};
	usec now = clock_monotonic();
	int wait = p->next_check > now ? (int)((p->next_check - now) / USEC_PER_MSEC) + 1 : 0;
	if (poll(p->fds, p->env->workers + 1, wait) <= 0)
		for (uint32_t i = 0; i <= p->env->workers; i++)
			p->fds[i].revents = 0;
}

static void serve(struct process *p)
{
	for (bool goes_on = true; goes_on;) {
		wait_for_messages(p);
		serve_one(p);
		if (p->fds[0].revents)
			goes_on = read_control(p);
		if (clock_monotonic() >= p->next_check)
			check_files(p);
	}
}

/* ---- the start ---- */

static bool confine(const struct process *p, char *error, size_t error_size)
{
	const struct passwords_env *env = p->env;
	if (!identity_assume(env->identity, error, error_size))
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* last: a change of user clears it */
	return getppid() == env->master &&
	       sandbox_enter(SANDBOX_PASSWORDS | SANDBOX_READS | SANDBOX_BUILD,
		   env->conf->server.sandbox, error, error_size);
}

static void init(struct process *p, const struct passwords_env *env)
{
	p->env = env;
	p->observe = (struct observe){.counters = &p->counters,
	    .access_fd = -1,
	    .error_fd = log_target(env->error_log),
	    .is_journal = env->error_log->is_journal,
	    .level = OBSERVE_INFO,
	    .worker = OBSERVE_PASSWORDS};
	p->links = memory_alloc(env->workers * sizeof(*p->links));
	for (uint32_t w = 0; w < env->workers; w++)
		p->links[w] = -1;
	p->fds = memory_zalloc((env->workers + 1) * sizeof(*p->fds));
	passwords_open(&p->passwords, env->conf);
}

static void fini(struct process *p)
{
	for (uint32_t w = 0; w < p->env->workers; w++)
		close_link(p, w);
	passwords_close(&p->passwords);
	free(p->links);
	free(p->fds);
	free(p);
}

int passwords_run(const struct passwords_env *env)
{
	struct process *p = memory_new(struct process);
	char error[512] = "";
	prctl(PR_SET_NAME, "pushgate-pass");
	helper_ignore_signals();
	init(p, env);
	bool is_up = confine(p, error, sizeof(error));
	if (is_up) {
		const struct message ready = {.kind = MESSAGE_READY};
		check_files(p);
		(void)!message_send_waiting(env->control, &ready, -1);
		serve(p);
	} else {
		observe_log(&p->observe, OBSERVE_ERROR, "%s", error);
	}
	fini(p);
	return is_up ? 0 : PASSWORDS_CANNOT_START;
}
