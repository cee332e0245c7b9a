/* SPDX-License-Identifier: MIT */
/* The loop. Private to net/. */
#ifndef PUSHGATE_NET_LOOP_H
#define PUSHGATE_NET_LOOP_H

#include "proxy/net/net.h"
#include "proxy/net/sys.h"
#include <ev.h>
#include <openssl/bio.h>

/* Ciphertext is read in such pieces: two records, so that one split across TCP segments fits. */
#define NET_INPUT_BYTES 32768u
/* The normal size of the shared output buffer; it grows only if an owner adds more than has room. */
#define NET_OUTPUT_BYTES 131072u
/* RFC 8446 5.1: the maximum plaintext length of a record. */
#define NET_RECORD_BYTES 16384u

struct net_buffer {
	uint8_t *data;
	size_t size, capacity;
};

void net_buffer_append(struct net_buffer *b, const void *ptr, size_t len);
/* Empties the buffer and frees what it grew beyond `capacity`. */
void net_buffer_reset(struct net_buffer *b, size_t capacity);

/* Ciphertext that one connection reads in its turn. */
struct net_input {
	uint8_t *bytes; /* the last read; [at, end) is not decrypted yet */
	size_t at, end;
	size_t budget; /* bytes that may still be read in this loop pass */
	bool is_drained, is_eof;
	int error; /* errno; 0 = none */
};

struct net_loop {
	struct ev_loop *ev;
	ev_prepare prepare;
	ev_check check;
	ev_idle
	    idle; /* active while something waits for the next loop pass, so that the poll does not */
	struct chunk_pool *chunks;
	struct chunk *read_chunk;
	usec now;
	uint64_t pass;
	size_t worked_bytes; /* since the clock was last looked at (turn.c) */
	uint64_t turns_pass; /* the last loop pass in which a connection had its turn to read */
	void (*work)(void *context);
	void *work_context;
	bool in_pass; /* `now` is the begin of a loop pass that has not ended */
	const char *note;
	void (*report_long_pass)(void *context, usec took, const char *note);
	void *report_context;

	struct list dirty;   /* net_conn.dirty: something to send, or to close */
	struct list recheck; /* net_conn.recheck: to be looked at without an event */
	struct list
	    waiting_for_chunk; /* net_conn.recheck: no chunk to read into, waits for `chunk_retry` */
	struct list live;      /* net_conn.owner_link: in an owner's hands */
	struct list draining;  /* closed by the owner, oldest first */
	struct list lingering; /* FIN sent, oldest first */
	struct list dead;      /* freed at the end of the loop pass */
	struct net_timer closing, chunk_retry;
	struct budget closing_budget; /* pays for the unsent bytes of closed connections */

	/* One connection at a time uses these, from the first byte to the system call. */
	struct net_buffer output; /* copied bytes (plain) or records (TLS) */
	uint8_t *record;          /* plaintext gathered for one record */
	struct net_input input;
	BIO_METHOD *bio_method, *tunnel_bio_method;
};

/* The loop's read chunk, unshared; NULL: no chunk is free. */
struct chunk *net_loop_read_chunk(struct net_loop *l);
/* Another loop pass comes without waiting for an event. */
void net_loop_run_again(struct net_loop *l);

#endif
