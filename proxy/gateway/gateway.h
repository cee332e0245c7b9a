/* SPDX-License-Identifier: MIT */
/*
 * The data plane of one worker: it connects listeners, client connections, the relay and origin
 * connections. The worker gives it a loop, sockets and a const configuration; it has no globals.
 */
#ifndef PUSHGATE_GATEWAY_GATEWAY_H
#define PUSHGATE_GATEWAY_GATEWAY_H

#include "proxy/base/slice.h"
#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include "proxy/observe/observe.h"

struct admin_question;
struct gateway;
struct manifests;
struct ledger_view;
struct offer_manifest;
struct password_question;
struct remembered;
struct router_tables;
struct session_protocol;
struct users;
struct waterfall;

struct gateway_env {
	struct net_loop *loop;     /* borrows */
	struct chunk_pool *chunks; /* borrows: the pool that the loop reads into */
	const struct conf *conf;   /* borrows, const for the life of the gateway */
	struct observe *observe;   /* borrows */
	/* Borrows: of conf, until gateway_use_tables. NULL: this gateway makes its own. */
	const struct router_tables *tables;
	/* Borrows: shared by all workers. NULL: this gateway has a table of its own. */
	struct health_table *health_table;
	/* Borrows: for /readyz. NULL: this gateway has one of its own. */
	struct readiness *readiness;
	/* Borrows: what this worker sees of all others, for /metrics. NULL: itself alone. */
	const struct ledger_view *view;
	/* Borrows: page records of all workers. NULL: none are made. */
	const struct waterfall *pages;
	/* Borrows: open connections of all workers, a lane for each. NULL: no page shows them. */
	struct connection_lane *connections;
	uint32_t connection_lanes;
	/* Borrows: shared by all workers. NULL: no orders for servers are ever given. */
	struct server_orders *server_orders;
	/* Shared by all workers; lent until gateway_new returns. NULL: each listener has its own. */
	const struct net_tickets *tickets;
	/* The default name in Via is "pushgate-" and this number; the same in all workers. */
	uint32_t via_suffix;
	uint64_t seed;
	/* admission.memories, with its lane and seed; NULL: this gateway has tables of its own, and the seed is its own. */
	void *const *limit_memories;
	uint32_t limit_lane;
	uint64_t limit_seed;
	/* struct origins, with its context. */
	int (*demo_connect)(void *context, const struct conf_origin_server *server);
	void *demo_context;
	/* Takes a message for the process that owns the memory of pages (remembered/remembered.h). False: it is lost. NULL: this
	 * gateway owns its memory. */
	bool (*teach)(void *context, struct slice message);
	void *teach_context;
	uint64_t remembered_seed; /* with teach: of the owner's memory */
	/* admission.ask_password, with its context. */
	bool (*ask_password)(void *context, const struct password_question *q);
	void *ask_context;
	/* tracing.send, with its context. NULL: no request is recorded, and traceparent passes as it came. */
	bool (*send_span)(void *context, struct slice message);
	void *span_context;
	/* Borrows: of the key of the account at the authority of acme; "" while it is not known. NULL: no listener has acme. */
	const char *acme_thumbprint;
	/* Borrows: of that authority, over TLS. NULL: as above. */
	const struct net_challenge *acme_challenge;
	const struct net_key_log *key_log; /* borrows; NULL: no secret of TLS is written */
	/* admin_env.explain, with the gateway's manifests. NULL: nothing explains. */
	const char *(*explain)(void *context, const struct admin_question *q,
	    const struct manifests *manifests, FILE *out);
	void *explain_context;
	/* The HTTP versions that connections may speak; NULL: all of the program's. */
	const struct session_protocol *const *protocols;
};

/* Returns NULL and writes a message to error on failure, such as an unreadable certificate. */
struct gateway *gateway_new(const struct gateway_env *env, char *error, size_t error_size);
/* Accepts connections from the listening socket fd (borrows) for this [listen] section. */
void gateway_listen(struct gateway *g, const struct conf_listen *listen, int fd);
/* The configuration's sealed files have been exchanged (sealed_replace): begins to read those that have changed, for the
 * next handshakes. */
