/* SPDX-License-Identifier: MIT */
/* Opens and closes the parts of a start (start.h). */
#include "proxy/process/start.h"

#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/process/hand_on.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *copy(const char *text)
{
	return text ? memory_strdup(text) : NULL;
}

void start_observe(const struct start *s, struct observe *o)
{
	logs_observe(&s->logs, o, s->slot, OBSERVE_MASTER);
}

struct worker_config start_worker_config(
    struct start *s, const struct outfit *outfit, uint32_t index)
{
	return (struct worker_config){
	    .gateway = {.conf = outfit->conf,
		.tables = &outfit->tables,
		.health_table = outfit->health_table,
		.readiness = s->readiness,
		.connections = outfit->connections,
		.connection_lanes = outfit->workers,
		.pages = outfit->pages.memory ? &outfit->pages : NULL,
		.server_orders = outfit->orders,
		.tickets = &s->tickets,
		.via_suffix = s->via_suffix,
		.limit_memories = limit_memories_of(&outfit->limits, index),
		.limit_lane = outfit->limits.lane,
		.limit_seed = s->limit_seed,
		.remembered_seed = s->remembered_seed},
	    .title = &s->title,
	    .sockets = &s->sockets,
	    .share = &outfit->share,
	    .logs = &s->logs,
	    .counters = &outfit->slots[index],
	    .series = series_lane(&outfit->series, index),
	    .identity = &outfit->identity,
	    .tickets = &s->tickets,
	    .index = index,
	};
}

/* The protocols of clients there, by their names in ALPN. */
static const char *protocols_text(const struct conf_listen *l)
{
	if (l->protocols == CONF_HTTP1)
		return "http/1.1";
	if (l->protocols == CONF_HTTP2)
		return l->certificate_count ? "h2" : "h2c";
	return l->certificate_count ? "h2 and http/1.1" : "h2c and http/1.1";
}

void start_announce(const struct outfit *outfit, struct observe *o)
{
	for (size_t i = 0; i < outfit->conf->listen_count; i++) {
		char at[NET_ADDRESS_TEXT];
		const struct conf_listen *l = &outfit->conf->listens[i];
		observe_log(o, OBSERVE_INFO, "listening on %s (%s, %s), %u worker%s",
		    sockets_address(&outfit->share, i, at, sizeof(at)),
		    l->certificate_count ? "TLS" : "plain", protocols_text(l), outfit->workers,
		    outfit->workers == 1 ? "" : "s");
	}
	if (outfit->conf->server.keylog_file)
		observe_log(o, OBSERVE_WARN,
		    "keylog-file: the keys of all TLS connections are written to %s",
		    outfit->conf->server.keylog_file);
	if (identity_is_root(&outfit->identity))
		observe_log(
		    o, OBSERVE_WARN, "user = root: the workers, which face the network, stay root");
}

sigset_t start_signals(int how)
{
	static const int obeyed[] = {SIGTERM, SIGINT, SIGUSR1, SIGUSR2, SIGHUP};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++)
		sigaddset(&set, obeyed[i]);
	sigprocmask(how, &set, NULL);
	return set;
}

/* With paths that outlive the configuration. */
static bool open_logs(struct start *s, char *error, size_t error_size)
{
	struct conf_server names = s->outfit.conf->server;
	names.error_log = s->error_log = copy(names.error_log);
	names.access_log = s->access_log = copy(names.access_log);
	names.keylog_file = s->keylog_file = copy(names.keylog_file);
	return logs_open(&s->logs, &names, error, error_size);
}

/* A predecessor's socket, if that has this path. */
static bool open_status(struct start *s, const char *path, char *error, size_t error_size)
{
	struct predecessor *p = &s->predecessor;
	s->status_path = copy(path);
	if (path && p->status_path && strcmp(path, p->status_path) == 0) {
		s->status_fd = p->status_fd;
		p->status_fd = -1;
		p->shares_status = true;
	} else if (path) {
		s->status_fd = status_listen(path, error, error_size);
	}
	descriptor_close(&p->status_fd);
	return !path || s->status_fd >= 0;
}

bool start_open(struct start *s, bool single, char *error, size_t error_size)
{
	const struct conf_server *server = &s->outfit.conf->server;
	/* Before the listening sockets: when a port answers, the process may be sent signals, and `pushgate status`
	 * answers too. */
	start_signals(SIG_BLOCK);
	if (!open_status(s, server->status_socket, error, error_size))
		return false;
	s->sockets.owns_files = !s->predecessor.still_serves;
	if (!outfit_open(&s->outfit, &s->sockets, error, error_size))
		return false;
	/* A predecessor's clients stay its own until this process takes over. */
	if (!s->predecessor.still_serves && !sockets_listen(&s->outfit.share, error, error_size))
		return false;
	if (!open_logs(s, error, error_size))
		return false;
	if (!single && !logs_make_pipes(&s->logs, error, error_size))
		return false;
	if (!single && s->status_fd >= 0 && !outfit_take_orders(&s->outfit, error, error_size))
		return false;
	(void)start_take_health(s, &s->outfit);
	s->slot = outfit_map_shared(sizeof(*s->slot), "the counters", error, error_size);
	s->readiness = outfit_map_shared(sizeof(*s->readiness), "the readiness", error, error_size);
	if (s->readiness)
		atomic_store(&s->readiness->was_ready, s->predecessor.was_ready);
	s->ledger = ledger_new(error, error_size);
	return s->slot && s->readiness && s->ledger &&
	       (single || identity_limit(error, error_size));
}

bool start_take_health(struct start *s, struct outfit *outfit)
{
	struct slice *health = &s->predecessor.health;
	if (health->len == 0)
		return false;
	(void)hand_on_health_read(outfit, *health, clock_monotonic());
	free((void *)(uintptr_t)health->ptr);
	*health = (struct slice){0};
	return true;
}

void start_give_up_status(struct start *s)
{
	if (s->predecessor.still_serves && s->predecessor.shares_status)
		descriptor_close(&s->status_fd);
	else
		status_close(s->status_fd, s->status_path);
	s->status_fd = -1;
}

void start_close(struct start *s)
{
	start_give_up_status(s);
	server_orders_list_free(&s->orders);
	outfit_close(&s->outfit);
	sockets_fini(&s->sockets);
	logs_close(&s->logs, LOGS_ALL);
	descriptor_close(&s->notify_fd);
	descriptor_close(&s->remembered);
	if (s->slot)
		munmap(s->slot, sizeof(*s->slot));
	if (s->readiness)
		munmap(s->readiness, sizeof(*s->readiness));
	ledger_free(s->ledger);
	net_tickets_fini(&s->tickets);
	descriptor_close(&s->predecessor.socket);
	descriptor_close(&s->predecessor.status_fd);
	free(s->predecessor.status_path);
	totals_free(s->predecessor.counters);
	free((void *)(uintptr_t)s->predecessor.health.ptr);
	free(s->program);
	free(s->status_path);
	free(s->error_log);
	free(s->access_log);
	free(s->keylog_file);
}
