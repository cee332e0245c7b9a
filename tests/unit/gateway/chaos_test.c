/* SPDX-License-Identifier: MIT */
/*
 * Clients and origins act at random, from a seed: the gateway neither crashes nor leaks, its gauges return to 0, and a
 * well-behaved client is served.
 */
#include "tests/support/gateway_world.h"

#include <stdio.h>
#include <stdlib.h>

/* covers: R13 R40 R49 R65 */

struct chaos {
	struct gate_world *w;
	uint64_t state;
	bool is_closed[GATE_SITES];
};

static uint32_t pick(struct chaos *c, uint32_t below)
{
	c->state ^= c->state << 13;
	c->state ^= c->state >> 7;
	c->state ^= c->state << 17;
	return (uint32_t)(c->state >> 32) % below;
}

/* For an origin's stream, `status` records what the origin has sent. */
enum { SAID_NOTHING, SAID_HEAD, SAID_END };

static void ok(struct gate_stream *s)
{
	s->status = SAID_END;
	gate_answer(s, 200, 5, true);
}

static struct gate_peer *some_client(struct chaos *c)
{
	struct gate_world *w = c->w;
	size_t first = w->client_count > 5 ? w->client_count - 5 : 0;
	struct gate_peer *p = w->client_count
				 ? w->clients[first + pick(c, (uint32_t)(w->client_count - first))]
				 : NULL;
	return p && !p->ended && !p->failed ? p : NULL;
}

static struct gate_stream *some_stream(struct chaos *c, struct gate_peer *p)
{
	if (!p || p->stream_count == 0)
		return NULL;
	/* Rather a late one: those are alive. */
	uint32_t most = p->stream_count > 12 ? 12 : (uint32_t)p->stream_count;
	struct gate_stream *s = p->streams[p->stream_count - 1 - pick(c, most)];
	return s->handle ? s : NULL;
}

static struct gate_peer *some_origin(struct chaos *c)
{
	struct gate_site *site = &c->w->sites[pick(c, GATE_SITES)];
	size_t first = site->peer_count > 5 ? site->peer_count - 5 : 0;
	struct gate_peer *p =
	    site->peer_count ? site->peers[first + pick(c, (uint32_t)(site->peer_count - first))]
			     : NULL;
	return p && !p->ended && !p->failed ? p : NULL;
}

static void a_new_client(struct chaos *c)
{
	if (c->w->client_count + 2 >= GATE_PEERS)
		return;
	static const uint32_t windows[] = {0, 0, 1, 1000, 1 << 20, UINT32_MAX};
	const struct gate_peer_options o = {
	    .max_streams = pick(c, 3) ? 0 : 1 + pick(c, 3),
	    .window = windows[pick(c, 6)],
	    .no_push = pick(c, 4) == 0,
	    .keeps_credit = pick(c, 6) == 0,
	};
	gate_client(c->w, &o);
}

static void client_asks(struct chaos *c)
{
	static const char *const methods[] = {
	    "GET", "GET", "GET", "HEAD", "POST", "PUT", "OPTIONS"};
	static const char *const hosts[] = {
	    "example.com", "example.com", "b.example", "nobody.invalid:1"};
	struct gate_peer *p = some_client(c);
	if (!p || p->stream_count + 40 > GATE_PEER_STREAMS || session_request_room(p->h2) == 0)
		return;
	bool end = pick(c, 3) != 0;
	char path[32];
	snprintf(path, sizeof(path), "/%u", pick(c, 10));
	struct gate_stream *s =
	    gate_request(p, methods[pick(c, 7)], hosts[pick(c, 4)], path, end, NULL);
	if (!end)
		gate_more(s, pick(c, 2) ? pick(c, 100000) : 0, pick(c, 2) == 0);
	else
		s->out_end = true;
}

