/* SPDX-License-Identifier: MIT */
/*
 * Sockets, TLS and time: the only folder that names libev and BoringSSL. Everything here belongs
 * to one worker's loop; there are no threads and no globals.
 *
 * The discipline of one loop pass: read what came (at most LIMIT_READ_PER_PASS_BYTES from each
 * connection), let the owners act, then walk the dirty list once and let each dirty connection
 * leave in as few system calls as possible, then reap what was closed.
 */
#ifndef PUSHGATE_NET_NET_H
#define PUSHGATE_NET_NET_H

#include "proxy/base/budget.h"
#include "proxy/base/chunk.h"
#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include "proxy/base/list.h"
#include <sys/socket.h>

/* ---- loop ---- */

struct net_loop;

struct net_loop *net_loop_new(struct chunk_pool *chunks); /* borrows the pool */
void net_loop_free(struct net_loop *l);                   /* ensures that no connection is left */
usec net_now(const struct net_loop *l);                   /* monotonic, of this loop pass */
void net_run(struct net_loop *l);                         /* until net_stop */
void net_stop(struct net_loop *l);
/* One loop pass at most; waits no longer than `most` (tests). */
void net_run_once(struct net_loop *l, usec most);
/* Runs work(context) in the prepare step of each loop pass, before the dirty list is walked. One per
 * loop. */
void net_on_pass(struct net_loop *l, void (*work)(void *context), void *context);

/* What connections that were closed have not sent yet is charged to `budget` (borrows); NULL: to
 * nobody. */
void net_set_closing_budget(struct net_loop *l, struct budget *budget);

/*
 * A timer: one deadline, lazily re-armed: moving it later costs nothing. Embedded in its owner.
 */
struct net_timer {
	struct net_loop *loop;
	void (*expired)(void *context);
	void *context;
	usec deadline; /* USEC_NEVER = off */
	usec armed;    /* when it will look again */
	void *watcher; /* private */
};

void net_timer_init(
    struct net_timer *t, struct net_loop *l, void (*expired)(void *context), void *context);
void net_timer_set(struct net_timer *t, usec deadline);
void net_timer_fini(struct net_timer *t);

/* A file descriptor to watch for reading (pipes, control sockets). */
struct net_watch;
struct net_watch *net_watch_new(
    struct net_loop *l, int fd, void (*readable)(void *context), void *context);
void net_watch_free(struct net_watch *w); /* does not close fd; NULL is fine */

/* Calls back in the loop when the signal comes. */
struct net_signal;
struct net_signal *net_signal_new(
    struct net_loop *l, int signal, void (*came)(void *context), void *context);
void net_signal_free(struct net_signal *s); /* NULL is fine */

/* ---- addresses ---- */

struct net_address {
	struct sockaddr_storage storage;
	socklen_t length;
};

/*
 * "127.0.0.1:80", "[::1]:80", "*:80" (any address, dual stack), "unix:/path" (for listening and for
 * origins). Names are not accepted. NULL when fine, else what is wrong.
 */
const char *net_address_parse(struct slice text, struct net_address *a);
/* Resolves host (name or literal) once, blocking: for the start only. Writes at most `most`
 * addresses, returns how many; 0 and *error (a constant string) when none. */
size_t net_resolve(
    const char *host, uint16_t port, struct net_address *out, size_t most, const char **error);
/* "127.0.0.1:80"; returns buffer; NET_ADDRESS_TEXT bytes suffice. */
#define NET_ADDRESS_TEXT 128
char *net_address_format(const struct net_address *a, char *buffer, size_t size);
void net_address_ip(const struct net_address *a, struct address *ip);

/* ---- TLS ---- */

struct net_tls; /* a context; connections hold it, so its owner may free it before them */

struct net_certificate {
	const char *chain_file, *key_file; /* PEM */
};

struct net_tls_server_options {
	/* The first one is the default; by SNI otherwise (DNS names and one-label wildcards of the
	 * certificates); RSA and ECDSA for one name by the client's signature algorithms. */
	const struct net_certificate *certificates;
	size_t certificate_count;
	const char *alpn;          /* "h2": offered protocols, comma-separated, ours first */
	const uint8_t *ticket_key; /* 48 bytes shared by all workers, or NULL for a random one */
};

struct net_tls_client_options {
	const char *ca_file; /* NULL = the system's */
	bool verify;         /* chain and name */
	const char *alpn;
};

