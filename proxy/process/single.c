/* SPDX-License-Identifier: MIT */
/* `--single`: one worker in the only process, for debuggers, tests and small machines. */
#include "proxy/process/notify.h"
#include "proxy/process/sandbox.h"
#include "proxy/process/start.h"
#include "proxy/process/trace.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

struct single {
	struct start *start;
	struct worker worker;
	struct status_worker about;
	struct net_watch *status; /* of the status socket; NULL during STATUS_PAUSE_USEC */
	struct net_timer status_timer;
};

static void begin_trace(void *context, struct slice name, int socket)
{
	struct single *s = context;
	struct trace_request r = {0};
	const char *wrong = trace_request_parse(name, &r);
	usec until = net_now(s->worker.loop) + r.seconds * USEC_PER_SEC;
	if (!wrong && !worker_trace(&s->worker, &r.from, until, socket))
		wrong = TRACE_TOO_MANY;
	if (wrong)
		trace_refuse(socket, wrong);
	else
		trace_accept(socket, &r);
}

static struct status describe(struct single *s)
{
	usec up = net_now(s->worker.loop) - s->start->started;
	s->about = (struct status_worker){getpid(), 1, up};
	return (struct status){
	    .up = up,
	    .is_draining = s->worker.is_draining,
	    .slots = s->start->slots,
	    .workers = &s->about,
	    .worker_count = 1,
	    .rules = &s->start->conf->policy,
	    .trace = begin_trace,
	    .trace_context = s,
	};
}

static void on_end(void *context)
{
	struct single *s = context;
	if (s->worker.is_draining) {
		worker_quit(&s->worker);
		return;
	}
	notify_stopping(s->start->notify_fd, s->start->conf->server.drain_timeout);
	worker_drain(&s->worker);
}

static void on_reopen(void *context)
{
	struct single *s = context;
	observe_flush(&s->worker.observe);
	logs_reopen(&s->start->logs);
}

static void watch_status(void *context);

static void on_status(void *context)
{
	struct single *s = context;
	const struct status status = describe(s);
	if (status_serve(s->start->status_fd, &status))
		return;
	net_watch_free(s->status);
	s->status = NULL;
	net_timer_set(&s->status_timer, net_now(s->worker.loop) + STATUS_PAUSE_USEC);
}

static void watch_status(void *context)
{
	struct single *s = context;
	s->status = net_watch_new(s->worker.loop, s->start->status_fd, on_status, s);
}

static void on_reload(void *context)
{
	struct single *s = context;
	observe_log(&s->worker.observe, OBSERVE_WARN,
	    "SIGHUP: nothing is reloaded; a changed configuration needs a restart");
}

static bool confine_and_serve(struct single *s, char *error, size_t error_size)
{
	struct net_loop *l = s->worker.loop;
	struct net_signal *signals[] = {
	    net_signal_new(l, SIGTERM, on_end, s),
	    net_signal_new(l, SIGINT, on_end, s),
	    net_signal_new(l, SIGUSR1, on_reopen, s),
	    net_signal_new(l, SIGHUP, on_reload, s),
	};
	net_timer_init(&s->status_timer, l, watch_status, s);
	if (s->start->status_fd >= 0)
		watch_status(s);
	bool is_up = worker_confine(&s->worker, SANDBOX_SINGLE, error, error_size);
	if (is_up) {
		start_announce(s->start, &s->worker.observe);
		worker_listen(&s->worker, 0);
		notify_ready(s->start->notify_fd);
		net_run(l);
	}
	net_watch_free(s->status);
	net_timer_fini(&s->status_timer);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		net_signal_free(signals[i]);
	return is_up;
}

int single_run(struct start *start)
{
	struct single s = {.start = start};
	const struct worker_config env = {
	    .conf = start->conf,
	    .sockets = &start->sockets,
	    .logs = &start->logs,
	    .counters = &start->slots[0],
	    .identity = &start->identity,
	    .tickets = &start->tickets,
	    .via_suffix = start->via_suffix,
	};
	char error[512];
	bool is_up = worker_init(&s.worker, &env, error, sizeof(error)) &&
		     worker_drop(&s.worker, error, sizeof(error)) &&
		     confine_and_serve(&s, error, sizeof(error));
	if (!is_up)
		fprintf(stderr, "pushgate: %s\n", error);
	const struct status status = describe(&s);
	worker_fini(&s.worker);
	if (is_up) {
		struct observe o;
		start_observe(start, &o);
		status_log(&status, &o);
	}
	return is_up ? 0 : 1;
}
