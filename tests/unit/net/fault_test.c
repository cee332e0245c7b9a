/* SPDX-License-Identifier: MIT */
/*
 * Every system call of a connection fails once, at each of its occurrences: while connecting, in the handshake, open,
 * closing. `ended` is called once with the reason, the other end gets no byte twice or wrong, nothing leaks and the
 * loop does not spin.
 */
#include "tests/unit/net/rig.h"

#include "tests/support/net_faults.h"
#include <poll.h>

enum outcome {
	UNHARMED, /* all bytes arrive, nobody is told anything */
	NO_CONNECTION,
	LOST,
};

struct row {
	const char *name;
	enum net_call call;
	enum net_side side;
	int error;
	enum outcome outcome;
	const char *text; /* what the owner is told */
};

// clang-format off
static const struct row rows[] = {
    {"socket",      NET_CALL_SOCKET,      NET_SIDE_CONNECTING, EMFILE,        NO_CONNECTION, "socket: Too many open files"},
    {"socket",      NET_CALL_SOCKET,      NET_SIDE_CONNECTING, ENFILE,        NO_CONNECTION, "socket: Too many open files in system"},
    {"socket",      NET_CALL_SOCKET,      NET_SIDE_CONNECTING, ENOBUFS,       NO_CONNECTION, "socket: No buffer space available"},
    {"socket",      NET_CALL_SOCKET,      NET_SIDE_CONNECTING, ENOMEM,        NO_CONNECTION, "socket: Cannot allocate memory"},
    {"connect",     NET_CALL_CONNECT,     NET_SIDE_CONNECTING, ECONNREFUSED,  NO_CONNECTION, "connect: Connection refused"},
    {"connect",     NET_CALL_CONNECT,     NET_SIDE_CONNECTING, EHOSTUNREACH,  NO_CONNECTION, "connect: No route to host"},
    {"connect",     NET_CALL_CONNECT,     NET_SIDE_CONNECTING, ETIMEDOUT,     NO_CONNECTION, "connect: Connection timed out"},
    {"connect",     NET_CALL_CONNECT,     NET_SIDE_CONNECTING, EADDRNOTAVAIL, NO_CONNECTION, "connect: Cannot assign requested address"},
    {"connect",     NET_CALL_CONNECT,     NET_SIDE_CONNECTING, EAGAIN,        NO_CONNECTION, "connect: Resource temporarily unavailable"},
    {"connect",     NET_CALL_CONNECT,     NET_SIDE_CONNECTING, EINTR,         UNHARMED,      NULL},
    {"SO_ERROR",    NET_CALL_GETSOCKOPT,  NET_SIDE_CONNECTING, ENOBUFS,       NO_CONNECTION, "connect: No buffer space available"},
    {"setsockopt",  NET_CALL_SETSOCKOPT,  NET_SIDE_CONNECTING, ENOPROTOOPT,   UNHARMED,      NULL},
    {"setsockopt",  NET_CALL_SETSOCKOPT,  NET_SIDE_ACCEPTED,   ENOBUFS,       UNHARMED,      NULL},
    {"getpeername", NET_CALL_GETPEERNAME, NET_SIDE_ACCEPTED,   ENOTCONN,      UNHARMED,      NULL},
    {"recv",        NET_CALL_RECV,        NET_SIDE_ACCEPTED,   EAGAIN,        UNHARMED,      NULL},
    {"recv",        NET_CALL_RECV,        NET_SIDE_CONNECTING, EINTR,         UNHARMED,      NULL},
    {"recv",        NET_CALL_RECV,        NET_SIDE_ACCEPTED,   ECONNRESET,    LOST,          "read: Connection reset by peer"},
    {"recv",        NET_CALL_RECV,        NET_SIDE_CONNECTING, ETIMEDOUT,     LOST,          "read: Connection timed out"},
    {"recv",        NET_CALL_RECV,        NET_SIDE_CONNECTING, EHOSTUNREACH,  LOST,          "read: No route to host"},
    {"recv",        NET_CALL_RECV,        NET_SIDE_ACCEPTED,   ENOMEM,        LOST,          "read: Cannot allocate memory"},
    {"send",        NET_CALL_SEND,        NET_SIDE_ACCEPTED,   EAGAIN,        UNHARMED,      NULL},
    {"send",        NET_CALL_SEND,        NET_SIDE_CONNECTING, EINTR,         UNHARMED,      NULL},
    {"send",        NET_CALL_SEND,        NET_SIDE_ACCEPTED,   EPIPE,         LOST,          "write: Broken pipe"},
    {"send",        NET_CALL_SEND,        NET_SIDE_CONNECTING, ECONNRESET,    LOST,          "write: Connection reset by peer"},
    {"send",        NET_CALL_SEND,        NET_SIDE_CONNECTING, ETIMEDOUT,     LOST,          "write: Connection timed out"},
    {"send",        NET_CALL_SEND,        NET_SIDE_ACCEPTED,   ENOBUFS,       LOST,          "write: No buffer space available"},
    {"shutdown",    NET_CALL_SHUTDOWN,    NET_SIDE_ANY,        ENOTCONN,      UNHARMED,      NULL},
    {"close",       NET_CALL_CLOSE,       NET_SIDE_ANY,        EINTR,         UNHARMED,      NULL},
    {"close",       NET_CALL_CLOSE,       NET_SIDE_ANY,        EIO,           UNHARMED,      NULL},
};
// clang-format on

