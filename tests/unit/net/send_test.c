/* SPDX-License-Identifier: MIT */
/*
 * Counts system calls, shortens them and makes them fail: the cost of a loop pass, and what happens
 * when the kernel accepts fewer bytes or none.
 */
#include "tests/unit/net/rig.h"
#include <malloc.h>

/* The replaced calls have no context; one test runs at a time. */
static struct {
	int sends, recvs;
	size_t sent_bytes, received_bytes, largest_recv, largest_send;
	size_t send_most; /* takes at most this */
	int fail_every;   /* EAGAIN on each n-th send or recv */
	int fail_send, fail_recv;
	uint64_t random;
} sys;

static bool is_turned_away(int calls)
{
	return sys.fail_every && calls % sys.fail_every == 0;
}

static ssize_t counted_sendmsg(int fd, const struct msghdr *m, int flags)
{
	assert_true(flags & MSG_NOSIGNAL);
	sys.sends++;
	if (sys.fail_send || is_turned_away(sys.sends)) {
		errno = sys.fail_send ? sys.fail_send : EAGAIN;
		return -1;
	}
	struct iovec cut[NET_OUT_SEGMENTS];
	size_t left = sys.send_most ? 1 + (sys.random = mix(sys.random)) % sys.send_most : SIZE_MAX;
	size_t count = 0;
	for (size_t i = 0; i < m->msg_iovlen && left > 0; i++) {
		cut[i] = m->msg_iov[i];
		if (cut[i].iov_len > left)
			cut[i].iov_len = left;
		left -= cut[i].iov_len;
		count++;
	}
	struct msghdr message = {.msg_iov = cut, .msg_iovlen = count};
	ssize_t n = sendmsg(fd, &message, flags);
	if (n > 0) {
		sys.sent_bytes += (size_t)n;
		if ((size_t)n > sys.largest_send)
			sys.largest_send = (size_t)n;
	}
	return n;
}

static ssize_t counted_send(int fd, const void *buffer, size_t size, int flags)
{
	struct iovec one = {(void *)(uintptr_t)buffer, size};
	struct msghdr message = {.msg_iov = &one, .msg_iovlen = 1};
	return counted_sendmsg(fd, &message, flags);
}

static ssize_t counted_recv(int fd, void *buffer, size_t size, int flags)
{
	sys.recvs++;
	if (sys.fail_recv || is_turned_away(sys.recvs)) {
		errno = sys.fail_recv ? sys.fail_recv : EAGAIN;
		return -1;
	}
	ssize_t n = recv(fd, buffer, size, flags);
	if (n > 0) {
		sys.received_bytes += (size_t)n;
		if (size > sys.largest_recv)
			sys.largest_recv = size;
	}
	return n;
}

static void replace_calls(void)
{
	memset(&sys, 0, sizeof(sys));
	net_sys.send = counted_send;
	net_sys.sendmsg = counted_sendmsg;
	net_sys.recv = counted_recv;
}

static void forty_frames(struct owner *o, struct net_out *out)
{
	uint8_t frame[100];
	if (o->sent)
		return;
	for (int i = 0; i < 40; i++) {
		pattern_write(o->send_seed, o->sent, frame, sizeof(frame));
		net_out_copy(out, frame, sizeof(frame));
		o->sent += sizeof(frame);
	}
}

static void many_small_frames_leave_in_one_send(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	replace_calls();
	p.a.on_fill = forty_frames;
	for (int i = 0; i < 10; i++)
		net_conn_dirty(p.a.conn);
	run_until(&p.rig, p.b.received == 4000);
	assert_false(p.b.is_wrong);
	assert_int_equal(sys.sends, 1);
	assert_int_equal(p.b.deliveries, 1);
	pair_fini(&p);
}

static void many_small_frames_leave_in_one_record_and_one_send(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	/* The session tickets travel with the first bytes. */
	owner_send(&j.server, 0, 1);
	run_until(&j.rig, j.client.received == 1);
	j.client.received = j.server.sent = 0;
	replace_calls();
	j.server.on_fill = forty_frames;
	net_conn_dirty(j.server.conn);
	run_until(&j.rig, j.client.received == 4000);
	assert_false(j.client.is_wrong);
	assert_int_equal(sys.sends, 1);
	assert_int_equal(sys.recvs, 1);
	/* 5 bytes of header, 1 of type, 16 of tag. */
	assert_int_equal(sys.sent_bytes, 4000 + 22);
	joined_fini(&j);
}

