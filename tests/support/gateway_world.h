/* SPDX-License-Identifier: MIT */
/*
 * A whole gateway in one process and one loop. The test plays its clients and origins with our own HTTP/2 engine, over
 * loopback sockets. The test runs the loop until a condition holds (UNTIL), never for a fixed time.
 *
 * These peers keep to the protocol; tests/wire plays peers that violate it.
 */
#ifndef PUSHGATE_TESTS_GATEWAY_WORLD_H
#define PUSHGATE_TESTS_GATEWAY_WORLD_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/client/client_private.h"
#include "proxy/gateway/gateway_private.h"
#include "tests/support/h2_inside.h"
#include "proxy/origin/origin_private.h"
#include "proxy/upstream/destination.h"
#include "tests/support/patience.h"

#define GATE_SITES 2u
#define GATE_PEER_STREAMS 512u
#define GATE_PEERS 64u

struct gate_world;
struct gate_peer;
struct gate_site;

struct gate_stream {
	struct gate_peer *peer;
	struct session_stream *handle; /* NULL: dead */
	uint32_t id;
	char method[16], scheme[8], authority[128], path[256], via[256], status_error[256];
	unsigned status, interims, trailers;
	size_t received, unread; /* unread: bytes whose credit was withheld, see keeps_credit */
	uint8_t text[128];       /* the first bytes of the body */
	bool ended;              /* END_STREAM was received */
	bool was_reset, is_over;
	uint32_t code;
	bool unprocessed;
	struct gate_stream *parent; /* of a promise */
	struct http_head *head;     /* that came last: of a request, a promise or a response; NULL: none */
	/* The body that is still to be sent: this many bytes of 'x', then the end if out_end. */
	size_t out;
	bool out_end;
};

/* How a peer behaves; all zero: the defaults. */
struct gate_peer_options {
	uint32_t max_streams; /* 0: no limit; UINT32_MAX: 0 */
	uint32_t window;      /* 0: 65535 */
	bool no_push;         /* a client: ENABLE_PUSH=0 */
	bool is_silent;       /* neither reads nor sends */
	bool keeps_credit;    /* gives no stream credit for DATA */
	bool takes_tunnels;   /* an origin: ENABLE_CONNECT_PROTOCOL=1 */
	struct net_tls *tls;
	const char *server_name;
	const char *scheme; /* a client: of its requests; NULL: https over TLS, else http */
};

struct gate_peer {
	struct gate_world *world;
	struct gate_site *site; /* NULL: a client */
	struct net_conn *net;  /* NULL: closed */
	struct session *h2;
	struct h2_config config;
	struct session_env env;
	struct budget budget;
	struct gate_peer_options options;
	struct gate_stream *streams[GATE_PEER_STREAMS];
	size_t stream_count;
	size_t open_now, open_most; /* open requests (of an origin) or pushes (of a client) */
	unsigned settings_came;     /* SETTINGS frames received from the gateway */
	uint32_t enable_push;       /* in the gateway's first SETTINGS */
	bool ended, goaway_came, failed;
	uint32_t goaway_code;
};

struct gate_site {
	struct gate_world *world;
	int fd;
	uint16_t port;
	struct net_listener *listener;
	struct gate_peer_options options; /* of the peers that it accepts */
	struct gate_peer *peers[GATE_PEERS];
	size_t peer_count;
	/* Called for each request's head; NULL: the test answers each request itself. */
	void (*serve)(struct gate_stream *s);
	/* Takes a connection that does not speak HTTP/2; NULL: all do. */
	void (*adopt)(struct gate_site *site, int fd);
};

/* A question of the gateway's whether a password is right. */
struct gate_question {
	uint64_t id;
	uint32_t access;
	char name[256], password[256];
};

struct gate_world {
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct net_loop *loop;
	struct conf *conf;
	struct gateway *gateway;
	struct observe observe;
	struct observe_counters counters;
	struct gate_site sites[GATE_SITES];
	int fd;
	struct net_address at;
	struct gate_peer *clients[GATE_PEERS];
	size_t client_count;
	unsigned drained;
	/* Peers of another protocol (script_peer.h), freed with the world; NULL: there are none. */
	void *book;
	/* What the gateway has asked, all of it; asks_nobody: it cannot ask now. */
	struct gate_question questions[64];
	size_t question_count;
	bool asks_nobody;
	void (*free_book)(struct gate_world *w);
};

/*
 * The configuration has one [listen l], the origins a and b (both listening) and the text of `more`, in which "%A" stands
 * for the value of server of the first origin, "%B" of the second, "%a" and "%b" for its IP address and port. more NULL: a
 * route for any host to a. `server`, `listen`, `origin`: further lines of these sections, may be NULL; `origin` applies to
 * both origins.
 */
