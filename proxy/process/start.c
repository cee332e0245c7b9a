/* SPDX-License-Identifier: MIT */
/* Opens and closes the parts of a start (start.h). */
#include "proxy/process/start.h"

#include "proxy/base/descriptor.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Zeroed memory that the children share. NULL with a message. */
static void *map_shared(size_t bytes, const char *what, char *error, size_t error_size)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		return p;
	snprintf(error, error_size, "cannot map %s: %s", what, strerror(errno));
	return NULL;
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
	s->health_table_memory =
	    map_shared(s->health_table_bytes, "the health of servers", error, error_size);
	if (!s->health_table_memory)
		return false;
	s->health_table = health_table_new(s->health_table_memory, servers, names);
	return true;
}

void start_observe(const struct start *s, struct observe *o)
{
	logs_observe(&s->logs, o, &s->slots[s->workers], OBSERVE_MASTER);
}

struct worker_config start_worker_config(struct start *s, uint32_t index)
{
	return (struct worker_config){
	    .gateway = {.conf = s->conf,
		.health_table = s->health_table,
		.tickets = &s->tickets,
		.via_suffix = s->via_suffix},
	    .title = &s->title,
	    .sockets = &s->sockets,
	    .share = &s->share,
	    .logs = &s->logs,
	    .counters = &s->slots[index],
	    .identity = &s->identity,
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

void start_announce(const struct start *s, struct observe *o)
{
	for (size_t i = 0; i < s->conf->listen_count; i++) {
		char at[NET_ADDRESS_TEXT];
		const struct conf_listen *l = &s->conf->listens[i];
		observe_log(o, OBSERVE_INFO, "listening on %s (%s, %s), %u worker%s",
		    sockets_address(&s->share, i, at, sizeof(at)),
		    l->certificate_count ? "TLS" : "plain", protocols_text(l), s->workers,
		    s->workers == 1 ? "" : "s");
	}
	if (identity_is_root(&s->identity))
		observe_log(
		    o, OBSERVE_WARN, "user = root: the workers, which face the network, stay root");
}

sigset_t start_signals(int how)
{
	static const int obeyed[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
	sigset_t set;
	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++)
		sigaddset(&set, obeyed[i]);
	sigprocmask(how, &set, NULL);
	return set;
}

bool start_open(struct start *s, bool single, char *error, size_t error_size)
{
	const struct conf_server *server = &s->conf->server;
	if (!identity_find(&s->identity, server->user, error, error_size) ||
	    !sandbox_is_possible(server->sandbox, error, error_size))
		return false;
	/* Before the listening sockets: when a port answers, the process may be sent signals, and `pushgate status`
	 * answers too. */
	start_signals(SIG_BLOCK);
	if (server->status_socket) {
		s->status_fd = status_listen(server->status_socket, error, error_size);
		if (s->status_fd < 0)
			return false;
	}
	s->sockets.owns_files = true;
	if (!sockets_borrow(&s->sockets, &s->share, s->conf, s->workers, error, error_size) ||
	    !sockets_listen(&s->share, error, error_size) ||
	    !logs_open(&s->logs, server, error, error_size))
		return false;
	if (!single && !logs_make_pipes(&s->logs, error, error_size))
		return false;
	s->slots =
	    map_shared((s->workers + 1) * sizeof(*s->slots), "the counters", error, error_size);
	return s->slots && map_health_table(s, error, error_size) &&
	       (single || identity_limit(error, error_size));
}

void start_give_up_status(struct start *s)
{
	status_close(s->status_fd, s->conf->server.status_socket);
	s->status_fd = -1;
}

void start_close(struct start *s)
{
	start_give_up_status(s);
	sockets_return(&s->share);
	sockets_fini(&s->sockets);
	logs_close(&s->logs, LOGS_ALL);
	descriptor_close(&s->notify_fd);
	if (s->slots)
		munmap(s->slots, (s->workers + 1) * sizeof(*s->slots));
	if (s->health_table)
		munmap(s->health_table_memory, s->health_table_bytes);
	free(s->health_table);
	net_tickets_fini(&s->tickets);
	conf_free(s->conf);
}
