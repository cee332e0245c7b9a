/* SPDX-License-Identifier: MIT */
/* CONNECT through a forward listener, over HTTP/1.1 and HTTP/2: what opens, what is refused, how each side ends. */
#include "tests/support/gateway_world.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCESS "[access lab]\nallow = address=127.0.0.0/8 port=1024-65535\nallow = host=denied.example\n"

struct scene {
	struct gate_world *w;
	char to[64];    /* host and port of the destination */
	int client;     /* over HTTP/1.1 */
	int server;     /* the destination's end; -1: nobody has connected */
	struct gate_peer *peer; /* over HTTP/2 */
	struct gate_stream *stream;
};

static int server_fd;

static void adopt(struct gate_site *site, int fd)
{
	(void)site;
	server_fd = fd;
}

static struct scene scene_with(const char *server, const char *route)
{
	char more[600];
	snprintf(more, sizeof(more),
	    ACCESS "[origin world]\nserver = forward:\n[route r]\norigin = world\n%s\n", route);
	struct scene s = {.w = gate_world_new(server, "mode = forward\naccess = lab", NULL, more),
	    .client = -1, .server = -1};
	s.w->sites[0].adopt = adopt;
	server_fd = -1;
	net_address_format(gate_site_address(s.w, 0), s.to, sizeof(s.to));
	return s;
}

static struct scene scene(const char *route)
{
	return scene_with(NULL, route);
}

static void end(struct scene *s)
{
	if (s->client >= 0)
		close(s->client);
	if (server_fd >= 0)
		close(server_fd);
	gate_world_free(s->w);
}

/* Lets the gateway work until `want` has come; "" is the end. Returns all that came. */
static const char *reads(struct scene *s, int fd, const char *want)
{
	static char text[4096];
	size_t length = 0;
	struct patience patience = {0};
	for (;;) {
		ssize_t n = recv(fd, text + length, sizeof(text) - length - 1, MSG_DONTWAIT);
		if (n > 0)
			length += (size_t)n;
		text[length] = '\0';
		if (*want ? strstr(text, want) != NULL : n == 0)
			return text;
		if (n == 0 || patience_is_over(&patience))
			fail_msg("\"%s\" did not come: \"%s\"", want, text);
		net_run_once(s->w->loop, USEC_PER_MSEC);
	}
}

/* So many bytes, whichever they are. */
static void receives(struct scene *s, int fd, size_t want)
{
	char bytes[4096];
	struct patience patience = {0};
	for (size_t came = 0; came < want;) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n == 0 || patience_is_over(&patience))
			fail_msg("%zu bytes of %zu came", came, want);
		came += n > 0 ? (size_t)n : 0;
		net_run_once(s->w->loop, USEC_PER_MSEC);
	}
}

static bool was_reset(struct scene *s, int fd)
{
	char byte;
	struct patience patience = {0};
	while (!patience_is_over(&patience)) {
		ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
		if (n >= 0)
			return false;
		if (errno == ECONNRESET)
			return true;
		net_run_once(s->w->loop, USEC_PER_MSEC);
	}
	return false;
}

static void aborts(int fd)
{
	const struct linger linger = {.l_onoff = 1};
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	close(fd);
}

