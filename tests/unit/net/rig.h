/* SPDX-License-Identifier: MIT */
/*
 * Shared by the tests of net/: a loop, two owners that record their callbacks, a pattern that can be
 * checked at any position, test certificates. A test may replace system calls (tests/support/net_sys.h) until the
 * next rig begins.
 */
#ifndef PUSHGATE_TESTS_NET_RIG_H
#define PUSHGATE_TESTS_NET_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka requires that the four headers above come first. */
#include <cmocka.h>

#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/net/net_conn.h"
#include "tests/support/net_sys.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define RIG static __attribute__((unused))

/* ---- a pattern ---- */

RIG uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

RIG uint8_t pattern_at(uint64_t seed, uint64_t position)
{
	return (uint8_t)(mix(seed + position / 8) >> (position % 8 * 8));
}

RIG void pattern_write(uint64_t seed, uint64_t position, uint8_t *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = pattern_at(seed, position + i);
}

RIG bool pattern_is(uint64_t seed, uint64_t position, const uint8_t *in, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (in[i] != pattern_at(seed, position + i))
			return false;
	return true;
}

/* ---- the loop ---- */

struct rig {
	struct chunk_pool *chunks;
	struct net_loop *loop;
};

RIG void rig_init(struct rig *r)
{
	net_sys_reset();
	r->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 8);
	r->loop = net_loop_new(r->chunks);
}

RIG void rig_fini(struct rig *r)
{
	net_loop_free(r->loop);
	chunk_pool_free(r->chunks);
}

/* Runs loop passes until the value is true; fails the test when it does not become true. */
#define run_until(rig, condition)                                                                  \
	do {                                                                                       \
		usec give_up = clock_monotonic() + 60 * USEC_PER_SEC;                              \
		while (!(condition)) {                                                             \
			assert_true(clock_monotonic() < give_up);                                  \
			net_run_once((rig)->loop, 20 * USEC_PER_MSEC);                             \
		}                                                                                  \
	} while (0)

RIG void run_passes(struct rig *r, int passes)
{
	for (int i = 0; i < passes; i++)
		net_run_once(r->loop, 0);
}

/* ---- owners ---- */

#define QUEUE_PIECES 512u

struct owner {
	struct rig *rig;
	struct net_conn *conn;
	int opened, ended, fills, blocked;
	bool is_filling;
	enum net_end end;
	char text[256];
	/* Received bytes, checked against the pattern of receive_seed. */
	uint64_t receive_seed, received, deliveries;
	bool is_wrong;
	/* Output: `to_send` bytes of the pattern, in random portions. */
	uint64_t send_seed, sent, to_send, random;
	bool by_copy; /* one byte run per portion, always copied */
	/* An echo sends received bytes back. */
	bool echoes, is_paused;
	struct piece queue[QUEUE_PIECES];
	size_t queued, queued_bytes, queued_peak_bytes;
	void (*on_received)(struct owner *o);
	void (*on_fill)(struct owner *o, struct net_out *out);
	void (*on_ended)(struct owner *o);
	void (*on_blocked)(struct owner *o);
};

RIG void owner_opened(void *p)
{
	struct owner *o = p;
	o->opened++;
}

RIG void owner_received(void *p, struct chunk *chunk, size_t offset, size_t length)
{
	struct owner *o = p;
	o->deliveries++;
	assert_true(length > 0 && offset + length <= chunk->capacity);
	if (o->echoes) {
		assert_true(o->queued < QUEUE_PIECES);
		o->queue[o->queued++] =
		    (struct piece){chunk_hold(chunk), (uint32_t)offset, (uint32_t)length};
		o->queued_bytes += length;
		if (o->queued_bytes > o->queued_peak_bytes)
			o->queued_peak_bytes = o->queued_bytes;
		if (o->queued_bytes > 131072 || o->queued > QUEUE_PIECES / 2) {
			o->is_paused = true;
			net_conn_pause_reading(o->conn, NET_PAUSE_PEER);
		}
		net_conn_dirty(o->conn);
	} else if (!pattern_is(o->receive_seed, o->received, chunk->data + offset, length)) {
		o->is_wrong = true;
	}
	o->received += length;
	if (o->on_received)
		o->on_received(o);
}

RIG void owner_fill_echo(struct owner *o, struct net_out *out)
{
	size_t done = 0;
	while (done < o->queued && net_out_room(out) > 0) {
		struct piece *p = &o->queue[done];
		size_t n = net_out_room(out) < p->length ? net_out_room(out) : p->length;
		net_out_piece(out, (struct piece){p->chunk, p->offset, (uint32_t)n});
		o->queued_bytes -= n;
		p->offset += (uint32_t)n;
		p->length -= (uint32_t)n;
		if (p->length > 0)
			break;
		chunk_release(p->chunk);
		done++;
	}
	memmove(o->queue, o->queue + done, (o->queued - done) * sizeof(o->queue[0]));
	o->queued -= done;
	if (o->is_paused && o->queued_bytes < 65536) {
		o->is_paused = false;
		net_conn_resume_reading(o->conn, NET_PAUSE_PEER);
	}
}

