/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1 and HTTP/1.0 (RFC 9112) on one connection, either role: a session (session/session.h), which
 * has one stream at a time. Strict, no I/O, no clock, no log: bytes and the time come in, events and
 * bytes go out. HTTP/1 has no codes: the peer learns of an error by an answer, or by the end
 * of the connection.
 *
 * One message is read at a time. Bytes that come behind it wait in the chunks that they came in,
 * and are looked at when the exchange before them is over: pipelined requests are answered in order, one
 * after the other. While session_is_full the owner should not read from the transport; bytes that it
 * gives to session_receive all the same are kept.
 *
 * A message's framing is decided once, by the rules of RFC 9112 6.3, from fields that are then taken
 * away: heads that leave this folder have no Connection, no Transfer-Encoding and nothing that the
 * sender nominated, their names are in lower case, the request line and the status line have become
 * pseudo-fields, and http_head_validate has accepted them. Heads that come here to be sent are such
 * heads too, and get the framing that the peer's version allows.
 *
 * A tunnel (RFC 9110 7.8, 9.3.6) is a request like any other until its answer. To the owner it is a
 * CONNECT, with `protocol` for an Upgrade, and its answer is a 2xx with `opens_tunnel`: a 101 on the
 * wire, where the request was an Upgrade. Then the bytes of both directions are DATA events and offers,
 * without framing, and each direction ends by itself: ours with session_has_finished, the peer's with a last
 * DATA event. Until the answer the client's bytes wait; after another answer they are dropped, and the
 * connection ends, so that none of them can be taken for a request.
 *
 * A server's head has `upgrade` when the request offers to change the protocol; the owner decides. A client's
 * session_request of a CONNECT with `protocol` is written as GET with Upgrade. The keys of WebSocket (RFC 6455
 * 1.3) are of one hop: they are made, checked and taken away here (struct h1_websocket).
 *
 * Bugs of this program fail ensure().
 */
#ifndef PUSHGATE_H1_H1_H
#define PUSHGATE_H1_H1_H

#include "proxy/session/session.h"

enum h1_role { H1_SERVER, H1_CLIENT };

const char *h1_fault_name(size_t index); /* NULL after the last */

struct h1_limits {
	uint32_t head_bytes; /* of one head on the wire, its first line included: 431, 414 */
	/* Of its fields as RFC 9113 6.5.2 counts them, the request's target among them: oversize. A target that is
	 * larger by itself: 414. */
	uint32_t list_bytes;
	uint32_t trailer_bytes;   /* of one trailer section on the wire */
	uint32_t extension_bytes; /* of all chunk extensions of one message */
	uint32_t window_bytes;    /* of a body that the owner has not credited yet; then is_full */
	uint32_t interim_responses; /* client: to one request */
	usec head_timeout;          /* server: from the first byte of a head to its end; 0: none */
};
extern const struct h1_limits h1_limits_default;

/* base64, and 0 behind it */
#define H1_WEBSOCKET_KEY 25
#define H1_WEBSOCKET_ACCEPT 29

/* Of the program, for all connections: randomness and SHA-1 are not this folder's. */
struct h1_websocket {
	void (*make_key)(char key[H1_WEBSOCKET_KEY]);
	void (*accept)(struct slice key, char accept[H1_WEBSOCKET_ACCEPT]);
};

/* The settings of all connections of one kind. */
struct h1_config {
	enum h1_role role;
	bool is_proxy; /* server: Host is ignored beside a whole URI (RFC 9112 3.2.2) */
	const struct h1_websocket *websocket; /* NULL: no WebSocket is opened or asked for */
	struct h1_limits limits;
};

#define H1_CAPABILITIES (SESSION_TRAILERS | SESSION_INTERIM | SESSION_TUNNELS)

/* Begins a connection. config is a struct h1_config; borrows it, and env. The budget pays for bytes that wait. */
struct session *h1_new(
    const void *config, const struct session_env *env, const struct session_conn *conn, usec now);

#endif