static void writes(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void asks(struct scene *s, const char *authority, const char *version, const char *more)
{
	char text[1000];
	s->client = gate_raw(s->w);
	snprintf(text, sizeof(text), "CONNECT %s HTTP/%s\r\n%s%s%s", authority, version,
	    version[2] == '1' ? "Host: " : "", version[2] == '1' ? authority : "",
	    version[2] == '1' ? "\r\n" : "");
	writes(s->client, text);
	writes(s->client, more);
}

static void opens(struct scene *s)
{
	asks(s, s->to, "1.1", "\r\n");
	reads(s, s->client, "\r\n\r\n");
	UNTIL(s->w, server_fd >= 0);
	s->server = server_fd;
	assert_int_equal(s->w->counters.tunnels_open, 1);
}

static void opens_over_h2(struct scene *s)
{
	s->peer = gate_client(s->w, NULL);
	s->stream = gate_connect(s->peer, s->to);
	UNTIL(s->w, s->stream->status);
	assert_int_equal(s->stream->status, 200);
	UNTIL(s->w, server_fd >= 0);
	s->server = server_fd;
	assert_int_equal(s->w->counters.tunnels_open, 1);
}

static void is_over(struct scene *s)
{
	UNTIL(s->w, s->w->counters.tunnels_open == 0 && s->w->counters.upstream_connections_open == 0);
	gate_passes(s->w);
}

/* ---- HTTP/1.1 ---- */

static void a_tunnel_opens_with_a_200_without_framing(void **state)
{
	(void)state;
	static const char *const versions[] = {"1.1", "1.0"};
	for (size_t i = 0; i < 2; i++) {
		struct scene s = scene("");
		asks(&s, s.to, versions[i], "Proxy-Connection: Keep-Alive\r\nContent-Length: 0\r\nExpect: 100-continue\r\n\r\n");
		const char *head = reads(&s, s.client, "\r\n\r\n");
		assert_true(strncmp(head, "HTTP/1.1 200 OK\r\n", 17) == 0);
		assert_null(strstr(head, "content-length"));
		assert_null(strstr(head, "transfer-encoding"));
		assert_null(strstr(head, "connection"));
		assert_null(strstr(head, "proxy-status"));
		UNTIL(s.w, server_fd >= 0);
		writes(server_fd, "220 hello\r\n");
		reads(&s, s.client, "220 hello\r\n");
		writes(s.client, "GET / HTTP/1.1\r\n\r\n");
		reads(&s, server_fd, "GET / HTTP/1.1\r\n\r\n");
		assert_int_equal(s.w->counters.tunnels, 1);
		assert_int_equal(s.w->counters.requests, 1);
		end(&s);
	}
}

static void bytes_behind_the_request_go_through_the_tunnel(void **state)
{
	(void)state;
	struct scene s = scene("");
	asks(&s, s.to, "1.1", "\r\nGET /early HTTP/1.1\r\nHost: evil\r\n\r\n");
	UNTIL(s.w, server_fd >= 0);
	reads(&s, server_fd, "GET /early HTTP/1.1\r\nHost: evil\r\n\r\n");
	assert_int_equal(s.w->counters.requests, 1);
	end(&s);
}

static void a_client_that_ends_at_once_gets_all_that_comes(void **state)
{
	(void)state;
	struct scene s = scene("");
	asks(&s, s.to, "1.1", "\r\nearly");
	shutdown(s.client, SHUT_WR);
	UNTIL(s.w, server_fd >= 0);
	reads(&s, server_fd, "early");
	reads(&s, server_fd, "");
	writes(server_fd, "an answer");
	shutdown(server_fd, SHUT_WR);
	reads(&s, s.client, "an answer");
	reads(&s, s.client, "");
	is_over(&s);
	assert_int_equal(s.w->counters.requests_aborted, 0);
	end(&s);
}

static void each_side_ends_by_itself(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct scene s = scene("");
		opens(&s);
		int first = i ? s.client : s.server, second = i ? s.server : s.client;
		writes(first, "last words");
		shutdown(first, SHUT_WR);
		reads(&s, second, "last words");
		reads(&s, second, "");
		writes(second, "still here");
		reads(&s, first, "still here");
		assert_int_equal(s.w->counters.tunnels_open, 1);
		writes(second, "and gone");
		shutdown(second, SHUT_WR);
		reads(&s, first, "and gone");
		reads(&s, first, "");
		is_over(&s);
		UNTIL(s.w, s.w->counters.connections_open == 0);
		assert_int_equal(s.w->counters.requests_aborted, 0);
		end(&s);
	}
}

static void a_side_that_is_reset_resets_the_other(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct scene s = scene("");
		opens(&s);
		aborts(i ? s.client : s.server);
		assert_true(was_reset(&s, i ? s.server : s.client));
		is_over(&s);
		if (i)
			s.client = -1;
		else
			server_fd = -1;
		end(&s);
	}
}

/* ---- refused: what follows never becomes a request ---- */

#define EVIL "GET http://127.0.0.1/evil HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

