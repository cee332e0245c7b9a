/* SPDX-License-Identifier: MIT */
/*
 * A connection. Private to net/.
 *
 *   CONNECTING → HANDSHAKE → OPEN → DRAINING → LINGERING → DEAD
 *        └───────────┴─────────┴──→ FAILED ──→ (LINGERING) → DEAD
 *
 * The owner has the handle in the first three phases and in FAILED, until net_conn_close or
 * net_conn_abort. A plain accepted socket starts in OPEN; a connecting one without TLS skips
 * HANDSHAKE.
 */
#ifndef PUSHGATE_NET_NET_CONN_H
#define PUSHGATE_NET_NET_CONN_H

#include "proxy/net/loop.h"
#include "proxy/net/tls.h"
#include <sys/uio.h>

/* The size of one send: five full records. Reduced for a socket that does not accept as much. */
#define NET_BATCH_BYTES 81920u
#define NET_BATCH_LEAST_BYTES 16384u
/* Bytes that a closed connection reads and discards at most. A well-behaved peer may have a
 * connection window (1 MiB by default) and a socket buffer on the way before it sees our GOAWAY. */
#define NET_DISCARD_BYTES (4u << 20)
/* Bytes that one connection may send in one loop pass before the others get to send. */
#define NET_SEND_PER_PASS_BYTES 262144u
#define NET_OUT_SEGMENTS 64u

/* The state of our sending side in phase OPEN; net_conn_finish moves it: OPEN → ENDING → ENDED. A send
 * that fails moves it to BROKEN from any of them, if the owner reads on (net_conn_ops.cannot_send). */
