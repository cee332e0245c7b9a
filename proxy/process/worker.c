/* SPDX-License-Identifier: MIT */
/* Makes and frees the parts of a worker, in the right order. */
#include "proxy/process/worker.h"
#include "proxy/admin/admin.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/offer/offer.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <unistd.h>

/* Free chunks kept: 8 MiB, which a loaded worker uses in a few loop passes. */
#define CHUNKS_KEPT 512
/* How long an access line may wait for others that are written with it. */
#define FLUSH_USEC (10 * USEC_PER_MSEC)
/* After a drain: time to send the GOAWAY and close_notify that are still queued. */
#define CLOSE_USEC (50 * USEC_PER_MSEC)

static void flush_gathered(void *context)
{
	struct worker *w = context;
	observe_flush(&w->observe);
}

static void flush_soon(void *context)
{
	struct worker *w = context;
	net_timer_set(&w->flush, net_now(w->loop) + FLUSH_USEC);
}

static void log_failed_renewal(struct worker *w, const char *why)
{
	observe_log(&w->observe, OBSERVE_ERROR,
	    "renewed certificates cannot be used, and those of before stay: %s", why);
}

static void renew_more(void *context)
{
	struct worker *w = context;
	if (gateway_renew_tls_step(w->gateway, w->renewal_error, sizeof(w->renewal_error))) {
		net_timer_set(&w->renewal, net_now(w->loop));
		return;
	}
	net_timer_set(&w->renewal, USEC_NEVER);
	sealed_close(w->env.gateway.conf->sealed);
	if (w->renewal_error[0]) {
		log_failed_renewal(w, w->renewal_error);
		return;
	}
	sealed_settle(w->env.gateway.conf->sealed);
	w->observe.counters->tls_renewed++;
}

static size_t dump(const void *object, char *buffer, size_t size)
{
	return gateway_describe(object, buffer, size);
}

static bool has_unix_servers(const struct conf *conf)
{
	for (size_t i = 0; i < conf->origin_count; i++)
		for (size_t k = 0; k < conf->origins[i].server_count; k++)
			if (conf->origins[i].servers[k].address.any.sa_family == AF_UNIX)
				return true;
	return false;
}

static bool needs_demo(const struct conf *conf)
{
	for (size_t i = 0; i < conf->origin_count; i++)
		if (conf->origins[i].kind == CONF_ORIGIN_DEMO)
			return true;
	return false;
}

void worker_take_contents(struct worker *w)
{
	struct files_contents *c = w->env.contents;
	for (size_t i = 0; i < c->count; i++) {
		const char *malformed = c->fds[i] < 0 ? NULL
						      : files_take(w->gateway, w->env.gateway.conf,
							    i, c->fds[i], net_now(w->loop));
		if (!malformed)
			continue;
		w->observe.counters->files_refused++;
		observe_log(&w->observe, OBSERVE_ERROR,
		    "the files process left a malformed %s; this worker starts without it",
		    malformed);
	}
	files_contents_fini(c);
}

static const char *explain(
    void *context, const struct admin_question *q, const struct manifests *manifests, FILE *out)
{
	const struct worker *w = context;
	const struct tool_question question = {.url = q->url,
	    .promise = q->promise,
	    .client = q->client,
	    .address = q->address,
	    .cert = q->cert,
	    .remembered = gateway_remembered(w->gateway)};
	const struct router_tables *tables = w->lists.bytes ? &w->tables : w->env.gateway.tables;
	return tool_explain_question(&question, w->env.gateway.conf, tables, manifests, out);
}

bool worker_init(struct worker *w, const struct worker_config *env, char *error, size_t error_size)
{
	*w = (struct worker){.env = *env};
	struct gateway_env *gateway = &w->env.gateway;
	const struct conf *conf = gateway->conf;
	logs_observe(env->logs, &w->observe, env->counters, env->index);
	w->observe.series = env->series;
	w->observe.access_fd = log_target(&env->logs->access);
	w->observe.left_out = conf->server.log_left_out;
	w->observe.sample = conf->server.log_sample;
	w->observe.gathers = flush_soon;
	w->observe.gathers_context = w;
	w->adopted = memory_zalloc(env->share->workers * sizeof(*w->adopted));
	w->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, CHUNKS_KEPT);
	w->loop = net_loop_new(w->chunks);
	net_timer_init(&w->flush, w->loop, flush_gathered, w);
	net_timer_init(&w->renewal, w->loop, renew_more, w);
	gateway->loop = w->loop;
	gateway->chunks = w->chunks;
	gateway->observe = &w->observe;
	w->keys = (struct observe_keys){log_target(&env->logs->keys), env->counters};
	w->key_log = (struct net_key_log){observe_key_line, &w->keys};
	/* After a reload without the option the file of the start is still open. */
	gateway->key_log = conf->server.keylog_file && w->keys.fd >= 0 ? &w->key_log : NULL;
	gateway->seed = hash_random_seed();
	gateway->explain = explain;
	gateway->explain_context = w;
	offer_seed(gateway->seed);
	if (needs_demo(conf)) {
		w->demo = demo_origin_new(w->loop, w->chunks, gateway->seed);
		gateway->demo_connect = demo_origin_connect;
		gateway->demo_context = w->demo;
	}
	w->gateway = gateway_new(gateway, error, error_size);
	net_tickets_fini(env->tickets);
	sealed_close(conf->sealed);
	if (!w->gateway)
		return false;
	ensure_set_dumper(dump, w->gateway);
	return true;
}

