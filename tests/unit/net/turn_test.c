/* SPDX-License-Identifier: MIT */
/* Turns: a loop pass that has taken its time leaves the other connections, and what an owner postpones, to the next. */
#include "tests/unit/net/rig.h"

/* What takes longer than a loop pass should. */
static void work_long(struct owner *o)
{
	net_worked(o->rig->loop, 1u << 20);
	usec until = clock_monotonic() + 2 * NET_PASS_USEC;
	while (clock_monotonic() < until)
		;
}

#define PAIRS 5u

static void each_connection_has_a_turn_before_any_has_another(void **state)
{
	(void)state;
	struct rig r;
	struct owner a[PAIRS], b[PAIRS];
	rig_init(&r);
	for (size_t i = 0; i < PAIRS; i++) {
		int fd[2];
		owner_init(&a[i], &r);
		owner_init(&b[i], &r);
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
		a[i].conn = net_conn_new(r.loop, fd[0], NULL, &owner_ops, &a[i]);
		b[i].conn = net_conn_new(r.loop, fd[1], NULL, &owner_ops, &b[i]);
		b[i].on_received = work_long;
		net_conn_pause_reading(b[i].conn, NET_PAUSE_PEER);
		owner_send(&a[i], 0, 200000);
	}
	run_passes(&r, 10);
	for (size_t i = 0; i < PAIRS; i++)
		net_conn_resume_reading(b[i].conn, NET_PAUSE_PEER);
	bool goes_on = true;
	while (goes_on) {
		uint64_t before = 0, after = 0, least = UINT64_MAX, most = 0;
		for (size_t i = 0; i < PAIRS; i++)
			before += b[i].received;
		net_run_once(r.loop, 0);
		goes_on = false;
		for (size_t i = 0; i < PAIRS; i++) {
			after += b[i].received;
			least = b[i].received < least ? b[i].received : least;
			most = b[i].received > most ? b[i].received : most;
			goes_on = goes_on || b[i].received < 200000;
		}
		/* One connection in a pass. */
		assert_true(after - before <= LIMIT_READ_PER_PASS_BYTES);
		assert_true(most - least <= LIMIT_READ_PER_PASS_BYTES);
	}
	for (size_t i = 0; i < PAIRS; i++) {
		assert_false(b[i].is_wrong);
		owner_fini(&a[i]);
		owner_fini(&b[i]);
	}
	rig_fini(&r);
}

/* An owner that looks at PIECE bytes, for long, and postpones the rest. */
#define PIECE 1000u

static int turns;
static uint64_t refusals;

static void receive_in_pieces(void *p, struct chunk *chunk, size_t offset, size_t length)
{
	struct owner *o = p;
	turns++;
	while (length > 0) {
		size_t n = length < PIECE ? length : PIECE;
		owner_received(o, chunk, offset, n);
		work_long(o);
		offset += n;
		length -= n;
		if (!o->conn || (length > 0 && net_conn_postpone(o->conn, chunk, offset, length)))
			return;
		refusals += length > 0;
	}
}

static const struct net_conn_ops piecemeal = {
    .opened = owner_opened,
    .received = receive_in_pieces,
    .fill = owner_fill,
    .ended = owner_ended,
    .blocked = owner_blocked,
};

/* The server of the pair has something to read and gets its first turn: most of it is postponed. */
static void postpone(struct joined *j, bool with_tls, struct budget *budget, uint64_t bytes)
{
	joined_init(j);
	joined_open(j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
	run_passes(&j->rig, 3);
	j->server.conn->ops = &piecemeal;
	net_conn_set_budget(j->server.conn, budget);
	net_conn_pause_reading(j->server.conn, NET_PAUSE_MEMORY);
	owner_send(&j->client, 0, bytes);
	run_until(&j->rig, j->client.sent == bytes);
	run_passes(&j->rig, 3);
	turns = 0;
	refusals = 0;
	net_conn_resume_reading(j->server.conn, NET_PAUSE_MEMORY);
	run_until(&j->rig, turns > 0);
}

static void postponed_bytes_come_first_and_once(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		struct budget budget;
		budget_init(&budget, NULL, SIZE_MAX);
		postpone(&j, with_tls, &budget, 30000);
		assert_int_equal(j.server.received, PIECE);
		assert_non_null(j.server.conn->postponed);
		assert_true(budget.used_bytes > 0);
		net_conn_finish(j.client.conn);
		/* A pass, a turn, a piece; the end behind all of them. */
		while (j.server.received < 30000) {
			uint64_t before = j.server.received;
			assert_int_equal(j.server.ended, 0);
			net_run_once(j.rig.loop, 20 * USEC_PER_MSEC);
			assert_true(j.server.received - before <= PIECE);
		}
		run_until(&j.rig, j.server.ended);
		assert_int_equal(j.server.end, NET_END_EOF);
		assert_false(j.server.is_wrong);
		assert_true(turns >= 30);
		assert_int_equal(refusals, 0);
		assert_int_equal(budget.used_bytes, 0);
		joined_fini(&j);
		budget_fini(&budget);
	}
}

static void others_have_their_turn_before_what_is_postponed(void **state)
{
	(void)state;
	struct joined j;
	struct owner a, b;
	int fd[2];
	postpone(&j, false, NULL, 16000);
	owner_init(&a, &j.rig);
	owner_init(&b, &j.rig);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	a.conn = net_conn_new(j.rig.loop, fd[0], NULL, &owner_ops, &a);
	b.conn = net_conn_new(j.rig.loop, fd[1], NULL, &owner_ops, &b);
	owner_send(&a, 0, 10);
	while (b.received == 0)
		net_run_once(j.rig.loop, 0);
	assert_true(j.server.received <= 5 * PIECE);
	owner_fini(&a);
	owner_fini(&b);
	joined_fini(&j);
}