static void a_bulk_response_leaves_in_large_sends(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	run_passes(&j.rig, 3);
	replace_calls();
	/* One loop pass without reads of the client: the bytes that the socket accepts of 240 KiB. */
	int size = 1 << 20;
	setsockopt(j.server.conn->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	owner_send(&j.server, 0, 245760);
	j.server.by_copy = true;
	run_until(&j.rig, j.client.received == 245760);
	assert_false(j.client.is_wrong);
	assert_in_range(sys.sends, 3, 16);
	assert_in_range(sys.largest_send, 65536, 131072);
	joined_fini(&j);
}

static void records_are_small_only_at_the_start(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	run_passes(&j.rig, 3);
	replace_calls();
	owner_send(&j.server, 0, 1u << 20);
	run_until(&j.rig, j.client.received == 1u << 20);
	/* 22 bytes for each record: about 50 small and 60 full ones, not 800 small ones. */
	size_t records = (sys.sent_bytes - (1u << 20)) / 22;
	assert_in_range(records, 75, 140);
	joined_fini(&j);
}

static void short_writes_lose_nothing(struct owner *from, struct owner *to)
{
	sys.send_most = 3000;
	sys.fail_every = 3;
	to->receive_seed = 11;
	owner_send(from, 11, 2u << 20);
	run_until(from->rig, to->received == 2u << 20 || from->ended || to->ended);
	assert_false(to->is_wrong);
	assert_int_equal(to->received, 2u << 20);
}

static void plain_bytes_survive_short_writes_and_eagain(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	replace_calls();
	short_writes_lose_nothing(&p.a, &p.b);
	pair_fini(&p);
}

static void tls_bytes_survive_short_writes_and_eagain(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	replace_calls();
	sys.send_most = 100;
	sys.fail_every = 2;
	joined_open(&j, server_tls, client_tls, "localhost");
	short_writes_lose_nothing(&j.client, &j.server);
	joined_fini(&j);
}

static size_t unsent_bytes(const struct net_conn *c)
{
	size_t bytes = 0;
	for (const struct net_unsent *r = c->unsent; r; r = r->next)
		for (uint32_t i = r->first; i < r->count; i++)
			bytes += r->segments[i].length;
	return bytes;
}

static void no_fill_while_blocked_and_one_batch_at_most_is_kept(
    struct owner *from, struct owner *to)
{
	net_conn_pause_reading(to->conn, NET_PAUSE_PEER);
	owner_send(from, 0, 64u << 20);
	run_until(from->rig, net_conn_is_blocked(from->conn));
	run_passes(from->rig, 3);
	int fills = from->fills;
	uint64_t sent = from->sent;
	for (int i = 0; i < 20; i++) {
		net_conn_dirty(from->conn);
		run_passes(from->rig, 1);
	}
	assert_int_equal(from->fills, fills);
	assert_int_equal(from->sent, sent);
	assert_in_range(unsent_bytes(from->conn), 1, NET_BATCH_BYTES + LIMIT_CHUNK_BYTES + 200);
	assert_int_equal(from->conn->batch_bytes, NET_BATCH_LEAST_BYTES);
	net_conn_resume_reading(to->conn, NET_PAUSE_PEER);
	run_until(from->rig, to->received >= sent + (8u << 20));
	assert_false(to->is_wrong);
}

static void a_slow_reader_costs_a_plain_sender_one_batch(void **state)
{
	(void)state;
	struct joined j;
	joined_init_plain(&j);
	no_fill_while_blocked_and_one_batch_at_most_is_kept(&j.server, &j.client);
	joined_fini(&j);
}

static void a_slow_reader_costs_a_tls_sender_one_batch(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	no_fill_while_blocked_and_one_batch_at_most_is_kept(&j.server, &j.client);
	joined_fini(&j);
}

/* Blocks `from`, whose unsent bytes are charged to `budget`. */
static void block(struct owner *from, struct owner *to, struct budget *budget)
{
	net_conn_set_budget(from->conn, budget);
	net_conn_pause_reading(to->conn, NET_PAUSE_PEER);
	owner_send(from, 0, 16u << 20);
	run_until(from->rig, net_conn_is_blocked(from->conn));
	assert_true(budget->used_bytes >= unsent_bytes(from->conn));
	assert_in_range(
	    budget->used_bytes, 1, NET_OUT_SEGMENTS * LIMIT_CHUNK_BYTES + NET_BATCH_BYTES);
}

/* covers: R63 */
static void unsent_bytes_are_charged_until_they_leave(void **state)
{
	(void)state;
	struct budget budget;
	for (int tls = 0; tls < 2; tls++) {
		struct joined j;
		joined_init(&j);
		joined_open(
		    &j, tls ? server_tls : NULL, tls ? client_tls : NULL, tls ? "localhost" : NULL);
		budget_init(&budget, NULL, 1);
		block(&j.server, &j.client, &budget);
		net_conn_resume_reading(j.client.conn, NET_PAUSE_PEER);
		run_until(&j.rig, j.client.received == 16u << 20);
		assert_int_equal(budget.used_bytes, 0);
		assert_false(j.client.is_wrong);
		block(&j.server, &j.client, &budget);
		net_conn_abort(j.server.conn);
		j.server.conn = NULL;
		budget_fini(&budget); /* at once */
		joined_fini(&j);
	}
}

/* covers: R63 */
static void loops_closing_budget_pays_for_closed_connections(void **state)
{
	(void)state;
	struct budget budget, worker;
	struct joined j;
	joined_init_plain(&j);
	budget_init(&budget, NULL, 1);
	budget_init(&worker, NULL, 1);
	net_set_closing_budget(j.rig.loop, &worker);
	block(&j.server, &j.client, &budget);
	size_t used = budget.used_bytes;
	net_conn_close(j.server.conn);
	j.server.conn = NULL;
	budget_fini(&budget);
	assert_int_equal(worker.used_bytes, used);
	net_set_closing_budget(j.rig.loop, NULL); /* the gateway is freed before the connection */
	budget_fini(&worker);
	net_conn_resume_reading(j.client.conn, NET_PAUSE_PEER);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.rig.loop->closing_budget.used_bytes, 0);
	joined_fini(&j);
}