static void client_goes_on(struct chaos *c)
{
	struct gate_peer *p = some_client(c);
	struct gate_stream *s = some_stream(c, p);
	if (!s)
		return;
	switch (pick(c, 6)) {
	case 0:
		gate_reset_stream(s, pick(c, 12));
		break;
	case 1:
	case 2:
		if (!s->parent && !s->out_end)
			gate_more(s, pick(c, 30000), pick(c, 2) == 0);
		break;
	case 3:
		if (!s->parent && !s->out_end && s->out == 0) {
			s->out_end = true;
			gate_trailers(s);
		}
		break;
	case 4: {
		struct h2_settings settings = gate_peer_settings(&p->options, true);
		settings.max_concurrent_streams = pick(c, 4);
		settings.enable_push = pick(c, 2);
		settings.initial_window_size = pick(c, 100000);
		h2_update_settings(p->h2, &settings, net_now(c->w->loop));
		net_conn_dirty(p->net);
		break;
	}
	case 5:
		if (pick(c, 6) == 0)
			gate_shutdown(p);
		else if (pick(c, 6) == 0)
			gate_peer_abort(p);
		else if (pick(c, 20) == 0)
			gate_terminate(p, SESSION_PROTOCOL_ERROR);
		break;
	}
}

static void origin_promises(struct chaos *c, struct gate_stream *s)
{
	static const char *const hosts[] = {
	    "example.com", "example.com", "b.example", "nobody.invalid"};
	char path[32];
	if (s->parent || s->peer->stream_count + 40 > GATE_PEER_STREAMS)
		return;
	for (unsigned i = 0; i < 1 + pick(c, 4) && s->handle; i++) {
		snprintf(path, sizeof(path), "/p%u", pick(c, 20));
		gate_promise(s, "http", hosts[pick(c, 4)], path);
	}
}

static void origin_answers(struct chaos *c, struct gate_stream *s)
{
	static const unsigned statuses[] = {200, 200, 200, 404, 500, 301};
	if (s->status == SAID_NOTHING) {
		if (pick(c, 4) == 0) {
			gate_answer(s, 103, 0, false);
			return;
		}
		bool end = strcmp(s->method, "HEAD") == 0 || pick(c, 4) == 0;
		s->status = end ? SAID_END : SAID_HEAD;
		gate_answer_fields(s, statuses[pick(c, 6)], end, NULL);
	} else if (s->status == SAID_HEAD && pick(c, 4) == 0 && s->out == 0) {
		s->status = SAID_END;
		gate_trailers(s);
	} else if (s->status == SAID_HEAD) {
		bool end = pick(c, 2) == 0;
		s->status = end ? SAID_END : SAID_HEAD;
		gate_more(s, pick(c, 3) ? pick(c, 60000) : 0, end);
	}
}

static void origin_acts(struct chaos *c)
{
	struct gate_peer *p = some_origin(c);
	struct gate_stream *s = some_stream(c, p);
	if (!p)
		return;
	switch (pick(c, 12)) {
	case 0:
		if (s)
			gate_reset_stream(s, pick(c, 12));
		break;
	case 1:
	case 2:
		if (s)
			origin_promises(c, s);
		break;
	case 3:
		if (pick(c, 8) == 0)
			gate_shutdown(p);
		else if (pick(c, 12) == 0)
			gate_peer_abort(p);
		else if (pick(c, 20) == 0)
			gate_terminate(p, pick(c, 2) ? SESSION_NO_ERROR : SESSION_ENHANCE_YOUR_CALM);
		break;
	case 4: {
		struct h2_settings settings = gate_peer_settings(&p->options, false);
		settings.max_concurrent_streams = pick(c, 20);
		settings.initial_window_size = pick(c, 100000);
		h2_update_settings(p->h2, &settings, net_now(c->w->loop));
		net_conn_dirty(p->net);
		break;
	}
	default:
		if (s)
			origin_answers(c, s);
		break;
	}
}