/* ---- a conversation: both ends send, then both close ---- */

#define TALK_BYTES 40000u
#define PASSES_MAX 4000
#define CALLS_MAX 600u

static void close_or_abort(struct owner *o)
{
	struct net_conn *c = o->conn;
	o->conn = NULL;
	if (!c)
		return;
	if (o->random % 2)
		net_conn_close(c);
	else
		net_conn_abort(c);
}

static void talk_accepted(void *p, int fd, const struct net_address *peer)
{
	struct joined *j = p;
	joined_accepted(p, fd, peer);
	owner_send(&j->server, 11, TALK_BYTES);
}

static bool has_all(const struct owner *o)
{
	return o->received == TALK_BYTES;
}

static bool is_over(const struct joined *j)
{
	const struct net_loop *l = j->rig.loop;
	return list_is_empty(&l->live) && list_is_empty(&l->draining) &&
	       list_is_empty(&l->lingering) && list_is_empty(&l->dead);
}

/* Runs a conversation; closes when both ends have received everything, or when `ended` was called. */
static void talk(struct joined *j, bool with_tls, const char *story)
{
	net_listener_free(j->listener);
	j->listener = net_listener_new(j->rig.loop, j->listen_fd, talk_accepted, NULL, j);
	j->server.receive_seed = 10;
	j->client.receive_seed = 11;
	j->server.on_ended = j->client.on_ended = close_or_abort;
	joined_connect(j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
	owner_send(&j->client, 10, TALK_BYTES);
	int passes = 0;
	do {
		net_run_once(j->rig.loop, 20 * USEC_PER_MSEC);
		if (has_all(&j->client) && has_all(&j->server)) {
			j->client.random = 1;
			j->server.random = 1;
			close_or_abort(&j->client);
			close_or_abort(&j->server);
		}
		if (++passes > PASSES_MAX || net_faults_calls() > CALLS_MAX)
			fail_msg("%s: %d passes, %zu calls", story, passes, net_faults_calls());
	} while (!is_over(j));
}

static void check(struct joined *j, const struct row *row, const char *story)
{
	struct owner *hit = row->side == NET_SIDE_ACCEPTED ? &j->server : &j->client;
	struct owner *other = hit == &j->client ? &j->server : &j->client;
	bool was_told = hit->ended > 0 && strcmp(hit->text, row->text ? row->text : "") == 0;
	if (hit->is_wrong || other->is_wrong || hit->ended > 1 || other->ended > 1)
		fail_msg("%s: bytes are wrong, or an end was told twice", story);
	bool is_whole = has_all(hit) && has_all(other) && hit->ended == 0 && other->ended == 0;
	/* What fails when everything has arrived is the closing. */
	if (row->outcome == UNHARMED && !is_whole)
		fail_msg("%s: not unharmed: %s %s", story, hit->text, other->text);
	if (row->outcome != UNHARMED && !is_whole && !was_told)
		fail_msg("%s: the owner was told: %s", story, hit->text);
	if (was_told)
		assert_int_equal(hit->end, row->outcome != NO_CONNECTION ? NET_END_ERROR
					   : row->error == EHOSTUNREACH  ? NET_END_NO_ROUTE
									 : NET_END_CONNECT);
	if (chunk_pool_out(j->rig.chunks) != 1)
		fail_msg("%s: %zu chunks are out", story, chunk_pool_out(j->rig.chunks));
}

/* Returns false when the conversation has no n-th call of this kind. */
static bool fails_at(const struct row *row, size_t n, size_t count, bool with_tls, bool closes)
{
	struct joined j;
	char story[128];
	snprintf(story, sizeof(story), "%s %s%s at %zu%s", with_tls ? "TLS" : "plain", row->name,
	    row->side == NET_SIDE_ACCEPTED ? " (server)" : "", n, count == 1 ? "" : " and after");
	joined_init(&j);
	j.client.random = j.server.random = closes;
	net_faults_begin();
	size_t before = net_faults_open_descriptors();
	net_faults.send_most = 7000; /* so that there are several sends */
	net_faults_plan((struct net_fault){row->call, row->side, row->error, n, count});
	talk(&j, with_tls, story);
	bool has_failed = net_faults.failed > 0;
	check(&j, row, story);
	if (net_faults_open_descriptors() != before)
		fail_msg("%s: descriptors are left open", story);
	joined_fini(&j);
	return has_failed;
}

static bool is_transient(int error)
{
	return error == EAGAIN || error == EINTR;
}

static void fail_each_call(bool with_tls)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = 1;
		while (n < 100 && fails_at(&rows[i], n, 1, with_tls, n % 2))
			n++;
		/* Each row is reached, and left behind. */
		if (n == 1 || n == 100)
			fail_msg("%s failed at %zu places", rows[i].name, n - 1);
		if (!is_transient(rows[i].error))
			fails_at(&rows[i], 1, SIZE_MAX, with_tls, true);
	}
}

