/* SPDX-License-Identifier: MIT */
/* The ACME process's loop: which certificate is due, and the requests of its task (acme_helper.h). */
#include "proxy/base/descriptor.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/process/acme_private.h"
#include "proxy/process/child.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Chunks to read into. */
#define CHUNKS_KEPT 4u
/* The first task waits so long for links to all workers, any of which may be asked for a challenge. */
#define BEGIN_USEC (5 * USEC_PER_SEC)
/* And then so long until the new workers have taken over: those of before may not know a host that was added. */
#define TAKE_OVER_USEC (2 * USEC_PER_SEC)
/* Some authorities answer slowly: they do a part of the work before. */
#define REQUEST_USEC (60 * USEC_PER_SEC)
/* The wall clock may be set: it is looked at so often at least. */
#define LOOK_USEC (60 * USEC_PER_SEC)

static void go_on(struct acme_process *p);

int64_t acme_process_now(void)
{
	return (int64_t)(clock_wall() / USEC_PER_SEC);
}

/* ---- challenges ---- */

/* A worker that is too busy to take it does not answer the authority either. */
static void tell(struct acme_process *p, uint32_t worker)
{
	struct iovec part = {&p->told, sizeof(p->told)};
	if (p->links[worker] >= 0)
		(void)!message_send_parts(p->links[worker], &part, 1, -1, MSG_DONTWAIT);
}

/* Before the authority is told to look. Over cleartext the thumbprint is enough. */
static void set_challenge(struct acme_process *p)
{
	char text[ACME_TOKEN_BYTES_MOST + 1 + ACME_THUMBPRINT_BYTES + 1];
	struct net_challenge *c = &p->told.challenge;
	snprintf(text, sizeof(text), "%s.%s", p->work.task.order.token, p->told.thumbprint);
	snprintf(c->name, sizeof(c->name), "%s", p->work.task.order.name);
	net_sha256(slice_of_string(text), c->digest);
	for (uint32_t w = 0; w < p->helper.env->workers; w++)
		tell(p, w);
}

/* ---- requests ---- */

/* The name is in lower case. */
static struct slice field_of(const struct http_head *head, struct slice name)
{
	for (size_t i = 0; head && i < head->count; i++)
		if (slice_equal(head->fields[i].name, name))
			return head->fields[i].value;
	return (struct slice){0};
}

static void send_request(struct acme_process *p);

static void on_done(void *context, const struct helper_http_result *r)
{
	struct acme_process *p = context;
	struct acme_work *w = &p->work;
	const struct acme_answer a = {.status = r->status,
	    .why = r->why,
	    .body = r->body,
	    .nonce = field_of(r->head, SLICE("replay-nonce")),
	    .location = field_of(r->head, SLICE("location")),
	    .retry_after = r->retry_after};
	if (r->status == 0)
		helper_names_next(&p->names);
	/* One address of several may not be reachable from here: that costs no order. */
	if (r->status == 0 && !r->was_sent && ++w->addresses_tried < p->names.count) {
		send_request(p);
		return;
	}
	free(w->request.body);
	w->request.body = NULL;
	acme_task_take(&w->task, &a);
	/* In the next loop pass: the request is not over yet. */
	net_timer_set(&p->timer, net_now(p->loop));
}

/* All addresses are at the authority of the directory (acme.h). */
static const char *path_of(const char *url)
{
	const char *authority = strstr(url, "://");
	return authority ? strchr(authority + 3, '/') : url;
}

static void send_request(struct acme_process *p)
{
	const struct acme_request *r = &p->work.request;
	const struct conf_acme *conf = &p->helper.env->conf->server.acme;
	const struct net_address *to = helper_names_current(&p->names);
	if (!to) {
		const struct helper_http_result unknown = {
		    .why = p->names.error ? p->names.error : "its address is not known yet"};
		on_done(p, &unknown);
		return;
	}
	const struct helper_http_request request = {.method = r->method,
	    .authority = conf->server->text,
	    .path = path_of(r->url),
	    .content_type = r->body ? "application/jose+json" : NULL,
	    .body = slice_of(r->body, r->body ? strlen(r->body) : 0),
	    .tls = p->tls,
	    .tls_name = conf->server->tls_name};
	helper_http_begin(&p->http, to, &request);
}

static void ask(struct acme_process *p)
{
	struct acme_work *w = &p->work;
	if (acme_task_next(&w->task) == ACME_STEP_CHALLENGE &&
	    strcmp(w->task.wish.challenge, ACME_CHALLENGE_TLS) == 0)
		set_challenge(p);
	acme_task_request(&w->task, &w->request);
	w->addresses_tried = 0;
	p->phase = ACME_PROCESS_ASKING;
	net_timer_set(&p->timer, USEC_NEVER); /* of what was due before */
	send_request(p);
}

static void end_work(struct acme_process *p)
{
	struct acme_work *w = &p->work;
	acme_task_fini(&w->task);
	net_key_free(w->key);
	free(w->request.body);
	descriptor_close(&w->lock);
	*w = (struct acme_work){.lock = -1};
}

/* The task has moved. */
static void follow(struct acme_process *p)
{
	switch (p->work.task.state) {
	case ACME_REQUEST:
		ask(p);
		return;
	case ACME_WAITING:
		p->phase = ACME_PROCESS_WAITING;
		net_timer_set(
		    &p->timer, net_now(p->loop) + p->work.task.wait_seconds * USEC_PER_SEC);
		return;
	case ACME_DONE:
	case ACME_FAILED:
		acme_certificate_conclude(p);
		end_work(p);
		p->phase = ACME_PROCESS_IDLE;
		go_on(p);
		return;
	}
}