static void a_site_comes_or_goes(struct chaos *c)
{
	uint32_t i = pick(c, GATE_SITES);
	if (pick(c, c->is_closed[i] ? 4 : 50) != 0 || c->w->sites[i].peer_count + 8 >= GATE_PEERS)
		return;
	if (c->is_closed[i])
		gate_site_open(&c->w->sites[i]);
	else
		gate_site_close(&c->w->sites[i]);
	c->is_closed[i] = !c->is_closed[i];
}

static void stream_behaves(struct gate_stream *s)
{
	gate_credit(s);
	if (!s->handle || s->out_end || s->status == SAID_END)
		return;
	bool is_origin = s->peer->site != NULL;
	if (is_origin && s->status == SAID_NOTHING)
		gate_answer(s, 200, 0, true);
	else if (is_origin || !s->parent)
		gate_more(s, 0, true);
}

static void peer_behaves(struct gate_peer *p)
{
	if (session_has_failed(p->h2)) /* it has said that it goes: at last it does */
		gate_peer_abort(p);
	if (p->ended)
		return;
	struct h2_settings settings = gate_peer_settings(&p->options, p->site == NULL);
	settings.max_concurrent_streams = 100;
	settings.initial_window_size = 1 << 20;
	h2_update_settings(p->h2, &settings, net_now(p->world->loop));
	p->options.keeps_credit = false;
	for (size_t i = 0; i < p->stream_count; i++)
		stream_behaves(p->streams[i]);
	net_conn_dirty(p->net);
}

static bool is_full(const struct gate_world *w)
{
	return w->sites[0].peer_count + 12 >= GATE_PEERS || w->sites[1].peer_count + 12 >= GATE_PEERS;
}

static void set_marks(struct gateway *g, size_t bytes)
{
	g->env.memory_high_bytes = bytes;
	g->pressure.low_bytes = bytes / 16 * 13;
}

/* Makes memory short, as if idle connections and stalled exchanges had been so for some time. */
static void memory_gets_short(struct chaos *c)
{
	struct gateway *g = c->w->gateway;
	list_for_each(&g->clients.conns, client, struct client_conn, link) if (client->quiet_since != USEC_NEVER)
	    client->quiet_since -= USEC_PER_SEC;
	list_for_each(&g->relay.live, x, struct exchange, link)
	{
		x->download.taken.last -= 2 * USEC_PER_SEC;
		x->upload.taken.last -= 2 * USEC_PER_SEC;
	}
	set_marks(g, g->env.budget.used_bytes - pick(c, (uint32_t)g->env.budget.used_bytes / 4 + 1));
}

/* From now on all peers read, end their streams and answer requests. */
static void all_peers_cooperate(struct chaos *c)
{
	struct gate_world *w = c->w;
	budget_fail_nth(&w->gateway->env.budget, 0);
	set_marks(w->gateway, SIZE_MAX);
	for (size_t i = 0; i < GATE_SITES; i++) {
		struct gate_site *site = &w->sites[i];
		if (c->is_closed[i])
			gate_site_open(site);
		site->options.max_streams = 0;
		site->serve = ok;
		for (size_t j = 0; j < site->peer_count; j++)
			peer_behaves(site->peers[j]);
	}
	for (size_t i = 0; i < w->client_count; i++)
		peer_behaves(w->clients[i]);
}

static size_t streams_alive(const struct gate_world *w)
{
	size_t n = 0;
	for (size_t i = 0; i < w->client_count; i++)
		for (size_t j = 0; j < w->clients[i]->stream_count; j++)
			n += w->clients[i]->streams[j]->handle != NULL && !w->clients[i]->ended &&
			     !w->clients[i]->failed;
	return n;
}

