/* SPDX-License-Identifier: MIT */
/*
 * The health of servers, in shared memory: the workers write it, the workers and `pushgate status` read it. Included by
 * observe.h.
 *
 * A server has an entry as long as a worker uses it. The worker that holds the entry's lease checks the server and
 * publishes the result; the others read it. A lease that is not renewed runs out. Nothing here waits: all of it is
 * atomic words, so a process may be killed anywhere.
 *
 * The number of entries is fixed. A server that finds none is checked by each worker for itself, and `status`
 * does not name it.
 *
 * At a reload the next generation's table takes over the state of the servers that it has too. An entry that was made for
 * that has no worker yet, and waits for the first one that joins it.
 */
#ifndef PUSHGATE_OBSERVE_HEALTH_TABLE_H
#define PUSHGATE_OBSERVE_HEALTH_TABLE_H

#include "proxy/base/clock.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why a server was ejected. */
enum server_verdict {
	SERVER_STAYS,
	SERVER_FAILED_IN_A_ROW,
	SERVER_FAILED_CONNECTS,
	SERVER_FAILED_OFTEN,
	SERVER_FAILED_AGAIN,
};
const char *server_verdict_text(enum server_verdict v); /* "failed connects in a row" */

enum server_check_state { SERVER_CHECK_UNKNOWN, SERVER_CHECK_PASSES, SERVER_CHECK_FAILS };

/* The result of a check. A status is its own number. */
enum server_check_result {
	SERVER_CHECK_CONNECTED, /* and no more was asked for */
	SERVER_CHECK_REFUSED,   /* no connection */
	SERVER_CHECK_TLS,       /* no TLS, or no protocol by ALPN */
	SERVER_CHECK_LATE,
	SERVER_CHECK_LOST,   /* the connection ended before the response */
	SERVER_CHECK_STATUS, /* 200 … 599: the response's */
};
/* "cannot connect", "status 500". Returns buffer. */
#define SERVER_CHECK_TEXT 32
const char *server_check_text(unsigned result, char buffer[SERVER_CHECK_TEXT]);

struct server_check {
	enum server_check_state state;
	unsigned
	    result; /* enum server_check_result, or a status: of the last check that changed the state */
	usec since;
};

#define SERVER_ENTRY_WORKERS 256u
#define SERVER_ENTRY_TEXT 56u
struct server_entry {
	_Atomic uint64_t
	    key; /* the upper bits of the server's, and how many workers use it; 0: free */
	_Atomic uint64_t kept_until;    /* of an ejection before the reload; 0: there was none */
	_Atomic uint64_t lease;         /* its end, in ms, and the number of the worker */
	_Atomic uint64_t check;         /* struct server_check */
	_Atomic uint64_t ejected_until; /* the latest of the workers' */
	_Atomic uint64_t ejected_in[SERVER_ENTRY_WORKERS / 64]; /* a bit for each worker */
	_Atomic uint64_t used_by[SERVER_ENTRY_WORKERS / 64];    /* the same */
	_Atomic uint32_t verdict;                               /* of the last ejection */
	_Atomic uint32_t ejected_msec;                          /* its length; 0: unknown */
	_Atomic uint16_t origin;      /* its index and 1; 0: not written yet */
	char text[SERVER_ENTRY_TEXT]; /* the address; cut */
};

/* A process's own: no worker can write an address or a size of it. */
struct health_table {
	uint32_t capacity;
	_Atomic uint32_t *version;    /* shared: counts the changes of checks' states */
	struct server_entry *entries; /* shared */
};

/* ---- the memory: for the process that shares it ---- */

/* For so many servers with addresses, and so many names, of which each may bring some. */
size_t health_table_bytes(size_t servers, size_t from_names);
/* Over zeroed memory of health_table_bytes, which it borrows; to be freed with free(). */
struct health_table *health_table_new(void *memory, size_t servers, size_t from_names);
/* The worker has died: gives back its entries and leases. No other worker has its number meanwhile. */
void health_table_forget(struct health_table *b, uint32_t worker);

/* What of a server's state still holds where another table is used. */
struct health_kept {
	bool check;
	usec ejection_most; /* the longest ejection there; 0: no server is ejected */
};

/* The state of a server, which one table hands to another. */
struct health_state {
	uint64_t key;
	size_t origin; /* its index */
	struct server_check check;
	usec ejected_until, ejected_length; /* 0: it was not ejected; it is unknown */
	enum server_verdict verdict;
};
/* Of the entry of this number; false: no worker uses it. */
bool health_table_state(
    const struct health_table *b, size_t i, usec now, struct health_state *state);
/* How many entries may be made for servers that no worker has joined yet. */
size_t health_table_room(const struct health_table *b);
/* Takes what holds here, unless b has a newer result of the check. May be called again. False: *room is used up. */
bool health_table_put(struct health_table *b, const struct health_state *state,
    struct health_kept kept, usec now, size_t *room);

/* ---- a worker ---- */

/* The same key, origin and text in all workers. NULL: there is no room. A worker that joins an entry several times
 * leaves it once. */
struct server_entry *health_table_join(
    struct health_table *b, uint32_t worker, uint64_t key, uint32_t origin, const char *text);
/* The worker leaves the entry. */
void server_entry_leave(struct server_entry *e, uint32_t worker);
/* Takes the lease, or renews it. False: another worker has it. */
bool server_entry_lease(struct server_entry *e, uint32_t worker, usec now, usec until);
/* Gives the lease back, if the worker has it. */
void server_entry_unlease(struct server_entry *e, uint32_t worker);
void server_entry_publish(
    struct health_table *b, struct server_entry *e, struct server_check check);
struct server_check server_entry_check(const struct server_entry *e);
void server_entry_eject(
    struct server_entry *e, uint32_t worker, usec until, enum server_verdict verdict);
void server_entry_return(struct server_entry *e, uint32_t worker);
/* How long the ejection lasts: the next one depends on it. */
void server_entry_note_length(struct server_entry *e, usec length);
/* The end of the last ejection before the reload, and its length. 0: none is known. */
usec server_entry_kept(const struct server_entry *e, usec *length);

/* ---- status ---- */

/* In how many workers the server is ejected now. */
uint32_t server_entry_ejected(const struct server_entry *e, usec now);
/* The entry of this number, if a worker uses it, and the index of its origin, as a worker has written it; else NULL. */
const struct server_entry *health_table_entry(
    const struct health_table *b, size_t i, size_t *origin);
/* Its address: always printable text. Returns buffer. */
const char *server_entry_text(const struct server_entry *e, char buffer[SERVER_ENTRY_TEXT]);

#endif