static void a_pause_holds_for_what_is_postponed(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		postpone(&j, with_tls, NULL, 16000);
		net_conn_pause_reading(j.server.conn, NET_PAUSE_PEER);
		run_passes(&j.rig, 5);
		assert_int_equal(j.server.received, PIECE);
		net_conn_resume_reading(j.server.conn, NET_PAUSE_PEER);
		run_until(&j.rig, j.server.received == 16000);
		assert_false(j.server.is_wrong);
		joined_fini(&j);
	}
}

static void what_is_postponed_is_dropped_with_its_connection(void **state)
{
	(void)state;
	for (int closes = 0; closes < 2; closes++) {
		struct joined j;
		struct budget budget;
		budget_init(&budget, NULL, SIZE_MAX);
		postpone(&j, false, &budget, 16000);
		if (closes)
			net_conn_close(j.server.conn);
		else
			net_conn_abort(j.server.conn);
		j.server.conn = NULL;
		assert_int_equal(budget.used_bytes, 0);
		run_passes(&j.rig, 5);
		assert_int_equal(j.server.received, PIECE);
		joined_fini(&j);
		budget_fini(&budget);
	}
}

static void nothing_is_postponed_that_the_budget_has_no_room_for(void **state)
{
	(void)state;
	struct joined j;
	struct budget budget;
	budget_init(&budget, NULL, 0);
	postpone(&j, false, &budget, 5000);
	run_until(&j.rig, j.server.received == 5000);
	assert_true(refusals > 0);
	assert_false(j.server.is_wrong);
	joined_fini(&j);
	budget_fini(&budget);
}

static void what_is_postponed_waits_for_a_chunk(void **state)
{
	(void)state;
	struct joined j;
	postpone(&j, false, NULL, 5000);
	/* The loop's own chunk is in use, and there is no other. */
	struct chunk *own = chunk_hold(j.rig.loop->read_chunk);
	for (int i = 0; i < 5; i++) {
		chunk_pool_fail_nth(j.rig.chunks, 1);
		net_run_once(j.rig.loop, 0);
	}
	assert_int_equal(j.server.received, PIECE);
	assert_true(chunk_pool_refused(j.rig.chunks) > 0);
	chunk_pool_fail_nth(j.rig.chunks, 0);
	chunk_release(own);
	run_until(&j.rig, j.server.received == 5000);
	assert_false(j.server.is_wrong);
	joined_fini(&j);
}

static void opened_long(void *p)
{
	owner_opened(p);
	work_long(p);
}

static const struct net_conn_ops slow_openers = {
    .opened = opened_long,
    .received = owner_received,
    .fill = owner_fill,
    .ended = owner_ended,
};

static void connects_have_turns_too(void **state)
{
	(void)state;
	struct joined j;
	struct owner clients[PAIRS];
	joined_init(&j);
	net_listener_free(j.listener); /* the kernel's queue has room for all */
	j.listener = NULL;
	for (size_t i = 0; i < PAIRS; i++) {
		owner_init(&clients[i], &j.rig);
		clients[i].conn =
		    net_connect(j.rig.loop, &j.at, NULL, NULL, &slow_openers, &clients[i]);
	}
	for (int before = 0, after = 0; after < (int)PAIRS; before = after) {
		net_run_once(j.rig.loop, 20 * USEC_PER_MSEC);
		after = 0;
		for (size_t i = 0; i < PAIRS; i++)
			after += clients[i].opened;
		assert_true(after <= before + 1);
	}
	for (size_t i = 0; i < PAIRS; i++)
		owner_fini(&clients[i]);
	joined_fini(&j);
}

static void connects_and_handshakes_come_to_their_end_though_others_use_up_every_pass(void **state)
{
	(void)state;
	struct joined j;
	struct owner a, b;
	int fd[2];
	joined_init(&j);
	owner_init(&a, &j.rig);
	owner_init(&b, &j.rig);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	a.conn = net_conn_new(j.rig.loop, fd[0], NULL, &owner_ops, &a);
	b.conn = net_conn_new(j.rig.loop, fd[1], NULL, &owner_ops, &b);
	b.on_received = work_long;
	joined_connect(&j, server_tls, client_tls, "localhost");
	/* The other connection uses up every pass. */
	while (!j.client.opened || !j.server.opened) {
		assert_int_equal(j.client.ended, 0);
		owner_send(&a, 0, 10);
		b.received = 0;
		net_run_once(j.rig.loop, 20 * USEC_PER_MSEC);
	}
	owner_fini(&a);
	owner_fini(&b);
	joined_fini(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_connection_has_a_turn_before_any_has_another),
	    cmocka_unit_test(postponed_bytes_come_first_and_once),
	    cmocka_unit_test(others_have_their_turn_before_what_is_postponed),
	    cmocka_unit_test(a_pause_holds_for_what_is_postponed),
	    cmocka_unit_test(what_is_postponed_is_dropped_with_its_connection),
	    cmocka_unit_test(nothing_is_postponed_that_the_budget_has_no_room_for),
	    cmocka_unit_test(what_is_postponed_waits_for_a_chunk),
	    cmocka_unit_test(connects_have_turns_too),
	    cmocka_unit_test(
		connects_and_handshakes_come_to_their_end_though_others_use_up_every_pass),
	};
	return cmocka_run_group_tests(tests, set_up_tls, tear_down_tls);
}
