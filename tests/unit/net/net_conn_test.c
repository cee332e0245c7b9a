/* SPDX-License-Identifier: MIT */
/* How connections open, end, and are closed or aborted by their owner. */
#include "tests/unit/net/rig.h"
#include <sys/stat.h>
#include <sys/un.h>

static void a_refused_connect_ends_from_the_loop(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	net_listener_free(j.listener);
	j.listener = NULL;
	close(j.listen_fd);
	j.listen_fd = -1;
	joined_connect(&j, NULL, NULL, NULL);
	assert_int_equal(j.client.ended, 0);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_CONNECT);
	assert_string_equal(j.client.text, "connect: Connection refused");
	assert_int_equal(j.client.opened, 0);
	joined_fini(&j);
}

static int connect_error;

static int failing_getsockopt(int fd, int level, int name, void *value, socklen_t *length)
{
	(void)fd;
	(void)level;
	(void)name;
	assert_int_equal(*length, sizeof(connect_error));
	memcpy(value, &connect_error, sizeof(connect_error));
	return 0;
}

static void connect_without_route_ends_with_no_route(void **state)
{
	(void)state;
	static const struct {
		int error;
		enum net_end end;
	} rows[] = {{ENETUNREACH, NET_END_NO_ROUTE}, {EHOSTUNREACH, NET_END_NO_ROUTE},
	    {ENETDOWN, NET_END_NO_ROUTE}, {ECONNREFUSED, NET_END_CONNECT},
	    {ETIMEDOUT, NET_END_CONNECT}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct joined j;
		joined_init(&j);
		connect_error = rows[i].error;
		net_sys.getsockopt = failing_getsockopt;
		joined_connect(&j, NULL, NULL, NULL);
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.end, rows[i].end);
		joined_fini(&j);
	}
}

static void a_socket_that_cannot_be_made_ends_from_the_loop(void **state)
{
	(void)state;
	struct rig r;
	struct owner o;
	rig_init(&r);
	owner_init(&o, &r);
	struct net_address nowhere = {.length = sizeof(struct sockaddr)};
	nowhere.any.sa_family = 0x7f;
	o.conn = net_connect(r.loop, &nowhere, NULL, NULL, &owner_ops, &o);
	assert_int_equal(o.ended, 0);
	run_until(&r, o.ended);
	assert_int_equal(o.end, NET_END_CONNECT);
	owner_fini(&o);
	rig_fini(&r);
}

static struct net_source source_of(const char *ipv4, const char *ipv6)
{
	struct net_source source = {0};
	struct address ip;
	if (ipv4 && address_parse(slice_of_string(ipv4), &ip))
		net_address_set_ip(&source.ipv4, &ip, 0);
	if (ipv6 && address_parse(slice_of_string(ipv6), &ip))
		net_address_set_ip(&source.ipv6, &ip, 0);
	return source;
}

static void a_connection_begins_at_its_source(void **state)
{
	(void)state;
	struct joined j;
	struct net_address peer;
	char text[NET_ADDRESS_TEXT];
	struct net_source source = source_of("127.0.0.2", "2001:db8::1");
	joined_init(&j);
	j.client.conn =
	    net_connect_from(j.rig.loop, &source, &j.at, NULL, NULL, &owner_ops, &j.client);
	run_until(&j.rig, j.client.opened && j.server.conn);
	assert_true(net_conn_peer(j.server.conn, &peer));
	assert_memory_equal(net_address_format(&peer, text, sizeof(text)), "127.0.0.2:", 10);
	assert_int_not_equal(net_address_port(&peer), 0);
	joined_fini(&j);
}

static void a_source_that_cannot_be_used_ends_from_the_loop(void **state)
{
	(void)state;
	const struct net_source sources[] = {
	    source_of("192.0.2.1", NULL), /* no address of this machine */
	    source_of(NULL, "::1"),       /* of another family */
	};
	for (size_t i = 0; i < 2; i++) {
		struct joined j;
		joined_init(&j);
		j.client.conn = net_connect_from(
		    j.rig.loop, &sources[i], &j.at, NULL, NULL, &owner_ops, &j.client);
		assert_int_equal(j.client.ended, 0);
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.end, NET_END_CONNECT);
		assert_string_equal(
		    j.client.text, "source address: Cannot assign requested address");
		joined_fini(&j);
	}
}

