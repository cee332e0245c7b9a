/* SPDX-License-Identifier: MIT */
/*
 * net_conn_start_tls: TLS that begins on an open connection, as behind the CONNECT of a proxy. The proxy of these tests
 * carries bytes between the client's connection, plain or TLS, and a socket pair, at whose other end TLS is served.
 */
#include "tests/unit/net/rig.h"

/* One direction of the proxy. */
struct carried {
	struct net_conn *from, *to;
	struct piece queue[QUEUE_PIECES];
	size_t count, bytes;
};

struct proxy {
	struct carried up, down;
	bool has_ended;
};

static void carry(struct carried *c, struct chunk *chunk, size_t offset, size_t length)
{
	assert_true(c->count < QUEUE_PIECES);
	c->queue[c->count++] =
	    (struct piece){chunk_hold(chunk), (uint32_t)offset, (uint32_t)length};
	c->bytes += length;
	if (c->bytes > 65536 || c->count > QUEUE_PIECES / 2)
		net_conn_pause_reading(c->from, NET_PAUSE_PEER);
	net_conn_dirty(c->to);
}

static void unload(struct carried *c, struct net_out *out)
{
	size_t done = 0;
	while (done < c->count && net_out_room(out) > 0) {
		net_out_piece(out, c->queue[done]);
		c->bytes -= c->queue[done].length;
		chunk_release(c->queue[done++].chunk);
	}
	memmove(c->queue, c->queue + done, (c->count - done) * sizeof(c->queue[0]));
	c->count -= done;
	if (c->count == 0 && net_conn_is_paused(c->from))
		net_conn_resume_reading(c->from, NET_PAUSE_PEER);
}

static void near_received(void *p, struct chunk *chunk, size_t offset, size_t length)
{
	carry(&((struct proxy *)p)->up, chunk, offset, length);
}

static void near_fill(void *p, struct net_out *out)
{
	unload(&((struct proxy *)p)->down, out);
}

static void far_received(void *p, struct chunk *chunk, size_t offset, size_t length)
{
	carry(&((struct proxy *)p)->down, chunk, offset, length);
}

static void far_fill(void *p, struct net_out *out)
{
	unload(&((struct proxy *)p)->up, out);
}

static void proxy_ended(void *p, enum net_end end, const char *text)
{
	(void)end;
	(void)text;
	((struct proxy *)p)->has_ended = true;
}

static const struct net_conn_ops near_ops = {
    .received = near_received, .fill = near_fill, .ended = proxy_ended};
static const struct net_conn_ops far_ops = {
    .received = far_received, .fill = far_fill, .ended = proxy_ended};

static struct certs certs;

static int set_up(void **state)
{
	(void)state;
	certs_init(&certs, "");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	certs_fini(&certs);
	return 0;
}

/* A client, a proxy and a destination. */
struct tunnel {
	struct joined j; /* its server is the destination; its listener is not used */
	struct proxy proxy;
	struct net_tls *outer_server, *outer_client, *inner_server, *inner_client;
};

static void tunnel_init(struct tunnel *t, bool is_outer_tls)
{
	int far[2];
	memset(t, 0, sizeof(*t));
	joined_init(&t->j);
	struct net_loop *l = t->j.rig.loop;
	t->inner_server = server_with(&certs, true, true, "h2", NULL);
	t->inner_client = client_with(&certs, true, "h2");
	if (is_outer_tls) {
		t->outer_server = server_with(&certs, true, true, "http/1.1", NULL);
		t->outer_client = client_with(&certs, true, "http/1.1");
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, far), 0);
	t->proxy.down.from = t->proxy.up.to = net_conn_new(l, far[0], NULL, &far_ops, &t->proxy);
	t->j.server.conn = net_conn_new(l, far[1], t->inner_server, &owner_ops, &t->j.server);
}

static void near_accepted(void *p, int fd, const struct net_address *peer)
{
	struct tunnel *t = p;
	(void)peer;
	t->proxy.up.from = t->proxy.down.to =
	    net_conn_new(t->j.rig.loop, fd, t->outer_server, &near_ops, &t->proxy);
}

/* Connects the client to the proxy. */
static void tunnel_connect(struct tunnel *t)
{
	net_listener_free(t->j.listener);
	t->j.listener = net_listener_new(t->j.rig.loop, t->j.listen_fd, near_accepted, NULL, t);
	t->j.client.conn = net_connect(t->j.rig.loop, &t->j.at, t->outer_client,
	    t->outer_client ? "localhost" : NULL, &owner_ops, &t->j.client);
	run_until(&t->j.rig, t->j.client.opened == 1 && t->proxy.up.from);
}

