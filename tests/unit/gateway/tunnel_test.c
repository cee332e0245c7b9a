/* SPDX-License-Identifier: MIT */
/* Tunnels over HTTP/1.1 connections on both hops: their ends, their number, their connections, a drain. */
#include "tests/support/script_peer.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define UPGRADE(path)                                                                              \
	"GET " path " HTTP/1.1\r\nhost: example.com\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n"
#define OPENING "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n"

struct scene {
	struct gate_world *w;
	struct gate_site *site;
};

static struct scene scene(const char *server, const char *origin, const char *route)
{
	char more[512];
	snprintf(more, sizeof(more),
	    "[origin c]\nserver = http://%%a\n%s\n[route r]\norigin = c\nupgrade = echo websocket\n%s\n", origin, route);
	struct scene s = {.w = gate_world_new(server, NULL, NULL, more)};
	s.site = &s.w->sites[0];
	script_site(s.site);
	return s;
}

static void put(struct script_peer *p, const char *text)
{
	script_put(p, text, strlen(text));
}

struct ends {
	struct script_peer *client, *origin;
};

static struct ends asked(struct scene *s)
{
	size_t n = script_origins(s->site);
	struct ends e = {.client = script_client_mute(s->w, NULL, NULL)};
	put(e.client, UPGRADE("/t"));
	UNTIL(s->w, script_origins(s->site) > n);
	e.origin = script_origin(s->site, n);
	SCRIPT_SEES(e.origin, "upgrade: echo");
	return e;
}

static struct ends opened(struct scene *s)
{
	struct ends e = asked(s);
	put(e.origin, OPENING);
	SCRIPT_SEES(e.client, "101 Switching Protocols");
	return e;
}

static void over(struct scene *s, const struct relay_cause *cause)
{
	UNTIL(s->w, s->w->counters.tunnels_open == 0);
	gate_passes(s->w);
	if (cause)
		assert_int_equal(s->w->counters.causes[relay_cause_index(cause)], 1);
}

/* The two ends as plain sockets, which can end one direction. */
static int origin_fd;

static void adopt(struct gate_site *site, int fd)
{
	(void)site;
	origin_fd = fd;
}

/* Lets the gateway work until `want` has come; "" is the end. */
static void reads(struct scene *s, int fd, const char *want)
{
	char text[4096] = "";
	size_t length = 0;
	struct patience patience = {0};
	for (;;) {
		ssize_t n = recv(fd, text + length, sizeof(text) - length - 1, MSG_DONTWAIT);
		if (n > 0)
			length += (size_t)n;
		text[length] = '\0';
		if (*want ? strstr(text, want) != NULL : n == 0)
			return;
		if (n == 0 || patience_is_over(&patience))
			fail_msg("\"%s\" did not come: \"%s\"", want, text);
		net_run_once(s->w->loop, USEC_PER_MSEC);
	}
}

static void writes(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static int opened_raw(struct scene *s)
{
	s->site->adopt = adopt;
	origin_fd = -1;
	int client = gate_raw(s->w);
	writes(client, UPGRADE("/t"));
	UNTIL(s->w, origin_fd >= 0);
	reads(s, origin_fd, "upgrade: echo");
	writes(origin_fd, OPENING "at once");
	reads(s, client, "at once");
	assert_int_equal(s->w->counters.tunnels_open, 1);
	return client;
}

static void bytes_pass_both_ways_and_each_side_ends_by_itself(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct scene s = scene(NULL, "", "");
		int client = opened_raw(&s), first = i ? client : origin_fd, second = i ? origin_fd : client;
		writes(first, "GET /not-a-request HTTP/1.1\r\n\r\n");
		reads(&s, second, "GET /not-a-request HTTP/1.1\r\n\r\n");
		writes(first, "last words");
		shutdown(first, SHUT_WR);
		reads(&s, second, "last words");
		reads(&s, second, "");
		for (unsigned times = 0; times < 3; times++) {
			writes(second, "still here");
			reads(&s, first, "still here");
		}
		assert_int_equal(s.w->counters.tunnels_open, 1);
		writes(second, "and gone");
		shutdown(second, SHUT_WR);
		reads(&s, first, "and gone");
		reads(&s, first, "");
		over(&s, NULL);
		UNTIL(s.w, s.w->counters.connections_open == 0 && s.w->counters.upstream_connections_open == 0);
		assert_int_equal(s.w->counters.requests_aborted, 0);
		close(client);
		close(origin_fd);
		gate_world_free(s.w);
	}
}

