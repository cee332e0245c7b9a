/* SPDX-License-Identifier: MIT */
/* Back-pressure in both directions: reading that is paused for several reasons, and the `blocked` callback. */
#include "tests/unit/net/rig.h"

#include "tests/support/net_faults.h"

/* ---- reading ---- */

static void reading_resumes_after_the_last_pause_reason_ends(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		joined_init(&j);
		joined_open(
		    &j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
		struct net_conn *c = j.server.conn;
		net_conn_pause_reading(c, NET_PAUSE_MEMORY);
		net_conn_pause_reading(c, NET_PAUSE_PEER);
		net_conn_pause_reading(c, NET_PAUSE_PEER);
		owner_send(&j.client, 0, 50000);
		run_until(&j.rig, j.client.sent == 50000);
		run_passes(&j.rig, 3);
		net_conn_resume_reading(c, NET_PAUSE_MEMORY);
		net_conn_resume_reading(c, NET_PAUSE_MEMORY);
		run_passes(&j.rig, 3);
		assert_int_equal(j.server.received, 0);
		net_conn_pause_reading(c, NET_PAUSE_MEMORY);
		net_conn_resume_reading(c, NET_PAUSE_PEER);
		run_passes(&j.rig, 3);
		assert_int_equal(j.server.received, 0);
		net_conn_resume_reading(c, NET_PAUSE_MEMORY);
		run_until(&j.rig, j.server.received == 50000);
		assert_false(j.server.is_wrong);
		joined_fini(&j);
	}
}

static void accepted_held(void *p, int fd, const struct net_address *peer)
{
	struct joined *j = p;
	joined_accepted(p, fd, peer);
	net_conn_pause_reading(j->server.conn, NET_PAUSE_MEMORY);
}

static void reading_may_be_paused_from_the_first_byte(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		joined_init(&j);
		net_listener_free(j.listener);
		j.listener = net_listener_new(j.rig.loop, j.listen_fd, accepted_held, NULL, &j);
		joined_connect(
		    &j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
		net_conn_pause_reading(j.client.conn, NET_PAUSE_MEMORY);
		owner_send(&j.client, 0, 1000);
		run_until(&j.rig,
		    j.client.sent == 1000 && j.server.conn && net_conn_is_open(j.server.conn));
		owner_send(&j.server, 0, 1000);
		run_until(&j.rig, j.server.sent == 1000);
		run_passes(&j.rig, 5);
		assert_int_equal(j.server.received + j.client.received, 0);
		net_conn_resume_reading(j.server.conn, NET_PAUSE_MEMORY);
		net_conn_resume_reading(j.client.conn, NET_PAUSE_MEMORY);
		run_until(&j.rig, j.server.received == 1000 && j.client.received == 1000);
		assert_false(j.server.is_wrong || j.client.is_wrong);
		joined_fini(&j);
	}
}

static void peers_end_is_reported_when_reading_resumes(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	net_conn_pause_reading(p.a.conn, NET_PAUSE_PEER);
	net_conn_finish(p.b.conn);
	run_passes(&p.rig, 4);
	assert_int_equal(p.a.ended, 0);
	net_conn_resume_reading(p.a.conn, NET_PAUSE_PEER);
	run_until(&p.rig, p.a.ended);
	assert_int_equal(p.a.end, NET_END_EOF);
	pair_fini(&p);
}

static void pause_it(struct owner *o)
{
	net_conn_pause_reading(o->conn, NET_PAUSE_PEER);
}

/* Over TLS one read may take the last bytes and the end behind them. */
static void peers_end_behind_the_bytes_that_paused_reading_waits(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		for (int is_cut = 0; is_cut < 2; is_cut++) {
			struct joined j;
			joined_init(&j);
			joined_open(&j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL,
			    "localhost");
			run_passes(&j.rig, 3);
			net_conn_pause_reading(j.server.conn, NET_PAUSE_MEMORY);
			j.server.on_received = pause_it;
			owner_send(&j.client, 0, 1000);
			run_until(&j.rig, j.client.sent == 1000);
			if (is_cut)
				shutdown(j.client.conn->fd, SHUT_WR);
			else
				net_conn_finish(j.client.conn);
			run_passes(&j.rig, 3);
			net_conn_resume_reading(j.server.conn, NET_PAUSE_MEMORY);
			run_until(&j.rig, j.server.received == 1000);
			run_passes(&j.rig, 3);
			assert_int_equal(j.server.ended, 0);
			net_conn_resume_reading(j.server.conn, NET_PAUSE_PEER);
			run_until(&j.rig, j.server.ended);
			assert_int_equal(
			    j.server.end, with_tls && is_cut ? NET_END_TRUNCATED : NET_END_EOF);
			assert_int_equal(j.server.ended, 1);
			joined_fini(&j);
		}
	}
}

/* Not even FIN follows: close_notify has been read, and the socket is silent. */
static void a_close_notify_that_waited_needs_no_event(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	joined_open(&j, server_tls, client_tls, "localhost");
	run_passes(&j.rig, 3);
	net_conn_pause_reading(j.server.conn, NET_PAUSE_MEMORY);
	j.server.on_received = pause_it;
	owner_send(&j.client, 0, 1000);
	run_until(&j.rig, j.client.sent == 1000);
	net_conn_tls_close_notify(j.client.conn);
	run_passes(&j.rig, 3);
	net_conn_resume_reading(j.server.conn, NET_PAUSE_MEMORY);
	run_until(&j.rig, j.server.received == 1000);
	run_passes(&j.rig, 3);
	assert_int_equal(j.server.ended, 0);
	net_conn_resume_reading(j.server.conn, NET_PAUSE_PEER);
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.end, NET_END_EOF);
	joined_fini(&j);
}

