/* SPDX-License-Identifier: MIT */
/* Each direction of a connection ends on its own: net_conn_finish ends ours, the peer's end leaves ours open. */
#include "tests/unit/net/rig.h"

#include "tests/support/net_faults.h"

static void joined_init_either(struct joined *j, bool with_tls)
{
	joined_init(j);
	net_faults_begin();
	joined_open(j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
}

static void block(struct owner *from, struct owner *to)
{
	net_conn_pause_reading(to->conn, NET_PAUSE_PEER);
	owner_send(from, from->send_seed, 64u << 20);
	run_until(from->rig, net_conn_is_blocked(from->conn));
}

static void close_now(struct owner *o)
{
	net_conn_close(o->conn);
	o->conn = NULL;
}

/* The other direction still carries bytes, in full. */
static void exchange_other_way(struct owner *from, struct owner *to)
{
	uint64_t before = to->received;
	owner_send(from, from->send_seed, 300000);
	run_until(from->rig, to->received == before + 300000);
	assert_false(to->is_wrong);
}

static void finish_sends_the_filled_bytes_and_goes_on_reading(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		joined_init_either(&j, with_tls);
		block(&j.server, &j.client);
		uint64_t put_in = j.server.sent;
		int fills = j.server.fills;
		net_conn_finish(j.server.conn);
		net_conn_finish(j.server.conn);
		run_passes(&j.rig, 3);
		assert_int_equal(j.client.ended, 0);
		net_conn_resume_reading(j.client.conn, NET_PAUSE_PEER);
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.end, NET_END_EOF);
		assert_int_equal(j.client.received, put_in);
		assert_false(j.client.is_wrong);
		net_conn_dirty(j.server.conn);
		net_conn_finish(j.server.conn);
		exchange_other_way(&j.client, &j.server);
		assert_int_equal(j.server.fills, fills);
		assert_int_equal(j.server.ended, 0);
		net_conn_finish(j.client.conn);
		run_until(&j.rig, j.server.ended);
		assert_int_equal(j.server.end, NET_END_EOF);
		close_now(&j.server);
		close_now(&j.client);
		run_passes(&j.rig, 2);
		/* Both directions have ended: there is nothing to wait for. */
		assert_true(list_is_empty(&j.rig.loop->draining));
		assert_true(list_is_empty(&j.rig.loop->lingering));
		joined_fini(&j);
	}
}

static void last_words_and_finish(struct owner *o, struct net_out *out)
{
	net_out_copy(out, "last words", 10);
	struct chunk *c = chunk_acquire(o->rig->chunks);
	memset(c->data, 0, 5000);
	net_out_piece(out, (struct piece){c, 0, 5000});
	chunk_release(c);
	net_conn_finish(o->conn);
}

static void finish_in_fill_sends_that_fill(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		joined_init_either(&j, with_tls);
		j.server.on_fill = last_words_and_finish;
		net_conn_dirty(j.server.conn);
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.end, NET_END_EOF);
		assert_int_equal(j.client.received, 5010);
		net_conn_dirty(j.server.conn);
		run_passes(&j.rig, 3);
		assert_int_equal(j.server.fills, 1);
		exchange_other_way(&j.client, &j.server);
		joined_fini(&j);
	}
}

static void finish_before_the_connection_opens_takes_effect_when_it_opens(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		joined_init(&j);
		joined_connect(
		    &j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
		net_conn_dirty(j.client.conn);
		net_conn_finish(j.client.conn);
		run_until(&j.rig, j.server.ended);
		assert_int_equal(j.server.end, NET_END_EOF);
		assert_int_equal(j.client.fills, 0);
		exchange_other_way(&j.server, &j.client);
		joined_fini(&j);
	}
}

static void a_finished_connection_may_be_closed_at_any_time(void **state)
{
	(void)state;
	for (int how = 0; how < 6; how++) {
		bool with_tls = how % 2;
		struct joined j;
		joined_init_either(&j, with_tls);
		block(&j.server, &j.client);
		uint64_t put_in = j.server.sent;
		net_conn_finish(j.server.conn);
		if (how / 2 == 0) /* before anything of the finish has left */
			close_now(&j.server);
		net_conn_resume_reading(j.client.conn, NET_PAUSE_PEER);
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.end, NET_END_EOF);
		assert_int_equal(j.client.received, put_in);
		if (how / 2 == 1) { /* after all of it: what the client sends is still discarded */
			close_now(&j.server);
			owner_send(&j.client, 0, 1000);
			run_until(&j.rig, !list_is_empty(&j.rig.loop->lingering));
			close_now(&j.client);
			run_until(&j.rig, list_is_empty(&j.rig.loop->lingering));
		}
		if (how / 2 == 2) {
			net_conn_abort(j.server.conn);
			j.server.conn = NULL;
		}
		assert_int_equal(j.server.ended, 0);
		/* One FIN for each that ended in good order. */
		assert_int_equal(net_faults.calls[NET_CALL_SHUTDOWN], 1);
		joined_fini(&j);
	}
}

