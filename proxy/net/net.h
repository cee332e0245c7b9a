/* SPDX-License-Identifier: MIT */
/*
 * Sockets, TLS and time: the only folder that names libev and BoringSSL. Everything here belongs
 * to one worker's loop; there are no threads and no globals.
 *
 * One loop pass: read from the ready connections (at most LIMIT_READ_PER_PASS_BYTES from each, and from
 * no further one after NET_PASS_USEC) and call their owners; then walk the dirty list once and send each
 * connection's output in as few system calls as possible; then free the closed connections.
 */
#ifndef PUSHGATE_NET_NET_H
#define PUSHGATE_NET_NET_H

#include "proxy/base/budget.h"
#include "proxy/base/chunk.h"
#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include "proxy/base/list.h"
#include "proxy/net/client_auth.h"
#include "proxy/net/client_hello.h"
#include "proxy/net/key.h"
#include "proxy/net/pem_file.h"
#include "proxy/net/tls_parameters.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* ---- loop ---- */

struct net_loop;

struct net_loop *net_loop_new(struct chunk_pool *chunks); /* borrows the pool */
void net_loop_free(struct net_loop *l);                   /* ensures that no connection is left */
usec net_now(const struct net_loop *l);                   /* monotonic; constant in a loop pass */
void net_run(struct net_loop *l);                         /* until net_stop */
void net_stop(struct net_loop *l);
/* One loop pass at most; waits no longer than `most` (tests). */
void net_run_once(struct net_loop *l, usec most);
/* Calls work(context) in each loop pass, before the dirty list is walked. A loop has one callback. */
void net_on_pass(struct net_loop *l, void (*work)(void *context), void *context);

/* After this time in a loop pass the other connections wait for the next pass to be read from. */
#define NET_PASS_USEC USEC_PER_MSEC
/* A loop pass that takes longer delays every connection of the worker. */
#define NET_LONG_PASS_USEC (5 * USEC_PER_MSEC)
/* Calls report(context) at the end of each loop pass that took longer, with the time since the end of
 * its poll and the last note. `note`: a string literal, NULL if there is none. */
void net_on_long_pass(
    struct net_loop *l, void (*report)(void *context, usec took, const char *note), void *context);
/* Names the work of this loop pass that may take long. `note`: a string literal. */
void net_note(struct net_loop *l, const char *note);

/* Whether connections that their owners have closed still send, or wait for their peers' end (for a second at most). */
bool net_is_closing(const struct net_loop *l);
/* Charges the unsent bytes of closed connections to `budget` (borrows); NULL: charges nothing. */
void net_set_closing_budget(struct net_loop *l, struct budget *budget);