/* The client has ended its direction before the origin answers. */
static void an_end_that_came_early_is_handed_on(void **state)
{
	(void)state;
	struct scene s = scene(NULL, "", "");
	s.site->adopt = adopt;
	origin_fd = -1;
	int client = gate_raw(s.w);
	writes(client, UPGRADE("/t") "early");
	shutdown(client, SHUT_WR);
	UNTIL(s.w, origin_fd >= 0);
	reads(&s, origin_fd, "upgrade: echo");
	gate_passes(s.w);
	assert_int_equal(recv(origin_fd, (char[1]){0}, 1, MSG_DONTWAIT), -1);
	writes(origin_fd, OPENING);
	reads(&s, origin_fd, "early");
	reads(&s, origin_fd, "");
	writes(origin_fd, "answer");
	shutdown(origin_fd, SHUT_WR);
	reads(&s, client, "answer");
	reads(&s, client, "");
	over(&s, NULL);
	close(client);
	close(origin_fd);
	gate_world_free(s.w);
}

/* Also when one side of it has ended in good order before. */
static void a_side_that_breaks_ends_the_other(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct scene s = scene(NULL, "", "");
		struct ends e = opened(&s);
		if (i & 2)
			net_conn_finish((i & 4 ? e.client : e.origin)->net);
		gate_passes(s.w);
		script_abort(i & 1 ? e.client : e.origin);
		UNTIL(s.w, s.w->counters.connections_open == 0 && s.w->counters.upstream_connections_open == 0);
		over(&s, NULL);
		gate_world_free(s.w);
	}
}