static void bytes_behind_a_refused_connect_are_no_request(void **state)
{
	(void)state;
	static const struct {
		const char *authority, *fields, *status;
	} rows[] = {
	    {"127.0.0.1:80", "", "403"},                          /* a port that is not allowed */
	    {"10.1.2.3:443", "", "403"},                          /* an address that is not */
	    {"2130706433:443", "", "403"},                        /* a strange form of one */
	    {"127.0.0.1:1", "", "403"},                           /* a listener of ours */
	    {"127.0.0.1:0", "", "400"},
	    {"127.0.0.1", "", "400"},
	    {"me@127.0.0.1:443", "", "400"},
	    {":443", "", "400"},
	    {"127.0.0.1:443", "Content-Length: 5\r\n", "400"},
	    {"127.0.0.1:443", "Transfer-Encoding: chunked\r\n", "400"},
	    {"127.0.0.1:443", "Via: 1.1 pushgate-12345678\r\n", "508"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[400], want[32];
		struct scene s = scene("");
		snprintf(text, sizeof(text), "%s\r\n" EVIL, rows[i].fields);
		asks(&s, rows[i].authority, "1.1", text);
		snprintf(want, sizeof(want), "HTTP/1.1 %s ", rows[i].status);
		const char *answer = reads(&s, s.client, "");
		if (strncmp(answer, want, strlen(want)) != 0)
			fail_msg("%s: %s", rows[i].authority, answer);
		assert_non_null(strstr(answer, "connection: close\r\n"));
		assert_null(strstr(answer + 1, "HTTP/1.1 "));
		assert_int_equal(s.w->counters.requests, 1);
		assert_int_equal(s.w->counters.upstream_connections, 0);
		assert_int_equal(s.w->counters.tunnels, 0);
		end(&s);
	}
}

/* covers: R622 */
static void bytes_behind_a_failed_connect_are_no_request(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct scene s = scene("");
		gate_site_close(&s.w->sites[0]);
		asks(&s, s.to, "1.1", "\r\n" EVIL);
		if (i) /* the client waits for the answer alone */
			shutdown(s.client, SHUT_WR);
		const char *answer = reads(&s, s.client, "");
		assert_true(strncmp(answer, "HTTP/1.1 503 ", 13) == 0);
		assert_non_null(
		    strstr(answer, "; error=connection_refused; details=\"origin-unreachable\""));
		assert_null(strstr(answer + 1, "HTTP/1.1 "));
		assert_int_equal(s.w->counters.requests, 1);
		assert_int_equal(s.w->counters.tunnels_refused, 1);
		end(&s);
	}
}

/* ---- HTTP/2 (RFC 9113 8.5) ---- */

static void over_http2_data_frames_are_the_bytes(void **state)
{
	(void)state;
	struct scene s = scene("");
	opens_over_h2(&s);
	assert_null(http_head_find(s.stream->head, HTTP_TOKEN_CONTENT_LENGTH));
	gate_more(s.stream, 3000, false);
	receives(&s, s.server, 3000);
	writes(s.server, "hello");
	UNTIL(s.w, s.stream->received == 5);
	assert_memory_equal(s.stream->text, "hello", 5);
	end(&s);
}

static void over_http2_each_direction_ends_with_end_stream(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct scene s = scene("");
		opens_over_h2(&s);
		if (i == 0) {
			gate_more(s.stream, 4, true);
			receives(&s, s.server, 4);
			reads(&s, s.server, "");
			writes(s.server, "answer");
			UNTIL(s.w, s.stream->received == 6);
			assert_false(s.stream->is_over);
			shutdown(s.server, SHUT_WR);
		} else {
			writes(s.server, "answer");
			shutdown(s.server, SHUT_WR);
			UNTIL(s.w, s.stream->ended);
			assert_int_equal(s.stream->received, 6);
			assert_false(s.stream->is_over);
			gate_more(s.stream, 4, true);
			receives(&s, s.server, 4);
			reads(&s, s.server, "");
		}
		UNTIL(s.w, s.stream->is_over);
		assert_false(s.stream->was_reset);
		is_over(&s);
		end(&s);
	}
}

/* RFC 9113 8.5: a TCP segment with RST is a stream error of type CONNECT_ERROR. covers: R623 */
static void over_http2_a_reset_of_the_destination_is_a_connect_error(void **state)
{
	(void)state;
	struct scene s = scene("");
	opens_over_h2(&s);
	aborts(s.server);
	server_fd = -1;
	UNTIL(s.w, s.stream->is_over);
	assert_true(s.stream->was_reset);
	assert_int_equal(s.stream->code, SESSION_CONNECT_ERROR);
	is_over(&s);
	end(&s);
}