struct gate_world *gate_world_new(
    const char *server, const char *listen, const char *origin, const char *more);
/* The same with a gateway that speaks these protocols; NULL: those of the program. */
struct gate_world *gate_world_with(const struct session_protocol *const *protocols,
    const char *server, const char *listen, const char *origin, const char *more);
/* Worlds that are made from now on have this health table (borrows; NULL: none), as a worker has the other workers'. */
void gate_share_health(struct health_table *t);
/* The same for readiness. */
void gate_share_readiness(struct readiness *r);
/* The same with page records. */
void gate_share_pages(const struct waterfall *w);
/* The same with orders for servers. */
void gate_share_orders(struct server_orders *o);
void gate_world_free(struct gate_world *w); /* frees the gateway first, if it still exists */
void gate_world_free_gateway(struct gate_world *w);
void gate_world_drain(struct gate_world *w, usec span);
/* Closes the origin's listening socket, so that connects are refused; and opens it again. */
void gate_site_close(struct gate_site *site);
void gate_site_open(struct gate_site *site);

/* The first server of an origin, and one of its pools; and a connection to any origin, the first or the newest one
 * (NULL: there is none). */
struct server *gate_server(struct gate_world *w, size_t origin);
struct pool *gate_pool(struct gate_world *w, size_t origin, enum pool_kind kind);
struct origin_conn *gate_first_conn(struct gate_world *w);
struct origin_conn *gate_newest_conn(struct gate_world *w);
/* The origin has these servers from now on, in place of its own. */
void gate_set_servers(
    struct gate_world *w, size_t origin, const struct net_address *const *addresses, size_t count);
/* The address of an origin's site. */
const struct net_address *gate_site_address(struct gate_world *w, size_t origin);

struct gate_peer *gate_client(
    struct gate_world *w, const struct gate_peer_options *options); /* NULL: the defaults */
/* A plain socket connected to the listener, non-blocking. */
int gate_raw(struct gate_world *w);
void gate_peer_abort(struct gate_peer *p);
struct h2_settings gate_peer_settings(const struct gate_peer_options *options, bool is_client);

struct gate_stream *gate_get(struct gate_peer *p, const char *path);
struct gate_stream *gate_request(
    struct gate_peer *p, const char *method, const char *authority, const char *path, int end, ...);
/* An extended CONNECT; the gateway's SETTINGS must be there. */
struct gate_stream *gate_tunnel(struct gate_peer *p, const char *protocol, const char *path);
struct gate_stream *gate_tunnel_to(
    struct gate_peer *p, const char *protocol, const char *authority, const char *path);
/* A CONNECT to this host and port. */
struct gate_stream *gate_connect(struct gate_peer *p, const char *authority);
/* The newest stream with this path at an origin; NULL: none has arrived. */
struct gate_stream *gate_find(struct gate_world *w, const char *path);
struct gate_stream *gate_find_at(struct gate_peer *p, const char *path);
/* How many requests with this path the site has received. */
size_t gate_seen(const struct gate_site *site, const char *path);

void gate_answer(struct gate_stream *s, unsigned status, size_t body, bool end);
void gate_answer_fields(
    struct gate_stream *s, unsigned status, int end, ...); /* name, value, …, NULL */
void gate_more(struct gate_stream *s, size_t body, bool end);
void gate_trailers(struct gate_stream *s);
void gate_credit(struct gate_stream *s); /* gives the withheld credit */
void gate_reset_stream(struct gate_stream *s, uint32_t code);
struct gate_stream *gate_promise(
    struct gate_stream *parent, const char *scheme, const char *authority, const char *path);
/* The same with fields: name, value, …, NULL. */
struct gate_stream *gate_promise_fields(struct gate_stream *parent, const char *scheme,
    const char *authority, const char *path, ...);
void gate_shutdown(struct gate_peer *p);
void gate_terminate(struct gate_peer *p, enum session_code code);

/* Runs a number of loop passes without waiting: enough for all bytes on loopback to arrive. */
void gate_passes(struct gate_world *w);

/* Runs the loop until the condition holds; the test fails when it does not within 20 seconds. */
#define UNTIL(w, condition)                                                                        \
	do {                                                                                       \
		struct patience patience_ = {0};                                                   \
		while (!(condition)) {                                                             \
			if (patience_is_over(&patience_))                                          \
				fail_msg("never: %s", #condition);                                 \
			net_run_once((w)->loop, USEC_PER_MSEC);                                    \
		}                                                                                  \
	} while (0)

/* The password process answers a question. */
static inline bool gateway_password_answer(struct gateway *g, uint64_t id, bool is_right)
{
	return users_password_answer(gateway_users(g), id, is_right);
}

#endif
