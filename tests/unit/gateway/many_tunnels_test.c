/* SPDX-License-Identifier: MIT */
/* Many tunnels at a time to one origin, of either version: they have a pool of their own, and requests none of its waits. */
#include "tests/support/gateway_world.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define OPENING "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n"
#define PAGE "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
#define CLIENT_STREAMS 100u /* max-concurrent-streams */
#define REQUESTS 50u
/* For each tunnel two, of the gateway's connection to the origin; and all others. */
#define OTHER_DESCRIPTORS 300u

struct line {
	int fd;
	char head[512];
	size_t bytes;
};
static struct line lines[1200];
static size_t line_count;
static unsigned pages;
static bool thinks; /* the origin does not answer requests for tunnels yet */

/* ---- an origin of HTTP/1.1: opens each tunnel, answers each request ---- */

static void adopt(struct gate_site *site, int fd)
{
	(void)site;
	assert_true(line_count < sizeof(lines) / sizeof(lines[0]));
	lines[line_count++] = (struct line){.fd = fd};
}

static void serve_line(struct line *l)
{
	ssize_t n = recv(l->fd, l->head + l->bytes, sizeof(l->head) - l->bytes - 1, MSG_DONTWAIT);
	l->bytes += n > 0 ? (size_t)n : 0;
	l->head[l->bytes] = '\0';
	bool is_tunnel = strstr(l->head, "upgrade: echo") != NULL;
	if (!strstr(l->head, "\r\n\r\n") || (is_tunnel && thinks))
		return;
	const char *answer = is_tunnel ? OPENING : PAGE;
	assert_int_equal(send(l->fd, answer, strlen(answer), MSG_NOSIGNAL), (ssize_t)strlen(answer));
	pages += !is_tunnel;
	l->bytes = 0;
}

static bool serve_lines(void)
{
	for (size_t i = 0; i < line_count; i++)
		serve_line(&lines[i]);
	return false;
}

/* ---- the same of HTTP/2 ---- */

static bool asks_for_tunnel(const struct gate_stream *s)
{
	return strcmp(s->method, "CONNECT") == 0;
}

static void serve(struct gate_stream *s)
{
	if (asks_for_tunnel(s) && thinks)
		return;
	gate_answer(s, 200, asks_for_tunnel(s) ? 0 : 2, !asks_for_tunnel(s));
	pages += !asks_for_tunnel(s);
}

static void answer_tunnels(struct gate_site *site)
{
	thinks = false;
	for (size_t i = 0; i < site->peer_count; i++)
		for (size_t j = 0; j < site->peers[i]->stream_count; j++)
			if (asks_for_tunnel(site->peers[i]->streams[j]))
				serve(site->peers[i]->streams[j]);
}

/* ---- the two tests ---- */

static struct gate_world *world(const char *server)
{
	char more[256];
	snprintf(more, sizeof(more), "[origin c]\nserver = %s\n[route r]\norigin = c\nupgrade = echo\n", server);
	line_count = 0;
	pages = 0;
	return gate_world_new("workers = 1", NULL, NULL, more);
}

static void ask_for_tunnels(struct gate_world *w, unsigned count)
{
	struct gate_peer *client = NULL;
	thinks = true;
	for (unsigned i = 0; i < count; i++) {
		if (i % CLIENT_STREAMS == 0) {
			client = gate_client(w, NULL);
			UNTIL(w, client->settings_came > 0);
		}
		gate_tunnel(client, "echo", "/t");
	}
	UNTIL(w, w->counters.requests_open == count);
	gate_passes(w);
}

/* Requests come through as if there were no tunnel. */
static void ask_for_pages(struct gate_world *w)
{
	struct gate_peer *client = gate_client(w, &(struct gate_peer_options){.no_push = true});
	struct gate_stream *streams[REQUESTS];
	unsigned before = pages;
	UNTIL(w, client->settings_came > 0);
	for (unsigned i = 0; i < REQUESTS; i++)
		streams[i] = gate_get(client, "/page");
	UNTIL(w, serve_lines() || pages == before + REQUESTS);
	for (unsigned i = 0; i < REQUESTS; i++) {
		UNTIL(w, streams[i]->is_over);
		assert_int_equal(streams[i]->status, 200);
		assert_int_equal(streams[i]->received, 2);
	}
	assert_int_equal(w->counters.requests_aborted, 0);
}

/* One tunnel more than max-tunnels. */
static void is_full(struct gate_world *w)
{
	struct gate_peer *client = gate_client(w, NULL);
	UNTIL(w, client->settings_came > 0);
	struct gate_stream *s = gate_tunnel(client, "echo", "/t");
	UNTIL(w, s->status);
	assert_int_equal(s->status, 503);
	assert_int_equal(w->counters.causes[relay_cause_index(&relay_cause_TUNNELS_FULL)], 1);
}

static void leave(struct gate_world *w)
{
	for (size_t i = 0; i < w->client_count; i++)
		gate_peer_abort(w->clients[i]);
	UNTIL(w, w->counters.tunnels_open == 0 && w->counters.connections_open == 0);
}

/* How many the machine lets us have. */
static unsigned tunnels_of_http1(void)
{
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	rlim_t most = (limit.rlim_cur - OTHER_DESCRIPTORS) / 2;
	return most < 1000 ? (unsigned)most : 1000;
}

static void a_thousand_tunnels_to_an_origin_of_http1(void **state)
{
	(void)state;
	unsigned count = tunnels_of_http1();
	struct gate_world *w = world("http://%a");
	w->sites[0].adopt = adopt;
	ask_for_tunnels(w, count);
	ask_for_pages(w);
	thinks = false;
	UNTIL(w, serve_lines() || w->counters.tunnels_open == count);
	ask_for_pages(w);
	if (count == 1000)
		is_full(w);
	leave(w);
	for (size_t i = 0; i < line_count; i++)
		close(lines[i].fd);
	gate_world_free(w);
}

static void tunnels_to_an_origin_of_http2(void **state)
{
	(void)state;
	struct gate_world *w = world("h2c://%a");
	struct gate_site *site = &w->sites[0];
	site->options = (struct gate_peer_options){.takes_tunnels = true, .max_streams = 100};
	site->serve = serve;
	ask_for_tunnels(w, 400);
	ask_for_pages(w);
	answer_tunnels(site);
	UNTIL(w, w->counters.tunnels_open == 400);
	ask_for_pages(w);
	/* No connection has both. */
	for (size_t i = 0; i < site->peer_count; i++) {
		size_t tunnels = 0, requests = 0;
		for (size_t j = 0; j < site->peers[i]->stream_count; j++)
			asks_for_tunnel(site->peers[i]->streams[j]) ? tunnels++ : requests++;
		assert_true(tunnels == 0 || requests == 0);
		assert_true(tunnels <= 100);
	}
	leave(w);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_thousand_tunnels_to_an_origin_of_http1),
	    cmocka_unit_test(tunnels_to_an_origin_of_http2),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