static void eof_leaves_the_sending_side_open(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	p.b.receive_seed = 3;
	shutdown(p.b.conn->fd, SHUT_WR);
	run_until(&p.rig, p.a.ended);
	assert_int_equal(p.a.end, NET_END_EOF);
	assert_false(net_conn_is_open(p.a.conn));
	owner_send(&p.a, 3, 100000);
	run_until(&p.rig, p.b.received == 100000);
	assert_false(p.b.is_wrong);
	assert_int_equal(p.a.ended, 1);
	pair_fini(&p);
}

static void close_sends_the_filled_bytes(void **state)
{
	(void)state;
	struct joined j;
	joined_init_plain(&j);
	j.client.receive_seed = 9;
	/* Far more than the sockets hold: the rest is kept and goes on leaving after the close. */
	net_conn_pause_reading(j.client.conn, NET_PAUSE_PEER);
	owner_send(&j.server, 9, 64u << 20);
	run_until(&j.rig, net_conn_is_blocked(j.server.conn));
	uint64_t put_in = j.server.sent;
	net_conn_close(j.server.conn);
	j.server.conn = NULL;
	net_conn_resume_reading(j.client.conn, NET_PAUSE_PEER);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_EOF);
	assert_int_equal(j.client.received, put_in);
	assert_false(j.client.is_wrong);
	assert_int_equal(j.server.ended, 0);
	joined_fini(&j);
}

static void close_lingers_so_that_unread_bytes_cause_no_reset(void **state)
{
	(void)state;
	struct joined j;
	joined_init_plain(&j);
	j.client.receive_seed = 5;
	net_conn_pause_reading(j.server.conn, NET_PAUSE_PEER);
	owner_send(&j.client, 6, 50000);
	owner_send(&j.server, 5, 50000);
	run_until(&j.rig, j.server.sent == 50000 && j.client.sent == 50000);
	net_conn_close(j.server.conn);
	j.server.conn = NULL;
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_EOF);
	assert_int_equal(j.client.received, 50000);
	/* The client's FIN ends the lingering. */
	net_conn_close(j.client.conn);
	j.client.conn = NULL;
	run_until(&j.rig, list_is_empty(&j.rig.loop->lingering));
	joined_fini(&j);
}

static void lingering_ends_after_a_bounded_amount(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	usec since = clock_monotonic();
	net_conn_close(p.a.conn);
	p.a.conn = NULL;
	run_until(&p.rig, p.b.ended);
	assert_false(list_is_empty(&p.rig.loop->lingering));
	owner_send(&p.b, 1, 1u << 30);
	run_until(&p.rig, list_is_empty(&p.rig.loop->lingering));
	assert_in_range(p.b.sent, 0, 16u << 20);
	/* It also ends after a second; a slow machine may not get so far. */
	if (clock_monotonic() - since < USEC_PER_SEC)
		assert_true(p.b.sent >= 4u << 20);
	pair_fini(&p);
}

static void lingering_ends_after_a_second(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	usec start = net_now(p.rig.loop);
	net_conn_close(p.a.conn);
	p.a.conn = NULL;
	run_until(&p.rig, p.b.ended);
	run_until(&p.rig, list_is_empty(&p.rig.loop->lingering));
	assert_true(net_now(p.rig.loop) - start >= USEC_PER_SEC);
	pair_fini(&p);
}