/* ---- what is due ---- */

static bool may_begin(const struct acme_process *p)
{
	return net_now(p->loop) >= p->begin_at && (p->names.count > 0 || p->names.error);
}

static void go_on(struct acme_process *p)
{
	if (p->phase != ACME_PROCESS_IDLE)
		return;
	int64_t now = acme_process_now(), due = INT64_MAX;
	struct acme_certificate *next = NULL;
	for (size_t i = 0; i < p->count; i++) {
		struct acme_certificate *c = &p->certificates[i];
		int64_t at = c->order_at < c->ask_at ? c->order_at : c->ask_at;
		if (at < due) {
			due = at;
			next = c;
		}
	}
	bool is_now = next && due <= now && may_begin(p);
	if (is_now && acme_certificate_begin(p, next)) {
		follow(p);
		return;
	}
	usec wait = LOOK_USEC;
	if (is_now)
		wait = 0; /* other times than before */
	else if (due <= now)
		wait = USEC_PER_SEC / 4;
	else if (due - now < (int64_t)(LOOK_USEC / USEC_PER_SEC))
		wait = (usec)(due - now) * USEC_PER_SEC;
	net_timer_set(&p->timer, net_now(p->loop) + wait);
}

static void on_timer(void *context)
{
	struct acme_process *p = context;
	net_timer_set(&p->timer, USEC_NEVER);
	switch (p->phase) {
	case ACME_PROCESS_IDLE:
		go_on(p);
		return;
	case ACME_PROCESS_WAITING:
		acme_task_waited(&p->work.task);
		follow(p);
		return;
	case ACME_PROCESS_ASKING:
		follow(p);
		return;
	}
}

/* ---- the master and the workers ---- */

static void connect_worker(struct acme_process *p, uint32_t worker, int fd)
{
	descriptor_close(&p->links[worker]);
	p->links[worker] = fd;
	tell(p, worker);
	bool are_linked = true;
	for (uint32_t w = 0; w < p->helper.env->workers; w++)
		are_linked &= p->links[w] >= 0;
	usec begin_at = net_now(p->loop) + TAKE_OVER_USEC;
	if (are_linked && begin_at < p->begin_at)
		p->begin_at = begin_at;
	go_on(p);
}

static void on_control(void *context)
{
	struct acme_process *p = context;
	struct message m;
	int fd;
	bool is_open = helper_take_link(p->helper.env, &m, &fd);
	if (fd >= 0)
		connect_worker(p, m.worker, fd);
	if (!is_open)
		net_stop(p->loop);
}

/* ---- the start and the end ---- */

static bool open_parts(struct acme_process *p, char *error, size_t error_size)
{
	const struct helper_env *env = p->helper.env;
	const struct conf_acme *conf = &env->conf->server.acme;
	const struct net_tls_client_options tls = {
	    .ca_file = conf->ca_file, .verify = true, .alpn = "http/1.1"};
	unsigned parts = SANDBOX_ACME | SANDBOX_READS | SANDBOX_SAVES;
	if (conf_acme_has_name(env->conf))
		parts |= SANDBOX_NAMES;
	logs_observe(env->logs, &p->helper.observe, &p->helper.counters, OBSERVE_ACME);
	p->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, CHUNKS_KEPT);
	p->loop = net_loop_new(p->chunks);
	net_timer_init(&p->timer, p->loop, on_timer, p);
	p->links = memory_alloc(env->workers * sizeof(*p->links));
	for (uint32_t w = 0; w < env->workers; w++)
		p->links[w] = -1;
	p->http = (struct helper_http){.loop = p->loop,
	    .body_most = ACME_ANSWER_BYTES,
	    .done = on_done,
	    .context = p,
	    .limit = REQUEST_USEC};
	helper_http_init(&p->http);
	p->begin_at = net_now(p->loop) + BEGIN_USEC;
	if (!helper_names_open(&p->names, p->loop, env->conf, conf->server, error, error_size))
		return false;
	p->tls = net_tls_client_new(&tls, error, error_size);
	return p->tls && helper_confine(env, SIGKILL, parts, error, error_size) &&
	       acme_account_open(p, error, error_size);
}

static void serve(struct acme_process *p)
{
	acme_certificates_open(p);
	p->control = net_watch_new(p->loop, p->helper.env->control, on_control, p);
	helper_names_begin(&p->names);
	helper_tell_master(&p->helper, MESSAGE_READY, 0, -1);
	go_on(p);
	net_run(p->loop);
}

static void close_parts(struct acme_process *p)
{
	for (uint32_t w = 0; p->links && w < p->helper.env->workers; w++)
		descriptor_close(&p->links[w]);
	net_watch_free(p->control);
	helper_http_fini(&p->http);
	helper_names_close(&p->names);
	net_timer_fini(&p->timer);
	end_work(p);
	acme_ca_fini(&p->ca);
	net_key_free(p->account);
	net_tls_free(p->tls);
	net_loop_free(p->loop);
	chunk_pool_free(p->chunks);
	free(p->certificates);
	free(p->links);
}

int acme_helper_run(const struct helper_env *env)
{
	char error[512];
	struct acme_process *p = memory_new(struct acme_process);
	p->helper.env = env;
	p->work.lock = -1;
	prctl(PR_SET_NAME, "pushgate-acme");
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