/*
 * TLS 1.2 and 1.3; for TLS 1.2 only the ECDHE AEAD suites that RFC 9113 9.2.2 and its appendix A
 * leave, no compression, no renegotiation. NULL on failure with a message in error (file and what
 * is wrong with it).
 */
struct net_tls *net_tls_server_new(
    const struct net_tls_server_options *o, char *error, size_t error_size);
struct net_tls *net_tls_client_new(
    const struct net_tls_client_options *o, char *error, size_t error_size);
void net_tls_free(struct net_tls *t);
/* Does a certificate of this server context cover the host name? (RFC 6125; IP addresses by
 * iPAddress). */
bool net_tls_covers(const struct net_tls *t, struct slice host);

/* ---- connections ---- */

struct net_conn;

/* What the owner puts into one send; see net_conn_ops.fill. */
struct net_out;
/* Bytes that still fit in this send. 0: stop filling. */
size_t net_out_room(const struct net_out *o);
/* Copies. More than the room is allowed and kept (frames are not torn), then the room is 0. */
void net_out_copy(struct net_out *o, const void *ptr, size_t len);
/* By reference on plain connections (holds the chunk until sent), copied once into the record with
 * TLS. */
void net_out_piece(struct net_out *o, struct piece piece);

enum net_end {
	NET_END_EOF, /* the peer ended its sending side: TLS close_notify, or FIN without TLS */
	NET_END_TRUNCATED, /* FIN on a TLS connection without close_notify: bytes may be missing */
	NET_END_ERROR,     /* ECONNRESET and the like */
	NET_END_CONNECT,   /* connect failed */
	NET_END_NO_ROUTE,  /* the same, as there is no way to the address */
	NET_END_TLS,       /* handshake or record failed; text says why */
	NET_END_CERTIFICATE, /* the same: the peer's certificate was not good enough for us */
	NET_END_ALERT,       /* the same: the peer has refused, by an alert */
};

static inline bool net_end_is_connect(enum net_end end)
{
	return end == NET_END_CONNECT || end == NET_END_NO_ROUTE;
}

static inline bool net_end_is_tls(enum net_end end)
{
	return end == NET_END_TLS || end == NET_END_CERTIFICATE || end == NET_END_ALERT;
}

struct net_conn_ops {
	/* Connected, and the TLS handshake is done: ALPN is known. Not called for adopted plain
	 * sockets whose net_conn_new returned: they are open at once. */
	void (*opened)(void *owner);
	/* Bytes came. The chunk is lent until the call returns: hold it to keep it. */
	void (*received)(void *owner, struct chunk *chunk, size_t offset, size_t length);
	/* The connection is dirty and can send: put in what there is, as much as has room. Called
	 * again while it fills anything and the socket takes it. */
	void (*fill)(void *owner, struct net_out *out);
	/* The peer ended or the connection failed; called once, never after net_conn_close or
	 * net_conn_abort. Only NET_END_EOF and NET_END_TRUNCATED leave the sending side open; a
	 * failure to send after them is not told. The owner closes or aborts in any case. */
	void (*ended)(void *owner, enum net_end end, const char *text);
	/* A send was not finished because the socket takes no more: the connection is blocked (see
	 * net_conn_blocked_since), and fill is not called until the socket has taken the rest. May
	 * be NULL. Called once each time an open connection becomes blocked: by the loop, after it
	 * has flushed the connection, or after it has read from it if TLS itself had something to
	 * send. Never called within a call of the owner's, nor within another of these functions.
	 * The owner may close or abort in it. Bytes of the handshake that still wait when the
	 * connection opens are told of after `opened`. */
	void (*blocked)(void *owner);
};

/* Adopts a connected socket (accepted, or one end of a pair) that does not block. tls NULL = plain;
 * a server context makes us the TLS server. Takes fd. */
struct net_conn *net_conn_new(
    struct net_loop *l, int fd, struct net_tls *tls, const struct net_conn_ops *ops, void *owner);
/* Connects. server_name: SNI and the name to verify (host name or IP literal without brackets), may
 * be NULL for plain. Never fails at once: `ended` comes from the loop. */
struct net_conn *net_connect(struct net_loop *l, const struct net_address *to, struct net_tls *tls,
    const char *server_name, const struct net_conn_ops *ops, void *owner);

/* There is something to send: puts it on the dirty list (at the end of this loop pass `fill` is called).
 * Cheap when it is there already. */