static void a_reset_is_an_error_with_a_reason(void **state)
{
	(void)state;
	struct joined j;
	joined_init_plain(&j);
	struct linger hard = {1, 0};
	setsockopt(j.client.conn->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	net_conn_abort(j.client.conn);
	j.client.conn = NULL;
	run_until(&j.rig, j.server.ended);
	assert_int_equal(j.server.end, NET_END_ERROR);
	assert_string_equal(j.server.text, "read: Connection reset by peer");
	assert_int_equal(j.server.ended, 1);
	joined_fini(&j);
}

/* A FIN would look like the end of the bytes, over TLS as well to peers that overlook a missing close_notify. */
static void reset_is_no_end_for_the_peer(void **state)
{
	(void)state;
	for (int with_tls = 0; with_tls < 2; with_tls++) {
		struct joined j;
		if (with_tls)
			joined_init_tls(&j);
		else
			joined_init_plain(&j);
		owner_send(&j.server, 0, 1000);
		owner_send(&j.client, 0, 10);
		/* With unread bytes the kernel would send the RST by itself. */
		run_until(&j.rig, j.client.received == 1000 && j.server.received == 10);
		net_conn_reset(j.server.conn);
		j.server.conn = NULL;
		run_until(&j.rig, j.client.ended);
		assert_int_equal(j.client.end, NET_END_ERROR);
		joined_fini(&j);
	}
}

static void close_or_abort(struct owner *o)
{
	struct net_conn *c = o->conn;
	o->conn = NULL;
	if (o->random % 2)
		net_conn_abort(c);
	else
		net_conn_close(c);
}

static void owner_may_close_or_abort_in_any_callback(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		struct joined j;
		joined_init_plain(&j);
		j.server.random = how;
		if (how < 2)
			j.server.on_received = close_or_abort;
		else
			j.server.on_ended = close_or_abort;
		owner_send(&j.client, 1, 100);
		run_until(&j.rig, j.client.sent == 100);
		if (how >= 2) {
			net_conn_close(j.client.conn);
			j.client.conn = NULL;
		}
		run_until(&j.rig, j.server.conn == NULL);
		joined_fini(&j);
	}
}

static void fill_and_close(struct owner *o, struct net_out *out)
{
	net_out_copy(out, "last words", 10);
	struct chunk *c = chunk_acquire(o->rig->chunks);
	memset(c->data, 0, 5000);
	net_out_piece(out, (struct piece){c, 0, 5000});
	chunk_release(c);
	close_or_abort(o);
}

static void close_in_fill_sends_that_fill(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	p.a.on_fill = fill_and_close;
	p.a.random = 2;
	net_conn_dirty(p.a.conn);
	run_until(&p.rig, p.b.ended);
	assert_int_equal(p.b.received, 5010);
	assert_int_equal(p.b.end, NET_END_EOF);
	pair_fini(&p);
}

static void abort_in_fill_sends_nothing(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	p.a.on_fill = fill_and_close;
	p.a.random = 1;
	net_conn_dirty(p.a.conn);
	run_until(&p.rig, p.b.ended);
	assert_int_equal(p.b.received, 0);
	pair_fini(&p);
}

static void nothing_is_read_while_reading_is_off(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	p.b.receive_seed = 4;
	net_conn_pause_reading(p.b.conn, NET_PAUSE_PEER);
	owner_send(&p.a, 4, 1000);
	run_passes(&p.rig, 5);
	assert_int_equal(p.b.received, 0);
	net_conn_resume_reading(p.b.conn, NET_PAUSE_PEER);
	run_until(&p.rig, p.b.received == 1000);
	pair_fini(&p);
}

static void connection_dirty_before_it_opens_is_flushed_when_it_opens(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	joined_connect(&j, NULL, NULL, NULL);
	owner_send(&j.client, 0, 500);
	assert_int_equal(j.client.fills, 0);
	run_until(&j.rig, j.server.received == 500);
	assert_false(j.server.is_wrong);
	joined_fini(&j);
}

/* ---- the first bytes ---- */

static ssize_t two_bytes(int fd, const void *bytes, size_t size, int flags)
{
	return send(fd, bytes, size < 2 ? size : 2, flags);
}

static ssize_t no_bytes(int fd, const void *bytes, size_t size, int flags)
{
	(void)fd, (void)bytes, (void)size, (void)flags;
	errno = ECONNRESET;
	return -1;
}

/* Connects with `first` bytes of the pattern, and what the owner sends behind them. */
static void connect_with_first(struct joined *j, size_t first, size_t more)
{
	uint8_t bytes[200];
	joined_init(j);
	joined_connect(j, NULL, NULL, NULL);
	pattern_write(3, 0, bytes, first);
	net_conn_send_first(j->client.conn, bytes, first);
	memset(bytes, 0, sizeof(bytes)); /* they were copied */
	j->client.sent = j->client.to_send = first;
	j->server.receive_seed = 3;
	owner_send(&j->client, 3, more);
}

