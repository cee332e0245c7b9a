/* SPDX-License-Identifier: MIT */
/* A worker in a process of its own: drops to its user, obeys the master, and ends when the master does. */
#include "proxy/base/descriptor.h"
#include "proxy/offer/offer.h"
#include "proxy/process/acme_helper.h"
#include "proxy/process/child.h"
#include "proxy/process/passwords.h"
#include "proxy/process/recheck.h"
#include "proxy/process/tracer.h"
#include "proxy/process/worker.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct worker_process {
	struct worker worker;
	struct files_link files;
	struct passwords_link passwords;
	struct tracer_link tracer;
	struct acme_link acme;
	struct helper_link *links[HELPERS]; /* of these; NULL: it has none to this helper */
	struct recheck_link recheck;        /* to a worker with newer access rules */
	struct recheck_judge judge;
	int control;
};

static void drain(struct worker_process *c, void (*how)(struct worker *w))
{
	const struct worker_config *env = &c->worker.env;
	title_set(env->title, "pushgate: worker %u, draining", env->index);
	how(&c->worker);
}

/* Accepts from the sockets of this worker, which is itself when its generation takes over. */
static void adopt(struct worker_process *c, uint32_t worker)
{
	if (worker == c->worker.env.index)
		gateway_take_over(c->worker.gateway);
	worker_listen(&c->worker, worker);
}

/* Closes fd, the descriptor that came with the message. */
static void obey(struct worker_process *c, const struct message *m, int fd)
{
	switch (m->kind) {
	case MESSAGE_RETIRE:
		gateway_spare_long(c->worker.gateway);
		drain(c, worker_retire);
		break;
	case MESSAGE_DRAIN:
		drain(c, worker_drain);
		break;
	case MESSAGE_EMPTY:
		gateway_empty(c->worker.gateway, m->worker);
		break;
	case MESSAGE_QUIT:
		worker_quit(&c->worker);
		break;
	case MESSAGE_ADOPT:
		adopt(c, m->worker);
		break;
	case MESSAGE_TRACE:
		if (fd >= 0 && gateway_trace(c->worker.gateway, &m->from, m->until, fd))
			return;
		break;
	case MESSAGE_RECHECK:
		if (fd >= 0)
			helper_link_open(&c->recheck.link, fd);
		else
			recheck_link_close(&c->recheck);
		return;
	case MESSAGE_JUDGE:
		if (fd >= 0)
			recheck_judge_add(&c->judge, fd);
		return;
	case MESSAGE_RENEW:
		worker_renew_tls(&c->worker, fd);
		return;
	case MESSAGE_RENEW_LISTS:
		worker_renew_lists(&c->worker, fd);
		return;
	case MESSAGE_LINK:
		if (fd < 0 || m->helper >= HELPERS || !c->links[m->helper])
			break;
		helper_link_open(c->links[m->helper], fd);
		return;
	case MESSAGE_ALIVE:
		(void)message_send(c->control, m, -1);
		break;
	case MESSAGE_READY:
	case MESSAGE_CONTENT:
	case MESSAGE_HAND_REMEMBERED:
	case MESSAGE_TAKE_REMEMBERED:
		break;
	}
	descriptor_close(&fd);
}

