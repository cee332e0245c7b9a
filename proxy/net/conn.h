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
/* More than the window of a connection (1 MiB by default) and what a socket holds besides: a peer
 * that was about to read why we close may rightly have had so much on its way. */
#define NET_DISCARD_BYTES (4u << 20)
/* What one connection may send in one loop pass before the others have theirs. */
#define NET_SEND_PER_PASS_BYTES 262144u
#define NET_OUT_SEGMENTS 64u

/* Our sending side, while OPEN; OPEN → ENDING → ENDED, by net_conn_finish. */
enum net_sending {
	NET_SENDING_OPEN,
	NET_SENDING_ENDING, /* the rest, close_notify and FIN are still to leave */
	NET_SENDING_ENDED,
};

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
struct net_unsent {
	struct net_unsent *next;
	size_t charge;
	uint32_t first, count;
	struct net_segment segments[];
};

/* Ciphertext that was read and not yet wanted. */
struct net_pending_input {
	size_t at, length;
	uint8_t data[];
};

struct net_out {
	struct net_conn *conn;
	size_t limit, filled;
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
	struct list dirty, recheck, owner_link;
	struct net_tls *tls;
	SSL *ssl;
	char *server_name; /* client */
	struct net_unsent *unsent;
	struct budget *budget; /* borrows: pays for the rest; NULL = nobody does */
	struct net_pending_input *pending_input;
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
	enum net_sending sending : 8;
	uint8_t pauses;       /* enum net_pause; CHUNK: waits in the loop's list */
	bool is_eof : 1;      /* the peer has ended */
	bool has_ended : 1;   /* `ended` was called */
	bool wants_flush : 1; /* made dirty, or finished, before it was open */
	bool has_alerted : 1; /* TLS failed with an alert sent: linger for it */
	bool has_sent_close_notify : 1;
	bool has_blocked : 1; /* since `blocked` was called last */
	bool is_tcp : 1;
};

/* conn.c */
void net_conn_arm(struct net_conn *c);
void net_conn_opened(struct net_conn *c);
/* Tells the owner, once; anything but the end of the peer's sending side fails the connection. */
void net_conn_end(struct net_conn *c, enum net_end end, const char *text);
void net_conn_end_errno(struct net_conn *c, enum net_end end, const char *what, int error);
void net_conn_die(struct net_conn *c);
void net_conn_reap(struct net_loop *l);
/* True while the handle is the owner's and the connection works. */
static inline bool net_conn_can_read(const struct net_conn *c)
{
	return c->phase == NET_PHASE_OPEN && c->pauses == 0 && !c->is_eof;
}
/* Comes back without an event. */
void net_conn_schedule_recheck(struct net_conn *c);
void net_conn_recheck(struct net_conn *c);

/* conn_read.c */
void net_conn_readable(struct net_conn *c);
void net_conn_deliver(struct net_conn *c, size_t length);
/* There is no chunk to read into: stops reading and tries again soon. */
void net_conn_wait_for_chunk(struct net_conn *c);
void net_chunk_retry_expired(void *loop);

/* conn_send.c */
void net_conn_flush(struct net_conn *c);
/* Puts the connection into the dirty list: it is flushed at the end of the loop pass. */
void net_conn_queue(struct net_conn *c);
/* Calls `blocked` if the connection became blocked since the last call. */
void net_conn_report_blocked(struct net_conn *c);
/* The socket takes again: sends what was left; true when nothing is left. False may mean that it
 * failed. */
bool net_conn_drain(struct net_conn *c);
/* Sends what TLS put into the loop's output buffer, or keeps it behind what is kept already. */
void net_conn_send_output(struct net_conn *c);
/* The same, but nobody is told when the socket fails. */
void net_conn_try_output(struct net_conn *c);
void net_unsent_drop(struct net_conn *c);
/* Another budget pays for it. */
void net_unsent_charge(struct net_conn *c, struct budget *budget);

/* conn_close.c */
/* Goes on with what net_conn_finish began, as far as the socket takes it. */
void net_conn_finish_step(struct net_conn *c);
void net_conn_close_step(struct net_conn *c);
void net_conn_discard(struct net_conn *c);
void net_closing_expired(void *loop);
/* Frees the descriptor of the closed connection that is nearest to its end. False: there is none. */
bool net_closing_free_descriptor(struct net_loop *l);

/* tls_conn.c */
void net_conn_tls_start(struct net_conn *c);
void net_conn_tls_readable(struct net_conn *c);
void net_conn_tls_begin(struct net_conn *c);
void net_conn_tls_finish(struct net_conn *c);
/* One or more records from contiguous plaintext, into the loop's output buffer. */
bool net_conn_tls_write(struct net_conn *c, const void *ptr, size_t len, size_t record_bytes);
void net_conn_tls_close_notify(struct net_conn *c);
void net_conn_tls_fail(struct net_conn *c, uint32_t code);

/* tls_bio.c */
BIO_METHOD *net_bio_method_new(void);
void net_bio_attach(struct net_conn *c);

#endif
