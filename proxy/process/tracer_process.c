/* SPDX-License-Identifier: MIT */
/* The tracer's loop: workers' spans into the queue, and the queue to the collector (tracer.h). */
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/process/child.h"
#include "proxy/process/sandbox.h"
#include "proxy/process/tracer.h"
#include "proxy/tracing/tracing.h"
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Chunks to read into. */
#define CHUNKS_KEPT 4u
/* Spans wait so long for others, unless they fill a request. */
#define GATHER_USEC USEC_PER_SEC
/* Messages of a worker before the others have their turn: some hundred spans. */
#define MESSAGES_AT_ONCE 8u
/* A batch is posted so often; between the posts is a pause of 1, 2, 4, … seconds, or what Retry-After says. */
#define TRIES_MOST 6u
#define PAUSE_MOST_SECONDS 30u
/* From the connect to the response. */
#define POST_USEC (10 * USEC_PER_SEC)
/* Within HELPER_END_USEC, after which the master kills it. */
#define LAST_POSTS_USEC (1500 * USEC_PER_MSEC)

enum phase { PHASE_IDLE, PHASE_POSTING, PHASE_WAITING };

struct process;

/* A worker's socket. */
struct inlet {
	struct process *process;
	uint32_t worker;
	int fd; /* -1: none */
	struct net_watch *watch;
};

struct process {
	struct helper_process helper; /* env and observe alone */
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct net_watch *control;
	struct inlet *inlets;
	struct helper_names names;
	struct helper_http http;
	struct tracer_queue queue;
	enum phase phase;
	uint32_t batch;         /* spans of the queue that are being posted */
	uint32_t tries;         /* of it that have failed */
	char *begin;            /* of each body */
	char *body;             /* owned; NULL: none is being posted */
	struct net_timer timer; /* of the next post */
	struct net_timer last;  /* of the end */
	bool is_ending;         /* the master has closed its end */
	bool is_failing;        /* the error log says so */
	uint8_t message[TRACER_MESSAGE_BYTES];
};