static void on_control(void *context)
{
	struct worker_process *c = context;
	for (;;) {
		struct message m;
		int fd;
		ssize_t n = message_receive(c->control, &m, &fd);
		if (n == (ssize_t)sizeof(m)) {
			obey(c, &m, fd);
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		/* The master has died, and nothing else could stop this worker. */
		worker_quit(&c->worker);
		return;
	}
}

static void on_term(void *context)
{
	struct worker_process *c = context;
	drain(c, worker_drain);
}

/* The C library and the crash dump write to standard error: send that to the error log. */
static void move_stderr(const struct worker_config *env)
{
	const struct log *l = &env->logs->error;
	if (l->path && strcmp(l->path, "-") != 0)
		dup2(log_target(l), STDERR_FILENO);
}

static void serve(struct worker_process *c)
{
	worker_take_contents(&c->worker);
	if (!c->worker.env.is_waiting)
		worker_listen(&c->worker, c->worker.env.index);
	const struct message ready = {.kind = MESSAGE_READY, .worker = c->worker.env.index};
	(void)!send(c->control, &ready, sizeof(ready), MSG_NOSIGNAL);
	net_run(c->worker.loop);
}

/* The process runs as its user already. */
static int confine_and_serve(struct worker_process *c, pid_t master)
{
	char error[512];
	child_die_with(master, SIGKILL);
	struct net_watch *term = net_watch_signal(c->worker.loop, SIGTERM, on_term, c);
	struct net_watch *watch = net_watch_new(c->worker.loop, c->control, on_control, c);
	move_stderr(&c->worker.env);
	bool is_confined = worker_confine(&c->worker, 0, error, sizeof(error));
	if (is_confined)
		serve(c);
	else
		observe_log(&c->worker.observe, OBSERVE_ERROR, "%s", error);
	net_watch_free(watch);
	net_watch_free(term);
	return is_confined ? WORKER_DONE : WORKER_CANNOT_START;
}

/* The configuration of this worker. Lessons go to the files process, spans to the tracer, and passwords are asked of their
 * process. */
static struct worker_config config_of(struct worker_process *c, const struct worker_config *env)
{
	struct worker_config own = *env;
	if (conf_remembers(env->gateway.conf)) {
		own.gateway.teach = files_link_teach;
		own.gateway.teach_context = &c->files;
	}
	if (passwords_are_needed(env->gateway.conf)) {
		own.gateway.ask_password = passwords_link_ask;
		own.gateway.ask_context = &c->passwords;
	}
	if (tracer_is_needed(env->gateway.conf)) {
		own.gateway.send_span = tracer_link_send;
		own.gateway.span_context = &c->tracer;
	}
	if (acme_helper_is_needed(env->gateway.conf)) {
		own.gateway.acme_thumbprint = c->acme.message.thumbprint;
		own.gateway.acme_challenge = &c->acme.message.challenge;
	}
	return own;
}

/* The link needs the gateway, whose lessons it carries: it is known to the gateway first. */
static bool init(
    struct worker_process *c, const struct worker_config *env, char *error, size_t error_size)
{
	files_link_init(&c->files);
	passwords_link_init(&c->passwords);
	tracer_link_init(&c->tracer);
	acme_link_init(&c->acme);
	recheck_link_init(&c->recheck);
	recheck_judge_init(&c->judge);
	c->links[HELPER_FILES] = &c->files.link;
	c->links[HELPER_PASSWORDS] = &c->passwords.link;
	c->links[HELPER_TRACER] = &c->tracer.link;
	c->links[HELPER_ACME] = &c->acme.link;
	const struct worker_config own = config_of(c, env);
	if (!worker_init(&c->worker, &own, error, error_size))
		return false;
	for (size_t i = 0; i < HELPERS; i++)
		if (c->links[i])
			c->links[i]->loop = c->worker.loop;
	c->recheck.link.loop = c->judge.loop = c->worker.loop;
	c->files.gateway = c->recheck.gateway = c->judge.gateway = c->worker.gateway;
	c->passwords.users = gateway_users(c->worker.gateway);
	c->files.observe = c->passwords.observe = c->tracer.observe = &c->worker.observe;
	c->acme.observe = &c->worker.observe;
	c->recheck.observe = c->judge.observe = &c->worker.observe;
	c->files.conf = env->gateway.conf;
	return identity_assume(env->identity, error, error_size);
}

int worker_run(const struct worker_config *env, int control, pid_t master)
{
	struct worker_process c = {.control = control};
	char error[512], name[16];
	snprintf(name, sizeof(name), "pushgate-w%u", env->index % 100000u);
	prctl(PR_SET_NAME, name);
	child_set_signals(SIGTERM, false);
	int status = WORKER_CANNOT_START;
	if (init(&c, env, error, sizeof(error)))
		status = confine_and_serve(&c, master);
	else
		child_report_failure(&c.worker.observe, &env->logs->error, error);
	helper_link_stop(&c.files.link);
	helper_link_stop(&c.passwords.link);
	tracer_link_stop(&c.tracer);
	helper_link_stop(&c.acme.link);
	helper_link_stop(&c.recheck.link);
	recheck_judge_close(&c.judge);
	worker_fini(&c.worker);
	helper_link_close(&c.files.link);
	helper_link_close(&c.passwords.link);
	tracer_link_close(&c.tracer);
	helper_link_close(&c.acme.link);
	helper_link_close(&c.recheck.link);
	return status;
}