/* ---- blocked ---- */

/* A connection whose sends can be made to return EAGAIN. */
static void joined_init_watched(struct joined *j, bool with_tls)
{
	joined_init(j);
	net_faults_begin();
	joined_open(j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
}

static void blocked_is_called_each_time_a_connection_becomes_blocked(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		joined_init_watched(&j, with_tls);
		owner_send(&j.server, 0, 1000);
		run_until(&j.rig, j.client.received == 1000);
		assert_int_equal(j.server.blocked, 0);
		for (int round = 1; round <= 3; round++) {
			/* Two sends take nothing: the first blocks it, the second changes nothing. */
			net_faults_plan(
			    (struct net_fault){NET_CALL_SEND, NET_SIDE_ACCEPTED, EAGAIN, 1, 2});
			owner_send(&j.server, 0, 1000);
			assert_int_equal(j.server.blocked, round - 1);
			run_until(&j.rig, net_conn_is_blocked(j.server.conn));
			assert_int_equal(j.server.blocked, round);
			run_until(&j.rig, j.client.received == 1000u * (unsigned)(round + 1));
			assert_int_equal(net_faults.failed, 2);
			assert_false(net_conn_is_blocked(j.server.conn));
			assert_int_equal(j.server.blocked, round);
		}
		joined_fini(&j);
	}
}

static void tls_answers_may_block_the_connection(void **state)
{
	(void)state;
	struct joined j;
	joined_init_watched(&j, true);
	net_faults_plan((struct net_fault){NET_CALL_SEND, NET_SIDE_ACCEPTED, EAGAIN, 1, 1});
	SSL_send_fatal_alert(j.server.conn->layer.ssl, SSL_AD_INTERNAL_ERROR);
	net_conn_send_output(j.server.conn);
	assert_true(net_conn_is_blocked(j.server.conn));
	assert_int_equal(j.server.blocked, 0);
	/* TLS itself had something to send: `blocked` is called after the read, which waits for no other pass. */
	j.rig.loop->worked_bytes = 0;
	net_conn_readable(j.server.conn);
	assert_int_equal(j.server.blocked, 1);
	assert_int_equal(j.server.fills, 0);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.server.blocked, 1);
	joined_fini(&j);
}

static void close_it(struct owner *o)
{
	net_conn_close(o->conn);
	o->conn = NULL;
}

static void abort_it(struct owner *o)
{
	net_conn_abort(o->conn);
	o->conn = NULL;
}

static void owner_may_close_or_abort_a_blocked_connection(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		struct joined j;
		joined_init_watched(&j, how / 2);
		net_faults_plan((struct net_fault){NET_CALL_SEND, NET_SIDE_ACCEPTED, EAGAIN, 1, 1});
		j.server.on_blocked = how % 2 ? abort_it : close_it;
		owner_send(&j.server, 0, 1000);
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.server.blocked, 1);
		assert_int_equal(j.client.received, how % 2 ? 0 : 1000);
		joined_fini(&j);
	}
}

static void blocked_is_not_called_after_close_or_without_callback(void **state)
{
	(void)state;
	struct net_conn_ops silent = owner_ops;
	silent.blocked = NULL;
	struct joined j;
	joined_init_watched(&j, false);
	j.server.conn->ops = &silent;
	net_faults_plan((struct net_fault){NET_CALL_SEND, NET_SIDE_ACCEPTED, EAGAIN, 1, 1});
	owner_send(&j.server, 0, 1000);
	run_until(&j.rig, j.client.received == 1000);
	assert_int_equal(net_faults.failed, 1);
	j.server.conn->ops = &owner_ops;
	net_faults_plan((struct net_fault){NET_CALL_SEND, NET_SIDE_ACCEPTED, EAGAIN, 1, 1});
	owner_send(&j.server, 0, 1000);
	run_until(&j.rig, j.server.blocked == 1);
	net_conn_close(j.server.conn);
	j.server.conn = NULL;
	net_faults_plan((struct net_fault){NET_CALL_SEND, NET_SIDE_ACCEPTED, EAGAIN, 1, 1});
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.received, 2000);
	assert_int_equal(j.server.blocked, 1);
	joined_fini(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reading_resumes_after_the_last_pause_reason_ends),
	    cmocka_unit_test(reading_may_be_paused_from_the_first_byte),
	    cmocka_unit_test(peers_end_is_reported_when_reading_resumes),
	    cmocka_unit_test(peers_end_behind_the_bytes_that_paused_reading_waits),
	    cmocka_unit_test(a_close_notify_that_waited_needs_no_event),
	    cmocka_unit_test(blocked_is_called_each_time_a_connection_becomes_blocked),
	    cmocka_unit_test(tls_answers_may_block_the_connection),
	    cmocka_unit_test(owner_may_close_or_abort_a_blocked_connection),
	    cmocka_unit_test(blocked_is_not_called_after_close_or_without_callback),
	};
	return cmocka_run_group_tests(tests, set_up_tls, tear_down_tls);
}
