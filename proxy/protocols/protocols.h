/* SPDX-License-Identifier: MIT */
/*
 * The protocols of the program, and all that their sessions need beside an engine: settings out of the
 * configuration, the choice of one for a connection, their output in sends, and the progress and the
 * silence of their peers. A protocol is a row (struct session_protocol): ALPN name, how its first bytes
 * look, and the constructors for both roles.
 */
#ifndef PUSHGATE_PROTOCOLS_PROTOCOLS_H
#define PUSHGATE_PROTOCOLS_PROTOCOLS_H

#include "proxy/conf/conf.h"
#include "proxy/net/net.h"
#include "proxy/protocols/peer_progress.h"
#include "proxy/protocols/peer_silence.h"
#include "proxy/session/session.h"

enum protocols_match {
	PROTOCOLS_MATCH_NO,
	PROTOCOLS_MATCH_MORE, /* more bytes are needed to decide */
	PROTOCOLS_MATCH_YES,
};

struct session_protocol {
	const char *alpn;     /* "h2" */
	const char *alpn_old; /* an older name, which clients alone may use; NULL: none */
	const char *name;     /* "HTTP/2", for people */
	/* The abilities of its sessions with origins, as far as they are known before one begins. */
	unsigned origin_capabilities; /* enum session_capability */
	/* The names of the faults that its sessions find, by row; NULL behind the last row. May be NULL: they find none. */
	const char *(*fault_name)(size_t row);
	/* Whether these first bytes of a cleartext connection belong to this protocol. NULL, as for_clients, where
	 * clients cannot speak it. */
	enum protocols_match (*match)(const uint8_t *bytes, size_t n);
	/* The settings of its sessions, each protocol's own struct; free() frees them. We are the server of
	 * clients. NULL from this and the next: conf->protocols leaves it out. */
	void *(*for_clients)(const struct conf_listen *conf);
	/* We are the client of an origin; push: its pushes are wanted. */
	void *(*for_origin)(const struct conf_origin *conf, bool push);
	/* Borrows config and env. */
	struct session *(*begin)(const void *config, const struct session_env *env,
	    const struct session_conn *conn, usec now);
};

/* A protocol, and its configuration for one listen section or one origin. */
struct session_plan {
	const struct session_protocol *protocol; /* NULL: behind the last */
	void *config;                            /* owned */
	size_t first_fault; /* the index of its row 0: the rows of the plans before it come first */
};

extern const struct session_protocol protocols_h2;    /* HTTP/2 (RFC 9113) */
extern const struct session_protocol protocols_http1; /* HTTP/1.1 and HTTP/1.0 (RFC 9112) */
/* No HTTP: the bytes of one tunnel. With origins alone, and not among protocols_all: a CONNECT has it. */
extern const struct session_protocol protocols_raw;
/* All protocols of the program, the preferred first, NULL at the end. */
extern const struct session_protocol *const protocols_all[];

/* Every protocol can be identified by this many first bytes. */
#define PROTOCOLS_MATCH_BYTES 24u
/* Enough for protocols_refusal. */
#define PROTOCOLS_REFUSAL_BYTES 256u
/* One plan for each protocol, in their order. */
struct session_plan *protocols_plans_for_clients(
    const struct session_protocol *const *protocols, const struct conf_listen *conf);
struct session_plan *protocols_plans_for_origin(
    const struct session_protocol *const *protocols, const struct conf_origin *conf, bool push);
void protocols_plans_free(struct session_plan *plans); /* NULL is fine */
/* The plan whose protocol these first bytes begin; NULL with *more false: no protocol's. */
const struct session_plan *protocols_match(
    const struct session_plan *plans, const uint8_t *bytes, size_t n, bool *more);
/* The plan whose protocol was agreed on by ALPN; NULL: none of ours. Empty: the peer does not know ALPN,
 * and speaks HTTP/1.1. */
const struct session_plan *protocols_by_alpn(const struct session_plan *plans, struct slice alpn);
/* How many faults these protocols know together. */
size_t protocols_fault_count(const struct session_protocol *const *protocols);
/* Writes the answer for a peer that speaks none of these protocols: a 505 response that it
 * understands if it speaks HTTP/1. Returns the length. */
size_t protocols_refusal(const struct session_plan *plans, char *text, size_t size);
/* The protocols' ALPN names, comma-separated, for the options of TLS contexts; for clients the old ones
 * too. */
void protocols_alpn_list(
    const struct session_plan *plans, bool for_clients, char *text, size_t size);

static inline struct session *protocols_begin(const struct session_plan *plan,
    const struct session_env *env, const struct session_conn *conn, usec now)
{
	struct session *s = plan->protocol->begin(plan->config, env, conn, now);
	s->first_fault = plan->first_fault;
	return s;
}

/* Puts the session's output into the send, as far as it has room. Returns whether it added any. */
bool protocols_fill(struct session *s, struct net_out *out);

/* The name behind an index when the program's protocols are spoken; NULL behind the last one. */
const char *protocols_fault_name(size_t index);

#endif
