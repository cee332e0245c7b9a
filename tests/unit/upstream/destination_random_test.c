/* SPDX-License-Identifier: MIT */
/*
 * A destination whose servers join, leave, fail, are ejected or say nothing, and requests of all kinds, at random from
 * a seed and on a clock of the test. After each step the counts of destinations, servers and pools are what they count;
 * nothing waits while a server with room is idle; and in the end all is answered and nothing is left.
 */
#include "tests/support/destination_check.h"
#include "tests/support/gateway_world.h"
#include "tests/support/net_sys.h"

#include "proxy/net/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* covers: R424 */

#define FLEET 2
#define SERVERS_MOST 6u
#define LINES_MOST 400u

/* ---- the clock ---- */

static usec now_usec;

/* In the place of the library's. */
usec clock_monotonic(void)
{
	return now_usec;
}

usec clock_wall(void)
{
	return UINT64_C(1795262400) * USEC_PER_SEC + now_usec;
}

/* ---- connects that nobody answers ---- */

static int full_pipe[2];
static uint16_t silent_port; /* 0: none */

static int connect_or_wait(int fd, const struct sockaddr *to, socklen_t length)
{
	struct net_address a = {.length = length};
	memcpy(a.bytes, to, length);
	if (net_address_port(&a) != silent_port)
		return connect(fd, to, length);
	assert_int_equal(dup2(full_pipe[1], fd), fd);
	errno = EINPROGRESS;
	return -1;
}

static int open_pipe(void **state)
{
	char bytes[4096] = {0};
	(void)state;
	if (pipe2(full_pipe, O_NONBLOCK | O_CLOEXEC) != 0)
		return -1;
	while (write(full_pipe[1], bytes, sizeof(bytes)) > 0)
		;
	return 0;
}

static int close_pipe(void **state)
{
	(void)state;
	close(full_pipe[0]);
	close(full_pipe[1]);
	return 0;
}

/* ---- a server of HTTP/1.1 ---- */

struct line {
	int fd; /* -1: closed */
	char in[2048];
	size_t bytes;
	bool is_tunnel;
};
static struct line lines[LINES_MOST];
static size_t line_count;

static void adopt(struct gate_site *site, int fd)
{
	(void)site;
	if (line_count == LINES_MOST)
		close(fd);
	else
		lines[line_count++] = (struct line){.fd = fd};
}

static void line_close(struct line *l)
{
	close(l->fd);
	l->fd = -1;
}

/* Whether a whole head has come. */
static bool line_has_request(struct line *l)
{
	if (l->fd < 0 || l->is_tunnel)
		return false;
	ssize_t n = recv(l->fd, l->in + l->bytes, sizeof(l->in) - l->bytes - 1, MSG_DONTWAIT);
	l->bytes += n > 0 ? (size_t)n : 0;
	l->in[l->bytes] = '\0';
	if (n == 0)
		line_close(l);
	return n != 0 && strstr(l->in, "\r\n\r\n");
}

