/* SPDX-License-Identifier: MIT */
/*
 * `--single`: one worker in the only process, for debuggers, tests and small machines. There is no files process:
 * the loop reads and writes the files itself, and waits for the disk meanwhile.
 */
#include "proxy/base/descriptor.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include "proxy/process/helper.h"
#include "proxy/process/ledger_pace.h"
#include "proxy/process/memory_owner.h"
#include "proxy/process/notify.h"
#include "proxy/process/password_single.h"
#include "proxy/process/process.h"
#include "proxy/process/sandbox.h"
#include "proxy/process/start.h"
#include "proxy/process/trace_request.h"
#include "proxy/process/tracer.h"
#include "proxy/process/watchdog.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* How often it is told that lines are no longer lost. */
#define LOGS_CHECK_USEC USEC_PER_SEC

struct single {
	struct start *start;
	struct worker worker;
	struct status_process about;
	struct process_files proc; /* opened before the sandbox forbids it */
	usec boot_time;            /* of the machine */
	struct ledger_pace ledger_pace;
	struct net_timer ledger_timer;
	struct net_watch *status; /* of the status socket; NULL during STATUS_PAUSE_USEC */
	struct net_timer status_timer;
	struct net_timer drain_timer; /* drain-delay */
	usec drain_at;                /* it was told to end: when draining begins; 0: it was not */
	struct files files;
	struct net_timer files_timer;
	struct memory_owner owner; /* of the gateway's memory of pages */
	struct password_single passwords;
	/* There is no logger: the loop writes these. */
	struct observe_file access_file, error_file;
	struct net_timer logs_timer;
	struct watchdog watchdog;
	struct net_timer watchdog_timer;
};

static void begin_trace(void *context, struct slice name, int socket)
{
	struct single *s = context;
	struct trace_request r = {0};
	const char *wrong = trace_request_parse(name, &r);
	usec until = net_now(s->worker.loop) + r.seconds * USEC_PER_SEC;
	if (!wrong && !gateway_trace(s->worker.gateway, &r.from, until, socket))
		wrong = TRACE_TOO_MANY;
	if (wrong)
		trace_refuse(socket, wrong);
	else
		trace_accept(socket, &r);
}

static struct status describe(struct single *s)
{
	usec up = net_now(s->worker.loop) - s->start->started;
	s->about = (struct status_process){.pid = getpid(),
	    .starts = 1,
	    .up = up,
	    .usage = process_files_read(&s->proc, s->boot_time)};
	return (struct status){
	    .up = up,
	    .started_wall = s->start->started_wall,
	    .drains_in =
		s->drain_at > net_now(s->worker.loop) ? s->drain_at - net_now(s->worker.loop) : 0,
	    .slots = s->start->outfit.slots,
	    .series = &s->start->outfit.series,
	    .own_slot = s->start->slot,
	    .processes = &s->about,
	    .process_count = 1,
	    .worker_count = 1,
	    .health_table = s->start->outfit.health_table,
	    .remembered = s->start->outfit.remembered,
	    .conf = s->start->outfit.conf,
	};
}

static void write_ledger(struct single *s)
{
	static const uint32_t live[] = {1};
	const struct status status = describe(s);
	struct totals *none = totals_new();
	ledger_write(s->start->ledger,
	    &(struct ledger_facts){.started = s->start->started,
		.started_wall = s->start->started_wall,
		.processes = status.processes,
		.process_count = status.process_count,
		.live = live,
		.live_count = 1,
		.ended = none},
	    net_now(s->worker.loop));
	totals_free(none);
}

static void run_ledger(void *context)
{
	struct single *s = context;
	usec now = net_now(s->worker.loop), began = clock_monotonic();
	if (!conf_has_admin(s->start->outfit.conf))
		return;
	if (ledger_pace_wants(&s->ledger_pace, s->worker.observe.counters->scrapes, now))
		write_ledger(s);
	net_timer_set(
	    &s->ledger_timer, ledger_pace_next(&s->ledger_pace, now, clock_monotonic() - began));
}

static void drain(void *context)
{
	struct single *s = context;
	net_timer_set(&s->drain_timer, USEC_NEVER);
	title_set(&s->start->title, "pushgate: single, draining (%s)", s->start->conf_path);
	notify_stopping(
	    s->start->notify_fd, "draining", s->start->outfit.conf->server.drain_timeout);
	net_watch_free(s->status);
	s->status = NULL;
	net_timer_set(&s->status_timer, USEC_NEVER);
	start_give_up_status(s->start);
	worker_drain(&s->worker);
}

