/* SPDX-License-Identifier: MIT */
/* A peer that closes while we still send: what it sent before its reset is read to the end, for an owner that wants it. */
#include "tests/unit/net/rig.h"

#include "tests/support/net_faults.h"

#define ANSWER_BYTES 5000u

static int broken;

static void cannot_send(void *owner, const char *text)
{
	struct owner *o = owner;
	broken++;
	assert_int_equal(o->ended, 0);
	assert_non_null(strstr(text, "write: "));
}

static void abort_when_broken(void *owner, const char *text)
{
	struct owner *o = owner;
	cannot_send(owner, text);
	net_conn_abort(o->conn);
	o->conn = NULL;
}

static const struct net_conn_ops reading_on = {
    .opened = owner_opened,
    .received = owner_received,
    .fill = owner_fill,
    .ended = owner_ended,
    .blocked = owner_blocked,
    .cannot_send = cannot_send,
};

static const struct net_conn_ops aborting = {
    .opened = owner_opened,
    .received = owner_received,
    .fill = owner_fill,
    .ended = owner_ended,
    .cannot_send = abort_when_broken,
};

/* The server has answered and closes with bytes unread, so that its kernel sends RST; with_fin: after its FIN. The
 * client has read nothing yet. */
static void answer_and_reset(struct joined *j, bool with_tls, bool with_fin)
{
	broken = 0;
	joined_init(j);
	joined_open(j, with_tls ? server_tls : NULL, with_tls ? client_tls : NULL, "localhost");
	j->client.conn->ops = &reading_on;
	net_conn_pause_reading(j->server.conn, NET_PAUSE_PEER);
	owner_send(&j->client, 3, 20000);
	run_until(&j->rig, j->client.sent == 20000 && !net_conn_is_blocked(j->client.conn));
	run_passes(&j->rig, 3); /* what a TLS server sends behind its handshake */
	net_conn_pause_reading(j->client.conn, NET_PAUSE_PEER);
	owner_send(&j->server, 0, ANSWER_BYTES);
	run_until(&j->rig, j->server.sent == ANSWER_BYTES);
	if (with_fin)
		net_conn_finish(j->server.conn);
	run_passes(&j->rig, 3);
	net_conn_abort(j->server.conn);
	j->server.conn = NULL;
	run_passes(&j->rig, 1);
}

static void read_all(struct joined *j)
{
	owner_send(&j->client, 3, 100000);
	run_until(&j->rig, broken || j->client.ended);
	assert_int_equal(j->client.ended, 0);
	assert_true(net_conn_is_lost(j->client.conn));
	assert_false(net_conn_is_blocked(j->client.conn));
	net_conn_resume_reading(j->client.conn, NET_PAUSE_PEER);
	int fills = j->client.fills;
	net_conn_dirty(j->client.conn);
	run_until(&j->rig, j->client.ended);
	assert_int_equal(j->client.fills, fills);
	assert_int_equal(broken, 1);
	assert_int_equal(j->client.received, ANSWER_BYTES);
	assert_false(j->client.is_wrong);
}

static void what_came_before_a_reset_is_read_after_a_failed_send(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		answer_and_reset(&j, with_tls, false);
		read_all(&j);
		/* Never an end that could be that of a message. */
		assert_int_equal(j.client.end, with_tls ? NET_END_TRUNCATED : NET_END_ERROR);
		net_conn_close(j.client.conn);
		j.client.conn = NULL;
		joined_fini(&j);
	}
}

static void a_fin_before_the_reset_is_an_end(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		answer_and_reset(&j, with_tls, true);
		read_all(&j);
		assert_int_equal(j.client.end, NET_END_EOF);
		joined_fini(&j);
	}
}

static void blocked_bytes_are_dropped(void **state)
{
	(void)state;
	struct joined j;
	broken = 0;
	joined_init_plain(&j);
	j.client.conn->ops = &reading_on;
	net_conn_pause_reading(j.server.conn, NET_PAUSE_PEER);
	net_conn_pause_reading(j.client.conn, NET_PAUSE_PEER);
	owner_send(&j.client, 3, 64u << 20);
	run_until(&j.rig, net_conn_is_blocked(j.client.conn));
	owner_send(&j.server, 0, ANSWER_BYTES);
	run_until(&j.rig, j.server.sent == ANSWER_BYTES);
	net_conn_abort(j.server.conn);
	j.server.conn = NULL;
	run_until(&j.rig, broken);
	assert_false(net_conn_is_blocked(j.client.conn));
	net_conn_resume_reading(j.client.conn, NET_PAUSE_PEER);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.received, ANSWER_BYTES);
	joined_fini(&j);
}

static void the_owner_may_abort_when_it_cannot_send(void **state)
{
	(void)state;
	struct joined j;
	answer_and_reset(&j, false, false);
	j.client.conn->ops = &aborting;
	owner_send(&j.client, 3, 100000);
	run_until(&j.rig, broken);
	run_passes(&j.rig, 3);
	assert_int_equal(j.client.ended, 0);
	joined_fini(&j);
}

static void without_the_wish_a_failed_send_ends_the_connection(void **state)
{
	(void)state;
	struct joined j;
	answer_and_reset(&j, false, false);
	j.client.conn->ops = &owner_ops;
	owner_send(&j.client, 3, 100000);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_ERROR);
	assert_int_equal(j.client.received, 0);
	joined_fini(&j);
}

/* Errors that say nothing of the peer: it may be silent for ever. */
static void other_errors_end_the_connection(void **state)
{
	(void)state;
	const int errors[] = {ETIMEDOUT, ENOBUFS};
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		struct joined j;
		joined_init_plain(&j);
		net_faults_begin();
		j.client.conn->ops = &reading_on;
		broken = 0;
		net_faults_plan((struct net_fault){
		    .call = NET_CALL_SEND, .error = errors[i], .first = 1, .count = 1});
		owner_send(&j.client, 3, 100);
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.end, NET_END_ERROR);
		assert_int_equal(broken, 0);
		net_sys_reset();
		joined_fini(&j);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_came_before_a_reset_is_read_after_a_failed_send),
	    cmocka_unit_test(a_fin_before_the_reset_is_an_end),
	    cmocka_unit_test(blocked_bytes_are_dropped),
	    cmocka_unit_test(the_owner_may_abort_when_it_cannot_send),
	    cmocka_unit_test(without_the_wish_a_failed_send_ends_the_connection),
	    cmocka_unit_test(other_errors_end_the_connection),
	};
	return cmocka_run_group_tests(tests, set_up_tls, tear_down_tls);
}