void gateway_renew_tls(const struct gateway *g);
/* Goes on. True: there is more to do in the next loop pass. A failure is a message in error, which is else left as it
 * was: what was read from that file before stays in use. */
bool gateway_renew_tls_step(const struct gateway *g, char *error, size_t error_size);
/* The next requests are routed by these tables, of the same routes: borrows them. Those of before are needed no more. Call
 * it from the loop. */
void gateway_use_tables(struct gateway *g, const struct router_tables *tables);
/* Replaces the at-th manifest of the configuration (manifests_configured); takes it. Call it from the
 * loop, or before the loop runs. */
void gateway_set_manifest(struct gateway *g, size_t at, struct offer_manifest *manifest);
/* The text of the hosts file, and of resolv.conf. They do nothing if no server has a name. Lent until they return. */
void gateway_set_hosts(struct gateway *g, struct slice text);
void gateway_set_resolv_conf(struct gateway *g, struct slice text);
/* The memory of pages, or the copy of it: what the owner has sent goes into it. NULL: no [preload NAME] remembers. Change it
 * from the loop, or before the loop runs. */
struct remembered *gateway_remembered(struct gateway *g);
/* For the answers of the process that hashes passwords (admission/admission.h). NULL: no [access NAME] section has users. */
struct users *gateway_users(struct gateway *g);
/* Another generation drains from now on: goes on with what that has last known of servers. */
void gateway_take_over(struct gateway *g);
/* Stops accepting, sends GOAWAY twice on every client connection, and calls drained(context) once
 * from the loop: after the last exchange, or after the deadline, when the exchanges left are
 * reset. */
void gateway_drain(struct gateway *g, usec deadline, void (*drained)(void *context), void *context);
/* Accepts all clients that wait at this listen section, whose sockets are about to be closed: they would be reset. */
void gateway_empty(struct gateway *g, size_t section);
/* Before gateway_drain: tunnels and subscriptions may go on until tunnel-drain-timeout, even beyond the deadline of
 * all else. */
void gateway_spare_long(struct gateway *g);

/* ---- access-recheck: open tunnels of an older worker, and the access rules of a newer one ---- */

/* Bytes of a tunnel's path, and of each of its other texts. */
#define GATEWAY_TUNNEL_PATH 32768u
#define GATEWAY_TUNNEL_TEXT 1024u

/* The facts of a tunnel that access rules look at. Everything is borrowed. */
struct gateway_tunnel {
	uint64_t id; /* of its exchange, in its worker */
	struct address client;
	bool is_forward; /* its listener is */
	bool is_connect; /* no protocol was asked for, as for a WebSocket */
	/* Forward mode: the address that it leads to; NULL: an upstream proxy knows. */
	const struct net_address *to;
	struct slice listener, user, scheme, authority, path;
	struct slice cert; /* client_certificate.names; empty: its client has shown none */
};

/* Asks about each tunnel that is open, and each that opens later, in place of what was asked before. ask returns false if
 * the question cannot be sent now. The answers come by gateway_recheck_answer, never before ask returns. ask NULL: no
 * answer comes any more. Call both from the loop. */
void gateway_recheck(
    struct gateway *g, bool (*ask)(void *context, const struct gateway_tunnel *t), void *context);
/* reason: why the tunnel is to end; "": it goes on. False: nothing was asked. */
bool gateway_recheck_answer(struct gateway *g, uint64_t id, const char *reason);
/* Whether tunnels were not judged yet. */
bool gateway_recheck_is_under_way(const struct gateway *g);
/* Judges a tunnel of another worker by the rules of the listener of that name and mode. NULL: it is allowed, or there is
 * no such listener. Else why not: a constant code. */
const char *gateway_judge_tunnel(const struct gateway *g, const struct gateway_tunnel *t);

/* Closes every connection at once and frees the gateway. */
void gateway_free(struct gateway *g);
/* `pushgate trace`, see clients_trace. Takes socket unless it returns false. */
bool gateway_trace(struct gateway *g, const struct cidr *from, usec until, int socket);
/* For the crash dump and the status page. Returns the length. */
size_t gateway_describe(const struct gateway *g, char *buffer, size_t size);

#endif