void net_conn_dirty(struct net_conn *c);
/* What a socket does not take is charged to `budget` (borrows) as long as the owner has the handle,
 * and to the loop's after that. */
void net_conn_set_budget(struct net_conn *c, struct budget *budget);
/* Why a connection is not read from (back-pressure): one bit for each reason. */
enum net_pause {
	NET_PAUSE_MEMORY = 1, /* the worker is short of memory */
	NET_PAUSE_PEER = 2,   /* the connection that the bytes go to does not take more */
	NET_PAUSE_CHUNK = 4,  /* no chunk to read into; for net/ alone, which tries again soon */
};
/* Reads nothing as long as any reason holds; the end of one reason does not undo another. May be
 * called at any time: what is set right after net_conn_new or net_connect holds from the first byte
 * on (a TLS handshake goes on all the same). */
void net_conn_pause_reading(struct net_conn *c, enum net_pause reason);
void net_conn_resume_reading(struct net_conn *c, enum net_pause reason);
/* Ends our sending side alone: what was put in leaves, then close_notify and FIN. `fill` is not
 * called any more; called within fill, what that fill has put in still leaves. `received`, `ended`
 * and `blocked` go on. A connection that is not open yet ends its sending side when it opens. Does
 * nothing when called again or after a failure. The owner still closes or aborts. */
void net_conn_finish(struct net_conn *c);
/* Orderly: sends what was put in already, close_notify, FIN; reads and discards for a short while
 * so that the last bytes are not lost to a RST. The owner is called no more; the handle is dead
 * for it at once. What was not put in by then is not asked for; a connection that is not open yet
 * is aborted. */
void net_conn_close(struct net_conn *c);
/* At once, without a word. Handle dead at once. */
void net_conn_abort(struct net_conn *c);

/* True while the socket does not take more (armed for writing). */
bool net_conn_is_blocked(const struct net_conn *c);
/* Since when it has been so; USEC_NEVER: it is not. */
usec net_conn_blocked_since(const struct net_conn *c);
/* Bytes that the peer's TCP has acknowledged, TLS and all; without TCP those that the socket took.
 * Costs a system call. */
uint64_t net_conn_delivered(const struct net_conn *c);
bool net_conn_is_open(const struct net_conn *c); /* opened and not ended */
bool net_conn_is_tls(const struct net_conn *c);
struct slice net_conn_alpn(const struct net_conn *c); /* empty when none */
/* Client: does the verified certificate of the peer cover this host? */
bool net_conn_peer_covers(const struct net_conn *c, struct slice host);
const char *net_conn_tls_version(const struct net_conn *c); /* "TLSv1.3", "" for plain */
/* Asks the kernel. False: the connection is not open, or is over; *peer is empty then. */
bool net_conn_peer(const struct net_conn *c, struct net_address *peer);
/* From TCP_INFO; 0 when unknown. */
uint32_t net_conn_rtt_usec(const struct net_conn *c);

/* ---- digests ---- */

#define NET_HMAC_BYTES 32
/* HMAC-SHA256 (RFC 2104). */
void net_hmac(struct slice key, struct slice text, uint8_t out[NET_HMAC_BYTES]);

/* ---- listeners ---- */

/* Binds and listens (SO_REUSEADDR, SO_REUSEPORT for TCP; an old unix socket file that nobody
 * answers on is replaced). Non-blocking, close-on-exec off so that it survives fork; -1 and *error
 * otherwise. For the master. */
int net_listen(const struct net_address *at, int backlog, const char **error);

struct net_listener;
/*
 * Accepts from fd (borrows) and hands each socket over. When the system is short of something
 * (EMFILE, ENFILE, ENOBUFS, ENOMEM) it pauses for 100 ms, doubling to 1 s, and those who wait stay in
 * the kernel's queue. `paused` (may be NULL) hears of it once, until the queue was emptied again.
 *
 * A sixteenth of the process's descriptors (RLIMIT_NOFILE when the listener is made) is not for
 * clients: accepting pauses when only these are left, so that whoever was accepted can be served.
 * Before it does, closed connections that still linger, or whose last bytes nobody takes, give their
 * descriptors up.
 */
struct net_listener *net_listener_new(struct net_loop *l, int fd,
    void (*accepted)(void *context, int fd, const struct net_address *peer),
    void (*paused)(void *context, int error), void *context);
void net_listener_free(struct net_listener *n); /* NULL is fine */
/* Closes a socket that was handed over and is not wanted. Takes fd. */
void net_refuse(int fd);

#endif