static void run(uint64_t seed, unsigned steps)
{
	static const char *const servers[] = {
	    NULL, "push-start-timeout = 5ms", "memory = 16M", "max-pushes-per-parent = 2"};
	static const char *const listens[] = {
	    NULL, "body-timeout = 5ms\nwrite-timeout = 10ms\nidle-timeout = 8ms"};
	static const char *const origins[] = {
	    NULL,
	    "max-connections = 1\nmax-queue = 3",
	    "queue-timeout = 5ms\nresponse-timeout = 10ms\nbody-timeout = 10ms\nidle-timeout = "
	    "3ms\nwrite-timeout = 10ms\nupload-linger = 2ms",
	    "push = accept",
	};
	struct chaos c = {.state = seed * 0x9e3779b97f4a7c15u + 1};
	const char *server = servers[pick(&c, 4)], *listen = listens[pick(&c, 2)],
		   *origin = origins[pick(&c, 4)];
	const char *more = seed % 5 == 4 ? "[route a]\norigin = a\n[route b]\nhost = b.example\norigin = b\n"
					   "[push hold]\naction = hold\n"
	    : seed % 7 == 3 ? "[route a]\norigin = a\nsubscription = yes\n"
					 : NULL;
	c.w = gate_world_new(server, listen, origin, more);
	uint32_t limit = pick(&c, 3) ? 0 : 1 + pick(&c, 5);
	c.w->sites[0].options.max_streams = limit;
	if (seed % 3 == 0) /* short of memory once in a while */
		budget_fail_nth(&c.w->gateway->env.budget, 1 + pick(&c, 200));
	a_new_client(&c);
	for (unsigned i = 0; i < steps && !is_full(c.w); i++) {
		if (seed % 2 == 0 && pick(&c, 100) == 0)
			memory_gets_short(&c);
		else if (pick(&c, 30) == 0)
			set_marks(c.w->gateway, SIZE_MAX);
		switch (pick(&c, 16)) {
		case 0:
			a_new_client(&c);
			break;
		case 1:
		case 2:
		case 3:
			client_asks(&c);
			break;
		case 4:
		case 5:
			client_goes_on(&c);
			break;
		case 6:
			a_site_comes_or_goes(&c);
			break;
		case 7:
		case 8:
		case 9:
		case 10:
		case 11:
			origin_acts(&c);
			break;
		default:
			net_run_once(c.w->loop, pick(&c, 40) == 0 ? USEC_PER_MSEC : 0);
			break;
		}
	}
	if (pick(&c, 3) == 0) {
		gate_world_drain(c.w, pick(&c, 2) ? 0 : 20 * USEC_PER_MSEC);
		if (pick(&c, 2))
			UNTIL(c.w, c.w->drained == 1);
	} else if (c.w->client_count < GATE_PEERS) {
		/* Nothing is stuck: what is under way comes to its end, long before any deadline. */
		all_peers_cooperate(&c);
		struct patience patience = {0};
		while (streams_alive(c.w) > 0) {
			patience_is_over(&patience);
			assert_true(patience.used < 8 * USEC_PER_SEC);
			net_run_once(c.w->loop, USEC_PER_MSEC);
		}
		/* And who comes now is served. */
		struct gate_peer *p = gate_client(c.w, NULL);
		struct gate_stream *s = gate_get(p, "/behaves");
		UNTIL(c.w, s->is_over);
		/* On a slow machine a limit of some milliseconds may be over before the origin has its turn. */
		if (origin != origins[2] || s->status != 504)
			assert_int_equal(s->status, 200);
	}
	gate_world_free(c.w);
}

static void random_clients_and_origins_are_survived(void **state)
{
	(void)state;
	const char *from = getenv("PUSHGATE_CHAOS_SEED"), *count = getenv("PUSHGATE_CHAOS_COUNT");
	uint64_t first = from ? strtoull(from, NULL, 10) : 1,
		 runs = count ? strtoull(count, NULL, 10) : 30;
	for (uint64_t seed = first; seed < first + runs; seed++) {
		if (from)
			fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
		run(seed, 1500);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(random_clients_and_origins_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