static bool has_sources(const struct conf *conf)
{
	for (size_t i = 0; i < conf->origin_count; i++)
		if (net_source_is_given(&conf->origins[i].source))
			return true;
	return false;
}

bool worker_confine(const struct worker *w, unsigned more, char *error, size_t error_size)
{
	const struct conf *conf = w->env.gateway.conf;
	unsigned parts = SANDBOX_WORKER | SANDBOX_BUILD | more;
	if (has_unix_servers(conf))
		parts |= SANDBOX_UNIX;
	if (conf_has_names(conf))
		parts |= SANDBOX_NAMES;
	if (conf_tells_ends(conf))
		parts |= SANDBOX_ENDS;
	if (w->demo)
		parts |= SANDBOX_DEMO;
	if (has_sources(conf))
		parts |= SANDBOX_SOURCES;
	bool has_sealed = conf->sealed && sealed_path(conf->sealed, 0);
	if (w->env.contents && (has_sealed || conf->named_file_count > 0 || files_are_needed(conf)))
		parts |= SANDBOX_MAPS;
	return sandbox_enter(parts, conf->server.sandbox, error, error_size);
}

/* ---- life ---- */

void worker_listen(struct worker *w, uint32_t from)
{
	const struct worker_config *env = &w->env;
	if (w->adopted[from] || w->is_draining)
		return;
	w->adopted[from] = true;
	const struct conf *conf = env->gateway.conf;
	for (size_t i = 0; i < conf->listen_count; i++) {
		int fd = sockets_of(env->share, i, from, 0);
		/* All workers share one unix socket: do not listen on it twice. */
		if (from != env->index && fd == sockets_of(env->share, i, env->index, 0))
			continue;
		for (uint32_t nth = 0; (fd = sockets_of(env->share, i, from, nth)) >= 0; nth++)
			gateway_listen(w->gateway, &conf->listens[i], fd);
	}
}

static void drained(void *context)
{
	struct worker *w = context;
	net_stop(w->loop);
}

/* One that is under way still begins again, with these. */
void worker_renew_tls(struct worker *w, int fd)
{
	if (!sealed_replace(w->env.gateway.conf->sealed, fd)) {
		descriptor_close(&fd);
		log_failed_renewal(w, "the memory file is malformed");
		return;
	}
	w->renewal_error[0] = '\0';
	gateway_renew_tls(w->gateway);
	renew_more(w);
}

/* No object keeps a part of the lists over a loop pass: a body is copied when it is answered with, a password when the
 * request is encoded. So those of before can go at once. */
void worker_renew_lists(struct worker *w, int fd)
{
	struct lists lists;
	const struct conf *conf = w->env.gateway.conf;
	bool is_taken = lists_map(&lists, fd, conf);
	descriptor_close(&fd);
	if (!is_taken) {
		observe_log(&w->observe, OBSERVE_ERROR,
		    "changed lists cannot be used: their memory file has not come, or cannot be "
		    "mapped; this worker drains, for one that begins with them");
		worker_drain(w);
		return;
	}
	lists_use(&lists, conf, &w->tables);
	gateway_use_tables(w->gateway, &w->tables);
	lists_unmap(&w->lists);
	w->lists = lists;
	w->observe.counters->lists_renewed++;
}

void worker_drain(struct worker *w)
{
	if (!w->is_draining)
		for (size_t i = 0; i < w->env.gateway.conf->listen_count; i++)
			gateway_empty(w->gateway, i);
	worker_retire(w);
}

void worker_retire(struct worker *w)
{
	if (w->is_draining)
		return;
	w->is_draining = true;
	usec deadline = clock_after(net_now(w->loop), w->env.gateway.conf->server.drain_timeout);
	gateway_drain(w->gateway, deadline, drained, w);
	/* Refuses new clients: no worker accepts from their backlog any more. */
	sockets_close(w->env.sockets, NULL);
}

void worker_quit(struct worker *w)
{
	w->is_quitting = true;
	net_stop(w->loop);
}

void worker_fini(struct worker *w)
{
	ensure_set_dumper(NULL, NULL);
	if (w->gateway)
		gateway_free(w->gateway);
	if (!w->is_quitting && w->is_draining) {
		usec until = clock_monotonic() + CLOSE_USEC;
		for (usec now = clock_monotonic(); now < until; now = clock_monotonic())
			net_run_once(w->loop, until - now);
	}
	demo_origin_free(w->demo);
	net_timer_fini(&w->flush);
	net_timer_fini(&w->renewal);
	net_loop_free(w->loop);
	chunk_pool_free(w->chunks);
	observe_flush(&w->observe);
	free(w->adopted);
}