/* A timer with one deadline, embedded in its owner. Moving the deadline later costs nothing. */
struct net_timer {
	struct net_loop *loop;
	void (*expired)(void *context);
	void *context;
	usec deadline; /* USEC_NEVER: off */
	usec armed;    /* when libev's timer fires; at the deadline or earlier */
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
/* Calls came(context) from the loop when the process receives the signal. */
struct net_watch *net_watch_signal(
    struct net_loop *l, int signal, void (*came)(void *context), void *context);
void net_watch_free(struct net_watch *w); /* does not close fd; NULL is fine */

/* ---- addresses ---- */

/* The longest is that of a Unix socket, for which the system may count one byte behind its path. */
#define NET_ADDRESS_BYTES (sizeof(struct sockaddr_un) + 1)

struct net_address {
	union {
		uint8_t bytes[NET_ADDRESS_BYTES];
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	};
	socklen_t length;
};

/*
 * "127.0.0.1:80", "[::1]:80", "*:80" (any address, dual stack), "unix:/path" (for listening and for
 * origins). Names are not accepted. Returns NULL, or the error as text.
 */
const char *net_address_parse(struct slice text, struct net_address *a);
/* Resolves host (name or literal) once, blocking: for commands, never for a process that serves. Writes at
 * most `most` addresses and returns their number; on failure 0, with *error a constant string. */
size_t net_resolve(
    const char *host, uint16_t port, struct net_address *out, size_t most, const char **error);
/* Writes the form "127.0.0.1:80" and returns buffer; NET_ADDRESS_TEXT bytes suffice. */
#define NET_ADDRESS_TEXT 128
char *net_address_format(const struct net_address *a, char *buffer, size_t size);
void net_address_ip(const struct net_address *a, struct address *ip);
void net_address_set_ip(struct net_address *a, const struct address *ip, uint16_t port);
bool net_address_equal(const struct net_address *a, const struct net_address *b);
uint16_t net_address_port(const struct net_address *a); /* 0 for a unix socket */
/* 0.0.0.0 or ::, which listen for all addresses of the machine. */
bool net_address_is_any(const struct net_address *a);
/* Whether two sockets cannot listen on both at the same time. [::] takes the ports of IPv4 too: it is dual stack. */
bool net_address_overlaps(const struct net_address *a, const struct net_address *b);

/* The address that a socket is connected to. False, with *peer empty: to none. */
bool net_peer_of(int fd, struct net_address *peer);
/* The own addresses that connections begin at, with port 0. Length 0: none of the family. None of both: the kernel
 * chooses. */
struct net_source {
	struct net_address ipv4, ipv6;
};
bool net_source_is_given(const struct net_source *s);
/* Whether a connection to this address can begin there. Unix sockets need no source. */
bool net_source_reaches(const struct net_source *s, const struct net_address *to);

/* ---- datagrams ---- */

/* Longer datagrams are cut off there. */
#define NET_DATAGRAM_BYTES 4096
/*
 * A UDP socket of its own, with a port that the kernel has chosen at random, that receives from `peer` alone.
 * `received` is called with each datagram, or with the error of one that was sent (errno: ECONNREFUSED); it may
 * free the socket. NULL: there is no route, or no descriptor.
 */
struct net_datagram;
struct net_datagram *net_datagram_new(struct net_loop *l, const struct net_address *peer,
    void (*received)(void *context, struct slice bytes, int error), void *context);
void net_datagram_free(struct net_datagram *d); /* NULL is fine */
bool net_datagram_send(struct net_datagram *d, struct slice bytes);
/* The address from which the kernel would send to this one. False: it has no route. Sends nothing. */
bool net_route_source(const struct net_address *to, struct address *source);

/* ---- digests ---- */

/* HMAC-SHA256 (RFC 2104). */
void net_hmac(struct slice key, struct slice text, uint8_t out[NET_HMAC_BYTES]);
#define NET_SHA1_BYTES 20
/* SHA-1 (FIPS 180-4), for protocols in which it protects nothing. */
void net_sha1(struct slice text, uint8_t out[NET_SHA1_BYTES]);

/* ---- TLS ---- */

struct net_tls; /* a context; connections hold it, so its owner may free it before them */

/* A certificate with its chain, and its key. Without key_file: a bundle, which has any number of both. */
struct net_certificate {
	const char *chain_file, *key_file; /* PEM */
};

const char *net_tls_library(void); /* "BoringSSL" */

struct net_tls_server_options {
	/* Chosen by SNI (DNS names and one-label wildcards of the certificates, an exact name before a
	 * wildcard); the first one is the default. If an RSA and an ECDSA certificate cover the name,
	 * the client's signature algorithms decide. */
	const struct net_certificate *certificates;
	size_t certificate_count;
	const char *alpn; /* "h2": accepted protocols, comma-separated, preferred first */
	/* Copied; workers that are given the same ones resume each other's sessions. NULL: random. */
	const struct net_tickets *tickets;
	const struct sealed *files; /* the files are read from there; NULL: from the disk */
	const char *ticket_file;    /* in place of `tickets`; NULL: there is none */
	const struct net_tls_parameters
	    *parameters;                       /* copied, its texts borrowed; NULL: the defaults */
	const struct net_challenge *challenge; /* borrowed; NULL: there never is one */
	const struct net_key_log *key_log;     /* borrowed; NULL: no secret is written anywhere */
};

struct net_tls_client_options {
	const char *ca_file; /* NULL = the system's */
	bool verify;         /* chain and name */
	const char *alpn;
	const struct sealed *files; /* as above */
	const struct net_key_log *key_log;
};

/* The file of the authorities that the system trusts. */
#define NET_SYSTEM_CA_FILE "/etc/ssl/certs/ca-certificates.crt"

/*
 * TLS 1.2 and 1.3; for TLS 1.2 only the ECDHE AEAD suites that RFC 9113 9.2.2 and appendix A allow,
 * no compression, no renegotiation. On failure NULL, with the file and the reason in error.
 */
struct net_tls *net_tls_server_new(
    const struct net_tls_server_options *o, char *error, size_t error_size);
struct net_tls *net_tls_client_new(
    const struct net_tls_client_options *o, char *error, size_t error_size);
/*
 * Reads the files of the options again, whose texts must still be there. The next handshake uses them; connections that
 * have had theirs go on. False with a message: a file cannot be used, and all is as before.
 */
bool net_tls_renew(struct net_tls *t, const struct sealed *files, char *error, size_t error_size);
/*
 * The same for a server in steps, of which each ends after this time (clock_monotonic), or a single certificate: reading
 * a thousand takes too long for a loop pass. Until the last step all is as before; `files` must still be there.
 */
void net_tls_renew_begin(struct net_tls *t, const struct sealed *files);
/* True: there is more to do. A failure is a message in error, which is else left as it was. */
bool net_tls_renew_step(struct net_tls *t, usec until, char *error, size_t error_size);
void net_tls_free(struct net_tls *t);
/* Erases old ticket keys of a server's context. Call it now and then: without clients nothing else does. */
void net_tls_advance_tickets(struct net_tls *t);
/* Whether a certificate of this server context covers the host (RFC 6125; IP addresses by iPAddress). */
bool net_tls_covers(const struct net_tls *t, struct slice host);
/* Certificates of this server context: those of the options in their order, and in place of a bundle all that it has. */
size_t net_tls_certificate_count(const struct net_tls *t);
/* Whether certificate number i covers the host. For "*.example.com": some name below example.com. */
bool net_tls_certificate_covers(const struct net_tls *t, size_t i, struct slice host);

/* ---- connections ---- */

struct net_conn;

/* The bytes of one send, which the owner fills in; see net_conn_ops.fill. */
struct net_out;
/* Bytes that still fit in this send. 0: stop filling. */
size_t net_out_room(const struct net_out *o);
/* Adds a copy of the bytes. May exceed the room, which is 0 then, so that a frame is never split. */
void net_out_copy(struct net_out *o, const void *ptr, size_t len);
/* Adds a piece of a chunk: by reference on plain connections (the chunk is held until it is sent), as a
 * copy with TLS. */
void net_out_piece(struct net_out *o, struct piece piece);

enum net_end {
	NET_END_EOF, /* the peer ended its sending side: TLS close_notify, or FIN without TLS */
	NET_END_TRUNCATED, /* FIN on a TLS connection without close_notify: bytes may be missing */
	NET_END_ERROR,     /* ECONNRESET and the like */
	NET_END_CONNECT,   /* connect failed */
	NET_END_NO_ROUTE,  /* connect failed because there is no route to the address */
	NET_END_TLS,       /* the handshake or a record failed; text says why */
	NET_END_CERTIFICATE, /* the handshake failed: we do not accept the peer's certificate */
	NET_END_ALERT,       /* TLS failed: the peer sent an alert */
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
	/* Connected, and the TLS handshake is done: ALPN is known. Not called for plain sockets
	 * given to net_conn_new: they are open at once. */
	void (*opened)(void *owner);
	/* Bytes were read. The chunk is lent until the call returns: use chunk_hold to keep it. */
	void (*received)(void *owner, struct chunk *chunk, size_t offset, size_t length);
	/* The connection is dirty and can send: add output to `out`, as far as it has room. Called
	 * again as long as it adds anything and the socket accepts it. */
	void (*fill)(void *owner, struct net_out *out);
	/* The peer ended or the connection failed; called once, never after net_conn_close or
	 * net_conn_abort. Only NET_END_EOF and NET_END_TRUNCATED leave the sending side open; a
	 * failure after them is not reported: see net_conn_is_lost. The owner must still close or
	 * abort. */
	void (*ended)(void *owner, enum net_end end, const char *text);
	/* The socket is full in the middle of a send: the connection is blocked (see
	 * net_conn_blocked_since), and fill is not called until the unsent bytes have left. Called
	 * once each time that an open connection becomes blocked, or after `opened` if it is blocked
	 * then; never within a call of the owner's, nor within another of these functions. The owner
	 * may close or abort in it. May be NULL. */
	void (*blocked)(void *owner);
	/* A send failed because the peer has closed the connection, or reset it. Bytes that it sent
	 * before are still read, and `ended` follows: with NET_END_ERROR if the reset came before the
	 * peer's FIN, else as without a reset. fill is not called any more. The owner may close or
	 * abort in it. NULL: the failure ends the connection at once, with NET_END_ERROR. */
	void (*cannot_send)(void *owner, const char *text);
};

/* Adopts a connected socket (accepted, or one end of a pair) that does not block. tls NULL = plain;
 * a server context makes us the TLS server. Takes fd. */
struct net_conn *net_conn_new(
    struct net_loop *l, int fd, struct net_tls *tls, const struct net_conn_ops *ops, void *owner);
/* Connects. server_name: SNI and the name to verify (host name or IP literal without brackets); may
 * be NULL for plain. Always returns a connection; a failure is reported by `ended` from the loop. */
struct net_conn *net_connect(struct net_loop *l, const struct net_address *to, struct net_tls *tls,
    const char *server_name, const struct net_conn_ops *ops, void *owner);
/* The same from an address of the source. To an address of a family of which the source has none, it fails. */
struct net_conn *net_connect_from(struct net_loop *l, const struct net_source *from,
    const struct net_address *to, struct net_tls *tls, const char *server_name,
    const struct net_conn_ops *ops, void *owner);

/* Right after net_connect: these bytes are sent before all others, a TLS handshake included. Copies them. */
void net_conn_send_first(struct net_conn *c, const void *bytes, size_t count);

/* A TLS client right after net_connect: offers this protocol alone, whatever the context has. Borrows the
 * text for the life of the connection. */
void net_conn_set_alpn(struct net_conn *c, const char *alpn);

/* Goes on as a TLS client, from the peer's next byte on; `opened` is called again. For a tunnel that a proxy has
 * opened: if the connection to the proxy is over TLS already, the new TLS is within it. The connection is ours and
 * open, and has no unsent bytes. Once in the life of a connection. */
void net_conn_start_tls(struct net_conn *c, struct net_tls *tls, const char *server_name);

/* The owner has output: puts the connection on the dirty list, so that `fill` is called at the end of
 * this loop pass. Cheap when the connection is on the list already. */
void net_conn_dirty(struct net_conn *c);
/* Charges the connection's unsent bytes to `budget` (borrows) until the owner closes the connection;
 * from then on the loop's closing budget pays. */
void net_conn_set_budget(struct net_conn *c, struct budget *budget);
/* For an owner whose work exceeds the bytes that it received, as fields from HPACK's table do. A unit of effort counts
 * as a byte. The loop reads the clock only after some of it. */
void net_worked(struct net_loop *l, size_t bytes);
/* Within `received`, for bytes that may wait: if the loop pass has taken NET_PASS_USEC, `received` gets a copy of them
 * in the next pass, before anything else is read. The connection's budget pays for the copy. False: there is time left,
 * or the budget has no room; the owner goes on with the bytes. */
bool net_conn_postpone(struct net_conn *c, const struct chunk *chunk, size_t offset, size_t length);
/* Why a connection is not read from (back-pressure): one bit for each reason. */
enum net_pause {
	NET_PAUSE_MEMORY = 1, /* the worker is short of memory */
	NET_PAUSE_PEER = 2,   /* the connection that the bytes go to is blocked */
	NET_PAUSE_CHUNK = 4,  /* no chunk to read into; only set by net/, which tries again soon */
	NET_PAUSE_SUBSCRIBER = 8, /* a subscription's client takes its pushes too slowly */
};
/* Nothing is read while any reason is set; resuming for one reason does not clear another. May be
 * called at any time: a pause right after net_conn_new or net_connect holds from the first byte on
 * (a TLS handshake goes on nevertheless). */
void net_conn_pause_reading(struct net_conn *c, enum net_pause reason);
void net_conn_resume_reading(struct net_conn *c, enum net_pause reason);
/* Ends our sending side alone: sends the output so far, that of a running fill included, then close_notify
 * and FIN. `fill` is not called any more, the other functions are. A connection that is not open yet ends
 * its sending side when it opens. Does nothing when called again or after a failure. The owner must still
 * close or abort. */
void net_conn_finish(struct net_conn *c);
/* Closes gracefully: sends the output so far, close_notify and FIN; then reads and discards for a short
 * while, so that a RST does not destroy the last bytes. The handle is invalid after the call: no callback
 * follows, not even fill. A connection that is not open yet is aborted. */
void net_conn_close(struct net_conn *c);
/* Closes the socket at once, without close_notify; if bytes are unsent, as net_conn_reset. The handle is
 * invalid after the call. */
void net_conn_abort(struct net_conn *c);
/* The same where the end of the connection would look like the end of a message: the peer's TCP gets a
 * RST in place of a FIN, and may lose bytes that it has not read. */
void net_conn_reset(struct net_conn *c);

bool net_conn_is_paused(const struct net_conn *c); /* reading is paused, for any reason */
/* Over TCP: probes a peer that has been silent for `idle`, and fails the connection when the peer has
 * not answered for as long again, or has not acknowledged bytes for twice the longer of `idle` and
 * `patience`. idle 0: off. patience 0: bytes may stay unacknowledged as long as the kernel allows. */
void net_conn_keepalive(struct net_conn *c, usec idle, usec patience);
/* True while bytes are unsent because the socket is full. */
bool net_conn_is_blocked(const struct net_conn *c);
/* When the connection became blocked; USEC_NEVER: it is not blocked. */
usec net_conn_blocked_since(const struct net_conn *c);
/* Bytes that the peer's TCP has acknowledged, including TLS overhead; without TCP the bytes that the
 * socket accepted. Costs a system call. */
uint64_t net_conn_delivered(const struct net_conn *c);
/* Whether bytes were written that the peer's TCP has not acknowledged. Costs a system call. */
bool net_conn_is_undelivered(const struct net_conn *c);
bool net_conn_is_open(const struct net_conn *c); /* opened and not ended */
/* The connection has failed, also after its peer's end: a send failed, or the kernel reports that the
 * peer reset it or does not answer. Costs a system call. */
bool net_conn_is_lost(const struct net_conn *c);
bool net_conn_is_tls(const struct net_conn *c);
struct slice net_conn_alpn(const struct net_conn *c); /* empty when none */
/* For a TLS client: when the last handshake began, on the loop's clock; 0: there was none. */
usec net_conn_handshake_began(const struct net_conn *c);
/* For a TLS client: whether the verified certificate of the peer covers this host. */
bool net_conn_peer_covers(const struct net_conn *c, struct slice host);
/* For a TLS server: the host that the client has named (SNI); empty: none. Lent as long as the connection is open. */
struct slice net_conn_sni(const struct net_conn *c);
/* For a TLS server: the client has encrypted its ClientHello, and what is known of it is the inner one. */
bool net_conn_has_ech(const struct net_conn *c);
/* "TLSv1.3", and the suite's IANA name: "TLS_AES_128_GCM_SHA256". "" for plain. Constants. */
const char *net_conn_tls_version(const struct net_conn *c);
const char *net_conn_tls_cipher(const struct net_conn *c);
/* Asks the kernel for the peer's address. False, with *peer empty: the socket is not connected. */
bool net_conn_peer(const struct net_conn *c, struct net_address *peer);
/* Whether the peer is on this machine: both ends have the same IP address, or all goes by the loopback interface. */
bool net_conn_is_to_itself(const struct net_conn *c);
/* From TCP_INFO; 0 when unknown. */
uint32_t net_conn_rtt_usec(const struct net_conn *c);

/* ---- listeners ---- */

/* Binds and listens (SO_REUSEADDR, SO_REUSEPORT for TCP; replaces a unix socket file on which no
 * process listens). The socket is non-blocking and inherited by exec. On failure -1, with *error a
 * constant string. For the master. */
int net_listen(const struct net_address *at, int backlog, const char **error);
/* The two halves of it, for sockets that listen later. is_free: the address may be none of this machine's yet
 * (IP_FREEBIND). net_listen_on returns NULL, or the error as text; on a socket that listens it sets the backlog. */
int net_bind(const struct net_address *at, bool is_free, const char **error);
const char *net_listen_on(int fd, int backlog);
/* Of the sockets that share the port of fd the kernel gives new connections to the first `count` alone, in the order in
 * which they began to listen. False: it cannot. */
bool net_listen_share(int fd, uint32_t count);
/* Binds a TCP socket to the address for a moment, as net_listen will, but beside no other process. Returns 0 or errno. */
int net_listen_try(const struct net_address *at, bool is_free);

struct net_listener;
/*
 * Accepts from fd (borrows) and calls `accepted` with each socket. When descriptors or memory are
 * short (EMFILE, ENFILE, ENOBUFS, ENOMEM) it pauses for 100 ms, doubling up to 1 s; new connections
 * wait in the kernel's queue. `paused` (may be NULL) is called at the first pause, and not again
 * before the queue was empty.
 *
 * A sixteenth of the process's descriptors (RLIMIT_NOFILE when the listener is made) is reserved for
 * connections to origins: accepting pauses when only these are free, so that accepted clients can be
 * served. Before it pauses, it closes connections that linger or drain after their owner's close.
 */
struct net_listener *net_listener_new(struct net_loop *l, int fd,
    void (*accepted)(void *context, int fd, const struct net_address *peer),
    void (*paused)(void *context, int error), void *context);
/* Accepts all that wait now, at most as many as a backlog has. */
void net_listener_empty(struct net_listener *n);
void net_listener_free(struct net_listener *n); /* NULL is fine */
/* Copies bytes that wait on an accepted socket, which stay there; returns what recv(2) does. */
ssize_t net_peek(int fd, void *bytes, size_t size);
/* Takes bytes off it that net_peek has shown. False: the socket has failed. */
bool net_take(int fd, void *bytes, size_t count);
/* Asks the kernel for the address that the peer of an accepted socket came to (family 0: it has none), and returns its
 * port. */
uint16_t net_own_address(int fd, struct address *own);
/* Closes an accepted socket that is refused. Takes fd. */
void net_refuse(int fd);

#endif
