/* SPDX-License-Identifier: MIT */
/*
 * The connection as the files of net/ know it. Private to net/.
 *
 *   CONNECTING → HANDSHAKE → OPEN → DRAINING → LINGERING → DEAD
 *        └───────────┴─────────┴──→ FAILED ──→ (LINGERING) → DEAD
 *
 * The owner holds the handle in the first three phases and in FAILED; net_conn_close and
 * net_conn_abort take it back. A plain accepted socket starts OPEN; a connecting one without TLS
 * skips HANDSHAKE.
 */
#ifndef PUSHGATE_NET_CONN_H
#define PUSHGATE_NET_CONN_H

#include "proxy/net/loop.h"
#include "proxy/net/tls.h"
#include <sys/uio.h>

/* One send: five full records. Halved and more for a socket that does not keep up. */
#define NET_BATCH_BYTES 81920u
#define NET_BATCH_LEAST_BYTES 16384u
/* What one connection may send in one loop pass before the others have theirs. */
#define NET_SEND_PER_TURN_BYTES 262144u
#define NET_OUT_SEGMENTS 64u

enum net_phase {
	NET_PHASE_CONNECTING,
	NET_PHASE_HANDSHAKE,
	NET_PHASE_OPEN,
	NET_PHASE_FAILED,
	NET_PHASE_DRAINING,
	NET_PHASE_LINGERING,
	NET_PHASE_DEAD,
};

/* A run of bytes to send: in a chunk (one reference is ours), or in a buffer when chunk is NULL.
 * */
struct net_segment {
	struct chunk *chunk;
	size_t offset, length;
};

/* What a send left behind. Buffer segments point into the bytes behind the segments. */
struct net_rest {
	struct net_rest *next;
	size_t charge;
	uint32_t first, count;
	struct net_segment segments[];
};

/* Ciphertext that was read and not yet wanted. */
struct net_kept {
	size_t at, length;
	uint8_t data[];
};

struct net_out {
	struct net_conn *conn;
	size_t limit, taken;
	size_t gathered; /* TLS: bytes in the loop's record buffer */
	bool has_failed; /* TLS: a record could not be made */
	unsigned count;  /* plain: segments */
	struct net_segment segments[NET_OUT_SEGMENTS];
};

struct net_conn {
	struct net_loop *loop;
	const struct net_conn_ops *ops; /* NULL once the owner has let go */
	void *owner;
	ev_io io;
	struct list dirty, again, place;
	struct net_tls *tls;
	SSL *ssl;
	char *server_name; /* client */
	struct net_rest *rest;
	struct budget *budget; /* borrows: pays for the rest; NULL = nobody does */
	struct net_kept *kept;
	usec write_progress; /* last byte taken by the socket */
	usec blocked_since;  /* while there is a rest */
	uint64_t sent_bytes; /* taken by the socket */
	usec deadline;       /* while draining or lingering */
	uint64_t pass;       /* of the last flush */
	int fd;
	int connect_errno;
	uint32_t batch_bytes;
	uint32_t sent_since_idle_bytes;
	uint32_t discarded_bytes;
	enum net_phase phase : 8;
	bool is_reading : 1;  /* the owner wants bytes */
	bool is_eof : 1;      /* the peer has ended */
	bool is_starved : 1;  /* no chunk to read into: waits in the loop's list */
	bool has_ended : 1;   /* `ended` was called */
	bool wants_fill : 1;  /* made dirty before it was open */
	bool has_alerted : 1; /* TLS failed with an alert sent: linger for it */
	bool has_said_goodbye : 1;
	bool is_tcp : 1;
};

/* conn.c */
void net_conn_arm(struct net_conn *c);
void net_conn_opened(struct net_conn *c);
/* Tells the owner, once; anything but EOF fails the connection. */
void net_conn_end(struct net_conn *c, enum net_end end, const char *text);
void net_conn_end_errno(struct net_conn *c, enum net_end end, const char *what, int error);
void net_conn_die(struct net_conn *c);
void net_conn_reap(struct net_loop *l);
/* True while the handle is the owner's and the connection works. */
static inline bool net_conn_can_read(const struct net_conn *c)
{
	return c->phase == NET_PHASE_OPEN && c->is_reading && !c->is_eof && !c->is_starved;
}
/* Comes back without an event. */
void net_conn_again(struct net_conn *c);
void net_conn_look_again(struct net_conn *c);

/* conn_read.c */
void net_conn_readable(struct net_conn *c);
void net_conn_deliver(struct net_conn *c, size_t length);
/* There is no chunk to read into: stops reading and tries again soon. */
void net_conn_starve(struct net_conn *c);
void net_feeding_expired(void *loop);

/* conn_send.c */
void net_conn_flush(struct net_conn *c);
/* The socket takes again: sends what was left; true when nothing is left. False may mean that it
 * failed. */
bool net_conn_drain(struct net_conn *c);
/* Sends what TLS put into the loop's output buffer, or keeps it behind what is kept already. */
void net_conn_send_output(struct net_conn *c);
/* The same, but nobody is told when the socket fails. */
void net_conn_try_output(struct net_conn *c);
void net_rest_drop(struct net_conn *c);
/* Another budget pays for it. */
void net_rest_charge(struct net_conn *c, struct budget *budget);

/* conn_close.c */
void net_conn_close_step(struct net_conn *c);
void net_conn_discard(struct net_conn *c);
void net_closing_expired(void *loop);
/* Frees the descriptor of the closed connection that is nearest to its end. False: there is none. */
bool net_closing_give_way(struct net_loop *l);

/* tls_conn.c */
void net_conn_tls_start(struct net_conn *c);
void net_conn_tls_readable(struct net_conn *c);
void net_conn_tls_begin(struct net_conn *c);
void net_conn_tls_finish(struct net_conn *c);
/* One or more records from contiguous plaintext, into the loop's output buffer. */
bool net_conn_tls_write(struct net_conn *c, const void *ptr, size_t len, size_t record_bytes);
void net_conn_tls_goodbye(struct net_conn *c);
void net_conn_tls_fail(struct net_conn *c, uint32_t code);

/* tls_bio.c */
BIO_METHOD *net_bio_method_new(void);
void net_bio_attach(struct net_conn *c);

#endif