static void over_http2_a_reset_of_the_stream_resets_the_destination(void **state)
{
	(void)state;
	struct scene s = scene("");
	opens_over_h2(&s);
	gate_reset_stream(s.stream, SESSION_CANCEL);
	assert_true(was_reset(&s, s.server));
	is_over(&s);
	end(&s);
}

/* The other requests of the connection go on. */
static void over_http2_a_refused_connect_costs_its_stream_alone(void **state)
{
	(void)state;
	struct scene s = scene("");
	s.peer = gate_client(s.w, NULL);
	struct gate_stream *refused = gate_connect(s.peer, "127.0.0.1:1");
	gate_more(refused, 100, false);
	UNTIL(s.w, refused->is_over);
	assert_int_equal(refused->status, 403);
	s.stream = gate_connect(s.peer, s.to);
	UNTIL(s.w, s.stream->status == 200);
	end(&s);
}

/* A browser opens several to one host, and none waits for another. */
static void connects_to_one_destination_wait_for_no_other(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *streams[6];
	s.peer = gate_client(s.w, NULL);
	UNTIL(s.w, s.peer->settings_came);
	for (unsigned i = 0; i < 6; i++)
		streams[i] = gate_connect(s.peer, s.to);
	while (s.w->counters.upstream_connections == 0)
		net_run_once(s.w->loop, USEC_PER_MSEC);
	assert_int_equal(s.w->counters.upstream_connections, 6);
	for (unsigned i = 0; i < 6; i++)
		UNTIL(s.w, streams[i]->status == 200);
	assert_int_equal(s.w->counters.destinations, 1);
	end(&s);
}

/* A side that does not read stops the other, with little in between. */
static void what_waits_in_a_tunnel_is_bounded(void **state)
{
	(void)state;
	static char bytes[65536];
	for (unsigned i = 0; i < 2; i++) {
		struct scene s = scene("");
		opens(&s);
		int from = i ? s.client : s.server, to = i ? s.server : s.client;
		size_t sent = 0, came = 0;
		for (unsigned idle = 0; idle < 50; idle++) {
			ssize_t n = send(from, bytes, sizeof(bytes), MSG_DONTWAIT);
			if (n > 0) {
				sent += (size_t)n;
				idle = 0;
			}
			assert_true(sent < 64u << 20);
			net_run_once(s.w->loop, USEC_PER_MSEC);
		}
		assert_true(s.w->budget.used_bytes < 4u << 20);
		shutdown(from, SHUT_WR);
		struct patience patience = {0};
		for (ssize_t n; (n = recv(to, bytes, sizeof(bytes), MSG_DONTWAIT)) != 0;) {
			came += n > 0 ? (size_t)n : 0;
			assert_false(patience_is_over(&patience));
			net_run_once(s.w->loop, 0);
		}
		assert_int_equal(came, sent);
		end(&s);
	}
}

/* Its destination was asked for, and is connected to when nobody wants it any more. */
static void an_abandoned_connect_leaves_no_connection(void **state)
{
	(void)state;
	struct scene s = scene("");
	s.peer = gate_client(s.w, NULL);
	UNTIL(s.w, s.peer->settings_came);
	s.stream = gate_connect(s.peer, s.to);
	gate_reset_stream(s.stream, SESSION_CANCEL);
	UNTIL(s.w, s.w->counters.upstream_connections == 1 && s.w->counters.upstream_connections_open == 0);
	assert_int_equal(s.w->counters.tunnels, 0);
	end(&s);
}

/* ---- tunnels to http destinations: Upgrade, and RFC 8441 ---- */