RIG void owner_fill_pattern(struct owner *o, struct net_out *out)
{
	while (o->sent < o->to_send && net_out_room(out) > 0) {
		o->random = mix(o->random);
		/* Many small runs, some large ones. */
		size_t most = o->random % 4 == 0 ? LIMIT_CHUNK_BYTES : 300;
		size_t n = 1 + (o->random >> 8) % most;
		if (n > o->to_send - o->sent)
			n = (size_t)(o->to_send - o->sent);
		struct chunk *c = chunk_acquire(o->rig->chunks);
		pattern_write(o->send_seed, o->sent, c->data, n);
		if (o->by_copy || o->random >> 63)
			net_out_copy(out, c->data, n);
		else
			net_out_piece(out, (struct piece){c, 0, (uint32_t)n});
		chunk_release(c);
		o->sent += n;
	}
}

RIG void owner_fill(void *p, struct net_out *out)
{
	struct owner *o = p;
	o->fills++;
	o->is_filling = true;
	if (o->on_fill)
		o->on_fill(o, out);
	else if (o->echoes)
		owner_fill_echo(o, out);
	else
		owner_fill_pattern(o, out);
	o->is_filling = false;
}

RIG void owner_ended(void *p, enum net_end end, const char *text)
{
	struct owner *o = p;
	o->ended++;
	o->end = end;
	snprintf(o->text, sizeof(o->text), "%s", text);
	if (o->on_ended)
		o->on_ended(o);
}

RIG void owner_blocked(void *p)
{
	struct owner *o = p;
	o->blocked++;
	assert_false(o->is_filling);
	assert_true(net_conn_is_blocked(o->conn));
	if (o->on_blocked)
		o->on_blocked(o);
}

static const struct net_conn_ops owner_ops = {
    .opened = owner_opened,
    .received = owner_received,
    .fill = owner_fill,
    .ended = owner_ended,
    .blocked = owner_blocked,
};

RIG void owner_init(struct owner *o, struct rig *r)
{
	memset(o, 0, sizeof(*o));
	o->rig = r;
	o->random = 7;
}

RIG void owner_send(struct owner *o, uint64_t seed, uint64_t bytes)
{
	o->send_seed = seed;
	o->to_send += bytes;
	net_conn_dirty(o->conn);
}

RIG void owner_fini(struct owner *o)
{
	if (o->conn)
		net_conn_abort(o->conn);
	o->conn = NULL;
	for (size_t i = 0; i < o->queued; i++)
		chunk_release(o->queue[i].chunk);
	o->queued = 0;
}

/* ---- a client and a server owner, joined over loopback TCP ---- */

struct joined {
	struct rig rig;
	struct owner client, server;
	struct net_tls *server_tls;
	int listen_fd;
	struct net_listener *listener;
	struct net_address at;
};

RIG void joined_accepted(void *p, int fd, const struct net_address *peer)
{
	struct joined *j = p;
	(void)peer;
	assert_null(j->server.conn);
	j->server.conn = net_conn_new(j->rig.loop, fd, j->server_tls, &owner_ops, &j->server);
}

RIG void joined_init(struct joined *j)
{
	memset(j, 0, sizeof(*j));
	rig_init(&j->rig);
	owner_init(&j->client, &j->rig);
	owner_init(&j->server, &j->rig);
	const char *error = NULL;
	struct net_address any;
	assert_null(net_address_parse(SLICE("127.0.0.1:0"), &any));
	j->listen_fd = net_listen(&any, 16, &error);
	assert_true(j->listen_fd >= 0);
	j->at.length = NET_ADDRESS_BYTES;
	assert_int_equal(getsockname(j->listen_fd, &j->at.any, &j->at.length), 0);
	j->listener = net_listener_new(j->rig.loop, j->listen_fd, joined_accepted, NULL, j);
}

RIG void joined_connect(
    struct joined *j, struct net_tls *server, struct net_tls *client, const char *name)
{
	j->server_tls = server;
	j->client.conn = net_connect(j->rig.loop, &j->at, client, name, &owner_ops, &j->client);
}

/* Waits until both ends are open. */
RIG void joined_open(
    struct joined *j, struct net_tls *server, struct net_tls *client, const char *name)
{
	joined_connect(j, server, client, name);
	run_until(&j->rig, j->client.ended || (j->client.opened && j->server.conn &&
						  net_conn_is_open(j->server.conn)));
	assert_int_equal(j->client.ended, 0);
}

/* A new pair of open ends without TLS. */
RIG void joined_init_plain(struct joined *j)
{
	joined_init(j);
	joined_open(j, NULL, NULL, NULL);
}