static void blocked_since_and_delivered_bytes_are_known(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	net_conn_pause_reading(p.b.conn, NET_PAUSE_PEER);
	usec before = net_now(p.rig.loop);
	assert_true(net_conn_blocked_since(p.a.conn) == USEC_NEVER);
	assert_int_equal(net_conn_delivered(p.a.conn), 0);
	owner_send(&p.a, 0, 64u << 20);
	run_until(&p.rig, net_conn_is_blocked(p.a.conn));
	usec since = net_conn_blocked_since(p.a.conn);
	assert_in_range(since, before, net_now(p.rig.loop));
	uint64_t delivered = net_conn_delivered(p.a.conn);
	assert_in_range(delivered, 1, (64u << 20) - 1);
	usec later = clock_monotonic() + 5 * USEC_PER_MSEC;
	run_until(&p.rig, net_now(p.rig.loop) >= later);
	assert_true(net_conn_blocked_since(p.a.conn) == since);
	net_conn_resume_reading(p.b.conn, NET_PAUSE_PEER);
	run_until(&p.rig, net_conn_delivered(p.a.conn) > delivered);
	pair_fini(&p);
}

static void received_in_one_pass(struct owner *from, struct owner *to)
{
	net_conn_pause_reading(to->conn, NET_PAUSE_PEER);
	owner_send(from, 0, 64u << 20);
	run_until(from->rig, net_conn_is_blocked(from->conn));
	/* The sender sends nothing during the passes that are measured. */
	net_conn_resume_reading(to->conn, NET_PAUSE_PEER);
	for (int i = 0; i < 4; i++) {
		sys.received_bytes = 0;
		uint64_t before = to->received;
		net_run_once(from->rig->loop, 0);
		assert_in_range(sys.received_bytes, 0, LIMIT_READ_PER_PASS_BYTES);
		assert_in_range(to->received - before, 0, LIMIT_READ_PER_PASS_BYTES + 16384);
	}
	run_until(from->rig, to->received >= 4u << 20);
	assert_false(to->is_wrong);
}

