/* SPDX-License-Identifier: MIT */
/*
 * The HTTP/2 engine (RFC 9113, tolerant of RFC 7540 peers): one connection, either role, as a session
 * (session/session.h). No I/O, no clock, no log: bytes and the time come in, events and bytes go out.
 *
 * A tunnel is the stream of a CONNECT that was answered with 2xx (RFC 9113 8.5). A CONNECT has `protocol`
 * if the server has announced that it takes it (enable_connect_protocol, RFC 8441). A client's HEAD event
 * with `opens_tunnel` begins the tunnel, a server's session_respond. From then on there is DATA alone, and each
 * direction ends by itself.
 *
 * Bugs of this program fail ensure().
 */
#ifndef PUSHGATE_H2_H2_H
#define PUSHGATE_H2_H2_H

#include "proxy/base/rate.h"
#include "proxy/session/session.h"

enum h2_role { H2_SERVER, H2_CLIENT };

const char *h2_fault_name(size_t index); /* NULL after the last */

/* RFC 9113 6.5.2, RFC 8441 3 and RFC 9218 2.1. */
struct h2_settings {
	uint32_t header_table_size;      /* 4096 */
	uint32_t enable_push;            /* 1 */
	uint32_t max_concurrent_streams; /* UINT32_MAX = no limit */
	uint32_t initial_window_size;    /* 65535 */
	uint32_t max_frame_size;         /* 16384 */
	uint32_t max_header_list_size;   /* UINT32_MAX = no limit */
	/* 0; a server's 1: requests may be a CONNECT with :protocol. A client's says nothing. */
	uint32_t enable_connect_protocol;
	uint32_t no_rfc7540_priorities; /* 0 */
};
/* The RFC's initial values. */
extern const struct h2_settings h2_settings_initial;

/*
 * Limits for one connection. Each rate has a row in guard.c with its fault (ENHANCE_YOUR_CALM on
 * the connection).
 */
struct h2_limits {
	/* Announced to the peer, besides the settings. */
	uint32_t connection_window; /* receive window of the connection, ≥ 65535 */
	/* Local resources. */
	uint32_t field_block_bytes;   /* ≤ LIMIT_FIELD_BLOCK_BYTES; above: ENHANCE_YOUR_CALM */
	uint32_t continuations;       /* in one block */
	uint32_t encoder_table_bytes; /* highest table size used, whatever the peer allows */
	uint32_t interim_responses;   /* client: of one request; above: the stream is reset */
	uint32_t reserved_streams;   /* client: promised and unanswered at a time; above: the engine
	                                   refuses with REFUSED_STREAM by itself */
	uint32_t control_bytes;      /* queued control output that the peer provoked (acks, pings,
	                                   resets); above: ENHANCE_YOUR_CALM */
	uint32_t request_list_bytes; /* client: of a request's fields, unless the peer announces
	                                   SETTINGS_MAX_HEADER_LIST_SIZE; UINT32_MAX: any */
	uint32_t output_bytes;       /* server: queued heads and promises; above: requests are
	                                   refused with REFUSED_STREAM, and interim responses left
	                                   out, until the peer has read */
	/* Floods. */
	struct rate resets_received; /* rapid reset (CVE-2023-44487) */
	struct rate resets_provoked; /* the peer's faults make us reset (CVE-2025-8671) */
	struct rate pings, settings, priorities, empty_frames, window_updates;
	struct rate promises; /* received promises */
	struct rate field_blocks;
	struct rate
	    expansion; /* server: KiB of fields beyond those of their blocks (RFC 7541 7.3) */
	/* Time. */
	usec preface_timeout;  /* server: the client's preface and first SETTINGS */
	usec settings_timeout; /* our SETTINGS to be acknowledged: SETTINGS_TIMEOUT */
	usec block_timeout;    /* HEADERS until END_HEADERS */
};
extern const struct h2_limits h2_limits_default;

/* The settings of all connections of one kind. */
struct h2_config {
	enum h2_role role;
	struct h2_settings settings;
	struct h2_limits limits;
};

#define H2_CAPABILITIES                                                                            \
	(SESSION_MULTIPLEXES | SESSION_SENDS_PUSHES | SESSION_TAKES_PUSHES | SESSION_TRAILERS |    \
	    SESSION_INTERIM | SESSION_PINGS | SESSION_HINTS | SESSION_TUNNELS | SESSION_CALLS)

/*
 * Makes a connection and queues its preface, SETTINGS, and the connection's WINDOW_UPDATE. A server
 * never announces ENABLE_PUSH (RFC 9113 6.5.2). config is a struct h2_config; borrows it, and env. The
 * budget pays for whatever a peer can make grow.
 */
struct session *h2_new(
    const void *config, const struct session_env *env, const struct session_conn *conn, usec now);
/* The peer closed its side of the transport: causes FAILED, unless the connection had ended. */
void h2_receive_eof(struct session *session);
uint32_t h2_stream_id(const struct session_stream *stream);

/* The frame types, flags and the 9-byte header for tests, trace and tools (RFC 9113 4.1, 6). */
enum h2_frame_type {
	H2_DATA = 0x0,
	H2_HEADERS = 0x1,
	H2_PRIORITY = 0x2,
	H2_RST_STREAM = 0x3,
	H2_SETTINGS = 0x4,
	H2_PUSH_PROMISE = 0x5,
	H2_PING = 0x6,
	H2_GOAWAY = 0x7,
	H2_WINDOW_UPDATE = 0x8,
	H2_CONTINUATION = 0x9,
	H2_PRIORITY_UPDATE = 0x10,
};
enum h2_flag {
	H2_END_STREAM = 0x1,
	H2_ACK = 0x1,
	H2_END_HEADERS = 0x4,
	H2_PADDED = 0x8,
	H2_HAS_PRIORITY = 0x20,
};
/* The client connection preface (RFC 9113 3.4). */
#define H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define H2_PREFACE_LEN 24u

#endif
