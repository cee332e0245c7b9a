/* SPDX-License-Identifier: MIT */
/*
 * The listening sockets: one for each worker and listen section, all bound by the master before it
 * forks and kept by it, so that a connection waiting in the backlog outlives its worker. Unix
 * sockets cannot be bound twice: there the workers share one.
 */
#ifndef PUSHGATE_PROCESS_SOCKETS_H
#define PUSHGATE_PROCESS_SOCKETS_H

#include "proxy/conf/conf.h"

struct sockets {
	const struct conf *conf; /* borrows */
	uint32_t workers;
	int *fds;        /* by section, then by worker */
	bool owns_files; /* closing removes the files of unix sockets: false in forked workers */
};

/* False with a message: nothing stays open. */
bool sockets_open(
    struct sockets *s, const struct conf *conf, uint32_t workers, char *error, size_t error_size);
int sockets_of(const struct sockets *s, size_t listen, uint32_t worker);
/* Where a section really listens (its port may have been the kernel's choice); returns buffer. */
char *sockets_address(const struct sockets *s, size_t listen, char *buffer, size_t size);
/* Closes this process's descriptors; idempotent. */
void sockets_close(struct sockets *s);
void sockets_fini(struct sockets *s);

#endif