static void every_call_of_a_plain_connection_may_fail(void **state)
{
	(void)state;
	fail_each_call(false);
}

static void every_call_of_a_tls_connection_may_fail(void **state)
{
	(void)state;
	fail_each_call(true);
}

/* ---- short writes ---- */

static void pieces_and_copies(struct owner *o, struct net_out *out)
{
	while (o->sent < o->to_send && net_out_room(out) > 0) {
		struct chunk *c = chunk_acquire(o->rig->chunks);
		pattern_write(o->send_seed, o->sent, c->data, 2055);
		net_out_piece(out, (struct piece){c, 0, 2048}); /* by reference */
		net_out_copy(out, c->data + 2048, 7);
		chunk_release(c);
		o->sent += 2055;
	}
}

static void bytes_survive_sends_of_any_size(void **state)
{
	(void)state;
	/* Around the borders of the segments: 2048 and 7. */
	static const size_t sizes[] = {1, 6, 7, 8, 2047, 2048, 2049, 2055, 2056, 4109, 4110, 4111};
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct joined j;
		joined_init(&j);
		bool with_tls = i % 2;
		joined_open(
		    &j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
		net_faults_begin();
		net_faults.send_most = sizes[i / 2];
		/* And one in the middle takes nothing. */
		net_faults_plan(
		    (struct net_fault){NET_CALL_SEND, NET_SIDE_ANY, EAGAIN, 2 + i / 4, 1});
		j.server.on_fill = pieces_and_copies;
		j.client.receive_seed = 5;
		owner_send(&j.server, 5, sizes[i / 2] < 100 ? 2u * 2055 : 20u * 2055);
		run_until(&j.rig, j.client.received >= j.server.to_send);
		assert_false(j.client.is_wrong);
		assert_int_equal(j.client.received, j.server.to_send);
		assert_int_equal(net_faults.failed, 1);
		net_conn_close(j.server.conn);
		j.server.conn = NULL;
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.received, j.server.to_send);
		assert_int_equal(chunk_pool_out(j.rig.chunks), 1);
		joined_fini(&j);
	}
}

/* ---- what never ends ---- */

