/* SPDX-License-Identifier: MIT */
/* See outfit.h. */
#include "proxy/process/outfit.h"

#include "proxy/base/hash.h"
#include "proxy/process/sandbox.h"
#include "proxy/process/server_request.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static uint32_t count_cpus(void)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	int n = CPU_COUNT(&set);
	return n > 0 ? (uint32_t)n : 1;
}

uint32_t outfit_count_workers(const struct conf *conf, bool single)
{
	if (single)
		return 1;
	return conf->server.workers ? conf->server.workers : count_cpus();
}

void *outfit_map_shared(size_t bytes, const char *what, char *error, size_t error_size)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		return p;
	snprintf(error, error_size, "cannot map %s: %s", what, strerror(errno));
	return NULL;
}

/* The servers that may be ejected or are checked. */
static bool map_health_table(struct outfit *o, char *error, size_t error_size)
{
	size_t servers = 0, names = 0;
	for (size_t i = 0; i < o->conf->origin_count; i++) {
		const struct conf_origin *origin = &o->conf->origins[i];
		if (!conf_origin_may_eject(origin) && origin->check.kind == CONF_CHECK_OFF)
			continue;
		for (size_t j = 0; j < origin->server_count; j++)
			if (origin->servers[j].address.length > 0)
				servers++;
			else if (origin->kind != CONF_ORIGIN_DEMO)
				names++;
	}
	if (servers + names == 0)
		return true;
	o->health_table_bytes = health_table_bytes(servers, names);
	o->health_table_memory =
	    outfit_map_shared(o->health_table_bytes, "the health of servers", error, error_size);
	if (!o->health_table_memory)
		return false;
	o->health_table = health_table_new(o->health_table_memory, servers, names);
	return true;
}

/* The memory of a record is used once a page is recorded in it. */
static bool map_pages(struct outfit *o, char *error, size_t error_size)
{
	struct waterfall *w = &o->pages;
	uint32_t records = conf_page_records(o->conf);
	if (records == 0)
		return true;
	*w = (struct waterfall){.workers = o->workers, .records = records};
	w->memory = outfit_map_shared(
	    waterfall_bytes(w->workers, w->records), "page records", error, error_size);
	if (w->memory)
		waterfall_begin_numbers(w, clock_wall() / USEC_PER_SEC << 16);
	return w->memory != NULL;
}

static bool map_connections(struct outfit *o, char *error, size_t error_size)
{
	if (!conf_has_admin(o->conf))
		return true;
	o->connections = outfit_map_shared(
	    o->workers * sizeof(*o->connections), "the table of connections", error, error_size);
	return o->connections != NULL;
}

static bool map_certificates(struct outfit *o, char *error, size_t error_size)
{
	if (!o->conf->server.acme.directory)
		return true;
	o->certificates = outfit_map_shared(o->conf->listen_count * sizeof(*o->certificates),
	    "the table of certificates", error, error_size);
	return o->certificates != NULL;
}

static bool map_remembered(struct outfit *o, char *error, size_t error_size)
{
	if (!conf_remembers(o->conf))
		return true;
	o->remembered = outfit_map_shared(OBSERVE_REMEMBERED_PAGES * sizeof(*o->remembered),
	    "the lines of remembered pages", error, error_size);
	return o->remembered != NULL;
}

static size_t count_servers(const void *context, size_t origin)
{
	const struct conf *conf = context;
	return conf->origins[origin].server_count;
}

static bool map_series(struct outfit *o, char *error, size_t error_size)
{
	const struct series_sizes sizes = {.listens = o->conf->listen_count,
	    .routes = o->conf->route_count,
	    .origins = o->conf->origin_count,
	    .servers = count_servers,
	    .context = o->conf};
	o->series_bytes = series_init(&o->series, &sizes, o->conf->server.max_series, o->workers);
	o->series_memory = outfit_map_shared(o->series_bytes, "the histograms", error, error_size);
	if (o->series_memory)
		series_attach(&o->series, o->series_memory);
	return o->series_memory != NULL;
}

bool outfit_open(struct outfit *o, struct sockets *sockets, char *error, size_t error_size)
{
	const struct conf_server *server = &o->conf->server;
	if (!identity_find(&o->identity, server->user, error, error_size) ||
	    !sandbox_is_possible(server->sandbox, error, error_size) ||
	    !sockets_borrow(sockets, &o->share, o->conf, o->workers, error, error_size))
		return false;
	o->tables = router_tables_make(o->conf, hash_random_seed());
	o->slots =
	    outfit_map_shared(o->workers * sizeof(*o->slots), "the counters", error, error_size);
	return o->slots && map_series(o, error, error_size) &&
	       map_health_table(o, error, error_size) && map_pages(o, error, error_size) &&
	       map_connections(o, error, error_size) && map_certificates(o, error, error_size) &&
	       map_remembered(o, error, error_size);
}

void outfit_exchange(struct outfit *o, struct conf *conf, const struct router_tables *tables)
{
	struct conf *before = o->conf;
	o->share.conf = o->conf = conf;
	if (o->identity.name == before->server.user)
		o->identity.name = conf->server.user;
	if (tables) {
		router_tables_free(&o->tables);
		o->tables = *tables;
	}
	conf_free(before);
}

bool outfit_take_orders(struct outfit *o, char *error, size_t error_size)
{
	size_t rows = server_orders_rows(o->conf);
	o->orders_bytes = server_orders_bytes(rows, o->workers);
	o->orders_memory =
	    outfit_map_shared(o->orders_bytes, "orders for servers", error, error_size);
	if (o->orders_memory)
		o->orders = server_orders_new(o->orders_memory, rows, o->workers);
	return o->orders != NULL;
}

void outfit_close(struct outfit *o)
{
	sockets_return(&o->share);
	if (o->slots)
		munmap(o->slots, o->workers * sizeof(*o->slots));
	if (o->series_memory)
		munmap(o->series_memory, o->series_bytes);
	series_fini(&o->series);
	if (o->health_table)
		munmap(o->health_table_memory, o->health_table_bytes);
	free(o->health_table);
	if (o->orders)
		munmap(o->orders_memory, o->orders_bytes);
	free(o->orders);
	if (o->certificates)
		munmap(o->certificates, o->conf->listen_count * sizeof(*o->certificates));
	if (o->remembered)
		munmap(o->remembered, OBSERVE_REMEMBERED_PAGES * sizeof(*o->remembered));
	if (o->connections)
		munmap(o->connections, o->workers * sizeof(*o->connections));
	if (o->pages.memory)
		munmap(o->pages.memory, waterfall_bytes(o->pages.workers, o->pages.records));
	limit_memories_close(&o->limits);
	router_tables_free(&o->tables);
	conf_free(o->conf);
	*o = (struct outfit){0};
}