static void first_bytes_leave_before_all_others_in_any_pieces(void **state)
{
	(void)state;
	for (int is_slow = 0; is_slow < 2; is_slow++) {
		struct joined j;
		connect_with_first(&j, 107, 5000);
		if (is_slow)
			net_sys.send = two_bytes;
		run_until(&j.rig, j.server.received == 5107);
		assert_false(j.server.is_wrong);
		assert_int_equal(j.client.opened, 1);
		assert_int_equal(j.client.ended, 0);
		joined_fini(&j);
	}
}

static void connection_whose_first_bytes_cannot_be_sent_does_not_open(void **state)
{
	(void)state;
	struct joined j;
	connect_with_first(&j, 50, 50);
	net_sys.send = no_bytes;
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_ERROR);
	assert_int_equal(j.client.opened, 0);
	assert_int_equal(j.client.fills, 0);
	joined_fini(&j);
}

/* Nor does one that is refused have them any more. */
static void refused_connection_drops_its_first_bytes(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	struct net_address closed = j.at;
	closed.in.sin_port = htons(1);
	j.client.conn = net_connect(j.rig.loop, &closed, NULL, NULL, &owner_ops, &j.client);
	net_conn_send_first(j.client.conn, "first", 5);
	run_until(&j.rig, j.client.ended);
	assert_int_equal(j.client.end, NET_END_CONNECT);
	assert_false(net_conn_is_blocked(j.client.conn));
	joined_fini(&j);
}

static void unix_sockets_connect_and_a_stale_file_is_replaced(void **state)
{
	(void)state;
	char directory[] = P_tmpdir "/pushgate-net-XXXXXX", text[NET_ADDRESS_TEXT];
	struct joined j;
	joined_init(&j);
	assert_non_null(mkdtemp(directory));
	snprintf(text, sizeof(text), "unix:%s/s", directory);
	const char *error = NULL;
	assert_null(net_address_parse(slice_of_string(text), &j.at));
	int first = net_listen(&j.at, 4, &error);
	assert_true(first >= 0);
	assert_int_equal(net_listen(&j.at, 4, &error), -1);
	assert_string_equal(error, "another process listens there");
	close(first);
	int fd = net_listen(&j.at, 4, &error);
	assert_true(fd >= 0);
	struct net_listener *n = net_listener_new(j.rig.loop, fd, joined_accepted, NULL, &j);
	joined_open(&j, NULL, NULL, NULL);
	owner_send(&j.client, 0, 1000);
	run_until(&j.rig, j.server.received == 1000);
	assert_int_equal(net_conn_rtt_usec(j.client.conn), 0);
	net_listener_free(n);
	close(fd);
	unlink(text + 5);
	rmdir(directory);
	joined_fini(&j);
}

static void listening_does_not_replace_a_plain_file(void **state)
{
	(void)state;
	char directory[] = P_tmpdir "/pushgate-net-XXXXXX", text[NET_ADDRESS_TEXT];
	struct net_address a;
	const char *error = NULL;
	assert_non_null(mkdtemp(directory));
	snprintf(text, sizeof(text), "unix:%s/f", directory);
	fclose(fopen(text + 5, "w"));
	assert_null(net_address_parse(slice_of_string(text), &a));
	assert_int_equal(net_listen(&a, 4, &error), -1);
	assert_string_equal(error, "the path exists and is not a socket");
	assert_int_equal(access(text + 5, F_OK), 0);
	unlink(text + 5);
	rmdir(directory);
}

static void two_sockets_may_listen_on_one_port(void **state)
{
	(void)state;
	struct joined j;
	const char *error = NULL;
	joined_init(&j);
	int second = net_listen(&j.at, 4, &error);
	assert_true(second >= 0);
	close(second);
	joined_fini(&j);
}