enum net_sending {
	NET_SENDING_OPEN,
	NET_SENDING_ENDING, /* unsent bytes, close_notify and FIN must still be sent */
	NET_SENDING_ENDED,
	NET_SENDING_BROKEN,
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

/* Bytes to send: in a chunk (one reference is ours), or, if that is NULL, in a buffer. */
struct net_segment {
	struct chunk *chunk;
	size_t offset, length;
};

/* Bytes of one send that the socket did not accept. Those without a chunk lie behind the segments. */
struct net_unsent {
	struct net_unsent *next;
	size_t charge;
	uint32_t first, count;
	struct net_segment segments[];
};

/* Ciphertext that was read from the socket but not yet given to the TLS library. */
struct net_pending_input {
	size_t at, length;
	uint8_t data[];
};

struct net_out {
	struct net_conn *conn;
	size_t limit, filled;
	size_t gathered; /* TLS: bytes in the loop's record buffer */
	bool has_failed; /* TLS: the library could not write a record */
	unsigned count;  /* plain: segments */
	struct net_segment segments[NET_OUT_SEGMENTS];
};

/* TLS on a connection. Without TLS `tls` and `ssl` are NULL. */
struct net_layer {
	struct net_tls *tls; /* a reference is ours */
	SSL *ssl;
	char *server_name; /* of a client; `ssl` borrows it */
};

struct net_conn {
	struct net_loop *loop;
	const struct net_conn_ops *ops; /* NULL after the owner's close or abort */
	void *owner;
	ev_io io;
	struct list dirty, recheck, owner_link;
	/* `outer` goes around `layer`: with the proxy of a tunnel (net_conn_start_tls). */
	struct net_layer layer, outer;
	const char *alpn; /* client: in place of the context's; borrows; NULL: that */
	struct net_unsent *unsent;
	struct budget *budget; /* borrows: pays for `unsent`; NULL: nothing is charged */
	struct net_pending_input *pending_input;
	struct net_postponed *postponed; /* turn.c */
	usec write_progress;             /* when the socket last accepted a byte */
	usec blocked_since;              /* valid while `unsent` is not NULL */
	uint64_t sent_bytes;             /* accepted by the socket */
	usec deadline;                   /* while draining or lingering */
	usec handshake_began;            /* of a client, the last one; 0: there was none */
	uint64_t pass;                   /* the loop pass of the last flush */
	int fd;
	int connect_errno;
	int send_errno; /* with NET_SENDING_BROKEN */
	uint32_t batch_bytes;
	uint32_t sent_since_idle_bytes;
	uint32_t discarded_bytes;
	enum net_phase phase : 8;
	enum net_sending sending : 8;
	uint8_t pauses;            /* enum net_pause; CHUNK: waits in the loop's list */
	bool is_eof : 1;           /* the peer has ended its sending side */
	bool has_ended : 1;        /* `ended` was called */
	bool wants_flush : 1;      /* became dirty, or was finished, before it was open */
	bool has_alerted : 1;      /* TLS failed and an alert was sent: linger until it arrives */
	bool has_close_notify : 1; /* the peer's was read while reading was paused */
	bool has_sent_close_notify : 1;
	bool has_blocked : 1; /* became blocked since the last call of `blocked` */
	bool is_tcp : 1;
};

/* net_conn.c */
void net_conn_arm(struct net_conn *c);
/* An option of the socket. One that does not have it works without it. */
void net_conn_set_option(const struct net_conn *c, int level, int name, int value);
void net_conn_opened(struct net_conn *c);
/* Calls `ended`, once; fails the connection unless only the peer's sending side has ended. */
void net_conn_end(struct net_conn *c, enum net_end end, const char *text);
void net_conn_end_errno(struct net_conn *c, enum net_end end, const char *what, int error);
/* The peer sees a failure in place of our FIN. Right before the descriptor is closed. */
void net_conn_forbid_fin(struct net_conn *c);
void net_conn_die(struct net_conn *c);
void net_conn_reap(struct net_loop *l);
/* True while the connection is open, reading is not paused and the peer has not ended. */
static inline bool net_conn_can_read(const struct net_conn *c)
{
	return c->phase == NET_PHASE_OPEN && c->pauses == 0 && !c->is_eof;
}
/* The same, and the owner has looked at all that was read. */
static inline bool net_conn_reads_on(const struct net_conn *c)
{
	return net_conn_can_read(c) && !c->postponed;
}
/* The next loop pass calls net_conn_recheck, even without an event on the socket. */
void net_conn_schedule_recheck(struct net_conn *c);
void net_conn_recheck(struct net_conn *c);

/* net_conn_read.c */
void net_conn_readable(struct net_conn *c);
void net_conn_deliver(struct net_conn *c, size_t length);
/* No chunk is free to read into: pauses reading and tries again soon. */
void net_conn_wait_for_chunk(struct net_conn *c);
void net_chunk_retry_expired(void *loop);

/* turn.c */
/* A connection has had its turn in this loop pass, and there is no time for another. */
bool net_turns_are_over(struct net_loop *l);
/* Whether the connection may read in this loop pass, or be opened; else it has its turn in the next one. */
bool net_conn_has_turn(struct net_conn *c);
/* Gives the owner the bytes that it has postponed. False: nothing more can be read now. */
bool net_conn_deliver_postponed(struct net_conn *c);
void net_conn_drop_postponed(struct net_conn *c);

/* net_conn_send.c */
void net_conn_flush(struct net_conn *c);
/* Puts the connection on the dirty list: it is flushed at the end of the loop pass. */
void net_conn_queue(struct net_conn *c);
/* Calls `blocked` if the connection became blocked since the last call. */
void net_conn_report_blocked(struct net_conn *c);
/* Sends the unsent bytes to a writable socket. False: some are left, or the connection has failed. */
bool net_conn_drain(struct net_conn *c);
/* Sends the loop's output buffer, which TLS has filled; the rest becomes unsent bytes. */
void net_conn_send_output(struct net_conn *c);
/* The same, but ignores an error of the socket. */
void net_conn_try_output(struct net_conn *c);
void net_unsent_drop(struct net_conn *c);
/* Moves the charge for the unsent bytes to another budget. */
void net_unsent_charge(struct net_conn *c, struct budget *budget);

/* net_conn_close.c */
/* Continues net_conn_finish: once nothing is unsent, sends close_notify, then FIN. */
void net_conn_finish_step(struct net_conn *c);
void net_conn_close_step(struct net_conn *c);
void net_conn_discard(struct net_conn *c);
void net_closing_expired(void *loop);
/* Frees the descriptor of the closed connection whose deadline is nearest. False: there is none. */
bool net_closing_free_descriptor(struct net_loop *l);

/* tls_conn.c */
void net_conn_tls_start(struct net_conn *c);
void net_conn_tls_readable(struct net_conn *c);
/* Writes contiguous plaintext as one or more records into the loop's output buffer. */
bool net_conn_tls_write(struct net_conn *c, const void *ptr, size_t len, size_t record_bytes);
void net_conn_tls_close_notify(struct net_conn *c);

/* tls_bio.c */
BIO_METHOD *net_bio_method_new(void);
BIO_METHOD *net_tunnel_bio_method_new(void);
void net_bio_attach(struct net_conn *c);
/* Bytes that the library has decrypted and not given out: no event tells of them. */
bool net_bio_has_input(const struct net_conn *c);

#endif