static void line_say(struct line *l, const char *text)
{
	(void)!send(l->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	l->bytes = 0;
}

static void line_answer(struct line *l, unsigned how)
{
	static const char *const answers[] = {
	    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
	    "HTTP/1.1 503 Busy\r\ncontent-length: 2\r\n\r\nno",
	    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
	};
	if (!line_has_request(l))
		return;
	if (strstr(l->in, "upgrade: echo") && how < 2) {
		line_say(l, "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
		l->is_tunnel = true;
	} else if (strstr(l->in, "upgrade: echo")) {
		line_say(l, "HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n");
	} else if (how < 3) {
		line_say(l, answers[how]);
	} else {
		line_close(l);
	}
}

/* ---- the scene ---- */

struct scene {
	struct gate_world *w;
	uint64_t state;
	struct net_address dead, silent;
	bool is_h1, is_private, is_closed[GATE_SITES];
};

static uint32_t pick(struct scene *c, uint32_t below)
{
	c->state ^= c->state << 13;
	c->state ^= c->state >> 7;
	c->state ^= c->state << 17;
	return (uint32_t)(c->state >> 32) % below;
}

static struct destination *fleet(const struct scene *c)
{
	return &c->w->gateway->upstream.destinations[FLEET];
}

static void check(struct scene *c)
{
	destinations_check(&c->w->gateway->upstream);
}

static void ring(struct gate_world *w, struct net_timer *t)
{
	if (t->deadline > now_usec)
		return;
	w->loop->now = now_usec;
	t->deadline = USEC_NEVER;
	t->expired(t->context);
}

static void turn(struct scene *c)
{
	ring(c->w, &c->w->gateway->env.timer);
	ring(c->w, &c->w->loop->closing);
	net_run_once(c->w->loop, 0);
	check(c);
}

static void quiet(struct scene *c)
{
	for (unsigned i = 0; i < 12; i++)
		turn(c);
}

static void pass(struct scene *c, usec span)
{
	usec until = now_usec + span;
	while (now_usec < until) {
		usec next = c->w->gateway->env.timer.deadline;
		if (next > now_usec)
			now_usec = next < until ? next : until;
		turn(c);
	}
	quiet(c);
}

/* ---- clients ---- */

static struct gate_peer *some_client(struct scene *c)
{
	struct gate_world *w = c->w;
	size_t first = w->client_count > 4 ? w->client_count - 4 : 0;
	struct gate_peer *p = w->clients[first + pick(c, (uint32_t)(w->client_count - first))];
	return p->ended || p->failed || p->goaway_came ? NULL : p;
}

static void a_client_comes(struct scene *c)
{
	if (c->w->client_count + 2 < GATE_PEERS)
		gate_client(c->w, &(struct gate_peer_options){.no_push = pick(c, 2)});
}

static void a_client_asks(struct scene *c)
{
	static const char *const methods[] = {"GET", "GET", "POST", "PUT", "HEAD"};
	struct gate_peer *p = some_client(c);
	char path[32];
	if (!p || p->stream_count + 8 > GATE_PEER_STREAMS || session_request_room(p->h2) == 0)
		return;
	snprintf(path, sizeof(path), "%s%u", pick(c, 6) == 0 ? "/feed?" : "/a", pick(c, 9));
	if (pick(c, 6) == 0 && p->settings_came > 0) {
		gate_tunnel(p, "echo", "/t");
		return;
	}
	bool end = pick(c, 4) > 0;
	struct gate_stream *s = gate_request(p, methods[pick(c, 5)], "example.com", path, end, NULL);
	s->out_end = end;
	if (!end && pick(c, 2))
		gate_more(s, pick(c, 20000), pick(c, 2));
}

static struct gate_stream *some_stream(struct scene *c, struct gate_peer *p)
{
	if (!p || p->stream_count == 0)
		return NULL;
	uint32_t most = p->stream_count > 12 ? 12 : (uint32_t)p->stream_count;
	struct gate_stream *s = p->streams[p->stream_count - 1 - pick(c, most)];
	return s->handle ? s : NULL;
}

static void a_client_goes_on(struct scene *c)
{
	struct gate_peer *p = some_client(c);
	struct gate_stream *s = some_stream(c, p);
	if (!s)
		return;
	if (pick(c, 40) == 0)
		gate_peer_abort(p);
	else if (pick(c, 2) == 0)
		gate_reset_stream(s, SESSION_CANCEL);
	else if (!s->parent && !s->out_end)
		gate_more(s, 10, true);
}

/* ---- servers ---- */

enum { SAID_NOTHING, SAID_END = 1 };

static void answer(struct gate_stream *s)
{
	if (!s->handle || s->status != SAID_NOTHING)
		return;
	s->status = SAID_END;
	gate_answer(s, 200, strcmp(s->method, "HEAD") == 0 ? 0 : 5, true);
}

static void a_peer_acts(struct scene *c)
{
	struct gate_site *site = &c->w->sites[pick(c, GATE_SITES)];
	size_t first = site->peer_count > 5 ? site->peer_count - 5 : 0;
	struct gate_peer *p =
	    site->peer_count ? site->peers[first + pick(c, (uint32_t)(site->peer_count - first))] : NULL;
	if (!p || p->ended || p->failed)
		return;
	struct gate_stream *s = some_stream(c, p);
	uint32_t how = pick(c, 12);
	if (how == 0 && pick(c, 6) == 0)
		gate_shutdown(p);
	else if (how == 0 && pick(c, 6) == 0)
		gate_peer_abort(p);
	else if (!s || s->status != SAID_NOTHING)
		return;
	else if (how == 1)
		gate_reset_stream(s, pick(c, 2) ? SESSION_REFUSED_STREAM : SESSION_INTERNAL_ERROR);
	else if (how == 2 && !s->parent && p->stream_count + 8 < GATE_PEER_STREAMS)
		gate_promise(s, "http", "example.com", "/pushed");
	else if (how == 3)
		s->status = SAID_END, gate_answer(s, 503, 2, true);
	else if (how == 4 && strcmp(s->method, "CONNECT") == 0)
		s->status = 2, gate_answer(s, 200, 0, false);
	else
		answer(s);
}

static void a_server_acts(struct scene *c)
{
	if (!c->is_h1)
		a_peer_acts(c);
	else if (line_count > 0)
		line_answer(&lines[pick(c, (uint32_t)line_count)], pick(c, 8) ? 0 : pick(c, 5));
}

static bool is_full(const struct scene *c)
{
	return c->w->sites[0].peer_count + 44 > GATE_PEERS || c->w->sites[1].peer_count + 44 > GATE_PEERS ||
	       line_count + 40 > LINES_MOST;
}

static void a_site_comes_or_goes(struct scene *c, uint32_t i)
{
	if (c->is_closed[i])
		gate_site_open(&c->w->sites[i]);
	else
		gate_site_close(&c->w->sites[i]);
	c->is_closed[i] = !c->is_closed[i];
}

static void a_server_joins(struct scene *c)
{
	struct destination *d = fleet(c);
	const struct net_address *at[] = {
	    gate_site_address(c->w, 0), gate_site_address(c->w, 1), &c->dead, &c->silent};
	if (d->server_count >= SERVERS_MOST)
		return;
	server_new(d, &d->origin.conf->servers[0], at[pick(c, 4)], 1);
	destination_changed(d);
}

static struct server *some_server(struct scene *c)
{
	uint32_t i = pick(c, (uint32_t)fleet(c)->server_count + 1);
	list_for_each(&fleet(c)->servers, s, struct server, link)
	{
		if (i-- == 0)
			return s;
	}
	return NULL;
}

static void the_fleet_changes(struct scene *c)
{
	struct server *s = some_server(c);
	switch (pick(c, 6)) {
	case 0:
		a_site_comes_or_goes(c, pick(c, GATE_SITES));
		break;
	case 1:
	case 2:
		a_server_joins(c);
		break;
	case 3:
	case 4:
		if (s && !s->at.is_leaving)
			server_leave(s);
		break;
	case 5:
		if (s && !s->at.is_leaving)
			health_report(s, HEALTH_FAILED);
		break;
	}
}

/* ---- what holds when no byte moves ---- */

static bool is_idle_with_room(struct server *s, const struct exchange *x)
{
	struct pool *p = attempt_of(x)->at.pool;
	struct pool *own = s->at.pools[p->kind];
	return own && balance_prefers(&s->member) && !s->at.is_leaving && s->member.outstanding == 0 &&
	       origin_server_may_send_soon(&s->at, p->kind, x) && own->connecting == 0 && pool_conn_with_room(own, x);
}

static void assert_nobody_waits_in_vain(struct scene *c)
{
	struct destination *d = fleet(c);
	for (unsigned kind = 0; kind < POOL_KINDS; kind++) {
		struct pool *p = list_first(&d->origin.waiting_pools[kind], struct pool, waiting);
		struct exchange *x = p ? list_first(&p->shared.requests, struct exchange, waiting) : NULL;
		if (!x || origin_attempt_of(x)->needs_fresh || attempt_of(x)->at.pool->connecting > 0)
			continue;
		list_for_each(&d->servers, s, struct server, link) assert_false(is_idle_with_room(s, x));
	}
}

static void step(struct scene *c)
{
	switch (pick(c, 24)) {
	case 0:
		a_client_comes(c);
		break;
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
		a_client_asks(c);
		break;
	case 7:
		a_client_goes_on(c);
		break;
	case 8:
		the_fleet_changes(c);
		break;
	case 9:
		pass(c, pick(c, 20) == 0 ? (usec)pick(c, 3000) * USEC_PER_MSEC : USEC_PER_MSEC);
		assert_nobody_waits_in_vain(c);
		break;
	case 10:
	case 11:
	case 12:
		turn(c);
		break;
	default:
		a_server_acts(c);
		break;
	}
	check(c);
}

/* ---- the end ---- */

static bool is_over(const struct scene *c)
{
	return c->w->gateway->relay.live_count == 0;
}

static void all_behave(struct scene *c)
{
	for (size_t i = 0; i < c->w->client_count; i++) {
		struct gate_peer *p = c->w->clients[i];
		for (size_t n = 0; n < p->stream_count && !p->ended; n++) {
			struct gate_stream *s = p->streams[n];
			bool is_tunnel = strcmp(s->method, "CONNECT") == 0;
			if (s->handle && is_tunnel)
				gate_reset_stream(s, SESSION_CANCEL);
			else if (s->handle && !s->parent && !s->out_end)
				gate_more(s, 0, true);
			s->out_end = true;
		}
	}
	for (unsigned site = 0; site < GATE_SITES; site++)
		for (size_t i = 0; i < c->w->sites[site].peer_count; i++)
			for (size_t n = 0; n < c->w->sites[site].peers[i]->stream_count; n++)
				answer(c->w->sites[site].peers[i]->streams[n]);
	for (size_t i = 0; i < line_count; i++)
		line_answer(&lines[i], 2);
}

static void all_ends(struct scene *c)
{
	for (uint32_t i = 0; i < GATE_SITES; i++)
		if (c->is_closed[i])
			a_site_comes_or_goes(c, i);
	for (unsigned i = 0; i < 400 && !is_over(c); i++) {
		all_behave(c);
		pass(c, 100 * USEC_PER_MSEC);
	}
	assert_true(is_over(c));
	pass(c, 20 * USEC_PER_SEC); /* the slow connects too */
	destinations_check_idle(&c->w->gateway->upstream);
}

static struct gate_world *world_of(struct scene *c, const char *balance)
{
	static const char *const limits[] = {"", "max-connections = 1\nmax-http1-connections = 2\n",
	    "max-requests = 1\n", "max-requests = 3\nmax-queue = 4\nmax-tunnels = 1\n",
	    "max-connections = 2\nmax-queue = 30\nmax-subscriptions = 2\nmax-tunnels = 2\n"};
	char more[1024];
	uint32_t most = pick(c, 5);
	const char *scheme = c->is_h1 ? "http" : "h2c";
	snprintf(more, sizeof(more),
	    "[origin f]\nserver = %s://%%a\nserver = %s://%%b\n%s%squeue-timeout = 3s\nresponse-timeout = 5s\n"
	    "eject-failures = 3\neject-time = 1s\nconnect-timeout = 2s\n%s"
	    "%s"
	    "[route feed]\npath = /feed\norigin = f\nsubscription = yes\n"
	    "[route r]\norigin = f\nupgrade = echo\nretry-on = lost late 503\nretries = 2\n"
	    "[push all]\naction = forward\n",
	    scheme, scheme, balance, limits[most], most == 4 ? "" : "max-subscriptions = 3\n",
	    c->is_private ? "connections = private\nsend-proxy = v1\n" : "");
	return gate_world_new(NULL, NULL, NULL, more);
}

static void open_scene(struct scene *c, uint64_t seed)
{
	static const char *const balances[] = {
	    "", "balance = round-robin\n", "hash = path\n", "affinity-cookie = srv\n", "slow-start = 2s\n"};
	*c = (struct scene){.state = seed * 0x9e3779b97f4a7c15u + 1, .is_h1 = seed % 3 == 2, .is_private = seed % 6 == 5};
	now_usec = USEC_PER_SEC;
	line_count = 0;
	c->w = world_of(c, balances[pick(c, 5)]);
	for (unsigned i = 0; i < GATE_SITES; i++) {
		c->w->sites[i].options.takes_tunnels = true;
		c->w->sites[i].options.max_streams = pick(c, 2) ? 0 : 1 + pick(c, 3);
		c->w->sites[i].adopt = c->is_h1 ? adopt : NULL;
	}
	c->dead = c->silent = *gate_site_address(c->w, 0);
	c->dead.in.sin_port = htons(1);
	c->silent.in.sin_port = htons(2);
	silent_port = 2;
	net_sys.connect = connect_or_wait;
	a_client_comes(c);
	quiet(c);
}

static void run(uint64_t seed)
{
	struct scene c;
	open_scene(&c, seed);
	for (unsigned i = 0; i < 1000 && !is_full(&c); i++)
		step(&c);
	if (seed % 4 > 0)
		all_ends(&c);
	gate_world_free(c.w);
	for (size_t i = 0; i < line_count; i++)
		if (lines[i].fd >= 0)
			line_close(&lines[i]);
	net_sys_reset();
}

static void counts_match_whatever_happens(void **state)
{
	(void)state;
	const char *from = getenv("PUSHGATE_CHAOS_SEED"), *count = getenv("PUSHGATE_CHAOS_COUNT");
	uint64_t first = from ? strtoull(from, NULL, 10) : 1, runs = count ? strtoull(count, NULL, 10) : 48;
	for (uint64_t seed = first; seed < first + runs; seed++) {
		if (from)
			fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
		run(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(counts_match_whatever_happens, open_pipe, close_pipe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