static void an_upgrade_goes_to_the_destination_of_its_target(void **state)
{
	(void)state;
	struct scene s = scene("upgrade = echo");
	char text[300];
	snprintf(text, sizeof(text), "GET http://%s/chat HTTP/1.1\r\nHost: %s\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n",
	    s.to, s.to);
	s.client = gate_raw(s.w);
	writes(s.client, text);
	UNTIL(s.w, server_fd >= 0);
	assert_non_null(strstr(reads(&s, server_fd, "upgrade: echo\r\n"), "GET /chat HTTP/1.1\r\n"));
	writes(server_fd, "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nhello");
	assert_non_null(strstr(reads(&s, s.client, "hello"), "HTTP/1.1 101 "));
	writes(s.client, "and back");
	reads(&s, server_fd, "and back");
	end(&s);
}

static void an_extended_connect_goes_to_the_destination_of_its_authority(void **state)
{
	(void)state;
	struct scene s = scene("upgrade = echo");
	s.peer = gate_client(s.w, NULL);
	UNTIL(s.w, s.peer->settings_came);
	s.stream = gate_tunnel_to(s.peer, "echo", s.to, "/chat");
	UNTIL(s.w, server_fd >= 0);
	assert_non_null(strstr(reads(&s, server_fd, "upgrade: echo\r\n"), "GET /chat HTTP/1.1\r\n"));
	writes(server_fd, "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\nhello");
	UNTIL(s.w, s.stream->received == 5);
	assert_int_equal(s.stream->status, 200);
	/* The connection of an Upgrade that is lost is no CONNECT_ERROR: no CONNECT has asked for it. */
	aborts(server_fd);
	server_fd = -1;
	UNTIL(s.w, s.stream->was_reset);
	assert_int_equal(s.stream->code, SESSION_INTERNAL_ERROR);
	end(&s);
}

/* ---- limits ---- */

static void limits_end_a_tunnel(void **state)
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
		struct scene s = scene(rows[i].option);
		opens(&s);
		if (rows[i].is_half)
			shutdown(s.client, SHUT_WR);
		if (rows[i].sends)
			writes(s.server, "one, two, three");
		is_over(&s);
		assert_int_equal(s.w->counters.causes[relay_cause_index(rows[i].cause)], 1);
		assert_true(was_reset(&s, s.server) || rows[i].is_half);
		end(&s);
	}
}

static void a_drain_ends_tunnels(void **state)
{
	(void)state;
	struct scene s = scene_with("tunnel-drain-timeout = 50ms", "");
	opens(&s);
	gate_world_drain(s.w, 60 * USEC_PER_SEC);
	writes(s.client, "still");
	reads(&s, s.server, "still");
	UNTIL(s.w, s.w->drained == 1);
	end(&s);
}

/* covers: R625 */
static void a_client_has_so_many_tunnels_and_no_more(void **state)
{
	(void)state;
	struct scene s = scene("max-tunnels-per-client = 2");
	opens(&s);
	int first = s.client, first_server = s.server;
	s.peer = gate_client(s.w, NULL);
	s.stream = gate_connect(s.peer, s.to);
	UNTIL(s.w, s.stream->status == 200);
	asks(&s, s.to, "1.1", "\r\n" EVIL);
	const char *answer = reads(&s, s.client, "");
	assert_true(strncmp(answer, "HTTP/1.1 429 ", 13) == 0);
	assert_non_null(strstr(answer, "retry-after: 1\r\n"));
	assert_non_null(strstr(answer, "tunnels-per-client"));
	assert_int_equal(s.w->counters.causes[relay_cause_index(&relay_cause_TUNNELS_CLIENT)], 1);
	close(s.client);
	close(first);
	close(first_server);
	UNTIL(s.w, s.w->counters.tunnels_open == 1);
	asks(&s, s.to, "1.1", "\r\n");
	assert_non_null(strstr(reads(&s, s.client, "\r\n\r\n"), "HTTP/1.1 200 "));
	end(&s);
}