static void a_plain_connection_reads_a_bounded_amount_in_a_pass(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	replace_calls();
	received_in_one_pass(&p.a, &p.b);
	pair_fini(&p);
}

static void a_tls_connection_reads_a_bounded_amount_in_a_pass(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	replace_calls();
	joined_open(&j, server_tls, client_tls, "localhost");
	received_in_one_pass(&j.client, &j.server);
	joined_fini(&j);
}

static void pause_after_each(struct owner *o)
{
	net_conn_pause_reading(o->conn, NET_PAUSE_PEER);
}

/* Records already read from the socket must not be lost when reading pauses between them. */
static void a_tls_connection_may_pause_after_each_delivery(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	j.server.on_received = pause_after_each;
	owner_send(&j.client, 0, 1u << 20);
	uint64_t before = 0;
	usec give_up = clock_monotonic() + 60 * USEC_PER_SEC;
	while (j.server.received < 1u << 20) {
		assert_true(clock_monotonic() < give_up);
		net_run_once(j.rig.loop, USEC_PER_MSEC);
		assert_in_range(j.server.received - before, 0, LIMIT_CHUNK_BYTES);
		before = j.server.received;
		net_conn_resume_reading(j.server.conn, NET_PAUSE_PEER);
	}
	assert_false(j.server.is_wrong);
	joined_fini(&j);
}

static void a_write_error_ends_the_connection(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	replace_calls();
	sys.fail_send = EPIPE;
	owner_send(&p.a, 0, 100000);
	assert_int_equal(p.a.ended, 0);
	run_until(&p.rig, p.a.ended);
	assert_int_equal(p.a.end, NET_END_ERROR);
	assert_string_equal(p.a.text, "write: Broken pipe");
	int fills = p.a.fills;
	net_conn_dirty(p.a.conn);
	run_passes(&p.rig, 3);
	assert_int_equal(p.a.fills, fills);
	assert_int_equal(p.a.ended, 1);
	pair_fini(&p);
}

static void a_write_error_while_blocked_ends_the_connection(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	replace_calls();
	pair_block(&p);
	sys.fail_send = ECONNRESET;
	net_conn_resume_reading(p.b.conn, NET_PAUSE_PEER);
	run_until(&p.rig, p.a.ended);
	assert_string_equal(p.a.text, "write: Connection reset by peer");
	assert_false(net_conn_is_blocked(p.a.conn));
	pair_fini(&p);
}

static void a_read_error_ends_a_tls_connection(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	replace_calls();
	sys.fail_recv = ETIMEDOUT;
	owner_send(&j.client, 0, 10);
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.end, NET_END_ERROR);
	assert_string_equal(j.server.text, "read: Connection timed out");
	joined_fini(&j);
}

static void a_failed_send_while_closing_ends_quietly(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	replace_calls();
	sys.fail_send = EPIPE;
	net_conn_close(j.server.conn);
	j.server.conn = NULL;
	run_until(&j.rig, j.client.ended);
	assert_true(list_is_empty(&j.rig.loop->draining));
	assert_int_equal(j.server.ended, 0);
	joined_fini(&j);
}

static void huge_fill(struct owner *o, struct net_out *out)
{
	if (o->sent)
		return;
	size_t n = 1u << 20;
	uint8_t *all = memory_alloc(n);
	pattern_write(o->send_seed, 0, all, n);
	net_out_copy(out, all, n);
	assert_int_equal(net_out_room(out), 0);
	free(all);
	o->sent = n;
}

static void bytes_beyond_the_room_are_sent_whole(void **state)
{
	(void)state;
	for (int tls = 0; tls < 2; tls++) {
		struct joined j;
		joined_init(&j);
		joined_open(&j, tls ? server_tls : NULL, tls ? client_tls : NULL, "localhost");
		j.server.on_fill = huge_fill;
		net_conn_dirty(j.server.conn);
		run_until(&j.rig, j.client.received == 1u << 20);
		assert_false(j.client.is_wrong);
		assert_int_equal(j.rig.loop->output.capacity, NET_OUTPUT_BYTES);
		joined_fini(&j);
	}
}