static void tunnel_fini(struct tunnel *t)
{
	struct carried *both[] = {&t->proxy.up, &t->proxy.down};
	for (size_t i = 0; i < 2; i++) {
		if (both[i]->from)
			net_conn_abort(both[i]->from);
		for (size_t k = 0; k < both[i]->count; k++)
			chunk_release(both[i]->queue[k].chunk);
	}
	joined_fini(&t->j);
	net_tls_free(t->inner_server);
	net_tls_free(t->inner_client);
	net_tls_free(t->outer_server);
	net_tls_free(t->outer_client);
}

static void tls_begins_in_a_tunnel(bool is_outer_tls)
{
	struct tunnel t;
	tunnel_init(&t, is_outer_tls);
	tunnel_connect(&t);
	struct owner *client = &t.j.client, *server = &t.j.server;
	assert_string_equal(net_conn_tls_version(client->conn), is_outer_tls ? "TLSv1.3" : "");
	net_conn_start_tls(client->conn, t.inner_client, "localhost.");
	net_conn_dirty(client->conn);
	run_until(&t.j.rig, client->opened == 2 && server->opened == 1);
	assert_int_equal(client->ended, 0);
	assert_true(slice_equal(net_conn_alpn(client->conn), SLICE("h2")));
	assert_true(net_conn_is_tls(client->conn));
	assert_true(net_conn_peer_covers(client->conn, SLICE("localhost")));

	const uint64_t bytes = 4u << 20;
	client->receive_seed = 42;
	server->echoes = true;
	owner_send(client, 42, bytes);
	run_until(&t.j.rig, client->received > bytes / 2);
	/* What the library has read already comes without an event of the socket. */
	net_conn_pause_reading(client->conn, NET_PAUSE_MEMORY);
	run_passes(&t.j.rig, 20);
	net_conn_resume_reading(client->conn, NET_PAUSE_MEMORY);
	run_until(&t.j.rig, client->received == bytes || client->ended || server->ended);
	assert_false(client->is_wrong);
	assert_int_equal(client->received, bytes);

	net_conn_close(client->conn);
	client->conn = NULL;
	run_until(&t.j.rig, server->ended);
	assert_int_equal(server->end, NET_END_EOF);
	tunnel_fini(&t);
}

static void tls_begins_on_a_plain_connection(void **state)
{
	(void)state;
	tls_begins_in_a_tunnel(false);
}

static void tls_begins_within_tls(void **state)
{
	(void)state;
	tls_begins_in_a_tunnel(true);
}

static void the_name_of_the_destination_is_verified(void **state)
{
	(void)state;
	for (int is_outer_tls = 0; is_outer_tls < 2; is_outer_tls++) {
		struct tunnel t;
		tunnel_init(&t, is_outer_tls);
		tunnel_connect(&t);
		net_conn_start_tls(t.j.client.conn, t.inner_client, "other.test");
		run_until(&t.j.rig, t.j.client.ended);
		assert_int_equal(t.j.client.end, NET_END_CERTIFICATE);
		assert_int_equal(t.j.client.opened, 1);
		tunnel_fini(&t);
	}
}

/* The proxy goes away: in the handshake, and behind it, where bytes may be missing. */
static void the_end_of_the_outer_connection_is_that_of_the_inner(void **state)
{
	(void)state;
	for (int row = 0; row < 4; row++) {
		bool is_outer_tls = row % 2 == 1, is_open = row >= 2;
		struct tunnel t;
		tunnel_init(&t, is_outer_tls);
		tunnel_connect(&t);
		net_conn_start_tls(t.j.client.conn, t.inner_client, "localhost");
		if (is_open)
			run_until(&t.j.rig, t.j.client.opened == 2);
		net_conn_close(t.proxy.up.from); /* with close_notify of the outer TLS */
		run_until(&t.j.rig, t.j.client.ended);
		if (is_open)
			assert_int_equal(t.j.client.end, NET_END_TRUNCATED);
		else /* a reset, if the proxy has not read all */
			assert_true(
			    t.j.client.end == NET_END_TLS || t.j.client.end == NET_END_ERROR);
		t.proxy.up.from = NULL;
		tunnel_fini(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tls_begins_on_a_plain_connection),
	    cmocka_unit_test(tls_begins_within_tls),
	    cmocka_unit_test(the_name_of_the_destination_is_verified),
	    cmocka_unit_test(the_end_of_the_outer_connection_is_that_of_the_inner),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
