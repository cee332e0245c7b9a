/* SPDX-License-Identifier: MIT */
/*
 * The listening sockets: one for each worker and listen section; a unix socket cannot be bound twice, so the
 * workers share it. The master keeps all open: a connection in the backlog outlives its worker.
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
/* The address of a section, with the port that the kernel chose for port 0. Returns buffer. */
char *sockets_address(const struct sockets *s, size_t listen, char *buffer, size_t size);
/* Closes this process's descriptors; idempotent. */
void sockets_close(struct sockets *s);
void sockets_fini(struct sockets *s);

#endif