/* More pieces than one system call accepts. */
static void four_hundred_pieces(struct owner *o, struct net_out *out)
{
	if (o->sent)
		return;
	for (int i = 0; i < 200; i++) {
		struct chunk *c = chunk_acquire(o->rig->chunks);
		pattern_write(o->send_seed, o->sent, c->data, 2500);
		net_out_piece(out, (struct piece){c, 0, 2048});
		net_out_piece(out, (struct piece){c, 2048, 452});
		chunk_release(c);
		o->sent += 2500;
	}
}

static void pieces_beyond_the_segment_limit_are_copied(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	p.a.on_fill = four_hundred_pieces;
	net_conn_dirty(p.a.conn);
	run_until(&p.rig, p.b.received == 500000);
	assert_false(p.b.is_wrong);
	pair_fini(&p);
}

/* Only without sanitizers, which replace malloc. */
static void an_idle_tls_connection_costs_at_most_seven_kib(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	struct owner owners[64];
	int pairs[64][2];
	size_t before = 0, servers = 0;
	for (int i = 0; i < 40; i++) {
		/* The first ones warm up what the library allocates once. */
		if (i == 8)
			before = mallinfo2().uordblks;
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pairs[i]), 0);
		owner_init(&owners[i], &j.rig);
		owners[i].conn =
		    net_conn_new(j.rig.loop, pairs[i][0], server_tls, &owner_ops, &owners[i]);
		servers++;
		SSL *ssl = SSL_new(client_tls->context);
		SSL_set_fd(ssl, pairs[i][1]);
		SSL_set_connect_state(ssl);
		SSL_set_verify(ssl, SSL_VERIFY_NONE, NULL);
		while (!owners[i].opened) {
			(void)SSL_do_handshake(ssl);
			net_run_once(j.rig.loop, 0);
		}
		SSL_free(ssl);
		/* It has been in use: bytes have left, and the session tickets with them. */
		owner_send(&owners[i], 0, 50000);
		run_until(&j.rig, owners[i].sent == 50000);
		assert_false(net_conn_is_blocked(owners[i].conn));
	}
	size_t each = (mallinfo2().uordblks - before) / 32;
	if (before > 0) {
		print_message("an idle TLS connection: %zu bytes, of them %zu our own\n", each,
		    sizeof(struct net_conn));
		assert_in_range(each, 1, 7168);
	}
	for (size_t i = 0; i < servers; i++) {
		owner_fini(&owners[i]);
		close(pairs[i][1]);
	}
	joined_fini(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(many_small_frames_leave_in_one_send),
	    cmocka_unit_test(many_small_frames_leave_in_one_record_and_one_send),
	    cmocka_unit_test(a_bulk_response_leaves_in_large_sends),
	    cmocka_unit_test(records_are_small_only_at_the_start),
	    cmocka_unit_test(plain_bytes_survive_short_writes_and_eagain),
	    cmocka_unit_test(tls_bytes_survive_short_writes_and_eagain),
	    cmocka_unit_test(a_slow_reader_costs_a_plain_sender_one_batch),
	    cmocka_unit_test(a_slow_reader_costs_a_tls_sender_one_batch),
	    cmocka_unit_test(blocked_since_and_delivered_bytes_are_known),
	    cmocka_unit_test(unsent_bytes_are_charged_until_they_leave),
	    cmocka_unit_test(loops_closing_budget_pays_for_closed_connections),
	    cmocka_unit_test(a_plain_connection_reads_a_bounded_amount_in_a_pass),
	    cmocka_unit_test(a_tls_connection_reads_a_bounded_amount_in_a_pass),
	    cmocka_unit_test(a_tls_connection_may_pause_after_each_delivery),
	    cmocka_unit_test(a_write_error_ends_the_connection),
	    cmocka_unit_test(a_write_error_while_blocked_ends_the_connection),
	    cmocka_unit_test(a_read_error_ends_a_tls_connection),
	    cmocka_unit_test(a_failed_send_while_closing_ends_quietly),
	    cmocka_unit_test(bytes_beyond_the_room_are_sent_whole),
	    cmocka_unit_test(pieces_beyond_the_segment_limit_are_copied),
	    cmocka_unit_test(an_idle_tls_connection_costs_at_most_seven_kib),
	};
	return cmocka_run_group_tests(tests, set_up_tls, tear_down_tls);
}