/* The master's slot has the counters of all tracers: those of older generations go on. */
static void count(uint64_t *counter, uint32_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

#define COUNT(p, name, n) count(&(p)->helper.env->counters->name, (n))

/* ---- posts ---- */

static void begin_batch(struct process *p)
{
	size_t length;
	const struct net_address *to = helper_names_current(&p->names);
	helper_names_next(&p->names);
	p->body = tracer_queue_join(&p->queue, p->begin, OTLP_END, &length, &p->batch);
	p->phase = PHASE_POSTING;
	if (to) {
		const struct conf_tracing *t = &p->helper.env->conf->server.tracing;
		const struct helper_http_request r = {.method = "POST",
		    .authority = t->collector->text,
		    .path = t->path,
		    .content_type = "application/json",
		    .body = slice_of(p->body, length)};
		helper_http_begin(&p->http, to, &r);
		return;
	}
	const struct helper_http_result unknown = {
	    .why = p->names.error ? p->names.error : "its address is not known yet"};
	p->http.done(p, &unknown);
}

/* Sets the timer for the next post, or ends the process. */
static void go_on(struct process *p)
{
	if (p->phase != PHASE_IDLE)
		return;
	if (p->queue.count == 0) {
		if (p->is_ending)
			net_stop(p->loop);
		return;
	}
	bool is_full = p->queue.count >= TRACER_BATCH_SPANS || p->is_ending;
	usec due = net_now(p->loop) + (is_full ? 0 : GATHER_USEC);
	if (p->timer.deadline > due)
		net_timer_set(&p->timer, due);
}

static void on_timer(void *context)
{
	struct process *p = context;
	net_timer_set(&p->timer, USEC_NEVER);
	if (p->phase != PHASE_POSTING && p->queue.count > 0)
		begin_batch(p);
}

static void on_last(void *context)
{
	struct process *p = context;
	net_stop(p->loop);
}

/* Of a failure that may pass (OTLP/HTTP). */
static bool may_be_tried_again(unsigned status)
{
	return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

static void log_failure(struct process *p, const struct helper_http_result *r)
{
	const struct conf_tracing *t = &p->helper.env->conf->server.tracing;
	if (p->is_failing)
		return;
	p->is_failing = true;
	if (r->status > 0)
		observe_log(&p->helper.observe, OBSERVE_WARN,
		    "tracing: the collector %s answers %s with %u; spans are lost until it takes "
		    "them",
		    t->collector->text, t->path, r->status);
	else
		observe_log(&p->helper.observe, OBSERVE_WARN,
		    "tracing: the collector %s cannot be reached: %s; spans wait for it, and are "
		    "lost "
		    "when they are too many",
		    t->collector->text, r->why);
}

static void end_batch(struct process *p, bool is_taken)
{
	if (is_taken)
		COUNT(p, spans_sent, p->batch);
	else
		COUNT(p, spans_dropped, p->batch);
	tracer_queue_drop(&p->queue, p->batch);
	p->batch = p->tries = 0;
	p->phase = PHASE_IDLE;
	net_timer_set(&p->timer, USEC_NEVER);
	go_on(p);
}

static void wait(struct process *p, uint32_t retry_after)
{
	uint32_t seconds = retry_after > 0 ? retry_after : 1u << (p->tries - 1);
	if (seconds > PAUSE_MOST_SECONDS)
		seconds = PAUSE_MOST_SECONDS;
	p->phase = PHASE_WAITING;
	net_timer_set(&p->timer, net_now(p->loop) + seconds * USEC_PER_SEC);
}

static void on_done(void *context, const struct helper_http_result *r)
{
	struct process *p = context;
	bool is_taken = r->status >= 200 && r->status < 300;
	free(p->body);
	p->body = NULL;
	if (is_taken && p->is_failing)
		observe_log(
		    &p->helper.observe, OBSERVE_INFO, "tracing: the collector takes spans again");
	if (is_taken) {
		p->is_failing = false;
		end_batch(p, true);
		return;
	}
	COUNT(p, span_posts_failed, 1);
	log_failure(p, r);
	bool is_last = ++p->tries >= TRIES_MOST || p->is_ending;
	if (is_last || !may_be_tried_again(r->status))
		end_batch(p, false);
	else
		wait(p, r->retry_after);
}

/* ---- spans ---- */

static void close_inlet(struct inlet *in)
{
	net_watch_free(in->watch);
	in->watch = NULL;
	descriptor_close(&in->fd);
}

/* False: it is malformed. */
static bool take_span(struct process *p, struct slice span)
{
	char *text = otlp_span(span);
	if (!text)
		return false;
	if (!tracer_queue_add(&p->queue, text))
		COUNT(p, spans_dropped, 1);
	return true;
}

/* False: what is left of the message is malformed. */
static bool take(struct process *p, struct slice message)
{
	while (message.len > 0) {
		uint32_t length;
		if (message.len < sizeof(length))
			return false;
		memcpy(&length, message.ptr, sizeof(length));
		message = slice_from(message, sizeof(length));
		if (length > message.len || !take_span(p, slice_sub(message, 0, length)))
			return false;
		message = slice_from(message, length);
	}
	return true;
}

/* Takes at most so many messages. */
static void read_inlet(struct inlet *in, unsigned most)
{
	struct process *p = in->process;
	while (most-- > 0 && in->fd >= 0) {
		int fd;
		ssize_t n = message_receive_bytes(in->fd, p->message, sizeof(p->message), &fd);
		int error = n < 0 ? errno : 0;
		if (error == EAGAIN || error == EINTR)
			break;
		bool is_good = n > 0 && fd < 0 && take(p, slice_of(p->message, (size_t)n));
		descriptor_close(&fd);
		if (is_good)
			continue;
		if (n > 0 || error == EPROTO)
			observe_log(&p->helper.observe, OBSERVE_ERROR,
			    "worker %u sent a malformed span; it is not listened to any more",
			    in->worker);
		close_inlet(in);
	}
	go_on(p);
}

static void on_spans(void *context)
{
	read_inlet(context, MESSAGES_AT_ONCE);
}

/* ---- the master ---- */

static void connect_worker(struct process *p, uint32_t worker, int fd)
{
	struct inlet *in = &p->inlets[worker];
	read_inlet(in, UINT32_MAX); /* spans of the worker before, which has died */
	close_inlet(in);
	in->fd = fd;
	in->watch = net_watch_new(p->loop, fd, on_spans, in);
}

/* All workers have ended, and their last spans are here. */
static void end(struct process *p)
{
	p->is_ending = true;
	net_watch_free(p->control);
	p->control = NULL;
	for (uint32_t w = 0; w < p->helper.env->workers; w++)
		read_inlet(&p->inlets[w], UINT32_MAX);
	if (p->phase == PHASE_WAITING)
		p->phase = PHASE_IDLE;
	net_timer_set(&p->last, net_now(p->loop) + LAST_POSTS_USEC);
	go_on(p);
}

static void on_control(void *context)
{
	struct process *p = context;
	struct message m;
	int fd;
	bool is_open = helper_take_link(p->helper.env, &m, &fd);
	if (fd >= 0)
		connect_worker(p, m.worker, fd);
	if (!is_open)
		end(p);
}

/* ---- the start and the end ---- */

static bool open_parts(struct process *p, char *error, size_t error_size)
{
	const struct helper_env *env = p->helper.env;
	struct utsname machine;
	logs_observe(env->logs, &p->helper.observe, &p->helper.counters, OBSERVE_TRACER);
	p->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, CHUNKS_KEPT);
	p->loop = net_loop_new(p->chunks);
	net_timer_init(&p->timer, p->loop, on_timer, p);
	net_timer_init(&p->last, p->loop, on_last, p);
	p->inlets = memory_zalloc(env->workers * sizeof(*p->inlets));
	for (uint32_t w = 0; w < env->workers; w++)
		p->inlets[w] = (struct inlet){.process = p, .worker = w, .fd = -1};
	const struct otlp_resource resource = {.service = env->conf->server.pseudonym,
	    .version = PUSHGATE_VERSION,
	    .host = uname(&machine) == 0 ? machine.nodename : ""};
	p->begin = otlp_begin(&resource);
	p->http = (struct helper_http){
	    .loop = p->loop, .done = on_done, .context = p, .limit = POST_USEC};
	helper_http_init(&p->http);
	unsigned parts = SANDBOX_TRACER;
	if (conf_tracing_has_name(env->conf))
		parts |= SANDBOX_NAMES | SANDBOX_READS;
	return helper_names_open(&p->names, p->loop, env->conf, env->conf->server.tracing.collector,
		   error, error_size) &&
	       helper_confine(env, SIGKILL, parts, error, error_size);
}

static void serve(struct process *p)
{
	p->control = net_watch_new(p->loop, p->helper.env->control, on_control, p);
	helper_names_begin(&p->names);
	helper_tell_master(&p->helper, MESSAGE_READY, 0, -1);
	net_run(p->loop);
	COUNT(p, spans_dropped, p->queue.count);
}

static void close_parts(struct process *p)
{
	for (uint32_t w = 0; w < p->helper.env->workers; w++)
		close_inlet(&p->inlets[w]);
	net_watch_free(p->control);
	helper_http_fini(&p->http);
	helper_names_close(&p->names);
	tracer_queue_drop(&p->queue, p->queue.count);
	net_timer_fini(&p->timer);
	net_timer_fini(&p->last);
	net_loop_free(p->loop);
	chunk_pool_free(p->chunks);
	free(p->inlets);
	free(p->begin);
	free(p->body);
}

int tracer_run(const struct helper_env *env)
{
	char error[512];
	struct process *p = memory_new(struct process);
	p->helper.env = env;
	prctl(PR_SET_NAME, "pushgate-tracer");
	child_set_signals(0, false);
	bool is_up = open_parts(p, error, sizeof(error));
	if (is_up)
		serve(p);
	else
		child_report_failure(&p->helper.observe, &env->logs->error, error);
	close_parts(p);
	free(p);
	return is_up ? 0 : HELPER_CANNOT_START;
}