static void limits_end_it(void **state)
{
	(void)state;
	static const struct {
		const char *option;
		const struct relay_cause *cause;
		bool is_half, sends;
	} rows[] = {
	    {"tunnel-idle-timeout = 50ms", &relay_cause_TUNNEL_IDLE, false, false},
	    {"tunnel-half-closed-timeout = 50ms", &relay_cause_TUNNEL_HALF, true, false},
	    {"tunnel-age = 50ms", &relay_cause_TUNNEL_AGE, false, false},
	    {"tunnel-bytes = 10", &relay_cause_TUNNEL_BYTES, false, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = scene(NULL, "", rows[i].option);
		int client = opened_raw(&s);
		if (rows[i].is_half)
			shutdown(client, SHUT_WR);
		if (rows[i].sends)
			writes(origin_fd, "one, two, three");
		over(&s, rows[i].cause);
		UNTIL(s.w, s.w->counters.connections_open == 0 && s.w->counters.upstream_connections_open == 0);
		close(client);
		close(origin_fd);
		gate_world_free(s.w);
	}
}

static void tunnels_are_counted_and_more_than_max_tunnels_get_503(void **state)
{
	(void)state;
	struct scene s = scene(NULL, "max-tunnels = 2", "");
	struct ends first = opened(&s);
	asked(&s);
	struct script_peer *third = script_client_mute(s.w, NULL, NULL);
	put(third, UPGRADE("/t"));
	SCRIPT_SEES(third, "503 Service Unavailable");
	assert_int_equal(script_origins(s.site), 2);
	script_abort(first.client);
	over(&s, NULL);
	opened(&s);
	gate_world_free(s.w);
}

/* A pool of their own: max-http1-connections is for requests. */
static void tunnels_take_no_connection_from_requests(void **state)
{
	(void)state;
	struct scene s = scene(NULL, "max-http1-connections = 1", "");
	for (unsigned i = 0; i < 5; i++)
		opened(&s);
	struct gate_peer *client = gate_client(s.w, NULL);
	struct gate_stream *x = gate_get(client, "/page");
	UNTIL(s.w, script_origins(s.site) == 6);
	SCRIPT_SEES(script_origin(s.site, 5), "GET /page");
	put(script_origin(s.site, 5), "HTTP/1.1 204 No Content\r\n\r\n");
	UNTIL(s.w, x->is_over);
	assert_int_equal(x->status, 204);
	assert_int_equal(s.w->counters.tunnels_open, 5);
	gate_world_free(s.w);
}

static void a_refused_tunnel_leaves_no_request_behind(void **state)
{
	(void)state;
	struct scene s = scene(NULL, "", "");
	struct ends e = asked(&s);
	put(e.client, "GET /smuggled HTTP/1.1\r\nhost: example.com\r\n\r\n");
	gate_passes(s.w);
	assert_false(script_saw(e.origin, "smuggled"));
	put(e.origin, "HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno");
	SCRIPT_SEES(e.client, "\r\n\r\nno");
	UNTIL(s.w, e.client->ended);
	assert_true(script_saw(e.client, "connection: close"));
	assert_false(script_saw(e.origin, "smuggled"));
	assert_int_equal(s.w->counters.requests, 1);
	assert_int_equal(s.w->counters.tunnels_refused, 1);
	gate_world_free(s.w);
}

/* An answer in HTTP/1.0 says that the origin takes no body of unknown length. A tunnel has none. */
static void an_answer_of_http10_stops_no_later_tunnel(void **state)
{
	(void)state;
	struct scene s = scene(NULL, "", "");
	struct ends e = asked(&s);
	put(e.origin, "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nno");
	SCRIPT_SEES(e.client, "\r\n\r\nno");
	opened(&s);
	assert_int_equal(s.w->counters.tunnels_open, 1);
	gate_world_free(s.w);
}

static void without_the_option_an_upgrade_is_a_request(void **state)
{
	(void)state;
	struct scene s = scene(NULL, "", "");
	struct script_peer *client = script_client_mute(s.w, NULL, NULL);
	put(client, "GET /x HTTP/1.1\r\nhost: example.com\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n");
	UNTIL(s.w, script_origins(s.site) == 1);
	SCRIPT_SEES(script_origin(s.site, 0), "GET /x HTTP/1.1");
	assert_false(script_saw(script_origin(s.site, 0), "pgrade"));
	gate_world_free(s.w);
}

/* Of several protocols that a client offers, the first that the route has. */
static void the_first_protocol_that_the_route_takes_is_asked_for(void **state)
{
	(void)state;
	struct scene s = scene(NULL, "", "");
	struct script_peer *client = script_client_mute(s.w, NULL, NULL);
	put(client, "GET /x HTTP/1.1\r\nhost: example.com\r\nconnection: upgrade\r\n"
		    "upgrade: other, echo, websocket\r\nsec-websocket-key: " KEY "\r\n\r\n");
	UNTIL(s.w, script_origins(s.site) == 1);
	SCRIPT_SEES(script_origin(s.site, 0), "upgrade: echo\r\n");
	assert_false(script_saw(script_origin(s.site, 0), "sec-websocket-key"));
	gate_world_free(s.w);
}

/* Clients write `WebSocket` too; to an origin of HTTP/2 the name is one of a registry, in lower case. */
static void the_origin_is_asked_for_the_protocol_as_the_route_names_it(void **state)
{
	(void)state;
	struct scene s = scene(NULL, "", "");
	struct script_peer *client = script_client_mute(s.w, NULL, NULL);
	put(client, "GET /x HTTP/1.1\r\nhost: example.com\r\nconnection: upgrade\r\nupgrade: ECHO\r\n\r\n");
	UNTIL(s.w, script_origins(s.site) == 1);
	SCRIPT_SEES(script_origin(s.site, 0), "upgrade: echo\r\n");
	gate_world_free(s.w);
}

static void a_drain_ends_tunnels_at_a_deadline_of_their_own(void **state)
{
	(void)state;
	struct scene s = scene("tunnel-drain-timeout = 100ms", "", "");
	struct ends e = opened(&s);
	struct ends waiting = asked(&s);
	gate_world_drain(s.w, 60 * USEC_PER_SEC);
	put(e.client, "still");
	SCRIPT_SEES(e.origin, "still");
	SCRIPT_SEES(waiting.client, "503 ");
	UNTIL(s.w, e.client->ended && e.origin->ended);
	UNTIL(s.w, s.w->drained == 1);
	gate_world_free(s.w);
}

/* Neither side may fill the gate: what is not taken waits in the sockets. */
static void a_side_that_does_not_read_stops_the_other(void **state)
{
	(void)state;
	for (unsigned from_client = 0; from_client < 2; from_client++) {
		struct scene s = scene(NULL, "", "");
		struct ends e = opened(&s);
		struct script_peer *source = from_client ? e.client : e.origin, *sink = from_client ? e.origin : e.client;
		static char block[65536];
		size_t sent = 0, came = sink->came;
		sink->forgets = true;
		net_conn_pause_reading(sink->net, NET_PAUSE_MEMORY);
		memset(block, 'x', sizeof(block));
		for (unsigned i = 0; i < 256; i++, sent += sizeof(block))
			script_put(source, block, sizeof(block));
		for (unsigned i = 0; i < 20; i++)
			gate_passes(s.w);
		assert_true(s.w->budget.used_bytes < 4u << 20);
		net_conn_resume_reading(sink->net, NET_PAUSE_MEMORY);
		UNTIL(s.w, sink->came - came == sent);
		gate_world_free(s.w);
	}
}

/* One direction stands still because its sink does not read: the other one goes on all the same. */
static void a_direction_that_stands_still_does_not_stop_the_other(void **state)
{
	(void)state;
	for (unsigned to_client = 0; to_client < 2; to_client++) {
		struct scene s = scene(NULL, "", "");
		struct ends e = opened(&s);
		struct script_peer *reader = to_client ? e.client : e.origin, *stuck = to_client ? e.origin : e.client;
		static char block[65536];
		size_t sent = 0, came = reader->came;
		reader->forgets = stuck->forgets = true;
		net_conn_pause_reading(reader->net, NET_PAUSE_MEMORY);
		net_conn_pause_reading(stuck->net, NET_PAUSE_MEMORY);
		memset(block, 'x', sizeof(block));
		for (unsigned i = 0; i < 256; i++, sent += sizeof(block)) {
			script_put(reader, block, sizeof(block));
			script_put(stuck, block, sizeof(block));
		}
		for (unsigned i = 0; i < 20; i++)
			gate_passes(s.w);
		net_conn_resume_reading(reader->net, NET_PAUSE_MEMORY);
		UNTIL(s.w, reader->came - came == sent);
		gate_world_free(s.w);
	}
}

static void writes_all(struct scene *s, int fd, const char *bytes, size_t length)
{
	size_t at = 0;
	struct patience patience = {0};
	while (at < length && !patience_is_over(&patience)) {
		ssize_t n = send(fd, bytes + at, length - at, MSG_DONTWAIT | MSG_NOSIGNAL);
		at += n > 0 ? (size_t)n : 0;
		net_run_once(s->w->loop, USEC_PER_MSEC);
	}
	assert_int_equal(at, length);
}

/* The origin ends its side before it has read what the client sent, whose side has ended too: that still arrives. */
static void what_has_not_left_at_the_end_still_arrives(void **state)
{
	(void)state;
	static char bytes[1 << 20], got[65536];
	for (size_t length = 131072; length <= sizeof(bytes); length *= 2) {
		struct scene s = scene(NULL, "", "");
		int client = opened_raw(&s);
		writes_all(&s, client, bytes, length);
		shutdown(client, SHUT_WR);
		for (unsigned i = 0; i < 5; i++)
			gate_passes(s.w);
		writes(origin_fd, "and gone");
		shutdown(origin_fd, SHUT_WR);
		reads(&s, client, "and gone");
		reads(&s, client, "");
		for (unsigned i = 0; i < 5; i++)
			gate_passes(s.w);
		size_t came = 0;
		ssize_t n = 0;
		struct patience patience = {0};
		while ((n = recv(origin_fd, got, sizeof(got), MSG_DONTWAIT)) != 0 && !patience_is_over(&patience)) {
			if (n < 0 && errno != EAGAIN)
				break;
			came += n > 0 ? (size_t)n : 0;
			net_run_once(s.w->loop, USEC_PER_MSEC);
		}
		assert_int_equal(n, 0);
		assert_int_equal(came, length);
		over(&s, NULL);
		UNTIL(s.w, s.w->counters.connections_open == 0 && s.w->counters.upstream_connections_open == 0);
		close(client);
		close(origin_fd);
		gate_world_free(s.w);
	}
}

/* net/ reports nothing more of a side that has ended, but what is sent there may be refused. */
static void a_side_that_ends_and_then_closes_ends_the_tunnel(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct scene s = scene(NULL, "write-timeout = 60s", "");
		int client = opened_raw(&s), closed = i ? client : origin_fd, other = i ? origin_fd : client;
		shutdown(closed, SHUT_WR);
		reads(&s, other, "");
		close(closed);
		struct patience patience = {0};
		while (s.w->counters.tunnels_open > 0 && !patience_is_over(&patience)) {
			(void)send(other, "and more", 8, MSG_DONTWAIT | MSG_NOSIGNAL);
			net_run_once(s.w->loop, USEC_PER_MSEC);
		}
		over(&s, NULL);
		UNTIL(s.w, s.w->counters.connections_open == 0 && s.w->counters.upstream_connections_open == 0);
		close(other);
		gate_world_free(s.w);
	}
}