/* ---- the peer ends first ---- */

static void bytes_filled_after_the_peers_end_are_sent(void **state)
{
	(void)state;
	for (int how = 0; how < 4; how++) {
		struct joined j;
		joined_init_either(&j, how % 2);
		net_conn_finish(j.client.conn);
		run_until(&j.rig, j.server.ended);
		assert_int_equal(j.server.end, NET_END_EOF);
		exchange_other_way(&j.server, &j.client);
		/* Also what the socket does not take at once, of which there is enough now. */
		block(&j.server, &j.client);
		j.server.to_send = j.server.sent + 300000;
		net_conn_resume_reading(j.client.conn, NET_PAUSE_PEER);
		run_until(&j.rig, j.server.sent == j.server.to_send);
		if (how / 2)
			net_conn_finish(j.server.conn);
		else
			close_now(&j.server);
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.end, NET_END_EOF);
		assert_int_equal(j.client.received, j.server.to_send);
		assert_false(j.client.is_wrong);
		assert_int_equal(j.server.ended, 1);
		joined_fini(&j);
	}
}

static void a_truncated_end_leaves_the_sending_side_open(void **state)
{
	(void)state;
	struct joined j;
	joined_init_tls(&j);
	owner_send(&j.client, 0, 1000);
	run_until(&j.rig, j.server.received == 1000);
	shutdown(j.client.conn->fd, SHUT_WR);
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.end, NET_END_TRUNCATED);
	exchange_other_way(&j.server, &j.client);
	net_conn_finish(j.server.conn);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_EOF);
	joined_fini(&j);
}

/* ---- what goes wrong ---- */

static void a_fin_that_cannot_be_sent_is_a_failure(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		joined_init_either(&j, with_tls);
		net_faults_plan(
		    (struct net_fault){NET_CALL_SHUTDOWN, NET_SIDE_ACCEPTED, ENOTCONN, 1, 1});
		net_conn_finish(j.server.conn);
		assert_int_equal(j.server.ended, 0);
		run_until(&j.rig, j.server.ended);
		assert_int_equal(j.server.end, NET_END_ERROR);
		assert_string_equal(j.server.text, "shutdown: Transport endpoint is not connected");
		net_conn_finish(j.server.conn);
		run_passes(&j.rig, 3);
		assert_int_equal(j.server.ended, 1);
		joined_fini(&j);
	}
}

/* Also not TLS's own answers: the library does not send its answer to a KeyUpdate. */
static void nothing_follows_close_notify(void **state)
{
	(void)state;
	struct joined j;
	joined_init_either(&j, true);
	net_conn_finish(j.server.conn);
	run_until(&j.rig, j.client.ended);
	net_faults_plan((struct net_fault){.side = NET_SIDE_ACCEPTED}); /* counts the server's */
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
		    SSL_key_update(j.client.conn->layer.ssl, SSL_KEY_UPDATE_REQUESTED), 1);
		exchange_other_way(&j.client, &j.server);
	}
	assert_int_equal(net_faults.calls[NET_CALL_SEND], 0);
	assert_int_equal(j.server.ended, 0);
	joined_fini(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finish_sends_the_filled_bytes_and_goes_on_reading),
	    cmocka_unit_test(finish_in_fill_sends_that_fill),
	    cmocka_unit_test(finish_before_the_connection_opens_takes_effect_when_it_opens),
	    cmocka_unit_test(a_finished_connection_may_be_closed_at_any_time),
	    cmocka_unit_test(bytes_filled_after_the_peers_end_are_sent),
	    cmocka_unit_test(a_truncated_end_leaves_the_sending_side_open),
	    cmocka_unit_test(a_fin_that_cannot_be_sent_is_a_failure),
	    cmocka_unit_test(nothing_follows_close_notify),
	};
	return cmocka_run_group_tests(tests, set_up_tls, tear_down_tls);
}