/* The sender is slowed down; all that it sends arrives. covers: R626 */
static void the_rate_of_a_client_slows_its_tunnels_down(void **state)
{
	(void)state;
	enum { BYTES = 1000000 };
	struct scene s = scene("tunnel-rate = 1000k");
	static char bytes[65536];
	opens(&s);
	usec since = clock_monotonic();
	for (size_t sent = 0, came = 0; came < BYTES;) {
		size_t most = BYTES - sent < sizeof(bytes) ? BYTES - sent : sizeof(bytes);
		ssize_t n = most ? send(s.server, bytes, most, MSG_DONTWAIT) : 0;
		sent += n > 0 ? (size_t)n : 0;
		n = recv(s.client, bytes, sizeof(bytes), MSG_DONTWAIT);
		assert_true(n != 0);
		came += n > 0 ? (size_t)n : 0;
		net_run_once(s.w->loop, USEC_PER_MSEC);
	}
	/* A quarter of a second's bytes may pass at once, and the first window. */
	assert_true(clock_monotonic() - since > 300 * USEC_PER_MSEC);
	shutdown(s.client, SHUT_WR);
	shutdown(s.server, SHUT_WR);
	is_over(&s);
	assert_int_equal(s.w->counters.tunnels_slowed, 1);
	end(&s);
}

/* The request is made smaller when its tunnel opens, and the first address lies in what is freed then. */
static void an_address_that_was_refused_first_is_forgotten(void **state)
{
	(void)state;
	struct scene s = scene_with("resolver = 127.0.0.1:1", "");
	struct net_address *listens = (struct net_address *)(uintptr_t)&s.w->conf->listens[0].address;
	const struct net_address own = *listens;
	const struct address everywhere = {.family = 4};
	char authority[64];
	snprintf(authority, sizeof(authority), "two.test:%u", (unsigned)s.w->sites[0].port);
	int other = socket(AF_INET, SOCK_STREAM, 0);
	struct net_address at;
	net_address_set_ip(&at, &(struct address){.family = 4, .bytes = {127, 0, 0, 2}}, s.w->sites[0].port);
	assert_int_equal(bind(other, &at.any, at.length), 0);
	assert_int_equal(listen(other, 8), 0);
	gateway_set_hosts(s.w->gateway, SLICE("127.0.0.1 two.test\n127.0.0.2 two.test\n"));
	s.peer = gate_client(s.w, NULL);
	s.stream = gate_connect(s.peer, authority);
	UNTIL(s.w, s.w->counters.upstream_connections == 1);
	net_address_set_ip(listens, &everywhere, s.w->sites[0].port);
	UNTIL(s.w, s.w->counters.retries_unprocessed == 1);
	*listens = own;
	UNTIL(s.w, s.stream->status);
	assert_int_equal(s.stream->status, 200);
	const struct exchange *x = list_first(&s.w->gateway->relay.live, struct exchange, link);
	assert_null(upstream_refused_address(x));
	gate_peer_abort(s.peer);
	is_over(&s);
	close(other);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_tunnel_opens_with_a_200_without_framing),
	    cmocka_unit_test(bytes_behind_the_request_go_through_the_tunnel),
	    cmocka_unit_test(a_client_that_ends_at_once_gets_all_that_comes),
	    cmocka_unit_test(each_side_ends_by_itself),
	    cmocka_unit_test(a_side_that_is_reset_resets_the_other),
	    cmocka_unit_test(bytes_behind_a_refused_connect_are_no_request),
	    cmocka_unit_test(bytes_behind_a_failed_connect_are_no_request),
	    cmocka_unit_test(over_http2_data_frames_are_the_bytes),
	    cmocka_unit_test(over_http2_each_direction_ends_with_end_stream),
	    cmocka_unit_test(over_http2_a_reset_of_the_destination_is_a_connect_error),
	    cmocka_unit_test(over_http2_a_reset_of_the_stream_resets_the_destination),
	    cmocka_unit_test(over_http2_a_refused_connect_costs_its_stream_alone),
	    cmocka_unit_test(connects_to_one_destination_wait_for_no_other),
	    cmocka_unit_test(what_waits_in_a_tunnel_is_bounded),
	    cmocka_unit_test(an_abandoned_connect_leaves_no_connection),
	    cmocka_unit_test(an_upgrade_goes_to_the_destination_of_its_target),
	    cmocka_unit_test(an_extended_connect_goes_to_the_destination_of_its_authority),
	    cmocka_unit_test(limits_end_a_tunnel),
	    cmocka_unit_test(a_drain_ends_tunnels),
	    cmocka_unit_test(a_client_has_so_many_tunnels_and_no_more),
	    cmocka_unit_test(the_rate_of_a_client_slows_its_tunnels_down),
	    cmocka_unit_test(an_address_that_was_refused_first_is_forgotten),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
