/* SPDX-License-Identifier: MIT */
/*
 * The listening sockets. The master owns them, by their addresses; a configuration borrows those of its listen
 * sections, so an address that the next configuration has too is never closed in between.
 *
 * An address has a socket for each worker; a unix socket cannot be bound twice, so the workers share it. The master
 * keeps all open: a connection in the backlog outlives its worker. A socket that a smaller number of workers leaves over
 * stays open as well: the kernel gives it no new connections, and a worker accepts those that wait there.
 */
#ifndef PUSHGATE_PROCESS_SOCKETS_H
#define PUSHGATE_PROCESS_SOCKETS_H

#include "proxy/conf/conf.h"

/* The sockets of one address. */
struct listening {
	struct net_address asked; /* as a configuration names it */
	struct net_address at;    /* with the port that the kernel chose for port 0 */
	int *fds;
	uint32_t count, listening; /* so many are bound; the first so many of them listen */
	bool is_shared_out;        /* the kernel was told to which of them new connections go */
	bool may_come_later;       /* IP_FREEBIND */
	uint32_t backlog;          /* of those that listen */
	bool is_given;             /* the service manager has opened the only one (activation.h) */
	uint32_t users;            /* shares that have it */
};

/* Of all configurations. */
struct sockets {
	struct listening **all; /* owned; in children a copy */
	size_t count;
	bool owns_files; /* closing removes the files of unix sockets: false in forked workers */
};

/* Of one configuration, which it borrows. */
struct sockets_share {
	struct sockets *from;
	const struct conf *conf;
	uint32_t workers;
	struct listening **sections; /* by listen section */
};

/* Binds the sockets that are missing; none of these listens yet. False with a message: nothing new stays open. */
bool sockets_borrow(struct sockets *s, struct sockets_share *share, const struct conf *conf,
    uint32_t workers, char *error, size_t error_size);
/* From now on all listen, and new connections go to the first `workers` of each address. False with a message: they go
 * where they went. */
bool sockets_listen(const struct sockets_share *share, char *error, size_t error_size);
/* Whether another share has the address of this section too. */
bool sockets_is_shared(const struct sockets_share *share, size_t section);
/* Closes the addresses that no other share has. Idempotent. */
void sockets_return(struct sockets_share *share);

/*
 * The sockets from which a worker accepts: nth = 0 is its own, further ones are left over. -1: there are not so many.
 * Of a unix socket all workers have the same.
 */
int sockets_of(const struct sockets_share *share, size_t section, uint32_t worker, uint32_t nth);
/* The address of a section, with the port that the kernel chose for port 0. Returns buffer. */
char *sockets_address(const struct sockets_share *share, size_t section, char *buffer, size_t size);
/* Whether the set has exactly this address, or one with which it shares a port. */
bool sockets_have(const struct sockets *s, const struct net_address *asked);
bool sockets_overlap(const struct sockets *s, const struct net_address *asked);

/* Takes a socket, of another process before, as number `nth` of the address asked; it has been bound to `at`. NULL: the ones
 * before it are missing, and fd stays the caller's. */
struct listening *sockets_take(struct sockets *s, const struct net_address *asked,
    const struct net_address *at, uint32_t nth, int fd);
/* Closes the addresses that no share has. */
void sockets_drop_unused(struct sockets *s);

/* In a child: closes this process's descriptors but those of the share (NULL: all). Idempotent. */
void sockets_close(struct sockets *s, const struct sockets_share *but);
/* After the last share was returned, or before a child ends. */
void sockets_fini(struct sockets *s);

#endif