static void star_listens_for_ipv4_too(void **state)
{
	(void)state;
	struct joined j;
	const char *error = NULL;
	joined_init(&j);
	struct net_address any, bound = {.length = NET_ADDRESS_BYTES};
	assert_null(net_address_parse(SLICE("*:0"), &any));
	int fd = net_listen(&any, 4, &error);
	assert_true(fd >= 0);
	assert_int_equal(getsockname(fd, &bound.any, &bound.length), 0);
	struct net_listener *n = net_listener_new(j.rig.loop, fd, joined_accepted, NULL, &j);
	/* The port is at the same place in both families. */
	j.at.in.sin_port = bound.in6.sin6_port;
	joined_open(&j, NULL, NULL, NULL);
	struct address ip;
	struct net_address peer;
	assert_true(net_conn_peer(j.server.conn, &peer));
	net_address_ip(&peer, &ip);
	assert_true(ip.family == 4 || bound.any.sa_family == AF_INET);
	net_listener_free(n);
	close(fd);
	joined_fini(&j);
}

static void queries_of_a_plain_connection(void **state)
{
	(void)state;
	struct joined j;
	joined_init_plain(&j);
	char text[NET_ADDRESS_TEXT], expected[NET_ADDRESS_TEXT];
	struct net_address peer;
	assert_true(net_conn_peer(j.client.conn, &peer));
	assert_string_equal(net_address_format(&peer, text, sizeof(text)),
	    net_address_format(&j.at, expected, sizeof(expected)));
	assert_true(net_conn_is_open(j.client.conn));
	assert_false(net_conn_is_tls(j.client.conn));
	assert_false(net_conn_is_blocked(j.client.conn));
	assert_int_equal(net_conn_alpn(j.client.conn).len, 0);
	assert_int_equal(net_conn_sni(j.server.conn).len, 0);
	assert_string_equal(net_conn_tls_version(j.client.conn), "");
	assert_true(net_conn_rtt_usec(j.client.conn) > 0);
	assert_int_equal(j.server.opened, 0);
	joined_fini(&j);
}

static void closed_connection_to_a_peer_that_reads_nothing_ends(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	pair_block(&p);
	net_conn_close(p.a.conn);
	p.a.conn = NULL;
	run_passes(&p.rig, 3);
	assert_false(list_is_empty(&p.rig.loop->draining));
	p.rig.loop->now += 14 * USEC_PER_SEC;
	net_closing_expired(p.rig.loop);
	assert_false(list_is_empty(&p.rig.loop->draining));
	p.rig.loop->now += 2 * USEC_PER_SEC;
	net_closing_expired(p.rig.loop);
	assert_true(list_is_empty(&p.rig.loop->draining));
	pair_fini(&p);
}

static void peer_may_end_while_a_closed_connection_sends(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	pair_block(&p);
	uint64_t put_in = p.a.sent;
	net_conn_close(p.a.conn);
	p.a.conn = NULL;
	shutdown(p.b.conn->fd, SHUT_WR);
	run_passes(&p.rig, 3);
	net_conn_resume_reading(p.b.conn, NET_PAUSE_PEER);
	run_until(&p.rig, p.b.ended);
	assert_int_equal(p.b.received, put_in);
	assert_true(list_is_empty(&p.rig.loop->lingering));
	pair_fini(&p);
}

static void the_loop_may_be_freed_while_connections_drain_and_linger(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	pair_block(&p);
	net_conn_close(p.a.conn);
	net_conn_close(p.b.conn);
	p.a.conn = p.b.conn = NULL;
	run_passes(&p.rig, 1);
	assert_false(list_is_empty(&p.rig.loop->draining));
	pair_fini(&p);
}

static void close_before_open_aborts(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	joined_connect(&j, NULL, NULL, NULL);
	net_conn_dirty(j.client.conn);
	net_conn_close(j.client.conn);
	j.client.conn = NULL;
	run_passes(&j.rig, 3);
	assert_int_equal(j.client.opened + j.client.ended + j.client.fills, 0);
	joined_fini(&j);
}

static void accept_and_stop(void *context, int fd, const struct net_address *peer)
{
	struct joined *j = context;
	(void)peer;
	close(fd);
	net_listener_free(j->listener);
	j->listener = NULL;
}

static void a_listener_may_be_freed_when_it_accepts(void **state)
{
	(void)state;
	struct joined j;
	joined_init(&j);
	net_listener_free(j.listener);
	j.listener = net_listener_new(j.rig.loop, j.listen_fd, accept_and_stop, NULL, &j);
	joined_connect(&j, NULL, NULL, NULL);
	run_until(&j.rig, !j.listener && j.client.ended);
	joined_fini(&j);
}