/* As end() and delay_drain() of the master. */
static void on_end(void *context)
{
	struct single *s = context;
	const struct conf_server *server = &s->start->outfit.conf->server;
	usec delay = s->drain_at ? 0 : server->drain_delay;
	if (s->worker.is_draining) {
		worker_quit(&s->worker);
		return;
	}
	s->drain_at = net_now(s->worker.loop) + delay;
	atomic_store(&s->start->readiness->will_drain, true);
	if (delay == 0) {
		drain(s);
		return;
	}
	title_set(&s->start->title, "pushgate: single, about to drain (%s)", s->start->conf_path);
	observe_log(&s->worker.observe, OBSERVE_INFO, "draining in %llu s (drain-delay)",
	    (unsigned long long)((delay + USEC_PER_SEC - 1) / USEC_PER_SEC));
	notify_stopping(s->start->notify_fd, "about to drain",
	    server->drain_timeout > 0 ? delay + server->drain_timeout : 0);
	net_timer_set(&s->drain_timer, s->drain_at);
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
	const struct status_ops ops = {.trace = begin_trace, .context = s};
	if (status_serve(s->start->status_fd, &status, &ops))
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

static void on_upgrade(void *context)
{
	struct single *s = context;
	observe_log(&s->worker.observe, OBSERVE_WARN,
	    "SIGUSR2: with --single no other program takes over; a restart is needed");
}

/* ---- files ---- */

static void heap_release(void *bytes, size_t length)
{
	(void)length;
	free(bytes);
}

static void take_manifest(struct single *s, size_t at)
{
	struct slice flat = files_content(&s->files, at);
	void *copy = memcpy(memory_alloc(flat.len), flat.ptr, flat.len);
	struct offer_manifest *m = offer_manifest_of_flat(copy, flat.len, heap_release);
	ensure(m != NULL);
	gateway_set_manifest(s->worker.gateway, at, m);
}

static void report(void *context, size_t object, bool is_changed, const char *line)
{
	struct single *s = context;
	struct observe_counters *counters = s->worker.observe.counters;
	if (line)
		observe_log(&s->worker.observe, OBSERVE_WARN, "%s", line);
	if (!is_changed) {
		counters->files_unusable++;
	} else if (object < s->files.manifest_count) {
		take_manifest(s, object);
		counters->manifests_taken++;
	} else {
		files_set_text(s->worker.gateway, object - s->files.manifest_count,
		    files_content(&s->files, object));
	}
}

static bool reads_files(const struct single *s)
{
	return s->files.manifest_count > 0 || conf_has_names(s->start->outfit.conf) ||
	       passwords_are_needed(s->start->outfit.conf);
}

static void check_files(void *context)
{
	struct single *s = context;
	if (reads_files(s))
		files_check(&s->files, report, s);
	int copy = memory_owner_tend(&s->owner, net_now(s->worker.loop));
	descriptor_close(&copy);
	password_single_check(&s->passwords);
	net_timer_set(&s->files_timer, net_now(s->worker.loop) + HELPER_CHECK_USEC);
}

/* As the user that will read them again, and before the loop runs. */
static void open_files(struct single *s)
{
	const struct conf *conf = s->start->outfit.conf;
	files_open(&s->files, conf, report, s);
	for (size_t i = 0; i < s->files.manifest_count; i++)
		take_manifest(s, i);
	s->owner = (struct memory_owner){.memory = gateway_remembered(s->worker.gateway),
	    .path = conf->server.remembered.file,
	    .observe = &s->worker.observe,
	    .rows = s->start->outfit.remembered};
	if (!memory_owner_begin(&s->owner, -1, net_now(s->worker.loop)))
		s->worker.observe.counters->files_unusable++;
	password_single_open(
	    &s->passwords, conf, s->worker.gateway, &s->worker.observe, s->worker.loop);
}

/* ---- logs ---- */

static void check_logs(void *context)
{
	struct single *s = context;
	usec now = net_now(s->worker.loop);
	observe_files_settle(&s->worker.observe, now, false);
	net_timer_set(&s->logs_timer, now + LOGS_CHECK_USEC);
}

static void open_logs(struct single *s)
{
	struct logs *l = &s->start->logs;
	struct observe *o = &s->worker.observe;
	s->access_file = log_file(&l->access, &o->counters->access_lines_lost);
	s->error_file = log_file(&l->error, &o->counters->error_lines_lost);
	o->access_file = l->access.file >= 0 ? &s->access_file : NULL;
	o->error_file = l->error.file >= 0 ? &s->error_file : NULL;
	net_timer_init(&s->logs_timer, s->worker.loop, check_logs, s);
	check_logs(s);
}

/* ---- the service manager ---- */

static void say_alive(void *context)
{
	struct single *s = context;
	if (watchdog_is_due(&s->watchdog, net_now(s->worker.loop)))
		notify_alive(s->start->notify_fd);
	net_timer_set(&s->watchdog_timer, s->watchdog.due_at);
}

static bool confine_and_serve(struct single *s, char *error, size_t error_size)
{
	struct net_loop *l = s->worker.loop;
	struct net_watch *signals[] = {
	    net_watch_signal(l, SIGTERM, on_end, s),
	    net_watch_signal(l, SIGINT, on_end, s),
	    net_watch_signal(l, SIGUSR1, on_reopen, s),
	    net_watch_signal(l, SIGHUP, on_reload, s),
	    net_watch_signal(l, SIGUSR2, on_upgrade, s),
	};
	start_signals(SIG_UNBLOCK);
	net_timer_init(&s->status_timer, l, watch_status, s);
	net_timer_init(&s->drain_timer, l, drain, s);
	if (s->start->status_fd >= 0)
		watch_status(s);
	net_timer_init(&s->files_timer, l, check_files, s);
	net_timer_init(&s->watchdog_timer, l, say_alive, s);
	net_timer_init(&s->ledger_timer, l, run_ledger, s);
	watchdog_init(&s->watchdog);
	open_logs(s);
	unsigned parts = SANDBOX_SINGLE;
	if (reads_files(s))
		parts |= SANDBOX_READS;
	/* The file is written from a copy. */
	if (s->owner.path)
		parts |= SANDBOX_SAVES | SANDBOX_MAPS;
	bool is_up = worker_confine(&s->worker, parts, error, error_size);
	if (is_up) {
		if (reads_files(s) || s->owner.memory)
			check_files(s);
		start_announce(&s->start->outfit, &s->worker.observe);
		run_ledger(s);
		if (tracer_is_needed(s->start->outfit.conf))
			observe_log(&s->worker.observe, OBSERVE_WARN,
			    "tracing: with --single no process sends spans, and none are made");
		worker_listen(&s->worker, 0);
		notify_ready(s->start->notify_fd, "serving");
		say_alive(s);
		net_run(l);
		memory_owner_end(&s->owner, net_now(l));
	}
	net_watch_free(s->status);
	net_timer_fini(&s->status_timer);
	net_timer_fini(&s->drain_timer);
	net_timer_fini(&s->files_timer);
	net_timer_fini(&s->watchdog_timer);
	net_timer_fini(&s->ledger_timer);
	net_timer_fini(&s->logs_timer);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		net_watch_free(signals[i]);
	return is_up;
}

enum process_status single_run(struct start *start)
{
	struct single s = {.start = start};
	const struct ledger_view view = {.ledger = start->ledger,
	    .own_slot = start->slot,
	    .regions = {{.generation = 1,
		.conf = start->outfit.conf,
		.slots = start->outfit.slots,
		.workers = 1,
		.series = &start->outfit.series}},
	    .region_count = 1};
	title_set(&start->title, "pushgate: single (%s)", start->conf_path);
	s.boot_time = process_boot_time();
	process_files_open(&s.proc, getpid());
	struct worker_config env = start_worker_config(start, &start->outfit, 0);
	env.gateway.view = &view;
	env.gateway.ask_password = password_single_ask;
	env.gateway.ask_context = &s.passwords;
	char error[512];
	bool is_up = worker_init(&s.worker, &env, error, sizeof(error)) &&
		     identity_assume(env.identity, error, sizeof(error));
	if (is_up) {
		open_files(&s);
		is_up = confine_and_serve(&s, error, sizeof(error));
	}
	if (!is_up)
		fprintf(stderr, "pushgate: %s\n", error);
	const struct status status = describe(&s);
	process_files_close(&s.proc);
	password_single_close(&s.passwords);
	worker_fini(&s.worker);
	files_close(&s.files);
	if (is_up) {
		struct observe o;
		start_observe(start, &o);
		o.error_file = s.worker.observe.error_file;
		o.access_file = s.worker.observe.access_file;
		status_log(&status, &o);
		observe_files_settle(&o, clock_monotonic(), true);
	}
	return is_up ? PROCESS_DONE : PROCESS_BAD_CONF;
}
