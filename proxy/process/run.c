/* SPDX-License-Identifier: MIT */
/*
 * `pushgate run`: finds all configuration and start errors before it opens anything or accepts a
 * client, and prints them on the terminal.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/process/notify.h"
#include "proxy/process/process.h"
#include "proxy/process/sandbox.h"
#include "proxy/process/start.h"
#include "proxy/process/start_needs.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

static uint32_t count_cpus(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	int n = CPU_COUNT(&set);
	return n > 0 ? (uint32_t)n : 1;
}

uint32_t start_count_workers(const struct conf *conf, bool single)
{
	if (single)
		return 1;
	return conf->server.workers ? conf->server.workers : count_cpus();
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static bool map_slots(struct start *s, char *error, size_t error_size)
{
	size_t bytes = (s->workers + 1) * sizeof(*s->slots);
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		snprintf(error, error_size, "cannot map the counters: %s", strerror(errno));
		return false;
	}
	s->slots = p;
	return true;
}

/* The servers that may be ejected or are checked. */
static bool map_health_table(struct start *s, char *error, size_t error_size)
{
	size_t servers = 0, names = 0;
	for (size_t i = 0; i < s->conf->origin_count; i++) {
		const struct conf_origin *o = &s->conf->origins[i];
		if (!conf_origin_may_eject(o) && o->check.kind == CONF_CHECK_OFF)
			continue;
		for (size_t j = 0; j < o->server_count; j++)
			if (o->servers[j].address.length > 0)
				servers++;
			else if (o->kind != CONF_ORIGIN_DEMO)
				names++;
	}
	if (servers + names == 0)
		return true;
	s->health_table_bytes = health_table_bytes(servers, names);
	void *p = mmap(
	    NULL, s->health_table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		snprintf(
		    error, error_size, "cannot map the health of servers: %s", strerror(errno));
		return false;
	}
	s->health_table_memory = p;
	s->health_table = health_table_new(p, servers, names);
	return true;
}

void start_observe(const struct start *s, struct observe *o)
{
	*o = (struct observe){.counters = &s->slots[s->workers],
	    .access_fd = -1,
	    .error_fd = log_target(&s->logs.error),
	    .is_journal = s->logs.error.is_journal,
	    .level = OBSERVE_INFO,
	    .worker = OBSERVE_MASTER};
}

/* What clients may speak there, by the names of ALPN. */
static const char *protocols_text(const struct conf_listen *l)
{
	if (l->protocols == CONF_HTTP1)
		return "http/1.1";
	if (l->protocols == CONF_HTTP2)
		return l->certificate_count ? "h2" : "h2c";
	return l->certificate_count ? "h2 and http/1.1" : "h2c and http/1.1";
}

void start_announce(const struct start *s, struct observe *o)
{
	for (size_t i = 0; i < s->conf->listen_count; i++) {
		char at[NET_ADDRESS_TEXT];
		const struct conf_listen *l = &s->conf->listens[i];
		observe_log(o, OBSERVE_INFO, "listening on %s (%s, %s), %u worker%s",
		    sockets_address(&s->sockets, i, at, sizeof(at)),
		    l->certificate_count ? "TLS" : "plain", protocols_text(l), s->workers,
		    s->workers == 1 ? "" : "s");
	}
	if (identity_is_root(&s->identity))
		observe_log(
		    o, OBSERVE_WARN, "user = root: the workers, which face the network, stay root");
}

static enum process_status examine_needs(const struct start *s)
{
	struct start_needs needs = {.conf = s->conf, .out = stderr, .workers = s->workers};
	if (start_needs_walk(&needs))
		return PROCESS_DONE;
	return needs.count[NEED_FAULT] > 0 ? PROCESS_BAD_CONF : PROCESS_FAILED;
}

/* What fails now has changed since it was examined, or the system lacks something. */
static bool open_all(struct start *s, bool single, char *error, size_t error_size)
{
	const struct conf_server *server = &s->conf->server;
	if (!identity_find(&s->identity, server->user, error, error_size) ||
	    !sandbox_is_possible(server->sandbox, error, error_size) ||
	    !sockets_open(&s->sockets, s->conf, s->workers, error, error_size))
		return false;
	if (!logs_open(&s->logs, server, error, error_size))
		return false;
	if (!single && !logs_make_pipes(&s->logs, error, error_size))
		return false;
	if (server->status_socket) {
		s->status_fd = status_listen(server->status_socket, error, error_size);
		if (s->status_fd < 0)
			return false;
	}
	return map_slots(s, error, error_size) && map_health_table(s, error, error_size) &&
	       (single || identity_limit(error, error_size));
}

void start_give_up_status(struct start *s)
{
	status_close(s->status_fd, s->conf->server.status_socket);
	s->status_fd = -1;
}

static void close_all(struct start *s)
{
	start_give_up_status(s);
	sockets_fini(&s->sockets);
	logs_close_readers(&s->logs);
	logs_close_writers(&s->logs);
	logs_close_files(&s->logs);
	if (s->notify_fd >= 0)
		close(s->notify_fd);
	if (s->slots)
		munmap(s->slots, (s->workers + 1) * sizeof(*s->slots));
	if (s->health_table)
		munmap(s->health_table_memory, s->health_table_bytes);
	free(s->health_table);
	net_tickets_fini(&s->tickets);
	conf_free(s->conf);
}

int process_run(const char *conf_path, bool single)
{
	struct start s = {
	    .status_fd = -1, .notify_fd = -1, .logs = logs_none, .started = clock_monotonic()};
	/* The title is written where the argument is. */
	char *path = strdup(conf_path);
	ensure(path != NULL);
	s.conf_path = path;
	s.conf = conf_load(path, true, stderr);
	if (!s.conf) {
		free(path);
		return PROCESS_BAD_CONF;
	}
	title_init(&s.title);
	/* Workers inherit the time zone: the C library reads the file again only if TZ has changed. */
	tzset();
	signal(SIGPIPE, SIG_IGN);
	raise_descriptor_limit();
	s.workers = start_count_workers(s.conf, single);
	enum process_status status = examine_needs(&s);
	if (status != PROCESS_DONE) {
		conf_free(s.conf);
		free(path);
		return (int)status;
	}
	net_tickets_init(&s.tickets, clock_wall());
	hash_random(&s.via_suffix, sizeof(s.via_suffix));
	char error[512];
	status = PROCESS_FAILED;
	s.notify_fd = notify_open();
	if (!open_all(&s, single, error, sizeof(error)))
		fprintf(stderr, "pushgate: %s\n", error);
	else
		status = single ? single_run(&s) : master_run(&s);
	close_all(&s);
	free(path);
	return (int)status;
}