static void listening_on_a_foreign_address_fails(void **state)
{
	(void)state;
	struct net_address a;
	const char *error = NULL;
	assert_null(net_address_parse(SLICE("192.0.2.1:0"), &a));
	assert_int_equal(net_listen(&a, 4, &error), -1);
	assert_string_equal(error, "Cannot assign requested address");
}

static void tls_answers_behind_a_blocked_send_stay_in_order_and_bounded(void **state)
{
	(void)state;
	struct pair p;
	pair_init(&p);
	pair_block(&p);
	p.a.to_send = p.a.sent; /* nothing more of its own */
	for (int i = 0; i < 20; i++) {
		uint8_t byte = pattern_at(0, p.a.sent++);
		net_buffer_append(&p.rig.loop->output, &byte, 1);
		net_conn_send_output(p.a.conn);
	}
	net_conn_resume_reading(p.b.conn, NET_PAUSE_PEER);
	run_until(&p.rig, p.b.received == p.a.sent);
	assert_false(p.b.is_wrong);
	net_conn_pause_reading(p.b.conn, NET_PAUSE_PEER);
	p.a.to_send += 64u << 20;
	net_conn_dirty(p.a.conn);
	run_until(&p.rig, net_conn_is_blocked(p.a.conn));
	int answers = 0;
	for (; !p.a.ended && answers < 1000; answers++) {
		net_buffer_append(&p.rig.loop->output, "x", 1);
		net_conn_send_output(p.a.conn);
	}
	assert_in_range(answers, 10, 100);
	pair_fini(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_refused_connect_ends_from_the_loop),
	    cmocka_unit_test(connect_without_route_ends_with_no_route),
	    cmocka_unit_test(a_socket_that_cannot_be_made_ends_from_the_loop),
	    cmocka_unit_test(a_connection_begins_at_its_source),
	    cmocka_unit_test(a_source_that_cannot_be_used_ends_from_the_loop),
	    cmocka_unit_test(eof_leaves_the_sending_side_open),
	    cmocka_unit_test(close_sends_the_filled_bytes),
	    cmocka_unit_test(close_lingers_so_that_unread_bytes_cause_no_reset),
	    cmocka_unit_test(lingering_ends_after_a_bounded_amount),
	    cmocka_unit_test(lingering_ends_after_a_second),
	    cmocka_unit_test(a_reset_is_an_error_with_a_reason),
	    cmocka_unit_test(reset_is_no_end_for_the_peer),
	    cmocka_unit_test(owner_may_close_or_abort_in_any_callback),
	    cmocka_unit_test(close_in_fill_sends_that_fill),
	    cmocka_unit_test(abort_in_fill_sends_nothing),
	    cmocka_unit_test(nothing_is_read_while_reading_is_off),
	    cmocka_unit_test(connection_dirty_before_it_opens_is_flushed_when_it_opens),
	    cmocka_unit_test(first_bytes_leave_before_all_others_in_any_pieces),
	    cmocka_unit_test(connection_whose_first_bytes_cannot_be_sent_does_not_open),
	    cmocka_unit_test(refused_connection_drops_its_first_bytes),
	    cmocka_unit_test(unix_sockets_connect_and_a_stale_file_is_replaced),
	    cmocka_unit_test(listening_does_not_replace_a_plain_file),
	    cmocka_unit_test(two_sockets_may_listen_on_one_port),
	    cmocka_unit_test(star_listens_for_ipv4_too),
	    cmocka_unit_test(closed_connection_to_a_peer_that_reads_nothing_ends),
	    cmocka_unit_test(peer_may_end_while_a_closed_connection_sends),
	    cmocka_unit_test(the_loop_may_be_freed_while_connections_drain_and_linger),
	    cmocka_unit_test(close_before_open_aborts),
	    cmocka_unit_test(a_listener_may_be_freed_when_it_accepts),
	    cmocka_unit_test(listening_on_a_foreign_address_fails),
	    cmocka_unit_test(tls_answers_behind_a_blocked_send_stay_in_order_and_bounded),
	    cmocka_unit_test(queries_of_a_plain_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