/* One side has ended; what the other one sends is taken slowly. */
static void what_comes_behind_the_first_end_is_held_back(void **state)
{
	(void)state;
	static char block[65536];
	for (unsigned i = 0; i < 2; i++) {
		struct scene s = scene(NULL, "", "");
		int client = opened_raw(&s), from = i ? client : origin_fd, to = i ? origin_fd : client;
		shutdown(to, SHUT_WR);
		reads(&s, from, "");
		size_t sent = 0, came = 0;
		ssize_t n = 0;
		for (unsigned idle = 0; idle < 20; idle++) {
			while ((n = send(from, block, sizeof(block), MSG_DONTWAIT)) > 0) {
				sent += (size_t)n;
				idle = 0;
			}
			gate_passes(s.w);
		}
		assert_true(s.w->budget.used_bytes < 4u << 20);
		shutdown(from, SHUT_WR);
		struct patience patience = {0};
		while ((n = recv(to, block, sizeof(block), MSG_DONTWAIT)) != 0 && !patience_is_over(&patience)) {
			came += n > 0 ? (size_t)n : 0;
			net_run_once(s.w->loop, USEC_PER_MSEC);
		}
		assert_int_equal(n, 0);
		assert_int_equal(came, sent);
		over(&s, NULL);
		UNTIL(s.w, s.w->counters.connections_open == 0 && s.w->counters.upstream_connections_open == 0);
		close(client);
		close(origin_fd);
		gate_world_free(s.w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(bytes_pass_both_ways_and_each_side_ends_by_itself),
		    cmocka_unit_test(an_end_that_came_early_is_handed_on),
	    cmocka_unit_test(what_has_not_left_at_the_end_still_arrives),
	    cmocka_unit_test(a_side_that_breaks_ends_the_other),
	    cmocka_unit_test(a_side_that_ends_and_then_closes_ends_the_tunnel),
	    cmocka_unit_test(what_comes_behind_the_first_end_is_held_back),
	    cmocka_unit_test(limits_end_it),
	    cmocka_unit_test(tunnels_are_counted_and_more_than_max_tunnels_get_503),
	    cmocka_unit_test(tunnels_take_no_connection_from_requests),
	    cmocka_unit_test(a_refused_tunnel_leaves_no_request_behind),
	    cmocka_unit_test(an_answer_of_http10_stops_no_later_tunnel),
	    cmocka_unit_test(without_the_option_an_upgrade_is_a_request),
	    cmocka_unit_test(the_first_protocol_that_the_route_takes_is_asked_for),
	    cmocka_unit_test(the_origin_is_asked_for_the_protocol_as_the_route_names_it),
	    cmocka_unit_test(a_drain_ends_tunnels_at_a_deadline_of_their_own),
	    cmocka_unit_test(a_side_that_does_not_read_stops_the_other),
	    cmocka_unit_test(a_direction_that_stands_still_does_not_stop_the_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