static void pending_connect_runs_no_loop_passes(void **state)
{
	(void)state;
	struct net_address at;
	int fds[8], connected = 0, hole = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	at.length = NET_ADDRESS_BYTES;
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	assert_int_equal(bind(hole, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(listen(hole, 0), 0);
	assert_int_equal(getsockname(hole, &at.any, &at.length), 0);
	/* Its queue is full: what else comes is not answered. */
	bool is_full = false;
	while (!is_full && connected < 8) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(fd, &at.any, at.length);
		struct pollfd p = {.fd = fd, .events = POLLOUT};
		is_full = poll(&p, 1, 100) == 0;
		fds[connected++] = fd;
	}
	assert_true(is_full);
	struct rig r;
	struct owner o;
	rig_init(&r);
	owner_init(&o, &r);
	net_faults_begin();
	o.conn = net_connect(r.loop, &at, NULL, NULL, &owner_ops, &o);
	net_conn_dirty(o.conn);
	uint64_t passes = r.loop->pass;
	for (int i = 0; i < 5; i++)
		net_run_once(r.loop, 20 * USEC_PER_MSEC);
	assert_in_range(r.loop->pass - passes, 1, 10);
	assert_int_equal(o.opened + o.ended + o.fills, 0);
	assert_int_equal(net_faults_calls(), 3); /* socket, an option, connect */
	owner_fini(&o);
	rig_fini(&r);
	for (int i = 0; i < connected; i++)
		close(fds[i]);
	close(hole);
}

/* ---- after an end ---- */

static void failure_after_ended_is_not_reported_again(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		joined_init(&j);
		joined_open(
		    &j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
		net_faults_begin();
		shutdown(j.client.conn->fd, SHUT_WR);
		run_until(&j.rig, j.server.ended);
		assert_int_equal(j.server.end, with_tls ? NET_END_TRUNCATED : NET_END_EOF);
		net_faults_plan(
		    (struct net_fault){NET_CALL_SEND, NET_SIDE_ANY, EPIPE, 1, SIZE_MAX});
		owner_send(&j.server, 0, 100000);
		run_until(&j.rig, net_faults.failed > 0);
		uint64_t passes = j.rig.loop->pass;
		int fills = j.server.fills;
		net_conn_dirty(j.server.conn);
		for (int i = 0; i < 5; i++)
			net_run_once(j.rig.loop, 5 * USEC_PER_MSEC);
		assert_in_range(j.rig.loop->pass - passes, 1, 10);
		assert_int_equal(j.server.ended, 1);
		assert_int_equal(j.server.fills, fills);
		assert_int_equal(net_faults.failed, 1);
		joined_fini(&j);
	}
}

static void connection_ends_if_its_socket_cannot_be_watched(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	/* As libev does when epoll_ctl has failed (ENOMEM, ENOSPC). */
	ev_io_stop(p.rig.loop->ev, &p.a.conn->io);
	ev_feed_event(p.rig.loop->ev, &p.a.conn->io, EV_ERROR | EV_READ | EV_WRITE);
	run_until(&p.rig, p.a.ended);
	assert_int_equal(p.a.end, NET_END_ERROR);
	assert_string_equal(p.a.text, "the kernel refused to watch the socket");
	run_passes(&p.rig, 3);
	assert_int_equal(p.a.ended, 1);
	pair_fini(&p);
}

/* ---- while closing ---- */

static void copies(struct owner *o, struct net_out *out)
{
	uint8_t bytes[5000];
	while (o->sent < o->to_send && net_out_room(out) > 0) {
		pattern_write(o->send_seed, o->sent, bytes, sizeof(bytes));
		net_out_copy(out, bytes, sizeof(bytes));
		o->sent += sizeof(bytes);
	}
}

static void failure_while_closing_ends_the_connection_at_once(void **state)
{
	(void)state;
	static const struct {
		bool is_blocked; /* bytes are left when it is closed */
		enum net_call call;
		int error;
	} closings[] = {
	    {true, NET_CALL_SEND, EPIPE},
	    {true, NET_CALL_RECV, ECONNRESET},
	    {false, NET_CALL_RECV, ECONNRESET},
	    {false, NET_CALL_SHUTDOWN, ENOTCONN},
	};
	for (size_t i = 0; i < sizeof(closings) / sizeof(closings[0]); i++) {
		struct pair p;
		pair_init(&p);
		const struct net_loop *l = p.rig.loop;
		net_faults_begin();
		net_conn_pause_reading(p.b.conn, NET_PAUSE_PEER);
		if (closings[i].is_blocked) {
			owner_send(&p.a, 0, 64u << 20);
			run_until(&p.rig, net_conn_is_blocked(p.a.conn));
		}
		net_faults_plan((struct net_fault){
		    closings[i].call, NET_SIDE_ANY, closings[i].error, 1, SIZE_MAX});
		net_conn_close(p.a.conn);
		p.a.conn = NULL;
		if (closings[i].call == NET_CALL_RECV) {
			run_passes(&p.rig, 2);
			assert_false(list_is_empty(&l->draining) && list_is_empty(&l->lingering));
			p.b.on_fill = copies;
			owner_send(&p.b, 0, 5000);
		}
		if (closings[i].call == NET_CALL_SEND)
			net_conn_resume_reading(p.b.conn, NET_PAUSE_PEER);
		run_until(&p.rig, net_faults.failed > 0);
		assert_true(list_is_empty(&l->draining) && list_is_empty(&l->lingering));
		assert_int_equal(net_faults.failed, 1);
		assert_int_equal(p.a.ended, 0);
		assert_int_equal(chunk_pool_out(p.rig.chunks), 1);
		pair_fini(&p);
	}
}

/* ---- chunks ---- */

#define ECHO_BYTES 200000u

/*
 * An echo holds each chunk until its bytes were sent back, so that each read needs a new chunk. Refuses `times` chunks
 * in a row, from the n-th on. Returns how many were refused.
 */
static size_t echo_short_of_chunks(size_t n, size_t times, bool with_tls)
{
	struct joined j;
	joined_init(&j);
	net_faults_begin();
	j.server.echoes = true;
	j.client.receive_seed = 10;
	j.client.on_fill = copies;
	joined_connect(&j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
	owner_send(&j.client, 10, ECHO_BYTES);
	chunk_pool_fail_nth(j.rig.chunks, n);
	size_t refused = 0;
	usec give_up = clock_monotonic() + 60 * USEC_PER_SEC;
	while (j.client.received < ECHO_BYTES) {
		net_run_once(j.rig.loop, 20 * USEC_PER_MSEC);
		bool is_refused = chunk_pool_refused(j.rig.chunks) > refused;
		refused = chunk_pool_refused(j.rig.chunks);
		if (is_refused && refused < times)
			chunk_pool_fail_nth(j.rig.chunks, 1);
		assert_true(clock_monotonic() < give_up);
	}
	assert_false(j.client.is_wrong);
	assert_int_equal(j.client.ended + j.server.ended, 0);
	/* While a read waits for a chunk the loop sleeps. */
	assert_in_range(j.rig.loop->pass, 1, 500);
	joined_fini(&j);
	return refused;
}

static void a_refused_chunk_delays_the_read_and_loses_nothing(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		size_t n = 1;
		while (n < 100 && echo_short_of_chunks(n, 1, with_tls) > 0)
			n++;
		assert_in_range(n, 4, 99);
		assert_int_equal(echo_short_of_chunks(1, 5, with_tls), 5);
	}
}

static void connection_waiting_for_a_chunk_may_be_closed_or_paused(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 6; how++) {
		struct joined j;
		joined_init(&j);
		bool with_tls = how % 2;
		joined_open(
		    &j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
		struct chunk *held = chunk_hold(j.rig.loop->read_chunk);
		chunk_pool_fail_nth(j.rig.chunks, 1);
		j.client.on_fill = copies;
		owner_send(&j.client, 0, 100000);
		run_until(&j.rig, j.server.conn->pauses & NET_PAUSE_CHUNK);
		assert_int_equal(j.server.received, 0);
		chunk_release(held);
		if (how < 4) {
			j.server.random = how / 2;
			close_or_abort(&j.server);
			run_until(&j.rig, j.client.ended);
		} else { /* or read on later */
			net_conn_pause_reading(j.server.conn, NET_PAUSE_PEER);
			run_until(&j.rig, !(j.server.conn->pauses & NET_PAUSE_CHUNK));
			run_passes(&j.rig, 3);
			assert_int_equal(j.server.received, 0);
			net_conn_resume_reading(j.server.conn, NET_PAUSE_PEER);
			run_until(&j.rig, j.server.received == 100000);
			assert_false(j.server.is_wrong);
		}
		joined_fini(&j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_call_of_a_plain_connection_may_fail),
	    cmocka_unit_test(every_call_of_a_tls_connection_may_fail),
	    cmocka_unit_test(bytes_survive_sends_of_any_size),
	    cmocka_unit_test(pending_connect_runs_no_loop_passes),
	    cmocka_unit_test(failure_after_ended_is_not_reported_again),
	    cmocka_unit_test(connection_ends_if_its_socket_cannot_be_watched),
	    cmocka_unit_test(failure_while_closing_ends_the_connection_at_once),
	    cmocka_unit_test(a_refused_chunk_delays_the_read_and_loses_nothing),
	    cmocka_unit_test(connection_waiting_for_a_chunk_may_be_closed_or_paused),
	};
	return cmocka_run_group_tests(tests, set_up_tls, tear_down_tls);
}