/* Closes both ends, so that a new pair can be connected. */
RIG void joined_part(struct joined *j)
{
	owner_fini(&j->client);
	owner_fini(&j->server);
	run_passes(&j->rig, 2);
	owner_init(&j->client, &j->rig);
	owner_init(&j->server, &j->rig);
}

RIG void joined_fini(struct joined *j)
{
	owner_fini(&j->client);
	owner_fini(&j->server);
	net_listener_free(j->listener);
	if (j->listen_fd >= 0)
		close(j->listen_fd);
	rig_fini(&j->rig);
}

/* Two plain connections on a socket pair. */
struct pair {
	struct rig rig;
	struct owner a, b;
};

RIG void pair_init(struct pair *p)
{
	int fd[2];
	rig_init(&p->rig);
	owner_init(&p->a, &p->rig);
	owner_init(&p->b, &p->rig);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	p->a.conn = net_conn_new(p->rig.loop, fd[0], NULL, &owner_ops, &p->a);
	p->b.conn = net_conn_new(p->rig.loop, fd[1], NULL, &owner_ops, &p->b);
}

/* Blocks a: it sends more than b, which does not read, can receive. */
RIG void pair_block(struct pair *p)
{
	net_conn_pause_reading(p->b.conn, NET_PAUSE_PEER);
	owner_send(&p->a, 0, 64u << 20);
	run_until(&p->rig, net_conn_is_blocked(p->a.conn));
}

RIG void pair_fini(struct pair *p)
{
	owner_fini(&p->a);
	owner_fini(&p->b);
	rig_fini(&p->rig);
}

/* ---- certificates ---- */

struct certs {
	char directory[64];
	char ca[96], rsa[96], rsa_key[96], ecdsa[96], ecdsa_key[96];
};

/* names: further arguments for scripts/dev-certs, separated by blanks. */
RIG void certs_init(struct certs *c, const char *names)
{
	char command[512];
	snprintf(c->directory, sizeof(c->directory), "%s", P_tmpdir "/pushgate-net-XXXXXX");
	assert_non_null(mkdtemp(c->directory));
	snprintf(command, sizeof(command), "scripts/dev-certs %s %s", c->directory, names);
	int status = system(command);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	snprintf(c->ca, sizeof(c->ca), "%s/ca.pem", c->directory);
	snprintf(c->rsa, sizeof(c->rsa), "%s/rsa.pem", c->directory);
	snprintf(c->rsa_key, sizeof(c->rsa_key), "%s/rsa.key", c->directory);
	snprintf(c->ecdsa, sizeof(c->ecdsa), "%s/ecdsa.pem", c->directory);
	snprintf(c->ecdsa_key, sizeof(c->ecdsa_key), "%s/ecdsa.key", c->directory);
}

RIG void certs_fini(struct certs *c)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", c->directory);
	assert_int_equal(system(command), 0);
}

RIG struct net_tls *server_with(const struct certs *c, bool rsa, bool ecdsa, const char *alpn,
    const struct net_tickets *tickets)
{
	struct net_certificate list[2];
	size_t count = 0;
	if (rsa)
		list[count++] = (struct net_certificate){c->rsa, c->rsa_key};
	if (ecdsa)
		list[count++] = (struct net_certificate){c->ecdsa, c->ecdsa_key};
	char error[256] = "";
	struct net_tls_server_options o = {
	    .certificates = list, .certificate_count = count, .alpn = alpn, .tickets = tickets};
	struct net_tls *t = net_tls_server_new(&o, error, sizeof(error));
	if (!t)
		fail_msg("%s", error);
	return t;
}

RIG struct net_tls *client_with(const struct certs *c, bool verify, const char *alpn)
{
	char error[256] = "";
	struct net_tls_client_options o = {.ca_file = c->ca, .verify = verify, .alpn = alpn};
	struct net_tls *t = net_tls_client_new(&o, error, sizeof(error));
	if (!t)
		fail_msg("%s", error);
	return t;
}

/* ---- both sides' contexts, for a group of tests ---- */

static __attribute__((unused)) struct certs pair_certs;
static __attribute__((unused)) struct net_tls *server_tls, *client_tls;

RIG int set_up_tls(void **state)
{
	(void)state;
	certs_init(&pair_certs, "");
	server_tls = server_with(&pair_certs, false, true, "h2", NULL);
	client_tls = client_with(&pair_certs, true, "h2");
	return 0;
}

RIG int tear_down_tls(void **state)
{
	(void)state;
	net_tls_free(server_tls);
	net_tls_free(client_tls);
	certs_fini(&pair_certs);
	return 0;
}

/* A new pair of open ends with these contexts. */
RIG void joined_init_tls(struct joined *j)
{
	joined_init(j);
	joined_open(j, server_tls, client_tls, "localhost");
}

#endif
