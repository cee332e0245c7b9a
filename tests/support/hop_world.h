/* SPDX-License-Identifier: MIT */
/*
 * A whole hop in one process and one loop: clients and origins are peers of the test's own, with our engine, over
 * loopback sockets. The test turns the loop until a condition holds (UNTIL), never for a time.
 *
 * What a peer of the RFC would not do is not to be had here: tests/wire sends such things.
 */
#ifndef PUSHGATE_TESTS_HOP_WORLD_H
#define PUSHGATE_TESTS_HOP_WORLD_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/hop/private.h"

#define HOP_SITES 2u
#define HOP_PEER_STREAMS 512u
#define HOP_PEERS 64u

struct hop_world;
struct hop_peer;
struct hop_site;

struct hop_stream {
	struct hop_peer *peer;
	struct h2_stream *handle; /* NULL: dead */
	uint32_t id;
	char method[16], scheme[8], authority[128], path[256], via[256], status_error[256];
	unsigned status, interims, trailers;
	size_t received, unread; /* unread: kept credit, see keeps_credit */
	uint8_t text[128];       /* how the body began */
	bool ended;              /* END_STREAM came */
	bool was_reset, is_over;
	uint32_t code;
	bool unprocessed;
	struct hop_stream *parent; /* of a promise */
	/* What it still sends: so many bytes of 'x', and then the end. */
	size_t out;
	bool out_end;
};

/* What a peer announces; zero is the usual thing. */
struct hop_peer_options {
	uint32_t max_streams; /* 0: no limit; UINT32_MAX: 0 */
	uint32_t window;      /* 0: 65535 */
	bool no_push;         /* a client: ENABLE_PUSH=0 */
	bool is_silent;       /* reads and says nothing at all */
	bool keeps_credit;    /* gives no stream credit for DATA */
	struct net_tls *tls;
	const char *server_name;
};

struct hop_peer {
	struct hop_world *world;
	struct hop_site *site; /* NULL: a client */
	struct net_conn *net;  /* NULL: over */
	struct h2_conn *h2;
	struct budget budget;
	struct hop_peer_options options;
	struct hop_stream *streams[HOP_PEER_STREAMS];
	size_t stream_count;
	size_t open_now, open_most; /* requests (an origin) or pushes (a client) under way */
	unsigned settings_came;     /* SETTINGS frames of the hop's */
	uint32_t enable_push;       /* as the hop announced it first */
	bool ended, goaway_came, failed;
	uint32_t goaway_code;
};

struct hop_site {
	struct hop_world *world;
	int fd;
	uint16_t port;
	struct net_listener *listener;
	struct hop_peer_options options; /* of the peers that it accepts */
	struct hop_peer *peers[HOP_PEERS];
	size_t peer_count;
	/* Called when a request's head came; NULL: nobody answers by himself. */
	void (*serve)(struct hop_stream *s);
};

struct hop_world {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct net_loop *loop;
	struct conf *conf;
	struct hop *hop;
	struct observe observe;
	struct observe_counters counters;
	struct hop_site sites[HOP_SITES];
	int fd;
	struct net_address at;
	struct hop_peer *clients[HOP_PEERS];
	size_t client_count;
	unsigned drained;
};

/*
 * The configuration has one [listen l], the origins a and b (both listening) and what `more` says. In it "%A" is
 * the text of server = for the first origin, "%B" for the second, "%a" and "%b" its IP and port. NULL: a route for any host to a.
 * `server`, `listen`, `origin`: more lines for these sections, may be NULL; origin's are for both.
 */
struct hop_world *hop_world_new(
    const char *server, const char *listen, const char *origin, const char *more);
void hop_world_free(struct hop_world *w); /* the hop goes first, if it is still there */
void hop_world_free_hop(struct hop_world *w);
void hop_world_drain(struct hop_world *w, usec span);
/* The origin listens no more: connecting is refused; and again. */
void hop_site_close(struct hop_site *site);
void hop_site_open(struct hop_site *site);

struct hop_peer *hop_client(
    struct hop_world *w, const struct hop_peer_options *options); /* NULL: the usual */
/* A plain socket connected to the listener, non-blocking. */
int hop_raw(struct hop_world *w);
void hop_peer_abort(struct hop_peer *p);
struct h2_settings hop_peer_settings(const struct hop_peer_options *options, bool is_client);

struct hop_stream *hop_get(struct hop_peer *p, const char *path);
struct hop_stream *hop_request(
    struct hop_peer *p, const char *method, const char *authority, const char *path, int end, ...);
/* The stream of the origin that has this path, NULL if none came yet; the last one of several. */
struct hop_stream *hop_find(struct hop_world *w, const char *path);
struct hop_stream *hop_find_at(struct hop_peer *p, const char *path);
/* Request streams that the site has seen for this path. */
size_t hop_seen(const struct hop_site *site, const char *path);

void hop_answer(struct hop_stream *s, unsigned status, size_t body, bool end);
void hop_answer_fields(
    struct hop_stream *s, unsigned status, int end, ...); /* name, value, …, NULL */
void hop_more(struct hop_stream *s, size_t body, bool end);
void hop_trailers(struct hop_stream *s);
void hop_credit(struct hop_stream *s); /* what was kept back */
void hop_reset_stream(struct hop_stream *s, uint32_t code);
struct hop_stream *hop_promise(
    struct hop_stream *parent, const char *scheme, const char *authority, const char *path);
void hop_shutdown(struct hop_peer *p);
void hop_terminate(struct hop_peer *p, enum h2_code code);

/* So many turns without waiting: enough for everything that is under way on loopback. */
void hop_passes(struct hop_world *w);

/* Turns the loop until the condition holds; fails when it never does. */
#define UNTIL(w, condition)                                                                        \
	do {                                                                                       \
		usec since_ = clock_monotonic();                                                   \
		while (!(condition)) {                                                             \
			if (clock_monotonic() - since_ > 20 * USEC_PER_SEC)                        \
				fail_msg("never: %s", #condition);                                 \
			net_run_once((w)->loop, USEC_PER_MSEC);                                    \
		}                                                                                  \
	} while (0)

#endif
