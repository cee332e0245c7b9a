/* SPDX-License-Identifier: MIT */
/*
 * Opens connections that do nothing: each makes the TLS handshake, exchanges SETTINGS, and stays.
 * Prints a line when all are there, and closes them when its standard input ends.
 *
 *   idle_load [-n connections] [-m handshakes at a time] ADDRESS:PORT
 *
 * Exit status 1 when a connection is lost.
 */
#include "proxy/base/chunk.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/net/net.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"
#define SETTINGS_ACK "\0\0\0\4\1\0\0\0\0"
#define HEADER_BYTES 9
#define SETTINGS_TYPE 4
#define ACK_FLAG 1

struct load {
	struct net_loop *loop;
	struct net_address to;
	struct net_tls *tls;
	struct link *links;
	unsigned connections, started, ready;
	bool is_broken;
};

struct link {
	struct load *load;
	struct net_conn *net;
	/* What the gateway has said: a few frames, which fit. */
	uint8_t in[512];
	size_t in_bytes, frames_end;
	bool has_settings, has_ack, is_greeted, is_acked;
};

static void start_next(struct load *load);

static void fail(struct load *load, const char *text)
{
	fprintf(stderr, "idle_load: %s\n", text);
	load->is_broken = true;
	net_stop(load->loop);
}

static void read_frames(struct link *l)
{
	while (l->in_bytes - l->frames_end >= HEADER_BYTES) {
		const uint8_t *f = l->in + l->frames_end;
		size_t length = (size_t)f[0] << 16 | (size_t)f[1] << 8 | f[2];
		if (l->in_bytes - l->frames_end < HEADER_BYTES + length)
			return;
		l->frames_end += HEADER_BYTES + length;
		if (f[3] == SETTINGS_TYPE && (f[4] & ACK_FLAG))
			l->has_ack = true;
		else if (f[3] == SETTINGS_TYPE)
			l->has_settings = true;
	}
}

static void opened(void *owner)
{
	struct link *l = owner;
	net_conn_dirty(l->net);
}

static void received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct link *l = owner;
	bool was_ready = l->has_settings && l->has_ack;
	if (length > sizeof(l->in) - l->in_bytes) {
		fail(l->load, "the gateway says more than it should to an idle connection");
		return;
	}
	memcpy(l->in + l->in_bytes, chunk->data + offset, length);
	l->in_bytes += length;
	read_frames(l);
	net_conn_dirty(l->net);
	if (was_ready || !l->has_settings || !l->has_ack)
		return;
	l->load->ready++;
	start_next(l->load);
}

static void fill(void *owner, struct net_out *out)
{
	struct link *l = owner;
	if (!l->is_greeted)
		net_out_copy(out, PREFACE SETTINGS, sizeof(PREFACE SETTINGS) - 1);
	l->is_greeted = true;
	if (l->has_settings && !l->is_acked) {
		net_out_copy(out, SETTINGS_ACK, sizeof(SETTINGS_ACK) - 1);
		l->is_acked = true;
	}
}

static void ended(void *owner, enum net_end end, const char *text)
{
	struct link *l = owner;
	(void)end;
	net_conn_abort(l->net);
	l->net = NULL;
	fail(l->load, text ? text : "the gateway closed a connection");
}

static const struct net_conn_ops ops = {
    .opened = opened, .received = received, .fill = fill, .ended = ended};

static void start_next(struct load *load)
{
	if (load->started < load->connections) {
		struct link *l = &load->links[load->started++];
		l->load = load;
		/* A name of its own: a session is resumed by its name, and each handshake shall be whole. */
		char name[32];
		snprintf(name, sizeof(name), "c%u.localhost", load->started);
		l->net = net_connect(load->loop, &load->to, load->tls, name, &ops, l);
	} else if (load->ready == load->connections) {
		printf("%u connections\n", load->ready);
		fflush(stdout);
	}
}

static void input_ended(void *context)
{
	struct load *load = context;
	net_stop(load->loop);
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int main(int argc, char **argv)
{
	struct load load = {.connections = 1000};
	unsigned at_a_time = 32;
	int option;
	while ((option = getopt(argc, argv, "n:m:")) != -1) {
		switch (option) {
		case 'n': load.connections = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'm': at_a_time = (unsigned)strtoul(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	if (argc - optind != 1) {
		fprintf(stderr, "usage: idle_load [-n N] [-m N] ADDRESS:PORT\n");
		return 2;
	}
	const char *bad = net_address_parse(slice_of_string(argv[optind]), &load.to);
	if (bad) {
		fprintf(stderr, "idle_load: %s: %s\n", argv[optind], bad);
		return 2;
	}
	char error[256];
	const struct net_tls_client_options o = {.verify = false, .alpn = "h2"};
	load.tls = net_tls_client_new(&o, error, sizeof(error));
	if (!load.tls) {
		fprintf(stderr, "idle_load: %s\n", error);
		return 2;
	}
	raise_descriptor_limit();
	struct chunk_pool *chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 64);
	load.loop = net_loop_new(chunks);
	load.links = calloc(load.connections, sizeof(*load.links));
	struct net_watch *input = net_watch_new(load.loop, STDIN_FILENO, input_ended, &load);
	for (unsigned i = 0; i < at_a_time && i < load.connections; i++)
		start_next(&load);
	net_run(load.loop);
	net_watch_free(input);
	for (unsigned i = 0; i < load.started; i++)
		if (load.links[i].net)
			net_conn_abort(load.links[i].net);
	net_run_once(load.loop, 0);
	net_loop_free(load.loop);
	free(load.links);
	net_tls_free(load.tls);
	chunk_pool_free(chunks);
	return load.is_broken ? 1 : 0;
}
